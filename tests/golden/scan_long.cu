#ifndef TILEGEN_DRAWDOWN_CU
#define TILEGEN_DRAWDOWN_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace drawdown_kernels {

// 4 elements in one memory access of 16 bytes.
struct __align__(16) f32x4 {
    float lane[4];
};

// The larger one; NaN if either is NaN.
template <typename T>
static __device__ __forceinline__ T maximum(T a, T b)
{
    return (a > b || a != a) ? a : b;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// One instruction for floats.
static __device__ __forceinline__ float maximum(float a, float b)
{
    float greater;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(a), "f"(b));
    return greater;
}
#endif

// The larger one; NaN if either is NaN.
struct Maximum {
    template <typename T>
    static __device__ __forceinline__ T of(T a, T b)
    {
        return maximum(a, b);
    }
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

// The value of the lane that many places before, in groups of LANES neighbouring lanes.
template <int LANES, typename T>
static __device__ __forceinline__ T from_below(T value, int distance)
{
    return static_cast<T>(__shfl_up_sync(0xffffffffu, value, distance, LANES));
}

// The value that another lane has, in groups of LANES neighbouring lanes.
template <int LANES, typename T>
static __device__ __forceinline__ T from_lane(T value, int lane)
{
    return static_cast<T>(__shfl_sync(0xffffffffu, value, lane, LANES));
}

// Combines the values of the lanes before this one, in groups of LANES neighbouring lanes, all of the warp taking part, by
// doubling distances. `total`: of all of them.
template <typename Operator, int LANES, typename T>
static __device__ __forceinline__ T lanes_before(T value, int lane, T identity, T& total)
{
#pragma unroll
    for (int distance = 1; distance < LANES; distance *= 2) {
        const T other = from_below<LANES>(value, distance);
        value = lane >= distance ? Operator::of(other, value) : value;
    }
    total = from_lane<LANES>(value, LANES - 1);
    const T before = from_below<LANES>(value, 1);
    return lane > 0 ? before : identity;
}

// The total of the tiles of a row before `tile`, by a whole warp; `total` is that of the tile. 32 tiles make a chunk. States
// of the chunks lie behind those of the `tiles` tiles of the row. The order of combinations depends on `tile` alone: tiles of
// a chunk as in lanes_before, chunks from left to right, wherever the first known prefix is found.
template <typename Operator, typename States, typename T>
static __device__ __forceinline__ T look_back(
    const States& states, int tiles, int tile, int lane, T total, T identity)
{
    const int chunk = tile / 32, inside = tile % 32;
    const bool closes = inside == 31;
    if (lane == 0 && !closes) {
        states.publish(tile, 1, total);
    }

    // The tiles of the chunk before this one: each publishes its own total without waiting for anybody.
    const int neighbour = tile - inside + lane;
    typename States::Seen seen = 0;
    do {
        if (lane < inside) {
            seen = states.look(neighbour);
        }
    } while (__any_sync(0xffffffffu, lane < inside && States::state(seen) == 0));
    states.settle();
    T of_chunk;
    lanes_before<Operator, 32>(lane < inside ? states.total(neighbour, seen) : identity, lane, identity, of_chunk);
    if (closes) {
        total = Operator::of(of_chunk, total);
        if (lane == 0) {
            states.publish(tiles + chunk, 1, total);
        }
    }

    // The nearest chunk whose prefix is known, and the totals of those after it; before the row there is nothing.
    T before = identity;
    if (chunk > 0) {
        const int other = chunk - 1 - lane;
        unsigned known, whole;
        do {
            if (other >= 0) {
                seen = states.look(tiles + other);
            }
            known = __ballot_sync(0xffffffffu, other < 0 || States::state(seen) != 0);
            whole = __ballot_sync(0xffffffffu, other < 0 || States::state(seen) == 2);
        } while (whole == 0 || (((whole & (0u - whole)) - 1) & ~known) != 0);
        states.settle();
        const int nearest = __ffs(static_cast<int>(whole)) - 1;
        const T value = other >= 0 && lane <= nearest ? states.total(tiles + other, seen) : identity;
        before = from_lane<32>(value, nearest);
        for (int l = nearest - 1; l >= 0; --l) {
            before = Operator::of(before, from_lane<32>(value, l));
        }
    }
    if (closes && lane == 0) {
        states.publish(tiles + chunk, 2, Operator::of(before, total));
    }
    return Operator::of(before, of_chunk);
}

// let top[i] = max[k in 0..=i](x[k]) for i in 0..N
// y[i] = x[i] - top[i]
// 256 threads per block; a block computes a tile of 4096 points of a row along i.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) drawdown_auto_long(
    const float* __restrict__ x,
    float* __restrict__ y,
    unsigned* __restrict__ ticket,
    unsigned long long* __restrict__ top_states,
    index_t N)
{
    constexpr int TILE_I = 4096;

    // The top of every warp.
    __shared__ float top_warps[8];

    // The top of the tiles before this one.
    __shared__ float top_ahead;

    // Blocks take tiles in the order in which they start: those before are under way or done.
    __shared__ unsigned ticket_of_block;

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    if (threadIdx.x == 0) {
        ticket_of_block = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const unsigned block = ticket_of_block;
    const unsigned tiles_i = static_cast<unsigned>((N + TILE_I - 1) / TILE_I);
    const int tile = static_cast<int>(block);
    const index_t i0 = static_cast<index_t>(tile) * TILE_I;

    // Load the tile, neighbouring lanes along i, 4 elements at a time.
    f32x4 x_in[4] = {};
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
        const index_t i = i0 + ((warp * 4 + step) * 32 + lane) * 4;
        if (i + 4 <= N) {
            x_in[step] = *reinterpret_cast<const f32x4*>(x + i);
        } else {
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                const index_t i_l = i + l;
                if (i_l < N) {
                    x_in[step].lane[l] = x[i_l];
                }
            }
        }
    }

    // The top of each thread's neighbours, and by shuffles of the lanes and steps before them.
    float top_term[4][4];
    float top_lanes[4];
    float top_warp = -__int_as_float(0x7f800000);
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
        const index_t i = i0 + ((warp * 4 + step) * 32 + lane) * 4;
        float top_running = -__int_as_float(0x7f800000);
        #pragma unroll
        for (int l = 0; l < 4; ++l) {
            const index_t i_l = i + l;
            top_term[step][l] = i_l < N ? x_in[step].lane[l] : -__int_as_float(0x7f800000);
            top_running = maximum(top_running, top_term[step][l]);
        }
        float top_step;
        top_lanes[step] = lanes_before<Maximum, 32>(top_running, lane, -__int_as_float(0x7f800000), top_step);
        top_lanes[step] = maximum(top_warp, top_lanes[step]);
        top_warp = maximum(top_warp, top_step);
    }

    // The totals of the warps meet in shared memory.
    float top_tile = -__int_as_float(0x7f800000);
    if (lane == 0) {
        top_warps[warp] = top_warp;
    }
    __syncthreads();
    float top_prefix = top_tile;
    #pragma unroll
    for (int w = 0; w < 8; ++w) {
        top_prefix = w == warp ? top_tile : top_prefix;
        top_tile = maximum(top_tile, top_warps[w]);
    }

    // One warp finds the total of the tiles before this one, which other blocks have.
    if (warp == 0) {
        const PackedStates<float, 16> states = {top_states};
        const float before =
            look_back<Maximum>(states, static_cast<int>(tiles_i), tile, lane, top_tile, -__int_as_float(0x7f800000));
        if (lane == 0) {
            top_ahead = before;
        }
    }
    __syncthreads();
    top_prefix = maximum(top_ahead, top_prefix);

    // Go through the points once more, with what came before them, and write y.
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
        const index_t i = i0 + ((warp * 4 + step) * 32 + lane) * 4;
        float top_running = maximum(top_prefix, top_lanes[step]);
        f32x4 y_out;
        #pragma unroll
        for (int l = 0; l < 4; ++l) {
            top_running = maximum(top_running, top_term[step][l]);
            y_out.lane[l] = x_in[step].lane[l] - top_running;
        }
        if (i + 4 <= N) {
            *reinterpret_cast<f32x4*>(y + i) = y_out;
        } else {
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                const index_t i_l = i + l;
                if (i_l < N) {
                    y[i_l] = y_out.lane[l];
                }
            }
        }
    }
}

