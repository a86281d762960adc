#ifndef TILEGEN_TRANSPOSE_CU
#define TILEGEN_TRANSPOSE_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace transpose_kernels {

// b[j, i] = a[i, j]
// 256 threads per block; a block computes a tile of 32 x 8 points (j x i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) transpose_naive(
    const float* __restrict__ a,
    float* __restrict__ b,
    index_t M,
    index_t N)
{
    constexpr int TILE_J = 32;
    constexpr int TILE_I = 8;

    const int thread = static_cast<int>(threadIdx.x);
    const unsigned tiles_i = static_cast<unsigned>((M + TILE_I - 1) / TILE_I);
    const index_t i0 = static_cast<index_t>(blockIdx.x % tiles_i) * TILE_I;
    const index_t j0 = static_cast<index_t>(blockIdx.x / tiles_i) * TILE_J;

    // Write b, neighbouring threads along j.
    {
        const int thread_j = thread % 32;
        const int thread_i = thread / 32;
        const index_t i = i0 + thread_i;
        const index_t j = j0 + thread_j;
        if (j < N && i < M) {
            b[j * M + i] = a[i * N + j];
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
    const int64_t blocks = (N + 31) / 32 * ((M + 7) / 8);
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (M * N + M <= 2147418111 && M * N + N <= 2147418111) {
        transpose_kernels::transpose_naive<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            a,
            b,
            static_cast<int>(M),
            static_cast<int>(N));
        return cudaGetLastError();
    }
    transpose_kernels::transpose_naive<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        a,
        b,
        static_cast<long long>(M),
        static_cast<long long>(N));
    return cudaGetLastError();
}

#endif
#endif
