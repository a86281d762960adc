#ifndef TILEGEN_DOWN_CU
#define TILEGEN_DOWN_CU

#include <cuda_fp16.h>
#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace down_kernels {

// 2 elements in one memory access of 4 bytes.
struct __align__(4) f16x2 {
    __half lane[2];
};

// What the tiles of a row tell each other: 0 nothing yet, 1 the total of the tile, 2 that of everything up to its end. State
// and total travel in one word, so there is nothing to be ordered between them. Words of two tiles lie APART words from
// each other.
template <typename T, int APART>
struct PackedStates {
    typedef unsigned long long Seen;
    unsigned long long* words;

    __device__ __forceinline__ void publish(int place, unsigned state, T total) const
    {
        unsigned bits = 0;
        memcpy(&bits, &total, sizeof(T));
        *at(place) = static_cast<Seen>(state) << 32 | bits;
    }
    __device__ __forceinline__ Seen look(int place) const
    {
        return *at(place);
    }
    static __device__ __forceinline__ unsigned state(Seen seen)
    {
        return static_cast<unsigned>(seen >> 32);
    }
    __device__ __forceinline__ void settle() const {}
    __device__ __forceinline__ T total(int, Seen seen) const
    {
        const unsigned bits = static_cast<unsigned>(seen);
        T value;
        memcpy(&value, &bits, sizeof(T));
        return value;
    }
    __device__ __forceinline__ volatile unsigned long long* at(int place) const
    {
        return words + static_cast<size_t>(place) * APART;
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

// The total of the tiles of a column before `tile`, by one thread: a prefix is what the one before it is, combined with the
// tile's own total, wherever the first known one is found. Columns lie `stride` places apart from tile to tile.
template <typename Operator, typename States, typename T>
static __device__ __forceinline__ T look_back_column(
    const States& states, int stride, int column, int tile, T total, T identity)
{
    const int place = tile * stride + column;
    if (tile == 0) {
        states.publish(place, 2, Operator::of(identity, total));
        return identity;
    }
    states.publish(place, 1, total);
    constexpr int SEEN = 16;
    typename States::Seen seen[SEEN] = {};
    int nearest;
    do {
#pragma unroll
        for (int n = 0; n < SEEN; ++n) {
            if (n < tile) {
                seen[n] = states.look(place - (n + 1) * stride);
            }
        }
        nearest = -1;
        bool known = true;
#pragma unroll
        for (int n = 0; n < SEEN; ++n) {
            nearest = known && nearest < 0 && States::state(seen[n]) == 2 ? n : nearest;
            known = known && States::state(seen[n]) != 0;
        }
    } while (nearest < 0);
    states.settle();
    T before = identity;
#pragma unroll
    for (int n = SEEN - 1; n >= 0; --n) {
        if (n <= nearest) {
            const T other = states.total(place - (n + 1) * stride, seen[n]);
            before = n == nearest ? other : Operator::of(before, other);
        }
    }
    states.publish(place, 2, Operator::of(before, total));
    return before;
}

// y[i, j] = f16(sum[k in i..R](x[k, j]))
// 256 threads per block; a block computes a tile of 64 points of a row along i.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) down_s_long(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    unsigned* __restrict__ ticket,
    unsigned long long* __restrict__ sum_states,
    index_t R,
    index_t C)
{
    constexpr int TILE_I = 64;
    constexpr int TILE_J = 64;

    // The sum of every thread of a column.
    __shared__ float sum_parts[8][2][32];

    // The sum of the tiles before this one.
    __shared__ float sum_ahead[2][32];

    // Blocks take tiles in the order in which they start: those before are under way or done.
    __shared__ unsigned ticket_of_block;

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int part = thread / 32;
    if (threadIdx.x == 0) {
        ticket_of_block = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const unsigned block = ticket_of_block;
    const unsigned tiles_i = static_cast<unsigned>((R + TILE_I - 1) / TILE_I);
    const unsigned tiles_j = static_cast<unsigned>((C + TILE_J - 1) / TILE_J);
    const int tile = static_cast<int>(block / tiles_j);
    const unsigned row = block % tiles_j;
    const unsigned places = tiles_i * 64;
    const index_t j0 = static_cast<index_t>(block % tiles_j) * TILE_J;
    const index_t i0 = static_cast<index_t>(tile) * TILE_I;
    const index_t j = j0 + lane * 2;

    // Load the tile, neighbouring lanes along j, 2 elements at a time.
    f16x2 x_in[8] = {};
    #pragma unroll
    for (int step = 0; step < 8; ++step) {
        const index_t i = i0 + part * 8 + step;
        if (i < R && j < C) {
            x_in[step] = *reinterpret_cast<const f16x2*>(x + j + C * R - i * C - C);
        }
    }

    // The sum of what each thread has of its columns.
    float sum_term[8][2];
    float sum_thread[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        sum_thread[l] = 0.0f;
    }
    #pragma unroll
    for (int step = 0; step < 8; ++step) {
        const index_t i = i0 + part * 8 + step;
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_term[step][l] = i < R && j < C ? __half2float(x_in[step].lane[l]) : 0.0f;
            sum_thread[l] = sum_thread[l] + sum_term[step][l];
        }
    }

    // The totals of the threads of a column meet in shared memory.
    float sum_tile[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        sum_tile[l] = 0.0f;
    }
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        sum_parts[part][l][lane] = sum_thread[l];
    }
    __syncthreads();
    float sum_prefix[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        sum_prefix[l] = sum_tile[l];
    }
    #pragma unroll
    for (int w = 0; w < 8; ++w) {
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_prefix[l] = w == part ? sum_tile[l] : sum_prefix[l];
            sum_tile[l] = sum_tile[l] + sum_parts[w][l][lane];
        }
    }

    // A thread per column finds the total of the tiles before this one, which other blocks have.
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        if (part == l % 8) {
            const PackedStates<float, 1> states = {sum_states + static_cast<size_t>(row) * places};
            sum_ahead[l][lane] = look_back_column<Sum>(states, 64, l * 32 + lane, tile, sum_tile[l], 0.0f);
        }
    }
    __syncthreads();
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        sum_prefix[l] = sum_ahead[l][lane] + sum_prefix[l];
    }

    // Go through the points once more, with what came before them, and write y.
    float sum_running[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        sum_running[l] = sum_prefix[l];
    }
    #pragma unroll
    for (int step = 0; step < 8; ++step) {
        const index_t i = i0 + part * 8 + step;
        f16x2 y_out;
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_running[l] = sum_running[l] + sum_term[step][l];
            y_out.lane[l] = __float2half_rn(sum_running[l]);
        }
        if (i < R && j < C) {
            *reinterpret_cast<f16x2*>(y + j + C * R - i * C - C) = y_out;
        }
    }
}

