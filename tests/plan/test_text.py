"""Plans of written schedules, by hand from what their directives say: who touches what, phase by phase."""

from __future__ import annotations

import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import build
from tilegen.show import show
from tilegen.target import target

# 2**31 - 1 less the largest tile that a coordinate may run past an extent.
LIMIT = 2147418111


def plans_of(text: str, directives: str) -> list[str]:
    family = check(parse(source_from_text(f"kernel t({text}; schedule s {{ {directives} }} }}"))).kernels[0]
    return [show(p) for p in build(family.kernels[0], family.schedules[0], target("sm_90")).plans]


TURNED = "M, N) { in x: f32[M, N]; out y: f32[N, M]; y[j, i] = x[i, j]"


def test_a_copy_of_vectors_and_one_of_single_elements() -> None:
    """256 threads have 2 vectors each of 2048 elements; without alignment they have 8 elements."""
    vector, single = plans_of("N) { in x: f32[N]; out y: f32[N]; y[i] = x[i]", "tile i = 2048; vector 4")
    assert (
        vector
        == f"""
plan t_s for sm_90
    if y is aligned to 16B
    if x is aligned to 16B
    32-bit indices if N <= {LIMIT}
    tile i: 2048 of N, ((N + 2047) // 2048) of them, ragged
    raster i
    block of 256 threads
    compute, guarded along i, with a tail
        y[i] by 4
        x[i] by 4
        store to y[i]: x[i]
        items of 4 along i = 2048
        @thread_i = @tid
        for @step_i in 0..2
        i = 1024*@step_i + 4*@tid
        @lane of an item from 1024*@step_i + 4*@tid: i = @lane + 1024*@step_i + 4*@tid
""".strip()
    )
    assert (
        single
        == f"""
plan t_s_scalar for sm_90
    32-bit indices if N <= {LIMIT}
    tile i: 2048 of N, ((N + 2047) // 2048) of them, ragged
    raster i
    block of 256 threads
    compute, guarded along i
        store to y[i]: x[i]
        @thread_i = @tid
        for @step_i in 0..8
        i = 256*@step_i + @tid
""".strip()
    )


def test_a_turned_tile_is_read_in_rows_and_written_in_columns() -> None:
    """8 x 32 threads: each loads 4 rows of the tile of `x`, waits, and writes 4 rows of that of `y`."""
    (plan,) = plans_of(TURNED, "tile i = 32, j = 32; threads j = 8, i = 32; stage x pad 1; raster i, j")
    assert (
        plan
        == f"""
plan t_s for sm_90
    32-bit indices if M*N + M <= {LIMIT}
    32-bit indices if M*N + N <= {LIMIT}
    tile j: 32 of N, ((N + 31) // 32) of them, ragged
    tile i: 32 of M, ((M + 31) // 32) of them, ragged
    raster i, j
    block of 256 threads
    buffer x: f32[i = 32, j = 32], pad 1
    load x by 1, guarded along j, i
        from x[N*i + j]
        @thread_j = (@tid % 32)
        @thread_i = (@tid // 32)
        for @step_i in 0..4
        j = @thread_j
        i = 8*@step_i + @thread_i
    barrier
    compute, guarded along j, i
        x from x by 1
        store to y[M*j + i]: x[i, j]
        @thread_i = (@tid % 32)
        @thread_j = (@tid // 32)
        for @step_j in 0..4
        i = @thread_i
        j = 8*@step_j + @thread_j
""".strip()
    )


def test_a_softmax_of_rows_that_are_kept() -> None:
    """32 threads have 2 vectors of 4 each: rows of up to 256 elements. Longer ones are read at every walk."""
    kept, longer = plans_of(
        "R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = x[i, j] - max[k](x[i, k])",
        "threads i = 4, j = 32; keep x registers; in_flight 2",
    )
    assert (
        kept
        == f"""
plan t_s for sm_90
    if C <= 64
    32-bit indices if C*R + C <= {LIMIT}
    32-bit indices if C <= 2113929215
    32-bit indices if R <= 2113929215
    tile @rows: 4 of R, ((R + 3) // 4) of them, ragged
    block of 128 threads
    walk row 0
        reads x[i, j]
        adds to max[j in 0..C](x[i, j])
    combine for all threads of a row
        max[j in 0..C](x[i, j])
    walk row 0
        has x[i, j]
        store to y[C*i + j]: x[i, j] - max[j in 0..C](x[i, j])
""".strip()
    )
    assert longer == (
        kept.replace("t_s ", "t_s_scalar ")
        .replace("    if C <= 64\n", "")
        .replace("        has x[i, j]\n", "        reads x[i, j]\n")
    )


