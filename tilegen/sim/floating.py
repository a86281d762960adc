"""Floating-point semantics as functions of NumPy arrays: exact rounding where PTX asks for it.

f16 and bf16 values travel as float32 or float64 and are rounded once, from a value that is exact or rounded to odd
(Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008), so no double rounding occurs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_TINY32 = np.float64(2.0**-126)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and its exact error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _split(a: Array) -> tuple[Array, Array]:
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b as a rounded product and its exact error (Dekker); no overflow or underflow may occur."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def round_to_odd(total: Array, error: Array) -> Array:
    """The float64 `total` (= rounded total + error) rounded to odd instead of to nearest."""
    total, error = np.broadcast_arrays(total, error)
    bits = np.array(total, dtype=np.float64).view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & ((bits & 1) == 0)
    away = (error > 0) == (total > 0)
    return (bits + np.where(inexact, np.where(away, 1, -1), 0)).view(np.float64)


def fma_to_odd(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float64, rounded to odd; exact product needed, so a and b have 24 bits at most."""
    product = a.astype(np.float64) * b
    total, error = two_sum(product, c.astype(np.float64))
    odd: Array = np.where(np.isfinite(total), round_to_odd(total, error), total)
    return odd


def fma32(a: Array, b: Array, c: Array) -> Array:
    """Correctly rounded float32 a * b + c.

    The float64 sum rounds to the right float32 except where it lies on a tie of float32, or below its normal range.
    """
    total = np.multiply(a, b, dtype=np.float64)
    total += c
    doubtful = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    doubtful |= np.abs(total) < _TINY32
    result = total.astype(np.float32)
    if doubtful.any():
        a, b, c = (np.broadcast_to(one, total.shape)[doubtful] for one in (a, b, c))
        result[doubtful] = fma_to_odd(a, b, c).astype(np.float32)
    return result


def fma32_directed(mode: str, a: Array, b: Array, c: Array) -> Array:
    """float32 a * b + c rounded towards zero (rz), minus (rm) or plus infinity (rp)."""
    total, error = two_sum(np.multiply(a, b, dtype=np.float64), np.asarray(c, dtype=np.float64))
    return directed(mode, np.where(np.isfinite(total), round_to_odd(total, error), total), np.float32)


def directed(mode: str, exact: Array, kind: Any) -> Array:
    """`exact` (exact, or rounded to odd with more bits than `kind` has) rounded in a direction."""
    near = exact.astype(kind)
    back = near.astype(exact.dtype)
    below, above = kind(-np.inf), kind(np.inf)
    if mode == "rm":
        return np.where(back > exact, np.nextafter(near, below), near)
    if mode == "rp":
        return np.where(back < exact, np.nextafter(near, above), near)
    too_big = np.abs(back) > np.abs(exact)
    return np.where(too_big, np.nextafter(near, kind(0)), near)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """Correctly rounded float64 a * b + c (Boldo and Melquiond; exact rationals near over- and underflow)."""
    a, b, c = np.broadcast_arrays(np.asarray(a), np.asarray(b), np.asarray(c))
    high, low = two_product(a, b)
    sum_high, sum_low = two_sum(c, low)
    total, error = two_sum(high, sum_high)
    rest, rest_error = two_sum(sum_low, error)
    result = total + round_to_odd(rest, rest_error)
    size = np.abs(high)
    plain = (high == 0) & ((a == 0) | (b == 0))
    safe = (size > 2.0**-900) & (size < 2.0**1000) & (np.abs(c) < 2.0**1000)
    safe &= (np.abs(a) < 2.0**990) & (np.abs(b) < 2.0**990)
    safe &= (np.abs(result) > 2.0**-960) | (result == 0)
    zero = (result == 0) & ~plain
    if safe.all() and not zero.any():
        return np.asarray(result)
    simple = plain | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
    result = np.where(simple, a * b + c, result)
    rare = ~simple & (~safe | zero)
    if rare.any():
        lanes = zip(a[rare].tolist(), b[rare].tolist(), c[rare].tolist(), strict=True)
        result[rare] = [_fma_exact(*lane) for lane in lanes]
    return np.asarray(result)


