"""Unary and binary operators: operand kinds, the type they are computed in, operations on literals."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from tilegen.dtypes import BOOL, I32, DType, Kind
from tilegen.lang import syntax
from tilegen.lang.check.header import Number
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.values.conversions import Free, Operand, arithmetic_type, settle, typed
from tilegen.lang.source import Span
from tilegen.lang.spec import Binary, BinaryOp, Unary, UnaryOp

if TYPE_CHECKING:
    from tilegen.lang.check.values.build import ValueBuilder

_LOGICAL = (BinaryOp.AND, BinaryOp.OR)
_EQUALITY = (BinaryOp.EQUAL, BinaryOp.NOT_EQUAL)
_ORDER = (BinaryOp.LESS, BinaryOp.LESS_EQUAL, BinaryOp.GREATER, BinaryOp.GREATER_EQUAL)


def build_unary(builder: ValueBuilder, node: syntax.UnaryExpression) -> Operand | None:
    operand = builder.build(node.operand)
    if operand is None:
        return None
    problems = builder.problems
    if node.op == "not":
        value = typed(operand)
        fits = _is_bool(value.dtype, "not", node.operand.span, problems)
        return Unary(UnaryOp.NOT, value, BOOL) if fits else None
    if isinstance(operand, Free) and not isinstance(operand.value, bool):
        return Free(-operand.value if node.op == "-" else operand.value)
    dtype = arithmetic_type([operand])
    if dtype is BOOL:
        problems.report("TG0404.sign", node.operand.span, op=node.op, text=node.operand.span.text)
        return None
    if node.op == "+":
        return operand
    converted = settle(operand, dtype, node.operand.span, problems)
    return None if converted is None else Unary(UnaryOp.NEGATE, converted, dtype)


def build_binary(builder: ValueBuilder, node: syntax.BinaryExpression) -> Operand | None:
    left, right = builder.build(node.left), builder.build(node.right)
    if left is None or right is None:
        return None
    op, problems = BinaryOp(node.op), builder.problems
    if op in _LOGICAL:
        return _logical(op, left, right, node, problems)
    if isinstance(left, Free) and isinstance(right, Free):
        return _on_literals(op, left.value, right.value, node, problems)
    dtype = arithmetic_type([left, right])
    if not _allowed(op, dtype, node, problems) or not _power_allowed(op, dtype, right, node, problems):
        return None
    a = settle(left, dtype, node.left.span, problems)
    b = settle(right, dtype, node.right.span, problems)
    if a is None or b is None:
        return None
    return Binary(op, a, b, BOOL if op in _EQUALITY or op in _ORDER else dtype)


def _is_bool(dtype: DType, op: str, span: Span, problems: Problems) -> bool:
    if dtype is BOOL:
        return True
    problems.report("TG0404.bools", span, op=op, type=dtype, text=span.text)
    return False


def _logical(
    op: BinaryOp, left: Operand, right: Operand, node: syntax.BinaryExpression, problems: Problems
) -> Operand | None:
    a, b = typed(left), typed(right)
    fits = _is_bool(a.dtype, op.value, node.left.span, problems)
    fits = _is_bool(b.dtype, op.value, node.right.span, problems) and fits
    return Binary(op, a, b, BOOL) if fits else None


def _allowed(op: BinaryOp, dtype: DType, node: syntax.BinaryExpression, problems: Problems) -> bool:
    if op in _EQUALITY:
        return True
    left, right = node.left.span.text, node.right.span.text
    if dtype.kind is Kind.COMPLEX:
        if op in _ORDER:
            problems.report("TG0405.comparison", node.span)
        elif op is BinaryOp.POWER:
            problems.report("TG0404.complex_power", node.span, op=op, type=dtype)
        elif op in (BinaryOp.FLOOR_DIVIDE, BinaryOp.REMAINDER):
            problems.report("TG0404.complex", node.span, op=op, type=dtype)
        else:
            return True
    elif dtype is BOOL and op not in _ORDER:
        problems.report("TG0404.numbers", node.span, op=op)
    elif op is BinaryOp.DIVIDE and dtype.is_integer:
        problems.report("TG0402", node.span, type=dtype, left=left, right=right)
    else:
        return True
    return False


def _power_allowed(
    op: BinaryOp, dtype: DType, right: Operand, node: syntax.BinaryExpression, problems: Problems
) -> bool:
    negative = isinstance(right, Free) and right.value < 0
    if op is not BinaryOp.POWER or not dtype.is_integer or not negative:
        return True
    problems.report("TG0404.negative_power", node.right.span, left=node.left.span.text)
    return False


def _on_literals(
    op: BinaryOp, a: Number, b: Number, node: syntax.BinaryExpression, problems: Problems
) -> Free | None:
    """Operations on literals alone are done here, in Python's numbers."""
    if isinstance(a, bool) or isinstance(b, bool):
        if op in _EQUALITY and isinstance(a, bool) and isinstance(b, bool):
            return Free((a == b) is (op is BinaryOp.EQUAL))
        problems.report("TG0404.literals", node.span, op=op)
        return None
    if op is BinaryOp.DIVIDE and isinstance(a, int) and isinstance(b, int):
        problems.report("TG0402", node.span, type=I32, left=node.left.span.text, right=node.right.span.text)
        return None
    try:
        return Free(_compute(op, a, b))
    except (ZeroDivisionError, OverflowError, ValueError):
        problems.report("TG0316.literals", node.span, text=node.span.text)
        return None


def _compute(op: BinaryOp, a: int | float, b: int | float) -> Number:
    if op is BinaryOp.POWER:
        return _power(a, b)
    return _COMPUTE[op](a, b)


_COMPUTE: dict[BinaryOp, Callable[[int | float, int | float], Number]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUBTRACT: operator.sub,
    BinaryOp.MULTIPLY: operator.mul,
    BinaryOp.DIVIDE: operator.truediv,
    BinaryOp.FLOOR_DIVIDE: operator.floordiv,
    BinaryOp.REMAINDER: operator.mod,
    BinaryOp.LESS: operator.lt,
    BinaryOp.LESS_EQUAL: operator.le,
    BinaryOp.GREATER: operator.gt,
    BinaryOp.GREATER_EQUAL: operator.ge,
    BinaryOp.EQUAL: operator.eq,
    BinaryOp.NOT_EQUAL: operator.ne,
}


def _power(a: int | float, b: int | float) -> int | float:
    if isinstance(a, int) and isinstance(b, int) and (b < 0 or b > 1024 or abs(a) > 1 << 64):
        raise ValueError("no integer result, or one far too large")
    result = a**b
    if not isinstance(result, int | float):
        raise ValueError("a complex result")
    return result
