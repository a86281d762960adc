#ifndef TILEGEN_TRANSPOSE_CU
#define TILEGEN_TRANSPOSE_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace transpose_kernels {

// b[j, i] = a[i, j]
// 256 threads per block; a block computes a tile of 32 x 32 points (j x i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) transpose_split(
    const float* __restrict__ a,
    float* __restrict__ b,
    index_t M,
    index_t N)
{
    constexpr int TILE_J = 32;
    constexpr int TILE_I = 32;

    // The block's part of a, rows along j; one element of padding per row: accesses across rows meet different banks.
    __shared__ __align__(16) float a_tile[TILE_I][TILE_J + 1];

    const int thread = static_cast<int>(threadIdx.x);
    const unsigned tiles_i = static_cast<unsigned>((M + TILE_I - 1) / TILE_I);
    const index_t i0 = static_cast<index_t>(blockIdx.x % tiles_i) * TILE_I;
    const index_t j0 = static_cast<index_t>(blockIdx.x / tiles_i) * TILE_J;
    const bool interior = j0 + TILE_J <= N && i0 + TILE_I <= M;

    // Load the tile of a, coalesced along j.
    if (interior) {
        const int thread_j = thread % 32;
        const int thread_i = thread / 32;
        const index_t j = j0 + thread_j;
        #pragma unroll
        for (int step_i = 0; step_i < 4; ++step_i) {
            const int tile_i = thread_i + step_i * 8;
            const index_t i = i0 + tile_i;
            a_tile[tile_i][thread_j] = a[i * N + j];
        }
    } else {
        const int thread_j = thread % 32;
        const int thread_i = thread / 32;
        const index_t j = j0 + thread_j;
        #pragma unroll
        for (int step_i = 0; step_i < 4; ++step_i) {
            const int tile_i = thread_i + step_i * 8;
            const index_t i = i0 + tile_i;
            if (j < N && i < M) {
                a_tile[tile_i][thread_j] = a[i * N + j];
            }
        }
    }

    __syncthreads();

    // Write b, neighbouring threads along j.
    if (interior) {
        const int thread_j = thread % 32;
        const int thread_i = thread / 32;
        const index_t j = j0 + thread_j;
        #pragma unroll
        for (int step_i = 0; step_i < 4; ++step_i) {
            const int tile_i = thread_i + step_i * 8;
            const index_t i = i0 + tile_i;
            b[j * M + i] = a_tile[tile_i][thread_j];
        }
    } else {
        const int thread_j = thread % 32;
        const int thread_i = thread / 32;
        const index_t j = j0 + thread_j;
        #pragma unroll
        for (int step_i = 0; step_i < 4; ++step_i) {
            const int tile_i = thread_i + step_i * 8;
            const index_t i = i0 + tile_i;
            if (j < N && i < M) {
                b[j * M + i] = a_tile[tile_i][thread_j];
            }
        }
    }
}

}  // namespace transpose_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t transpose_launch(
    const float* a,
    float* b,
    int64_t M,
    int64_t N,
    cudaStream_t stream)
{
    if (M < 0 || N < 0) {
        return cudaErrorInvalidValue;
    }
    if (N == 0 || M == 0) {
        return cudaSuccess;
    }
    const int64_t blocks = (N + 31) / 32 * ((M + 31) / 32);
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (M * N + M <= 2147418111 && M * N + N <= 2147418111) {
        transpose_kernels::transpose_split<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            a,
            b,
            static_cast<int>(M),
            static_cast<int>(N));
        return cudaGetLastError();
    }
    transpose_kernels::transpose_split<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        a,
        b,
        static_cast<long long>(M),
        static_cast<long long>(N));
    return cudaGetLastError();
}

#endif
#endif
