"""Function calls and casts: arity, operand kinds, result types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilegen.dtypes import BOOL, DTYPES, F32, F64, DType, Kind
from tilegen.lang import syntax
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.values.conversions import (
    Free,
    Operand,
    arithmetic_type,
    default_type,
    explicit_cast,
    settle,
)
from tilegen.lang.check.values.functions import FUNCTIONS, ON_LITERALS, Operands, arity
from tilegen.lang.spec import Call, Literal, Value

if TYPE_CHECKING:
    from tilegen.lang.check.values.build import ValueBuilder


def build_call(builder: ValueBuilder, node: syntax.CallExpression) -> Operand | None:
    name, problems = node.function.name, builder.problems
    arguments = [builder.build(a) for a in node.arguments]
    dtype = builder.types.choices.get(name) or DTYPES.get(name)
    taken = arity(name)
    if len(arguments) != taken:
        case = "TG0407.where" if name == "where" else "TG0407.call"
        letters, given = ", ".join("xyz"[:taken]), len(arguments)
        problems.report(case, node.span, name=name, arity=taken, given=given, letters=letters)
        return None
    known = [a for a in arguments if a is not None]
    if len(known) < taken:
        return None
    if dtype is not None:
        return explicit_cast(known[0], dtype, node.span, problems)
    return _function(name, known, node, problems)


def _function(
    name: str, arguments: list[Operand], node: syntax.CallExpression, problems: Problems
) -> Operand | None:
    folded = _on_literals(name, arguments)
    if folded is not None:
        return folded
    operands = FUNCTIONS[name][1]
    dtype = arithmetic_type(arguments)
    if all(isinstance(a, Free) for a in arguments) and operands is Operands.FLOAT and dtype.is_integer:
        dtype = F32
        arguments = [Free(float(a.value)) if isinstance(a, Free) else a for a in arguments]
    if not _accepts(name, operands, dtype, node, problems):
        return None
    values = [settle(a, dtype, n.span, problems) for a, n in zip(arguments, node.arguments, strict=True)]
    known = tuple(v for v in values if v is not None)
    if len(known) < len(values):
        return None
    return _result(name, known, dtype)


def _result(name: str, arguments: tuple[Value, ...], dtype: DType) -> Value:
    if name in ("isnan", "isinf"):
        return Call(name, arguments, BOOL)
    if dtype.kind is Kind.COMPLEX:
        part = F64 if dtype.size == 16 else F32
        return Call(name, arguments, dtype if name == "conj" else part)
    if name in ("conj", "real"):
        return arguments[0]
    if name == "imag":
        return Literal(0.0 if dtype.kind is Kind.FLOAT else 0, dtype)
    return Call(name, arguments, dtype)


def _accepts(
    name: str, operands: Operands, dtype: DType, node: syntax.CallExpression, problems: Problems
) -> bool:
    accepted = {
        Operands.FLOAT: (Kind.FLOAT,),
        Operands.NUMBER: (Kind.FLOAT, Kind.INT, Kind.UINT),
        Operands.COMPLEX: (Kind.COMPLEX,),
        Operands.ANY_NUMBER: (Kind.FLOAT, Kind.INT, Kind.UINT, Kind.COMPLEX),
    }[operands]
    if dtype.kind in accepted:
        return True
    one = node.arguments[0].span.text if len(node.arguments) == 1 and dtype.kind is not Kind.COMPLEX else None
    case = "TG0408.complex" if dtype.kind is Kind.COMPLEX else "TG0408.cast"
    problems.report(case, node.span, name=name, accepted=operands, type=dtype, argument=one)
    return False


def _on_literals(name: str, arguments: list[Operand]) -> Free | None:
    function = ON_LITERALS.get(name)
    numbers = [a.value for a in arguments if isinstance(a, Free)]
    if function is None or len(numbers) < len(arguments) or any(default_type(n) is BOOL for n in numbers):
        return None
    try:
        return Free(float(function(*numbers)))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
