#ifndef TILEGEN_HISTOGRAM_ROWS_CU
#define TILEGEN_HISTOGRAM_ROWS_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace histogram_rows_kernels {

// Adds to the counter `offset` bytes past `counts`; an offset in bytes takes one multiplication, an index two.
template <typename T>
static __device__ __forceinline__ void add_at(T* counts, unsigned offset, T value)
{
    atomicAdd(reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(counts) + offset), value);
}

// h[r, b] = i64(sum[i](where(x[r, i].key == b and m[i], x[r, i].weight, 0))) for b in 1..B
// 128 threads per block; a block computes 256 elements at a time of one row of elements.
template <typename index_t>
static __global__ void __launch_bounds__(128, 4) histogram_rows_small(
    const int* __restrict__ x,
    const unsigned char* __restrict__ m,
    long long* __restrict__ h,
    unsigned* __restrict__ totals,
    unsigned* __restrict__ tickets,
    index_t R,
    index_t P,
    index_t B)
{
    constexpr int THREADS = 128;
    constexpr int ITEMS = 2;
    constexpr int CHUNK = 256;
    constexpr int CAPACITY = 12272;

    // The bins of the block, several copies side by side, so that fewer lanes meet.
    __shared__ unsigned counts[CAPACITY];

    // Whether this block is the last to finish.
    __shared__ bool last;

    const int thread = static_cast<int>(threadIdx.x);
    const unsigned parts = gridDim.x / static_cast<unsigned>(R);
    const unsigned part = blockIdx.x % parts;
    const index_t r = static_cast<index_t>(blockIdx.x / parts);
    const index_t bins = B - 1;
    const int copies = 1 << (31 - __clz(min(static_cast<int>(CAPACITY / bins), 32)));
    const int copy = thread & (copies - 1);
    const int turn = (thread * copies / 32) & (copies - 1);
    const unsigned mine = copy * 4;
    const unsigned pitch = copies * 4;
    const index_t start = static_cast<index_t>(part) * CHUNK;
    const index_t stride = static_cast<index_t>(parts) * CHUNK;

    // Clear the bins.
    for (int n = thread; n < bins * copies; n += THREADS) {
        counts[n] = 0;
    }

    __syncthreads();

    // Count. 2 loads of each thread are under way before the first is used.
    for (index_t first = start; first < P; first += stride) {
        int x_key_in[ITEMS];
        unsigned char m_in[ITEMS];
        int x_weight_in[ITEMS];
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const index_t i = first + k * THREADS + thread;
            if (i < P) {
                x_key_in[k] = x[(r * P + i) * 2];
                m_in[k] = m[i];
                x_weight_in[k] = x[(r * P + i) * 2 + 1];
            }
        }
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const index_t i = first + k * THREADS + thread;
            if (i < P) {
                const unsigned b = static_cast<unsigned>(x_key_in[k]) - 1u;
                if (b < static_cast<unsigned>(B - 1) && m_in[k] != 0) {
                    add_at(counts, b * pitch + mine, static_cast<unsigned>(x_weight_in[k]));
                }
            }
        }
    }

    __syncthreads();

    // Totals of the block: each thread adds the copies of a bin, beginning where no other lane does: all banks are
    // busy.
    for (int n = thread; n < bins; n += THREADS) {
        unsigned total = 0;
        for (int c = 0; c < copies; ++c) {
            total += counts[n * copies + ((turn + c) & (copies - 1))];
        }
        counts[n * copies + turn] = total;
        if (parts > 1 && total != 0) {
            atomicAdd(totals + r * bins + n, total);
        }
    }

    // The last block to finish writes h: the fence puts a block's totals before its ticket, so the last ticket sees
    // them all.
    if (parts > 1) {
        __threadfence();
        __syncthreads();
        if (thread == 0) {
            last = atomicAdd(tickets + r, 1u) + 1 == parts;
        }
        __syncthreads();
        if (!last) {
            return;
        }
        __threadfence();
    }
    for (index_t b = thread; b < bins; b += THREADS) {
        const int total = static_cast<int>(parts > 1 ? __ldcg(totals + r * bins + b) : counts[b * copies + turn]);
        h[r * B + b + 1] = static_cast<long long>(total);
    }
}

