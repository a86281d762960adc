#ifndef TILEGEN_HISTOGRAM_CU
#define TILEGEN_HISTOGRAM_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace histogram_kernels {

// 4 elements in one memory access of 16 bytes.
struct __align__(16) u32x4 {
    unsigned lane[4];
};

// Adds to the counter `offset` bytes past `counts`; an offset in bytes takes one multiplication, an index two.
template <typename T>
static __device__ __forceinline__ void add_at(T* counts, unsigned offset, T value)
{
    atomicAdd(reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(counts) + offset), value);
}

// Byte `n` of a word, by one permutation.
static __device__ __forceinline__ unsigned byte_of(unsigned word, int n)
{
    return __byte_perm(word, 0, 0x4440 + n);
}

// h[b] = count[i](x[i] == b)
// 512 threads per block; a block computes 32768 elements at a time, in strides of all blocks.
template <typename index_t>
static __global__ void __launch_bounds__(512, 2) histogram_auto(
    const unsigned char* __restrict__ x,
    int* __restrict__ h,
    unsigned* __restrict__ totals,
    unsigned* __restrict__ tickets,
    index_t N)
{
    constexpr int THREADS = 512;
    constexpr int ITEMS = 4;
    constexpr int CHUNK = 2048;
    constexpr int BINS = 256;
    constexpr int COPIES = 32;
    constexpr int PITCH = 128;

    // The bins of the block, a copy per lane: the bank is the lane's own, so lanes never meet.
    __shared__ unsigned counts[BINS * COPIES];

    // Whether this block is the last to finish.
    __shared__ bool last;

    const int thread = static_cast<int>(threadIdx.x);
    const index_t vectors = N / 16;
    const int copy = thread & (COPIES - 1);
    const unsigned mine = copy * 4;
    const index_t start = static_cast<index_t>(blockIdx.x) * CHUNK;
    const index_t stride = static_cast<index_t>(gridDim.x) * CHUNK;

    // Clear the bins.
    for (int n = thread; n < BINS * COPIES; n += THREADS) {
        counts[n] = 0;
    }

    __syncthreads();

    // Count. 4 loads of each thread are under way before the first is used.
    for (index_t first = start; first < vectors; first += stride) {
        u32x4 x_in[ITEMS];
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const index_t item = first + k * THREADS + thread;
            if (item < vectors) {
                x_in[k] = *reinterpret_cast<const u32x4*>(x + item * 16);
            }
        }
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const index_t item = first + k * THREADS + thread;
            if (item < vectors) {
                #pragma unroll
                for (int l = 0; l < 16; ++l) {
                    const unsigned b = byte_of(x_in[k].lane[l / 4], l % 4);
                    add_at(counts, b * PITCH + mine, 1u);
                }
            }
        }
    }
    // The elements after the last whole vector.
    const index_t i = vectors * 16 + thread;
    if (blockIdx.x == 0 && i < N) {
        const unsigned b = x[i];
        add_at(counts, b * PITCH + mine, 1u);
    }

    __syncthreads();

    // Totals of the block: each thread adds the copies of a bin, beginning where no other lane does: all banks are
    // busy.
    for (int n = thread; n < BINS; n += THREADS) {
        unsigned total = 0;
        #pragma unroll
        for (int c = 0; c < COPIES; ++c) {
            total += counts[n * COPIES + ((copy + c) & (COPIES - 1))];
        }
        counts[n * COPIES + copy] = total;
        if (gridDim.x > 1 && total != 0) {
            atomicAdd(totals + n, total);
        }
    }

    // The last block to finish writes h: the fence puts a block's totals before its ticket, so the last ticket sees
    // them all.
    if (gridDim.x > 1) {
        __threadfence();
        __syncthreads();
        if (thread == 0) {
            last = atomicAdd(tickets, 1u) + 1 == gridDim.x;
        }
        __syncthreads();
        if (!last) {
            return;
        }
        __threadfence();
    }
    for (int b = thread; b < BINS; b += THREADS) {
        const int total = static_cast<int>(gridDim.x > 1 ? __ldcg(totals + b) : counts[b * COPIES + copy]);
        h[b] = total;
    }
}