def test_a_sum_that_blocks_share() -> None:
    """5 blocks at most have a part of each row of at least 32 * 4 elements; the last to finish adds the parts."""
    (plan,) = plans_of(
        "R, C) { in x: i32[R, C]; out s: i32[R]; s[i] = sum[k](x[i, k])",
        "threads i = 2, k = 32; in_flight 4; blocks k = 5",
    )
    assert (
        plan
        == f"""
plan t_s for sm_90
    32-bit indices if R <= {LIMIT}
    32-bit indices if C*R + C <= {LIMIT}
    32-bit indices if C <= 2113929215
    32-bit indices if R <= 2113929215
    tile @rows: 2 of R, ((R + 1) // 2) of them, ragged
    tile @parts: 1 of min(5, (C // 128) + 1), min(5, (C // 128) + 1) of them
    block of 64 threads
    scratch part0: R*min(5, (C // 128) + 1) of i32
    scratch tickets: ((R + 1) // 2) of u32, zeroed
    walk row 0
        reads x[i, k]
        adds to sum[k in 0..C](x[i, k])
    combine for the first thread of a row, with the parts of other blocks
        sum[k in 0..C](x[i, k])
    once a row
        store to s[i]: sum[k in 0..C](x[i, k])
""".strip()
    )


def test_a_running_sum() -> None:
    """64 threads with 2 steps of one element have a tile of 128; few long rows are shared by looking back."""
    long, walk = plans_of(
        "R, C) { in x: i32[R, C]; out y: i32[R, C]; y[i, j] = sum[k in 0..=j](x[i, k])",
        "threads j = 64; tile j = 128",
    )
    tail = """
        64 threads a row, 1 beside; 2 steps of 1, tile 128
        guarded along j
        load x[C*i + j] by 1, at 0..C
        carry sum in i32: sum of x[i, j]
            at 0..C, inclusive, level 0
        store to y[C*i + j] by 1: sum[j in 0..j + 1](x[i, j])
"""
    assert (
        walk
        == f"""
plan t_s for sm_90
    32-bit indices if C*R + C <= {LIMIT}
    tile i: 1 of R, R of them
    tile j: 128 of C, 1 of them, ragged
    raster i
    block of 64 threads
    scan along j, walk{tail}""".strip()
    )
    # 4 rows for each of 132 multiprocessors; a flag and a total of 8 bytes, each in a line of 128.
    assert (
        long
        == f"""
plan t_s_long for sm_90
    if R <= 528
    if C >= 256
    32-bit indices if C*R + C <= {LIMIT}
    tile i: 1 of R, R of them
    tile j: 128 of C, ((C + 127) // 128) of them, ragged
    raster i, j
    block of 64 threads
    scratch ticket: 1 of u32, zeroed
    scratch sum_states: 528*R*((C + 4095) // 4096) of u64, zeroed
    scan along j, look-back{tail}""".strip()
    )


def test_a_histogram() -> None:
    """Blocks of 256 threads with 4 vectors of 4 bytes under way, 2 blocks for each of 132 multiprocessors."""
    vector, single = plans_of(
        "N) { in x: u8[N]; out h: i32[256]; h[b] = count[i](x[i] == b)",
        "threads i = 256; in_flight 4; min_blocks 2; vector x = 4",
    )
    assert (
        vector
        == f"""
plan t_s for sm_90
    if x is aligned to 4B
    32-bit indices if N <= {LIMIT - 264 * 4096}
    tile @elements: 4096 of N, min((N // 4096) + 1, 264) of them, ragged
    block of 256 threads
    scratch totals: 256 of u32, zeroed
    scratch tickets: 1 of u32, zeroed
    clear the bins
    barrier
    count along i
        bins b: 256 totals of u32
        8192 counters of u32 in shared memory, 32 of each
        blocks share them
        items of 4 of one run of memory, 4 under way, with a tail
        x[i] by 4
        x[i] == b
    barrier
    add up the copies of each bin
    write the bins, the last block that counted for them
        store to h[b]: count[i in 0..N](i64(x[i]) == i64(b))
""".strip()
    )
    assert "items of 1" in single and "x is aligned" not in single


@pytest.mark.parametrize("text", [TURNED])
def test_the_text_is_the_same_every_time(text: str) -> None:
    assert plans_of(text, "tile i = 32, j = 32; stage x auto") == plans_of(
        text, "tile i = 32, j = 32; stage x auto"
    )