// h[r, b] = i64(sum[i](where(x[r, i].key == b and m[i], x[r, i].weight, 0))) for b in 1..B
// 128 threads per block; a block computes 256 elements at a time of one row of elements.
template <typename index_t>
static __global__ void __launch_bounds__(128, 4) histogram_rows_small_many(
    const int* __restrict__ x,
    const unsigned char* __restrict__ m,
    long long* __restrict__ h,
    unsigned* __restrict__ totals,
    unsigned* __restrict__ tickets,
    index_t R,
    index_t P,
    index_t B)
{
    constexpr int THREADS = 128;
    constexpr int ITEMS = 2;
    constexpr int CHUNK = 256;

    // Whether this block is the last to finish.
    __shared__ bool last;

    const int thread = static_cast<int>(threadIdx.x);
    const unsigned parts = gridDim.x / static_cast<unsigned>(R);
    const unsigned part = blockIdx.x % parts;
    const index_t r = static_cast<index_t>(blockIdx.x / parts);
    const index_t bins = B - 1;
    const index_t start = static_cast<index_t>(part) * CHUNK;
    const index_t stride = static_cast<index_t>(parts) * CHUNK;

    // Count. 2 loads of each thread are under way before the first is used.
    // There are too many bins for shared memory: atomics in the L2 cache add to totals of all blocks.
    for (index_t first = start; first < P; first += stride) {
        int x_key_in[ITEMS];
        unsigned char m_in[ITEMS];
        int x_weight_in[ITEMS];
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const index_t i = first + k * THREADS + thread;
            if (i < P) {
                x_key_in[k] = x[(r * P + i) * 2];
                m_in[k] = m[i];
                x_weight_in[k] = x[(r * P + i) * 2 + 1];
            }
        }
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            const index_t i = first + k * THREADS + thread;
            if (i < P) {
                const unsigned long long b = static_cast<unsigned long long>(x_key_in[k]) - 1ull;
                if (b < static_cast<unsigned long long>(B - 1) && m_in[k] != 0) {
                    atomicAdd(totals + r * bins + static_cast<index_t>(b), static_cast<unsigned>(x_weight_in[k]));
                }
            }
        }
    }

    // The last block to finish writes h: the fence puts a block's totals before its ticket, so the last ticket sees
    // them all.
    __threadfence();
    __syncthreads();
    if (thread == 0) {
        last = atomicAdd(tickets + r, 1u) + 1 == parts;
    }
    __syncthreads();
    if (!last) {
        return;
    }
    __threadfence();
    for (index_t b = thread; b < bins; b += THREADS) {
        const int total = static_cast<int>(__ldcg(totals + r * bins + b));
        h[r * B + b + 1] = static_cast<long long>(total);
    }
}

}  // namespace histogram_rows_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t histogram_rows_launch(
    const int32_t* x,
    const uint8_t* m,
    int64_t* h,
    int64_t R,
    int64_t P,
    int64_t B,
    cudaStream_t stream)
{
    if (R < 0 || P < 0 || B < 0) {
        return cudaErrorInvalidValue;
    }
    if (R == 0 || B - 1 <= 0) {
        return cudaSuccess;
    }
    if (B - 1 <= 12272) {
        const int64_t blocks = R * (P / 256 + 1 < 527 / R + 1 ? P / 256 + 1 : 527 / R + 1);
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        // Scratch memory of this launch, ordered on the stream; `totals` and `tickets` start at zero.
        const int64_t totals_at = 0;
        const int64_t tickets_at = totals_at + (B * R * 4 - R * 4) / 256 * 256 + 256;
        const int64_t scratch_bytes = tickets_at + R * 4 / 256 * 256 + 256;
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
            histogram_rows_kernels::histogram_rows_small<long long><<<static_cast<unsigned>(blocks), 128, 0, stream>>>(
                x,
                m,
                reinterpret_cast<long long*>(h),
                reinterpret_cast<unsigned*>(scratch + totals_at),
                reinterpret_cast<unsigned*>(scratch + tickets_at),
                static_cast<long long>(R),
                static_cast<long long>(P),
                static_cast<long long>(B));
            error = cudaGetLastError();
        }
        const cudaError_t freed = cudaFreeAsync(scratch, stream);
        return error != cudaSuccess ? error : freed;
    }
    const int64_t blocks = R * (P / 256 + 1 < 527 / R + 1 ? P / 256 + 1 : 527 / R + 1);
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    // Scratch memory of this launch, ordered on the stream; `totals` and `tickets` start at zero.
    const int64_t totals_at = 0;
    const int64_t tickets_at = totals_at + (B * R * 4 - R * 4) / 256 * 256 + 256;
    const int64_t scratch_bytes = tickets_at + R * 4 / 256 * 256 + 256;
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
        histogram_rows_kernels::histogram_rows_small_many<long long><<<static_cast<unsigned>(blocks), 128, 0, stream>>>(
            x,
            m,
            reinterpret_cast<long long*>(h),
            reinterpret_cast<unsigned*>(scratch + totals_at),
            reinterpret_cast<unsigned*>(scratch + tickets_at),
            static_cast<long long>(R),
            static_cast<long long>(P),
            static_cast<long long>(B));
        error = cudaGetLastError();
    }
    const cudaError_t freed = cudaFreeAsync(scratch, stream);
    return error != cudaSuccess ? error : freed;
}

#endif
#endif
