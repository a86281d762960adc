#ifndef TILEGEN_COLUMN_MEANS_CU
#define TILEGEN_COLUMN_MEANS_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace column_means_kernels {

// 2 elements in one memory access of 8 bytes.
struct __align__(8) f32x2 {
    float lane[2];
};

// 2 elements in one memory access of 8 bytes.
struct __align__(8) i32x2 {
    int lane[2];
};

// A value and where it was found.
template <typename T, typename I>
struct Indexed {
    T value;
    I index;
};
// No index of an element: greater than all of them, so that it never wins a tie.
template <typename I>
constexpr I NO_INDEX = static_cast<I>(~0ull >> (65 - 8 * sizeof(I)));

// The larger value, the first of equal ones; NaN counts as the largest.
struct FirstGreatest {
    template <typename T, typename I>
    static __device__ __forceinline__ Indexed<T, I> of(const Indexed<T, I>& a, const Indexed<T, I>& b)
    {
        const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
        const bool tie = a.value == b.value || (a_nan && b_nan);
        const bool greater = b.value > a.value || (b_nan && !a_nan);
        return (tie ? b.index < a.index : greater) ? b : a;
    }
    // Takes in an element that comes after all earlier ones: only a greater one counts, or the first NaN.
    template <typename T, typename I>
    static __device__ __forceinline__ void take(Indexed<T, I>& best, T value, I index)
    {
        if (!(value <= best.value) && best.value == best.value) {
            best = Indexed<T, I>{value, index};
        }
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

// mu[j] = mean[i](x[i, j])
// at[j] = i32(argmax[i](x[i, j]))
// 256 threads per block; a block computes 64 rows (j).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) column_means_wide(
    const float* __restrict__ x,
    float* __restrict__ mu,
    int* __restrict__ at,
    index_t R,
    index_t C)
{
    constexpr int TEAM = 8;
    constexpr int ROWS = 64;

    // One partial result per thread; neighbours lie in different banks.
    __shared__ float row_mean_parts[8][2][32];

    // One partial result per thread; neighbours lie in different banks.
    __shared__ Indexed<float, index_t> row_argmax_parts[8][2][32];

    const int thread = static_cast<int>(threadIdx.x);
    const int member = thread / 32;
    const int team = thread % 32;
    const index_t j = static_cast<index_t>(blockIdx.x) * ROWS + team * 2;
    const bool inside_ = j < C;

    // Mean over i, argmax over i, 4 loads under way per thread; a sum per chunk, so that chains of additions are short.
    float row_mean[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        row_mean[l] = 0.0f;
    }
    Indexed<float, index_t> row_argmax[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        row_argmax[l] = Indexed<float, index_t>{-__int_as_float(0x7f800000), NO_INDEX<index_t>};
    }
    for (index_t base = 0; base < R; base += 32) {
        float row_mean_chunk[2] = {};
        f32x2 x_in[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t i = base + s * TEAM + member;
            if (inside_ && i < R) {
                x_in[s] = *reinterpret_cast<const f32x2*>(x + i * C + j);
            }
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t i = base + s * TEAM + member;
            if (inside_ && i < R) {
                #pragma unroll
                for (int l = 0; l < 2; ++l) {
                    const float value = x_in[s].lane[l];
                    row_mean_chunk[l] += value;
                    FirstGreatest::take(row_argmax[l], value, i);
                }
            }
        }
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            row_mean[l] += row_mean_chunk[l];
        }
    }

    // Each row's threads leave their results in shared memory; all of them are combined in one order.
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        row_mean_parts[member][l][team] = row_mean[l];
    }
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        row_argmax_parts[member][l][team] = row_argmax[l];
    }
    __syncthreads();
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        row_mean[l] = row_mean_parts[0][l][team];
        #pragma unroll
        for (int m = 1; m < 8; ++m) {
            row_mean[l] = Sum::of(row_mean[l], row_mean_parts[m][l][team]);
        }
    }
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        row_argmax[l] = row_argmax_parts[0][l][team];
        #pragma unroll
        for (int m = 1; m < 8; ++m) {
            row_argmax[l] = FirstGreatest::of(row_argmax[l], row_argmax_parts[m][l][team]);
        }
    }
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        row_mean[l] /= static_cast<float>(R);
    }
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        row_argmax[l].index = row_argmax[l].index == NO_INDEX<index_t> ? 0 : row_argmax[l].index;
    }

    // The first thread of each row writes mu, at.
    if (member == 0 && inside_) {
        f32x2 mu_out;
        i32x2 at_out;
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            mu_out.lane[l] = row_mean[l];
            at_out.lane[l] = static_cast<int>(static_cast<long long>(row_argmax[l].index));
        }
        *reinterpret_cast<f32x2*>(mu + j) = mu_out;
        *reinterpret_cast<i32x2*>(at + j) = at_out;
    }
}

