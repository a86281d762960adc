#ifndef TILEGEN_SOFTMAX_CU
#define TILEGEN_SOFTMAX_CU

#include <cuda_fp16.h>
#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace softmax_kernels {

// 4 elements in one memory access of 8 bytes.
struct __align__(8) f16x4 {
    __half lane[4];
};

// A divisor that many values share: its inverse, and a power of two that keeps the inverse in the range of a float.
struct Divisor {
    float inverse;
    float scale;
};
static __device__ __forceinline__ Divisor divisor(float value)
{
    const float size = fabsf(value);
    const float scale = size < 1e-36f ? 18446744073709551616.0f : (size > 1e36f ? 5.4210108624275222e-20f : 1.0f);
    return Divisor{1.0f / (value * scale), scale};
}
static __device__ __forceinline__ float quotient(float x, const Divisor& by)
{
    return x * by.inverse * by.scale;
}

// The larger one; NaN if either is NaN.
template <typename T>
static __device__ __forceinline__ T maximum(T a, T b)
{
    return (a > b || a != a) ? a : b;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction for floats.
static __device__ __forceinline__ float maximum(float a, float b)
{
    float greater;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(a), "f"(b));
    return greater;
}
#endif

// The larger one; NaN if either is NaN.
struct Maximum {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return maximum(a, b);
    }
};

// Combines partial sums.
struct Sum {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return static_cast<T>(a + b);
    }
};

// The value of the lane whose number differs in `bit`.
template <typename T>
static __device__ __forceinline__ T exchange(T value, int bit)
{
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, value, bit));
}

// Combines the values of each group of LANES neighbouring lanes, all of the warp taking part; a butterfly, so that every
// lane gets the same bits.
template <typename Operator, int LANES, typename T>
static __device__ __forceinline__ T across_lanes(T value)
{
#pragma unroll
    for (int bit = LANES / 2; bit > 0; bit /= 2) {
        value = Operator::of(value, exchange(value, bit));
    }
    return value;
}

// let e[i, j] = exp(f32(x[i, j]) - max[k](f32(x[i, k])))
// y[i, j] = e[i, j] / sum[k](e[i, k])
// 256 threads per block; a block computes 4 rows (i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) softmax_held_upto1024(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TEAM = 64;
    constexpr int ROWS = 4;

    // One partial result per warp.
    __shared__ float row_max_parts[8];

    // One partial result per warp.
    __shared__ float row_sum_parts[8];

    const int thread = static_cast<int>(threadIdx.x);
    const int member = thread % 64;
    const int team = thread / 64;
    const index_t i = static_cast<index_t>(blockIdx.x) * ROWS + team;
    const bool inside_ = i < R;

    // Max over j; what is needed again stays in registers.
    float row_max = -__int_as_float(0x7f800000);
    f16x4 x_in[4];
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        const index_t j = (s * TEAM + member) * 4;
        if (inside_ && j < C) {
            x_in[s] = *reinterpret_cast<const f16x4*>(x + i * C + j);
        }
    }
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        const index_t j = (s * TEAM + member) * 4;
        if (inside_ && j < C) {
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                row_max = maximum(row_max, __half2float(x_in[s].lane[l]));
            }
        }
    }

    // Combine over the 64 threads of the row: lanes by shuffles, then one value per warp.
    row_max = across_lanes<Maximum, 32>(row_max);
    if (thread % 32 == 0) {
        row_max_parts[thread / 32] = row_max;
    }
    __syncthreads();
    row_max = across_lanes<Maximum, 2>(row_max_parts[team * 2 + thread % 2]);

    // Sum over j; what is needed again stays in registers.
    float row_sum = 0.0f;
    float e_row[4][4];
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        const index_t j = (s * TEAM + member) * 4;
        if (inside_ && j < C) {
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                const float e = expf(__half2float(x_in[s].lane[l]) - row_max);
                e_row[s][l] = e;
                row_sum += e_row[s][l];
            }
        }
    }

    // Combine over the 64 threads of the row: lanes by shuffles, then one value per warp.
    row_sum = across_lanes<Sum, 32>(row_sum);
    if (thread % 32 == 0) {
        row_sum_parts[thread / 32] = row_sum;
    }
    __syncthreads();
    row_sum = across_lanes<Sum, 2>(row_sum_parts[team * 2 + thread % 2]);

    // Write y.
    const Divisor row_sum_divisor = divisor(row_sum);
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        const index_t j = (s * TEAM + member) * 4;
        if (inside_ && j < C) {
            f16x4 y_out;
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                y_out.lane[l] = __float2half_rn(quotient(e_row[s][l], row_sum_divisor));
            }
            *reinterpret_cast<f16x4*>(y + i * C + j) = y_out;
        }
    }
}

