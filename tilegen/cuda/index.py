"""Print index expressions as C. Division and remainder of what may be negative go through a helper that rounds down."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilegen.algebra import Apply, Atom, Expr, Op, Range, Sym, bounds, exact_quotient, symbols

_ADD, _MULTIPLY, _ATOM = 1, 2, 3


def _rank(monomial: tuple[Atom, ...]) -> int:
    """Origins and digits of the thread before serial steps, those before lanes."""
    names = [a.name for a in monomial if isinstance(a, Sym)]
    return max((2 if n in ("@lane", "@row") else 1 if n.startswith("@step") else 0 for n in names), default=0)


class IndexPrinter:
    """`name(symbol)` gives the C text of a symbol, `range_of(symbol)` what is known of its value; symbols for which
    `leading` holds come first in sums and products. `host`: without the helpers of device code."""

    def __init__(
        self,
        name: Callable[[str], str],
        range_of: Callable[[str], Range],
        leading: Callable[[str], bool],
        host: bool = False,
    ) -> None:
        self._name, self._range_of, self._leading, self._host = name, range_of, leading, host
        self.helpers: set[str] = set()

    def __call__(self, value: Expr, minimum: int = 0) -> str:
        """C text of `value`; parenthesised if it binds less tightly than `minimum` (1 sum, 2 product, 3 operand)."""
        text, level = self._sum(value)
        return f"({text})" if level < minimum else text

    def _sum(self, value: Expr) -> tuple[str, int]:
        if not value.terms:
            return "0", _ATOM
        nested = self._nested(value)
        if nested is not None:
            return nested, _ADD
        terms = sorted(
            self._factored(value),
            key=lambda t: (t[2] < 0, not t[0], not self._leads(t[0]), _rank(t[0]), -len(t[0])),
        )
        if len(terms) == 1 and terms[0][2] > 0:
            return self._product(*terms[0])
        text = ""
        for monomial, bracket, coefficient in terms:
            sign = "-" if coefficient < 0 else "+"
            part, _ = self._product(monomial, bracket, abs(coefficient))
            text += f" {sign} {part}" if text else ("-" if coefficient < 0 else "") + part
        return text, _ADD

    def _nested(self, value: Expr) -> str | None:
        """Horner's form, as dense indices are written: `((n * H + h) * W + w)`; None where it is not one."""
        low = [(m, c) for m, c in value.terms if abs(c) == 1 and all(self._coordinate(a) for a in m)]
        high = [(m, c) for m, c in value.terms if (m, c) not in low]
        if len(high) < 2 or any(not any(self._coordinate(a) for a in m) for m, _ in high):
            return None
        common = list(high[0][0])
        for m, _ in high[1:]:
            common = [a for n, a in enumerate(common) if common[: n + 1].count(a) <= m.count(a)]
        common = [a for a in common if not self._coordinate(a)]
        number = math.gcd(*(c for _, c in high))
        if not common and number == 1:
            return None
        factor = Expr(((tuple(common), number),))
        inner = exact_quotient(Expr(tuple(high)), factor)
        assert inner is not None
        text = f"{self(inner, _ATOM)} * {self(factor, _ATOM if number != 1 and common else _MULTIPLY)}"
        if low:
            rest, _ = self._sum(Expr(tuple(low)))
            text += f" - {rest[1:]}" if rest.startswith("-") else f" + {rest}"
        return text

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

    def _product(self, monomial: tuple[Atom, ...], bracket: Expr | None, coefficient: int) -> tuple[str, int]:
        atoms = sorted(monomial, key=lambda a: not (isinstance(a, Apply) or self._leading(a.name)))
        if not atoms:
            return str(coefficient), _ATOM
        factors = [self._atom(a, _MULTIPLY if n == 0 else _ATOM) for n, a in enumerate(atoms)]
        if bracket is not None:
            factors.append(self(bracket, _ATOM))
        if coefficient != 1:
            factors.append(str(coefficient))
        if len(factors) == 1:
            called = factors[0].endswith(")") and "(" in factors[0].split(" ")[0]
            return factors[0], _ATOM if isinstance(atoms[0], Sym) or called else _MULTIPLY
        return " * ".join(factors), _MULTIPLY

    def _atom(self, atom: Atom, minimum: int) -> str:
        if isinstance(atom, Sym):
            return self._name(atom.name)
        match atom.op:
            case Op.FLOOR_DIV | Op.MOD:
                return self._division(atom, minimum)
            case Op.XOR:
                return f"({self(atom.left, _ATOM)} ^ {self(atom.right, _ATOM)})"
            case Op.MIN | Op.MAX:
                left, right = self(atom.left, _ADD), self(atom.right, _ADD)
                return f"({left} {'<' if atom.op is Op.MIN else '>'} {right} ? {left} : {right})"

    def _division(self, atom: Apply, minimum: int) -> str:
        ranges = {n: self._range_of(n) for n in symbols(atom.left)}
        if bounds(atom.left, ranges).low < 0:
            if self._host:
                return self._host_division(atom)
            name = "floor_div" if atom.op is Op.FLOOR_DIV else "floor_mod"
            self.helpers.add(name)
            return f"{name}<index_t>({self(atom.left)}, {self(atom.right)})"
        operator = "/" if atom.op is Op.FLOOR_DIV else "%"
        text = f"{self(atom.left, _MULTIPLY)} {operator} {self(atom.right, _ATOM)}"
        return f"({text})" if minimum >= _ATOM else text

    def _host_division(self, atom: Apply) -> str:
        a, b = self(atom.left, _ATOM), self(atom.right, _ATOM)
        if atom.op is Op.MOD:
            return f"(({a} % {b} + {b}) % {b})"
        return f"({a} >= 0 ? {a} / {b} : -((-{a} + {b} - 1) / {b}))"
