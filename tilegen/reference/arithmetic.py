"""Operators and conversions on numbers: integers wrap in their type, floats are computed in double precision.

NumPy's integer operations are the language's: they wrap, round `//` and `%` down, and give 0 for a divisor of 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilegen.dtypes import C128, F64, DType, Kind
from tilegen.lang.spec import BinaryOp, UnaryOp
from tilegen.numpy_types import Array, numpy_dtype
from tilegen.reference.number import Number, bounded, exact, round_to, scaled, spacing, unless_wrapped

_COMPARE: dict[BinaryOp, Callable[..., Array]] = {
    BinaryOp.LESS: np.less,
    BinaryOp.LESS_EQUAL: np.less_equal,
    BinaryOp.GREATER: np.greater,
    BinaryOp.GREATER_EQUAL: np.greater_equal,
    BinaryOp.EQUAL: np.equal,
    BinaryOp.NOT_EQUAL: np.not_equal,
}
_ARITHMETIC: dict[BinaryOp, Callable[..., Array]] = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUBTRACT: np.subtract,
    BinaryOp.MULTIPLY: np.multiply,
    BinaryOp.DIVIDE: np.divide,
    BinaryOp.FLOOR_DIVIDE: np.floor_divide,
    BinaryOp.REMAINDER: np.remainder,
    BinaryOp.POWER: np.power,
}


def widen(raw: Array, dtype: DType) -> Array:
    """Elements as stored, in the type the oracle computes in."""
    match dtype.kind:
        case Kind.FLOAT:
            return raw.astype(np.float64)
        case Kind.COMPLEX:
            return raw.astype(np.complex128)
        case Kind.BOOL | Kind.INT | Kind.UINT:
            return raw


def unary(op: UnaryOp, operand: Number) -> Number:
    value = np.asarray(np.logical_not(operand.value) if op is UnaryOp.NOT else np.negative(operand.value))
    return Number(value, unless_wrapped(value, operand.error))


def binary(op: BinaryOp, left: Number, right: Number, operand: DType, track: bool) -> Number:
    """`left op right`, both of type `operand`."""
    a, b = left.value, right.value
    if op in (BinaryOp.AND, BinaryOp.OR):
        return _logical(op, left, right)
    if op in _COMPARE:
        value = np.asarray(_COMPARE[op](a, b))
        if left.error is None and right.error is None:
            return Number(value)
        slack = left.error_or_zero() + right.error_or_zero()
        with np.errstate(all="ignore"):
            near = (np.abs(_as_float(a) - _as_float(b)) <= slack) | np.isinf(slack)
        return Number(value, exact(np.where((slack > 0) & near, 1.0, 0.0)))
    compute = _integer_power if op is BinaryOp.POWER and operand.is_integer else _ARITHMETIC[op]
    value = np.asarray(compute(a, b))
    if not track:
        return Number(value)
    propagated = _propagated(op, left, right, value)
    if operand.is_integer or operand.kind is Kind.BOOL:
        return Number(value, unless_wrapped(value, exact(propagated)))
    if operand.kind is Kind.COMPLEX:
        units = 1.0 if op in (BinaryOp.ADD, BinaryOp.SUBTRACT) else 16.0 if op is BinaryOp.POWER else 8.0
    else:
        # powf and pow: at most 9 and 2 ulp (CUDA C++ Programming Guide); `x ** 2` may be a product instead.
        units = {BinaryOp.POWER: 19.0, BinaryOp.REMAINDER: 4.0}.get(op, 1.0)
        if op is BinaryOp.DIVIDE and right.error is not None:
            units = 2.0  # a divisor that a whole row shares may be inverted once: one more rounding
    return bounded(value, propagated, units, operand)


def _as_float(x: Array) -> Array:
    return x if x.dtype.kind == "c" else x.astype(np.float64)


def _logical(op: BinaryOp, left: Number, right: Number) -> Number:
    a, b = left.value, right.value
    value = np.logical_and(a, b) if op is BinaryOp.AND else np.logical_or(a, b)
    if left.error is None and right.error is None:
        return Number(np.asarray(value))
    unsure_a, unsure_b = left.error_or_zero() > 0, right.error_or_zero() > 0
    if op is BinaryOp.AND:
        unsure = ((a | unsure_a) & (b | unsure_b)) & ~((a & ~unsure_a) & (b & ~unsure_b))
    else:
        unsure = ((a | unsure_a) | (b | unsure_b)) & ~((a & ~unsure_a) | (b & ~unsure_b))
    return Number(np.asarray(value), exact(unsure.astype(np.float64)))


def _integer_power(base: Array, exponent: Array) -> Array:
    """Wraps like repeated multiplication. A negative exponent gives 1 / base ** -exponent towards zero: 1 and -1 of
    themselves, 0 of every other base (of 0 too)."""
    if base.dtype.kind == "u" or not (exponent < 0).any():
        return np.asarray(np.power(base, exponent))
    value = np.power(base, np.maximum(exponent, 0))
    odd = np.where(exponent % 2 != 0, base, base * base)
    return np.where(exponent >= 0, value, np.where(np.abs(base) == 1, odd, 0)).astype(base.dtype)


def _propagated(op: BinaryOp, left: Number, right: Number, value: Array) -> Array:
    """How far the exact result may move while the operands move by their errors."""
    if left.error is None and right.error is None and op is not BinaryOp.FLOOR_DIVIDE:
        return np.zeros((), np.float64)
    a, b = _as_float(left.value), _as_float(right.value)
    ea, eb = left.error_or_zero(), right.error_or_zero()
    match op:
        case BinaryOp.ADD | BinaryOp.SUBTRACT:
            return ea + eb
        case BinaryOp.MULTIPLY:
            spread = scaled(b, ea) + scaled(a, eb) + scaled(ea, eb)
            # Infinity times what is surely not zero is infinity.
            sure = ((np.abs(a) > ea) & (np.abs(b) > eb)) | ((ea == 0) & (eb == 0))
            return np.where(np.isinf(a) | np.isinf(b), np.where(sure, 0.0, np.inf), spread)
        case BinaryOp.DIVIDE:
            spread = _quotient_spread(_as_float(value), b, ea, eb)
            return np.where(np.isinf(a) & (np.abs(b) > eb) & np.isfinite(ea), 0.0, spread)
        case BinaryOp.FLOOR_DIVIDE | BinaryOp.REMAINDER:
            return _floor_spread(op, a, b, ea, eb, left.value.dtype.kind == "f")
        case _:
            corners = [np.power(a + s * ea, b + t * eb) for s in (-1, 1) for t in (-1, 1)]
            gaps = [np.abs(c - value) for c in corners]
            spread = np.maximum(np.maximum(gaps[0], gaps[1]), np.maximum(gaps[2], gaps[3]))
            return np.where((ea == 0) & (eb == 0), 0.0, np.where(np.isnan(spread), np.inf, spread))


def _quotient_spread(quotient: Array, b: Array, ea: Array, eb: Array) -> Array:
    room = np.abs(b) - eb
    spread = np.where(room > 0, (ea + scaled(quotient, eb)) / room, np.inf)
    return np.where((ea == 0) & (eb == 0), 0.0, spread)


def _floor_spread(op: BinaryOp, a: Array, b: Array, ea: Array, eb: Array, is_float: bool) -> Array:
    """Floor division jumps where the quotient is near an integer; the remainder jumps by the divisor there."""
    quotient = a / b
    slack = _quotient_spread(quotient, b, ea, eb)
    if is_float:
        # A device may round the quotient before it takes the floor.
        slack = slack + np.where(quotient == np.floor(quotient), 0.0, np.abs(quotient) * 2.0**-24)
    low, high = np.floor(quotient - slack), np.floor(quotient + slack)
    jump = np.maximum(np.abs(high - np.floor(quotient)), np.abs(np.floor(quotient) - low))
    jump = np.where(
        slack == 0, 0.0, np.where(np.isfinite(quotient), jump, np.where(ea + eb == 0, 0.0, np.inf))
    )
    if op is BinaryOp.FLOOR_DIVIDE:
        return jump
    return ea + scaled(np.floor(quotient), eb) + scaled(b, jump)


def convert(operand: Number, source: DType, target: DType, track: bool) -> Number:
    """`target(x)` of LANGUAGE.md. To a float: rounded once, to nearest even. An integer to an integer: wraps. A float
    to an integer: truncated, saturated, 0 for NaN. To bool: whether it is not 0."""
    x, e = operand.value, operand.error
    if source == target:
        return operand
    match target.kind:
        case Kind.BOOL:
            value = np.asarray(x != 0)
            unsure = None if e is None else exact(np.where((np.abs(_as_float(x)) <= e) & (e > 0), 1.0, 0.0))
            return Number(value, unsure)
        case Kind.INT | Kind.UINT:
            if source.kind in (Kind.FLOAT, Kind.COMPLEX):
                return _truncate(x.real, e, target, track)
            value = x.astype(numpy_dtype(target))
            return Number(value, unless_wrapped(value, e))
        case Kind.COMPLEX:
            wide = _widened(x, target).astype(np.complex128)
            return Number(wide, e) if source.kind is Kind.BOOL else _rounded(wide, e, target, track)
        case Kind.FLOAT:
            return _rounded(_widened(x.real, target), e, target, track)


def _widened(x: Array, target: DType) -> Array:
    """As float64 or complex128, so that rounding it to `target` is the only rounding. A 64-bit integer that float64
    does not hold is rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008)."""
    if x.dtype.kind not in "biu":
        return x
    near = x.astype(np.float64)
    if x.dtype.itemsize < 8 or target in (F64, C128):
        return near
    bits = x.dtype.type(11)
    odd = ((x >> bits) | ((x >> bits) << bits != x)).astype(np.float64) * 2.0**11
    return np.where(np.abs(near) < 2.0**53, near, odd)


def _rounded(x: Array, error: Array | None, target: DType, track: bool) -> Number:
    value = round_to(x, target)
    if not track or error is None:
        return Number(value)
    unit = spacing(
        np.where(np.isfinite(x), np.abs(x) + np.where(np.isfinite(error), error, 0.0), 0.0), target
    )
    unsure = np.where(np.isinf(value) != np.isinf(round_to(np.abs(x) + error, target)), np.inf, error + unit)
    return Number(value, exact(np.where(error == 0, 0.0, unsure)))


def _truncate(x: Array, error: Array | None, target: DType, track: bool) -> Number:
    value = _saturated(x, target)
    if not track or error is None:
        return Number(value)
    wide = value.astype(np.float64)
    ends = [
        np.where(np.isnan(end), np.inf, np.abs(_saturated(end, target) - wide))
        for end in (x - error, x + error)
    ]
    return Number(value, exact(np.where(error == 0, 0.0, np.maximum(*ends))))


def _saturated(x: Array, target: DType) -> Array:
    numpy_target = numpy_dtype(target)
    limits = np.iinfo(numpy_target)
    whole = np.trunc(x)
    top = 2.0 ** (8 * target.size - (1 if target.kind is Kind.INT else 0))
    value = np.where((whole >= float(limits.min)) & (whole < top), whole, 0.0).astype(numpy_target)
    value = np.where(whole >= top, numpy_target.type(limits.max), value)
    return np.where(whole < float(limits.min), numpy_target.type(limits.min), value)
