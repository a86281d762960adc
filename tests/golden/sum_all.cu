#ifndef TILEGEN_TOTAL_CU
#define TILEGEN_TOTAL_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace total_kernels {

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

// s[] = sum[i](x[i])
// 256 threads per block; a block computes part of everything.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) total_auto(
    const float* __restrict__ x,
    float* __restrict__ s,
    float* __restrict__ part0,
    unsigned* __restrict__ tickets,
    index_t N)
{
    constexpr int TEAM = 256;

    // One partial result per warp.
    __shared__ float row_sum_parts[8];

    // Whether this block is the last one of its rows to finish.
    __shared__ bool last;

    const int thread = static_cast<int>(threadIdx.x);
    const int member = thread;
    const unsigned parts = gridDim.x;
    const unsigned part = blockIdx.x;
    const unsigned row_block = 0;

    // Sum over i, 4 loads under way per thread; a sum per chunk, so that chains of additions are short.
    float row_sum = 0.0f;
    for (index_t base = static_cast<index_t>(part) * 4096; base < N; base += static_cast<index_t>(parts) * 4096) {
        float row_sum_chunk = 0.0f;
        f32x4 x_in[4];
        #pragma unroll
        for (int s1 = 0; s1 < 4; ++s1) {
            const index_t i = base + (s1 * TEAM + member) * 4;
            if (i < N) {
                x_in[s1] = *reinterpret_cast<const f32x4*>(x + i);
            }
        }
        #pragma unroll
        for (int s1 = 0; s1 < 4; ++s1) {
            const index_t i = base + (s1 * TEAM + member) * 4;
            if (i < N) {
                #pragma unroll
                for (int l = 0; l < 4; ++l) {
                    row_sum_chunk += x_in[s1].lane[l];
                }
            }
        }
        row_sum += row_sum_chunk;
    }

    // Combine over the 256 threads of the row: lanes by shuffles, then one value per warp.
    // The last block to finish its part puts all parts together, in order: the same bits on every run.
    row_sum = across_lanes<Sum, 32>(row_sum);
    if (thread % 32 == 0) {
        row_sum_parts[thread / 32] = row_sum;
    }
    __syncthreads();
    row_sum = across_lanes<Sum, 8>(row_sum_parts[thread % 8]);
    if (member == 0) {
        part0[part] = row_sum;
    }
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        last = atomicAdd(tickets + row_block, 1u) + 1 == parts;
    }
    __syncthreads();
    if (!last) {
        return;
    }
    __threadfence();
    row_sum = 0.0f;
    for (unsigned q = member; q < parts; q += 256) {
        row_sum = Sum::of(row_sum, __ldcg(&part0[q]));
    }
    row_sum = across_lanes<Sum, 32>(row_sum);
    if (thread % 32 == 0) {
        row_sum_parts[thread / 32] = row_sum;
    }
    __syncthreads();
    row_sum = across_lanes<Sum, 8>(row_sum_parts[thread % 8]);

    // The first thread of each row writes s.
    if (member == 0) {
        s[0] = row_sum;
    }
}

