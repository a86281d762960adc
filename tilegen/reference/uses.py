"""What a value depends on: the axes it uses, and whether it only moves data."""

from __future__ import annotations

from tilegen.algebra import Expr, symbols
from tilegen.dtypes import Kind
from tilegen.lang.spec import (
    Assign,
    Binary,
    BinaryOp,
    Call,
    Cast,
    IndexValue,
    Kernel,
    Let,
    Literal,
    LocalRead,
    Read,
    Reduce,
    Reduction,
    ScalarRead,
    Unary,
    Value,
    Where,
    children,
    walk,
)

_ROUNDS_NEVER = (
    "abs floor ceil round trunc sign clip maximum minimum fmax fmin isnan isinf conj real imag relu"
)
_EXACT_CALLS = frozenset(_ROUNDS_NEVER.split(" "))
_INEXACT_REDUCTIONS = (Reduction.SUM, Reduction.PROD, Reduction.MEAN)


def axes_used(value: Value) -> frozenset[str]:
    """Names of the free axes (and sizes) in `value`; a reduction's own axes are not free."""
    found: set[str] = set()
    match value:
        case IndexValue():
            found |= symbols(value.index)
        case Read() | LocalRead():
            for index in value.indices:
                if isinstance(index, Expr):
                    found |= symbols(index)
    for child in children(value):
        found |= axes_used(child)
    if isinstance(value, Reduce):
        for axis in reversed(value.axes):
            found.discard(axis.name)
            found |= symbols(axis.lower) | symbols(axis.upper)
    return frozenset(found)


def is_movement(assign: Assign, kernel: Kernel | None = None) -> bool:
    """Whether the assignment only chooses and copies elements, so that its result is exact to the bit.

    A local value is looked up in `kernel`; without one it counts as arithmetic.
    """
    return moves(assign.value, kernel)


def moves(value: Value, kernel: Kernel | None) -> bool:
    match value:
        case Literal() | ScalarRead() | IndexValue():
            return True
        case Read():
            return all(isinstance(i, Expr) or is_exact(i, kernel) for i in value.indices)
        case LocalRead():
            let = _let(value.name, kernel)
            return let is not None and moves(let.value, kernel)
        case Where():
            decided = is_exact(value.condition, kernel)
            return decided and moves(value.then, kernel) and moves(value.otherwise, kernel)
        case _:
            return False


def is_exact(value: Value, kernel: Kernel | None) -> bool:
    """Whether no rounding can occur: integers, comparisons, and movement of floats."""
    for node in walk(value):
        rounds = node.dtype.kind in (Kind.FLOAT, Kind.COMPLEX)
        match node:
            case Binary() if rounds:
                return False
            case Binary() if node.op is BinaryOp.DIVIDE:
                return False
            case Call() if node.function not in _EXACT_CALLS:
                return False
            case Cast() if rounds and node.operand.dtype != node.dtype:
                if node.operand.dtype.kind is not Kind.FLOAT or node.operand.dtype.size > node.dtype.size:
                    return False
            case Reduce() if rounds and node.op in _INEXACT_REDUCTIONS:
                return False
            case LocalRead():
                let = _let(node.name, kernel)
                if let is None or not is_exact(let.value, kernel):
                    return False
            case Unary() | _:
                pass
    return True


def _let(name: str, kernel: Kernel | None) -> Let | None:
    if kernel is None:
        return None
    return next((s for s in kernel.statements if isinstance(s, Let) and s.name == name), None)
