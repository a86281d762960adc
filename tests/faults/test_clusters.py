"""Clusters that share their shared memory, and the same with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilegen.sim import FaultKind

Run = Callable[..., Any]

HELPERS = """\
__device__ __forceinline__ unsigned block_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ unsigned cluster_blocks() {
    unsigned count;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    return count;
}
__device__ __forceinline__ void cluster_arrive() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_sync() { cluster_arrive(); cluster_wait(); }
// The address in the shared::cluster window of a variable of the block of a rank.
__device__ __forceinline__ unsigned of_block(const void* p, unsigned rank) {
    unsigned mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(mapped) : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    return mapped;
}
__device__ __forceinline__ int load_remote(unsigned address) {
    int v;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}
__device__ __forceinline__ void store_remote(unsigned address, int v) {
    asm volatile("st.shared::cluster.s32 [%0], %1;" :: "r"(address), "r"(v) : "memory");
}
__device__ __forceinline__ void add_remote(unsigned address, unsigned v) {
    asm volatile("red.shared::cluster.add.u32 [%0], %1;" :: "r"(address), "r"(v) : "memory");
}
"""

# Each block reduces its part, rank 0 adds up what it reads from the others.
PULL = (
    HELPERS
    + """\
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128)
pull(const int* __restrict__ a, int* __restrict__ out, int n) {
    __shared__ int warp_sums[4], partial;
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    int sum = 0;
    for (int i = blockIdx.x * 128 + thread; i < n; i += gridDim.x * 128) sum += a[i];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();
    if (thread == 0) partial = warp_sums[0] + warp_sums[1] + warp_sums[2] + warp_sums[3];
    cluster_sync();  // written
    if (block_rank() == 0 && warp == 0) {
        int total = lane < cluster_blocks() ? load_remote(of_block(&partial, lane)) : 0;
        total = __reduce_add_sync(0xffffffffu, total);
        if (lane == 0) out[blockIdx.x / 4] = total;
    }
    cluster_sync();  // read
}
"""
)

# Each block stores its part into the memory of rank 0.
PUSH = (
    HELPERS
    + """\
extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128)
push(const int* __restrict__ a, int* __restrict__ out, int n) {
    __shared__ int partials[16];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    int sum = 0;
    for (int i = blockIdx.x * 128 + thread; i < n; i += gridDim.x * 128) sum += a[i];
    sum = __reduce_add_sync(0xffffffffu, sum);
    cluster_sync();  // started
    if (lane == 0) store_remote(of_block(&partials[block_rank() * 4 + warp], 0), sum);
    cluster_arrive();
    if (block_rank() != 0) return;
    cluster_wait();  // written
    if (warp == 0) {
        int total = lane < 16 ? partials[lane] : 0;
        total = __reduce_add_sync(0xffffffffu, total);
        if (lane == 0) out[blockIdx.x / 4] = total;
    }
}
"""
)

# A histogram whose bins are spread over the blocks of the cluster.
BINS = (
    HELPERS
    + """\
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128)
bins(const int* __restrict__ a, unsigned* __restrict__ out, int n) {
    __shared__ unsigned mine[64];
    const int thread = threadIdx.x;
    if (thread < 64) mine[thread] = 0;
    cluster_sync();  // cleared
    for (int i = blockIdx.x * 128 + thread; i < n; i += gridDim.x * 128)
        add_remote(of_block(&mine[a[i] % 64], a[i] / 64), 1u);
    cluster_sync();  // counted
    if (thread < 64) atomicAdd(&out[block_rank() * 64 + thread], mine[thread]);
}
"""
)


def mutate(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1, (old, source.count(old))
    return source.replace(old, new)


def run_sums(launch: Run, source: str, blocks: int) -> Any:
    n = blocks * 200 + 13
    a = np.random.default_rng(blocks).integers(-1000, 1000, n).astype(np.int32)
    ran = launch(source, blocks, 128, a, ("out", blocks), n)
    if not ran.report.faults:
        expected = np.zeros(blocks // 4, np.int64)
        np.add.at(expected, np.arange(n) // 128 % blocks // 4, a)
        assert ran.array(1, np.int32).tolist() == expected.tolist()
    return ran


def run_bins(launch: Run, source: str, blocks: int) -> Any:
    n = blocks * 300 + 13
    a = np.random.default_rng(blocks).integers(0, 128, n).astype(np.int32)
    ran = launch(source, blocks, 128, a, np.zeros(128, np.uint32), n)
    if not ran.report.faults:
        assert ran.array(1, np.uint32).tolist() == np.bincount(a, minlength=128).tolist()
    return ran


@pytest.mark.parametrize("blocks", [4, 8, 516, 1200])
@pytest.mark.parametrize("source", [PULL, PUSH])
def test_sums(launch: Run, source: str, blocks: int) -> None:
    assert run_sums(launch, source, blocks).report.faults == ()


@pytest.mark.parametrize("blocks", [2, 6, 514])
def test_bins(launch: Run, blocks: int) -> None:
    assert run_bins(launch, BINS, blocks).report.faults == ()


WRITTEN = ("partial = warp_sums[0]", "load_remote(of_block(&partial, lane))")
PUSHED = ("store_remote(of_block(", "total = lane < 16 ? partials[lane]")
CLEARED = ("mine[thread] = 0", "add_remote(of_block(")
COUNTED = ("add_remote(of_block(", "atomicAdd(&out")
RACE, REMOTE = FaultKind.SHARED_RACE, FaultKind.REMOTE_SHARED


@pytest.mark.parametrize("blocks", [4, 516])
@pytest.mark.parametrize(
    "name, old, new, kinds, lines",
    [
        ("pull", "cluster_sync();  // written", "", {RACE, REMOTE}, WRITTEN),
        ("pull", "cluster_sync();  // written", "__syncthreads();", {RACE, REMOTE}, WRITTEN),
        ("pull", "arrive.release", "arrive.relaxed", {RACE, REMOTE}, WRITTEN),
        ("push", "cluster_wait();  // written", "", {RACE, REMOTE}, PUSHED),
        ("push", "cluster_wait();  // written", "__syncthreads();", {RACE, REMOTE}, PUSHED),
        ("push", "arrive.release", "arrive.relaxed", {RACE, REMOTE}, PUSHED),
        ("bins", "cluster_sync();  // cleared", "", {RACE, REMOTE}, CLEARED),
        ("bins", "cluster_sync();  // cleared", "__syncthreads();", {RACE, REMOTE}, CLEARED),
        ("bins", "cluster_sync();  // counted", "", {RACE, REMOTE}, COUNTED),
        ("bins", "red.shared", "red.relaxed.cta.shared", {RACE}, ("add_remote(of_block(",)),
    ],
)
def test_one_thing_wrong(
    launch: Run, name: str, old: str, new: str, kinds: set[FaultKind], lines: tuple[str, ...], blocks: int
) -> None:
    source = {"pull": PULL, "push": PUSH, "bins": BINS}[name]
    ran = (run_bins if name == "bins" else run_sums)(launch, mutate(source, old, new), blocks)
    assert ran.said(RACE, *lines), ran.report.faults
    assert set(ran.faults) - {FaultKind.WARP_RACE} == kinds


@pytest.mark.parametrize("blocks", [4, 516])
def test_a_block_that_ends_while_others_read_its_memory(launch: Run, blocks: int) -> None:
    ran = run_sums(launch, mutate(PULL, "cluster_sync();  // read", ""), blocks)
    assert ran.said(REMOTE, "load_remote(of_block(&partial, lane))"), ran.report.faults
    assert set(ran.faults) == {REMOTE}
    assert "may have ended" in ran.faults[REMOTE].message


def test_memory_of_a_block_that_has_ended(launch: Run) -> None:
    # Rank 3 is gone when the others read.
    gone = "cluster_arrive();\n    if (block_rank() == 3) return;\n    cluster_wait();"
    ran = run_sums(launch, mutate(PULL, "cluster_sync();  // written", gone), 8)
    assert ran.said(REMOTE, "load_remote(of_block(&partial, lane))"), ran.report.faults
    assert "has ended" in ran.faults[REMOTE].message


@pytest.mark.parametrize("blocks", [4, 516])
def test_a_block_that_may_not_have_started(launch: Run, blocks: int) -> None:
    ran = run_sums(launch, mutate(PUSH, "cluster_sync();  // started", ""), blocks)
    assert ran.said(REMOTE, "store_remote(of_block("), ran.report.faults
    assert set(ran.faults) == {REMOTE}
    assert "may not have started" in ran.faults[REMOTE].message


def test_a_rank_outside_the_cluster(launch: Run) -> None:
    ran = run_sums(launch, mutate(PULL, "lane < cluster_blocks()", "lane < 5"), 8)
    assert ran.said(FaultKind.OUT_OF_BOUNDS_READ, "load_remote(of_block(&partial, lane))"), ran.report.faults


@pytest.mark.parametrize(
    "instead, kinds",
    [
        # A thread that has ended is not waited for.
        ("if (warp != 1) cluster_sync();", set()),
        ("if (block_rank() != 2) cluster_sync();", {REMOTE}),
        ("if (block_rank() != 2) cluster_sync(); else __trap();", {REMOTE, FaultKind.TRAP}),
        (
            "if (block_rank() != 2) cluster_sync(); else while (*(volatile int*)out != -1);",
            {FaultKind.DEADLOCK, FaultKind.GLOBAL_RACE},
        ),
        ("cluster_sync(); cluster_wait();", {FaultKind.BARRIER_DIVERGED}),
        ("cluster_arrive(); cluster_arrive(); cluster_wait();", {FaultKind.BARRIER_DIVERGED}),
    ],
)
def test_a_barrier_that_not_all_reach_or_that_is_misused(
    launch: Run, instead: str, kinds: set[FaultKind]
) -> None:
    ran = run_sums(launch, mutate(PULL, "cluster_sync();  // read", instead), 8)
    assert set(ran.faults) == kinds, ran.report.faults


# A word in the other block's memory says that the box beside it is full.
HAND_OVER = (
    HELPERS
    + """\
