"""A value with a bound on how far a device's result may be from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tilegen.dtypes import BF16, F8E4M3, F8E5M2, F16, F32, F64, DType, Kind
from tilegen.numpy_types import Array, numpy_dtype


@dataclass(frozen=True, slots=True)
class Number:
    """`value`: float64 or complex128 for float and complex types, else the type's own dtype.

    `error`: bound on |device − value|, float64; None where they are equal (or where nobody asks). For bool, 1 where
    the device may decide otherwise. Infinite where the result is not specified.
    """

    value: Array
    error: Array | None = None

    def error_or_zero(self) -> Array:
        return np.zeros((), np.float64) if self.error is None else self.error


@dataclass(frozen=True, slots=True)
class Format:
    """Binary floating-point format: significand bits with the hidden one, exponent of the least normal number, and
    the largest finite value."""

    precision: int
    least_exponent: int
    largest: float

    @property
    def roundoff(self) -> float:
        """Unit roundoff u: the largest relative error of one rounding to nearest."""
        return 2.0**-self.precision

    @property
    def overflow(self) -> float:
        """From here on, rounding to nearest gives infinity: half a unit past the largest (IEEE 754-2019, 4.3.1)."""
        return self.largest + 2.0 ** (math.frexp(self.largest)[1] - self.precision - 1)

    @property
    def smallest(self) -> float:
        """The least positive (subnormal) number."""
        return 2.0 ** (self.least_exponent - self.precision + 1)


FORMATS: dict[DType, Format] = {
    F8E4M3: Format(4, -6, 448.0),
    F8E5M2: Format(3, -14, 57344.0),
    F16: Format(11, -14, 65504.0),
    BF16: Format(8, -126, float.fromhex("0x1.fep127")),
    F32: Format(24, -126, float.fromhex("0x1.fffffep127")),
    F64: Format(53, -1022, float.fromhex("0x1.fffffffffffffp1023")),
}


def format_of(dtype: DType) -> Format:
    """The format of a float type, or of the parts of a complex one."""
    if dtype.kind is Kind.COMPLEX:
        return FORMATS[F32 if dtype.size == 8 else F64]
    return FORMATS[dtype]


def spacing(value: Array, dtype: DType) -> Array:
    """The unit in the last place of `dtype` at |value| (float64)."""
    form = format_of(dtype)
    _, exponent = np.frexp(np.abs(value))
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - 1, form.least_exponent) - form.precision + 1))


def round_to(value: Array, dtype: DType) -> Array:
    """`value` (float64 or complex128) rounded once, to nearest even, to the format of `dtype`; still float64.

    NumPy's own conversions to the ml_dtypes formats go through float32 and round twice. Overflow gives infinity, and
    NaN in f8e4m3, which has no infinity.
    """
    if dtype.kind is Kind.COMPLEX:
        part = F32 if dtype.size == 8 else F64
        result = np.empty_like(value)
        result.real, result.imag = round_to(value.real, part), round_to(value.imag, part)
        return result
    if dtype == F64:
        return value
    form = FORMATS[dtype]
    if dtype in (F16, F32):
        return np.asarray(np.asarray(value).astype(numpy_dtype(dtype)), np.float64)
    unit = spacing(np.where(np.isfinite(value), value, 0.0), dtype)
    rounded = np.rint(value / unit) * unit
    beyond = np.nan if dtype == F8E4M3 else np.copysign(np.inf, rounded)
    return np.where(np.abs(rounded) > form.largest, beyond, rounded)


def keep_range(value: Array, dtype: DType) -> Array:
    """Infinity where a float result of `dtype` overflows: the oracle exceeds the type in precision, not in range."""
    if dtype.kind is Kind.COMPLEX or dtype.size >= 8:
        return value
    over = np.abs(value) >= FORMATS[dtype].overflow
    return np.where(over, np.copysign(np.inf, value), value) if over.any() else value


def scaled(factor: Array, error: Array) -> Array:
    """|factor| · error, where no error stays none even against infinity."""
    result: Array = np.where(error == 0, 0.0, np.abs(factor) * error)
    return result


def distance(a: Array, b: Array) -> Array:
    """|a − b|; 0 between equal infinities and between NaNs, infinite between NaN and a number."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    gap = np.where(same, 0.0, np.abs(a - b))
    return np.where(np.isnan(gap), np.inf, gap)


def exact(error: Array) -> Array | None:
    """`error`, with NaN as infinite; None if it is zero everywhere."""
    error = np.where(np.isnan(error), np.inf, error)
    return error if error.any() else None


def unless_wrapped(value: Array, error: Array | None) -> Array | None:
    """The error of an integer: none is known where a device's result may have wrapped and the value has not."""
    if error is None or value.dtype.kind not in "iu":
        return error
    limits, wide = np.iinfo(value.dtype), value.astype(np.float64)
    beyond = (wide - error < float(limits.min)) | (wide + error > float(limits.max))
    return exact(np.where((error > 0) & beyond, np.inf, error))


def bounded(
    value: Array, propagated: Array, units: Array | float, dtype: DType, floor: Array | float = 0.0
) -> Number:
    """A float result of `dtype`: what its operands' errors make, plus `units` unit roundoffs of the result.

    The oracle's own float64 rounding counts too. `units` 1 means correctly rounded: from exact operands, a result
    that the type holds is exact. `floor`: absolute error besides, in least numbers of the type.
    """
    form = format_of(dtype)
    ranged = keep_range(value, dtype)
    magnitude = np.abs(value)
    own = units * (form.roundoff + 2.0**-53) * magnitude + (1 + floor) * form.smallest
    held = (value == 0) & (floor == 0) | ~np.isfinite(magnitude)
    if form.precision < 53 and isinstance(units, float) and units == 1:
        held = held | ((propagated == 0) & (round_to(value, dtype) == value))
    error = propagated + np.where(held, 0.0, own)
    if form.precision < 53:
        unsure = (
            (magnitude + error >= form.overflow)
            & (magnitude - error < form.overflow)
            & np.isfinite(magnitude)
            & ~held
        )
        error = np.where(unsure, np.inf, np.where(np.isinf(ranged) & np.isfinite(propagated), 0.0, error))
    return Number(ranged, exact(error))
