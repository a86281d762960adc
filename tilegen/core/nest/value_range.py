"""What integer values can be: intervals from types, constants, operators and the extents of axes.

An interval holds every value that the node can have, whatever the data are. A node whose operation may leave its type
wraps, so its interval is then that of the whole type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import assert_never

from tilegen.algebra import ANY, Expr, Range, Sym, bounds, substitute, symbols
from tilegen.core.nest.model import Nest
from tilegen.dtypes import DType, Kind
from tilegen.lang.spec import (
    Assign,
    Axis,
    Binary,
    BinaryOp,
    Call,
    Cast,
    IndexValue,
    Kernel,
    Literal,
    LocalRead,
    Read,
    Reduce,
    Reduction,
    ScalarRead,
    Unary,
    UnaryOp,
    Value,
    Where,
    children,
)

Limits = tuple[int, int]
"""The least and the greatest value."""

# More elements or points than this fit no address space and no launch.
MOST_POINTS = 1 << 48
# Powers with longer results are not worked out: they leave every type.
_LONGEST_EXPONENT = 128
_ANYTHING: Limits = (-(1 << 10_000), 1 << 10_000)
_TRUTHS = frozenset(
    {
        BinaryOp.LESS,
        BinaryOp.LESS_EQUAL,
        BinaryOp.GREATER,
        BinaryOp.GREATER_EQUAL,
        BinaryOp.EQUAL,
        BinaryOp.NOT_EQUAL,
        BinaryOp.AND,
        BinaryOp.OR,
    }
)


def integer_range(dtype: DType) -> Limits | None:
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


def value_range(value: Value, nest: Nest | None = None) -> Limits | None:
    """Least and greatest value that `value` may have; None for floats. Many questions about one nest: `ValueRanges`."""
    return ValueRanges(nest).of(value)


def may_overflow(value: Value, nest: Nest | None = None) -> bool:
    """Whether the operation of the node `value` itself may leave its integer type, so that it has to wrap.

    Of its operands no more is asked than what they can be once they have wrapped. False for what is no integer."""
    return ValueRanges(nest).may_overflow(value)


class ValueRanges:
    """Intervals of the values of one nest. Every node is looked at once, however often it is asked for.

    Without a nest, axes and sizes may be any i64."""

    def __init__(self, nest: Nest | None = None) -> None:
        self._symbols = {} if nest is None else _symbol_ranges(nest)
        # By identity: hashing a tree takes as long as looking at it. Nodes are kept, so that none gets another's id.
        self._seen: dict[int, tuple[Value, Limits | None, Limits | None]] = {}

    def of(self, value: Value) -> Limits | None:
        """Least and greatest value that `value` may have; None for floats and complex numbers."""
        return self._look(value)[0]

    def may_overflow(self, value: Value) -> bool:
        """See the function of this name."""
        limits, exact = self._look(value)
        if limits is None or isinstance(value, Cast):
            return False
        whole = integer_range(value.dtype)
        return exact is None or whole is None or not _within(exact, whole)

    def _look(self, value: Value) -> tuple[Limits | None, Limits | None]:
        """What `value` can be, and what its operation can give before it wraps."""
        seen = self._seen.get(id(value))
        if seen is None:
            whole = integer_range(value.dtype)
            exact = None if whole is None else self._exact(value, whole)
            limits = exact if exact is not None and whole is not None and _within(exact, whole) else whole
            seen = self._seen[id(value)] = value, limits, exact
        return seen[1], seen[2]

    def _exact(self, value: Value, whole: Limits) -> Limits:
        match value:
            case Literal():
                number = int(value.value)
                return number, number
            case ScalarRead() | Read() | LocalRead():
                return whole
            case IndexValue():
                return self._index(value.index, whole)
            case Unary(op=UnaryOp.NOT):
                return 0, 1
            case Unary():
                low, high = self._operand(value.operand)
                return -high, -low
            case Binary():
                return self._binary(value)
            case Where():
                return _hull(self._operand(value.then), self._operand(value.otherwise))
            case Cast():
                return self.of(value.operand) or whole
            case Call():
                return self._call(value, whole)
            case Reduce():
                return self._reduce(value, whole)
            case _:
                assert_never(value)

    def _operand(self, value: Value) -> Limits:
        """Of an operand of an integer operation, which is an integer (or bool) too."""
        limits = self.of(value)
        assert limits is not None, "an operation on integers has integer operands"
        return limits

    def _index(self, index: Expr, whole: Limits) -> Limits:
        """An expression of axes and sizes is exact, and a call that takes it beyond 64 bits is refused."""
        found = bounds(index, {name: self._symbols.get(name, Range(*whole)) for name in symbols(index)})
        low = whole[0] if math.isinf(found.low) else max(int(found.low), whole[0])
        high = whole[1] if math.isinf(found.high) else min(int(found.high), whole[1])
        return (low, high) if low <= high else whole

    def _binary(self, value: Binary) -> Limits:
        if value.op in _TRUTHS:
            return 0, 1
        a, b = self._operand(value.left), self._operand(value.right)
        match value.op:
            case BinaryOp.ADD:
                return a[0] + b[0], a[1] + b[1]
            case BinaryOp.SUBTRACT:
                return a[0] - b[1], a[1] - b[0]
            case BinaryOp.MULTIPLY:
                return _spanned(x * y for x in a for y in b)
            case BinaryOp.FLOOR_DIVIDE:
                return _quotient(a, b)
            case BinaryOp.REMAINDER:
                return _remainder(a, b)
            case BinaryOp.POWER:
                return _power(a, b)
            case _:
                raise AssertionError(f"`{value.op.value}` of integers")

    def _call(self, value: Call, whole: Limits) -> Limits:
        ranges = [self.of(a) for a in value.arguments]
        known = [r for r in ranges if r is not None]
        if len(known) < len(ranges):
            return whole  # of floats: `isnan`
        match value.function, known:
            case "maximum" | "fmax", [a, b]:
                return max(a[0], b[0]), max(a[1], b[1])
            case "minimum" | "fmin", [a, b]:
                return min(a[0], b[0]), min(a[1], b[1])
            case "clip", [x, low, high]:  # minimum(maximum(x, low), high)
                return min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1])
            case "abs", [x]:
                return (0 if x[0] <= 0 <= x[1] else min(abs(x[0]), abs(x[1]))), max(abs(x[0]), abs(x[1]))
            case "sign", [x]:
                return (x[0] > 0) - (x[0] < 0), (x[1] > 0) - (x[1] < 0)
            case "relu", [x]:
                return max(x[0], 0), max(x[1], 0)
            case _:
                return whole

    def _reduce(self, value: Reduce, whole: Limits) -> Limits:
        """Before it wraps, whatever the order: an interval of every partial result too."""
        match value.op:
            case Reduction.MAX | Reduction.MIN:
                return self._operand(value.body)
            case Reduction.ANY | Reduction.ALL:
                return 0, 1
            case Reduction.COUNT:
                return 0, self._points(value.axes)
            case Reduction.SUM:
                low, high = self._operand(value.body)
                points = self._points(value.axes)
                return min(low * points, 0), max(high * points, 0)
            case Reduction.PROD:
                body = self._operand(value.body)
                return body if body in ((0, 1), (1, 1), (0, 0)) else _ANYTHING
            case Reduction.ARGMAX | Reduction.ARGMIN:
                (axis,) = value.axes
                first = bounds(axis.lower, self._symbols).low
                last = bounds(axis.upper, self._symbols).high - 1
                return whole if math.isinf(first) or math.isinf(last) else (int(first), int(max(first, last)))
            case Reduction.MEAN:
                return whole
            case _:
                assert_never(value.op)

    def _points(self, axes: tuple[Axis, ...]) -> int:
        """The most points that `axes` can have together."""
        points = 1
        for axis in axes:
            most = bounds(axis.upper - axis.lower, self._symbols).high
            points *= int(min(max(most, 0), MOST_POINTS))
        return min(points, MOST_POINTS)


def _symbol_ranges(nest: Nest) -> dict[str, Range]:
    """What sizes and axes of the spec can be. An axis of several ranges (a `k` in two reductions) has all of them."""
    ranges: dict[str, Range] = {}
    for size in nest.kernel.sizes:
        constant = nest.constants.get(size.name)
        most = _most(size.name, nest.kernel) if constant is None else constant
        ranges[size.name] = Range(0 if constant is None else constant, most)
    values = [s.value for s in nest.kernel.statements] + [s.value for s in nest.stores]
    axes = [a for s in nest.kernel.statements for a in s.axes]
    axes += [a for node in _distinct(values) if isinstance(node, Reduce) for a in node.axes]
    by_name: dict[str, list[Axis]] = {}
    for axis in axes:
        by_name.setdefault(axis.name, []).append(axis)
    looking: set[str] = set()

    def range_of(name: str) -> Range:
        """Of an axis, after those of the outer axes that its ends mention."""
        if name in by_name and name not in looking:
            looking.add(name)
            found = [_of_axis(axis, nest.constants, range_of) for axis in by_name[name]]
            ranges[name] = Range(min(r.low for r in found), max(r.high for r in found))
        return ranges.get(name, ANY)

    for name in by_name:
        range_of(name)
    return ranges


def _of_axis(axis: Axis, constants: Mapping[str, int], range_of: Callable[[str], Range]) -> Range:
    lower, upper = substitute(axis.lower, constants), substitute(axis.upper, constants)
    known = {name: range_of(name) for name in symbols(lower) | symbols(upper)}
    first, last = bounds(lower, known), bounds(upper, known)
    return Range(first.low, max(first.low, min(last.high - 1, first.high + MOST_POINTS)))


def _most(size: str, kernel: Kernel) -> int:
    """The most that a size can be: no launch has more than MOST_POINTS points, no tensor as many elements. (A tensor of
    several axes may be empty, whatever one of them is.)"""
    extents = [a.upper - a.lower for s in kernel.statements if isinstance(s, Assign) for a in s.axes]
    extents += [
        t.extents[0]
        for t in kernel.tensors
        if t.rank == 1 and t.strides[0] is not None and t.strides[0].constant
    ]
    names = {s.name for s in kernel.sizes}
    most = (1 << 63) - 1
    for extent in extents:
        factors = {
            m[0].name if len(m) == 1 and isinstance(m[0], Sym) else "": c for m, c in extent.terms if m
        }
        if factors.keys() <= names and size in factors and all(c > 0 for c in factors.values()):
            constant = dict(extent.terms).get((), 0)
            most = min(most, (MOST_POINTS - constant) // factors[size])
    return most


def _distinct(values: list[Value]) -> Iterator[Value]:
    """All nodes below `values`, each object once."""
    seen: set[int] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            waiting += children(value)


def _within(inner: Limits, outer: Limits) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _hull(*limits: Limits) -> Limits:
    return min(low for low, _ in limits), max(high for _, high in limits)


def _spanned(corners: Iterator[int]) -> Limits:
    found = list(corners)
    return min(found), max(found)


def _signs(limits: Limits) -> tuple[Limits | None, bool, Limits | None]:
    """The negative part, whether 0 is inside, and the positive part."""
    low, high = limits
    return (
        (low, min(high, -1)) if low < 0 else None,
        low <= 0 <= high,
        (max(low, 1), high) if high > 0 else None,
    )


def _quotient(a: Limits, b: Limits) -> Limits:
    """Rounded down; 0 for a divisor of 0. Monotone in both where the divisor keeps its sign."""
    negative, zero, positive = _signs(b)
    parts = [_spanned(x // y for x in a for y in part) for part in (negative, positive) if part is not None]
    return _hull(*parts, *(((0, 0),) if zero else ()))


def _remainder(a: Limits, b: Limits) -> Limits:
    """The sign of the divisor; 0 for a divisor of 0."""
    negative, zero, positive = _signs(b)
    parts: list[Limits] = [(0, 0)] if zero else []
    if positive is not None:
        if a[0] >= 0 and a[1] < positive[0]:
            parts.append(a)
        else:
            parts.append((0, min(positive[1] - 1, a[1]) if a[0] >= 0 else positive[1] - 1))
    if negative is not None:
        parts.append((negative[0] + 1, 0))
    return _hull(*parts)


def _power(a: Limits, b: Limits) -> Limits:
    """Of a negative exponent the result is -1, 0 or 1."""
    parts: list[Limits] = []
    if b[0] < 0:
        parts.append((-1 if a[0] < 0 else 0, 1 if a[1] > 0 or a[0] < 0 else 0))
    if b[1] >= 0:
        first, last = max(b[0], 0), b[1]
        most = max(abs(a[0]), abs(a[1]))
        if last > _LONGEST_EXPONENT and most > 1:
            return _ANYTHING
        # 0 ** 0 is 1, and so is the power 0 of anything.
        size = max(most ** min(last, _LONGEST_EXPONENT), 1 if first == 0 else 0)
        if a[0] > 0:
            parts.append((a[0] ** min(first, _LONGEST_EXPONENT), size))
        elif a[0] == 0 or (first == last and last % 2 == 0):
            parts.append((0, size))
        elif first == last:
            parts.append((a[0] ** last, a[1] ** last))
        else:
            parts.append((-size, size))
    return _hull(*parts)
