"""Warp-level scans by segments and block reductions, and the same with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilegen.sim import FaultKind

Run = Callable[..., Any]

# An inclusive sum within segments; a head flag starts one. Segments cross warps and end with the block.
SEGMENTED = """\
extern "C" __global__ void __launch_bounds__(128)
segmented(const int* __restrict__ a, const int* __restrict__ heads, int* __restrict__ out, int n) {
    __shared__ int carries[4];
    __shared__ bool opened[4];
    const int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool head = i >= n || heads[i];
    int sum = i < n ? a[i] : 0;
    const unsigned starts = __ballot_sync(0xffffffffu, head);
    // The lane that the segment of this one starts in, -1 where it starts in an earlier warp.
    const int first = 31 - __clz(starts & (0xffffffffu >> (31 - lane)));
    #pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const int other = __shfl_up_sync(0xffffffffu, sum, step);  // scan
        if (lane - step >= max(first, 0)) sum += other;
    }
    if (lane == 31) {
        carries[warp] = sum;
        opened[warp] = first >= 0;
    }
    __syncthreads();  // carries
    int carry = 0;
    for (int w = 0; w < warp; ++w) carry = opened[w] ? carries[w] : carry + carries[w];
    if (i < n) out[i] = first >= 0 ? sum : sum + carry;
}
"""

# Each warp reverses its part of an array through shared memory of its own.
EXCHANGE = """\
extern "C" __global__ void __launch_bounds__(128)
exchange(const int* __restrict__ a, int* __restrict__ out, int n) {
    __shared__ int box[4][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int last = 0;
    for (int at = blockIdx.x * 128 + threadIdx.x; at - lane < n; at += gridDim.x * 128) {
        box[warp][lane] = at < n ? a[at] : last;
        __syncwarp();  // written
        last = box[warp][31 - lane];
        __syncwarp();  // read
        if (at < n) out[at] = last;
    }
}
"""


def mutate(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1, (old, source.count(old))
    return source.replace(old, new)


def run_segmented(launch: Run, source: str, blocks: int) -> Any:
    n = blocks * 128 - 37
    rng = np.random.default_rng(blocks)
    a, heads = rng.integers(-100, 100, n).astype(np.int32), (rng.random(n) < 0.03).astype(np.int32)
    ran = launch(source, blocks, 128, a, heads, ("out", 4 * n), n)
    if not ran.report.faults:
        expected, total = [], 0
        for i, (value, head) in enumerate(zip(a.tolist(), heads.tolist(), strict=True)):
            total = value if head or i % 128 == 0 else total + value
            expected.append(total)
        assert ran.array(2, np.int32).tolist() == expected
    return ran


def run_exchange(launch: Run, source: str, blocks: int) -> Any:
    n = blocks * 128 * 3
    a = np.random.default_rng(blocks).integers(-100, 100, n).astype(np.int32)
    ran = launch(source, blocks, 128, a, ("out", 4 * n), n)
    if not ran.report.faults:
        assert np.array_equal(ran.array(1, np.int32), a.reshape(-1, 32)[:, ::-1].reshape(-1))
    return ran


@pytest.mark.parametrize("blocks", [1, 5, 300])
def test_kernels(launch: Run, blocks: int) -> None:
    assert run_segmented(launch, SEGMENTED, blocks).report.faults == ()
    assert run_exchange(launch, EXCHANGE, blocks).report.faults == ()


@pytest.mark.parametrize("blocks", [2, 300])
@pytest.mark.parametrize(
    "old, new, kind, lines",
    [
        (
            "__syncthreads();  // carries",
            "",
            FaultKind.SHARED_RACE,
            ("carries[warp] = sum", "carry = opened[w]"),
        ),
        (
            "__shfl_up_sync(0xffffffffu, sum, step);",
            "__shfl_up_sync(0x7fffffffu, sum, step);",
            FaultKind.WARP_SYNC_UNNAMED,
            ("// scan",),
        ),
        (
            "const int other = __shfl_up_sync",
            "if (i >= n) continue; const int other = __shfl_up_sync",
            FaultKind.WARP_SYNC_MISSING_LANES,
            ("// scan",),
        ),
        (
            "const int other = __shfl_up_sync(0xffffffffu",
            "const unsigned here = __activemask(); if (lane == 3) continue; int other = __shfl_up_sync(here & ~8u",
            FaultKind.INACTIVE_LANE_READ,
            ("// scan",),
        ),
    ],
)
def test_a_segmented_scan_with_one_thing_wrong(
    launch: Run, old: str, new: str, kind: FaultKind, lines: tuple[str, ...], blocks: int
) -> None:
    ran = run_segmented(launch, mutate(SEGMENTED, old, new), blocks)
    assert ran.said(kind, *lines), ran.report.faults


@pytest.mark.parametrize("blocks", [2, 300])
@pytest.mark.parametrize(
    "old, new",
    [
        ("__syncwarp();  // written", ""),
        ("__syncwarp();  // read", ""),
        ("__syncwarp();  // written", "__syncwarp(lane < 16 ? 0x0000ffffu : 0xffff0000u);"),
        ("__syncwarp();  // written", "__shfl_sync(0xffffffffu, lane, 0);"),
    ],
)
def test_an_exchange_without_its_syncwarp(launch: Run, old: str, new: str, blocks: int) -> None:
    ran = run_exchange(launch, mutate(EXCHANGE, old, new), blocks)
    assert ran.said(FaultKind.WARP_RACE, "box[warp][lane] =", "last = box[warp]"), ran.report.faults
    assert set(ran.faults) == {FaultKind.WARP_RACE}
