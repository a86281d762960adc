"""What values an integer expression can have, from its types and constants alone."""

from __future__ import annotations

import math

from tilegen.algebra import Range, bounds, symbols
from tilegen.dtypes import DType, Kind
from tilegen.lang.spec import Binary, BinaryOp, Call, Cast, IndexValue, Literal, Unary, UnaryOp, Value, Where

Span = tuple[int, int]
# Sizes and coordinates are below this: a tensor with so many elements does not fit an address space.
LARGEST_EXTENT = 1 << 48


def integer_range(dtype: DType) -> Span | None:
    """Least and greatest value of an integer type or of bool; None for others."""
    bits = 8 * dtype.size
    match dtype.kind:
        case Kind.BOOL:
            return 0, 1
        case Kind.UINT:
            return 0, 2**bits - 1
        case Kind.INT:
            return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        case _:
            return None


def value_range(value: Value) -> Span | None:
    """Least and greatest value that `value` may have; None for floats."""
    whole = integer_range(value.dtype)
    if whole is None:
        return None
    found = _narrower(value)
    if found is None or found[0] < whole[0] or found[1] > whole[1]:
        return whole  # it may wrap
    return found


def _narrower(value: Value) -> Span | None:
    match value:
        case Literal():
            return int(value.value.real), int(value.value.real)
        case IndexValue():
            symbols_ = symbols(value.index)
            found = bounds(value.index, dict.fromkeys(symbols_, Range(0, LARGEST_EXTENT)))
            return (
                None
                if found.low == -math.inf or found.high == math.inf
                else (int(found.low), int(found.high))
            )
        case Unary(op=UnaryOp.NEGATE):
            operand = value_range(value.operand)
            return None if operand is None else (-operand[1], -operand[0])
        case Cast():
            return value_range(value.operand)
        case Where():
            then, other = value_range(value.then), value_range(value.otherwise)
            return None if then is None or other is None else (min(then[0], other[0]), max(then[1], other[1]))
        case Binary():
            return _operation(value)
        case Call(function="clip" | "minimum" | "maximum"):
            return _limited(value)
        case _:
            return None


def _operation(value: Binary) -> Span | None:
    left, right = value_range(value.left), value_range(value.right)
    if left is None or right is None:
        return None
    match value.op:
        case BinaryOp.ADD:
            return left[0] + right[0], left[1] + right[1]
        case BinaryOp.SUBTRACT:
            return left[0] - right[1], left[1] - right[0]
        case BinaryOp.FLOOR_DIVIDE if right[0] == right[1] > 0:
            return left[0] // right[0], left[1] // right[0]
        case BinaryOp.REMAINDER if right[0] == right[1] > 0:
            return left if left[0] >= 0 and left[1] < right[0] else (0, right[0] - 1)
        case _:
            return None


def _limited(value: Call) -> Span | None:
    ranges = [value_range(a) for a in value.arguments]
    known = [r for r in ranges if r is not None]
    if len(known) != len(ranges):
        return None
    if value.function == "maximum":
        return max(r[0] for r in known), max(r[1] for r in known)
    if value.function == "minimum":
        return min(r[0] for r in known), min(r[1] for r in known)
    # minimum(maximum(x, low), high)
    x, low, high = known
    least, most = max(x[0], low[0]), max(x[1], low[1])
    return min(least, high[0]), min(most, high[1])


def may_overflow(value: Value) -> bool:
    """Whether an operation on integers may leave its type before it wraps."""
    whole, found = integer_range(value.dtype), _narrower(value)
    return whole is not None and (found is None or found[0] < whole[0] or found[1] > whole[1])