// y[i, j] = f16(sum[k in i..R](x[k, j]))
// 256 threads per block; a block computes 64 columns side by side along j, 64 points of each at a time.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) down_s(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TILE_I = 64;
    constexpr int TILE_J = 64;

    // The sum of every thread of a column.
    __shared__ float sum_parts[2][8][2][32];

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int part = thread / 32;
    const index_t j0 = static_cast<index_t>(blockIdx.x) * TILE_J;
    const index_t j = j0 + lane * 2;

    // The sum of everything before the tile; i counts from the end.
    float sum_carry[2];
    #pragma unroll
    for (int l = 0; l < 2; ++l) {
        sum_carry[l] = 0.0f;
    }
    for (index_t i0 = 0; i0 < R; i0 += TILE_I) {
        // Load the tile, neighbouring lanes along j, 2 elements at a time.
        f16x2 x_in[8] = {};
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            if (i < R && j < C) {
                x_in[step] = *reinterpret_cast<const f16x2*>(x + j + C * R - i * C - C);
            }
        }

        // The sum of what each thread has of its columns.
        float sum_term[8][2];
        float sum_thread[2];
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_thread[l] = 0.0f;
        }
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            #pragma unroll
            for (int l = 0; l < 2; ++l) {
                sum_term[step][l] = i < R && j < C ? __half2float(x_in[step].lane[l]) : 0.0f;
                sum_thread[l] = sum_thread[l] + sum_term[step][l];
            }
        }

        // The totals of the threads of a column meet in shared memory, in one half of it, then the other: one barrier
        // per tile will do.
        const int parity = static_cast<int>(i0 / TILE_I % 2);
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_parts[parity][part][l][lane] = sum_thread[l];
        }
        __syncthreads();
        float sum_prefix[2];
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_prefix[l] = sum_carry[l];
        }
        #pragma unroll
        for (int w = 0; w < 8; ++w) {
            #pragma unroll
            for (int l = 0; l < 2; ++l) {
                sum_prefix[l] = w == part ? sum_carry[l] : sum_prefix[l];
                sum_carry[l] = sum_carry[l] + sum_parts[parity][w][l][lane];
            }
        }

        // Go through the points once more, with what came before them, and write y.
        float sum_running[2];
        #pragma unroll
        for (int l = 0; l < 2; ++l) {
            sum_running[l] = sum_prefix[l];
        }
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            f16x2 y_out;
            #pragma unroll
            for (int l = 0; l < 2; ++l) {
                sum_running[l] = sum_running[l] + sum_term[step][l];
                y_out.lane[l] = __float2half_rn(sum_running[l]);
            }
            if (i < R && j < C) {
                *reinterpret_cast<f16x2*>(y + j + C * R - i * C - C) = y_out;
            }
        }
    }
}

