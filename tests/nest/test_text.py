"""What a kernel is as a nest, written by hand from its meaning: axes, pointers, an address for every access."""

from __future__ import annotations

import pytest

from tilegen.families.registry import family_of
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import Kernel
from tilegen.show import show


def kernel_of(text: str) -> Kernel:
    return check(parse(source_from_text(f"kernel t({text} }}"))).kernels[0].kernels[0]


def nest_of(text: str, *named: str, **constants: int) -> str:
    kernel = kernel_of(text)
    return show(family_of(kernel).nest(kernel, constants, frozenset(named)))


COPY = "M, N) { in x: f32[M, N]; out y: f32[M, N]; y[i, j] = x[i, j]"

WRITTEN = {
    # Rows follow each other in both tensors: one axis.
    COPY: """
nest t
    axis ij = i*j in 0..M*N
    where i = (ij // N)
    where j = (ij % N)
    pointer x: f32, read
    pointer y: f32, written
    load x[i, j] from x[ij]
    store to y[ij]: x[i, j]
""",
    # Turned: the strides go the other way, nothing lies end to end.
    "M, N) { in x: f16[M, N]; out y: f16[N, M]; y[j, i] = x[i, j]": """
nest t
    axis j in 0..N
    axis i in 0..M
    pointer x: f16, read
    pointer y: f16, written
    load x[i, j] from x[N*i + j]
    store to y[M*j + i]: x[i, j]
""",
    # A batch of matrices that are turned: only the rows are apart; a size of the header is a number.
    "B, K = 3) { in x: u8[B, 2, K]; out y: u8[B, K, 2]; y[b, k, i] = x[b, i, k]": """
nest t
    constant K = 3
    axis b in 0..B
    axis k in 0..3
    axis i in 0..2
    pointer x: u8, read
    pointer y: u8, written
    load x[b, i, k] from x[6*b + 3*i + k]
    store to y[6*b + i + 2*k]: x[b, i, k]
""",
    # An axis of one point is the number 0; a range that does not begin at 0 is counted from 0.
    "N) { in x: f32[1, N + 2]; out y: f32[1, N + 2]; y[a, i] = -x[a, i] for i in 1..N + 1": """
nest t
    axis i in 0..N
    where a = 0
    where i = i + 1
    pointer x: f32, read
    pointer y: f32, written
    load x[a, i] from x[i + 1]
    store to y[i + 1]: -x[a, i]
""",
    # Pitches, offsets and promises are in the addresses and pointers. 33 elements from row to row.
    "M, N = 32) { in x: f64[M, N] pitch 33 align 16B; out y: f64[M, N] offset 4; y[i, j] = x[i, j]": """
nest t
    constant N = 32
    axis i in 0..M
    axis j in 0..32
    pointer x: f64, read, align 16B
    pointer y: f64, written
    load x[i, j] from x[33*i + j]
    store to y[32*i + j + 4]: x[i, j]
""",
    # Strides that the array brings.
    "M, N) { in x: f32[M, N] strides(*, 1); out y: f32[M, N]; y[i, j] = x[M - 1 - i, j]": """
nest t
    axis i in 0..M
    axis j in 0..N
    pointer x: f32, read
    pointer y: f32, written
    stride x, 0 from the array
    load x[M - i - 1, j] from x[M*x_stride0 - i*x_stride0 + j - x_stride0]
    store to y[N*i + j]: x[M - i - 1, j]
""",
    # Reads that may be outside go through a symbol.
    "N) { in x: f32[N] boundary edge; out y: f32[N]; y[i] = x[i - 1] + x[i]": """
nest t
    axis i in 0..N
    pointer x: f32, read
    pointer y: f32, written
    load x[i - 1] from x[@x0], @x0 = i - 1 in 0..N by edge
    load x[i] from x[i]
    store to y[i]: x[i - 1] + x[i]
""",
    # A gather: the index is a value, the row of the table is not.
    "M, N, V) { in t: f32[V, N] boundary constant 0; in k: i32[M]; out y: f32[M, N]; y[i, j] = t[k[i], j]": """
nest t
    axis i in 0..M
    axis j in 0..N
    pointer t: f32, read
    pointer k: i32, read
    pointer y: f32, written
    load t[k[i], j] from t[@t0*N + j], @t0 = k[i] in 0..V by constant 0.0
    load k[i] from k[i]
    store to y[N*i + j]: t[k[i], j]
""",
    # Members of one type are elements of one array; in a structure of arrays there is a pointer for each.
    """N) { in p: struct { x: f32, y: f32 }[N]; out q: struct { x: f32, y: f32 }[N] soa
    q[i].x = p[i].y; q[i].y = p[i].x""": """
nest t
    axis i in 0..N
    pointer p: f32, read
    pointer q_x: f32, written
    pointer q_y: f32, written
    load p[i].y from p[2*i + 1]
    load p[i].x from p[2*i]
    store to q_x[i]: p[i].y
    store to q_y[i]: p[i].x
""",
    # Conversions are there to be seen: halves are computed with as floats, and a let is not stored.
    "N) { in x: f16[N]; out y: f16[N]; let s[i] = 2 * x[i]; y[i] = exp(s[i] - 1)": """
nest t
    axis i in 0..N
    pointer x: f16, read
    pointer y: f16, written
    let s = 2.0 * f32(x[i])
    load x[i] from x[i]
    store to y[i]: f16(exp(2.0 * f32(x[i]) - 1.0))
""",
    # Reductions over one range are one row, and an output along it too.
    "R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = x[i, j] - max[k](x[i, k])": """
nest t
    axis i in 0..R
    axis j in 0..C
    row along j
    where k = j
    pointer x: f32, read
    pointer y: f32, written
    load x[i, j] from x[C*i + j]
    store to y[C*i + j]: x[i, j] - max[j in 0..C](x[i, j])
""",
    # Whole matrices are summed as rows without an end to their lines.
    "B, M, N) { in x: i32[B, M, N]; out s: i32[B]; s[b] = sum[i, j](x[b, i, j])": """
nest t
    axis b in 0..B
    axis ij = i*j in 0..M*N
    row along ij
    where i = (ij // N)
    where j = (ij % N)
    pointer x: i32, read
    pointer s: i32, written
    load x[b, i, j] from x[M*N*b + ij]
    store to s[b]: sum[i in 0..M, j in 0..N](x[b, i, j])
""",
    # A suffix is walked from the end.
    "N) { in x: f32[N]; out y: f32[N]; y[i] = sum[k in i..N](x[k])": """
nest t
    axis i in 0..N
    row along i
    where i = N - i - 1
    pointer x: f32, read
    pointer y: f32, written
    load x[i] from x[N - i - 1]
    store to y[N - i - 1]: sum[i in i..N](x[i])
""",
    # Bins stay apart from the elements, those of an image are one walk.
    "H, W) { in x: u8[H, W]; out h: i32[256]; h[b] = count[i, j](x[i, j] == b)": """
nest t
    axis b in 0..256
    axis ij = i*j in 0..H*W
    row along ij
    where i = (ij // W)
    where j = (ij % W)
    pointer x: u8, read
    pointer h: i32, written
    load x[i, j] from x[ij]
    store to h[b]: count[i in 0..H, j in 0..W](i64(x[i, j]) == i64(b))
""",
}


