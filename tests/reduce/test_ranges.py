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
