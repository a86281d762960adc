"""Floating-point operations that a kernel's meaning asks for."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.algebra import evaluate
from tilegen.dtypes import Kind
from tilegen.lang.spec import (
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
    Value,
    Where,
)

_ARITHMETIC = {BinaryOp.ADD, BinaryOp.SUBTRACT, BinaryOp.MULTIPLY, BinaryOp.DIVIDE, BinaryOp.POWER}
# Selection, sign and rounding: no arithmetic unit is counted for them.
_SELECTION = "abs floor ceil round trunc sign clip maximum minimum fmax fmin isnan isinf conj real imag relu"
_FREE = frozenset(_SELECTION.split(" "))
_COMPLEX = {
    BinaryOp.ADD: 2,
    BinaryOp.SUBTRACT: 2,
    BinaryOp.MULTIPLY: 6,
    BinaryOp.DIVIDE: 11,
    BinaryOp.POWER: 11,
}
_COMBINES = (Reduction.SUM, Reduction.PROD, Reduction.MEAN)


def flops(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """FLOP of one launch: + − * / ** on floats count 1 (complex: 2, 2, 6, 11, 11), a named function 1, a step of a sum,
    product or mean 1; comparisons, casts, selection and integers count 0. Of a `where` the dearer side counts."""
    return sum(round(_points(s.axes, sizes, s.value)) for s in kernel.statements)


def _points(axes: tuple[Axis, ...], sizes: Mapping[str, int], value: Value, own: int = 0) -> float:
    """Cost of `value` plus `own` at every point of `axes`; ends that use outer axes are taken at their mean."""
    points, middle = 1.0, dict(sizes)
    for axis in axes:
        low, high = evaluate(axis.lower, middle), evaluate(axis.upper, middle)
        if high <= low:
            return 0
        points *= high - low
        middle[axis.name] = (low + high - 1) // 2
    return points * (own + _cost(value, middle))


def _cost(value: Value, sizes: Mapping[str, int]) -> float:
    rounds = value.dtype.kind in (Kind.FLOAT, Kind.COMPLEX)
    match value:
        case Literal() | ScalarRead() | IndexValue() | Read() | LocalRead():
            return 0
        case Unary() | Cast():
            return _cost(value.operand, sizes)
        case Binary():
            own = 0
            if rounds and value.op in _ARITHMETIC:
                own = _COMPLEX[value.op] if value.dtype.kind is Kind.COMPLEX else 1
            return own + _cost(value.left, sizes) + _cost(value.right, sizes)
        case Where():
            sides = max(_cost(value.then, sizes), _cost(value.otherwise, sizes))
            return _cost(value.condition, sizes) + sides
        case Call():
            own = 1 if rounds and value.function not in _FREE else 0
            return own + sum(_cost(a, sizes) for a in value.arguments)
        case Reduce():
            return _points(value.axes, sizes, value.body, 1 if rounds and value.op in _COMBINES else 0)