__device__ __forceinline__ int load_flag(const int* p) {
    int v;
    asm volatile("ld.acquire.cluster.shared.s32 %0, [%1];"
                 : "=r"(v) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory");
    return v;
}
__device__ __forceinline__ void store_flag(unsigned address, int v) {
    asm volatile("st.release.cluster.shared::cluster.s32 [%0], %1;" :: "r"(address), "r"(v) : "memory");
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(32)
hand_over(int* __restrict__ out) {
    __shared__ int box[32], flag;
    const int lane = threadIdx.x;
    if (lane == 0) flag = 0;
    cluster_sync();  // empty
    if (block_rank() == 0) {
        store_remote(of_block(&box[lane], 1), blockIdx.x * 100 + lane);
        __syncwarp();
        if (lane == 0) store_flag(of_block(&flag, 1), 1);
    } else {
        while (load_flag(&flag) == 0) ;
        out[blockIdx.x / 2 * 32 + lane] = box[lane];
    }
}
"""
)
FENCED_HAND_OVER = (
    HAND_OVER.replace("ld.acquire.cluster", "ld.relaxed.cluster")
    .replace("st.release.cluster", "st.relaxed.cluster")
    .replace("== 0) ;", '== 0) ;\n        asm volatile("fence.acq_rel.cluster;" ::: "memory");  // acquire')
    .replace(
        "lane == 0) store",
        'lane == 0) asm volatile("fence.acq_rel.cluster;" ::: "memory");  // release\n'
        "        if (lane == 0) store",
    )
)


def run_hand_over(launch: Run, source: str, blocks: int) -> Any:
    ran = launch(source, blocks, 32, ("out", 64 * blocks))
    if not ran.report.faults:
        expected = np.arange(0, blocks, 2)[:, None] * 100 + np.arange(32)
        assert np.array_equal(ran.array(0, np.int32).reshape(-1, 32), expected)
    return ran


@pytest.mark.parametrize("blocks", [2, 1100])
@pytest.mark.parametrize("source", [HAND_OVER, FENCED_HAND_OVER])
def test_hand_over(launch: Run, source: str, blocks: int) -> None:
    assert run_hand_over(launch, source, blocks).report.faults == ()


BOX = ("store_remote(of_block(", "= box[lane]")


@pytest.mark.parametrize("blocks", [2, 1100])
@pytest.mark.parametrize(
    "fenced, old, new",
    [
        (False, "ld.acquire", "ld.relaxed"),
        (False, "st.release", "st.relaxed"),
        (False, "ld.acquire.cluster", "ld.acquire.cta"),
        (False, "st.release.cluster", "st.release.cta"),
        (False, "        __syncwarp();\n", ""),
        (True, 'asm volatile("fence.acq_rel.cluster;" ::: "memory");  // acquire', ""),
        (True, 'asm volatile("fence.acq_rel.cluster;" ::: "memory");  // release', ";"),
        (True, 'asm volatile("fence.acq_rel.cluster;" ::: "memory");  // acquire', "__threadfence_block();"),
        (True, 'asm volatile("fence.acq_rel.cluster;" ::: "memory");  // release', "__threadfence_block();"),
    ],
)
def test_hand_over_with_one_thing_wrong(launch: Run, fenced: bool, old: str, new: str, blocks: int) -> None:
    ran = run_hand_over(launch, mutate(FENCED_HAND_OVER if fenced else HAND_OVER, old, new), blocks)
    assert ran.said(RACE, *BOX), ran.report.faults
