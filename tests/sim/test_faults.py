"""Every kind of fault, provoked by a kernel with a mistake in it, at the right line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilegen.sim import Fault, FaultKind, Memory, Report

Run = Callable[..., tuple[Report, Memory]]

TRANSPOSE = """extern "C" __global__ void __launch_bounds__(1024)
k(const float* __restrict__ a, float* __restrict__ b, int M, int N) {
    __shared__ float tile[32][33];
    int j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 32 + threadIdx.y;
    if (i < M && j < N)
        tile[threadIdx.y][threadIdx.x] = a[(size_t)i * N + j];
    __syncthreads();
    j = blockIdx.y * 32 + threadIdx.x; i = blockIdx.x * 32 + threadIdx.y;
    if (j < M && i < N)
        b[(size_t)i * M + j] = tile[threadIdx.x][threadIdx.y];
}"""


def faults(
    run: Run, source: str, grid: Any, block: Any, *arguments: Any, **options: Any
) -> dict[FaultKind, Fault]:
    report, _ = run(source, grid, block, *arguments, **options)
    return {fault.kind: fault for fault in report.faults}


def transpose(run: Run, source: str, m: int = 64, n: int = 64) -> dict[FaultKind, Fault]:
    a = np.arange(m * n, dtype=np.float32)
    return faults(
        run, source, (-(-n // 32), -(-m // 32)), (32, 32), a, ("out", a.nbytes), np.int32(m), np.int32(n)
    )


def line_of(source: str, text: str) -> int:
    found = [number for number, line in enumerate(source.split("\n"), 1) if text in line]
    assert len(found) == 1, text
    return found[0]


@pytest.mark.parametrize("m, n", [(64, 64), (33, 65), (1, 1)])
def test_the_right_kernel_has_no_fault(run: Run, m: int, n: int) -> None:
    assert transpose(run, TRANSPOSE, m, n) == {}


def test_removed_barrier_is_a_race_between_the_two_lines(run: Run) -> None:
    source = TRANSPOSE.replace("    __syncthreads();\n", "")
    found = transpose(run, source)
    fault = found[FaultKind.SHARED_RACE]
    store, load = line_of(source, "tile[threadIdx.y][threadIdx.x] ="), line_of(source, "= tile[threadIdx.x]")
    assert set(fault.lines) == {store, load}
    assert fault.thread is not None and fault.other is not None and fault.thread != fault.other
    assert fault.thread.block == fault.other.block
    assert fault.allocation == "tile"
    assert fault.count > 1000


def test_pad_in_the_index_only_leaves_the_tile(run: Run) -> None:
    source = TRANSPOSE.replace("float tile[32][33]", "float tile[32 * 32]").replace(
        "tile[threadIdx.y][threadIdx.x]", "tile[threadIdx.y * 33 + threadIdx.x]"
    ).replace("tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.x * 33 + threadIdx.y]")  # fmt: skip
    found = transpose(run, source)
    write, read = found[FaultKind.OUT_OF_BOUNDS_WRITE], found[FaultKind.OUT_OF_BOUNDS_READ]
    assert write.line == line_of(source, "tile[threadIdx.y * 33 + threadIdx.x] =")
    assert read.line == line_of(source, "= tile[threadIdx.x * 33")
    assert write.allocation == "tile" and write.offset is not None and write.offset >= 4096


def test_pad_in_the_store_only_reads_what_was_never_written(run: Run) -> None:
    source = TRANSPOSE.replace("float tile[32][33]", "float tile[32 * 33]").replace(
        "tile[threadIdx.y][threadIdx.x]", "tile[threadIdx.y * 33 + threadIdx.x]"
    ).replace("tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.x * 32 + threadIdx.y]")  # fmt: skip
    found = transpose(run, source)
    assert FaultKind.OUT_OF_BOUNDS_READ not in found
    assert found[FaultKind.UNINITIALISED_SHARED_READ].line == line_of(source, "= tile[threadIdx.x * 32")


def test_pad_in_the_index_of_the_first_of_two_tiles(run: Run) -> None:
    source = """extern "C" __global__ void k(float* b) {
    __shared__ float s[32 * 32], t[32 * 33];
    s[threadIdx.y * 33 + threadIdx.x] = 1;
    t[threadIdx.y * 33 + threadIdx.x] = 2;
    __syncthreads();
    b[threadIdx.y * 32 + threadIdx.x] = s[threadIdx.x * 32 + threadIdx.y] + t[threadIdx.x * 33 + threadIdx.y];
}"""
    found = faults(run, source, 1, (32, 32), ("out", 4096))
    fault = found[FaultKind.OUT_OF_BOUNDS_WRITE]
    assert (fault.line, fault.allocation) == (3, "s")
    assert "past the end of shared `s` (4096 bytes)" in fault.message


def test_off_by_one_guard_names_the_allocation_and_the_distance(run: Run) -> None:
    source = """extern "C" __global__ void k(const float* a, float* b, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i <= n)
        b[i] =
            a[i];
}"""
    found = faults(run, source, 1, 128, np.zeros(100, np.float32), ("out", 400), np.int32(100))
    read, write = found[FaultKind.OUT_OF_BOUNDS_READ], found[FaultKind.OUT_OF_BOUNDS_WRITE]
    assert (read.line, read.allocation, read.offset, read.count) == (5, "a0", 400, 1)
    assert (write.line, write.allocation, write.offset) == (4, "a1", 400)
    assert "4 bytes past the end of `a1`" in write.message
    assert read.thread is not None and read.thread.thread == (100, 0, 0)


def test_before_the_start(run: Run) -> None:
    source = """extern "C" __global__ void k(const float* a, float* b) {
    b[threadIdx.x] = a[(int)threadIdx.x - 1];
}"""
    fault = faults(run, source, 1, 32, np.zeros(32, np.float32), ("out", 128))[FaultKind.OUT_OF_BOUNDS_READ]
    assert (fault.line, fault.allocation, fault.offset) == (2, "a0", -4)
    assert "4 bytes before the start" in fault.message


def test_null_pointer(run: Run) -> None:
    source = """extern "C" __global__ void k(const float* a, float* b) {
    b[threadIdx.x] =
        a[threadIdx.x];
}"""
    fault = faults(run, source, 1, 32, np.uint64(0), ("out", 128))[FaultKind.NULL_POINTER]
    assert (fault.line, fault.count) == (3, 32)


def test_misaligned_vector_access(run: Run) -> None:
    source = """extern "C" __global__ void k(const float* a, float4* b, int offset) {
    b[threadIdx.x] =
        *(const float4*)(a + threadIdx.x * 4 + offset);
}"""
    a = np.zeros(160, np.float32)
    assert faults(run, source, 1, 32, a, ("out", 512), np.int32(4)) == {}
    fault = faults(run, source, 1, 32, a, ("out", 512), np.int32(1))[FaultKind.MISALIGNED]
    assert (fault.line, fault.count, fault.allocation, fault.offset) == (3, 32, "a0", 4)


def test_a_misaligned_allocation_is_misaligned_for_vectors(cuda: Callable[..., Any]) -> None:
    from tilegen.sim import Launch, simulate

    module = cuda(
        """extern "C" __global__ void k(const float4* a, float4* b) { b[threadIdx.x] = a[threadIdx.x]; }"""
    )
    memory = Memory()
    a = memory.allocate("a", np.arange(128, dtype=np.float32), misalign=4)
    b = memory.allocate("b", 512, initialised=False)
    report = simulate(module, "k", Launch((1, 1, 1), (32, 1, 1)), [a, b], memory)
    assert a % 256 == 4
    assert [fault.kind for fault in report.faults] == [FaultKind.MISALIGNED]


def test_a_shared_address_wraps_at_32_bits(run: Run) -> None:
    """The compiler folds `+ 32` into the instruction: its register may lie before the start of shared memory."""
    source = """extern "C" __global__ void k(float* b, int n) {
    __shared__ float s[64];
    for (int i = 0; i < 2; ++i) {
        if (int(threadIdx.x) - n + i * 32 >= 0) s[threadIdx.x - n + i * 32] = i;
    }
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x];
}"""
    assert not faults(run, source, 1, 32, ("out", 128), np.int32(7))


def test_uninitialised_shared_read(run: Run) -> None:
    source = """extern "C" __global__ void k(float* b) {
    __shared__ float s[64];
    if (threadIdx.x < 16) s[threadIdx.x] = 1;
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x];
}"""
    fault = faults(run, source, 2, 32, ("out", 256))[FaultKind.UNINITIALISED_SHARED_READ]
    assert (fault.line, fault.count, fault.allocation, fault.offset) == (5, 32, "s", 64)


def test_reading_an_output_never_written(run: Run) -> None:
    source = """extern "C" __global__ void k(float* b) {
    b[threadIdx.x] = 1;
    b[threadIdx.x] +=
        b[threadIdx.x + 32];
}"""
    found = faults(run, source, 1, 32, ("out", 256))
    assert list(found) == [FaultKind.UNINITIALISED_GLOBAL_READ]
    assert found[FaultKind.UNINITIALISED_GLOBAL_READ].line == 4


def test_what_an_earlier_launch_wrote_is_initialised(cuda: Callable[..., Any]) -> None:
    from tilegen.sim import Launch, simulate

    write = cuda('extern "C" __global__ void w(int* b) { b[threadIdx.x] = 1; }')
    read = cuda('extern "C" __global__ void r(const int* b, int* c) { c[threadIdx.x] = b[threadIdx.x]; }')
    memory = Memory()
    b, c = memory.allocate("b", 128, initialised=False), memory.allocate("c", 256, initialised=False)
    assert simulate(read, "r", Launch((1, 1, 1), (32, 1, 1)), [b, c], memory).faults[0].count == 32
    assert simulate(write, "w", Launch((1, 1, 1), (32, 1, 1)), [b], memory).faults == ()
    assert simulate(read, "r", Launch((1, 1, 1), (32, 1, 1)), [b, c], memory).faults == ()
    assert memory.written("c").tolist() == [True] * 128 + [False] * 128


def test_an_empty_kernel_writes_nothing(run: Run) -> None:
    report, memory = run('extern "C" __global__ void k(float* b) { }', 4, 32, ("out", 512))
    assert report.faults == ()
    assert not memory.written("a0").any()


EARLY_RETURN = """extern "C" __global__ void k(const float* a, float* b, int n) {
    __shared__ float s[64];
    if (threadIdx.x >= n) return;
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[n - 1 - threadIdx.x];
}"""


def test_early_return_before_a_barrier(run: Run) -> None:
    a = np.zeros(64, np.float32)
    assert faults(run, EARLY_RETURN, 1, 64, a, ("out", 256), np.int32(64)) == {}
    found = faults(run, EARLY_RETURN, 3, 64, a, ("out", 256), np.int32(40), checks=False)
    fault = found[FaultKind.BARRIER_EXITED]
    assert (fault.line, fault.count) == (5, 3)
    assert "24 of 64 threads" in fault.message
    assert fault.other is not None and fault.other.thread == (40, 0, 0)


def test_barriers_in_both_branches(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    if (threadIdx.x < 32) {
        b[threadIdx.x] = 1;
        __syncthreads();
        b[threadIdx.x] = 3;
    } else {
        b[threadIdx.x] = 2;
        __syncthreads();
    }
}"""
    found = faults(run, source, 1, 64, ("out", 256))
    assert list(found) == [FaultKind.BARRIER_DIVERGED]
    assert set(found[FaultKind.BARRIER_DIVERGED].lines) == {4, 8}