// h[b] = count[i](x[i] == b)
// 512 threads per block; a block computes 4096 elements at a time, in strides of all blocks.
template <typename index_t>
static __global__ void __launch_bounds__(512, 2) histogram_auto_scalar(
    const unsigned char* __restrict__ x,
    int* __restrict__ h,
    unsigned* __restrict__ totals,
    unsigned* __restrict__ tickets,
    index_t N)
{
    constexpr int THREADS = 512;
    constexpr int ITEMS = 8;
    constexpr int CHUNK = 4096;
    constexpr int BINS = 256;
    constexpr int COPIES = 32;
    constexpr int PITCH = 128;

    // The bins of the block, a copy per lane: the bank is the lane's own, so lanes never meet.
    __shared__ unsigned counts[BINS * COPIES];

    // Whether this block is the last to finish.
    __shared__ bool last;

    const int thread = static_cast<int>(threadIdx.x);
    const int copy = thread & (COPIES - 1);
    const unsigned mine = copy * 4;
    const index_t start = static_cast<index_t>(blockIdx.x) * CHUNK;
    const index_t stride = static_cast<index_t>(gridDim.x) * CHUNK;

    // Clear the bins.
    for (int n = thread; n < BINS * COPIES; n += THREADS) {
        counts[n] = 0;
    }

    __syncthreads();

    // Count. 8 loads of each thread are under way before the first is used.
    for (index_t first = start; first < N; first += stride) {
        unsigned char x_in[ITEMS];
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const index_t i = first + k * THREADS + thread;
            if (i < N) {
                x_in[k] = x[i];
            }
        }
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const index_t i = first + k * THREADS + thread;
            if (i < N) {
                const unsigned b = x_in[k];
                add_at(counts, b * PITCH + mine, 1u);
            }
        }
    }

    __syncthreads();

    // Totals of the block: each thread adds the copies of a bin, beginning where no other lane does: all banks are
    // busy.
    for (int n = thread; n < BINS; n += THREADS) {
        unsigned total = 0;
        #pragma unroll
        for (int c = 0; c < COPIES; ++c) {
            total += counts[n * COPIES + ((copy + c) & (COPIES - 1))];
        }
        counts[n * COPIES + copy] = total;
        if (gridDim.x > 1 && total != 0) {
            atomicAdd(totals + n, total);
        }
    }

    // The last block to finish writes h: the fence puts a block's totals before its ticket, so the last ticket sees
    // them all.
    if (gridDim.x > 1) {
        __threadfence();
        __syncthreads();
        if (thread == 0) {
            last = atomicAdd(tickets, 1u) + 1 == gridDim.x;
        }
        __syncthreads();
        if (!last) {
            return;
        }
        __threadfence();
    }
    for (int b = thread; b < BINS; b += THREADS) {
        const int total = static_cast<int>(gridDim.x > 1 ? __ldcg(totals + b) : counts[b * COPIES + copy]);
        h[b] = total;
    }
}

}  // namespace histogram_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t histogram_launch(
    const uint8_t* x,
    int32_t* h,
    int64_t N,
    cudaStream_t stream)
{
    if (N < 0) {
        return cudaErrorInvalidValue;
    }
    if (reinterpret_cast<uintptr_t>(x) % 16 == 0) {
        const int64_t blocks = N / 32768 + 1 < 264 ? N / 32768 + 1 : 264;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        // Scratch memory of this launch, ordered on the stream; `totals` and `tickets` start at zero.
        const int64_t totals_at = 0;
        const int64_t tickets_at = totals_at + 1280;
        const int64_t scratch_bytes = tickets_at + 256;
        if (N <= 2138767359) {
            unsigned char* scratch = nullptr;
            cudaError_t error = cudaMallocAsync(
                reinterpret_cast<void**>(&scratch),
                static_cast<size_t>(scratch_bytes),
                stream);
            if (error != cudaSuccess) {
                return error;
            }
            error = cudaMemsetAsync(scratch, 0, static_cast<size_t>(scratch_bytes), stream);
            if (error == cudaSuccess) {
                histogram_kernels::histogram_auto<int><<<static_cast<unsigned>(blocks), 512, 0, stream>>>(
                    x,
                    h,
                    reinterpret_cast<unsigned*>(scratch + totals_at),
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
        error = cudaMemsetAsync(scratch, 0, static_cast<size_t>(scratch_bytes), stream);
        if (error == cudaSuccess) {
            histogram_kernels::histogram_auto<long long><<<static_cast<unsigned>(blocks), 512, 0, stream>>>(
                x,
                h,
                reinterpret_cast<unsigned*>(scratch + totals_at),
                reinterpret_cast<unsigned*>(scratch + tickets_at),
                static_cast<long long>(N));
            error = cudaGetLastError();
        }
        const cudaError_t freed = cudaFreeAsync(scratch, stream);
        return error != cudaSuccess ? error : freed;
    }
    const int64_t blocks = N / 4096 + 1 < 264 ? N / 4096 + 1 : 264;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    // Scratch memory of this launch, ordered on the stream; `totals` and `tickets` start at zero.
    const int64_t totals_at = 0;
    const int64_t tickets_at = totals_at + 1280;
    const int64_t scratch_bytes = tickets_at + 256;
    if (N <= 2146336767) {
        unsigned char* scratch = nullptr;
        cudaError_t error = cudaMallocAsync(
            reinterpret_cast<void**>(&scratch),
            static_cast<size_t>(scratch_bytes),
            stream);
        if (error != cudaSuccess) {
            return error;
        }
        error = cudaMemsetAsync(scratch, 0, static_cast<size_t>(scratch_bytes), stream);
        if (error == cudaSuccess) {
            histogram_kernels::histogram_auto_scalar<int><<<static_cast<unsigned>(blocks), 512, 0, stream>>>(
                x,
                h,
                reinterpret_cast<unsigned*>(scratch + totals_at),
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
    error = cudaMemsetAsync(scratch, 0, static_cast<size_t>(scratch_bytes), stream);
    if (error == cudaSuccess) {
        histogram_kernels::histogram_auto_scalar<long long><<<static_cast<unsigned>(blocks), 512, 0, stream>>>(
            x,
            h,
            reinterpret_cast<unsigned*>(scratch + totals_at),
            reinterpret_cast<unsigned*>(scratch + tickets_at),
            static_cast<long long>(N));
        error = cudaGetLastError();
    }
    const cudaError_t freed = cudaFreeAsync(scratch, stream);
    return error != cudaSuccess ? error : freed;
}

#endif
#endif
