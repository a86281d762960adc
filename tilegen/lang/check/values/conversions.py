"""Implicit and explicit conversions: literals that wait for a type, promotion, casts, stores."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen.dtypes import BOOL, F32, I32, I64, U32, U64, DType, Kind, compute_type, promote
from tilegen.lang.check.header import Number, literal_of, show_number
from tilegen.lang.check.problems import Problems
from tilegen.lang.source import Span
from tilegen.lang.spec import Cast, Literal, Reduce, Reduction, Value


@dataclass(frozen=True, slots=True)
class Free:
    """A literal (or an operation on literals) that takes the type of whatever it meets."""

    value: Number


Operand = Value | Free


def cast(value: Value, dtype: DType) -> Value:
    """`value` in `dtype`; no node where it has that type."""
    return value if value.dtype == dtype else Cast(value, dtype)


def settle(operand: Operand, dtype: DType, span: Span, problems: Problems) -> Value | None:
    """`operand` in `dtype` by the implicit conversions of an operation."""
    if not isinstance(operand, Free):
        return cast(operand, dtype)
    number = literal_of(operand.value, dtype, span, problems, in_expression=True)
    return None if number is None else Literal(number, dtype)


def default_type(value: Number) -> DType:
    """The type of a literal that meets no other type."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return F32
    return I32 if -(1 << 31) <= value < 1 << 31 else I64


def typed(operand: Operand) -> Value:
    """`operand` as a value; a literal gets the type it has by itself."""
    if not isinstance(operand, Free):
        return operand
    return Literal(operand.value, default_type(operand.value))


def common_type(operands: list[Operand]) -> DType:
    """The type operands meet in: promotion of those that have one, else what the literals are by themselves."""
    known = [o.dtype for o in operands if not isinstance(o, Free)]
    if not known:
        known = [default_type(o.value) for o in operands if isinstance(o, Free)]
    result = known[0]
    for dtype in known[1:]:
        result = promote(result, dtype)
    return result


def arithmetic_type(operands: list[Operand]) -> DType:
    """As `common_type`, with f16, bf16 and f8 computed in f32."""
    return compute_type(common_type(operands))


def is_float(dtype: DType) -> bool:
    return dtype.kind is Kind.FLOAT


def is_exact(source: DType, target: DType) -> bool:
    """Whether an integer or bool type fits into another whole."""
    return promote(source, target) == target


def store(operand: Operand, dtype: DType, target: str, span: Span, problems: Problems) -> Value | None:
    """`operand` as it is stored in `target`, an element of type `dtype`; what may lose an integer's value needs
    a cast."""
    if isinstance(operand, Free):
        return settle(operand, dtype, span, problems)
    source = operand.dtype
    if source == dtype:
        return operand
    if isinstance(operand, Reduce):
        fitted = _fit_reduction(operand, dtype)
        if fitted is not None:
            return fitted
    match source.kind, dtype.kind:
        case (Kind.FLOAT | Kind.INT | Kind.UINT | Kind.BOOL, Kind.FLOAT | Kind.COMPLEX):
            return Cast(operand, dtype)
        case (Kind.COMPLEX, Kind.COMPLEX):
            return Cast(operand, dtype)
        case (Kind.INT | Kind.UINT | Kind.BOOL, Kind.INT | Kind.UINT) if is_exact(source, dtype):
            return Cast(operand, dtype)
    match source.kind, dtype:
        case Kind.COMPLEX, _:
            case = "TG0403.complex"
        case _, _ if dtype is BOOL:
            case = "TG0403.bool"
        case Kind.FLOAT, _:
            case = "TG0403.float"
        case _:
            case = "TG0403.integer"
    problems.report(case, span, target=target, type=dtype, value_type=source, text=span.text)
    return None


def _fit_reduction(value: Reduce, dtype: DType) -> Value | None:
    """`count` counts in the integer type it is stored in; an arg-reduction may be stored in i32."""
    if value.op is Reduction.COUNT and dtype in (I32, U32, I64, U64):
        return replace(value, dtype=dtype)
    if value.op in (Reduction.ARGMAX, Reduction.ARGMIN) and dtype in (I32, I64):
        return Cast(value, dtype)
    return None


def explicit_cast(operand: Operand, dtype: DType, span: Span, problems: Problems) -> Value | None:
    """`f32(x)`."""
    if isinstance(operand, Free):
        value = operand.value
        if dtype.is_integer and isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                problems.report("TG0412.float", span, value=show_number(value), type=dtype)
                return None
            value = int(value)
        if dtype is BOOL:
            return Literal(bool(value), BOOL)
        if isinstance(value, bool):
            value = int(value)
        return settle(Free(value), dtype, span, problems)
    source = operand.dtype
    if source.kind is Kind.COMPLEX and dtype.kind is not Kind.COMPLEX:
        problems.report("TG0412.complex", span, source=source, type=dtype)
        return None
    return cast(operand, dtype)
