"""Reductions that the last block to finish completes, and the same with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilegen.sim import FaultKind

Run = Callable[..., Any]

# One thread writes the block's partial, fences and counts; the block that counts last adds up.
ONE = """\
extern "C" __global__ void __launch_bounds__(256)
total(const int* __restrict__ a, int* partials, unsigned* count, int* out, int n) {
    __shared__ int warp_sums[8];
    __shared__ bool is_last;
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    int sum = 0;
    for (int i = blockIdx.x * 256 + thread; i < n; i += gridDim.x * 256) sum += a[i];
    for (int step = 16; step > 0; step >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();  // sums
    if (thread == 0) {
        sum = 0;
        for (int w = 0; w < 8; ++w) sum += warp_sums[w];
        partials[blockIdx.x] = sum;
        __threadfence();  // release
        is_last = atomicAdd(count, 1u) == gridDim.x - 1;
        __threadfence();  // acquire
    }
    __syncthreads();  // last
    if (!is_last) return;
    sum = 0;
    for (int b = thread; b < gridDim.x; b += 256) sum += partials[b];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();  // totals
    if (thread == 0) {
        sum = 0;
        for (int w = 0; w < 8; ++w) sum += warp_sums[w];
        *out = sum;
        *count = 0;
    }
}
"""

# Every thread writes a partial of its own.
EVERY = """\
extern "C" __global__ void __launch_bounds__(256)
columns(const int* __restrict__ a, int* partials, unsigned* count, int* out, int n) {
    __shared__ bool is_last;
    const int thread = threadIdx.x;
    int sum = 0;
    for (int i = blockIdx.x * 256 + thread; i < n; i += gridDim.x * 256) sum += a[i];
    partials[blockIdx.x * 256 + thread] = sum;
    __threadfence();  // release
    __syncthreads();  // written
    if (thread == 0) is_last = atomicAdd(count, 1u) == gridDim.x - 1;
    __syncthreads();  // last
    if (is_last) {
        __threadfence();  // acquire
        sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += partials[b * 256 + thread];
        out[thread] = sum;
    }
}
"""

# The barrier first, then one fence for what the whole block has written.
CUMULATIVE = (
    EVERY.replace("    __threadfence();  // release\n", "")
    .replace(
        "if (thread == 0) is_last = atomicAdd(count, 1u) == gridDim.x - 1;",
        "if (thread == 0) {\n        __threadfence();  // release\n"
        "        is_last = atomicAdd(count, 1u) == gridDim.x - 1;\n        __threadfence();  // acquire\n    }",
    )
    .replace("        __threadfence();  // acquire\n        sum = 0", "        sum = 0")
)

# No fences: the atomic itself releases and acquires.
ORDERED = CUMULATIVE.replace("        __threadfence();  // release\n", "").replace(
    "is_last = atomicAdd(count, 1u) == gridDim.x - 1;\n        __threadfence();  // acquire",
    'unsigned taken;\n        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"\n'
    '                     : "=r"(taken) : "l"(count) : "memory");\n        is_last = taken == gridDim.x - 1;',
)

# Each warp counts for itself.
WARPS = """\
extern "C" __global__ void __launch_bounds__(256)
warps(const int* __restrict__ a, int* partials, unsigned* count, int* out, int n) {
    const int thread = threadIdx.x, lane = thread % 32, warp = blockIdx.x * 8 + thread / 32, all = gridDim.x * 8;
    int sum = 0;
    for (int i = blockIdx.x * 256 + thread; i < n; i += gridDim.x * 256) sum += a[i];
    partials[warp * 32 + lane] = sum;
    __syncwarp();  // written
    unsigned taken = 0;
    if (lane == 0) {
        __threadfence();  // release
        taken = atomicAdd(count, 1u);
        __threadfence();  // acquire
    }
    __syncwarp();  // last
    taken = __shfl_sync(0xffffffffu, taken, 0);
    if (taken != all - 1) return;
    sum = 0;
    for (int w = 0; w < all; ++w) sum += partials[w * 32 + lane];
    out[lane] = sum;
}
"""

KERNELS = {"one": ONE, "every": EVERY, "cumulative": CUMULATIVE, "ordered": ORDERED, "warps": WARPS}


def mutate(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1, (old, source.count(old))
    return source.replace(old, new)


def run_total(launch: Run, source: str, blocks: int) -> Any:
    n = blocks * 400 + 13
    a = np.random.default_rng(blocks).integers(-1000, 1000, n).astype(np.int32)
    width = 1 if "total(" in source else 32 if "warps(" in source else 256
    partials = blocks * (1 if width == 1 else 256)
    ran = launch(source, blocks, 256, a, ("out", 4 * partials), np.zeros(1, np.uint32), ("out", 4 * width), n)
    if not ran.report.faults:
        expected = np.zeros(width, np.int64)
        np.add.at(expected, np.arange(n) % width, a)
        assert ran.array(3, np.int32).tolist() == expected.tolist()
    return ran


@pytest.mark.parametrize("blocks", [1, 2, 128, 300])
@pytest.mark.parametrize("name", list(KERNELS))
def test_last_block(launch: Run, name: str, blocks: int) -> None:
    assert run_total(launch, KERNELS[name], blocks).report.faults == ()


ONE_LINES = ("partials[blockIdx.x] = sum", "sum += partials[b]")
EVERY_LINES = ("partials[blockIdx.x * 256 + thread] = sum", "sum += partials[b * 256 + thread]")
WARP_LINES = ("partials[warp * 32 + lane] = sum", "sum += partials[w * 32 + lane]")


@pytest.mark.parametrize("blocks", [2, 300])
@pytest.mark.parametrize(
    "name, old, new, lines",
    [
        ("one", "__threadfence();  // release", "", ONE_LINES),
        ("one", "__threadfence();  // acquire", "", ONE_LINES),
        ("one", "__threadfence();  // release", "__threadfence_block();", ONE_LINES),
        ("one", "atomicAdd(count, 1u)", "atomicAdd_block(count, 1u)", ONE_LINES),
        (
            "one",
            "partials[blockIdx.x] = sum;\n        __threadfence();  // release",
            "__threadfence();\n        partials[blockIdx.x] = sum;",
            ONE_LINES,
        ),
        ("every", "__threadfence();  // release", "", EVERY_LINES),
        ("every", "__threadfence();  // release", "if (thread != 77) __threadfence();", EVERY_LINES),
        ("every", "__threadfence();  // acquire", "", EVERY_LINES),
        ("every", "__threadfence();  // acquire", "if (thread != 77) __threadfence();", EVERY_LINES),
        ("every", "__syncthreads();  // written", "", EVERY_LINES),
        ("cumulative", "__threadfence();  // release", "", EVERY_LINES),
        ("cumulative", "__threadfence();  // acquire", "", EVERY_LINES),
        ("cumulative", "__syncthreads();  // written", "", EVERY_LINES),
        ("cumulative", "__threadfence();  // release", "__threadfence_block();", EVERY_LINES),
        ("ordered", "atom.acq_rel.gpu", "atom.relaxed.gpu", EVERY_LINES),
        ("ordered", "atom.acq_rel.gpu", "atom.release.gpu", EVERY_LINES),
        ("ordered", "atom.acq_rel.gpu", "atom.acquire.gpu", EVERY_LINES),
        ("ordered", "atom.acq_rel.gpu", "atom.acq_rel.cta", EVERY_LINES),
        ("warps", "__threadfence();  // release", "", WARP_LINES),
        ("warps", "__threadfence();  // acquire", "", WARP_LINES),
        ("warps", "__syncwarp();  // written", "", WARP_LINES),
        ("warps", "__syncwarp();  // last", "", WARP_LINES),
    ],
)
def test_one_thing_wrong(
    launch: Run, name: str, old: str, new: str, lines: tuple[str, ...], blocks: int
) -> None:
    ran = run_total(launch, mutate(KERNELS[name], old, new), blocks)
    assert ran.said(FaultKind.GLOBAL_RACE, *lines), ran.report.faults
    assert set(ran.faults) == {FaultKind.GLOBAL_RACE}


@pytest.mark.parametrize(
    "old, lines",
    [
        ("__syncthreads();  // sums", ("warp_sums[warp] = sum;", "sum += warp_sums[w];  // block")),
        ("__syncthreads();  // last", ("is_last = atomicAdd", "if (!is_last) return")),
        ("__syncthreads();  // totals", ("warp_sums[warp] = sum;  // last", "sum += warp_sums[w];  // last")),
    ],
)
def test_a_barrier_dropped(launch: Run, old: str, lines: tuple[str, ...]) -> None:
    # The second half repeats texts of the first.
    head, tail = ONE.split("    if (!is_last) return;")
    head = head.replace("sum += warp_sums[w];", "sum += warp_sums[w];  // block")
    tail = tail.replace("sum += warp_sums[w];", "sum += warp_sums[w];  // last")
    tail = tail.replace("warp_sums[warp] = sum;", "warp_sums[warp] = sum ;  // last")
    lines = tuple(one.replace("sum;  // last", "sum ;  // last") for one in lines)
    ran = run_total(launch, mutate(head + "    if (!is_last) return;" + tail, old, ""), 20)
    assert ran.said(FaultKind.SHARED_RACE, *lines), ran.report.faults