def test_named_barriers_that_never_complete(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    if (threadIdx.x < 32) asm volatile("bar.sync 1;");
    else
        asm volatile("bar.sync 2, 64;");
    b[threadIdx.x] = 1;
}"""
    found = faults(run, source, 1, 64, ("out", 256))
    assert FaultKind.BARRIER_DIVERGED in found or FaultKind.DEADLOCK in found
    source = """extern "C" __global__ void k(int* b) {
    asm volatile("bar.sync 2, 64;");
    b[threadIdx.x] = 1;
}"""
    found = faults(run, source, 1, 32, ("out", 128))
    assert found[FaultKind.DEADLOCK].line == 2
    assert faults(run, source, 1, 64, ("out", 256)) == {}


def test_race_between_blocks(run: Run) -> None:
    source = """extern "C" __global__ void k(float* b) {
    b[threadIdx.x] = blockIdx.x;
}"""
    fault = faults(run, source, 2, 32, ("out", 128))[FaultKind.GLOBAL_RACE]
    assert fault.lines == (2, 2) and fault.count == 32
    assert fault.thread is not None and fault.other is not None and fault.thread.block != fault.other.block
    assert faults(run, source, 1, 32, ("out", 128)) == {}


def test_race_between_blocks_in_different_chunks(run: Run) -> None:
    source = """extern "C" __global__ void k(float* b) {
    if (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1) b[threadIdx.x] = 1;
}"""
    assert FaultKind.GLOBAL_RACE in faults(run, source, 400, 256, ("out", 1024))


def test_in_place_read_and_write_across_blocks(run: Run) -> None:
    source = """extern "C" __global__ void k(float* b, int n) {
    int i = blockIdx.x * 32 + threadIdx.x;
    float v = b[n - 1 - i];
    b[i] = v;
}"""
    fault = faults(run, source, 4, 32, np.zeros(128, np.float32), np.int32(128))[FaultKind.GLOBAL_RACE]
    assert set(fault.lines) == {3, 4}


def test_race_within_one_instruction_of_a_warp(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    __shared__ int s[32];
    s[threadIdx.x / 2] = 1;
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x / 2];
}"""
    found = faults(run, source, 1, 32, ("out", 128))
    fault = found[FaultKind.SHARED_RACE]
    assert fault.line == 3 and fault.count == 16
    source = """extern "C" __global__ void k(int* b) {
    b[threadIdx.x / 2] = threadIdx.x;
}"""
    assert faults(run, source, 1, 32, ("out", 64))[FaultKind.GLOBAL_RACE].line == 2


