"""The integers of the language in Python's, which have no limit: what each operation gives, reduced to its type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tilegen.dtypes import DTYPES, DType, Kind
from tilegen.numpy_types import Array, numpy_dtype

INTEGERS = tuple(d for d in DTYPES.values() if d.is_integer)


def limits(dtype: DType) -> tuple[int, int]:
    bits = 8 * dtype.size
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.kind is Kind.INT else (0, (1 << bits) - 1)


def wrap(number: int, dtype: DType) -> int:
    """The value of the type that differs from `number` by a multiple of its 2 ** bits."""
    low, high = limits(dtype)
    return (number - low) % (high - low + 1) + low


def edges(dtype: DType) -> list[int]:
    """0, the ends of the type and of the narrower ones, halves, what overflows as a square, and small numbers."""
    low, high = limits(dtype)
    places = {0, low, high, low // 2, high // 2, math.isqrt(high)}
    places |= {p for bits in (7, 8, 15, 16, 31, 32, 63) for p in (1 << bits, -(1 << bits))}
    around = {p + d for p in places for d in (-1, 0, 1)} | {-10, -7, -3, -2, 2, 3, 7, 10, 100}
    return sorted(n for n in around if low <= n <= high)


def array(numbers: Sequence[int], dtype: DType) -> Array:
    return np.array(numbers, object).astype(numpy_dtype(dtype))


def truncated(number: float, dtype: DType) -> int:
    """A float as an integer: towards zero, at the limits of the type, 0 for NaN."""
    low, high = limits(dtype)
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return high if number > 0 else low
    return min(max(math.trunc(number), low), high)


def _power(base: int, exponent: int) -> int:
    if exponent >= 0:
        return pow(base, exponent, 1 << 64)
    # 1 / base ** -exponent towards zero; of 0 there is none.
    return {1: 1, -1: 1 if exponent % 2 == 0 else -1}.get(base, 0)


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "**": _power,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
FUNCTIONS: dict[str, Callable[..., int]] = {
    "-": lambda a: -a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "relu": lambda a: max(a, 0),
    "maximum": max,
    "minimum": min,
    "fmax": max,
    "fmin": min,
    "clip": lambda x, low, high: min(max(x, low), high),
}
