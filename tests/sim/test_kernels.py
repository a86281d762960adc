"""Whole kernels: values, counters and no faults."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilegen.sim import Access, Launch, Memory, Module, Report, Space, simulate

Run = Callable[..., tuple[Report, Memory]]

NAIVE = """extern "C" __global__ void k(const float* __restrict__ a, float* __restrict__ b, int M, int N) {
    int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
    if (i < M && j < N) b[(size_t)j * M + i] = a[(size_t)i * N + j];
}"""


def tiled(pad: int) -> str:
    return f"""extern "C" __global__ void __launch_bounds__(256)
    k(const float* __restrict__ a, float* __restrict__ b, int M, int N) {{
        __shared__ float tile[32][32 + {pad}];
        int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 32 + threadIdx.y;
        for (int r = 0; r < 32; r += 8)
            if (j < N && i + r < M) tile[threadIdx.y + r][threadIdx.x] = a[(size_t)(i + r) * N + j];
        __syncthreads();
        j = blockIdx.y * 32 + threadIdx.x; i = blockIdx.x * 32 + threadIdx.y;
        for (int r = 0; r < 32; r += 8)
            if (j < M && i + r < N) b[(size_t)(i + r) * M + j] = tile[threadIdx.x][threadIdx.y + r];
    }}"""


def transpose(run: Run, source: str, rows: int, m: int, n: int) -> Report:
    a = np.arange(m * n, dtype=np.float32).reshape(m, n)
    report, memory = run(
        source, (-(-n // 32), -(-m // rows)), (32, 8), a, ("out", a.nbytes), np.int32(m), np.int32(n)
    )
    assert report.faults == ()
    assert np.array_equal(memory.read("a1").view(np.float32).reshape(n, m), a.T)
    assert memory.written("a1").all()
    return report


@pytest.mark.parametrize("m, n", [(1, 1), (33, 65), (64, 96), (31, 7)])
@pytest.mark.parametrize("source, rows", [(NAIVE, 8), (tiled(0), 32), (tiled(1), 32)])
def test_transposes_of_awkward_shapes(run: Run, source: str, rows: int, m: int, n: int) -> None:
    transpose(run, source, rows, m, n)


def test_naive_transpose_stores_32_sectors_per_request(run: Run) -> None:
    counters = transpose(run, NAIVE, 8, 64, 64).counters
    assert counters.global_load_sectors == 4 * counters.global_load_requests
    assert counters.global_store_sectors == 32 * counters.global_store_requests
    assert counters.global_load_requests == counters.global_store_requests == 64 * 64 // 32


def test_unpadded_tile_has_31_conflicts_per_column_read(run: Run) -> None:
    counters = transpose(run, tiled(0), 32, 64, 64).counters
    assert counters.global_store_sectors == 4 * counters.global_store_requests
    assert counters.shared_load_bank_conflicts == 31 * counters.shared_load_requests
    assert counters.shared_store_bank_conflicts == 0
    assert counters.shared_load_wavefronts == 32 * counters.shared_load_requests


def test_padded_tile_has_no_conflicts(run: Run) -> None:
    counters = transpose(run, tiled(1), 32, 64, 64).counters
    assert counters.bank_conflicts == 0
    assert counters.shared_load_wavefronts == counters.shared_load_requests == 128
    assert counters.barriers == 4


VECTOR = """extern "C" __global__ void __launch_bounds__(256)
k(const float4* __restrict__ a, float4* __restrict__ b, int M, int N) {
    __shared__ float tile[64 * 64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    for (int r = ty; r < 64; r += 16) {
        float4 v = a[((size_t)(blockIdx.y * 64 + r) * N + blockIdx.x * 64) / 4 + tx];
        float part[4] = {v.x, v.y, v.z, v.w};
        for (int e = 0; e < 4; e++) tile[r * 64 + ((tx * 4 + e) ^ ((r / 4) * 4 % 64) ^ (r & 3) )] = part[e];
    }
    __syncthreads();
    for (int r = ty; r < 64; r += 16) {
        float part[4];
        for (int e = 0; e < 4; e++) {
            int row = tx * 4 + e;
            part[e] = tile[row * 64 + (r ^ ((row / 4) * 4 % 64) ^ (row & 3))];
        }
        b[((size_t)(blockIdx.x * 64 + r) * M + blockIdx.y * 64) / 4 + tx] =
            make_float4(part[0], part[1], part[2], part[3]);
    }
}"""


def test_vector_transpose_moves_16_sectors_per_request(run: Run) -> None:
    m, n = 128, 64
    a = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    report, memory = run(VECTOR, (n // 64, m // 64), 256, a, ("out", a.nbytes), np.int32(m), np.int32(n))
    assert report.faults == ()
    assert np.array_equal(memory.read("a1").view(np.float32).reshape(n, m), a.T)
    counters = report.counters
    assert counters.global_load_sectors == 16 * counters.global_load_requests == 16 * (m * n // 128)
    assert counters.global_store_sectors == 16 * counters.global_store_requests


MATMUL = """extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
    __shared__ float as[16][16], bs[16][17];
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        as[threadIdx.y][threadIdx.x] = a[i * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + j];
        __syncthreads();
        #pragma unroll 1
        for (int q = 0; q < 16; q++) sum += as[threadIdx.y][q] * bs[q][threadIdx.x];
        __syncthreads();
    }
    c[i * n + j] = sum;
}"""


def test_tiled_matrix_product_bit_exact(run: Run) -> None:
    n = 48
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    report, memory = run(MATMUL, (3, 3), (16, 16), a, b, ("out", a.nbytes), np.int32(n))
    assert report.faults == ()
    expected = np.zeros((n, n))
    total = np.zeros((n, n), dtype=np.float32)
    for q in range(
        n
    ):  # fma in order, rounded to float32 each time: float64 holds the product and nearly the sum
        total = (a[:, q : q + 1].astype(np.float64) * b[q] + total).astype(np.float32)
    expected = total
    assert np.array_equal(memory.read("a2").view(np.float32).reshape(n, n), expected)
    assert report.counters.global_load_requests == 2 * n * n * n // 16 // 32


REDUCE = """extern "C" __global__ void k(const float* a, float* out, int n) {
    __shared__ float part[8];
    float v = 0;
    for (int i = threadIdx.x; i < n; i += 256) v += a[i];
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 8) {
        v = part[threadIdx.x];
        for (int o = 4; o; o >>= 1) v += __shfl_xor_sync(0xffu, v, o);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}"""


def test_shuffle_reduction(run: Run) -> None:
    a = np.arange(1000, dtype=np.float32)
    report, memory = run(REDUCE, 1, 256, a, ("out", 4), np.int32(1000))
    assert report.faults == ()
    assert memory.read("a1").view(np.float32)[0] == a.sum()


DIVERGENT = """extern "C" __global__ void k(const int* a, int* out) {
    int n = a[threadIdx.x], steps = 0;
    while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; steps++; }
    out[threadIdx.x] = steps;
}"""


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def test_divergent_loops_meet_again_before_the_store(run: Run) -> None:
    a = np.arange(1, 65, dtype=np.int32)
    report, memory = run(DIVERGENT, 1, 64, a, ("out", a.nbytes))
    assert report.faults == ()
    assert memory.read("a1").view(np.int32).tolist() == [collatz(n) for n in range(1, 65)]
    assert report.counters.global_store_requests == 2


SPLIT = """extern "C" __global__ void k(const int* a, volatile int* out) {
    int i = threadIdx.x;
    if (i % 2) { asm volatile("st.global.u32 [%0], %1;" :: "l"(out + i), "r"(a[i])); }
    else { asm volatile("st.global.u32 [%0], %1;" :: "l"(out + i), "r"(-a[i])); }
}"""


def test_divergent_instructions_are_two_requests(run: Run) -> None:
    a = np.arange(32, dtype=np.int32)
    report, memory = run(SPLIT, 1, 32, a, ("out", 128))
    assert memory.read("a1").view(np.int32).tolist() == [i if i % 2 else -i for i in range(32)]
    stores = [x for x in report.accesses if x.access is Access.STORE]
    assert sum(x.requests for x in stores) == 2
    assert sum(x.sectors for x in stores) == 8


EARLY = """extern "C" __global__ void k(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = a[i] * 2;
}"""


@pytest.mark.parametrize("block", [1, 31, 33, 256])
def test_early_exit_and_blocks_that_are_not_whole_warps(run: Run, block: int) -> None:
    n = 1000
    a = np.arange(n, dtype=np.int32)
    report, memory = run(EARLY, -(-n // block), block, a, ("out", a.nbytes), np.int32(n))
    assert report.faults == ()
    assert memory.read("a1").view(np.int32).tolist() == (2 * a).tolist()
    warps = sum(-(-min(block, n - start) // 32) for start in range(0, n, block))
    assert report.counters.global_store_requests == warps


HISTOGRAM = """extern "C" __global__ void k(const unsigned char* a, unsigned* out, unsigned* ticket, int n) {
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[a[i]], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
    ticket[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(&ticket[gridDim.x * blockDim.x], 1u);
}"""


def test_histogram_with_shared_and_global_atomics(run: Run) -> None:
    a = np.random.default_rng(3).integers(0, 16, 5000).astype(np.uint8)
    bins, tickets = np.zeros(16, dtype=np.uint32), np.zeros(4 * 64 + 1, dtype=np.uint32)
    report, memory = run(HISTOGRAM, 4, 64, a, bins, tickets, np.int32(5000))
    assert report.faults == ()
    assert memory.read("a1").view(np.uint32).tolist() == np.bincount(a, minlength=16).tolist()
    got = memory.read("a2").view(np.uint32)
    assert sorted(got[:-1].tolist()) == list(range(256)) and got[-1] == 256
    assert report.counters.shared_atomic_requests == sum(
        -(-min(32, 5000 - s) // 32) for s in range(0, 5000, 32)
    )


ATOMICS = """extern "C" __global__ void k(int* m, unsigned* u, float* f, int* old) {
    int i = threadIdx.x;
    atomicMax(m, i * 7 % 32); atomicMin(m + 1, -i); atomicXor(m + 2, 1 << i); atomicAnd(m + 3, ~(1 << i));
    atomicInc(u, 4); atomicDec(u + 1, 9);
    atomicAdd(f, 0.5f);
    old[i] = atomicExch(m + 4, i);
    int seen, want = m[5];
    do { seen = want; want = atomicCAS(m + 5, seen, seen + i); } while (want != seen);
}"""


def test_every_atomic(run: Run) -> None:
    m = np.array([0, 0, 0, -1, -1, 0], dtype=np.int32)
    u = np.array([0, 0], dtype=np.uint32)
    _, memory = run(ATOMICS, 1, 32, m, u, np.zeros(1, np.float32), ("out", 128))
    got = memory.read("a0").view(np.int32)
    assert got.tolist() == [31, -31, -1, 0, 31, sum(range(32))]
    assert memory.read("a1").view(np.uint32).tolist() == [32 % 5, 8]
    assert memory.read("a2").view(np.float32).tolist() == [16.0]
    assert memory.read("a3").view(np.int32).tolist() == [-1, *range(31)]


WARP = """extern "C" __global__ void k(int* out) {
    int i = threadIdx.x;
    unsigned even = __ballot_sync(~0u, i % 2 == 0);
    int any = __any_sync(~0u, i == 40), all = __all_sync(~0u, i < 32);
    unsigned same = __match_any_sync(~0u, i % 4);
    int total = __reduce_add_sync(~0u, i);
    int up = __shfl_up_sync(~0u, i, 3, 8), at = __shfl_sync(~0u, i, 5, 16);
    int counted = __syncthreads_count(i % 3 == 0), both = __syncthreads_and(i >= 0), one = __syncthreads_or(i == 63);
    int* row = out + i * 10;
    row[0] = even; row[1] = any; row[2] = all; row[3] = same; row[4] = total;
    row[5] = up; row[6] = at; row[7] = counted; row[8] = both != 0; row[9] = one != 0;
}"""


def test_votes_matches_shuffles_and_barrier_reductions(run: Run) -> None:
    report, memory = run(WARP, 1, 64, ("out", 64 * 40))
    assert report.faults == ()
    got = memory.read("a0").view(np.int32).reshape(64, 10)
    for i in range(64):
        warp = i // 32
        expected = [
            0x55555555, int(warp == 1), int(warp == 0), int(np.uint32(0x11111111 << i % 4).view(np.int32)),
            sum(range(32 * warp, 32 * warp + 32)), i - 3 if i % 8 >= 3 else i, i // 16 * 16 + 5, 22, 1, 1,
        ]  # fmt: skip
        assert got[i].tolist() == expected, i


CALLS = """__device__ __noinline__ double twice(double x, int n) {
    double y = x;
    for (int i = 0; i < n; i++) y *= 2;
    return y;
}
__constant__ int table[4] = {3, 1, 4, 1};
__device__ float scale[2] = {0.5f, 2.0f};
struct Point { char tag; double x; short y[3]; };
extern "C" __global__ void k(const double* a, double* out, Point p, int n) {
    int i = threadIdx.x;
    double v = twice(a[i], table[i % 4]);
    if (i % 3 == 0) v = twice(v, 1);
    out[i] = v * scale[i % 2] + p.x + p.y[n] + p.tag;
}"""


def test_calls_constants_variables_and_struct_parameters(run: Run) -> None:
    a = np.arange(32, dtype=np.float64)
    point = np.zeros(1, dtype=np.dtype({"names": ["tag", "x", "y"], "formats": ["i1", "f8", ("i2", 3)],
                                        "offsets": [0, 8, 16], "itemsize": 24}))  # fmt: skip
    point["tag"], point["x"], point["y"] = 5, 0.25, (10, 20, 30)
    report, memory = run(CALLS, 1, 32, a, ("out", a.nbytes), point.tobytes(), np.int32(2))
    assert report.faults == ()
    i = np.arange(32)
    twice = a * 2.0 ** np.array([3, 1, 4, 1])[i % 4] * np.where(i % 3 == 0, 2, 1)
    assert np.array_equal(
        memory.read("a1").view(np.float64), twice * np.where(i % 2, 2.0, 0.5) + 0.25 + 30 + 5
    )


LOCALS = """extern "C" __global__ void k(const int* a, int* out, int n) {
    int v[16], i = threadIdx.x;
    for (int q = 0; q < n; q++) v[q] = a[q] * i;
    for (int q = 0; q < n; q++) { int j = v[q] & 15; int t = v[j]; v[j] = v[q]; v[q] = t; }
    int s = 0;
    for (int q = 0; q < n; q++) s = s * 31 + v[q];
    out[i] = s;
}"""


def test_local_arrays(run: Run) -> None:
    a = np.arange(16, dtype=np.int32) * 3 + 1
    report, memory = run(LOCALS, 1, 40, a, ("out", 160), np.int32(16))
    assert report.faults == ()
    for i, got in enumerate(memory.read("a1").view(np.int32).tolist()):
        v = [int(x) * i for x in a]
        for q in range(16):
            j = v[q] & 15
            v[j], v[q] = v[q], v[j]
        s = 0
        for x in v:
            s = (s * 31 + x) % 2**32
        assert got % 2**32 == s
    assert report.counters.local_load_requests > 0


LIBRARY = """extern "C" __global__ void k(const {t}* a, {t}* out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = {e};
}}"""


def _erf(x: Any) -> Any:
    from math import erf

    return np.vectorize(erf)(x)


@pytest.mark.parametrize("kind, tolerance", [("float", 3e-7), ("double", 1e-15)])
@pytest.mark.parametrize(
    "name, reference",
    [("exp", np.exp), ("log", np.log), ("sin", np.sin), ("cos", np.cos), ("tanh", np.tanh), ("sqrt", np.sqrt),
     ("erf", _erf), ("atan", np.arctan), ("log1p", np.log1p), ("cbrt", np.cbrt), ("exp2", np.exp2), ("sinh", np.sinh),
     ("rsqrt", lambda x: 1 / np.sqrt(x)), ("pow", lambda x: x**2.5)],
)  # fmt: skip
def test_library_functions(
    run: Run, kind: str, tolerance: float, name: str, reference: Callable[[Any], Any]
) -> None:
    dtype = np.dtype(np.float32 if kind == "float" else np.float64)
    a = np.concatenate((np.linspace(0.01, 20, 200), [1e5, 1e-30] if name in ("sin", "cos") else [])).astype(
        dtype
    )
    suffix = "f" if kind == "float" else ""
    call = f"{name}{suffix}(a[i]{', (' + kind + ')2.5' if name == 'pow' else ''})"
    report, memory = run(LIBRARY.format(t=kind, e=call), 2, 128, a, ("out", a.nbytes), np.int32(len(a)))
    assert report.faults == ()
    got = memory.read("a1").view(dtype).astype(np.float64)
    expected = reference(a.astype(np.float64))
    assert np.allclose(
        got, expected, rtol=tolerance, atol=tolerance * 1e-3 if name not in ("sin", "cos") else tolerance
    )


LAST_BLOCK = """extern "C" __global__ void k(const float* a, float* part, unsigned* count, float* out, int n) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        float s = 0;
        for (int i = blockIdx.x; i < n; i += gridDim.x) s += a[i];
        part[blockIdx.x] = s;
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        float s = 0;
        for (int b = 0; b < gridDim.x; b++) s += part[b];
        out[0] = s;
    }
}"""


def test_last_block_pattern_is_ordered_by_its_fences(run: Run) -> None:
    a = np.arange(100, dtype=np.float32)
    arguments = (a, ("out", 32), np.zeros(1, np.uint32), ("out", 4), np.int32(100))
    report, memory = run(LAST_BLOCK, 8, 32, *arguments)
    assert report.faults == ()
    assert memory.read("a3").view(np.float32)[0] == a.sum()
    unfenced = LAST_BLOCK.replace("part[blockIdx.x] = s;\n        __threadfence();", "part[blockIdx.x] = s;")
    report, _ = run(unfenced, 8, 32, *arguments)
    assert "GLOBAL_RACE" in {fault.kind.name for fault in report.faults}


SPIN = """extern "C" __global__ void k(volatile int* flag, int* out) {
    if (threadIdx.x == 0) { while (flag[0] == 0) { } out[0] = 7; }
    else { flag[0] = 1; }
}"""


def test_a_spin_loop_lets_other_threads_run(run: Run) -> None:
    report, memory = run(SPIN, 1, 2, np.zeros(1, np.int32), ("out", 4))
    assert report.faults == ()
    assert memory.read("a1").view(np.int32)[0] == 7


def test_generic_addresses_reach_both_spaces(run: Run) -> None:
    source = """__device__ __noinline__ void bump(int* p) { *p += 5; }
    extern "C" __global__ void k(int* out) {
        __shared__ int s[32];
        s[threadIdx.x] = threadIdx.x;
        bump(threadIdx.x % 2 ? &s[threadIdx.x] : &out[threadIdx.x]);
        out[threadIdx.x + 32] = s[threadIdx.x];
    }"""
    report, memory = run(source, 1, 32, np.zeros(64, np.int32))
    assert report.faults == ()
    i = np.arange(32)
    got = memory.read("a0").view(np.int32)
    assert got[:32].tolist() == np.where(i % 2, 0, 5).tolist()
    assert got[32:].tolist() == np.where(i % 2, i + 5, i).tolist()
    assert {x.space for x in report.accesses if x.requests} == {Space.GLOBAL, Space.SHARED}


def test_many_chunks_keep_block_numbers(run: Run) -> None:
    source = """extern "C" __global__ void k(int* out) {
        int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        out[b * 1024 + threadIdx.x] = b;
    }"""
    report, memory = run(source, (5, 7, 3), 1024, ("out", 5 * 7 * 3 * 4096))
    assert report.faults == ()
    got = memory.read("a0").view(np.int32).reshape(105, 1024)
    assert np.array_equal(got, np.broadcast_to(np.arange(105, dtype=np.int32)[:, None], got.shape))


def test_arguments_are_checked(cuda: Callable[..., Module]) -> None:
    module = cuda(EARLY)
    memory = Memory()
    address = memory.allocate("x", 16)
    with pytest.raises(ValueError, match="k_param_2"):
        simulate(module, "k", Launch((1, 1, 1), (1, 1, 1)), [address, address, np.int64(1)], memory)
    with pytest.raises(ValueError, match="takes 3 arguments"):
        simulate(module, "k", Launch((1, 1, 1), (1, 1, 1)), [address], memory)
    with pytest.raises(ValueError, match=r"block\.z"):
        simulate(module, "k", Launch((1, 1, 1), (1, 1, 65)), [address, address, np.int32(1)], memory)
    with pytest.raises(ValueError, match="more than 1024"):
        simulate(module, "k", Launch((1, 1, 1), (64, 32, 1)), [address, address, np.int32(1)], memory)


def test_launch_bounds_are_kept(cuda: Callable[..., Module]) -> None:
    module = cuda(EARLY.replace("void k", "void __launch_bounds__(64) k"))
    memory = Memory()
    address = memory.allocate("x", 1024)
    with pytest.raises(ValueError, match="allows 64 threads"):
        simulate(module, "k", Launch((1, 1, 1), (96, 1, 1)), [address, address, np.int32(1)], memory)


HALVES = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void k(const __half* a, __half* b, const __nv_bfloat16* c, __nv_bfloat16* d,
                             const __nv_fp8_e4m3* e, __nv_fp8_e4m3* f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    b[i] = __float2half(__half2float(a[i]) * 1.5f + 1.0f);
    d[i] = __float2bfloat16(__bfloat162float(c[i]) * 1.5f);
    f[i] = __nv_fp8_e4m3(float(e[i]) * 1.5f);
}"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_narrow_floats_on_every_architecture(cuda: Callable[..., Module], arch: str) -> None:
    n = 1000
    rng = np.random.default_rng(5)
    kinds = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn))
    given = [rng.standard_normal(n).astype(np.float32).astype(kind) for kind in kinds]
    memory = Memory()
    arguments: list[Any] = []
    for number, array in enumerate(given):
        arguments.append(memory.allocate(f"in{number}", array.view(np.uint8)))
        arguments.append(memory.allocate(f"out{number}", array.nbytes, initialised=False))
    report = simulate(
        cuda(HALVES, arch), "k", Launch((4, 1, 1), (256, 1, 1)), [*arguments, np.int32(n)], memory
    )
    assert report.faults == ()
    for number, (array, kind) in enumerate(zip(given, kinds, strict=True)):
        exact = array.astype(np.float32) * np.float32(1.5) + np.float32(1 if number == 0 else 0)
        assert np.array_equal(memory.read(f"out{number}"), exact.astype(kind).view(np.uint8))


def test_speed_with_all_checks_on(cuda: Callable[..., Module]) -> None:
    module = cuda(tiled(1))
    a = np.arange(512 * 512, dtype=np.float32)
    best = 0.0
    for _ in range(3):
        memory = Memory()
        arguments = [memory.allocate("a", a), memory.allocate("b", a.nbytes, initialised=False)]
        start = time.process_time()
        report = simulate(
            module, "k", Launch((16, 16, 1), (32, 8, 1)), [*arguments, np.int32(512), np.int32(512)], memory
        )
        best = max(best, report.thread_instructions / (time.process_time() - start))
    assert best > 20e6


def test_small_launches_are_cheap(cuda: Callable[..., Module]) -> None:
    module = cuda(tiled(1))
    a = np.arange(40 * 40, dtype=np.float32)
    best = 1.0
    for _ in range(4):
        start = time.process_time()
        for _ in range(10):
            memory = Memory()
            arguments = [memory.allocate("a", a), memory.allocate("b", a.nbytes, initialised=False)]
            launch = Launch((2, 2, 1), (32, 8, 1))
            assert (
                simulate(module, "k", launch, [*arguments, np.int32(40), np.int32(40)], memory).faults == ()
            )
        best = min(best, (time.process_time() - start) / 10)
    assert best < 0.02


def test_launches_of_one_module_do_not_see_each_other(cuda: Callable[..., Module]) -> None:
    module = cuda(tiled(1))
    reports = []
    for size, blocks in ((40, 2), (64, 2), (40, 2), (40, 2)):
        a = np.arange(size * size, dtype=np.float32)
        memory = Memory()
        arguments = [memory.allocate("a", a), memory.allocate("b", a.nbytes, initialised=False)]
        launch = Launch((blocks, blocks, 1), (32, 8, 1))
        reports.append(simulate(module, "k", launch, [*arguments, np.int32(size), np.int32(size)], memory))
        assert memory.read("b").view(np.float32).reshape(size, size).T.reshape(-1).tolist() == a.tolist()
        assert memory.written("b").all() and not memory.written("a").any()
    assert reports[0] == reports[2] == reports[3] != reports[1]


def test_allocations_are_far_apart_in_addresses_and_close_in_the_arena() -> None:
    memory = Memory()
    first = memory.allocate("a", np.arange(100, dtype=np.uint8))
    second = memory.allocate("b", np.arange(7, dtype=np.uint8), misalign=12)
    assert second - first > 1 << 20 and second % 256 == 12
    assert len(memory.arena) <= 8192
    assert all(one.start % 256 == one.address % 256 for one in memory.allocations)
    assert memory.read("a").tolist() == list(range(100)) and memory.read("b").tolist() == list(range(7))


def test_out_of_line_paths_reconverge_before_the_store(run: Run) -> None:
    # NVRTC puts the special cases of pow behind the `ret`; the threads that take them still store with the others.
    a = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -2.0, 0.5, 3.0, 1e300, 1e-300] * 8)[:96]
    source = LIBRARY.format(t="double", e="pow(a[i], 3.0) + pow(2.0, a[i])")
    report, memory = run(source, 3, 32, a, ("out", a.nbytes), np.int32(96))
    assert report.faults == ()
    with np.errstate(all="ignore"):
        expected = np.power(a, 3.0) + np.power(2.0, a)
    assert np.allclose(memory.read("a1").view(np.float64), expected, rtol=1e-14, equal_nan=True)
    assert report.counters.global_store_requests == 3


STRUCTS = """struct P { float x, y, z; };
struct alignas(16) Q { float x, y, z, w; };
extern "C" __global__ void k(const P* __restrict__ a, Q* __restrict__ b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { P p = a[i]; b[i] = Q{p.z, p.y, p.x, 1.0f}; }
}"""


def test_arrays_of_structs(run: Run) -> None:
    a = np.arange(300, dtype=np.float32)
    report, memory = run(STRUCTS, 4, 32, a, ("out", 1600), np.int32(100))
    assert report.faults == ()
    expected = np.concatenate((a.reshape(100, 3)[:, ::-1], np.ones((100, 1), np.float32)), axis=1)
    assert np.array_equal(memory.read("a1").view(np.float32).reshape(100, 4), expected)
    counters = report.counters
    assert counters.global_load_requests == 3 * 4 and counters.global_load_sectors == 3 * (3 * 12 + 2)
    assert counters.global_store_requests == 4 and counters.global_store_sectors == 3 * 16 + 2


def test_counters_of_a_ragged_edge(run: Run) -> None:
    source = """extern "C" __global__ void k(const double* a, double* b, int n) {
        __shared__ double s[64];
        if (threadIdx.x < n) s[threadIdx.x] = a[threadIdx.x];
        __syncthreads();
        if (threadIdx.x < n) b[threadIdx.x] = s[threadIdx.x];
    }"""
    report, _ = run(source, 1, 64, np.zeros(64), ("out", 512), np.int32(40))
    counters = report.counters
    assert report.faults == ()
    # One full warp (two halves) and eight lanes of the next (one half).
    assert counters.shared_load_wavefronts == counters.shared_store_wavefronts == 3
    assert counters.bank_conflicts == 0
    assert counters.global_load_sectors == counters.global_store_sectors == 10


def test_atomics_of_one_instruction_happen_in_lane_order(run: Run) -> None:
    source = """extern "C" __global__ void k(int* bins, int* old, int* swapped) {
        old[threadIdx.x] = atomicAdd(&bins[threadIdx.x % 3], threadIdx.x);
        swapped[threadIdx.x] = atomicExch(&bins[3 + threadIdx.x % 2], threadIdx.x);
    }"""
    report, memory = run(source, 1, 64, np.full(5, 100, np.int32), ("out", 256), ("out", 256))
    assert report.faults == ()
    old, swapped = (memory.read(name).view(np.int32).tolist() for name in ("a1", "a2"))
    assert old == [100 + sum(range(i % 3, i, 3)) for i in range(64)]
    assert swapped == [i - 2 if i >= 2 else 100 for i in range(64)]