def test_broadcast_read_then_write_by_one_of_the_readers(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    __shared__ int s[1];
    if (threadIdx.x == 0) s[0] = 5;
    __syncthreads();
    int v = s[0];
    if (threadIdx.x == WRITER) s[0] = 6;
    b[threadIdx.x] = v;
}"""
    for writer in (0, 31, 63):
        found = faults(run, source.replace("WRITER", str(writer)), 1, 64, ("out", 256))
        kinds = set(found) & {FaultKind.SHARED_RACE, FaultKind.WARP_RACE}
        assert kinds, writer
        assert all(set(found[kind].lines) == {5, 6} for kind in kinds)


WARP = """extern "C" __global__ void k(int* b) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    SYNC;
    b[threadIdx.x] = s[31 - threadIdx.x];
}"""


def test_missing_syncwarp(run: Run) -> None:
    found = faults(run, WARP.replace("SYNC", ""), 1, 32, ("out", 128))
    assert list(found) == [FaultKind.WARP_RACE]
    assert set(found[FaultKind.WARP_RACE].lines) == {3, 5}
    assert "__syncwarp" in found[FaultKind.WARP_RACE].message
    assert faults(run, WARP.replace("SYNC", "__syncwarp()"), 1, 32, ("out", 128)) == {}
    assert faults(run, WARP.replace("SYNC", "__syncthreads()"), 1, 32, ("out", 128)) == {}


def test_syncwarp_does_not_order_two_warps(run: Run) -> None:
    source = WARP.replace("SYNC", "__syncwarp()").replace("s[32]", "s[64]").replace("31 -", "63 -")
    assert FaultKind.SHARED_RACE in faults(run, source, 1, 64, ("out", 256))


def test_shuffle_that_named_lanes_never_reach(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    int v = threadIdx.x;
    if (threadIdx.x < 16)
        v = __shfl_xor_sync(~0u, v, 1);
    else
        b[threadIdx.x + 32] = 1 + __shfl_xor_sync(0xffff0000u, v, 2);
    b[threadIdx.x] = v;
}"""
    found = faults(run, source, 1, 32, ("out", 256))
    assert list(found) == [FaultKind.WARP_SYNC_MISSING_LANES]
    assert found[FaultKind.WARP_SYNC_MISSING_LANES].line == 4


