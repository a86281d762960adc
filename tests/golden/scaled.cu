#ifndef TILEGEN_SCALED_CU
#define TILEGEN_SCALED_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace scaled_kernels {

// 4 elements in one memory access of 16 bytes.
struct __align__(16) f32x4 {
    float lane[4];
};

// x * Phi(x) in some 23 instructions: max(x, 0) - u Phi(-u) with u = |x|. Phi(-u) is exp(-u^2 / 2), whose
// argument is kept in two parts, times t = 1 / (1 + 0.305 u) and a polynomial in it: a minimax fit to 1e-7. It works with
// w = u / 2. EXACT: the square of x has no more bits than a
// float, as that of a half or a bfloat16.
template <bool EXACT>
static __device__ __forceinline__ float gelu_float(float x)
{
    const float h = 0.5f * x, w = fminf(fabsf(h), 7.5f);
    float t, power;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(t) : "f"(fmaf(w, 0.61f, 1.0f)));
    float fit = 0.0734531363f;
    fit = fmaf(fit, t, -0.306233713f);
    fit = fmaf(fit, t, 0.371942924f);
    fit = fmaf(fit, t, -0.0765058872f);
    fit = fmaf(fit, t, 0.242399081f);
    fit = fmaf(fit, t, 0.206704473f);
    fit = fmaf(fit, t, 0.244963558f);
    fit = fmaf(fit, t, 0.243276523f) * t;
    const float high = w * w;
    const float exponent = high * -2.88539f;
    float lost = fmaf(high, 2.88539f, exponent);
    lost = EXACT ? lost : fmaf(fmaf(w, w, -high), 2.88539f, lost);
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    power = fmaf(power, lost * -0.69314718f, power);
    // 2 max(x / 2, 0) as x / 2 + |x / 2|: like x * Phi(x), it is no number for -infinity.
    return fmaf(-w * fit, power, h + fabsf(h));
}

// let h[i] = s * x[i]
// y[i] = h[i] * h[i] + gelu(r[i])
// 256 threads per block; a block computes a tile of 1024 points (i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) scaled_vector(
    const float* __restrict__ x,
    const float* __restrict__ r,
    float* __restrict__ y,
    index_t N,
    float s)
{
    constexpr int TILE_I = 1024;

    const int thread = static_cast<int>(threadIdx.x);
    const index_t i0 = static_cast<index_t>(blockIdx.x) * TILE_I;

    // Write y, neighbouring threads along i, 4 elements per thread at a time.
    {
        const index_t i = i0 + thread * 4;
        if (i < N) {
            if (i + 4 <= N) {
                const auto x_in = *reinterpret_cast<const f32x4*>(x + i);
                const auto r_in = *reinterpret_cast<const f32x4*>(r + i);
                f32x4 y_out;
                #pragma unroll
                for (int l = 0; l < 4; ++l) {
                    const float h = s * x_in.lane[l];
                    y_out.lane[l] = h * h + gelu_float<false>(r_in.lane[l]);
                }
                *reinterpret_cast<f32x4*>(y + i) = y_out;
            } else {
                #pragma unroll
                for (int l = 0; l < 4; ++l) {
                    const index_t i_l = i + l;
                    if (i_l < N) {
                        const float h = s * x[i_l];
                        y[i_l] = h * h + gelu_float<false>(r[i_l]);
                    }
                }
            }
        }
    }
}

// let h[i] = s * x[i]
// y[i] = h[i] * h[i] + gelu(r[i])
// 256 threads per block; a block computes a tile of 1024 points (i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) scaled_vector_scalar(
    const float* __restrict__ x,
    const float* __restrict__ r,
    float* __restrict__ y,
    index_t N,
    float s)
{
    constexpr int TILE_I = 1024;

    const int thread = static_cast<int>(threadIdx.x);
    const index_t i0 = static_cast<index_t>(blockIdx.x) * TILE_I;

    // Write y, neighbouring threads along i.
    {
        #pragma unroll
        for (int step_i = 0; step_i < 4; ++step_i) {
            const index_t i = i0 + thread + step_i * 256;
            if (i < N) {
                const float h = s * x[i];
                y[i] = h * h + gelu_float<false>(r[i]);
            }
        }
    }
}

}  // namespace scaled_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t scaled_launch(
    const float* x,
    const float* r,
    float* y,
    int64_t N,
    float s,
    cudaStream_t stream)
{
    if (N < 0) {
        return cudaErrorInvalidValue;
    }
    if (N == 0) {
        return cudaSuccess;
    }
    if (reinterpret_cast<uintptr_t>(y) % 16 == 0 &&
        reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
        reinterpret_cast<uintptr_t>(r) % 16 == 0) {
        const int64_t blocks = (N + 1023) / 1024;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (N <= 2147418111) {
            scaled_kernels::scaled_vector<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                r,
                y,
                static_cast<int>(N),
                s);
            return cudaGetLastError();
        }
        scaled_kernels::scaled_vector<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            r,
            y,
            static_cast<long long>(N),
            s);
        return cudaGetLastError();
    }
    const int64_t blocks = (N + 1023) / 1024;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (N <= 2147418111) {
        scaled_kernels::scaled_vector_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            r,
            y,
            static_cast<int>(N),
            s);
        return cudaGetLastError();
    }
    scaled_kernels::scaled_vector_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        x,
        r,
        y,
        static_cast<long long>(N),
        s);
    return cudaGetLastError();
}

#endif
#endif
