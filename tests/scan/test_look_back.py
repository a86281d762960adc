"""Rows that blocks share: values at awkward numbers of tiles, and the order of additions that is promised."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilegen.numpy_types import Array

from .conftest import Judgement, judge, program_of

Right = Callable[..., Judgement]
TILE = 64  # 64 threads with one step of one element

WHOLE = """kernel whole(N) {
    in  x: TYPE[N]
    out y: TYPE[N]
    y[i] = OP[k in RANGE](x[k])
    schedule s { threads i = 64; tile i = 64 }
}"""


def whole(op: str = "sum", type_: str = "f32", range_: str = "0..=i") -> str:
    return WHOLE.replace("TYPE", type_).replace("OP", op).replace("RANGE", range_)


@pytest.mark.parametrize("tiles", [3, 31, 32, 33, 63, 64, 65, 97])
def test_numbers_of_tiles(tiles: int, right: Right) -> None:
    for points in (tiles * TILE - 1, tiles * TILE, tiles * TILE + 1):
        assert "_long" in right(whole(), {"N": points}).plan


@pytest.mark.parametrize("op", ["sum", "max", "min"])
@pytest.mark.parametrize("type_", ["f32", "f64", "i32", "i64", "u64", "u8"])
@pytest.mark.parametrize("range_", ["0..=i", "i + 1..N"])
def test_operators_and_types(op: str, type_: str, range_: str, right: Right) -> None:
    if op != "sum" and range_ == "i + 1..N":
        range_ = "i..N"
    text = whole(op, type_, range_)
    text = text.replace(f"{op}[", f"{type_}({op}[").replace("(x[k])", "(x[k]))")
    right(text, {"N": 40 * TILE + 3})


def test_pairs_of_value_and_index(right: Right) -> None:
    text = whole("argmax").replace("out y: f32[N]", "out y: i64[N]")
    x = np.random.default_rng(3).integers(0, 50, 40 * TILE).astype(np.float32)
    x[1000:1100] = np.nan
    assert right(text, {"N": x.size}, {"x": x}).plan.endswith("_long")


def test_bools(right: Right) -> None:
    text = whole("any").replace("(x[k])", "(x[k] > 3.5)").replace("out y: f32[N]", "out y: bool[N]")
    assert right(text, {"N": 40 * TILE}).plan.endswith("_long")


def test_a_few_rows(right: Right) -> None:
    text = (
        """kernel rows(A, B, C) {
        in  x: f32[A, B, C] pitch 64B
        out y, z: f32[A, B, C]
        y[a, b, j] = sum[k in 0..=j](x[a, b, k])
        z[a, b, j] = x[a, b, j] - max[k in 0..j](x[a, b, k]) + sum[k in 0..j](x[a, b, k]) for j in 1..C
        schedule s { threads j = 64; tile j = 128; vector y = 2 }
    }""".replace("        y[a, b, j] = sum[k in 0..=j](x[a, b, k])\n", "")
        .replace("out y, z", "out z")
        .replace("y = 2", "z = 2")
    )
    assert right(text, {"A": 2, "B": 3, "C": 1000}).plan.endswith("_long")


def test_scans_of_scans(right: Right) -> None:
    text = """kernel k(N) {
        in  x: f32[N]
        out y: f32[N]
        let m[k] = max[l in 0..=k](x[l]) for k in 0..N
        y[j] = sum[k in 0..=j](exp(x[k] - m[k]))
        schedule s { threads j = 64; tile j = 64 }
    }"""
    assert right(text, {"N": 40 * TILE}).plan.endswith("_long")


COLUMNS = """kernel down(R, C) {
    in  x: TYPE[R, C]
    out y: TYPE[R, C]
    y[i, j] = OP[k in RANGE](x[k, j])
    schedule s { threads i = 4, j = 32; tile i = 16VECTOR }
}"""


@pytest.mark.parametrize(
    ("op", "type_", "range_", "vector"),
    [
        ("sum", "f32", "0..=i", ""),
        ("sum", "f32", "i + 1..R", "; vector 2"),
        ("max", "f32", "i..R", ""),
        ("sum", "f64", "0..i", ""),
    ],
)
def test_columns(op: str, type_: str, range_: str, vector: str, right: Right) -> None:
    text = COLUMNS.replace("TYPE", type_).replace("OP", op).replace("RANGE", range_).replace("VECTOR", vector)
    for sizes in ({"R": 32, "C": 66}, {"R": 16 * 18 + 3, "C": 34}):
        assert "_long" in right(text, sizes).plan


@pytest.mark.parametrize("points", [100_000])
def test_one_long_row_by_auto(points: int, right: Right) -> None:
    text = whole().replace("    schedule s { threads i = 64; tile i = 64 }\n", "")
    assert right(text, {"N": points}, fitted=True).plan == "whole_auto_long"


def test_the_tiles_of_the_largest_scans(right: Right) -> None:
    text = whole().replace(
        "threads i = 64; tile i = 64", "threads i = 512; tile i = 16384; vector 4; min_blocks 2"
    )
    assert right(text, {"N": 3 * 16384 - 4}).plan.endswith("_long")


def test_the_order_of_additions_is_the_one_promised() -> None:
    """Bit by bit, as docs/decisions/0015-scans.md states it."""
    x = np.random.default_rng(1).standard_normal(70 * TILE).astype(np.float32)
    found = judge(program_of(whole()), {"N": x.size}, {"x": x})
    assert found.text == ""
    assert np.array_equal(found.run.outputs["y"].view(np.uint32), promised(x).view(np.uint32))


def lanes_before(values: Array) -> tuple[Array, np.float32]:
    """What the lanes before each one have, by doubling distances, and the total."""
    upto, distance = values.copy(), 1
    while distance < 32:
        moved = upto.copy()
        moved[distance:] = upto[:-distance] + upto[distance:]
        upto, distance = moved, 2 * distance
    return np.concatenate([np.zeros(1, np.float32), upto[:-1]]), upto[-1]


def promised(x: Array) -> Array:
    zero = np.float32(0)
    tiles = x.reshape(-1, 2, 32)
    totals, before = [], []
    for tile in tiles:
        (left, first), (right, second) = lanes_before(zero + tile[0]), lanes_before(zero + tile[1])
        total = zero + (zero + first)
        before.append((zero, total, zero + left, zero + right))
        totals.append(total + (zero + second))
    result, outside = [], zero
    for start in range(0, len(tiles), 32):
        chunk = np.zeros(32, np.float32)
        mine = totals[start : start + 32]
        for n in range(len(mine)):
            chunk[:] = 0
            chunk[:n] = mine[:n]
            _, inside = lanes_before(chunk)
            ahead = outside + inside
            a, b, left, right = before[start + n]
            for prefix, lanes, terms in ((a, left, tiles[start + n][0]), (b, right, tiles[start + n][1])):
                result.append(((ahead + prefix) + lanes) + terms)
        if len(mine) == 32:
            chunk[:31], chunk[31] = mine[:31], 0
            _, inside = lanes_before(chunk)
            outside = outside + (inside + mine[31])
    return np.concatenate(result)