// let top[i] = max[k in 0..=i](x[k]) for i in 0..N
// y[i] = x[i] - top[i]
// 256 threads per block; a block computes a row along i, 4096 points at a time.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) drawdown_auto(
    const float* __restrict__ x,
    float* __restrict__ y,
    index_t N)
{
    constexpr int TILE_I = 4096;

    // The top of every warp.
    __shared__ float top_warps[2][8];

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;

    // The top of everything before the tile.
    float top_carry = -__int_as_float(0x7f800000);
    for (index_t i0 = 0; i0 < N; i0 += TILE_I) {
        // Load the tile, neighbouring lanes along i, 4 elements at a time.
        f32x4 x_in[4] = {};
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            const index_t i = i0 + ((warp * 4 + step) * 32 + lane) * 4;
            if (i + 4 <= N) {
                x_in[step] = *reinterpret_cast<const f32x4*>(x + i);
            } else {
                #pragma unroll
                for (int l = 0; l < 4; ++l) {
                    const index_t i_l = i + l;
                    if (i_l < N) {
                        x_in[step].lane[l] = x[i_l];
                    }
                }
            }
        }

        // The top of each thread's neighbours, and by shuffles of the lanes and steps before them.
        float top_term[4][4];
        float top_lanes[4];
        float top_warp = -__int_as_float(0x7f800000);
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            const index_t i = i0 + ((warp * 4 + step) * 32 + lane) * 4;
            float top_running = -__int_as_float(0x7f800000);
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                const index_t i_l = i + l;
                top_term[step][l] = i_l < N ? x_in[step].lane[l] : -__int_as_float(0x7f800000);
                top_running = maximum(top_running, top_term[step][l]);
            }
            float top_step;
            top_lanes[step] = lanes_before<Maximum, 32>(top_running, lane, -__int_as_float(0x7f800000), top_step);
            top_lanes[step] = maximum(top_warp, top_lanes[step]);
            top_warp = maximum(top_warp, top_step);
        }

        // The totals of the warps meet in shared memory, in one half of it, then the other: one barrier per tile will
        // do.
        const int parity = static_cast<int>(i0 / TILE_I % 2);
        if (lane == 0) {
            top_warps[parity][warp] = top_warp;
        }
        __syncthreads();
        float top_prefix = top_carry;
        #pragma unroll
        for (int w = 0; w < 8; ++w) {
            top_prefix = w == warp ? top_carry : top_prefix;
            top_carry = maximum(top_carry, top_warps[parity][w]);
        }

        // Go through the points once more, with what came before them, and write y.
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            const index_t i = i0 + ((warp * 4 + step) * 32 + lane) * 4;
            float top_running = maximum(top_prefix, top_lanes[step]);
            f32x4 y_out;
            #pragma unroll
            for (int l = 0; l < 4; ++l) {
                top_running = maximum(top_running, top_term[step][l]);
                y_out.lane[l] = x_in[step].lane[l] - top_running;
            }
            if (i + 4 <= N) {
                *reinterpret_cast<f32x4*>(y + i) = y_out;
            } else {
                #pragma unroll
                for (int l = 0; l < 4; ++l) {
                    const index_t i_l = i + l;
                    if (i_l < N) {
                        y[i_l] = y_out.lane[l];
                    }
                }
            }
        }
    }
}

