"""Differences to the mean of a row at every size of numbers: no correction makes a number of infinity less infinity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilegen
from tilegen.numpy_types import Array
from tilegen.reference import agrees, expected

# The forms that are computed in two parts, and the same in NumPy.
FORMS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "variance": ("v[i] = mean[j]((x[i, j] - m[i]) ** 2)", lambda d, v: v),
    "product": ("let d[i, j] = x[i, j] - m[i]; v[i] = mean[j](d[i, j] * d[i, j])", lambda d, v: v),
    "deviation": ("v[i] = sqrt(mean[j]((x[i, j] - m[i]) ** 2))", lambda d, v: np.sqrt(v)),
    "sum of squares": ("v[i] = sum[j]((x[i, j] - m[i]) ** 2)", lambda d, v: (d * d).sum(1, dtype=d.dtype)),
    "largest difference": ("v[i] = max[j](x[i, j] - m[i])", lambda d, v: d.max(1)),
    "beside its mean": ("v[i] = mean[j]((x[i, j] - m[i]) ** 2) + 0.0 * m[i]", lambda d, v: v),
}
# The mean of the last one is rounded: something is left to correct.
ROWS = [[1, 2, 3, 4], [0, 0, 0, 0], [-1, 1, -2, 2], [0.3, 0.7, 0.11, 0.93]]


def kernel_of(body: str, dtype: str) -> tilegen.Kernel:
    text = f"kernel k(R, C) {{ in x: {dtype}[R, C]; out v: {dtype}[R]; let m[i] = mean[j](x[i, j]); {body} }}"
    return tilegen.loads(text).kernel()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("form", FORMS)
def test_as_numpy_in_the_type(form: str, dtype: str) -> None:
    """Squares that are normal, too small or infinite; corrections whose squares are infinite; special numbers."""
    step = 8 if dtype == "f64" else 1
    scales = [2.0 ** (step * e) for e in (-140, -100, -64, -30, 0, 30, 57, 66, 90, 100, 110, 120)]
    x = np.array([[s * n for n in row] for s in scales for row in ROWS])
    x = np.concatenate([x, [[np.inf, 1, 2, 3], [-np.inf, np.inf, 0, 0], [np.nan, 1, 2, 3]]]).astype(
        f"f{int(dtype[1:]) // 8}"
    )
    body, final = FORMS[form]
    with np.errstate(all="ignore"):
        d = x - x.mean(1, keepdims=True, dtype=x.dtype)
        wanted = final(d, (d * d).mean(1, dtype=x.dtype))
        got = kernel_of(body, dtype)(x)
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=np.finfo(x.dtype).tiny)
    assert np.isinf(wanted[:-3]).any() or form in ("largest difference",)


def test_the_variance_of_huge_numbers_is_infinite() -> None:
    v = kernel_of(FORMS["variance"][0], "f32")(np.array([[1e30, 2e30, 3e30, 4e30]], "f4"))
    assert v.tolist() == [np.inf]


@pytest.mark.parametrize("columns", [4, 33, 3000])
def test_normalised_rows_at_every_size(columns: int) -> None:
    """Rows in registers, in shared memory and read twice; a row per power of ten."""
    text = """kernel k(R, C) {
        in x: f32[R, C]; out y: f32[R, C]
        let m[i] = mean[j](x[i, j])
        let v[i] = mean[j]((x[i, j] - m[i]) ** 2)
        y[i, j] = (x[i, j] - m[i]) * rsqrt(v[i] + 1e-5)
    }"""
    kernel = tilegen.loads(text).kernel()
    rng = np.random.default_rng(1)
    scales = 10.0 ** np.arange(-40, 38, 6)
    x = (rng.standard_normal((len(scales), columns)) * scales[:, None] + 3 * scales[:, None]).astype("f4")
    with np.errstate(all="ignore"):
        (wanted,) = expected(kernel._family.kernels[0], {"R": len(x), "C": columns}, {"x": x}).values()
        y = kernel(x)
    assert agrees(y, wanted, tilegen.dtypes.F32).all()
    sure = np.isfinite(wanted.tolerance)
    assert sure.mean() > 0.7 and not np.isnan(y[sure & ~np.isnan(wanted.value)]).any()