// y[i, j] = f16(sum[k in i..R](x[k, j]))
// 256 threads per block; a block computes a tile of 64 points of a row along i.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) down_s_long_scalar(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    unsigned* __restrict__ ticket,
    unsigned long long* __restrict__ sum_states,
    index_t R,
    index_t C)
{
    constexpr int TILE_I = 64;
    constexpr int TILE_J = 32;

    // The sum of every thread of a column.
    __shared__ float sum_parts[8][32];

    // The sum of the tiles before this one.
    __shared__ float sum_ahead[32];

    // Blocks take tiles in the order in which they start: those before are under way or done.
    __shared__ unsigned ticket_of_block;

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int part = thread / 32;
    if (threadIdx.x == 0) {
        ticket_of_block = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const unsigned block = ticket_of_block;
    const unsigned tiles_i = static_cast<unsigned>((R + TILE_I - 1) / TILE_I);
    const unsigned tiles_j = static_cast<unsigned>((C + TILE_J - 1) / TILE_J);
    const int tile = static_cast<int>(block / tiles_j);
    const unsigned row = block % tiles_j;
    const unsigned places = tiles_i * 32;
    const index_t j0 = static_cast<index_t>(block % tiles_j) * TILE_J;
    const index_t i0 = static_cast<index_t>(tile) * TILE_I;
    const index_t j = j0 + lane;

    // Load the tile, neighbouring lanes along j.
    __half x_in[8] = {};
    #pragma unroll
    for (int step = 0; step < 8; ++step) {
        const index_t i = i0 + part * 8 + step;
        if (i < R && j < C) {
            x_in[step] = x[j + C * R - i * C - C];
        }
    }

    // The sum of what each thread has of its columns.
    float sum_term[8];
    float sum_thread = 0.0f;
    #pragma unroll
    for (int step = 0; step < 8; ++step) {
        const index_t i = i0 + part * 8 + step;
        sum_term[step] = i < R && j < C ? __half2float(x_in[step]) : 0.0f;
        sum_thread = sum_thread + sum_term[step];
    }

    // The totals of the threads of a column meet in shared memory.
    float sum_tile = 0.0f;
    sum_parts[part][lane] = sum_thread;
    __syncthreads();
    float sum_prefix = sum_tile;
    #pragma unroll
    for (int w = 0; w < 8; ++w) {
        sum_prefix = w == part ? sum_tile : sum_prefix;
        sum_tile = sum_tile + sum_parts[w][lane];
    }

    // A thread per column finds the total of the tiles before this one, which other blocks have.
    if (part == 0) {
        const PackedStates<float, 1> states = {sum_states + static_cast<size_t>(row) * places};
        sum_ahead[lane] = look_back_column<Sum>(states, 32, lane, tile, sum_tile, 0.0f);
    }
    __syncthreads();
    sum_prefix = sum_ahead[lane] + sum_prefix;

    // Go through the points once more, with what came before them, and write y.
    float sum_running = sum_prefix;
    #pragma unroll
    for (int step = 0; step < 8; ++step) {
        const index_t i = i0 + part * 8 + step;
        sum_running = sum_running + sum_term[step];
        if (i < R && j < C) {
            y[j + C * R - i * C - C] = __float2half_rn(sum_running);
        }
    }
}

// y[i, j] = f16(sum[k in i..R](x[k, j]))
// 256 threads per block; a block computes 32 columns side by side along j, 64 points of each at a time.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) down_s_scalar(
    const __half* __restrict__ x,
    __half* __restrict__ y,
    index_t R,
    index_t C)
{
    constexpr int TILE_I = 64;
    constexpr int TILE_J = 32;

    // The sum of every thread of a column.
    __shared__ float sum_parts[2][8][32];

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int part = thread / 32;
    const index_t j0 = static_cast<index_t>(blockIdx.x) * TILE_J;
    const index_t j = j0 + lane;

    // The sum of everything before the tile; i counts from the end.
    float sum_carry = 0.0f;
    for (index_t i0 = 0; i0 < R; i0 += TILE_I) {
        // Load the tile, neighbouring lanes along j.
        __half x_in[8] = {};
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            if (i < R && j < C) {
                x_in[step] = x[j + C * R - i * C - C];
            }
        }

        // The sum of what each thread has of its columns.
        float sum_term[8];
        float sum_thread = 0.0f;
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            sum_term[step] = i < R && j < C ? __half2float(x_in[step]) : 0.0f;
            sum_thread = sum_thread + sum_term[step];
        }

        // The totals of the threads of a column meet in shared memory, in one half of it, then the other: one barrier
        // per tile will do.
        const int parity = static_cast<int>(i0 / TILE_I % 2);
        sum_parts[parity][part][lane] = sum_thread;
        __syncthreads();
        float sum_prefix = sum_carry;
        #pragma unroll
        for (int w = 0; w < 8; ++w) {
            sum_prefix = w == part ? sum_carry : sum_prefix;
            sum_carry = sum_carry + sum_parts[parity][w][lane];
        }

        // Go through the points once more, with what came before them, and write y.
        float sum_running = sum_prefix;
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            const index_t i = i0 + part * 8 + step;
            sum_running = sum_running + sum_term[step];
            if (i < R && j < C) {
                y[j + C * R - i * C - C] = __float2half_rn(sum_running);
            }
        }
    }
}

}  // namespace down_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t down_launch(
    const void* x,
    void* y,
    int64_t R,
    int64_t C,
    cudaStream_t stream)
{
    if (R < 0 || C < 0 || reinterpret_cast<uintptr_t>(x) % 2 != 0 || reinterpret_cast<uintptr_t>(y) % 2 != 0) {
        return cudaErrorInvalidValue;
    }
    if (C == 0) {
        return cudaSuccess;
    }
    if (reinterpret_cast<uintptr_t>(y) % 4 == 0 &&
        C % 2 == 0 &&
        reinterpret_cast<uintptr_t>(x) % 4 == 0 &&
        (C + 63) / 64 <= 528 &&
        R >= 128) {
        const int64_t blocks = (R + 63) / 64 * ((C + 63) / 64);
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        // Scratch memory of this launch, ordered on the stream; `ticket` and `sum_states` start at zero.
        const int64_t ticket_at = 0;
        const int64_t sum_states_at = ticket_at + 256;
        const int64_t scratch_bytes = sum_states_at + (C + 63) / 64 * ((R + 63) / 64) * 512 / 256 * 256 + 256;
        if (C * R * 2 + C * 2 <= 2147418111) {
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
                down_kernels::down_s_long<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                    reinterpret_cast<const __half*>(x),
                    reinterpret_cast<__half*>(y),
                    reinterpret_cast<unsigned*>(scratch + ticket_at),
                    reinterpret_cast<unsigned long long*>(scratch + sum_states_at),
                    static_cast<int>(R),
                    static_cast<int>(C));
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
            down_kernels::down_s_long<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                reinterpret_cast<const __half*>(x),
                reinterpret_cast<__half*>(y),
                reinterpret_cast<unsigned*>(scratch + ticket_at),
                reinterpret_cast<unsigned long long*>(scratch + sum_states_at),
                static_cast<long long>(R),
                static_cast<long long>(C));
            error = cudaGetLastError();
        }
        const cudaError_t freed = cudaFreeAsync(scratch, stream);
        return error != cudaSuccess ? error : freed;
    }
    if (reinterpret_cast<uintptr_t>(y) % 4 == 0 && C % 2 == 0 && reinterpret_cast<uintptr_t>(x) % 4 == 0) {
        const int64_t blocks = (C + 63) / 64;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (C * R * 2 + C * 2 <= 2147418111) {
            down_kernels::down_s<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                reinterpret_cast<const __half*>(x),
                reinterpret_cast<__half*>(y),
                static_cast<int>(R),
                static_cast<int>(C));
            return cudaGetLastError();
        }
        down_kernels::down_s<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            reinterpret_cast<const __half*>(x),
            reinterpret_cast<__half*>(y),
            static_cast<long long>(R),
            static_cast<long long>(C));
        return cudaGetLastError();
    }
    if ((C + 31) / 32 <= 528 && R >= 128) {
        const int64_t blocks = (R + 63) / 64 * ((C + 31) / 32);
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        // Scratch memory of this launch, ordered on the stream; `ticket` and `sum_states` start at zero.
        const int64_t ticket_at = 0;
        const int64_t sum_states_at = ticket_at + 256;
        const int64_t scratch_bytes = sum_states_at + (C + 31) / 32 * ((R + 63) / 64) * 256 / 256 * 256 + 256;
        if (C * R * 2 + C * 2 <= 2147418111) {
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
                down_kernels::down_s_long_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                    reinterpret_cast<const __half*>(x),
                    reinterpret_cast<__half*>(y),
                    reinterpret_cast<unsigned*>(scratch + ticket_at),
                    reinterpret_cast<unsigned long long*>(scratch + sum_states_at),
                    static_cast<int>(R),
                    static_cast<int>(C));
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
            down_kernels::down_s_long_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                reinterpret_cast<const __half*>(x),
                reinterpret_cast<__half*>(y),
                reinterpret_cast<unsigned*>(scratch + ticket_at),
                reinterpret_cast<unsigned long long*>(scratch + sum_states_at),
                static_cast<long long>(R),
                static_cast<long long>(C));
            error = cudaGetLastError();
        }
        const cudaError_t freed = cudaFreeAsync(scratch, stream);
        return error != cudaSuccess ? error : freed;
    }
    const int64_t blocks = (C + 31) / 32;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (C * R * 2 + C * 2 <= 2147418111) {
        down_kernels::down_s_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            reinterpret_cast<const __half*>(x),
            reinterpret_cast<__half*>(y),
            static_cast<int>(R),
            static_cast<int>(C));
        return cudaGetLastError();
    }
    down_kernels::down_s_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        reinterpret_cast<const __half*>(x),
        reinterpret_cast<__half*>(y),
        static_cast<long long>(R),
        static_cast<long long>(C));
    return cudaGetLastError();
}

#endif
#endif
