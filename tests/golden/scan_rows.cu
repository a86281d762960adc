#ifndef TILEGEN_CUMSUM_CU
#define TILEGEN_CUMSUM_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace cumsum_kernels {

// 4 elements in one memory access of 16 bytes.
struct __align__(16) f32x4 {
    float lane[4];
};

// Combines partial sums.
struct Sum {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return static_cast<T>(a + b);
    }
};

// The value of the lane that many places before, in groups of LANES neighbouring lanes.
template <int LANES, typename T>
static __device__ __forceinline__ T from_below(T value, int distance)
{
    return static_cast<T>(__shfl_up_sync(0xffffffffu, value, distance, LANES));
}

// The value that another lane has, in groups of LANES neighbouring lanes.
template <int LANES, typename T>
static __device__ __forceinline__ T from_lane(T value, int lane)
{
    return static_cast<T>(__shfl_sync(0xffffffffu, value, lane, LANES));
}

// Combines the values of the lanes before this one, in groups of LANES neighbouring lanes, all of the warp taking part, by
// doubling distances. `total`: of all of them.
template <typename Operator, int LANES, typename T>
static __device__ __forceinline__ T lanes_before(T value, int lane, T identity, T& total)
{
#pragma unroll
    for (int distance = 1; distance < LANES; distance *= 2) {
        const T other = from_below<LANES>(value, distance);
        value = lane >= distance ? Operator::of(other, value) : value;
    }
    total = from_lane<LANES>(value, LANES - 1);
    const T before = from_below<LANES>(value, 1);
    return lane > 0 ? before : identity;
}

// y[i, j] = sum[k in 0..=j](x[i, k])
// 256 threads per block; a block computes 4 rows along j, 1024 points at a time.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) cumsum_s(
    const float* __restrict__ x,
    float* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TILE_J = 1024;
    constexpr int TILE_I = 4;

    // The sum of every warp.
    __shared__ float sum_warps[2][8];

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int side = thread / 64;
    const int warp = thread % 64 / 32;
    const index_t i0 = static_cast<index_t>(blockIdx.x) * TILE_I;
    const index_t i = i0 + side;

    // The sum of everything before the tile.
    float sum_carry = 0.0f;
    for (index_t j0 = 0; j0 < C; j0 += TILE_J) {
        // Load the tile, neighbouring lanes along j, 4 elements at a time.
        f32x4 x_in[4] = {};
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            const index_t j = j0 + ((warp * 4 + step) * 32 + lane) * 4;
            if (j < C && i < R) {
                x_in[step] = *reinterpret_cast<const f32x4*>(x + i * C + j);
            }
        }

        // The sum of each thread's neighbours, and by shuffles of the lanes and steps before them.
        float sum_term[4][4];
        float sum_lanes[4];
        float sum_warp = 0.0f;
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            const index_t j = j0 + ((warp * 4 + step) * 32 + lane) * 4;
            float sum_running = 0.0f;
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                sum_term[step][l] = j < C && i < R ? x_in[step].lane[l] : 0.0f;
                sum_running = sum_running + sum_term[step][l];
            }
            float sum_step;
            sum_lanes[step] = lanes_before<Sum, 32>(sum_running, lane, 0.0f, sum_step);
            sum_lanes[step] = sum_warp + sum_lanes[step];
            sum_warp = sum_warp + sum_step;
        }

        // The totals of the warps meet in shared memory, in one half of it, then the other: one barrier per tile will
        // do.
        const int parity = static_cast<int>(j0 / TILE_J % 2);
        if (lane == 0) {
            sum_warps[parity][side * 2 + warp] = sum_warp;
        }
        __syncthreads();
        float sum_prefix = sum_carry;
        #pragma unroll
        for (int w = 0; w < 2; ++w) {
            sum_prefix = w == warp ? sum_carry : sum_prefix;
            sum_carry = sum_carry + sum_warps[parity][side * 2 + w];
        }

        // Go through the points once more, with what came before them, and write y.
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            const index_t j = j0 + ((warp * 4 + step) * 32 + lane) * 4;
            float sum_running = sum_prefix + sum_lanes[step];
            f32x4 y_out;
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                sum_running = sum_running + sum_term[step][l];
                y_out.lane[l] = sum_running;
            }
            if (j < C && i < R) {
                *reinterpret_cast<f32x4*>(y + i * C + j) = y_out;
            }
        }
    }
}

