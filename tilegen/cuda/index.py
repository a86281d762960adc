"""Index expressions as trees of C, written as a person would: coordinates first, Horner's form where it is one.
Division and remainder of what may be negative go through a function that rounds down."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilegen.algebra import Apply, Atom, Expr, Op, Range, Sym, bounds, exact_quotient, symbols
from tilegen.cuda.tree import (
    INDEX,
    Binary,
    Conditional,
    Expression,
    Infix,
    Literal,
    Scalar,
    binary,
    library,
    multiply,
    negated,
    number,
)


def _rank(monomial: tuple[Atom, ...]) -> int:
    """Origins and digits of the thread before serial steps, those before lanes."""
    names = [a.name for a in monomial if isinstance(a, Sym)]
    return max((2 if n in ("@lane", "@row") else 1 if n.startswith("@step") else 0 for n in names), default=0)


class IndexBuilder:
    """`at(symbol)` gives the tree of a symbol, `range_of(symbol)` what is known of its value; symbols for which
    `leading` holds come first in sums and products. `host`: without the functions of device code;
    `type_`: what is computed in."""

    def __init__(
        self,
        at: Callable[[str], Expression],
        range_of: Callable[[str], Range],
        leading: Callable[[str], bool],
        host: bool = False,
        type_: Scalar = INDEX,
    ) -> None:
        self._type = type_
        self._at, self._range_of, self._leading, self._host = at, range_of, leading, host

    def __call__(self, value: Expr) -> Expression:
        if not value.terms:
            return number(0)
        nested = self._nested(value)
        if nested is not None:
            return nested
        return _sum(self._terms(value))

    def _nested(self, value: Expr) -> Expression | None:
        """Horner's form, as dense indices are written: `((n * H + h) * W + w)`; None where it is not one."""
        low = [(m, c) for m, c in value.terms if abs(c) == 1 and all(self._coordinate(a) for a in m)]
        high = [(m, c) for m, c in value.terms if (m, c) not in low]
        if len(high) < 2 or any(not any(self._coordinate(a) for a in m) for m, _ in high):
            return None
        common = list(high[0][0])
        for m, _ in high[1:]:
            common = [a for n, a in enumerate(common) if common[: n + 1].count(a) <= m.count(a)]
        common = [a for a in common if not self._coordinate(a)]
        factor_number = math.gcd(*(c for _, c in high))
        if not common and factor_number == 1:
            return None
        factor = Expr(((tuple(common), factor_number),))
        inner = exact_quotient(Expr(tuple(high)), factor)
        assert inner is not None
        scaled = self(inner)
        if factor_number != 1 and common:
            scaled = multiply(scaled, self(factor))
        else:
            for part in self._factors(tuple(common), factor_number):
                scaled = multiply(scaled, part)
        if not low:
            return scaled
        rest = self._terms(Expr(tuple(low)))
        return _sum([(False, scaled), *rest])

    def _terms(self, value: Expr) -> list[tuple[bool, Expression]]:
        terms = sorted(
            self._factored(value),
            key=lambda t: (t[2] < 0, not t[0], not self._leads(t[0]), _rank(t[0]), -len(t[0])),
        )
        return [(c < 0, self._product(m, bracket, abs(c))) for m, bracket, c in terms]

    def _coordinate(self, atom: Atom) -> bool:
        return isinstance(atom, Apply) or self._leading(atom.name)

    def _factored(self, value: Expr) -> list[tuple[tuple[Atom, ...], Expr | None, int]]:
        """Terms as (atoms, bracket, coefficient): what multiplies one coordinate is gathered in a bracket."""
        groups: dict[Atom, list[tuple[tuple[Atom, ...], int]]] = {}
        loose: list[tuple[tuple[Atom, ...], Expr | None, int]] = []
        for monomial, coefficient in value.terms:
            leading = [a for a in monomial if isinstance(a, Sym) and self._leading(a.name)]
            if len(leading) == 1:
                rest = tuple(a for a in monomial if a != leading[0])
                groups.setdefault(leading[0], []).append((rest, coefficient))
            else:
                loose.append((monomial, None, coefficient))
        for atom, parts in groups.items():
            if len(parts) == 1:
                rest, coefficient = parts[0]
                loose.append((tuple(sorted((atom, *rest), key=str)), None, coefficient))
            else:
                bracket = sum((Expr(((rest, c),)) for rest, c in parts), Expr(()))
                sign = -1 if all(c < 0 for _, c in parts) else 1
                loose.append(((atom,), bracket * sign, sign))
        return loose

    def _leads(self, monomial: tuple[Atom, ...]) -> bool:
        return any(isinstance(a, Apply) or self._leading(a.name) for a in monomial)

    def _factors(self, monomial: tuple[Atom, ...], coefficient: int) -> list[Expression]:
        atoms = sorted(monomial, key=lambda a: not (isinstance(a, Apply) or self._leading(a.name)))
        factors = [self._atom(a) for a in atoms]
        return [*factors, Literal(coefficient)] if coefficient != 1 or not factors else factors

    def _product(self, monomial: tuple[Atom, ...], bracket: Expr | None, coefficient: int) -> Expression:
        if bracket is None:
            first, *rest = self._factors(monomial, coefficient)
        else:
            first, *rest = [*self._factors(monomial, 1), self(bracket)]
            rest += [Literal(coefficient)] if coefficient != 1 else []
        for factor in rest:
            first = Binary(Infix.MULTIPLY, first, factor)
        return first

    def _atom(self, atom: Atom) -> Expression:
        if isinstance(atom, Sym):
            return self._at(atom.name)
        left, right = self(atom.left), self(atom.right)
        match atom.op:
            case Op.FLOOR_DIV | Op.MOD:
                return self._division(atom, left, right)
            case Op.XOR:
                return Binary(Infix.BIT_XOR, left, right)
            case Op.MIN | Op.MAX:
                smaller = Infix.LESS if atom.op is Op.MIN else Infix.GREATER
                return Conditional(Binary(smaller, left, right), left, right)

    def _division(self, atom: Apply, left: Expression, right: Expression) -> Expression:
        ranges = {n: self._range_of(n) for n in symbols(atom.left)}
        if bounds(atom.left, ranges).low < 0:
            if self._host:
                return _host_division(atom.op, left, right)
            name = "floor_div" if atom.op is Op.FLOOR_DIV else "floor_mod"
            return library(name, left, right, template=(self._type,))
        return Binary(Infix.DIVIDE if atom.op is Op.FLOOR_DIV else Infix.REMAINDER, left, right)


def _sum(terms: list[tuple[bool, Expression]]) -> Expression:
    """The sum of terms, each negative or not."""
    negative, total = terms[0]
    if negative:
        total = negated(total)
    for negative, term in terms[1:]:
        total = Binary(Infix.SUBTRACT if negative else Infix.ADD, total, term)
    return total


def _host_division(op: Op, a: Expression, b: Expression) -> Expression:
    """Rounded down, without a function."""
    remainder = Binary(Infix.REMAINDER, a, b)
    if op is Op.MOD:
        return Binary(Infix.REMAINDER, Binary(Infix.ADD, remainder, b), b)
    up = binary(Infix.SUBTRACT, Binary(Infix.ADD, negated(a), b), 1)
    below = negated(Binary(Infix.DIVIDE, up, b))
    return Conditional(binary(Infix.GREATER_EQUAL, a, 0), Binary(Infix.DIVIDE, a, b), below)