def test_shuffle_by_a_lane_that_its_mask_leaves_out(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    b[threadIdx.x] = __shfl_up_sync(0x7fffffffu, threadIdx.x, 1);
}"""
    fault = faults(run, source, 1, 32, ("out", 128))[FaultKind.WARP_SYNC_UNNAMED]
    assert (fault.line, fault.count) == (2, 1)


def test_shuffle_from_a_lane_that_takes_no_part(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    if (threadIdx.x < 20)
        b[threadIdx.x] = __shfl_down_sync(0x000fffffu, threadIdx.x, 4);
}"""
    fault = faults(run, source, 1, 32, ("out", 128))[FaultKind.INACTIVE_LANE_READ]
    assert (fault.line, fault.count) == (3, 4)


@pytest.mark.parametrize(
    "call, why",
    [
        ("__shfl_xor_sync(0x0000fffeu, v, 1)", "lane 0, which its mask 0x0000fffe leaves out"),
        ("__shfl_xor_sync(i < 8 ? 0xffffu : 0xff00u, v, 1)", "lane 0 with the mask 0x0000ffff"),
        ("__reduce_add_sync(0x00007fffu, v)", "lane 15, which its mask 0x00007fff leaves out"),
        ("__ballot_sync(0x0000fffdu, v)", "lane 1, which its mask 0x0000fffd leaves out"),
        ("(__syncwarp(0x0000fff0u), v)", "lane 0, which its mask 0x0000fff0 leaves out"),
    ],
)
def test_a_mask_short_of_a_lane(run: Run, call: str, why: str) -> None:
    source = """extern "C" __global__ void k(int* b) {
    int i = threadIdx.x, v = i;
    if (i < 16)
        v += CALL;
    b[i] = v;
}""".replace("CALL", call)
    fault = faults(run, source, 1, 32, ("out", 128))[FaultKind.WARP_SYNC_UNNAMED]
    assert fault.line == 4 and why in fault.message, fault


