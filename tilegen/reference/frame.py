"""The points at which a value is evaluated: axes laid out for NumPy broadcasting, and which points count.

Axes are dimensions counted from the right, so that a reduction adds its axes in front and everything evaluated
outside it broadcasts unchanged. A value that does not use an axis has length 1 there (or no dimension at all).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tilegen.algebra import Expr, Range, evaluate, size_bound, substitute, zero_divisor
from tilegen.numpy_types import Array
from tilegen.reference.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class Interval:
    """An axis over `lower <= axis < upper`; its dimension is the `depth`-th from the right, from 0."""

    lower: int
    upper: int
    depth: int

    @property
    def length(self) -> int:
        return self.upper - self.lower


@dataclass(frozen=True, slots=True)
class Frame:
    """`values` holds every size and integer scalar, and per axis its indices. A point counts where all `masks` hold."""

    sizes: Mapping[str, int]
    axes: Mapping[str, Interval]
    values: Mapping[str, Array | int]
    masks: tuple[Array, ...] = ()

    @staticmethod
    def of_sizes(sizes: Mapping[str, int]) -> Frame:
        return Frame(sizes, {}, dict(sizes))

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(interval.length for interval in reversed(tuple(self.axes.values())))

    def with_axis(self, name: str, lower: int, upper: int) -> Frame:
        """One more axis, in front of those there are. An axis that ends before it starts is empty."""
        interval = Interval(lower, max(lower, upper), self.rank)
        indices = np.arange(lower, interval.upper, dtype=np.int64).reshape(-1, *[1] * self.rank)
        return replace(self, axes={**self.axes, name: interval}, values={**self.values, name: indices})

    def where(self, mask: Array) -> Frame:
        return replace(self, masks=(*self.masks, mask))

    def index(self, value: Expr) -> Array:
        """The value at every point. Where it divides by a size that is 0 it is 0: no point that counts computes it.

        Raises EvaluationError where the value, or a part of it, does not fit 64 bits."""
        if zero_divisor(value, self.sizes) is not None:
            return np.zeros((), np.int64)
        if self.counts_any():
            ranges = {name: Range(number, number) for name, number in self.sizes.items()}
            ranges |= {name: Range(i.lower, i.upper - 1) for name, i in self.axes.items()}
            if 1 << 63 <= size_bound(substitute(value, self.sizes), ranges) < math.inf:
                raise EvaluationError(f"{value} leaves 64 bits")
        return np.asarray(evaluate(value, self.values), dtype=np.int64)

    def constant(self, value: Expr) -> int:
        """An expression over sizes only."""
        return int(evaluate(value, self.sizes))

    def linear(self, value: Expr) -> tuple[str | None, int, int] | None:
        """`(axis, c, b)` if the value is `c * axis + b`, with axis None and c = 0 for a constant, else None."""
        axis, coefficient, rest = None, 0, 0
        if zero_divisor(value, self.sizes) is not None:
            return None
        for monomial, factor in substitute(value, self.sizes).terms:
            match [str(atom) for atom in monomial]:
                case []:
                    rest = factor
                case [name] if name in self.axes and axis is None:
                    axis, coefficient = name, factor
                case _:
                    return None
        return axis, coefficient, rest

    def active(self) -> Array | None:
        """Which points count, broadcastable to the frame's shape; None for all."""
        if not self.masks:
            return None
        mask = self.masks[0]
        for other in self.masks[1:]:
            mask = mask & other
        return mask

    def counts_any(self) -> bool:
        """Whether there is a point that counts."""
        if 0 in self.shape:
            return False
        mask = self.active()
        return mask is None or bool(mask.any())