@pytest.mark.parametrize("text", WRITTEN, ids=lambda text: text.partition("{ ")[2][:60])
def test_nests(text: str) -> None:
    assert nest_of(text) == WRITTEN[text].strip()


def test_axes_that_a_schedule_names_stay() -> None:
    assert "axis i in 0..M\n    axis j in 0..N\n" in nest_of(COPY, "j")


CUBE = "A, B, C) { in x: f32[A, B, C]; out y: f32[A, B, C]; y[i, j, k] = x[i, j, k]"


@pytest.mark.parametrize(
    ("named", "axes"),
    [
        ((), ["ijk = i*j*k in 0..A*B*C"]),
        (("i",), ["i in 0..A", "jk = j*k in 0..B*C"]),
        (("j",), ["i in 0..A", "j in 0..B", "k in 0..C"]),
        (("i*j",), ["ij = i*j in 0..A*B", "k in 0..C"]),
        (("j*k", "i"), ["i in 0..A", "jk = j*k in 0..B*C"]),
        (("i*j*k",), ["ijk = i*j*k in 0..A*B*C"]),
    ],
)
def test_a_product_that_a_schedule_names_is_one_axis_and_no_more(
    named: tuple[str, ...], axes: list[str]
) -> None:
    lines = nest_of(CUBE, *named).splitlines()
    assert [line.strip().removeprefix("axis ") for line in lines if "axis " in line] == axes


def test_sizes_that_are_constants() -> None:
    """One of them makes its axis a number, which then is no axis."""
    lines = nest_of(CUBE, A=1, C=8).splitlines()
    assert "    axis jk = j*k in 0..8*B" in lines and "    where i = 0" in lines
    assert lines[1:3] == ["    constant A = 1", "    constant C = 8"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x[i] - (y[i] - x[i])", "x[i] - (y[i] - x[i])"),
        ("(x[i] - y[i]) - x[i]", "x[i] - y[i] - x[i]"),
        ("-(x[i] + y[i]) * y[i]", "-(x[i] + y[i]) * y[i]"),
        ("(x[i] ** y[i]) ** x[i]", "(x[i] ** y[i]) ** x[i]"),
        ("x[i] ** (y[i] ** x[i])", "x[i] ** y[i] ** x[i]"),
        ("-(x[i] ** 2)", "-x[i] ** 2.0"),
        ("(-x[i]) ** 2", "(-x[i]) ** 2.0"),
        (
            "where(not (x[i] < y[i] or x[i] > 3), x[i], 0)",
            "where(not (x[i] < y[i] or x[i] > 3.0), x[i], 0.0)",
        ),
        ("f32((x[i] < y[i]) == (y[i] < 3))", "f32((x[i] < y[i]) == (y[i] < 3.0))"),
        ("f32(i32(x[i]) // 3 % 5)", "f32(i32(x[i]) // 3 % 5)"),
    ],
)
def test_values_have_the_parentheses_they_need(value: str, text: str) -> None:
    last = nest_of(f"N) {{ in x: f32[N]; inout y: f32[N]; y[i] = {value}").splitlines()[-1]
    assert last == f"    store to y[i]: {text}"