// y[i, j] = sum[k in 0..=j](x[i, k])
// 256 threads per block; a block computes 4 rows along j, 1024 points at a time.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) cumsum_s_scalar(
    const float* __restrict__ x,
    float* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TILE_J = 1024;
    constexpr int TILE_I = 4;

    // The sum of every warp.
    __shared__ float sum_warps[2][8];

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int side = thread / 64;
    const int warp = thread % 64 / 32;
    const index_t i0 = static_cast<index_t>(blockIdx.x) * TILE_I;
    const index_t i = i0 + side;

    // The sum of everything before the tile.
    float sum_carry = 0.0f;
    for (index_t j0 = 0; j0 < C; j0 += TILE_J) {
        // Load the tile, neighbouring lanes along j.
        float x_in[16] = {};
        #pragma unroll
        for (int step = 0; step < 16; ++step) {
            const index_t j = j0 + (warp * 16 + step) * 32 + lane;
            if (j < C && i < R) {
                x_in[step] = x[i * C + j];
            }
        }

        // The sum of each thread's neighbours, and by shuffles of the lanes and steps before them.
        float sum_term[16];
        float sum_lanes[16];
        float sum_warp = 0.0f;
        #pragma unroll
        for (int step = 0; step < 16; ++step) {
            const index_t j = j0 + (warp * 16 + step) * 32 + lane;
            float sum_running = 0.0f;
            sum_term[step] = j < C && i < R ? x_in[step] : 0.0f;
            sum_running = sum_running + sum_term[step];
            float sum_step;
            sum_lanes[step] = lanes_before<Sum, 32>(sum_running, lane, 0.0f, sum_step);
            sum_lanes[step] = sum_warp + sum_lanes[step];
            sum_warp = sum_warp + sum_step;
        }

        // The totals of the warps meet in shared memory, in one half of it, then the other: one barrier per tile will
        // do.
        const int parity = static_cast<int>(j0 / TILE_J % 2);
        if (lane == 0) {
            sum_warps[parity][side * 2 + warp] = sum_warp;
        }
        __syncthreads();
        float sum_prefix = sum_carry;
        #pragma unroll
        for (int w = 0; w < 2; ++w) {
            sum_prefix = w == warp ? sum_carry : sum_prefix;
            sum_carry = sum_carry + sum_warps[parity][side * 2 + w];
        }

        // Go through the points once more, with what came before them, and write y.
        #pragma unroll
        for (int step = 0; step < 16; ++step) {
            const index_t j = j0 + (warp * 16 + step) * 32 + lane;
            float sum_running = sum_prefix + sum_lanes[step];
            sum_running = sum_running + sum_term[step];
            if (j < C && i < R) {
                y[i * C + j] = sum_running;
            }
        }
    }
}

}  // namespace cumsum_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t cumsum_launch(
    const float* x,
    float* y,
    int64_t R,
    int64_t C,
    cudaStream_t stream)
{
    if (R < 0 || C < 0) {
        return cudaErrorInvalidValue;
    }
    if (R == 0) {
        return cudaSuccess;
    }
    if (reinterpret_cast<uintptr_t>(y) % 16 == 0 && C % 4 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0) {
        const int64_t blocks = (R + 3) / 4;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (C * R + C <= 2147418111) {
            cumsum_kernels::cumsum_s<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                y,
                static_cast<int>(R),
                static_cast<int>(C));
            return cudaGetLastError();
        }
        cumsum_kernels::cumsum_s<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            y,
            static_cast<long long>(R),
            static_cast<long long>(C));
        return cudaGetLastError();
    }
    const int64_t blocks = (R + 3) / 4;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (C * R + C <= 2147418111) {
        cumsum_kernels::cumsum_s_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            y,
            static_cast<int>(R),
            static_cast<int>(C));
        return cudaGetLastError();
    }
    cumsum_kernels::cumsum_s_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        x,
        y,
        static_cast<long long>(R),
        static_cast<long long>(C));
    return cudaGetLastError();
}

#endif
#endif