def test_masks_that_part_a_warp(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    int i = threadIdx.x, v = i;
    unsigned half = i < 16 ? 0xffffu : 0xffff0000u;
    for (int step = 8; step; step >>= 1) v += __shfl_xor_sync(half, v, step);
    b[i] = v + __popc(__match_any_sync(0xffffffffu, i % 3));
}"""
    report, memory = run(source, 1, 32, ("out", 128))
    assert report.faults == ()
    counts = np.bincount(np.arange(32) % 3)[np.arange(32) % 3]
    assert memory.read("a0").view(np.int32).tolist() == (np.repeat([120, 376], 16) + counts).tolist()


PARTS = """extern "C" __global__ void k(int* b) {
    __shared__ int s[32];
    int i = threadIdx.x;
    unsigned part = 0xffu << i / 8 * 8;
    s[i] = i;
    __syncwarp(part);
    int v = s[i ^ NEAR];
    __syncwarp(part & 0x0f0f0f0fu ? part : 0u);
    s[i] = v;
    __syncwarp();
    b[i] = s[i ^ FAR];
}"""


def test_syncwarp_orders_only_the_lanes_of_its_mask(run: Run) -> None:
    source = PARTS.replace("NEAR", "7").replace("FAR", "31")
    report, memory = run(source, 1, 32, ("out", 128))
    assert report.faults == ()
    assert memory.read("a0").view(np.int32).tolist() == [i ^ 24 for i in range(32)]
    found = faults(run, PARTS.replace("NEAR", "8").replace("FAR", "31"), 1, 32, ("out", 128))
    assert list(found) == [FaultKind.WARP_RACE]
    assert set(found[FaultKind.WARP_RACE].lines) == {5, 7} or set(found[FaultKind.WARP_RACE].lines) == {7, 9}
    found = faults(run, source.replace("    __syncwarp();\n", ""), 1, 32, ("out", 128))
    assert list(found) == [FaultKind.WARP_RACE] and set(found[FaultKind.WARP_RACE].lines) == {9, 10}


def test_shared_memory_of_a_block_that_ends(run: Run) -> None:
    source = """extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int* b) {
    __shared__ int s[32];
    s[threadIdx.x] = blockIdx.x;
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    int v;
    asm volatile("{ .reg .u32 a; mapa.shared::cluster.u32 a, %1, %2; ld.shared::cluster.u32 %0, [a]; }"
        : "=r"(v) : "r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x)), "r"(1 - blockIdx.x % 2));
    END;
    b[blockIdx.x * 32 + threadIdx.x] = v;
}"""
    found = faults(run, source.replace("END", ""), 6, 32, ("out", 768))
    assert list(found) == [FaultKind.REMOTE_SHARED]
    # NVRTC 13 gives the statement its first line, 12 its last.
    assert found[FaultKind.REMOTE_SHARED].line in (6, 7)
    end = 'asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;")'
    # A relaxed arrival orders no accesses, and what is read may not have been read when the block ends.
    assert list(faults(run, source.replace("END", end), 6, 32, ("out", 768))) == [FaultKind.REMOTE_SHARED]
    end = end.replace(".relaxed", ".release")
    report, memory = run(source.replace("END", end), 6, 32, ("out", 768))
    assert report.faults == ()
    assert memory.read("a0").view(np.int32).reshape(6, 32)[:, 0].tolist() == [1, 0, 3, 2, 5, 4]


def test_write_to_constant_memory(run: Run) -> None:
    source = """__constant__ int table[4];
extern "C" __global__ void k(int* b) {
    const int* p = table + threadIdx.x;
    asm volatile("st.u32 [%0], %1;" :: "l"(p), "r"(b[threadIdx.x]));
}"""
    fault = faults(run, source, 1, 4, np.zeros(4, np.int32))[FaultKind.READ_ONLY_WRITE]
    assert (fault.line, fault.count) == (4, 4)


def test_trap(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    if (threadIdx.x == 3)
        __trap();
    b[threadIdx.x] = 1;
}"""
    found = faults(run, source, 1, 32, ("out", 128))
    assert found[FaultKind.TRAP].line == 3


def test_runaway_loop(run: Run) -> None:
    source = """extern "C" __global__ void k(volatile int* b) {
    while (b[0] == 0) { b[1 + threadIdx.x]++; }
}"""
    found = faults(run, source, 1, 32, np.zeros(33, np.int32), max_instructions=200_000)
    assert list(found) == [FaultKind.RUNAWAY]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "__nanosleep(20);",
        "tries++;",
        "tries = min(2 * tries, 100); __nanosleep(tries);",
        "b[1 + threadIdx.x] = 1;",
        "__syncthreads();",
    ],
)
def test_a_wait_for_what_nobody_does(run: Run, body: str) -> None:
    source = """extern "C" __global__ void k(volatile int* b) {
    int tries = 1;
    while (b[0] == 0) { BODY }
    b[0] = tries;
}""".replace("BODY", body)
    found = faults(run, source, 3, 64, np.zeros(65, np.int32))
    assert list(found) == [FaultKind.DEADLOCK]
    fault = found[FaultKind.DEADLOCK]
    assert (fault.line, fault.count) == (3, 192)
    assert "192 threads of 3 blocks wait for ever" in fault.message


