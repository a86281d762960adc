"""The named functions against the `math` module, and their error bounds against float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tilegen.dtypes import C128, F32, F64, I8, I32, DType
from tilegen.reference.erf import erf, erfc
from tilegen.reference.functions import NAMES, call
from tilegen.reference.number import Number


def value(name: str, *arguments: object, dtype: DType = F64) -> np.ndarray:
    with np.errstate(all="ignore"):
        numbers = tuple(Number(np.asarray(a)) for a in arguments)
        return call(name, numbers, dtype, dtype, track=False).value


@pytest.mark.parametrize(("function", "truth"), [(erf, math.erf), (erfc, math.erfc)])
def test_erf_to_full_accuracy(function: Callable[..., np.ndarray], truth: Callable[[float], float]) -> None:
    x = np.concatenate(
        [np.linspace(-7, 26, 60001), np.geomspace(1e-300, 1e-3, 500), [0.84375, 1.25, 1 / 0.35, -6.0, 6.0]]
    )
    want = np.array([truth(t) for t in x])
    with np.errstate(all="ignore"):
        got = function(x)
    np.testing.assert_allclose(got, want, rtol=1e-15, atol=1e-310)


def test_erf_at_the_ends() -> None:
    ends = np.array([np.inf, -np.inf, 0.0, -0.0, 40.0, -40.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(erf(ends), [1, -1, 0, 0, 1, -1])
        np.testing.assert_array_equal(np.signbit(erf(ends)), [0, 1, 0, 1, 0, 1])
        np.testing.assert_array_equal(erfc(ends), [0, 2, 1, 1, 0, 2])
        assert np.isnan(erf(np.array(np.nan))) and np.isnan(erfc(np.array(np.nan)))


TRUTH: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "erf": math.erf,
    "erfc": math.erfc,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "sign": lambda x: math.copysign(1, x) if x else 0,
    "isnan": math.isnan,
    "isinf": math.isinf,
    "conj": lambda x: x,
    "real": lambda x: x,
    "imag": lambda x: 0.0,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "relu": lambda x: max(x, 0.0),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "gelu": lambda x: 0.5 * x * math.erfc(-x / math.sqrt(2)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}
POSITIVE = {"log", "log2", "sqrt", "rsqrt"}
UNIT = {"asin", "acos", "log1p"}


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_function_against_math(name: str) -> None:
    x = np.linspace(-0.99, 0.99, 41) if name in UNIT else np.linspace(-5, 5, 41)
    x = np.abs(x) + 0.01 if name in POSITIVE else x
    np.testing.assert_allclose(value(name, x), [TRUTH[name](t) for t in x], rtol=1e-14, atol=1e-15)


def test_every_function_is_tested() -> None:
    assert set(TRUTH) | {"maximum", "minimum", "fmax", "fmin", "clip", "atan2"} == NAMES


def test_two_and_three_arguments() -> None:
    nan, inf = math.nan, math.inf
    a, b = np.array([1.0, nan, 2.0, nan]), np.array([3.0, 1.0, nan, nan])
    np.testing.assert_array_equal(value("maximum", a, b), [3, nan, nan, nan])
    np.testing.assert_array_equal(value("minimum", a, b), [1, nan, nan, nan])
    np.testing.assert_array_equal(value("fmax", a, b), [3, 1, 2, nan])
    np.testing.assert_array_equal(value("fmin", a, b), [1, 1, 2, nan])
    np.testing.assert_array_equal(value("clip", np.array([-2.0, 0.5, 9, nan]), 0.0, 1.0), [0, 0.5, 1, nan])
    np.testing.assert_allclose(value("atan2", 1.0, -1.0), 3 * math.pi / 4)
    np.testing.assert_array_equal(value("round", np.array([0.5, 1.5, 2.5, -0.5, inf])), [0, 2, 2, 0, inf])


def test_integers_keep_their_type_and_wrap() -> None:
    x = np.array([-128, -1, 127], np.int8)
    assert value("abs", x, dtype=I8).tolist() == [-128, 1, 127]
    assert value("abs", x, dtype=I8).dtype == np.int8
    assert value("floor", np.array([2**31 - 1], np.int32), dtype=I32).dtype == np.int32


def test_complex_parts() -> None:
    z = np.array([3 + 4j])
    assert value("abs", z, dtype=C128) == 5
    assert value("conj", z, dtype=C128) == 3 - 4j
    assert (value("real", z, dtype=C128), value("imag", z, dtype=C128)) == (3, 4)


def test_gelu_in_the_tails() -> None:
    """Report J7: the negative tail does not cancel, and nothing overflows to NaN."""
    x = np.array([-13.24, -6, -5, 15.5, 40])
    np.testing.assert_allclose(value("gelu", x)[1:], [-5.92e-9, -1.433e-6, 15.5, 40], rtol=1e-3)
    assert -1e-30 < value("gelu", x)[0] < 0
    np.testing.assert_allclose(value("gelu_tanh", x)[1:], [-8.44e-11, -2.29e-7, 15.5, 40], rtol=2e-3)
    assert -1e-30 < value("gelu_tanh", x)[0] < 0


SINGLE = ["exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan"]


@pytest.mark.parametrize("name", sorted(SINGLE))
def test_bound_holds_for_float32_with_a_wrong_argument(name: str) -> None:
    """float32 functions of an argument moved by its error stay within the bound, and the bound is not slack."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.9, 0.9, 4000)
    x = np.abs(x) + 0.05 if name in POSITIVE else x
    moved = x + rng.choice([-1e-4, 0, 1e-4], 4000)
    bounded = call(name, (Number(x, np.full_like(x, 1.002e-4)),), F32, F32, track=True)
    device = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name)
    got = getattr(np, device)(moved.astype(np.float32)).astype(float)
    assert bounded.error is not None
    assert (np.abs(got - bounded.value) <= bounded.error).all()
    assert (np.abs(got - bounded.value) > 0.5 * bounded.error).any()


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "sigmoid", "silu"])
def test_bound_allows_a_careful_float32_kernel(name: str) -> None:
    x = np.linspace(-12, 12, 4001).astype(np.float32)
    f = np.float32
    z = f(0.7978845608) * (x + f(0.044715) * x * x * x)
    erfc32 = np.frompyfunc(math.erfc, 1, 1)(-x * f(0.70710678)).astype(np.float32)
    with np.errstate(all="ignore"):
        device = {
            "gelu": f(0.5) * x * erfc32,
            "gelu_tanh": x / (1 + np.exp(-2 * z)),
            "sigmoid": 1 / (1 + np.exp(-x)),
            "silu": x / (1 + np.exp(-x)),
        }[name]
        bound = call(name, (Number(x.astype(float)),), F32, F32, track=True)
    assert bound.error is not None
    assert (np.abs(device - bound.value) <= bound.error).all()
    # A kernel that cancels in the negative tail, or that takes the other form, is not within it.
    cancelled = f(0.5) * x * (1 + np.tanh(z))
    assert (np.abs(cancelled - bound.value) > bound.error).any()