// let e[i, j] = exp(f32(x[i, j]) - max[k](f32(x[i, k])))
// y[i, j] = e[i, j] / sum[k](e[i, k])
// 256 threads per block; a block computes 4 rows (i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) softmax_held_long(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TEAM = 64;
    constexpr int ROWS = 4;

    // One partial result per warp.
    __shared__ float row_max_parts[8];

    // One partial result per warp.
    __shared__ float row_sum_parts[8];

    const int thread = static_cast<int>(threadIdx.x);
    const int member = thread % 64;
    const int team = thread / 64;
    const index_t i = static_cast<index_t>(blockIdx.x) * ROWS + team;
    const bool inside_ = i < R;

    // Max over j, 4 loads under way per thread.
    float row_max = -__int_as_float(0x7f800000);
    for (index_t base = 0; base < C; base += 1024) {
        f16x4 x_in[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + (s * TEAM + member) * 4;
            if (inside_ && j < C) {
                x_in[s] = *reinterpret_cast<const f16x4*>(x + i * C + j);
            }
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + (s * TEAM + member) * 4;
            if (inside_ && j < C) {
                #pragma unroll
                for (int l = 0; l < 4; ++l) {
                    row_max = maximum(row_max, __half2float(x_in[s].lane[l]));
                }
            }
        }
    }

    // Combine over the 64 threads of the row: lanes by shuffles, then one value per warp.
    row_max = across_lanes<Maximum, 32>(row_max);
    if (thread % 32 == 0) {
        row_max_parts[thread / 32] = row_max;
    }
    __syncthreads();
    row_max = across_lanes<Maximum, 2>(row_max_parts[team * 2 + thread % 2]);

    // Sum over j, 4 loads under way per thread; a sum per chunk, so that chains of additions are short.
    float row_sum = 0.0f;
    for (index_t base = 0; base < C; base += 1024) {
        float row_sum_chunk = 0.0f;
        f16x4 x_in[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + (s * TEAM + member) * 4;
            if (inside_ && j < C) {
                x_in[s] = *reinterpret_cast<const f16x4*>(x + i * C + j);
            }
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + (s * TEAM + member) * 4;
            if (inside_ && j < C) {
                #pragma unroll
                for (int l = 0; l < 4; ++l) {
                    row_sum_chunk += expf(__half2float(x_in[s].lane[l]) - row_max);
                }
            }
        }
        row_sum += row_sum_chunk;
    }

    // Combine over the 64 threads of the row: lanes by shuffles, then one value per warp.
    row_sum = across_lanes<Sum, 32>(row_sum);
    if (thread % 32 == 0) {
        row_sum_parts[thread / 32] = row_sum;
    }
    __syncthreads();
    row_sum = across_lanes<Sum, 2>(row_sum_parts[team * 2 + thread % 2]);

    // Write y, 4 loads under way per thread.
    const Divisor row_sum_divisor = divisor(row_sum);
    for (index_t base = 0; base < C; base += 1024) {
        f16x4 x_in[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + (s * TEAM + member) * 4;
            if (inside_ && j < C) {
                x_in[s] = *reinterpret_cast<const f16x4*>(x + i * C + j);
            }
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + (s * TEAM + member) * 4;
            if (inside_ && j < C) {
                f16x4 y_out;
                #pragma unroll
                for (int l = 0; l < 4; ++l) {
                    y_out.lane[l] =
                        __float2half_rn(quotient(expf(__half2float(x_in[s].lane[l]) - row_max), row_sum_divisor));
                }
                *reinterpret_cast<f16x4*>(y + i * C + j) = y_out;
            }
        }
    }
}

