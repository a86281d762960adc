"""Integer arithmetic as the language defines it: every operation wraps in its own type.

In C signed overflow is undefined, so an operation that may leave its type is done on unsigned numbers. Below 32 bits C
computes in `int`; results are cut down to their type.
"""

from __future__ import annotations

from tilegen.cuda.tree import (
    INT,
    LONG_LONG,
    UNSIGNED,
    UNSIGNED_LONG_LONG,
    Binary,
    Cast,
    Expression,
    Infix,
    Literal,
    Scalar,
    library,
    negated,
)
from tilegen.cuda.types import UNSIGNED_OF, ElementTypes
from tilegen.dtypes import DType, Kind

_UNSIGNED = {INT: UNSIGNED, LONG_LONG: UNSIGNED_LONG_LONG}


def as_unsigned(value: Expression, type_: Scalar) -> Expression:
    """`value`, of the signed type `type_`, as an unsigned number of the same bits."""
    unsigned = _UNSIGNED[type_]
    match value:
        case Literal(value=number) if not isinstance(number, float) and number >= 0:
            return Literal(number, unsigned)
        case Cast(type=t, operand=Cast() | Binary() as operand) if t == type_ and _is_unsigned(
            operand, unsigned
        ):
            return operand
        case _:
            return Cast(unsigned, value)


def _is_unsigned(value: Expression, unsigned: Scalar) -> bool:
    """Whether C computes `value` in the unsigned type; asked of what `operation` made."""
    match value:
        case Cast():
            return value.type == unsigned
        case Literal():
            return value.type == unsigned
        case Binary(op=Infix.ADD | Infix.SUBTRACT | Infix.MULTIPLY):
            return _is_unsigned(value.left, unsigned)
        case _:
            return False


def operation(
    op: Infix, left: Expression, right: Expression, dtype: DType, types: ElementTypes, overflows: bool
) -> Expression:
    """`left op right` for a sum, a difference or a product of `dtype`. `overflows`: it may leave the type."""
    type_ = types.storage(dtype)
    plain = Binary(op, left, right)
    if not dtype.is_integer:
        return plain
    if dtype.size < 4:
        # The product of two u16 does not fit an int.
        wide = dtype.kind is Kind.UINT and dtype.size == 2 and op is Infix.MULTIPLY
        return Cast(type_, Binary(op, Cast(UNSIGNED, left), right) if wide else plain)
    if dtype.kind is Kind.UINT or not overflows:
        return plain
    return Cast(type_, Binary(op, as_unsigned(left, type_), as_unsigned(right, type_)))


def negative(value: Expression, dtype: DType, types: ElementTypes, overflows: bool) -> Expression:
    """`-value`; of the least number it is that number."""
    type_ = types.storage(dtype)
    if not dtype.is_integer:
        return negated(value)
    if dtype.size < 4:
        return Cast(type_, negated(value))
    if dtype.kind is Kind.UINT or overflows:
        unsigned = type_ if dtype.kind is Kind.UINT else _UNSIGNED[type_]
        operand = value if dtype.kind is Kind.UINT else as_unsigned(value, type_)
        difference = Binary(Infix.SUBTRACT, Literal(0, unsigned), operand)
        return difference if dtype.kind is Kind.UINT else Cast(type_, difference)
    return negated(value)


def floored(
    op: Infix, left: Expression, right: Expression, dtype: DType, types: ElementTypes, proper: bool
) -> Expression:
    """`//` or `%` rounded down. `proper`: the divisor is neither 0 nor -1, for which C has no answer."""
    name = "floor_div" if op is Infix.DIVIDE else "floor_mod"
    type_ = types.storage(dtype)
    return library(name if proper else f"defined_{name}", left, right, template=(type_,))


def accumulator(dtype: DType, types: ElementTypes) -> Scalar:
    """The type in which sums and products of `dtype` wrap without being undefined: unsigned for integers."""
    return UNSIGNED_OF[dtype.name] if dtype.is_integer else types.value(dtype)
