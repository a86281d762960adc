#ifndef TILEGEN_PARTICLES_CU
#define TILEGEN_PARTICLES_CU

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stdint.h>
#endif

namespace particles_kernels {

// q[i] = p[i]
// 256 threads per block; a block computes a tile of 256 points (i).
template <typename index_t>
static __global__ void __launch_bounds__(256, 1) particles_staged(
    const float* __restrict__ p,
    float* __restrict__ q_x,
    float* __restrict__ q_y,
    float* __restrict__ q_z,
    float* __restrict__ q_vx,
    float* __restrict__ q_vy,
    float* __restrict__ q_vz,
    index_t P)
{
    constexpr int TILE_I = 256;

    // The block's part of p, rows along its members.
    __shared__ __align__(16) float p_tile[TILE_I * 6];

    const int thread = static_cast<int>(threadIdx.x);
    const index_t i0 = static_cast<index_t>(blockIdx.x) * TILE_I;

    // Load the tile of p, coalesced along its members.
    {
        #pragma unroll
        for (int step_field = 0; step_field < 6; ++step_field) {
            const int item = thread + step_field * 256;
            const index_t i = i0 + item / 6;
            if (i < P) {
                p_tile[item] = p[item + i0 * 6];
            }
        }
    }

    __syncthreads();

    // Write q_x, q_y, q_z, q_vx, q_vy, q_vz, neighbouring threads along i.
    {
        const index_t i = i0 + thread;
        if (i < P) {
            q_x[i] = p_tile[thread * 6];
            q_y[i] = p_tile[thread * 6 + 1];
            q_z[i] = p_tile[thread * 6 + 2];
            q_vx[i] = p_tile[thread * 6 + 3];
            q_vy[i] = p_tile[thread * 6 + 4];
            q_vz[i] = p_tile[thread * 6 + 5];
        }
    }
}

}  // namespace particles_kernels

#ifndef __CUDACC_RTC__

// Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap.
// Weak, so that this file may be compiled into several objects of one program.
extern "C"
#if defined(__GNUC__)
__attribute__((weak))
#endif
cudaError_t particles_launch(
    const float* p,
    float* q_x,
    float* q_y,
    float* q_z,
    float* q_vx,
    float* q_vy,
    float* q_vz,
    int64_t P,
    cudaStream_t stream)
{
    if (P < 0) {
        return cudaErrorInvalidValue;
    }
    if (P == 0) {
        return cudaSuccess;
    }
    const int64_t blocks = (P + 255) / 256;
    if (blocks > 2147483647) {
        return cudaErrorInvalidConfiguration;
    }
    if (P * 6 + 5 <= 2147418111) {
        particles_kernels::particles_staged<int><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
            p,
            q_x,
            q_y,
            q_z,
            q_vx,
            q_vy,
            q_vz,
            static_cast<int>(P));
        return cudaGetLastError();
    }
    particles_kernels::particles_staged<long long><<<static_cast<unsigned>(blocks), 256, 0, stream>>>(
        p,
        q_x,
        q_y,
        q_z,
        q_vx,
        q_vy,
        q_vz,
        static_cast<long long>(P));
    return cudaGetLastError();
}

#endif
#endif