def _fma_exact(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        if c == 0:
            return a * b + c if a * b == 0 and (a == 0 or b == 0) else 0.0
        return 0.0
    try:
        return float(exact) if float(exact) != 0 else math.copysign(0.0, exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def exact_op64(name: str, mode: str, a: Array, b: Array) -> Array:
    """float64 add, sub or mul rounded in a direction, through the exact error of the nearest result."""
    if name == "mul":
        near, error = two_product(a, b)
    else:
        near, error = two_sum(a, -b if name == "sub" else b)
    down, up = np.nextafter(near, -np.inf), np.nextafter(near, np.inf)
    if mode == "rm":
        return np.where(error < 0, down, near)
    if mode == "rp":
        return np.where(error > 0, up, near)
    return np.where((error < 0) & (near > 0), down, np.where((error > 0) & (near < 0), up, near))


def minimum(a: Array, b: Array) -> Array:
    """PTX min: the other operand where one is NaN; -0 is less than +0."""
    return np.where(a == b, np.where(np.signbit(a), a, b), np.fmin(a, b))


def maximum(a: Array, b: Array) -> Array:
    """PTX max: the other operand where one is NaN; +0 is more than -0."""
    return np.where(a == b, np.where(np.signbit(a), b, a), np.fmax(a, b))


def minimum_nan(a: Array, b: Array) -> Array:
    return np.where(a == b, np.where(np.signbit(a), a, b), np.minimum(a, b))


def maximum_nan(a: Array, b: Array) -> Array:
    return np.where(a == b, np.where(np.signbit(a), b, a), np.maximum(a, b))


def flush(a: Array) -> Array:
    """Subnormal float32 values to zero of the same sign (`.ftz`); float64 passes through, as in PTX."""
    if np.asarray(a).dtype != np.float32:
        return a
    return np.where(np.abs(a) < np.float32(2.0**-126), np.copysign(np.float32(0), a), a)


def saturate(a: Array) -> Array:
    """Clamps to [0, 1]; NaN becomes 0 (`.sat`)."""
    zero, one = a.dtype.type(0), a.dtype.type(1)
    # Adding zero turns -0 into +0.
    return np.asarray(np.where(np.isnan(a), zero, np.clip(a, zero, one) + zero))


def bf16_to_f32(bits: Array) -> Array:
    """uint16 bit patterns of bfloat16 as float32."""
    wide: Array = np.asarray(bits).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32)


def f32_to_bf16(value: Array) -> Array:
    """float32 to bfloat16 bits, to nearest even; NaN becomes 0x7fff as on the hardware."""
    bits = np.asarray(value, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.asarray(np.where(np.isnan(value), np.uint16(0x7FFF), rounded.astype(np.uint16)))


def f64_to_bf16(value: Array) -> Array:
    """float64 to bfloat16 bits through float32 rounded to odd, so it is rounded once."""
    near = value.astype(np.float32)
    back = near.astype(np.float64)
    bits = near.view(np.int32)
    inexact = (back != value) & np.isfinite(value) & ((bits & 1) == 0)
    away = np.abs(value) > np.abs(back)
    return f32_to_bf16((bits + np.where(inexact, np.where(away, 1, -1), 0).astype(np.int32)).view(np.float32))


def approximate(name: str, a: Array) -> Array:
    """An `.approx` function computed in float64 and rounded once: at least as precise as the hardware."""
    wide = np.asarray(a).astype(np.float64)
    match name:
        case "ex2":
            result = np.exp2(wide)
        case "lg2":
            result = np.log2(wide)
        case "rcp":
            result = 1.0 / wide
        case "sqrt":
            result = np.sqrt(wide)
        case "rsqrt":
            result = 1.0 / np.sqrt(wide)
        case "sin":
            result = np.sin(wide)
        case "cos":
            result = np.cos(wide)
        case "tanh":
            result = np.tanh(wide)
        case _:
            raise KeyError(name)
    return np.asarray(result.astype(np.asarray(a).dtype))
