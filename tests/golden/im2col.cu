#ifndef TILEGEN_IM2COL_CU
#define TILEGEN_IM2COL_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace im2col_kernels {

// Whether an index is one of the tensor's.
template <typename T>
static __device__ __forceinline__ bool inside(T index, T extent)
{
    return index >= 0 && index < extent;
}

// y[c, r, s, h, w] = x[c, h + r - 1, w + s - 1]
// 256 threads per block; a block computes a tile of 512 points (w).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) im2col_auto(
    const float* __restrict__ x,
    float* __restrict__ y,
    index_t H,
    index_t W)
{
    constexpr int TILE_W = 512;

    const int thread = static_cast<int>(threadIdx.x);
    const unsigned tiles_r = 3;
    const unsigned tiles_s = 3;
    const unsigned tiles_h = static_cast<unsigned>(H);
    const unsigned tiles_w = static_cast<unsigned>((W + TILE_W - 1) / TILE_W);
    const index_t w0 = static_cast<index_t>(blockIdx.x % tiles_w) * TILE_W;
    const index_t h = static_cast<index_t>(blockIdx.x / tiles_w % tiles_h);
    const index_t s = static_cast<index_t>(blockIdx.x / tiles_w / tiles_h % tiles_s);
    const index_t r = static_cast<index_t>(blockIdx.x / tiles_w / tiles_h / tiles_s % tiles_r);
    const index_t c = static_cast<index_t>(blockIdx.x / tiles_w / tiles_h / tiles_s / tiles_r);

    // Write y, neighbouring threads along w.
    {
        #pragma unroll
        for (int step_w = 0; step_w < 2; ++step_w) {
            const index_t w = w0 + thread + step_w * 256;
            if (w < W) {
                const index_t x1 = h + r - 1;
                const index_t x2 = s + w - 1;
                y[(((c * 3 + r) * 3 + s) * H + h) * W + w] =
                    inside<index_t>(x1, H) && inside<index_t>(x2, W) ? x[(c * H + x1) * W + x2] : 0.0f;
            }
        }
    }
}

}  // namespace im2col_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t im2col_launch(
    const float* x,
    float* y,
    int64_t C,
    int64_t H,
    int64_t W,
    cudaStream_t stream)
{
    if (C < 0 || H < 0 || W < 0) {
        return cudaErrorInvalidValue;
    }
    if (C == 0 || H == 0 || W == 0) {
        return cudaSuccess;
    }
    const int64_t blocks = C * 3 * 3 * H * ((W + 511) / 512);
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (C * H * W * 9 + H * W * 13 + W <= 2147418111 && H * 3 + 4 <= 2147418111 && W * 3 + 4 <= 2147418111) {
        im2col_kernels::im2col_auto<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            y,
            static_cast<int>(H),
            static_cast<int>(W));
        return cudaGetLastError();
    }
    im2col_kernels::im2col_auto<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        x,
        y,
        static_cast<long long>(H),
        static_cast<long long>(W));
    return cudaGetLastError();
}

#endif
#endif