// mu[j] = mean[i](x[i, j])
// at[j] = i32(argmax[i](x[i, j]))
// 256 threads per block; a block computes 32 rows (j).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) column_means_wide_scalar(
    const float* __restrict__ x,
    float* __restrict__ mu,
    int* __restrict__ at,
    index_t R,
    index_t C)
{
    constexpr int TEAM = 8;
    constexpr int ROWS = 32;

    // One partial result per thread; neighbours lie in different banks.
    __shared__ float row_mean_parts[8][32];

    // One partial result per thread; neighbours lie in different banks.
    __shared__ Indexed<float, index_t> row_argmax_parts[8][32];

    const int thread = static_cast<int>(threadIdx.x);
    const int member = thread / 32;
    const int team = thread % 32;
    const index_t j = static_cast<index_t>(blockIdx.x) * ROWS + team;
    const bool inside_ = j < C;

    // Mean over i, argmax over i, 4 loads under way per thread; a sum per chunk, so that chains of additions are short.
    float row_mean = 0.0f;
    Indexed<float, index_t> row_argmax = Indexed<float, index_t>{-__int_as_float(0x7f800000), NO_INDEX<index_t>};
    for (index_t base = 0; base < R; base += 32) {
        float row_mean_chunk = 0.0f;
        float x_in[4];
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t i = base + s * TEAM + member;
            if (inside_ && i < R) {
                x_in[s] = x[i * C + j];
            }
        }
        #pragma unroll
        for (int s = 0; s < 4; ++s) {
            const index_t i = base + s * TEAM + member;
            if (inside_ && i < R) {
                const float value = x_in[s];
                row_mean_chunk += value;
                FirstGreatest::take(row_argmax, value, i);
            }
        }
        row_mean += row_mean_chunk;
    }

    // Each row's threads leave their results in shared memory; all of them are combined in one order.
    row_mean_parts[member][team] = row_mean;
    row_argmax_parts[member][team] = row_argmax;
    __syncthreads();
    row_mean = row_mean_parts[0][team];
    #pragma unroll
    for (int m = 1; m < 8; ++m) {
        row_mean = Sum::of(row_mean, row_mean_parts[m][team]);
    }
    row_argmax = row_argmax_parts[0][team];
    #pragma unroll
    for (int m = 1; m < 8; ++m) {
        row_argmax = FirstGreatest::of(row_argmax, row_argmax_parts[m][team]);
    }
    row_mean /= static_cast<float>(R);
    row_argmax.index = row_argmax.index == NO_INDEX<index_t> ? 0 : row_argmax.index;

    // The first thread of each row writes mu, at.
    if (member == 0 && inside_) {
        mu[j] = row_mean;
        at[j] = static_cast<int>(static_cast<long long>(row_argmax.index));
    }
}

}  // namespace column_means_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t column_means_launch(
    const float* x,
    float* mu,
    int32_t* at,
    int64_t R,
    int64_t C,
    cudaStream_t stream)
{
    if (R < 0 || C < 0) {
        return cudaErrorInvalidValue;
    }
    if (C == 0) {
        return cudaSuccess;
    }
    if (C % 2 == 0 &&
        reinterpret_cast<uintptr_t>(x) % 8 == 0 &&
        reinterpret_cast<uintptr_t>(mu) % 8 == 0 &&
        reinterpret_cast<uintptr_t>(at) % 8 == 0) {
        const int64_t blocks = (C + 63) / 64;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (C * R + C <= 2147418111 && R <= 2113929215 && C <= 2113929215) {
            column_means_kernels::column_means_wide<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                mu,
                at,
                static_cast<int>(R),
                static_cast<int>(C));
            return cudaGetLastError();
        }
        column_means_kernels::column_means_wide<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            mu,
            at,
            static_cast<long long>(R),
            static_cast<long long>(C));
        return cudaGetLastError();
    }
    const int64_t blocks = (C + 31) / 32;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (C * R + C <= 2147418111 && R <= 2113929215 && C <= 2113929215) {
        column_means_kernels::column_means_wide_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            mu,
            at,
            static_cast<int>(R),
            static_cast<int>(C));
        return cudaGetLastError();
    }
    column_means_kernels::column_means_wide_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        x,
        mu,
        at,
        static_cast<long long>(R),
        static_cast<long long>(C));
    return cudaGetLastError();
}

#endif
#endif
