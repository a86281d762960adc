"""What is known of an expression from the ranges of its symbols: its own bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tilegen.algebra.expression import Apply, Atom, Expr, Op, Sym


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds; an unbounded side is `-math.inf` or `math.inf`."""

    low: float
    high: float


NON_NEGATIVE = Range(0, math.inf)
ANY = Range(-math.inf, math.inf)


def bounds(value: Expr, ranges: Mapping[str, Range]) -> Range:
    """Interval that contains every value of the expression; symbols without a range are unbounded."""
    low: float = 0
    high: float = 0
    for monomial, coefficient in value.terms:
        term = Range(coefficient, coefficient)
        for atom in monomial:
            term = _multiply(term, _atom_bounds(atom, ranges))
        low, high = low + term.low, high + term.high
    return Range(low, high)


def size_bound(value: Expr, ranges: Mapping[str, Range]) -> float:
    """A bound on the size of every part of `value`: a sum of some terms, a product of some factors, what is divided or
    compared in it. Infinite where a symbol has no bound."""
    total: float = 0
    inside: float = 0
    for monomial, coefficient in value.terms:
        size: float = abs(coefficient)
        for atom in monomial:
            limits = _atom_bounds(atom, ranges)
            size *= max(abs(limits.low), abs(limits.high), 1)
            if isinstance(atom, Apply):
                inside = max(inside, size_bound(atom.left, ranges), size_bound(atom.right, ranges))
        total += size
    return max(total, inside)


def _multiply(a: Range, b: Range) -> Range:
    corners = [0 if x == 0 or y == 0 else x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(corners), max(corners))


def _atom_bounds(atom: Atom, ranges: Mapping[str, Range]) -> Range:
    if isinstance(atom, Sym):
        return ranges.get(atom.name, ANY)
    a, b = bounds(atom.left, ranges), bounds(atom.right, ranges)
    match atom.op:
        case Op.MIN:
            return Range(min(a.low, b.low), min(a.high, b.high))
        case Op.MAX:
            return Range(max(a.low, b.low), max(a.high, b.high))
        case Op.FLOOR_DIV:
            if b.low < 1:
                return ANY
            corners = [_floor_quotient(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
            return Range(min(corners), max(corners))
        case Op.MOD:
            if b.low < 1:
                return ANY
            if a.low >= 0 and a.high < b.low:
                return a
            return Range(0, min(b.high - 1, a.high) if a.low >= 0 else b.high - 1)
        case Op.XOR:
            if a.low < 0 or b.low < 0 or math.isinf(a.high) or math.isinf(b.high):
                return ANY
            return Range(0, (1 << max(int(a.high).bit_length(), int(b.high).bit_length())) - 1)


def _floor_quotient(a: float, b: float) -> float:
    if math.isinf(a):
        return a
    return (0 if a >= 0 else -1) if math.isinf(b) else int(a) // int(b)
