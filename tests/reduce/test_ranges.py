"""Ranges that end before they begin: there is nothing in them, however many axes they are multiplied by."""

from __future__ import annotations

import pytest

from .harness import Trial, run

KERNELS = {
    "row": ("in x: f32[M, N]; out y: f32[M]", "y[i] = sum[k in 3..N](x[i, k])"),
    "column": ("in x: f32[M, N]; out y: f32[N]", "y[j] = sum[i in 3..M](x[i, j])"),
    "all": ("in x: f32[M, N]; out y: f32[]", "y[] = sum[i in 5..M, j in 5..N](x[i, j])"),
    "planes": ("in x: f32[4, M, N]; out y: f32[4]", "y[r] = sum[i in 5..M, j in 5..N](x[r, i, j])"),
    "written": ("in x: f32[M, N]; out y: f32[M, N]", "y[i, j] = x[i, j] - sum[k in 3..N](x[i, k])"),
    "bins": ("in x: u8[M, N]; out y: i32[256]", "y[b] = count[i in 5..M, j in 5..N](x[i, j] == b)"),
    "constant": ("in x: f32[M, N]; out y: f32[M]", "y[i] = sum[k in 7..3](x[i, k] * f32(k))"),
    "constant and not": ("in x: f32[M, N]; out y: f32[]", "y[] = sum[i in 7..3, j](x[i, j])"),
    "constant bins": ("in x: u8[M, N]; out y: i32[256]", "y[b] = count[i in 7..3, j](x[i, j] == b)"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_nothing_between_an_end_and_a_later_beginning(name: str) -> None:
    tensors, statement = KERNELS[name]
    text = f"kernel k(M, N) {{ {tensors}; {statement} }}"
    sizes = [{"M": 9, "N": 9}, {"M": 9, "N": 8}]
    if not name.startswith("constant"):
        sizes += [{"M": 2, "N": 2}, {"M": 0, "N": 2}, {"M": 5, "N": 3}]
    run(*(Trial(text, s, fitted=fitted) for s in sizes for fitted in (False, True)))


SUMS = {
    "window": ("in x: f32[C]; out y: f32[C - 3]", "y[j] = sum[u in 0..4](x[j + u])"),
    "window of rows": ("in x: f32[R, C]; out y: f32[R, C - 3]", "y[i, j] = max[u in 0..4](x[i, j + u])"),
    "where": ("in x: f32[R, C]; out y: i64[R, C - 2]", "y[i, j] = argmax[u in 0..3](x[i, j + u])"),
    "inner points": ("in x: f32[C]; out y: f32[C]", "y[j] = sum[u in 0..3](x[j + u - 1]) for j in 1..C - 1"),
    "long": ("in x: f32[R + 2, C]; out y: f32[R + 2]", "y[i] = sum[k](x[i, k])"),
    "columns": ("in x: f32[C, R + 2]; out y: f32[R + 2]", "y[i] = sum[k](x[k, i])"),
    "scan": ("in x: f32[R + 2, C]; out y: f32[R + 2, C]", "y[i, j] = sum[k in 0..=j](x[i, k])"),
    "scan of columns": ("in x: f32[C, R + 2]; out y: f32[C, R + 2]", "y[i, j] = sum[k in 0..=i](x[k, j])"),
    "bins": ("in x: u8[R + 2, C]; out y: i32[R + 2, 256]", "y[i, b] = count[k](x[i, k] == b)"),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_number_of_rows_that_is_a_sum(name: str) -> None:
    """In every product it has to stand in parentheses; blocks share rows at some of these sizes."""
    tensors, statement = SUMS[name]
    text = (
        f"kernel k(R, C) {{ {tensors}; {statement} }}"
        if "R" in tensors
        else f"kernel k(C) {{ {tensors}; {statement} }}"
    )
    sizes = [{"R": 1, "C": 1500}, {"R": 2, "C": 500}, {"R": 3, "C": 6000}]
    # Long enough for several blocks, and too many for the number to become a constant.
    sizes += {"long": [{"R": 130, "C": 20_000}], "columns": [{"R": 200, "C": 1500}]}.get(name, [])
    calls = [{n: v for n, v in s.items() if n in text.split("{")[0]} for s in sizes]
    run(*(Trial(text, s, fitted=fitted) for s in calls for fitted in (False, True)))


@pytest.mark.parametrize("shape", ["90, 9", "33, 91", "9, 1001"])
@pytest.mark.parametrize(
    "statement", ["y[i, j] = sum[k in 0..=i](x[k, j])", "y[i, j] = max[k in 0..=j](x[i, k])"]
)
def test_scans_of_a_fixed_odd_shape(shape: str, statement: str) -> None:
    text = f"kernel k() {{ in x: f32[{shape}]; out y: f32[{shape}]; {statement} }}"
    run(*(Trial(text, {}, fitted=fitted) for fitted in (False, True)))
