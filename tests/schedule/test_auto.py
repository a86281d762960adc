"""What `auto` chooses for sizes that are known, and what its cost model expects of it."""

from __future__ import annotations

import numpy as np
import pytest

import tilegen
from tilegen.families.tiles.candidates import expected_share
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.run.outcome import compile_program
from tilegen.target import target

TRANSPOSE = "kernel transpose(M, N) {{ in a: {0}[M, N]; out b: {0}[N, M]; b[j, i] = a[i, j] }}"


def fitted(text: str, sizes: dict[str, int] | None, architecture: str = "sm_90") -> Program:
    kernel = check(parse(source_from_text(text))).kernels[0].kernels[0]
    return build(kernel, None, target(architecture), sizes=sizes)


@pytest.mark.parametrize(
    ("dtype", "side", "threads"), [("f64", 32, 256), ("f32", 64, 256), ("f16", 128, 256), ("i8", 256, 512)]
)
def test_large_transposes_have_rows_of_256_bytes_on_both_sides(dtype: str, side: int, threads: int) -> None:
    program = fitted(TRANSPOSE.format(dtype), {"M": 32768, "N": 32768})
    assert dict(program.schedule.tile) == {"i": side, "j": side}
    assert program.plans[0].threads == threads


def test_a_tile_leaves_room_for_three_on_a_multiprocessor() -> None:
    program = fitted(TRANSPOSE.format("i8"), {"M": 32768, "N": 32768}, "sm_75")
    assert dict(program.schedule.tile) == {"i": 128, "j": 128}


@pytest.mark.parametrize("sizes", [None, {"M": 32767, "N": 32769}, {"M": 512, "N": 512}])
def test_bytes_keep_the_smaller_tile_where_vectors_or_blocks_are_missing(
    sizes: dict[str, int] | None,
) -> None:
    tile = dict(fitted(TRANSPOSE.format("u8"), sizes).schedule.tile)
    assert max(tile.values()) <= 160


@pytest.mark.parametrize(
    ("text", "sizes", "low", "high"),
    [
        (TRANSPOSE.format("f32"), {"M": 16384, "N": 16384}, 0.999, 1.0),
        (TRANSPOSE.format("f32"), {"M": 12345, "N": 6789}, 0.85, 0.95),
        ("kernel k(N) { in a: f32[N]; out b: f32[N]; b[i] = a[i] }", {"N": 1 << 20}, 1.0, 1.0),
    ],
)
def test_expected_share(text: str, sizes: dict[str, int], low: float, high: float) -> None:
    """Whole sectors: as fast as a copy. Rows that start anywhere: the sectors at their ends are moved twice."""
    program = fitted(text, sizes)
    plan = program.plans[0]
    known = {**plan.nest.constants, **sizes}
    assert low <= expected_share(plan.nest, plan.schedule, plan.target, known) <= high


def test_a_tile_of_64_kib_moves_bytes_where_they_belong() -> None:
    text = TRANSPOSE.format("i8").replace(
        " }", "; schedule big { tile i = 256, j = 256; stage a; vector 16 } }"
    )
    x = np.random.default_rng(0).integers(-128, 128, (512, 272)).astype(np.int8)
    kernel = tilegen.loads(text).kernel("transpose").schedule("big")
    np.testing.assert_array_equal(kernel(x), x.T)


def test_single_elements_over_a_short_axis_are_loaded_in_six_steps_where_that_moves_little_more() -> None:
    """A step of a tile that does not divide among the threads has a condition, and there are seven predicates."""
    text = "kernel k(A, B, C) { in x: f32[A, B, C]; out y: f32[A, C, B]; y[a, c, b] = x[a, b, c] }"
    program = fitted(text, {"A": 512, "B": 31, "C": 2049})
    assert dict(program.schedule.tile) == {"b": 31, "c": 64}
    assert -(-64 * 31 // program.plans[0].threads) == 6


def test_short_axes_leave_enough_blocks_for_a_short_tail() -> None:
    text = (
        "kernel k(A, B, C, D, E, F) { in x: f32[A, B, C, D, E, F]; out y: f32[F, D, B, A, C, E];"
        " y[f, d, b, a, c, e] = x[a, b, c, d, e, f] }"
    )
    sizes = {"A": 7, "B": 11, "C": 13, "D": 17, "E": 19, "F": 23}
    program = fitted(text, sizes)
    shape = program.shape(sizes, {}, {"x": 1 << 20, "y": 1 << 20})
    assert shape is not None and shape.blocks > 16 * 132


SCAN = "kernel k(N) {{ in x: {0}[N]; out y: {1}[N]; y[i] = {2} }}"


@pytest.mark.parametrize(
    ("read", "written", "value", "tile"),
    [
        ("f32", "f32", "sum[k in 0..=i](x[k])", 16384),
        ("f16", "f16", "f16(sum[k in 0..=i](x[k]))", 16384),
        ("f64", "f64", "sum[k in 0..=i](x[k])", 6144),
        ("f32", "f32", "x[i] - max[k in 0..=i](x[k])", 8192),
        ("f32", "f32", "sum[k in 0..=i](x[k]) + sum[k in 0..i](x[k])", 16384),
        ("f32", "i64", "argmax[k in 0..=i](x[k])", 6144),
    ],
)
def test_tiles_of_long_scans_fill_the_registers(read: str, written: str, value: str, tile: int) -> None:
    """128 bytes per thread with the totals of their steps, whatever they are: nothing is spilled."""
    program = fitted(SCAN.format(read, written, value), {"N": 2**29})
    assert dict(program.schedule.tile) == {"i": tile}
    assert program.schedule.min_blocks == 2
    entry = program.rendered.entry(0, "int")
    assert program.plans[0].name == "k_auto_long"
    used = compile_program(program, entries=(entry,)).resources_of(entry)
    assert used.registers <= 64 and used.spill_store_bytes == 0


@pytest.mark.parametrize(
    ("rows", "columns", "threads"), [(131072, 4096, 256), (4, 2**27, 512), (1, 2**23, 256), (528, 2**20, 512)]
)
def test_large_tiles_only_where_blocks_share_long_rows(rows: int, columns: int, threads: int) -> None:
    text = "kernel k(R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](x[i, k]) }"
    assert fitted(text, {"R": rows, "C": columns}).plans[0].threads == threads
