"""Values that index arithmetic and helpers get wrong at the ends of their types, against Python's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tilegen

_EXTENT = 50


def _mapped(index: int, mode: str) -> int | None:
    """The index a boundary mode gives, by NumPy's names; None outside under `constant`."""
    n = _EXTENT
    match mode:
        case "edge":
            return min(max(index, 0), n - 1)
        case "wrap":
            return index % n
        case "reflect":
            folded = index % (2 * n - 2)
            return folded if folded < n else 2 * n - 2 - folded
        case "symmetric":
            folded = index % (2 * n)
            return folded if folded < n else 2 * n - 1 - folded
        case _:
            return index if 0 <= index < n else None


@pytest.mark.parametrize("mode", ["constant -1", "edge", "wrap", "reflect", "symmetric"])
@pytest.mark.parametrize("dtype", ["i8", "u8", "i32", "u32", "i64", "u64"])
def test_a_gathered_index_is_mapped_from_any_distance(mode: str, dtype: str) -> None:
    """An index cut to the index type before its boundary mode maps it would fall inside by chance."""
    numpy_type = np.dtype(dtype[0] + str(int(dtype[1:]) // 8))
    limits = np.iinfo(numpy_type)
    wanted = [
        0,
        3,
        49,
        50,
        -1,
        -60,
        2**31 - 1,
        2**31,
        2**32 + 3,
        2**40,
        2**63 + 7,
        int(limits.min),
        int(limits.max),
    ]
    indices = [n for n in wanted if limits.min <= n <= limits.max]
    kernel = tilegen.loads(
        f"kernel g(M, N) {{ in x: f32[M] boundary {mode}; in idx: {dtype}[N]; out y: f32[N]; y[i] = x[idx[i]] }}"
    )
    found = kernel(np.arange(_EXTENT, dtype=np.float32), np.array(indices, numpy_type))
    mapped = [_mapped(n, mode.split()[0]) for n in indices]
    assert found.tolist() == [-1 if n is None else n for n in mapped]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floor_division_and_remainder_are_those_of_numpy(dtype: type) -> None:
    ends = np.array([0.0, -0.0, 1.0, -1.0, 5.5, -5.5, 7.0, -7.0, np.inf, -np.inf, np.nan, 1e30, 3e-39], dtype)
    a, b = (x.ravel().copy() for x in np.meshgrid(ends, ends))
    name = {np.float32: "f32", np.float64: "f64"}[dtype]
    kernel = tilegen.loads(
        f"kernel f(N) {{ in a, b: {name}[N]; out q, r: {name}[N]; q[i] = a[i] // b[i]; r[i] = a[i] % b[i] }}"
    )
    found = kernel(a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found["q"], a // b)
        np.testing.assert_array_equal(found["r"], a % b)


@pytest.mark.parametrize("index", ["i32", "i64"])
@pytest.mark.parametrize(
    "place", ["(i - 100) // 3", "(i - 100) % 3 - 1", "(i - N) // 3 * 7 - i % 5", "(i - N) % 4"]
)
def test_indices_below_zero_divide_downwards_in_both_index_types(place: str, index: str) -> None:
    kernel = tilegen.loads(
        f"kernel f(N) {{ in x: f32[N] boundary wrap; out y: f32[256]; y[i] = x[{place}]; "
        f" schedule s {{ index {index} }} }}"
    )
    x = np.arange(50, dtype=np.float32)
    wanted = [eval(place, {"i": i, "N": 50}) % 50 for i in range(256)]
    assert kernel.schedule("s")(x).tolist() == wanted


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_functions_take_literals_in_every_integer_type(dtype: str) -> None:
    kernel = tilegen.loads(
        f"kernel f(N) {{ in x: {dtype}[N]; out p, q, r, s: {dtype}[N]; p[i] = clip(x[i], 3, 100);"
        " q[i] = maximum(x[i], 7); r[i] = sign(x[i]) + abs(x[i]); s[i] = where(x[i] > 5, x[i] // 3, x[i] ** 2) }"
    )
    numpy_type = np.dtype(dtype[0] + str(int(dtype[1:]) // 8))
    x = np.arange(120, dtype=numpy_type)
    found = kernel(x)
    assert np.array_equal(found["p"], np.clip(x, 3, 100))
    assert np.array_equal(found["q"], np.maximum(x, 7))
    assert np.array_equal(found["r"], np.sign(x) + np.abs(x))
    assert np.array_equal(found["s"], np.where(x > 5, x // 3, x**2))


def test_a_let_as_a_gathered_index() -> None:
    kernel = tilegen.loads(
        "kernel g(N, M) { in a: f32[M] boundary edge; in idx: i32[N]; out b: f32[N]; "
        "let k[i] = idx[i] + 1; b[i] = where(idx[i] > 2, a[k[i]], 0.0) + a[k[i]] }"
    )
    a, idx = np.arange(20, dtype=np.float32), np.arange(-3, 30, dtype=np.int32)
    found = a[np.clip(idx + 1, 0, 19)]
    np.testing.assert_array_equal(kernel(a, idx), np.where(idx > 2, found, 0) + found)
