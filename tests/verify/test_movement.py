"""The reference for large shapes of pure movement is the NumPy reference, element by element."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, read_source, source_from_text
from tilegen.lang.spec import Fill, Kernel
from tilegen.reference import expected
from tilegen.run.layout import layout
from tilegen.verify.inputs import make_inputs
from tilegen.verify.movement import first_codes, moves_of, wanted_bits

SPECS = sorted((Path(__file__).parents[2] / "specs").glob("**/*.tile"))


def kernel_of(text: str) -> Kernel:
    return check(parse(source_from_text(text))).kernels[0].kernels[0]


def agree(kernel: Kernel, given: dict[str, int]) -> None:
    sizes = {s.name: s.default for s in kernel.sizes if s.default is not None} | given
    moves = moves_of(kernel)
    assert moves
    layouts = {t.name: layout(t, sizes) for t in kernel.tensors}
    inputs = make_inputs(kernel, sizes, Fill.INDEX, 1)
    wanted = expected(kernel, sizes, inputs, {})
    codes = first_codes(layouts, kernel)
    for move in moves:
        numbers = np.arange(layouts[move.output].count, dtype=np.int64)
        bits = wanted_bits(move, sizes, layouts, codes[move.source], numbers)
        value = np.ascontiguousarray(wanted[move.output].value).view(f"u{move.dtype.size}")
        assert np.array_equal(bits, value.ravel())


# Arithmetic in float64 on the host: some seconds for so many points.
MOST = 2**30


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_specs(path: Path) -> None:
    for family in check(parse(read_source(str(path)))).kernels:
        for kernel in family.kernels:
            if moves_of(kernel) is None:
                points = [prod(dict(t.sizes).values()) for t in family.tests if t.on_gpu]
                assert all(n <= MOST for n in points), "a large shape without a fast reference"
                continue
            for test in [t for t in family.tests if t.sizes and not t.on_gpu][:2]:
                agree(kernel, dict(test.sizes))


def test_several_tensors() -> None:
    kernel = kernel_of(
        "kernel both(M, N) { in a: f32[M, N]; in b: u8[M, N]; out p: f32[N, M]; out q: u8[N, M]; "
        "p[j, i] = a[i, j]; q[j, i] = b[i, N - 1 - j] }"
    )
    agree(kernel, {"M": 5, "N": 11})


@pytest.mark.parametrize(
    "text",
    [
        "kernel k(N) { in a: f32[N]; out b: f32[N]; b[i] = a[i] + 1 }",
        "kernel k(N) { inout a: f32[N]; in b: f32[N]; a[i] = b[i] }",
        "kernel k(N) { in a: f32[N]; out b: f32[2 * N]; b[2 * i] = a[i]; b[2 * i + 1] = a[i] }",
        "kernel k(N) { in a: f32[N] boundary edge; out b: f32[N]; b[i] = a[i - 1] }",
        "kernel k(N) { in a: f32[N] boundary edge; in t: i32[N]; out b: f32[N]; b[i] = a[t[i]] }",
        "kernel k(N, s: f32) { in a: f32[N]; out b: f32[N]; b[i] = a[i] }",
        "kernel k(N) { in a: struct { x: f32, y: f32 }[N]; out b: f32[N]; b[i] = a[i].x }",
    ],
)
def test_anything_else_is_left_to_the_host(text: str) -> None:
    assert moves_of(kernel_of(text)) is None
