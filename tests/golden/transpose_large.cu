#ifndef TILEGEN_TRANSPOSE_CU
#define TILEGEN_TRANSPOSE_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace transpose_kernels {

// b[j, i] = a[i, j]
// 256 threads per block; a block computes a tile of 128 x 128 points (j x i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) transpose_large(
    const float* __restrict__ a,
    float* __restrict__ b,
    index_t M,
    index_t N)
{
    constexpr int TILE_J = 128;
    constexpr int TILE_I = 128;

    // 66048 bytes, more than a static array may have: the launcher asks for them.
    extern __shared__ __align__(16) unsigned char shared_bytes[];

    // The block's part of a, rows along j; one element of padding per row: accesses across rows meet different banks.
    float (&a_tile)[TILE_I][TILE_J + 1] = *reinterpret_cast<float (*)[TILE_I][TILE_J + 1]>(
        shared_bytes);

    const int thread = static_cast<int>(threadIdx.x);
    const unsigned tiles_i = static_cast<unsigned>((M + TILE_I - 1) / TILE_I);
    const index_t i0 = static_cast<index_t>(blockIdx.x % tiles_i) * TILE_I;
    const index_t j0 = static_cast<index_t>(blockIdx.x / tiles_i) * TILE_J;

    // Load the tile of a, coalesced along j.
    {
        const int thread_j = thread % 128;
        const int thread_i = thread / 128;
        const index_t j = j0 + thread_j;
        #pragma unroll 16
        for (int step_i = 0; step_i < 64; ++step_i) {
            const int tile_i = thread_i + step_i * 2;
            const index_t i = i0 + tile_i;
            if (j < N && i < M) {
                a_tile[tile_i][thread_j] = a[i * N + j];
            }
        }
    }

    __syncthreads();

    // Write b, neighbouring threads along j.
    {
        const int thread_j = thread % 32;
        const int thread_i = thread / 32;
        #pragma unroll
        for (int step_j = 0; step_j < 4; ++step_j) {
            const int tile_j = thread_j + step_j * 32;
            const index_t j = j0 + tile_j;
            #pragma unroll
            for (int step_i = 0; step_i < 16; ++step_i) {
                const int tile_i = thread_i + step_i * 8;
                const index_t i = i0 + tile_i;
                if (j < N && i < M) {
                    b[j * M + i] = a_tile[tile_i][tile_j];
                }
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
    const int64_t blocks = (N + 127) / 128 * ((M + 127) / 128);
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (M * N + M <= 2147418111 && M * N + N <= 2147418111) {
        const cudaError_t error = cudaFuncSetAttribute(
            transpose_kernels::transpose_large<int>, cudaFuncAttributeMaxDynamicSharedMemorySize, 66048);
        if (error != cudaSuccess) {
            return error;
        }
        transpose_kernels::transpose_large<int><<<static_cast<unsigned>(blocks), 256, 66048, stream>>>(
            a,
            b,
            static_cast<int>(M),
            static_cast<int>(N));
        return cudaGetLastError();
    }
    const cudaError_t error = cudaFuncSetAttribute(
        transpose_kernels::transpose_large<long long>, cudaFuncAttributeMaxDynamicSharedMemorySize, 66048);
    if (error != cudaSuccess) {
        return error;
    }
    transpose_kernels::transpose_large<long long><<<static_cast<unsigned>(blocks), 256, 66048, stream>>>(
        a,
        b,
        static_cast<long long>(M),
        static_cast<long long>(N));
    return cudaGetLastError();
}

#endif
#endif