// let top[i] = max[k in 0..=i](x[k]) for i in 0..N
// y[i] = x[i] - top[i]
// 256 threads per block; a block computes a tile of 4096 points of a row along i.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) drawdown_auto_long_scalar(
    const float* __restrict__ x,
    float* __restrict__ y,
    unsigned* __restrict__ ticket,
    unsigned long long* __restrict__ top_states,
    index_t N)
{
    constexpr int TILE_I = 4096;

    // The top of every warp.
    __shared__ float top_warps[8];

    // The top of the tiles before this one.
    __shared__ float top_ahead;

    // Blocks take tiles in the order in which they start: those before are under way or done.
    __shared__ unsigned ticket_of_block;

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;
    if (threadIdx.x == 0) {
        ticket_of_block = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const unsigned block = ticket_of_block;
    const unsigned tiles_i = static_cast<unsigned>((N + TILE_I - 1) / TILE_I);
    const int tile = static_cast<int>(block);
    const index_t i0 = static_cast<index_t>(tile) * TILE_I;

    // Load the tile, neighbouring lanes along i.
    float x_in[16] = {};
    #pragma unroll
    for (int step = 0; step < 16; ++step) {
        const index_t i = i0 + (warp * 16 + step) * 32 + lane;
        if (i < N) {
            x_in[step] = x[i];
        }
    }

    // The top of each thread's neighbours, and by shuffles of the lanes and steps before them.
    float top_term[16];
    float top_lanes[16];
    float top_warp = -__int_as_float(0x7f800000);
    #pragma unroll
    for (int step = 0; step < 16; ++step) {
        const index_t i = i0 + (warp * 16 + step) * 32 + lane;
        float top_running = -__int_as_float(0x7f800000);
        top_term[step] = i < N ? x_in[step] : -__int_as_float(0x7f800000);
        top_running = maximum(top_running, top_term[step]);
        float top_step;
        top_lanes[step] = lanes_before<Maximum, 32>(top_running, lane, -__int_as_float(0x7f800000), top_step);
        top_lanes[step] = maximum(top_warp, top_lanes[step]);
        top_warp = maximum(top_warp, top_step);
    }

    // The totals of the warps meet in shared memory.
    float top_tile = -__int_as_float(0x7f800000);
    if (lane == 0) {
        top_warps[warp] = top_warp;
    }
    __syncthreads();
    float top_prefix = top_tile;
    #pragma unroll
    for (int w = 0; w < 8; ++w) {
        top_prefix = w == warp ? top_tile : top_prefix;
        top_tile = maximum(top_tile, top_warps[w]);
    }

    // One warp finds the total of the tiles before this one, which other blocks have.
    if (warp == 0) {
        const PackedStates<float, 16> states = {top_states};
        const float before =
            look_back<Maximum>(states, static_cast<int>(tiles_i), tile, lane, top_tile, -__int_as_float(0x7f800000));
        if (lane == 0) {
            top_ahead = before;
        }
    }
    __syncthreads();
    top_prefix = maximum(top_ahead, top_prefix);

    // Go through the points once more, with what came before them, and write y.
    #pragma unroll
    for (int step = 0; step < 16; ++step) {
        const index_t i = i0 + (warp * 16 + step) * 32 + lane;
        float top_running = maximum(top_prefix, top_lanes[step]);
        top_running = maximum(top_running, top_term[step]);
        if (i < N) {
            y[i] = x_in[step] - top_running;
        }
    }
}

// let top[i] = max[k in 0..=i](x[k]) for i in 0..N
// y[i] = x[i] - top[i]
// 256 threads per block; a block computes a row along i, 4096 points at a time.
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) drawdown_auto_scalar(
    const float* __restrict__ x,
    float* __restrict__ y,
    index_t N)
{
    constexpr int TILE_I = 4096;

    // The top of every warp.
    __shared__ float top_warps[2][8];

    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % 32;
    const int warp = thread / 32;

    // The top of everything before the tile.
    float top_carry = -__int_as_float(0x7f800000);
    for (index_t i0 = 0; i0 < N; i0 += TILE_I) {
        // Load the tile, neighbouring lanes along i.
        float x_in[16] = {};
        #pragma unroll
        for (int step = 0; step < 16; ++step) {
            const index_t i = i0 + (warp * 16 + step) * 32 + lane;
            if (i < N) {
                x_in[step] = x[i];
            }
        }

        // The top of each thread's neighbours, and by shuffles of the lanes and steps before them.
        float top_term[16];
        float top_lanes[16];
        float top_warp = -__int_as_float(0x7f800000);
        #pragma unroll
        for (int step = 0; step < 16; ++step) {
            const index_t i = i0 + (warp * 16 + step) * 32 + lane;
            float top_running = -__int_as_float(0x7f800000);
            top_term[step] = i < N ? x_in[step] : -__int_as_float(0x7f800000);
            top_running = maximum(top_running, top_term[step]);
            float top_step;
            top_lanes[step] = lanes_before<Maximum, 32>(top_running, lane, -__int_as_float(0x7f800000), top_step);
            top_lanes[step] = maximum(top_warp, top_lanes[step]);
            top_warp = maximum(top_warp, top_step);
        }

        // The totals of the warps meet in shared memory, in one half of it, then the other: one barrier per tile will
        // do.
        const int parity = static_cast<int>(i0 / TILE_I % 2);
        if (lane == 0) {
            top_warps[parity][warp] = top_warp;
        }
        __syncthreads();
        float top_prefix = top_carry;
        #pragma unroll
        for (int w = 0; w < 8; ++w) {
            top_prefix = w == warp ? top_carry : top_prefix;
            top_carry = maximum(top_carry, top_warps[parity][w]);
        }

        // Go through the points once more, with what came before them, and write y.
        #pragma unroll
        for (int step = 0; step < 16; ++step) {
            const index_t i = i0 + (warp * 16 + step) * 32 + lane;
            float top_running = maximum(top_prefix, top_lanes[step]);
            top_running = maximum(top_running, top_term[step]);
            if (i < N) {
                y[i] = x_in[step] - top_running;
            }
        }
    }
}

}  // namespace drawdown_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Sizes or pointers that vectors cannot serve take the kernel without them.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t drawdown_launch(
    const float* x,
    float* y,
    int64_t N,
    cudaStream_t stream)
{
    if (N < 0) {
        return cudaErrorInvalidValue;
    }
    if (reinterpret_cast<uintptr_t>(y) % 16 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 && N >= 8192) {
        const int64_t blocks = (N + 4095) / 4096;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        // Scratch memory of this launch, ordered on the stream; `ticket` and `top_states` start at zero.
        const int64_t ticket_at = 0;
        const int64_t top_states_at = ticket_at + 256;
        const int64_t scratch_bytes = top_states_at + (N + 131071) / 131072 * 4224 / 256 * 256 + 256;
        if (N <= 2147418111) {
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
                drawdown_kernels::drawdown_auto_long<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                    x,
                    y,
                    reinterpret_cast<unsigned*>(scratch + ticket_at),
                    reinterpret_cast<unsigned long long*>(scratch + top_states_at),
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
            drawdown_kernels::drawdown_auto_long<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                y,
                reinterpret_cast<unsigned*>(scratch + ticket_at),
                reinterpret_cast<unsigned long long*>(scratch + top_states_at),
                static_cast<long long>(N));
            error = cudaGetLastError();
        }
        const cudaError_t freed = cudaFreeAsync(scratch, stream);
        return error != cudaSuccess ? error : freed;
    }
    if (reinterpret_cast<uintptr_t>(y) % 16 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0) {
        const int64_t blocks = 1;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        if (N <= 2147418111) {
            drawdown_kernels::drawdown_auto<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                y,
                static_cast<int>(N));
            return cudaGetLastError();
        }
        drawdown_kernels::drawdown_auto<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            y,
            static_cast<long long>(N));
        return cudaGetLastError();
    }
    if (N >= 8192) {
        const int64_t blocks = (N + 4095) / 4096;
        if (blocks > 2147483647) {
            return cudaErrorInvalidConfiguration;
        }
        // Scratch memory of this launch, ordered on the stream; `ticket` and `top_states` start at zero.
        const int64_t ticket_at = 0;
        const int64_t top_states_at = ticket_at + 256;
        const int64_t scratch_bytes = top_states_at + (N + 131071) / 131072 * 4224 / 256 * 256 + 256;
        if (N <= 2147418111) {
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
                drawdown_kernels::drawdown_auto_long_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                    x,
                    y,
                    reinterpret_cast<unsigned*>(scratch + ticket_at),
                    reinterpret_cast<unsigned long long*>(scratch + top_states_at),
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
            drawdown_kernels::drawdown_auto_long_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
                x,
                y,
                reinterpret_cast<unsigned*>(scratch + ticket_at),
                reinterpret_cast<unsigned long long*>(scratch + top_states_at),
                static_cast<long long>(N));
            error = cudaGetLastError();
        }
        const cudaError_t freed = cudaFreeAsync(scratch, stream);
        return error != cudaSuccess ? error : freed;
    }
    const int64_t blocks = 1;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (N <= 2147418111) {
        drawdown_kernels::drawdown_auto_scalar<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            x,
            y,
            static_cast<int>(N));
        return cudaGetLastError();
    }
    drawdown_kernels::drawdown_auto_scalar<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        x,
        y,
        static_cast<long long>(N));
    return cudaGetLastError();
}

#endif
#endif
