#ifndef TILEGEN_DOWN_CU
#define TILEGEN_DOWN_CU

#include <cuda_fp16.h>
#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace down_kernels {

// 2 elements in one memory access of 4 bytes.
struct __align__(4) f16x2 {
    __half lane[2];
};

// y[i, j] = f16(sum[k in i..R](x[k, j]))
// 256 threads per block; a block computes 64 columns side by side along j, 64 points of each at a time.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) down_s(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TILE_I = 64;
    constexpr int TILE_J = 64;

    // The sum of every thread of a column.
    __shared__ float sum_parts[2][8][2][32];

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int part = thread / 32;
    const index_t j0 = static_cast<index_t>(blockIdx.x) * TILE_J;
    const index_t j = j0 + lane * 2;

    // The sum of everything before the tile; i counts from the end.
    float sum_carry[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        sum_carry[l] = 0.0f;
    }
    for (index_t i0 = 0; i0 < R; i0 += TILE_I) {
        // Load the tile, neighbouring lanes along j, 2 elements at a time.
        f16x2 x_in[8] = {};
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            if (i < R && j < C) {
                x_in[step] = *reinterpret_cast<const f16x2*>(x + j + C * R - i * C - C);
            }
        }

        // The sum of what each thread has of its columns.
        float sum_term[8][2];
        float sum_thread[2];
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_thread[l] = 0.0f;
        }
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            #pragma unroll
            for (int l = 0; l < 2; ++l) {
                sum_term[step][l] = i < R && j < C ? __half2float(x_in[step].lane[l]) : 0.0f;
                sum_thread[l] = sum_thread[l] + sum_term[step][l];
            }
        }

        // The totals of the threads of a column meet in shared memory, in one half of it, then the other: one barrier per tile will do.
        const int parity = static_cast<int>(i0 / TILE_I % 2);
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_parts[parity][part][l][lane] = sum_thread[l];
        }
        __syncthreads();
        float sum_prefix[2];
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_prefix[l] = sum_carry[l];
        }
        #pragma unroll
        for (int w = 0; w < 8; ++w) {
            #pragma unroll
            for (int l = 0; l < 2; ++l) {
                sum_prefix[l] = w == part ? sum_carry[l] : sum_prefix[l];
                sum_carry[l] = sum_carry[l] + sum_parts[parity][w][l][lane];
            }
        }

        // Go through the points once more, with what came before them, and write y.
        float sum_running[2];
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_running[l] = sum_prefix[l];
        }
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            f16x2 y_out;
            #pragma unroll
            for (int l = 0; l < 2; ++l) {
                sum_running[l] = sum_running[l] + sum_term[step][l];
                y_out.lane[l] = __float2half_rn(sum_running[l]);
            }
            if (i < R && j < C) {
                *reinterpret_cast<f16x2*>(y + j + C * R - i * C - C) = y_out;
            }
        }
    }
}

// y[i, j] = f16(sum[k in i..R](x[k, j]))
// 256 threads per block; a block computes 32 columns side by side along j, 64 points of each at a time.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) down_s_scalar(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TILE_I = 64;
    constexpr int TILE_J = 32;

    // The sum of every thread of a column.
    __shared__ float sum_parts[2][8][32];

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int part = thread / 32;
    const index_t j0 = static_cast<index_t>(blockIdx.x) * TILE_J;
    const index_t j = j0 + lane;

    // The sum of everything before the tile; i counts from the end.
    float sum_carry = 0.0f;
    for (index_t i0 = 0; i0 < R; i0 += TILE_I) {
        // Load the tile, neighbouring lanes along j.
        __half x_in[8] = {};
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            if (i < R && j < C) {
                x_in[step] = x[j + C * R - i * C - C];
            }
        }

        // The sum of what each thread has of its columns.
        float sum_term[8];
        float sum_thread = 0.0f;
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            sum_term[step] = i < R && j < C ? __half2float(x_in[step]) : 0.0f;
            sum_thread = sum_thread + sum_term[step];
        }

        // The totals of the threads of a column meet in shared memory, in one half of it, then the other: one barrier per tile will do.
        const int parity = static_cast<int>(i0 / TILE_I % 2);
        sum_parts[parity][part][lane] = sum_thread;
        __syncthreads();
        float sum_prefix = sum_carry;
        #pragma unroll
        for (int w = 0; w < 8; ++w) {
            sum_prefix = w == part ? sum_carry : sum_prefix;
            sum_carry = sum_carry + sum_parts[parity][w][lane];
        }

        // Go through the points once more, with what came before them, and write y.
        float sum_running = sum_prefix;
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            sum_running = sum_running + sum_term[step];
            if (i < R && j < C) {
                y[j + C * R - i * C - C] = __float2half_rn(sum_running);
            }
        }
    }
}

}  // namespace down_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t down_launch(
    const void* x,
    void* y,
    int64_t R,
    int64_t C,
    cudaStream_t stream)
{
    if (R < 0 || C < 0 || reinterpret_cast<uintptr_t>(x) % 2 != 0 || reinterpret_cast<uintptr_t>(y) % 2 != 0) {
        return cudaErrorInvalidValue;
    }
    if (C == 0) {
        return cudaSuccess;
    }
    if (reinterpret_cast<uintptr_t>(y) % 4 == 0 && C % 2 == 0 && reinterpret_cast<uintptr_t>(x) % 4 == 0) {
        const int64_t blocks = (C + 63) / 64;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (C * R * 2 + C * 2 <= 2147418111) {
            down_kernels::down_s<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                reinterpret_cast<const __half*>(x),
                reinterpret_cast<__half*>(y),
                static_cast<int>(R),
                static_cast<int>(C));
            return cudaGetLastError();
        }
        down_kernels::down_s<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            reinterpret_cast<const __half*>(x),
            reinterpret_cast<__half*>(y),
            static_cast<long long>(R),
            static_cast<long long>(C));
        return cudaGetLastError();
    }
    const int64_t blocks = (C + 31) / 32;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (C * R * 2 + C * 2 <= 2147418111) {
        down_kernels::down_s_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            reinterpret_cast<const __half*>(x),
            reinterpret_cast<__half*>(y),
            static_cast<int>(R),
            static_cast<int>(C));
        return cudaGetLastError();
    }
    down_kernels::down_s_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        reinterpret_cast<const __half*>(x),
        reinterpret_cast<__half*>(y),
        static_cast<long long>(R),
        static_cast<long long>(C));
    return cudaGetLastError();
}

#endif
#endif