// s[] = sum[i](x[i])
// 256 threads per block; a block computes part of everything.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) total_auto_scalar(
    const float* __restrict__ x,
    float* __restrict__ s,
    float* __restrict__ part0,
    unsigned* __restrict__ tickets,
    index_t N)
{
    constexpr int TEAM = 256;

    // One partial result per warp.
    __shared__ float row_sum_parts[8];

    // Whether this block is the last one of its rows to finish.
    __shared__ bool last;

    const int thread = static_cast<int>(threadIdx.x);
    const int member = thread;
    const unsigned parts = gridDim.x;
    const unsigned part = blockIdx.x;
    const unsigned row_block = 0;

    // Sum over i, 4 loads under way per thread; a sum per chunk, so that chains of additions are short.
    float row_sum = 0.0f;
    for (index_t base = static_cast<index_t>(part) * 1024; base < N; base += static_cast<index_t>(parts) * 1024) {
        float row_sum_chunk = 0.0f;
        float x_in[4];
        #pragma unroll
        for (int s1 = 0; s1 < 4; ++s1) {
            const index_t i = base + s1 * TEAM + member;
            if (i < N) {
                x_in[s1] = x[i];
            }
        }
        #pragma unroll
        for (int s1 = 0; s1 < 4; ++s1) {
            const index_t i = base + s1 * TEAM + member;
            if (i < N) {
                row_sum_chunk += x_in[s1];
            }
        }
        row_sum += row_sum_chunk;
    }

    // Combine over the 256 threads of the row: lanes by shuffles, then one value per warp.
    // The last block to finish its part puts all parts together, in order: the same bits on every run.
    row_sum = across_lanes<Sum, 32>(row_sum);
    if (thread % 32 == 0) {
        row_sum_parts[thread / 32] = row_sum;
    }
    __syncthreads();
    row_sum = across_lanes<Sum, 8>(row_sum_parts[thread % 8]);
    if (member == 0) {
        part0[part] = row_sum;
    }
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        last = atomicAdd(tickets + row_block, 1u) + 1 == parts;
    }
    __syncthreads();
    if (!last) {
        return;
    }
    __threadfence();
    row_sum = 0.0f;
    for (unsigned q = member; q < parts; q += 256) {
        row_sum = Sum::of(row_sum, __ldcg(&part0[q]));
    }
    row_sum = across_lanes<Sum, 32>(row_sum);
    if (thread % 32 == 0) {
        row_sum_parts[thread / 32] = row_sum;
    }
    __syncthreads();
    row_sum = across_lanes<Sum, 8>(row_sum_parts[thread % 8]);

    // The first thread of each row writes s.
    if (member == 0) {
        s[0] = row_sum;
    }
}

}  // namespace total_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t total_launch(
    const float* x,
    float* s,
    int64_t N,
    cudaStream_t stream)
{
    if (N < 0) {
        return cudaErrorInvalidValue;
    }
    if (N % 4 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0) {
        const int64_t blocks = 1056 < N / 4096 + 1 ? 1056 : N / 4096 + 1;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        // Scratch memory of this launch, ordered on the stream; `tickets` starts at zero.
        const int64_t tickets_at = 0;
        const int64_t part0_at = tickets_at + 256;
        const int64_t scratch_bytes = part0_at + (1056 < N / 4096 + 1 ? 1056 : N / 4096 + 1) * 4 / 256 * 256 + 256;
        if (N <= 2147418111 && N <= 2113929215) {
            unsigned char* scratch = nullptr;
            cudaError_t error = cudaMallocAsync(
                reinterpret_cast<void**>(&scratch),
                static_cast<size_t>(scratch_bytes),
                stream);
            if (error != cudaSuccess) {
                return error;
            }
            error = cudaMemsetAsync(scratch, 0, static_cast<size_t>(part0_at), stream);
            if (error == cudaSuccess) {
                total_kernels::total_auto<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                    x,
                    s,
                    reinterpret_cast<float*>(scratch + part0_at),
                    reinterpret_cast<unsigned*>(scratch + tickets_at),
                    static_cast<int>(N));
                error = cudaGetLastError();
            }
            const cudaError_t freed = cudaFreeAsync(scratch, stream);
            return error != cudaSuccess ? error : freed;
        }
        unsigned char* scratch = nullptr;
        cudaError_t error = cudaMallocAsync(
            reinterpret_cast<void**>(&scratch),
            static_cast<size_t>(scratch_bytes),
            stream);
        if (error != cudaSuccess) {
            return error;
        }
        error = cudaMemsetAsync(scratch, 0, static_cast<size_t>(part0_at), stream);
        if (error == cudaSuccess) {
            total_kernels::total_auto<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                s,
                reinterpret_cast<float*>(scratch + part0_at),
                reinterpret_cast<unsigned*>(scratch + tickets_at),
                static_cast<long long>(N));
            error = cudaGetLastError();
        }
        const cudaError_t freed = cudaFreeAsync(scratch, stream);
        return error != cudaSuccess ? error : freed;
    }
    const int64_t blocks = 1056 < N / 1024 + 1 ? 1056 : N / 1024 + 1;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    // Scratch memory of this launch, ordered on the stream; `tickets` starts at zero.
    const int64_t tickets_at = 0;
    const int64_t part0_at = tickets_at + 256;
    const int64_t scratch_bytes = part0_at + (1056 < N / 1024 + 1 ? 1056 : N / 1024 + 1) * 4 / 256 * 256 + 256;
    if (N <= 2147418111 && N <= 2113929215) {
        unsigned char* scratch = nullptr;
        cudaError_t error = cudaMallocAsync(
            reinterpret_cast<void**>(&scratch),
            static_cast<size_t>(scratch_bytes),
            stream);
        if (error != cudaSuccess) {
            return error;
        }
        error = cudaMemsetAsync(scratch, 0, static_cast<size_t>(part0_at), stream);
        if (error == cudaSuccess) {
            total_kernels::total_auto_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                s,
                reinterpret_cast<float*>(scratch + part0_at),
                reinterpret_cast<unsigned*>(scratch + tickets_at),
                static_cast<int>(N));
            error = cudaGetLastError();
        }
        const cudaError_t freed = cudaFreeAsync(scratch, stream);
        return error != cudaSuccess ? error : freed;
    }
    unsigned char* scratch = nullptr;
    cudaError_t error = cudaMallocAsync(
        reinterpret_cast<void**>(&scratch),
        static_cast<size_t>(scratch_bytes),
        stream);
    if (error != cudaSuccess) {
        return error;
    }
    error = cudaMemsetAsync(scratch, 0, static_cast<size_t>(part0_at), stream);
    if (error == cudaSuccess) {
        total_kernels::total_auto_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            s,
            reinterpret_cast<float*>(scratch + part0_at),
            reinterpret_cast<unsigned*>(scratch + tickets_at),
            static_cast<long long>(N));
        error = cudaGetLastError();
    }
    const cudaError_t freed = cudaFreeAsync(scratch, stream);
    return error != cudaSuccess ? error : freed;
}

#endif
#endif
