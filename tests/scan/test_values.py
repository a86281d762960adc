"""What scans compute: every operator, type, direction, start and layout, at awkward lengths, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Right = Callable[..., object]

CUMSUM = """kernel cumsum(R, C) {{
    in  x: {type}[R, C]
    out y: {type}[R, C]
    y[i, j] = {type}(sum[k in {range}](x[i, k]))
    {schedule}
}}"""
SCHEDULES = {
    "auto": "",
    "lanes": "schedule s { threads i = 8, j = 4; vector 2 }",
    "one-thread": "schedule s { threads i = 32, j = 1; vector 2 }",
    "warp": "schedule s { threads j = 32 }",
    "block": "schedule s { threads j = 96; tile j = 384; vector 2 }",
    "rows": "schedule s { threads i = 2, j = 64; vector 4 }",
}
LENGTHS = [0, 1, 2, 3, 31, 32, 33, 255, 1000, 1023, 1024, 1025, 4097]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lengths(schedule: str, right: Right) -> None:
    text = CUMSUM.format(type="f32", range="0..=j", schedule=SCHEDULES[schedule])
    for length in LENGTHS:
        right(text, {"R": 7, "C": length})
    right(text, {"R": 1, "C": 1000})


@pytest.mark.parametrize("length", LENGTHS)
def test_lengths_that_auto_knows(length: int, right: Right) -> None:
    right(CUMSUM.format(type="f32", range="0..=j", schedule=""), {"R": 7, "C": length}, fitted=True)


def test_no_rows(right: Right) -> None:
    right(CUMSUM.format(type="f32", range="0..=j", schedule=""), {"R": 0, "C": 5})


@pytest.mark.parametrize("range_", ["0..=j", "0..j", "j..C", "j + 1..C", "1..=j", "2..j", "j..C - 1"])
@pytest.mark.parametrize("length", [3, 100, 257])
def test_ranges(range_: str, length: int, right: Right) -> None:
    for schedule in ("auto", "block", "lanes"):
        right(CUMSUM.format(type="f32", range=range_, schedule=SCHEDULES[schedule]), {"R": 3, "C": length})


@pytest.mark.parametrize(
    "type_", ["f16", "bf16", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
)
def test_types(type_: str, right: Right) -> None:
    for sizes in ({"R": 3, "C": 100}, {"R": 2, "C": 512}):
        right(CUMSUM.format(type=type_, range="0..=j", schedule=""), sizes, fitted=True)


OPERATORS = """kernel many(R, C) {
    in  x: f32[R, C]
    out a, b, c, d, e: f32[R, C]
    out f, g: i64[R, C]
    out h, m: bool[R, C]
    out n: u64[R, C]
    a[i, j] = sum[k in RANGE](x[i, k])
    b[i, j] = prod[k in RANGE](1.0 + 0.01 * x[i, k])
    c[i, j] = max[k in RANGE](x[i, k])
    d[i, j] = min[k in RANGE](x[i, k])
    e[i, j] = mean[k in RANGE](x[i, k])
    f[i, j] = argmax[k in RANGE](x[i, k])
    g[i, j] = argmin[k in RANGE](x[i, k])
    h[i, j] = any[k in RANGE](x[i, k] > 1.0)
    m[i, j] = all[k in RANGE](x[i, k] < 1.0)
    n[i, j] = count[k in RANGE](x[i, k] > 0.0)
    schedule s { threads j = 64 }
}"""


@pytest.mark.parametrize("range_", ["0..=j", "j..C"])
@pytest.mark.parametrize("where", [None, 0, 1, 63, 64, 65, 199])
def test_operators_and_nan_anywhere(range_: str, where: int | None, right: Right) -> None:
    x = np.random.default_rng(0).standard_normal((2, 200)).astype(np.float32)
    x[1, 5:20] = x[1, 4]  # ties
    if where is not None:
        x[0, where] = np.nan
    right(OPERATORS.replace("RANGE", range_), {"R": 2, "C": 200}, {"x": x})


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e-42, -0.0, 3e38])
def test_extreme_values(value: float, right: Right) -> None:
    x = np.zeros((2, 130), np.float32)
    x[0, 7::31], x[1, 64] = value, value
    for op in ("sum", "max", "min"):
        text = f"kernel k(R, C) {{ in x: f32[R, C]; out y: f32[R, C]; y[i, j] = {op}[k in 0..=j](x[i, k]) }}"
        right(text, {"R": 2, "C": 130}, {"x": x})


def test_products_that_underflow_on_the_way(right: Right) -> None:
    """A part of a product may be below the normal numbers in one order and not in another."""
    x = np.random.default_rng(5).standard_normal((4, 1024)).astype(np.float32)
    for range_ in ("0..=j", "j..C"):
        text = (
            f"kernel k(R, C) {{ in x: f32[R, C]; out y: f32[R, C]; y[i, j] = prod[k in {range_}](x[i, k]) }}"
        )
        right(text, {"R": 4, "C": 1024}, {"x": x})


def test_integers_wrap(right: Right) -> None:
    x = np.full((1, 300), 2**30, np.int32)
    right(CUMSUM.format(type="i32", range="0..=j", schedule=""), {"R": 1, "C": 300}, {"x": x})


def test_all_values_below_the_identity_of_habit(right: Right) -> None:
    """Lanes without an element must not bring 0 into a maximum."""
    x = np.full((3, 77), -5.0, np.float32)
    text = "kernel k(R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = max[k in 0..=j](x[i, k]) }"
    right(text, {"R": 3, "C": 77}, {"x": x})
    right(text, {"R": 3, "C": 77}, {"x": x}, fitted=True)


XY = "in x: f32[R, C]; out y: f32[R, C]; "
FORMS = {
    "column": XY + "y[i, j] = sum[k in 0..=i](x[k, j])",
    "column from the end": XY + "y[i, j] = max[k in i..R](x[k, j])",
    "column of vectors": XY + "y[i, j] = sum[k in 0..i](x[k, j])\n"
    "schedule s { threads i = 4, j = 32; vector 4 }",
    "column of one thread": XY + "y[i, j] = sum[k in 0..=i](x[k, j])\n"
    "schedule s { threads i = 1, j = 64; tile i = 8 }",
    "transposed output": "in x: f32[R, C]; out y: f32[C, R]; y[j, i] = sum[k in 0..=j](x[i, k])",
    "column-major": "in x: f32[R, C] order(1, 0); out y: f32[R, C] order(1, 0); y[i, j] = sum[k in 0..=j](x[i, k])",
    "pitch": "in x: f32[R, C] pitch 64B; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](x[i, k])",
    "reversed": XY + "y[i, C - 1 - j] = sum[k in 0..=j](x[i, k]) for j in 0..C",
    "backwards read": XY + "y[i, j] = sum[k in 0..=j](x[i, C - 1 - k])",
    "strided": "in x: f32[R, 2*C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](x[i, 2*k])",
    "rank 4": "in x: f32[R, 2, C, 3]; out y: f32[R, 2, C, 3]; y[a, b, c, d] = sum[k in 0..=c](x[a, b, k, d])",
    "rank 3": "in x: f32[R, 2, C]; out y: f32[R, 2, C]; y[a, b, c] = sum[k in 0..=c](x[a, b, k])",
    "outermost": "in x: f32[R, 2, C]; out y: f32[R, 2, C]; y[a, b, c] = sum[k in 0..=a](x[k, b, c])",
    "struct": "in p: struct { u: f32, v: f32 }[R, C]; out q: struct { u: f32, v: f32 }[R, C] soa\n"
    "q[i, j].u = sum[k in 0..=j](p[i, k].u); q[i, j].v = max[k in 0..=j](p[i, k].v)",
    "mixed struct": "in p: struct { u: f32, n: i64 }[R, C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](p[i, k].u)",
    "in place": "inout x: f32[R, C]; x[i, j] = x[i, j] + sum[k in 0..=j](x[i, k])",
    "gather": "in x: f32[R, C] boundary edge; in t: i32[C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](x[i, t[k]])",
    "boundary": "in x: f32[R, C] boundary constant 0; out y: f32[R, C]\n"
    "y[i, j] = sum[k in 0..=j](x[i, k - 1] + x[i, k + 2])",
    "factor of a row": "in w: f32[R]; " + XY + "y[i, j] = w[i] * sum[k in 0..=j](x[i, k] / w[i])",
    "factor of a column": "in w: f32[C]; " + XY + "y[i, j] = sum[k in 0..=j](x[i, k] * w[k]) - w[j]",
    "condition": "in m: f32[R, C]; "
    + XY
    + "y[i, j] = sum[k in 0..=j](where(m[i, k] > 0.0, x[i, k]**2, 0.0))",
    "guarded read": XY + "y[i, j] = sum[k in 0..=j](where(k > 0, x[i, k - 1], 0.0))",
    "positions": XY + "y[i, j] = sum[k in 0..=j](x[i, k] * f32(k - i)) + f32(j)",
    "no read": "in x: f32[R, C]; out y: i64[R, C]; y[i, j] = sum[k in 0..=j](k * k)",
    "late stores": XY + "y[i, j] = sum[k in 0..j](x[i, k]) + x[i, j - 1] for j in 1..C",
    "late stores from the end": XY + "y[i, j] = sum[k in j..C](x[i, k]) for j in 0..C - 2",
    "one more": "in x: f32[R, C]; out y: f32[R, C + 1]; y[i, j] = sum[k in 0..j](x[i, k])",
    "narrow to wide": "in x: f16[R, C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](f32(x[i, k]))",
    "bytes to words": "in x: u8[R, C]; out y: u32[R, C]; y[i, j] = sum[k in 0..=j](x[i, k])",
    "let": "in x: f32[R, C]; out y, z: f32[R, C]; let s[i, j] = sum[k in 0..=j](x[i, k]) for j in 0..C\n"
    "y[i, j] = s[i, j]; z[i, j] = s[i, j] * s[i, j]",
    "scan of scans": XY + "let s[i, k] = sum[l in 0..=k](x[i, l]) for k in 0..C\n"
    "y[i, j] = sum[k in 0..=j](s[i, k])",
    "both of one sum": "in x: f32[R, C]; out y, z: f32[R, C]\n"
    "y[i, j] = sum[k in 0..=j](x[i, k]); z[i, j] = sum[k in 0..j](x[i, k])",
    "two starts": "in x: f32[R, C]; out y, z: f32[R, C]\n"
    "y[i, j] = sum[k in 0..=j](x[i, k]); z[i, j] = sum[k in 3..=j](x[i, k])",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, right: Right) -> None:
    text = f"kernel k(R, C) {{\n{FORMS[form]}\n}}"
    for sizes in ({"R": 5, "C": 9}, {"R": 33, "C": 64}, {"R": 2, "C": 130}):
        right(text, sizes)
        if "schedule" not in text:
            right(text, sizes, fitted=True)


@pytest.mark.parametrize("name", ["lane", "step", "warp", "thread", "block", "w", "l", "double", "sum_term"])
def test_names_of_the_user(name: str, right: Right) -> None:
    tensors = f"in x: f32[2, {name}]; out y: f32[2, {name}]"
    text = f"kernel k({name}) {{ {tensors}; y[row, tile] = sum[j in 0..=tile](x[row, j]) }}"
    right(text, {name: 50})
    text = f"kernel k(N) {{ in x: f32[N]; out y: f32[N]; y[{name}] = sum[k in 0..={name}](x[k]) }}"
    right(text, {"N": 50})


@pytest.mark.parametrize("rows", [3, 4])
@pytest.mark.parametrize("dtype", ["i8", "i16"])
def test_items_that_hold_more_columns_than_there_are(rows: int, dtype: str, right: Right) -> None:
    """Down columns of a short axis of constant extent: an item of 16 bytes may reach past it."""
    text = f"""kernel k(K) {{
        in  x: {dtype}[{rows}, {rows}, K + 1] pitch 33
        out y: {dtype}[K, {rows}]
        y[l, {rows} - 1 - i] = max[k in 0..l + 1](x[i, i, k])
    }}"""
    for length in (40, 256):
        right(text, {"K": length}, fitted=True)
