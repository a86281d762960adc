"""Sizes from array shapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilegen.lang.spec import Kernel
from tilegen.reference import SizeError, evaluate, infer_sizes

Load = Callable[..., Kernel]


def of(load: Load, extents: str, sizes: str) -> Kernel:
    return load(f"kernel k({sizes}) {{ in x: f32[{extents}]; out y: f32[1]; y[t] = 1.0 }}")


def test_extents_are_solved(load: Load) -> None:
    assert infer_sizes(of(load, "2*M, 7", "M"), {"x": (10, 7)}) == {"M": 5}
    assert infer_sizes(of(load, "2*M + 1", "M"), {"x": (7,)}) == {"M": 3}
    assert infer_sizes(of(load, "M + N, M", "M, N"), {"x": (10, 4)}) == {"M": 4, "N": 6}
    assert infer_sizes(of(load, "S*N", "N, S"), {"x": (12,)}, {"S": 3}) == {"N": 4, "S": 3}
    assert infer_sizes(of(load, "N // 4", "N"), {"x": (3,)}, {"N": 13}) == {"N": 13}
    assert infer_sizes(of(load, "M", "M"), {"x": (0,)}) == {"M": 0}


def test_defaults_come_last(load: Load) -> None:
    kernel = of(load, "K*N, R", "N, K = 4, R = 3")
    assert infer_sizes(kernel, {"x": (8, 5)}) == {"N": 2, "K": 4, "R": 5}
    assert infer_sizes(kernel, {"x": (8, 5)}, {"K": 2}) == {"N": 4, "K": 2, "R": 5}


@pytest.mark.parametrize(
    ("extents", "sizes", "shape", "given", "message"),
    [
        ("2*M", "M", (7,), {}, r"axis 0 of x is 7, but its extent is 2\*M, which no integer M gives"),
        ("M + 3", "M", (2,), {}, r"axis 0 of x is 2: with the extent M \+ 3, M would be -1"),
        (
            "M, M",
            "M",
            (3, 4),
            {},
            r"axis 1 of x is 4, but its extent is M = 3, with M = 3 \(from axis 0 of x\)",
        ),
        ("M, 7", "M", (3, 8), {}, "axis 1 of x is 8, but its extent is 7"),
        ("M", "M", (3,), {"M": 5}, r"axis 0 of x is 3, but its extent is M = 5, with M = 5 \(given\)"),
        ("S*N", "N, S", (12,), {}, "no array determines size N; pass it by name"),
        ("S*N", "N, S", (12,), {"S": 5}, r"which no integer N gives, with S = 5 \(given\)"),
        ("N // 4", "N", (3,), {}, "no array determines size N"),
        ("M", "M", (3, 3), {}, r"x has rank 1, the array passed has shape \(3, 3\)"),
        ("M", "M", (3,), {"Q": 1}, "kernel k has no size Q; it has M"),
        ("M", "M", (3,), {"M": -1}, "size M is -1; sizes are not negative"),
    ],
)
def test_contradictions(
    load: Load, extents: str, sizes: str, shape: tuple[int, ...], given: dict[str, int], message: str
) -> None:
    with pytest.raises(SizeError, match=message):
        infer_sizes(of(load, extents, sizes), {"x": shape}, given)


def test_one_axis_with_two_extents(load: Load) -> None:
    kernel = load("kernel k(M, N) { in x: f32[M]; in z: f32[N]; out y: f32[M]; y[i] = x[i] + z[i] }")
    assert infer_sizes(kernel, {"x": (3,), "z": (3,)}) == {"M": 3, "N": 3}
    with pytest.raises(SizeError, match=r"one axis has two extents: \w is \d and \w is \d"):
        infer_sizes(kernel, {"x": (3,), "z": (4,)})


def test_evaluate_refuses_arrays_that_do_not_fit(load: Load) -> None:
    kernel = load("kernel k(M) { in x: f32[M]; out y: f32[M]; y[i] = x[i] }")
    with pytest.raises(SizeError, match=r"x has the extents \(4,\), the array passed has shape \(3,\)"):
        evaluate(kernel, {"M": 4}, {"x": np.zeros(3, np.float32)})
    with pytest.raises(SizeError, match="no array for x"):
        evaluate(kernel, {"M": 4}, {})
    with pytest.raises(SizeError, match="size M is not given"):
        evaluate(kernel, {}, {})
    pair = load("kernel k(M, N) { in x: f32[M]; in z: f32[N]; out y: f32[M]; y[i] = x[i] + z[i] }")
    with pytest.raises(SizeError, match="one axis has two extents"):
        evaluate(pair, {"M": 3, "N": 4}, {"x": np.zeros(3, np.float32), "z": np.zeros(4, np.float32)})
