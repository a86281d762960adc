"""Reductions over the leading dimension of arrays that come in pieces, and the same as running totals.

Float sums are float64: plain for accumulators of 32 bits and fewer, compensated (Knuth's TwoSum, in pairs) for wider.
Integers wrap in the accumulator's type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from tilegen.dtypes import DType, Kind
from tilegen.lang.spec import Reduction
from tilegen.numpy_types import Array, numpy_dtype
from tilegen.reference.number import Number, bounded, exact, format_of, round_to, unless_wrapped
from tilegen.reference.products import Segments

# Roundings that a term of a sum of n terms goes through, elementwise over n.
Depth = Callable[[Array], Array]


class Accumulator(Protocol):
    def add(self, body: Number, valid: Array | None) -> None:
        """Take in terms along dimension 0; where `valid` is false there is none."""

    def result(self, count: Array) -> Number:
        """The reduction of all that was added, `count` terms."""


def accumulator(op: Reduction, dtype: DType, depth: Depth, track: bool) -> Accumulator:
    match op:
        case Reduction.SUM | Reduction.MEAN if dtype.kind in (Kind.FLOAT, Kind.COMPLEX):
            return _FloatSum(dtype, op is Reduction.MEAN, depth, track)
        case Reduction.SUM | Reduction.COUNT | Reduction.PROD | Reduction.MAX | Reduction.MIN:
            return _Fold(op, dtype, track)
        case Reduction.ANY | Reduction.ALL:
            return _Logical(op is Reduction.ANY)
        case Reduction.ARGMAX | Reduction.ARGMIN:
            return _Argument(op is Reduction.ARGMAX)
        case _:
            raise ValueError(f"{op.value} has no accumulation type {dtype}")


def identity(op: Reduction, dtype: DType) -> Array:
    """What the reduction of nothing gives; for `max` and `min`, a value that never wins."""
    kind = dtype.kind
    numpy_kind = np.dtype(np.float64 if kind is Kind.FLOAT else np.complex128)
    target = numpy_kind if kind in (Kind.FLOAT, Kind.COMPLEX) else numpy_dtype(dtype)
    value: float | int
    match op:
        case Reduction.PROD | Reduction.ALL:
            value = 1
        case Reduction.MAX | Reduction.MIN:
            low = op is Reduction.MAX
            if kind is Kind.FLOAT:
                value = -np.inf if low else np.inf
            elif kind is Kind.BOOL:
                value = 0 if low else 1
            else:
                limits = np.iinfo(target)
                value = limits.min if low else limits.max
        case _:
            value = 0
    return np.asarray(value, target)


def _masked(array: Array, valid: Array | None, otherwise: Array) -> Array:
    return array if valid is None else np.where(valid, array, otherwise)


_ZERO = np.zeros((), np.float64)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and the rounding error (Knuth, TAOCP 2, 4.2.2); no error where the sum is not finite."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, np.where(np.isfinite(total), error, 0.0)


def _pairwise(high: Array, low: Array) -> tuple[Array, Array]:
    """Compensated sum over dimension 0."""
    while high.shape[0] > 1:
        half = high.shape[0] // 2
        total, error = two_sum(high[:half], high[half : 2 * half])
        error = error + low[:half] + low[half : 2 * half]
        if high.shape[0] % 2:
            last, more = two_sum(total[:1], high[-1:])
            error[:1] += more + low[-1:]
            total[:1] = last
        high, low = total, error
    return high[0], low[0]


class _FloatSum:
    def __init__(self, dtype: DType, mean: bool, depth: Depth, track: bool) -> None:
        self._dtype, self._mean, self._depth, self._track = dtype, mean, depth, track
        self._compensated = dtype.size >= 8
        self._high: Array = identity(Reduction.SUM, dtype)
        self._low: Array = self._high
        self._error: Array = _ZERO
        self._magnitude: Array = _ZERO
        self._signs: Array = np.zeros((), np.uint8)
        self._whole = True

    def add(self, body: Number, valid: Array | None) -> None:
        terms = _masked(body.value, valid, _ZERO)
        if self._compensated:
            high, low = _pairwise(terms, np.zeros_like(terms))
            self._high, error = two_sum(np.asarray(self._high), high)
            self._low = self._low + low + error
        else:
            self._high = self._high + np.add.reduce(terms, axis=0)
        if self._track:
            self._error = self._error + np.add.reduce(
                _masked(np.broadcast_to(body.error_or_zero(), terms.shape), valid, _ZERO), axis=0
            )
            self._magnitude = self._magnitude + np.add.reduce(np.abs(terms), axis=0)
            self._signs = self._signs | np.bitwise_or.reduce(signs(terms), axis=0)
            self._whole = self._whole and bool((terms == np.rint(terms)).all())

    def result(self, count: Array) -> Number:
        total = np.asarray(self._high + self._low)
        if not self._track:
            return Number(total / count if self._mean else total)
        spread = sum_spread(
            self._magnitude, self._signs, self._error, count, self._dtype, self._depth, self._whole
        )
        return finish_sum(total, spread, count, self._dtype, self._mean)


def signs(terms: Array) -> Array:
    """Which of these a term is, as bits: positive, negative, no finite number. Complex numbers have the last alone."""
    endless = np.where(np.isfinite(terms), 0, 4)
    return np.asarray(
        endless if terms.dtype.kind == "c" else endless | (terms > 0) | (terms < 0) * 2, np.uint8
    )


def sum_spread(
    magnitude: Array, signs: Array, error: Array, count: Array, dtype: DType, depth: Depth, whole: bool
) -> Array:
    """How far a device's sum may be off: the terms' errors, and `depth` roundings of the sum of |terms|.

    Sums of whole numbers (`whole`) within the significand are exact in any order. Where finite terms of both signs
    (`signs`: of all of them) overflow in some order, nothing is known.
    """
    form = format_of(dtype)
    roundings = np.where(count > 1, depth(np.maximum(count, 1)), 0) * (form.roundoff + 2.0**-53)
    held = (error == 0) & (magnitude <= 2.0**form.precision) if whole else np.False_
    finite = np.isfinite(magnitude)
    rounded = np.where(held | ~finite, 0.0, roundings * np.where(finite, magnitude, 0.0))
    overflows = (signs == 3) & (magnitude * (1 + roundings) + error >= form.overflow)
    return np.asarray(np.where(overflows, np.inf, error + rounded))


def finish_sum(total: Array, spread: Array, count: Array, dtype: DType, mean: bool) -> Number:
    """The sum, which overflows where the type does; or the mean: one division (or product with a rounded reciprocal)
    more, exact for powers of two."""
    ranged = bounded(total, spread, 0.0, dtype)
    error = np.where((spread == 0) & np.isfinite(total), 0.0, ranged.error_or_zero())
    if not mean:
        return Number(ranged.value, exact(error))
    points = np.maximum(count, 1)
    value = ranged.value / points
    result = bounded(value, np.where(np.isinf(error), np.inf, spread / points), 3.0, dtype)
    held = (error == 0) & (count & (count - 1) == 0) & (round_to(value, dtype) == value)
    return Number(result.value, exact(np.where(held, 0.0, result.error_or_zero())))


class _Fold:
    """Reductions by one ufunc whose float results are exact (`max`, `min`) or products, and integers."""

    def __init__(self, op: Reduction, dtype: DType, track: bool) -> None:
        self._op, self._dtype, self._track = op, dtype, track
        self._ufunc = UFUNCS[op]
        self._total: Array = identity(op, dtype)
        self._plain: Array = np.ones((), np.float64)
        self._worse: Array = self._plain
        self._error: Array = _ZERO
        self._segments = Segments()

    def add(self, body: Number, valid: Array | None) -> None:
        neutral = identity(self._op, self._dtype)
        terms = _masked(body.value.astype(neutral.dtype), valid, neutral)
        self._total = self._ufunc(self._total, self._ufunc.reduce(terms, axis=0, dtype=neutral.dtype))
        if not self._track:
            return
        error = _masked(np.broadcast_to(body.error_or_zero(), terms.shape), valid, _ZERO)
        if self._op is Reduction.PROD:
            size = _masked(np.abs(terms).astype(np.float64), valid, np.ones((), np.float64))
            unit = _unit(self._dtype)
            self._segments.add(size)
            self._plain = self._plain * np.multiply.reduce(size, axis=0)
            self._worse = self._worse * np.multiply.reduce(size * (1 + unit) + error, axis=0)
        elif self._op in (Reduction.MAX, Reduction.MIN):
            self._error = np.maximum(self._error, np.maximum.reduce(error, axis=0))
        else:
            self._error = self._error + np.add.reduce(error, axis=0)

    def result(self, count: Array) -> Number:
        total = np.asarray(self._total)
        if not self._track:
            return Number(total)
        if self._op is not Reduction.PROD:
            return Number(total, unless_wrapped(total, exact(self._error)))
        if self._dtype.is_integer:
            return Number(total, exact(np.where(self._worse > self._plain, np.inf, 0.0)))
        # |Π (v + δ) − Π v| ≤ Π (|v| + e) − Π |v|.
        floor = self._segments.floor(np.asarray(count), format_of(self._dtype))
        return bounded(total, self._worse - self._plain, 0.0, self._dtype, floor)


def _unit(dtype: DType) -> float:
    return 0.0 if dtype.is_integer else format_of(dtype).roundoff + 2.0**-53


UFUNCS: dict[Reduction, np.ufunc] = {
    Reduction.SUM: np.add,
    Reduction.COUNT: np.add,
    Reduction.PROD: np.multiply,
    Reduction.MAX: np.maximum,
    Reduction.MIN: np.minimum,
    Reduction.ANY: np.logical_or,
    Reduction.ALL: np.logical_and,
}


class _Logical:
    def __init__(self, any_of: bool) -> None:
        self._any = any_of
        self._total: Array = np.asarray(not any_of)
        self._possible: Array = self._total
        self._certain: Array = self._total

    def add(self, body: Number, valid: Array | None) -> None:
        fold = np.logical_or if self._any else np.logical_and
        neutral = np.asarray(not self._any)
        unsure = body.error_or_zero() > 0
        for name, terms in (
            ("_total", body.value),
            ("_possible", body.value | unsure),
            ("_certain", body.value & ~unsure),
        ):
            setattr(
                self, name, fold(getattr(self, name), fold.reduce(_masked(terms, valid, neutral), axis=0))
            )

    def result(self, count: Array) -> Number:
        return Number(np.asarray(self._total), exact((self._possible & ~self._certain).astype(np.float64)))


class _Argument:
    """Position of the first extreme; a NaN is more extreme than any number, as in NumPy.

    Its error spans the positions that a device may choose because their values are within errors of the best.
    """

    def __init__(self, largest: bool) -> None:
        self._largest = largest
        self._best: Array | None = None
        self._positions: Array = np.zeros((), np.int64)
        self._seen = 0
        self._pieces: list[tuple[Array, Array, Array | None]] = []

    def add(self, body: Number, valid: Array | None) -> None:
        value = body.value
        reach = np.maximum if self._largest else np.minimum
        neutral = identity(Reduction.MAX if self._largest else Reduction.MIN, _kind_like(value))
        counted = np.ones((), np.bool_) if valid is None else valid
        best = reach.reduce(np.where(counted, value, neutral.astype(value.dtype)), axis=0)
        hit = counted & _same(value, best)
        position = np.argmax(hit, axis=0) + self._seen
        found = hit.any(axis=0)
        if body.error is not None:
            self._pieces.append(
                (np.broadcast_to(value, hit.shape), np.broadcast_to(body.error, hit.shape), valid)
            )
        if self._best is None:
            self._best, self._positions, self._found = best, position, found
        else:
            wins = found & (~self._found | (~_same(self._best, best) & _same(reach(self._best, best), best)))
            self._positions = np.where(wins, position, self._positions)
            self._best = np.where(wins, best, self._best)
            self._found = self._found | found
        self._seen += value.shape[0]

    def result(self, count: Array) -> Number:
        positions = np.asarray(self._positions, np.int64)
        if not self._pieces:
            return Number(positions)
        value = np.concatenate([p[0] for p in self._pieces]).astype(np.float64)
        error = np.concatenate([p[1] for p in self._pieces])
        sign = 1.0 if self._largest else -1.0
        least = sign * value - error
        valid = np.concatenate(
            [np.broadcast_to(True if p[2] is None else p[2], p[0].shape) for p in self._pieces]
        )
        floor = np.where(valid & ~np.isnan(least), least, -np.inf).max(axis=0)
        candidate = valid & ((sign * value + error >= floor) | np.isnan(value))
        first = np.argmax(candidate, axis=0)
        last = candidate.shape[0] - 1 - np.argmax(candidate[::-1], axis=0)
        return Number(positions, exact(np.maximum(positions - first, last - positions).astype(np.float64)))


def _same(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def _kind_like(value: Array) -> DType:
    from tilegen.dtypes import F64
    from tilegen.numpy_types import element_type

    element = element_type(value.dtype)
    return element if isinstance(element, DType) else F64