def test_no_bound_across_a_jump() -> None:
    number = Number(np.array([1.57, 1e-8, 0.5]), np.array([0.01, 1e-7, 0.0]))
    tan = call("tan", (number,), F32, F32, track=True).error
    with np.errstate(all="ignore"):
        rsqrt = call("rsqrt", (number,), F32, F32, track=True).error
    floor = call("floor", (Number(np.array([2.0]), np.array([1e-7])),), F32, F32, track=True).error
    assert tan is not None and rsqrt is not None and floor is not None
    assert np.isinf(tan[0]) and np.isfinite(tan[2])
    assert np.isinf(rsqrt[1]) and np.isfinite(rsqrt[2])
    assert floor[0] == 1
    # What rounds below zero under a root is kept at zero.
    tiny = Number(np.array([1e-30]), np.array([1e-20]))
    sqrt = call("sqrt", (tiny,), F32, F32, track=True).error
    assert sqrt is not None and 0.99e-10 <= sqrt[0] < 2e-10
    y, x = Number(np.array([1e-9, 1.0]), np.array([1e-8, 1e-8])), Number(np.array([-1.0, -1.0]))
    atan2 = call("atan2", (y, x), F32, F32, track=True).error
    assert atan2 is not None and atan2[0] >= 6 and atan2[1] < 1e-5
