"""Means in two parts, where values are subtracted from the mean of their row.

A mean of large numbers close together is rounded to their precision, and the differences to it inherit that: of 10000,
10000.001, … in f32 little is left. So `h - mean(h)` becomes `(h - m) - mean(h - m)` with m the rounded mean: the
second mean is what rounding took, to the precision of the differences. It is computed along with what else needs m, and
`mean((h - mean(h)) ** 2)` needs no walk more either: it is `mean((h - m) ** 2) - mean(h - m) ** 2` (the corrected
two-pass algorithm; Chan, Golub and LeVeque, "Algorithms for Computing the Sample Variance", 1983), not below 0.
"""

from __future__ import annotations

from dataclasses import replace

from tilegen.core.nest.values import rebuilt
from tilegen.dtypes import BOOL
from tilegen.lang.spec import (
    Binary,
    BinaryOp,
    Call,
    Literal,
    Read,
    Reduce,
    Reduction,
    Value,
    Where,
    walk,
)


class Centred:
    """Rewrites values; `row_of` takes in the reductions that arise."""

    def __init__(self, row_of: dict[Reduce, int]) -> None:
        self.row_of = row_of
        self._done: dict[Value, Value] = {}

    def __call__(self, value: Value) -> Value:
        found = self._done.get(value)
        if found is None:
            found = self._done[value] = self._rewritten(value)
        return found

    def _rewritten(self, value: Value) -> Value:
        new = rebuilt(value, self)
        if isinstance(new, Reduce) and isinstance(value, Reduce):
            self.row_of[new] = self.row_of[value]
            return self._variance(new) or new
        if isinstance(new, Binary) and new.op is BinaryOp.SUBTRACT and _is_mean_of(new.right, new.left):
            assert isinstance(new.right, Reduce)
            return Binary(BinaryOp.SUBTRACT, new, _finite(self._rest(new, new.right)), new.dtype)
        return new

    def _rest(self, difference: Binary, mean: Reduce) -> Reduce:
        """What rounding took from `mean`."""
        rest = replace(mean, body=difference)
        self.row_of[rest] = self.row_of[mean]
        return rest

    def _variance(self, node: Reduce) -> Value | None:
        """The mean of squares of differences to a mean over the same row."""
        if node.op is not Reduction.MEAN or not isinstance(node.body, Binary):
            return None
        square = node.body
        whole = square.left if _is_square(square) else None
        if (
            not isinstance(whole, Binary)
            or whole.op is not BinaryOp.SUBTRACT
            or not isinstance(whole.right, Where)
        ):
            return None
        difference, rest = whole.left, whole.right
        inner = rest.then
        if not isinstance(inner, Reduce) or inner.body != difference or inner.axes != node.axes:
            return None
        right = difference if square.right == whole else square.right
        raw = replace(node, body=replace(square, left=difference, right=right))
        self.row_of[raw] = self.row_of[node]
        taken = Binary(BinaryOp.MULTIPLY, rest, rest, node.dtype)
        return Call(
            "maximum",
            (Binary(BinaryOp.SUBTRACT, raw, taken, node.dtype), Literal(0.0, node.dtype)),
            node.dtype,
        )


def _is_mean_of(value: Value, body: Value) -> bool:
    """Whether `value` is the mean of `body`, which is as precise in memory as in the mean."""
    return (
        isinstance(value, Reduce)
        and value.op is Reduction.MEAN
        and value.body == body
        and any(isinstance(v, Read) and v.dtype.size >= value.dtype.size for v in walk(body))
    )


def _is_square(value: Binary) -> bool:
    if value.op is BinaryOp.POWER:
        return isinstance(value.right, Literal) and value.right.value == 2
    return value.op is BinaryOp.MULTIPLY and value.left == value.right


def _finite(rest: Reduce) -> Where:
    """0 where a mean that is infinite or no number left none; and where the square of what it left, which is taken from
    variances, is infinite: infinity less infinity is no number."""
    size = Binary(BinaryOp.MULTIPLY, rest, rest, rest.dtype)
    limit = Binary(BinaryOp.LESS, size, Literal(float("inf"), rest.dtype), BOOL)
    return Where(limit, rest, Literal(0.0, rest.dtype), rest.dtype)