// let e[i, j] = exp(f32(x[i, j]) - max[k](f32(x[i, k])))
// y[i, j] = e[i, j] / sum[k](e[i, k])
// 256 threads per block; a block computes 4 rows (i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) softmax_held_scalar(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TEAM = 64;
    constexpr int ROWS = 4;

    // One partial result per warp.
    __shared__ float row_max_parts[8];

    // One partial result per warp.
    __shared__ float row_sum_parts[8];

    const int thread = static_cast<int>(threadIdx.x);
    const int member = thread % 64;
    const int team = thread / 64;
    const index_t i = static_cast<index_t>(blockIdx.x) * ROWS + team;
    const bool inside_ = i < R;

    // Max over j, 4 loads under way per thread.
    float row_max = -__int_as_float(0x7f800000);
    for (index_t base = 0; base < C; base += 256) {
        __half x_in[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + s * TEAM + member;
            if (inside_ && j < C) {
                x_in[s] = x[i * C + j];
            }
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + s * TEAM + member;
            if (inside_ && j < C) {
                row_max = maximum(row_max, __half2float(x_in[s]));
            }
        }
    }

    // Combine over the 64 threads of the row: lanes by shuffles, then one value per warp.
    row_max = across_lanes<Maximum, 32>(row_max);
    if (thread % 32 == 0) {
        row_max_parts[thread / 32] = row_max;
    }
    __syncthreads();
    row_max = across_lanes<Maximum, 2>(row_max_parts[team * 2 + thread % 2]);

    // Sum over j, 4 loads under way per thread; a sum per chunk, so that chains of additions are short.
    float row_sum = 0.0f;
    for (index_t base = 0; base < C; base += 256) {
        float row_sum_chunk = 0.0f;
        __half x_in[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + s * TEAM + member;
            if (inside_ && j < C) {
                x_in[s] = x[i * C + j];
            }
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + s * TEAM + member;
            if (inside_ && j < C) {
                row_sum_chunk += expf(__half2float(x_in[s]) - row_max);
            }
        }
        row_sum += row_sum_chunk;
    }

    // Combine over the 64 threads of the row: lanes by shuffles, then one value per warp.
    row_sum = across_lanes<Sum, 32>(row_sum);
    if (thread % 32 == 0) {
        row_sum_parts[thread / 32] = row_sum;
    }
    __syncthreads();
    row_sum = across_lanes<Sum, 2>(row_sum_parts[team * 2 + thread % 2]);

    // Write y, 4 loads under way per thread.
    const Divisor row_sum_divisor = divisor(row_sum);
    for (index_t base = 0; base < C; base += 256) {
        __half x_in[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + s * TEAM + member;
            if (inside_ && j < C) {
                x_in[s] = x[i * C + j];
            }
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t j = base + s * TEAM + member;
            if (inside_ && j < C) {
                y[i * C + j] = __float2half_rn(quotient(expf(__half2float(x_in[s]) - row_max), row_sum_divisor));
            }
        }
    }
}

}  // namespace softmax_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t softmax_launch(
    const void* x,
    void* y,
    int64_t R,
    int64_t C,
    cudaStream_t stream)
{
    if (R < 0 || C < 0 || reinterpret_cast<uintptr_t>(x) % 2 != 0 || reinterpret_cast<uintptr_t>(y) % 2 != 0) {
        return cudaErrorInvalidValue;
    }
    if (R == 0) {
        return cudaSuccess;
    }
    if (C % 4 == 0 &&
        reinterpret_cast<uintptr_t>(x) % 8 == 0 &&
        reinterpret_cast<uintptr_t>(y) % 8 == 0 &&
        C <= 1024) {
        const int64_t blocks = (R + 3) / 4;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (C * R + C <= 2147418111 && C <= 2113929215 && R <= 2113929215) {
            softmax_kernels::softmax_held_upto1024<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                reinterpret_cast<const __half*>(x),
                reinterpret_cast<__half*>(y),
                static_cast<int>(R),
                static_cast<int>(C));
            return cudaGetLastError();
        }
        softmax_kernels::softmax_held_upto1024<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            reinterpret_cast<const __half*>(x),
            reinterpret_cast<__half*>(y),
            static_cast<long long>(R),
            static_cast<long long>(C));
        return cudaGetLastError();
    }
    if (C % 4 == 0 && reinterpret_cast<uintptr_t>(x) % 8 == 0 && reinterpret_cast<uintptr_t>(y) % 8 == 0) {
        const int64_t blocks = (R + 3) / 4;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (C * R + C <= 2147418111 && C <= 2113929215 && R <= 2113929215) {
            softmax_kernels::softmax_held_long<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                reinterpret_cast<const __half*>(x),
                reinterpret_cast<__half*>(y),
                static_cast<int>(R),
                static_cast<int>(C));
            return cudaGetLastError();
        }
        softmax_kernels::softmax_held_long<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            reinterpret_cast<const __half*>(x),
            reinterpret_cast<__half*>(y),
            static_cast<long long>(R),
            static_cast<long long>(C));
        return cudaGetLastError();
    }
    const int64_t blocks = (R + 3) / 4;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (C * R + C <= 2147418111 && C <= 2113929215 && R <= 2113929215) {
        softmax_kernels::softmax_held_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            reinterpret_cast<const __half*>(x),
            reinterpret_cast<__half*>(y),
            static_cast<int>(R),
            static_cast<int>(C));
        return cudaGetLastError();
    }
    softmax_kernels::softmax_held_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        reinterpret_cast<const __half*>(x),
        reinterpret_cast<__half*>(y),
        static_cast<long long>(R),
        static_cast<long long>(C));
    return cudaGetLastError();
}

#endif
#endif