def test_a_wait_on_a_plain_load(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b, int* c) {
    int v;
    do {
        asm volatile("ld.global.s32 %0, [%1];" : "=r"(v) : "l"(b + blockIdx.x + 1) : "memory");
    } while (v == 0);
    b[blockIdx.x] = v + 1;
}"""
    start = time.process_time()
    b = np.zeros(9, np.int32)
    assert FaultKind.DEADLOCK in faults(run, source, 8, 32, b, b)
    b[8] = 1
    report, memory = run(source, 8, 32, b, b)
    assert memory.read("a0").view(np.int32).tolist() == list(range(9, 0, -1))
    assert {fault.kind for fault in report.faults} == {FaultKind.GLOBAL_RACE}
    assert time.process_time() - start < 20


def test_a_wait_that_gives_up_is_none(run: Run) -> None:
    source = """extern "C" __global__ void k(volatile int* b, int* c) {
    int tries = 0;
    while (b[0] == 0 && tries < 300) { tries++; }
    c[threadIdx.x] = tries;
}"""
    report, memory = run(source, 1, 64, np.zeros(1, np.int32), ("out", 256))
    assert report.faults == () and (memory.read("a1").view(np.int32) == 300).all()


def test_every_kind_has_a_test_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    missing = [kind.name for kind in FaultKind if f"FaultKind.{kind.name}" not in text]
    assert missing == []


def test_faults_print_their_line_and_kind(run: Run) -> None:
    source = TRANSPOSE.replace("    __syncthreads();\n", "")
    fault = transpose(run, source)[FaultKind.SHARED_RACE]
    assert str(fault).startswith(f"line {fault.line}: race on shared memory: block ")


def test_a_thread_does_not_race_with_itself(run: Run) -> None:
    source = """extern "C" __global__ void k(volatile int* b, int* c) {
    __shared__ volatile int s[64];
    s[threadIdx.x] = 1;
    s[threadIdx.x] = s[threadIdx.x] + 1;
    c[threadIdx.x] = s[threadIdx.x];
    asm volatile("st.global.u32 [%0], 5;" :: "l"(c + threadIdx.x));
    c[threadIdx.x] += s[threadIdx.x];
}"""
    assert faults(run, source, 2, 32, np.zeros(1, np.int32), ("out", 128)).keys() == {FaultKind.GLOBAL_RACE}
    assert faults(run, source, 1, 64, np.zeros(1, np.int32), ("out", 256)) == {}


def test_an_earlier_reader_is_remembered_beside_the_later_one(run: Run) -> None:
    source = """extern "C" __global__ void k(int* b) {
    __shared__ volatile int s[32];
    s[threadIdx.x] = 1;
    __syncthreads();
    int v = s[threadIdx.x];
    int other = threadIdx.x < 8 ? threadIdx.x ^ 1 : threadIdx.x;
    v += s[other];
    s[other] = v;
}"""
    report, _ = run(source, 1, 32, ("out", 128))
    assert [(fault.kind, fault.lines, fault.count) for fault in report.faults] == [
        (FaultKind.WARP_RACE, (8, 5), 8)
    ]


def test_lanes_that_read_different_allocations(run: Run) -> None:
    source = """extern "C" __global__ void k(int* a, int* b, int* c) {
    c[threadIdx.x] = *((threadIdx.x % 2 ? a : b) + threadIdx.x);
    a[threadIdx.x] = 1;
    b[threadIdx.x] = 1;
}"""
    found = faults(run, source, 1, 32, np.zeros(32, np.int32), ("out", 128), ("out", 128))
    assert list(found) == [FaultKind.UNINITIALISED_GLOBAL_READ]
    fault = found[FaultKind.UNINITIALISED_GLOBAL_READ]
    assert (fault.line, fault.count, fault.allocation) == (2, 16, "a1")


def test_pointers_from_outside_their_allocation_are_tracked(cuda: Callable[..., Any]) -> None:
    from tilegen.sim import Launch, simulate

    module = cuda("""extern "C" __global__ void k(int* b) {
        int i = blockIdx.x * 32 + threadIdx.x;
        int v = b[i + 1000];
        b[1063 - i] = v;
    }""")
    memory = Memory()
    address = memory.allocate("b", 256)
    report = simulate(module, "k", Launch((2, 1, 1), (32, 1, 1)), [address - 4000], memory)
    assert {fault.kind for fault in report.faults} == {FaultKind.GLOBAL_RACE}
    assert report.faults[0].allocation == "b"
