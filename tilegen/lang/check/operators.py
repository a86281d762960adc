"""Unary and binary operators: operand kinds, the type they are computed in, operations on literals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilegen.dtypes import BOOL, DType, Kind
from tilegen.lang import syntax
from tilegen.lang.check.conversions import Free, Operand, arithmetic_type, settle, typed
from tilegen.lang.check.header import Number
from tilegen.lang.check.problems import Problems
from tilegen.lang.source import Span
from tilegen.lang.spec import Binary, BinaryOp, Unary, UnaryOp

if TYPE_CHECKING:
    from tilegen.lang.check.values import ValueBuilder

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
        return (
            Unary(UnaryOp.NOT, value, BOOL)
            if _is_bool(value.dtype, "not", node.operand.span, problems)
            else None
        )
    if isinstance(operand, Free) and not isinstance(operand.value, bool):
        return Free(-operand.value if node.op == "-" else operand.value)
    dtype = arithmetic_type([operand])
    if dtype is BOOL:
        problems.error(
            "TG0404",
            f"`{node.op}` takes a number, and this is a bool",
            node.operand.span,
            help="write `not`, or cast: `i32(…)`",
        )
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
    problems.error("TG0404", f"`{op}` takes bools, and this is {dtype}", span, help="compare: `… != 0`")
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
    if dtype.kind is Kind.COMPLEX:
        if op in _ORDER:
            problems.error(
                "TG0405",
                "complex numbers have no order",
                node.span,
                help="compare `real(…)`, `imag(…)` or `abs(…)`",
            )
            return False
        if op in (BinaryOp.FLOOR_DIVIDE, BinaryOp.REMAINDER, BinaryOp.POWER):
            problems.error(
                "TG0404",
                f"`{op.value}` is not defined for {dtype}",
                node.span,
                help="multiply instead: `z * z`"
                if op is BinaryOp.POWER
                else "compute with `real(…)` and `imag(…)`",
            )
            return False
        return True
    if dtype is BOOL and op not in _ORDER:
        problems.error(
            "TG0404",
            f"`{op.value}` takes numbers, and both operands are bools",
            node.span,
            help="write `and` or `or`, or cast: `i32(…)`",
        )
        return False
    if op is BinaryOp.DIVIDE and dtype.is_integer:
        problems.error(
            "TG0402",
            f"`/` is not defined for integers ({dtype})",
            node.span,
            help=f"write `{node.left.span.text} // {node.right.span.text}` to round down, or cast to a float: "
            f"`f32({node.left.span.text}) / {node.right.span.text}`",
        )
        return False
    return True


def _power_allowed(
    op: BinaryOp, dtype: DType, right: Operand, node: syntax.BinaryExpression, problems: Problems
) -> bool:
    negative = isinstance(right, Free) and right.value < 0
    if op is not BinaryOp.POWER or not dtype.is_integer or not negative:
        return True
    problems.error(
        "TG0404",
        "an integer cannot be raised to a negative power",
        node.right.span,
        help=f"cast to a float first: `f32({node.left.span.text})`",
    )
    return False


def _on_literals(
    op: BinaryOp, a: Number, b: Number, node: syntax.BinaryExpression, problems: Problems
) -> Free | None:
    """Operations on literals alone are done here, in Python's numbers."""
    if isinstance(a, bool) or isinstance(b, bool):
        if op in _EQUALITY and isinstance(a, bool) and isinstance(b, bool):
            return Free((a == b) is (op is BinaryOp.EQUAL))
        problems.error(
            "TG0404",
            f"`{op.value}` takes numbers, and this is a bool",
            node.span,
            help="write numbers, or `and`, `or` and `not` for bools",
        )
        return None
    if op is BinaryOp.DIVIDE and isinstance(a, int) and isinstance(b, int):
        problems.error(
            "TG0402",
            "`/` is not defined for integers",
            node.span,
            help=f"write `{a} // {b}` to round down, or a float: `{a}.0 / {b}`",
        )
        return None
    try:
        return Free(_compute(op, a, b))
    except (ZeroDivisionError, OverflowError, ValueError):
        problems.error(
            "TG0316",
            f"`{node.span.text}` has no value",
            node.span,
            help="write the value that is meant, or divide by another number",
        )
        return None


def _compute(op: BinaryOp, a: int | float, b: int | float) -> Number:
    match op:
        case BinaryOp.ADD:
            return a + b
        case BinaryOp.SUBTRACT:
            return a - b
        case BinaryOp.MULTIPLY:
            return a * b
        case BinaryOp.DIVIDE:
            return a / b
        case BinaryOp.FLOOR_DIVIDE:
            return a // b
        case BinaryOp.REMAINDER:
            return a % b
        case BinaryOp.POWER:
            return _power(a, b)
        case BinaryOp.LESS:
            return a < b
        case BinaryOp.LESS_EQUAL:
            return a <= b
        case BinaryOp.GREATER:
            return a > b
        case BinaryOp.GREATER_EQUAL:
            return a >= b
        case BinaryOp.EQUAL:
            return a == b
        case BinaryOp.NOT_EQUAL:
            return a != b
        case BinaryOp.AND | BinaryOp.OR:
            raise ValueError("`and` and `or` are not arithmetic")


def _power(a: int | float, b: int | float) -> int | float:
    if isinstance(a, int) and isinstance(b, int) and (b < 0 or b > 1024 or abs(a) > 1 << 64):
        raise ValueError("no integer result, or one far too large")
    result = a**b
    if not isinstance(result, int | float):
        raise ValueError("a complex result")
    return result
