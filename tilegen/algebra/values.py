"""Replace symbols by expressions or by numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from tilegen.algebra.expression import (
    ZERO,
    Apply,
    Atom,
    Expr,
    Op,
    Sym,
    expr,
    floor_div,
    maximum,
    minimum,
    mod,
    sym,
    symbols,
    xor,
)


def substitute(value: Expr, replacements: Mapping[str, Expr | int]) -> Expr:
    """Replace symbols by expressions, everywhere at once, and fold what becomes constant."""
    if not replacements or not (symbols(value) & replacements.keys()):
        return value
    total = ZERO
    for monomial, coefficient in value.terms:
        term = expr(coefficient)
        for atom in monomial:
            term = term * _substitute_atom(atom, replacements)
        total = total + term
    return total


def _substitute_atom(atom: Atom, replacements: Mapping[str, Expr | int]) -> Expr:
    if isinstance(atom, Sym):
        return expr(replacements[atom.name]) if atom.name in replacements else sym(atom.name)
    return apply(atom.op, substitute(atom.left, replacements), substitute(atom.right, replacements))


def apply(op: Op, left: Expr, right: Expr) -> Expr:
    """Build `left op right` in canonical form."""
    match op:
        case Op.FLOOR_DIV:
            return floor_div(left, right)
        case Op.MOD:
            return mod(left, right)
        case Op.MIN:
            return minimum(left, right)
        case Op.MAX:
            return maximum(left, right)
        case Op.XOR:
            return xor(left, right)


_EVALUATE: dict[Op, Callable[[Any, Any], Any]] = {
    Op.FLOOR_DIV: lambda a, b: a // b,
    Op.MOD: lambda a, b: a % b,
    Op.XOR: lambda a, b: a ^ b,
    Op.MIN: lambda a, b: _select(a, b, smaller=True),
    Op.MAX: lambda a, b: _select(a, b, smaller=False),
}


def _select(a: Any, b: Any, *, smaller: bool) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if smaller else max(a, b)
    import numpy

    return numpy.minimum(a, b) if smaller else numpy.maximum(a, b)


def evaluate(value: Expr, values: Mapping[str, Any]) -> Any:
    """The number `value` stands for. `values` maps every symbol to an int or to NumPy int64 arrays that broadcast.

    Raises KeyError for a symbol without a value and ZeroDivisionError for a division by the integer 0.
    """
    total: Any = 0
    for monomial, coefficient in value.terms:
        term: Any = coefficient
        for atom in monomial:
            if isinstance(atom, Sym):
                factor = values[atom.name]
            else:
                factor = _EVALUATE[atom.op](evaluate(atom.left, values), evaluate(atom.right, values))
            term = factor if isinstance(term, int) and term == 1 else term * factor
        total = term if isinstance(total, int) and total == 0 else total + term
    return total


def as_function(value: Expr, name: str) -> Callable[[int], int]:
    """`value` as a function of its only symbol `name`, for evaluation at many places."""
    text = str(substitute(value, {name: sym("x")}))
    return cast("Callable[[int], int]", eval(f"lambda x: {text}", {"min": min, "max": max}))


def zero_divisor(value: Expr, values: Mapping[str, int]) -> Apply | None:
    """The innermost division or remainder of `value` whose divisor is 0 where symbols have these `values`."""
    for monomial, _ in value.terms:
        for atom in monomial:
            if not isinstance(atom, Apply):
                continue
            inner = zero_divisor(atom.left, values) or zero_divisor(atom.right, values)
            if inner is not None:
                return inner
            if atom.op in (Op.FLOOR_DIV, Op.MOD) and substitute(atom.right, dict(values)).constant == 0:
                return atom
    return None
