"""Rounding, conversions and operators."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tilegen.dtypes import (
    BF16,
    BOOL,
    C64,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    U8,
    DType,
)
from tilegen.lang.spec import BinaryOp, UnaryOp
from tilegen.numpy_types import numpy_dtype
from tilegen.reference.arithmetic import binary, convert, unary
from tilegen.reference.number import FORMATS, Number, format_of, round_to, spacing


@pytest.fixture(autouse=True)
def _quiet() -> object:
    with np.errstate(all="ignore"):
        yield


def test_formats_are_those_of_numpy() -> None:
    for dtype, form in FORMATS.items():
        info = ml_dtypes.finfo(numpy_dtype(dtype))
        assert (form.precision, form.largest) == (info.nmant + 1, float(info.max)), dtype
        assert form.smallest == float(info.smallest_subnormal), dtype


def test_overflow_starts_half_a_unit_past_the_largest() -> None:
    assert FORMATS[F16].overflow == 65520
    assert FORMATS[F8E5M2].overflow == 61440
    assert FORMATS[F32].overflow == 2.0**128 - 2.0**103
    for dtype in (F16, BF16, F32, F8E5M2):
        top = FORMATS[dtype].overflow
        assert np.isinf(round_to(np.array([top]), dtype)).all()
        assert round_to(np.array([np.nextafter(top, 0)]), dtype) == FORMATS[dtype].largest


@pytest.mark.parametrize("dtype", [F8E4M3, F8E5M2, F16, BF16, F32])
def test_rounding_is_to_nearest_even(dtype: DType) -> None:
    """Every finite number of a small format, the midpoints between neighbours, and a hair beside them."""
    if dtype.size <= 2:
        bits = np.arange(2 ** (8 * dtype.size), dtype=np.uint32).astype(f"u{dtype.size}")
        grid = np.unique(bits.view(numpy_dtype(dtype)).astype(np.float64))
    else:
        grid = np.unique(np.random.default_rng(0).standard_normal(2000).astype(np.float32)).astype(np.float64)
        grid = np.unique(np.concatenate([grid, np.nextafter(grid.astype("f4"), np.float32(9)).astype(float)]))
    grid = grid[np.isfinite(grid)]
    np.testing.assert_array_equal(round_to(grid, dtype), grid)
    if dtype == F32:
        grid = grid[:2]
    low, high = grid[:-1], grid[1:]
    middle = (low + high) / 2
    np.testing.assert_array_equal(round_to(np.nextafter(middle, -np.inf), dtype), low)
    np.testing.assert_array_equal(round_to(np.nextafter(middle, np.inf), dtype), high)
    rounded = round_to(middle, dtype)
    assert ((rounded == low) | (rounded == high)).all()
    even = np.array([Fraction(float(r)) / Fraction(float(s)) % 2 == 0 for r, s in zip(
        rounded[:500], spacing(np.minimum(np.abs(low), np.abs(high))[:500], dtype), strict=True)])  # fmt: skip
    assert even.all()


def test_rounding_once_where_numpy_rounds_twice() -> None:
    x = np.array([1 + 2.0**-8 + 2.0**-40])
    assert x.astype(ml_dtypes.bfloat16).astype(float) == 1
    assert round_to(x, BF16) == 1 + 2.0**-7


def test_overflow_on_rounding() -> None:
    np.testing.assert_array_equal(
        round_to(np.array([65519.9, 65520, -65520, np.inf]), F16), [65504, np.inf, -np.inf, np.inf]
    )
    np.testing.assert_array_equal(round_to(np.array([464.0, 465, np.inf]), F8E4M3), [448, np.nan, np.nan])
    assert np.isinf(round_to(np.array([3.4e38]), BF16)).tolist() == [True]
    assert round_to(np.array([1e39 + 1e-50j]), C64).tolist() == [complex(np.inf, 0)]


def test_float_to_integer_truncates() -> None:
    x = Number(np.array([1.9, -1.9, 300.0, np.nan]))
    small = convert(x, F64, I8, track=True)
    assert small.value.tolist() == [1, -1, 127, 0] and small.error is None
    near = convert(Number(np.array([2.0, 2.5]), np.array([1e-6, 1e-6])), F32, I32, track=True)
    assert near.value.tolist() == [2, 2] and near.error is not None and near.error.tolist() == [1, 0]


def test_beyond_the_limits_an_error_counts_as_far_as_they_reach() -> None:
    x = Number(np.array([126.5, 1e9, np.nan, np.inf]), np.array([3.0, 1e8, 1.0, 0.0]))
    limited = convert(x, F64, I8, track=True)
    assert limited.value.tolist() == [126, 127, 0, 127]
    assert limited.error is not None and limited.error.tolist() == [3, 0, np.inf, 0]


def test_no_bound_where_a_device_may_have_wrapped() -> None:
    near, one = Number(np.array([126, 5], np.int8), np.array([1.0, 1.0])), Number(np.array([1, 1], np.int8))
    error = binary(BinaryOp.ADD, near, one, I8, track=True).error
    assert error is not None and error.tolist() == [np.inf, 1]
    error = unary(UnaryOp.NEGATE, Number(np.array([-127, 5], np.int8), np.array([1.0, 1.0]))).error
    assert error is not None and error.tolist() == [np.inf, 1]
    error = convert(Number(np.array([254, 9]), np.array([2.0, 2.0])), I64, U8, track=True).error
    assert error is not None and error.tolist() == [np.inf, 2]


def test_integers_wrap_and_any_number_is_true() -> None:
    assert convert(Number(np.array([300, -1])), I64, U8, track=False).value.tolist() == [44, 255]
    assert convert(Number(np.array([2, 0, -1])), I64, BOOL, track=False).value.tolist() == [True, False, True]
    assert convert(Number(np.array([0.5, 0.0, np.nan])), F32, BOOL, track=False).value.tolist() == [
        True,
        False,
        True,
    ]


def test_large_integer_rounds_once_to_f32() -> None:
    # Halfway between two floats but for the last bit, which float64 cannot hold.
    x = np.array([(1 << 62) + (1 << 38) + 1])
    assert convert(Number(x), I64, F32, track=False).value == float((1 << 62) + (1 << 39))


def test_explicit_rounding_to_a_narrow_float() -> None:
    third = Number(np.array([1 / 3]), np.array([1e-9]))
    half = convert(third, F32, F16, track=True)
    assert half.value == float(np.float16(1 / 3)) and half.error is not None
    assert half.error >= float(np.spacing(np.float16(1 / 3)))
    assert convert(Number(np.array([1 / 3])), F32, F16, track=True).error is None


def integers(op: BinaryOp, a: object, b: object, dtype: DType = I32) -> list[int]:
    t = numpy_dtype(dtype)
    return binary(op, Number(np.asarray(a, t)), Number(np.asarray(b, t)), dtype, track=False).value.tolist()


def test_integer_operators_follow_python_and_wrap() -> None:
    a, b = [7, -7, 7, -7], [2, 2, -2, -2]
    assert integers(BinaryOp.FLOOR_DIVIDE, a, b) == [x // y for x, y in zip(a, b, strict=True)]
    assert integers(BinaryOp.REMAINDER, a, b) == [x % y for x, y in zip(a, b, strict=True)]
    assert integers(BinaryOp.ADD, [127], [1], I8) == [-128]
    assert integers(BinaryOp.MULTIPLY, [200], [2], U8) == [144]
    assert integers(BinaryOp.POWER, [3, -2, 2, 5], [4, 3, 31, 0]) == [81, -8, -(2**31), 1]
    assert integers(BinaryOp.POWER, [1, -1, -1, 7], [-3, -3, -4, -1]) == [1, -1, 1, 0]


def test_float_remainder_has_the_sign_of_the_divisor() -> None:
    result = binary(
        BinaryOp.REMAINDER, Number(np.array([5.5, -5.5])), Number(np.array([2.0, 2.0])), F32, track=False
    )
    assert result.value.tolist() == [1.5, 0.5]


@pytest.mark.parametrize(
    "op",
    [BinaryOp.ADD, BinaryOp.SUBTRACT, BinaryOp.MULTIPLY, BinaryOp.DIVIDE, BinaryOp.POWER, BinaryOp.REMAINDER],
)
def test_bound_of_operators_holds_for_float32(op: BinaryOp) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.uniform(1, 3, (2, 4000))
    ea, eb = np.full(4000, 1e-5), np.full(4000, 2e-5)
    bound = binary(op, Number(a, ea), Number(b, eb), F32, track=True)
    moved_a = (a + rng.choice([-0.99, 0.99], 4000) * ea).astype(np.float32)
    moved_b = (b + rng.choice([-0.99, 0.99], 4000) * eb).astype(np.float32)
    functions = {
        BinaryOp.ADD: np.add,
        BinaryOp.SUBTRACT: np.subtract,
        BinaryOp.MULTIPLY: np.multiply,
        BinaryOp.DIVIDE: np.divide,
        BinaryOp.POWER: np.power,
        BinaryOp.REMAINDER: np.remainder,
    }
    got = functions[op](moved_a, moved_b)
    assert bound.error is not None
    assert (np.abs(got - bound.value) <= bound.error).all()
    assert (np.abs(got - bound.value) > 0.5 * bound.error).any()


def test_exact_results_have_no_error() -> None:
    a, b = Number(np.array([1.5, 3.0])), Number(np.array([2.0, 4.0]))
    assert binary(BinaryOp.MULTIPLY, a, b, F32, track=True).error is None
    third = binary(BinaryOp.DIVIDE, a, Number(np.array([3.0, 3.0])), F32, track=True)
    assert third.error is None
    inexact = binary(BinaryOp.DIVIDE, a, Number(np.array([7.0, 7.0])), F32, track=True)
    assert inexact.error is not None and (inexact.error < 1e-7).all()


def test_division_by_what_may_be_zero_has_no_bound() -> None:
    one = Number(np.array([1.0]))
    quotient = binary(BinaryOp.DIVIDE, one, Number(np.array([1e-9]), np.array([1e-8])), F32, track=True)
    assert quotient.error is not None and np.isinf(quotient.error).all()


def test_comparison_within_the_errors_is_unsure() -> None:
    less = binary(
        BinaryOp.LESS,
        Number(np.array([1.0, 1.0]), np.array([1e-3, 1e-3])),
        Number(np.array([1.0005, 2])),
        F32,
        track=True,
    )
    assert less.value.tolist() == [True, True]
    assert less.error is not None and less.error.tolist() == [1, 0]


def test_logic_of_what_is_unsure() -> None:
    values = [(False, 0.0), (True, 0.0), (False, 1.0), (True, 1.0)]
    for (a, ea), (b, eb) in [(x, y) for x in values for y in values]:
        possible_a, possible_b = ({a, not a} if e else {a} for a, e in ((a, ea), (b, eb)))
        for op, function in ((BinaryOp.AND, all), (BinaryOp.OR, any)):
            outcomes = {function((x, y)) for x in possible_a for y in possible_b}
            left, right = Number(np.array([a]), np.array([ea])), Number(np.array([b]), np.array([eb]))
            result = binary(op, left, right, BOOL, track=True)
            assert result.value[0] == function((a, b))
            assert bool(result.error_or_zero().any()) == (len(outcomes) > 1)


def test_floor_division_jumps() -> None:
    a = Number(np.array([3.0, 3.5, 3.0]), np.array([1e-3, 1e-3, 0]))
    one = Number(np.array([1.0, 1.0, 1.0]))
    floor = binary(BinaryOp.FLOOR_DIVIDE, a, one, F32, track=True).error
    assert floor is not None and floor[0] >= 1 and floor[1] < 0.1 and floor[2] == 0
    remainder = binary(BinaryOp.REMAINDER, a, one, F32, track=True).error
    assert remainder is not None and remainder[0] >= 1 and 1e-3 <= remainder[1] < 2e-3


def test_conversion_on_the_verge_of_overflow() -> None:
    near = convert(Number(np.array([65519.99, 65000.0]), np.array([0.1, 0.1])), F32, F16, track=True)
    assert near.error is not None and np.isinf(near.error[0]) and np.isfinite(near.error[1])


def test_float_range_is_the_types() -> None:
    big = Number(np.array([3e38]))
    assert np.isinf(binary(BinaryOp.ADD, big, big, F32, track=True).value).all()
    assert binary(BinaryOp.ADD, big, big, F32, track=True).error is None
    assert np.isfinite(binary(BinaryOp.ADD, big, big, F64, track=True).value).all()
    assert format_of(C64).precision == 24
