"""Rewrites by ranges, and questions about the form of an expression."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tilegen.algebra.expression import (
    ZERO,
    Apply,
    Atom,
    Expr,
    Monomial,
    Op,
    Sym,
    atom_key,
    expr,
    floor_div,
    from_terms,
    mod,
    sym,
    symbols,
    without_factor,
)
from tilegen.algebra.ranges import Range, bounds
from tilegen.algebra.values import apply


def simplify(value: Expr, ranges: Mapping[str, Range]) -> Expr:
    """Drop divisions and remainders that the ranges decide: `(8*r + t) // 8` is `r` for `0 <= t < 8`."""
    total = ZERO
    for monomial, coefficient in value.terms:
        term = expr(coefficient)
        for atom in monomial:
            term = term * _simplify_atom(atom, ranges)
        total = total + term
    return _recombine(total)


def _recombine(value: Expr) -> Expr:
    """`d * k * (x // d) + k * (x % d)` is `k * x`; `d * k * (x // d % m) + k * (x % d)` is `k * (x % (d * m))`."""
    terms = dict(value.terms)
    for monomial, coefficient in value.terms:
        for atom in monomial:
            if not isinstance(atom, Apply) or atom.op is not Op.MOD:
                continue
            d = atom.right.constant
            if d is None:
                continue
            rest = without_factor(monomial, (atom,)) or ()
            quotient = Apply(Op.FLOOR_DIV, atom.left, atom.right)
            partner = tuple(sorted((*rest, quotient), key=atom_key))
            if terms.get(monomial) == coefficient and terms.get(partner) == coefficient * d:
                del terms[monomial], terms[partner]
                whole = from_terms(terms) + Expr(((rest, coefficient),)) * atom.left
                return _recombine(whole)
            longer = _longer_remainder(terms, monomial, coefficient, atom, rest)
            if longer is not None:
                return _recombine(longer)
    return value


def _longer_remainder(
    terms: Mapping[Monomial, int], monomial: Monomial, coefficient: int, atom: Apply, rest: Monomial
) -> Expr | None:
    d = atom.right.constant
    for other, k in terms.items():
        digit = next((a for a in other if isinstance(a, Apply) and a.op is Op.MOD and a != atom), None)
        if digit is None or d is None or k != coefficient * d or without_factor(other, (digit,)) != rest:
            continue
        m = digit.right.constant
        if m is not None and digit.left == floor_div(atom.left, expr(d)):
            kept = from_terms({t: c for t, c in terms.items() if t not in (monomial, other)})
            return kept + Expr(((rest, coefficient),)) * mod(atom.left, expr(d * m))
    return None


def _simplify_atom(atom: Atom, ranges: Mapping[str, Range]) -> Expr:
    if isinstance(atom, Sym):
        return sym(atom.name)
    left, right = simplify(atom.left, ranges), simplify(atom.right, ranges)
    c = right.constant
    a, b = bounds(left, ranges), bounds(right, ranges)
    match atom.op:
        case Op.FLOOR_DIV if a.low >= 0 and a.high < b.low:
            return ZERO
        case Op.MOD if a.low >= 0 and a.high < b.low:
            return left
        case Op.FLOOR_DIV if c is not None and c > 0:
            quotient, remainder = _split(left, c)
            r = bounds(remainder, ranges)
            if quotient.terms and r.low >= 0 and r.high < c:
                return quotient
            common = _common_factor(left, c, ranges)
            if common is not None:
                factor, whole, _ = common
                return simplify(floor_div(whole, expr(c // factor)), ranges)
        case Op.MOD if c is not None and c > 0 and (common := _common_factor(left, c, ranges)) is not None:
            factor, whole, small = common
            return simplify(mod(whole, expr(c // factor)), ranges) * factor + small
        case Op.MIN if a.high <= b.low:
            return left
        case Op.MIN if b.high <= a.low:
            return right
        case Op.MAX if a.low >= b.high:
            return left
        case Op.MAX if b.low >= a.high:
            return right
        case _:
            pass
    result = apply(atom.op, left, right)
    if atom.op is Op.MOD and result.terms:
        r = bounds(result, ranges)
        inner = result.terms[0][0][0] if len(result.terms) == 1 and len(result.terms[0][0]) == 1 else None
        if isinstance(inner, Apply) and inner.op is Op.MOD:
            r = bounds(inner.left, ranges)
            if r.low >= 0 and r.high < bounds(inner.right, ranges).low:
                return inner.left
    return result


def _common_factor(value: Expr, divisor: int, ranges: Mapping[str, Range]) -> tuple[int, Expr, Expr] | None:
    """`value = factor * whole + small` with `factor > 1` dividing `divisor` and `0 <= small < factor` by the ranges."""
    candidates = {math.gcd(c, divisor) for _, c in value.terms if c % divisor}
    for factor in sorted(candidates - {1}, reverse=True):
        whole, small = _split(value, factor)
        r = bounds(small, ranges)
        if whole.terms and r.low >= 0 and r.high < factor:
            return factor, whole, small
    return None


def _split(value: Expr, divisor: int) -> tuple[Expr, Expr]:
    """`value = divisor * quotient + remainder`, term by term."""
    quotient = from_terms({m: c // divisor for m, c in value.terms})
    return quotient, value - quotient * divisor


def linear_parts(value: Expr, names: Iterable[str]) -> tuple[dict[str, Expr], Expr] | None:
    """Write `value` as `sum(coefficient[n] * n) + rest` with neither depending on `names`; None if it cannot be."""
    wanted = frozenset(names)
    coefficients: dict[str, Expr] = {}
    rest = ZERO
    for monomial, coefficient in value.terms:
        inside = [a for a in monomial if isinstance(a, Sym) and a.name in wanted]
        others = tuple(a for a in monomial if not (isinstance(a, Sym) and a.name in wanted))
        if (
            any(isinstance(a, Apply) and symbols(Expr((((a,), 1),))) & wanted for a in others)
            or len(inside) > 1
        ):
            return None
        term = Expr(((others, coefficient),))
        if inside:
            name = inside[0].name
            coefficients[name] = coefficients.get(name, ZERO) + term
        else:
            rest = rest + term
    return coefficients, rest


def divisions(value: Expr) -> int:
    """How many divisions and remainders it takes to compute `value`."""
    total = 0
    for monomial, _ in value.terms:
        for atom in monomial:
            if isinstance(atom, Apply):
                own = atom.op in (Op.FLOOR_DIV, Op.MOD)
                total += own + divisions(atom.left) + divisions(atom.right)
    return total
