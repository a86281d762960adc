"""Error bounds against kernels played in float32, and comparisons that must fail."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from tilegen.dtypes import BF16, BOOL, C64, F16, F32, F64, I32, DType
from tilegen.lang.spec import Kernel
from tilegen.reference import Expected, agrees, expected, tolerance, tree

Load = Callable[..., Kernel]
RNG = np.random.default_rng(11)
F = np.float32


def one(kernel: Kernel, sizes: dict[str, int], arrays: dict[str, np.ndarray], **options: object) -> Expected:
    return next(iter(expected(kernel, sizes, arrays, **options).values()))  # type: ignore[arg-type]


def serial_sum(terms: np.ndarray) -> np.ndarray:
    total = np.zeros(terms.shape[1:], F)
    for term in terms:
        total = total + term
    return total


def test_matmul_in_any_order(load: Load) -> None:
    kernel = load("""kernel m(M, N, K) { in a: f32[M, K]; in b: f32[K, N]; out c: f32[M, N]
        c[i, j] = sum[k](a[i, k] * b[k, j]) }""")
    a, b = RNG.standard_normal((20, 300)).astype(F), RNG.standard_normal((300, 30)).astype(F)
    want = one(kernel, {"M": 20, "N": 30, "K": 300}, {"a": a, "b": b})
    in_turn = serial_sum((a[:, :, None] * b[None]).transpose(1, 0, 2))
    assert agrees(in_turn, want, F32).all() and agrees(a @ b, want, F32).all()
    # A term too few shows, and so does half precision.
    short = in_turn - a[:, -1:] * b[-1:]
    assert not agrees(short, want, F32).any()
    rough = (a.astype(np.float16) @ b.astype(np.float16)).astype(F)
    assert agrees(rough, want, F32).mean() < 0.6


def test_tree_depth_is_tighter(load: Load) -> None:
    kernel = load("kernel s(N) { in x: f32[N]; out y: f32[]; y[] = sum[i](x[i]) }")
    x = RNG.uniform(0.5, 1, 4096).astype(F)
    serial_bound = one(kernel, {"N": 4096}, {"x": x})
    tree_bound = one(kernel, {"N": 4096}, {"x": x}, depth=tree())
    assert tree_bound.tolerance < serial_bound.tolerance / 100
    terms = x
    while terms.size > 1:
        terms = terms[: terms.size // 2] + terms[terms.size // 2 :]
    assert agrees(terms[0], tree_bound, F32)
    assert not agrees(F(terms[0] * F(1 + 3e-6)), tree_bound, F32)
    np.testing.assert_array_equal(tree(4)(np.array([1, 4, 5, 16, 17])), [0, 3, 4, 5, 6])


def test_whole_numbers_are_exact(load: Load) -> None:
    kernel = load("kernel s(M, N) { in x: f32[M, N]; out y: f32[M]; y[i] = sum[j](x[i, j]) }")
    x = RNG.integers(-8, 8, (3, 1000)).astype(F)
    want = one(kernel, {"M": 3, "N": 1000}, {"x": x})
    assert not want.tolerance.any()
    assert agrees(x.sum(axis=1), want, F32).all()
    assert not agrees(np.nextafter(x.sum(axis=1), F(9e9)), want, F32).any()


SOFTMAX = """kernel softmax[T: f32 | bf16 | f16](R, C) { in x: T[R, C]; out y: T[R, C]
    let e[i, j] = exp(x[i, j] - max[k](x[i, k]))
    y[i, j] = e[i, j] / sum[k](e[i, k]) }"""


@pytest.mark.parametrize(
    ("choice", "dtype", "numpy_dtype"), [(0, F32, F), (1, BF16, ml_dtypes.bfloat16), (2, F16, np.float16)]
)
def test_softmax_in_each_type(load: Load, choice: int, dtype: DType, numpy_dtype: type) -> None:
    x = RNG.standard_normal((6, 50)).astype(numpy_dtype)
    want = one(load(SOFTMAX, choice), {"R": 6, "C": 50}, {"x": x})
    wide = x.astype(F)
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    device = (e / serial_sum(e.T)[:, None]).astype(numpy_dtype)
    assert agrees(device, want, dtype).all()
    step = (
        2.0 * np.spacing(device)
        if dtype == F16
        else device.astype(F) * F(2.0 ** (-6 if dtype == BF16 else -15))
    )
    assert not agrees((device.astype(F) + step.astype(F)).astype(numpy_dtype), want, dtype).any()


def test_softmax_of_special_rows(load: Load) -> None:
    """Report J1: NaN where it must be, and nowhere else."""
    x = np.array([[-np.inf] * 4, [1, 2, -np.inf, 0], [1000, 1001, 999, -1000]], F)
    want = one(load(SOFTMAX), {"R": 3, "C": 4}, {"x": x})
    good = np.array(
        [[np.nan] * 4, [0.24472848, 0.66524094, 0, 0.09003057], [0.24472848, 0.66524094, 0.09003057, 0]], F
    )
    assert agrees(good, want, F32).all()
    bad = good.copy()
    bad[0], bad[1, 0], bad[2, 3] = 0, np.nan, 1e-7
    wrong = np.array([[True] * 4, [True, False, False, False], [False, False, False, True]])
    np.testing.assert_array_equal(agrees(bad, want, F32), ~wrong)


def test_layernorm_of_a_constant_row(load: Load) -> None:
    """Report J5: (3, 1) gives beta, and a zero variance does not leave the result open."""
    kernel = load("""kernel ln(R, C, eps: f32 = 1e-5) { in x: f32[R, C]; in b: f32[C]; out y: f32[R, C]
        let mu[i] = mean[j](x[i, j])
        let var[i] = mean[j]((x[i, j] - mu[i]) ** 2)
        y[i, j] = (x[i, j] - mu[i]) * rsqrt(var[i] + eps) + b[j] }""")
    x = np.array([[0.1], [2.7], [-3.1e4]], F)
    want = one(kernel, {"R": 3, "C": 1}, {"x": x, "b": np.array([0.3], F)})
    assert np.isfinite(want.tolerance).all()
    assert agrees(np.full((3, 1), 0.3, F), want, F32).all()
    x = RNG.standard_normal((5, 64)).astype(F)
    want = one(kernel, {"R": 5, "C": 64}, {"x": x, "b": np.zeros(64, F)})
    mean = (serial_sum(x.T) / F(64))[:, None]
    variance = (serial_sum(((x - mean) ** 2).T) / F(64))[:, None]
    device = (x - mean) / np.sqrt(variance + F(1e-5))
    assert device.dtype == F and agrees(device, want, F32).all()
    unbiased = (x - mean) / np.sqrt(variance * F(64 / 63) + F(1e-5))
    assert agrees(unbiased, want, F32).mean() < 0.05
    assert (want.tolerance < 1e-3).all()


def test_pure_movement_has_no_tolerance(load: Load) -> None:
    kernel = load("kernel t(M, N) { in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j] }")
    a = np.array([[1, np.nan, 0.0]], F)
    want = one(kernel, {"M": 1, "N": 3}, {"a": a})
    assert not want.tolerance.any() and agrees(a.T.copy(), want, F32).all()
    other_nan = a.T.copy()
    other_nan.view(np.uint32)[1] ^= 1
    minus_zero = a.T.copy()
    minus_zero[2] = -0.0
    np.testing.assert_array_equal(agrees(other_nan, want, F32).ravel(), [True, False, True])
    np.testing.assert_array_equal(agrees(minus_zero, want, F32).ravel(), [True, True, False])
    doubles = load("kernel t(N) { in a: f64[N]; out b: f64[N]; b[i] = a[i] }")
    want = one(doubles, {"N": 1}, {"a": np.array([0.0])})
    assert not agrees(np.array([-0.0]), want, F64).any()


def test_a_single_rounding_is_that_rounding(load: Load) -> None:
    kernel = load("kernel c(N) { in a: f32[N]; out b: bf16[N]; b[i] = bf16(a[i]) }")
    a = RNG.standard_normal(500).astype(F)
    want = one(kernel, {"N": 500}, {"a": a})
    nearest = a.astype(ml_dtypes.bfloat16)
    assert agrees(nearest, want, BF16).all()
    truncated = (a.view(np.uint32) & np.uint32(0xFFFF0000)).view(F).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(agrees(truncated, want, BF16), truncated == nearest)


def test_overflow_of_a_store(load: Load) -> None:
    """Report H3: 65520 in f16 is infinity, in f32 itself."""
    kernel = load("kernel s[T: f16 | f32](N) { in x: T[N]; out y: T[]; y[] = sum[i](x[i]) }", 0)
    want = one(kernel, {"N": 65520}, {"x": np.ones(65520, np.float16)})
    assert agrees(np.asarray(np.inf, np.float16), want, F16)
    assert not agrees(np.asarray(65504, np.float16), want, F16)


def test_integers_and_bools(load: Load) -> None:
    kernel = load("kernel c(N) { in x: u8[N]; out y: bool[N]; y[i] = x[i] > 3 }")
    want = one(kernel, {"N": 3}, {"x": np.array([1, 4, 9], np.uint8)})
    assert agrees(np.array([0, 2, 255], np.uint8).view(np.bool_), want, BOOL).all()
    assert not agrees(np.array([1, 0, 0], np.uint8).view(np.bool_), want, BOOL).any()
    cast = load("kernel c(N) { in x: f32[N]; out y: i32[N]; y[i] = i32(x[i] * 3) }")
    x = np.array([1 / 3, 1e30, 0.4], F)
    want = one(cast, {"N": 3}, {"x": x})
    # x * 3 may round to either side of 1; 1e30 is the greatest i32.
    np.testing.assert_array_equal(agrees(np.array([0, 5, 2], np.int32), want, I32), [True, False, False])
    assert agrees(np.array([1, 2**31 - 1, 1], np.int32), want, I32).all()


def test_uncertain_choice_allows_both_sides(load: Load) -> None:
    kernel = load("kernel c(N) { in x: f32[N]; out y: f32[N]; y[i] = where(x[i] * x[i] > 0.1, 10.0, x[i]) }")
    edge = F(np.sqrt(np.float32(0.1)))
    want = one(kernel, {"N": 2}, {"x": np.array([edge, 0.5], F)})
    assert want.tolerance[0] > 9 and want.tolerance[1] == 0
    exact = load("kernel c(N) { in x: f32[N]; out y: f32[N]; y[i] = where(x[i] > 0.1, 10.0, x[i]) }")
    assert not one(exact, {"N": 2}, {"x": np.array([0.1, 0.5], F)}).tolerance.any()


def test_scan_tolerance_grows_along_the_row(load: Load) -> None:
    kernel = load("kernel s(N) { in x: f32[N]; out y: f32[N]; y[i] = sum[k in 0..=i](x[k]) }")
    x = RNG.uniform(0.5, 1, 500).astype(F)
    want = one(kernel, {"N": 500}, {"x": x})
    assert want.tolerance[0] == 0 and (np.diff(want.tolerance[5:]) > 0).mean() > 0.9
    assert agrees(np.cumsum(x, dtype=F), want, F32).all()
    assert not agrees(np.cumsum(x, dtype=F) - x, want, F32).any()


def test_argmax_may_choose_among_what_is_within_errors(load: Load) -> None:
    kernel = load("kernel a(N) { in x: f32[N]; out y: i64[]; y[] = argmax[i](x[i] * 0.1) }")
    close = one(kernel, {"N": 3}, {"x": np.array([3, np.nextafter(F(3), F(4)), 1], F)})
    clear = one(kernel, {"N": 3}, {"x": np.array([3, 3.1, 1], F)})
    assert (close.tolerance, clear.tolerance) == (1, 0)


def test_double_precision(load: Load) -> None:
    kernel = load("kernel e(N) { in x: f64[N]; out y: f64[N]; y[i] = exp(x[i]) * x[i] + sum[k](x[k]) }")
    x = RNG.standard_normal(100)
    want = one(kernel, {"N": 100}, {"x": x})
    device = np.exp(x) * x + np.cumsum(x)[-1]
    assert agrees(device, want, F64).all() and (want.tolerance < 1e-11).all()
    assert not agrees(device.astype(F).astype(float), want, F64).all()


def test_given_tolerances_win(load: Load) -> None:
    kernel = load("kernel e(N) { in x: f32[N]; out y: f32[N]; y[i] = exp(x[i]) }")
    arrays = {"x": np.array([0.0, 1.0], F)}
    want = one(kernel, {"N": 2}, arrays, rtol=1e-2, atol=0.5)
    np.testing.assert_allclose(want.tolerance, 0.5 + 1e-2 * np.exp([0, 1]))
    assert (tolerance(kernel, {"N": 2}, arrays)["y"] < 1e-6).all()


def test_written_elements(load: Load) -> None:
    kernel = load("kernel u(N) { in a: f32[N]; out b: f32[2*N]; b[2*i] = a[i] * 2 }")
    want = one(kernel, {"N": 2}, {"a": np.ones(2, F), "b": np.full(4, 7, F)})
    assert want.written.tolist() == [True, False, True, False]
    assert want.value.tolist() == [2, 7, 2, 7]


def test_structs_have_tolerances_per_member(load: Load) -> None:
    kernel = load("""kernel p(N) { in p: struct { x: f32, v: f32 }[N]; out q: struct { x: f32, v: f32 }[N]
        q[i].x = p[i].x / 3
        q[i].v = p[i].v }""")
    p = np.ones(2, np.dtype([("x", "f4"), ("v", "f4")]))
    want = one(kernel, {"N": 2}, {"p": p})
    assert (want.tolerance["x"] > 0).all() and not want.tolerance["v"].any()
    device = p.copy()
    device["x"] = F(1) / F(3)
    element = kernel.tensor("q").element
    assert agrees(device, want, element).all()
    device["x"][0] += F(1e-6)
    device["v"][1] = np.nextafter(F(1), F(2))
    assert not agrees(device, want, element).any()


def test_integer_division_by_zero_is_exact_unless_the_divisor_is_not(load: Load) -> None:
    divide = load("kernel d(N) { in x: i32[N]; out y: i32[N]; y[i] = 7 // x[i] }")
    want = one(divide, {"N": 2}, {"x": np.array([0, 2], np.int32)})
    assert want.value.tolist() == [0, 3] and not want.tolerance.any()
    unsure = load("kernel d(N) { in x: f32[N]; out y: i32[N]; y[i] = 7 // i32(x[i] * 3) }")
    want = one(unsure, {"N": 2}, {"x": np.array([1 / 3, 0.5], F)})
    np.testing.assert_array_equal(want.tolerance, [np.inf, 0])


def test_what_the_language_leaves_open_has_no_bound(load: Load) -> None:
    f8 = load("kernel c(N) { in x: f32[N]; out y: f8e4m3[N]; y[i] = f8e4m3(x[i]) }")
    want = one(f8, {"N": 3}, {"x": np.array([448, 500, np.nan], F)})
    np.testing.assert_array_equal(want.tolerance, [0, np.inf, 0])


def test_f32_overflows_in_between(load: Load) -> None:
    """Precision is the oracle's, range the type's."""
    kernel = load("kernel d(N) { in x: f32[N]; out y: f32[N]; y[i] = exp(x[i]) / exp(x[i]) }")
    want = one(kernel, {"N": 2}, {"x": np.array([1, 100], F)})
    assert abs(want.value[0] - 1) < 1e-15 and np.isnan(want.value[1])
    assert agrees(np.array([1, np.nan], F), want, F32).all()
    assert not agrees(np.array([1, 1], F), want, F32)[1]


def test_complex_tolerance(load: Load) -> None:
    kernel = load("kernel z(N) { in a, b: c64[N]; out y: c64[N]; y[i] = a[i] * b[i] + sum[k](a[k]) }")
    a, b = ((RNG.standard_normal(50) + 1j * RNG.standard_normal(50)).astype(np.complex64) for _ in range(2))
    want = one(kernel, {"N": 50}, {"a": a, "b": b})
    device = a * b + a.sum()
    assert device.dtype == np.complex64 and agrees(device, want, C64).all()
    assert not agrees(device + np.complex64(1e-3j), want, C64).any()


def test_gather_by_an_uncertain_index(load: Load) -> None:
    kernel = load("""kernel g(N) { in x: f32[N]; in t: f32[N] boundary edge; out y: f32[N]
        y[i] = t[i32(floor(x[i] * 3))] }""")
    x = np.array([1 / 3, 0.5], F)
    want = one(kernel, {"N": 2}, {"x": x, "t": np.array([5, 6], F)})
    np.testing.assert_array_equal(want.tolerance, [np.inf, 0])


def last_error(load: Load, expression: str, x: list[float], kind: str = "f32") -> Expected:
    """The outcome of a reduction over `x` where sums round nothing."""
    kernel = load(f"kernel r(N) {{ in x: f32[N]; out y: {kind}[]; y[] = {expression} }}")
    return one(kernel, {"N": len(x)}, {"x": np.array(x, F)}, depth=lambda count: 0 * count)


def test_reductions_pass_on_the_errors_of_their_terms(load: Load) -> None:
    x, u = [0.3, 1.7, -0.4], 2.0**-24
    each = np.exp(np.array(x, F).astype(float)) * 5 * u
    assert last_error(load, "sum[k](exp(x[k]))", x).tolerance >= each.sum()
    assert last_error(load, "mean[k](exp(x[k]))", x).tolerance >= each.mean()
    assert each.max() <= last_error(load, "max[k](exp(x[k]))", x).tolerance < 2 * each.max()
    product = np.exp(sum(x))
    assert 15 * u * product <= last_error(load, "prod[k](exp(x[k]))", x).tolerance < 25 * u * product
    for op, decided in (("any", 2.0), ("all", 0.1)):
        # exp(0) may be either side of 1, and one term that is sure may decide.
        assert last_error(load, f"{op}[k](exp(x[k]) > 1)", [0, 0], "bool").tolerance > 0
        sure = [0, np.log(decided)]
        assert last_error(load, f"{op}[k](exp(x[k]) > 1)", sure, "bool").tolerance == 0
    assert last_error(load, "count[k](exp(x[k]) > 1)", [0, 0, 3], "i32").tolerance == 2


def test_cancelling_sum_is_bounded_by_its_terms(load: Load) -> None:
    kernel = load("kernel s(N) { in x: f32[N]; out y: f32[]; y[] = sum[k](x[k]) }")
    x = np.array([1e6, 0.03, -1e6, 0.04], F)
    want = one(kernel, {"N": 4}, {"x": x})
    assert agrees(serial_sum(x[:, None])[0], want, F32) and agrees(serial_sum(x[::-1, None])[0], want, F32)


def test_suffix_scan_has_the_errors_of_its_own_terms(load: Load) -> None:
    kernel = load("kernel s(N) { in x: f32[N]; out y: f32[N]; y[i] = sum[k in i..N](x[k] * 0.1) }")
    x = (10.0 ** np.arange(6, -1, -1)).astype(F)
    want = one(kernel, {"N": 7}, {"x": x})
    assert want.tolerance[-1] < 1e-7 and want.tolerance[0] > 1e-2


def test_infinity_is_demanded_whatever_the_errors(load: Load) -> None:
    kernel = load(
        "kernel m(N) { in x: f32[N]; out y, z: f32[N]; y[i] = x[i] * exp(x[0]); z[i] = exp(x[0]) / x[i] }"
    )
    results = expected(kernel, {"N": 2}, {"x": np.array([0.3, np.inf], F)})
    assert agrees(np.array([0.40495762, np.inf], F), results["y"], F32).tolist() == [True, True]
    assert not agrees(np.array([0.5, 7], F), results["y"], F32).any()
    assert not agrees(np.array([0, 1e-3], F), results["z"], F32).any()
    over = load("kernel m(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] / exp(x[0]) }")
    assert one(over, {"N": 2}, {"x": np.array([0.3, -np.inf], F)}).tolerance[1] == 0


def test_store_on_the_verge_of_overflow(load: Load) -> None:
    kernel = load("kernel v(N) { in x: f32[N]; out y: f16[N]; y[i] = f16(x[i] + 0.001) }")
    x = np.array([65519.996, 59874.14, 162754.8], F)
    want = one(kernel, {"N": 3}, {"x": x})
    assert agrees(np.array([65504, np.inf, np.inf], np.float16), want, F16).tolist() == [True, False, True]
    assert agrees(np.array([np.inf, 59874.14, 65504], np.float16), want, F16).tolist() == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_a_sum_overflows_where_the_type_does(load: Load, op: str, scan: bool) -> None:
    """A mean too: its sum comes first. With both signs it may, in some order."""
    where, result = ("[k in 0..=j]", "R, C") if scan else ("[k]", "R")
    at = "i, j" if scan else "i"
    text = f"kernel s(R, C) {{ in x: f32[R, C]; out y: f32[{result}]; y[{at}] = {op}{where}(x[i, k]) }}"
    x = np.array([[3e38, 3e38], [3e38, -3e38], [1e38, 1e38], [-3e38, -2e38], [np.inf, -1], [2.0, -3.0]], F)
    want = one(load(text), {"R": 6, "C": 2}, {"x": x})
    value, tolerance = (a[:, -1] if scan else a for a in (want.value, want.tolerance))
    with np.errstate(all="ignore"):
        device = x.sum(1, dtype=F) if op == "sum" else x.mean(1, dtype=F)
    assert np.isposinf(value[[0, 4]]).all() and np.isneginf(value[3])
    assert np.isinf(tolerance).tolist() == [False, True, False, False, False, False]
    assert agrees(device, Expected(value, tolerance, np.ones(6, bool), False), F32).all()
    assert not agrees(
        np.array([3e38, 0, 3e38, -2.5e38, 5, 9], F), Expected(value, tolerance, np.ones(6, bool), False), F32
    )[[0, 2, 3, 4, 5]].any()
