#ifndef TILEGEN_COPY_CU
#define TILEGEN_COPY_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace copy_kernels {

// 16 elements in one memory access of 16 bytes.
struct __align__(16) u8x16 {
    unsigned char lane[16];
};

// y[i] = x[i]
// 256 threads per block; a block computes a tile of 8192 points (i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) copy_auto(
    const unsigned char* __restrict__ x,
    unsigned char* __restrict__ y,
    index_t N)
{
    constexpr int TILE_I = 8192;

    const int thread = static_cast<int>(threadIdx.x);
    const index_t i0 = static_cast<index_t>(blockIdx.x) * TILE_I;

    // Write y, neighbouring threads along i, 16 elements per thread at a time.
    {
        #pragma unroll
        for (int step_i = 0; step_i < 2; ++step_i) {
            const index_t i = i0 + (thread + step_i * 256) * 16;
            if (i < N) {
                if (i + 16 <= N) {
                    *reinterpret_cast<u8x16*>(y + i) = *reinterpret_cast<const u8x16*>(x + i);
                } else {
                    #pragma unroll
                    for (int l = 0; l < 16; ++l) {
                        const index_t i_l = i + l;
                        if (i_l < N) {
                            y[i_l] = x[i_l];
                        }
                    }
                }
            }
        }
    }
}

// y[i] = x[i]
// 256 threads per block; a block computes a tile of 8192 points (i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) copy_auto_scalar(
    const unsigned char* __restrict__ x,
    unsigned char* __restrict__ y,
    index_t N)
{
    constexpr int TILE_I = 8192;

    const int thread = static_cast<int>(threadIdx.x);
    const index_t i0 = static_cast<index_t>(blockIdx.x) * TILE_I;

    // Write y, neighbouring threads along i.
    {
        #pragma unroll
        for (int step_i = 0; step_i < 32; ++step_i) {
            const index_t i = i0 + thread + step_i * 256;
            if (i < N) {
                y[i] = x[i];
            }
        }
    }
}

}  // namespace copy_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t copy_launch(
    const uint8_t* x,
    uint8_t* y,
    int64_t N,
    cudaStream_t stream)
{
    if (N < 0) {
        return cudaErrorInvalidValue;
    }
    if (N == 0) {
        return cudaSuccess;
    }
    if (reinterpret_cast<uintptr_t>(y) % 16 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0) {
        const int64_t blocks = (N + 8191) / 8192;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (N <= 2147418111) {
            copy_kernels::copy_auto<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                y,
                static_cast<int>(N));
            return cudaGetLastError();
        }
        copy_kernels::copy_auto<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            y,
            static_cast<long long>(N));
        return cudaGetLastError();
    }
    const int64_t blocks = (N + 8191) / 8192;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (N <= 2147418111) {
        copy_kernels::copy_auto_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            y,
            static_cast<int>(N));
        return cudaGetLastError();
    }
    copy_kernels::copy_auto_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        x,
        y,
        static_cast<long long>(N));
    return cudaGetLastError();
}

#endif
#endif
