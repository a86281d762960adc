#ifndef TILEGEN_TRANSPOSE_CU
#define TILEGEN_TRANSPOSE_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace transpose_kernels {

// 4 elements in one memory access of 16 bytes.
struct __align__(16) f32x4 {
    float lane[4];
};

// b[j, i] = a[i, j]
// 256 threads per block; a block computes a tile of 64 x 64 points (j x i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) transpose_vector(
    const float* __restrict__ a,
    float* __restrict__ b,
    index_t M,
    index_t N)
{
    constexpr int TILE_J = 64;
    constexpr int TILE_I = 64;

    // The block's part of a, rows along i; the chunks of 4 of a row are XOR-swizzled: accesses across rows meet
    // different banks.
    __shared__ __align__(16) float a_tile[TILE_J][TILE_I];

    const int thread = static_cast<int>(threadIdx.x);
    const unsigned tiles_i = static_cast<unsigned>((M + TILE_I - 1) / TILE_I);
    const index_t i0 = static_cast<index_t>(blockIdx.x % tiles_i) * TILE_I;
    const index_t j0 = static_cast<index_t>(blockIdx.x / tiles_i) * TILE_J;

    // Load the tile of a, coalesced along j, 4 elements at a time; blocks of 4 x 4 are transposed in registers.
    {
        const int thread_j = thread % 16;
        const int thread_i = thread / 16;
        const index_t j = j0 + thread_j * 4;
        if (j < N) {
            f32x4 rows[4] = {};
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                const index_t i = i0 + thread_i * 4 + r;
                if (i < M) {
                    rows[r] = *reinterpret_cast<const f32x4*>(a + i * N + j);
                }
            }
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                f32x4 packed;
                #pragma unroll
                for (int r = 0; r < 4; ++r) {
                    packed.lane[r] = rows[r].lane[l];
                }
                *reinterpret_cast<f32x4*>(&a_tile[thread_j * 4 + l][(thread_i ^ (thread_j % 8)) * 4]) = packed;
            }
        }
    }

    __syncthreads();

    // Write b, neighbouring threads along i, 4 elements per thread at a time.
    {
        const int thread_i = thread % 16;
        const int thread_j = thread / 16;
        const index_t i = i0 + thread_i * 4;
        #pragma unroll
        for (int step_j = 0; step_j < 4; ++step_j) {
            const int tile_j = thread_j + step_j * 16;
            const index_t j = j0 + tile_j;
            if (j < N && i < M) {
                *reinterpret_cast<f32x4*>(b + j * M + i) =
                    *reinterpret_cast<const f32x4*>(&a_tile[tile_j][(thread_i ^ (tile_j / 4 % 8)) * 4]);
            }
        }
    }
}

// b[j, i] = a[i, j]
// 256 threads per block; a block computes a tile of 64 x 64 points (j x i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) transpose_vector_scalar(
    const float* __restrict__ a,
    float* __restrict__ b,
    index_t M,
    index_t N)
{
    constexpr int TILE_J = 64;
    constexpr int TILE_I = 64;

    // The block's part of a, rows along j; one element of padding per row: accesses across rows meet different banks.
    __shared__ __align__(16) float a_tile[TILE_I][TILE_J + 1];

    const int thread = static_cast<int>(threadIdx.x);
    const unsigned tiles_i = static_cast<unsigned>((M + TILE_I - 1) / TILE_I);
    const index_t i0 = static_cast<index_t>(blockIdx.x % tiles_i) * TILE_I;
    const index_t j0 = static_cast<index_t>(blockIdx.x / tiles_i) * TILE_J;

    // Load the tile of a, coalesced along j.
    {
        const int thread_j = thread % 64;
        const int thread_i = thread / 64;
        const index_t j = j0 + thread_j;
        #pragma unroll
        for (int step_i = 0; step_i < 16; ++step_i) {
            const int tile_i = thread_i + step_i * 4;
            const index_t i = i0 + tile_i;
            if (j < N && i < M) {
                a_tile[tile_i][thread_j] = a[i * N + j];
            }
        }
    }

    __syncthreads();

    // Write b, neighbouring threads along i.
    {
        const int thread_i = thread % 64;
        const int thread_j = thread / 64;
        const index_t i = i0 + thread_i;
        #pragma unroll
        for (int step_j = 0; step_j < 16; ++step_j) {
            const int tile_j = thread_j + step_j * 4;
            const index_t j = j0 + tile_j;
            if (j < N && i < M) {
                b[j * M + i] = a_tile[thread_i][tile_j];
            }
        }
    }
}

}  // namespace transpose_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
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
    if (reinterpret_cast<uintptr_t>(b) % 16 == 0 &&
        M % 4 == 0 &&
        reinterpret_cast<uintptr_t>(a) % 16 == 0 &&
        N % 4 == 0) {
        const int64_t blocks = (N + 63) / 64 * ((M + 63) / 64);
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (M * N + M <= 2147418111 && M * N + N <= 2147418111) {
            transpose_kernels::transpose_vector<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                a,
                b,
                static_cast<int>(M),
                static_cast<int>(N));
            return cudaGetLastError();
        }
        transpose_kernels::transpose_vector<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            a,
            b,
            static_cast<long long>(M),
            static_cast<long long>(N));
        return cudaGetLastError();
    }
    const int64_t blocks = (N + 63) / 64 * ((M + 63) / 64);
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (M * N + M <= 2147418111 && M * N + N <= 2147418111) {
        transpose_kernels::transpose_vector_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            a,
            b,
            static_cast<int>(M),
            static_cast<int>(N));
        return cudaGetLastError();
    }
    transpose_kernels::transpose_vector_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        a,
        b,
        static_cast<long long>(M),
        static_cast<long long>(N));
    return cudaGetLastError();
}

#endif
#endif
