"""Index arithmetic: integer expressions over named symbols with `+ * // %`, kept in one canonical form.

An `Expr` is a sum of integer multiples of products of atoms. An atom is a symbol or one of the operations that do not
distribute over a sum (`//`, `%`, minimum, maximum, exclusive or). Equal polynomials are equal objects by `==`. Division
and remainder are Python's (floored). The front end writes extents and indices in it, the plan writes addresses,
guards and launch conditions in it; nothing here knows about CUDA.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, cast


class Op(Enum):
    FLOOR_DIV = "//"
    MOD = "%"
    MIN = "min"
    MAX = "max"
    XOR = "^"


@dataclass(frozen=True, slots=True)
class Sym:
    """A named integer: an axis, a size, a stride, a block, thread or loop variable."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Apply:
    """`left op right` for an operation that has no polynomial form."""

    op: Op
    left: Expr
    right: Expr

    def __str__(self) -> str:
        if self.op in (Op.MIN, Op.MAX):
            return f"{self.op.value}({self.left}, {self.right})"
        return f"({_operand(self.left)} {self.op.value} {_operand(self.right)})"


def _operand(value: Expr) -> str:
    simple = len(value.terms) <= 1 and all(len(m) <= 1 and (c == 1 or not m) for m, c in value.terms)
    return str(value) if simple else f"({value})"


Atom = Sym | Apply
Monomial = tuple[Atom, ...]


@lru_cache(maxsize=65536)
def _atom_key(atom: Atom) -> tuple[int, str]:
    return (0, atom.name) if isinstance(atom, Sym) else (1, str(atom))


def _term_key(term: tuple[Monomial, int]) -> tuple[int, list[tuple[int, str]]]:
    return -len(term[0]), [_atom_key(a) for a in term[0]]


@dataclass(frozen=True, slots=True)
class Expr:
    """Canonical sum: `terms` pairs a sorted product of atoms with its non-zero integer coefficient."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Expr | int) -> Expr:
        total = dict(self.terms)
        for monomial, coefficient in expr(other).terms:
            total[monomial] = total.get(monomial, 0) + coefficient
        return _from_dict(total)

    def __radd__(self, other: int) -> Expr:
        return self + other

    def __neg__(self) -> Expr:
        return self * -1

    def __sub__(self, other: Expr | int) -> Expr:
        return self + expr(other) * -1

    def __rsub__(self, other: int) -> Expr:
        return expr(other) - self

    def __mul__(self, other: Expr | int) -> Expr:
        total: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in expr(other).terms:
                monomial = tuple(sorted(m1 + m2, key=_atom_key))
                total[monomial] = total.get(monomial, 0) + c1 * c2
        return _from_dict(total)

    def __rmul__(self, other: int) -> Expr:
        return self * other

    def __floordiv__(self, other: Expr | int) -> Expr:
        return floor_div(self, expr(other))

    def __mod__(self, other: Expr | int) -> Expr:
        return mod(self, expr(other))

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for monomial, coefficient in self.terms:
            factors = [str(a) for a in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            parts.append((" - " if coefficient < 0 else " + ") + "*".join(factors))
        text = "".join(parts)
        return text[3:] if text.startswith(" + ") else "-" + text[3:]

    @property
    def constant(self) -> int | None:
        """The value, if it does not depend on any symbol."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def symbol(self) -> str | None:
        """The name, if the expression is one bare symbol."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            atom = self.terms[0][0][0]
            return atom.name if isinstance(atom, Sym) else None
        return None


def _from_dict(total: Mapping[Monomial, int]) -> Expr:
    return Expr(tuple(sorted(((m, c) for m, c in total.items() if c), key=_term_key)))


ZERO = Expr(())
ONE = Expr((((), 1),))


def expr(value: Expr | int) -> Expr:
    """`value` as an expression."""
    if isinstance(value, Expr):
        return value
    return Expr((((), value),)) if value else ZERO


def sym(name: str) -> Expr:
    """The symbol `name` as an expression."""
    return Expr((((Sym(name),), 1),))


def _apply(op: Op, left: Expr, right: Expr) -> Expr:
    return Expr((((Apply(op, left, right),), 1),))


def floor_div(left: Expr, right: Expr) -> Expr:
    """`left // right`, rounded down; exact multiples of a constant divisor leave the division."""
    a, b = left.constant, right.constant
    if b == 0:
        raise ZeroDivisionError("index expression divides by 0")
    if a is not None and b is not None:
        return expr(a // b)
    if b == 1 or not left.terms:
        return left
    if left == right:
        return ONE
    if b is not None:
        whole, rest = _split_towards_zero(left, b)
        if whole.terms:
            return whole + floor_div(rest, right)
        inner = left.terms[0][0][0] if len(left.terms) == 1 and len(left.terms[0][0]) == 1 else None
        if isinstance(inner, Apply) and inner.op is Op.FLOOR_DIV and left.terms[0][1] == 1 and b > 0:
            divisor = inner.right.constant
            if divisor is not None and divisor > 0:
                return floor_div(inner.left, expr(divisor * b))
    else:
        quotient, remainder = _divide_symbolic(left, right)
        if quotient.terms:
            return quotient + floor_div(remainder, right)
    return _apply(Op.FLOOR_DIV, left, right)


def mod(left: Expr, right: Expr) -> Expr:
    """`left % right` with the sign of `right`; multiples of the divisor drop out."""
    a, b = left.constant, right.constant
    if b == 0:
        raise ZeroDivisionError("index expression takes a remainder by 0")
    if a is not None and b is not None:
        return expr(a % b)
    if b == 1 or not left.terms or left == right:
        return ZERO
    if b is not None:
        rest = _split_towards_zero(left, b)[1]
        constant = rest.constant
        return expr(constant % b) if constant is not None else _apply(Op.MOD, rest, right)
    _, remainder = _divide_symbolic(left, right)
    return _apply(Op.MOD, remainder, right) if remainder.terms else ZERO


def _split_towards_zero(value: Expr, divisor: int) -> tuple[Expr, Expr]:
    """`value = divisor * whole + rest`, term by term, where no coefficient of `rest` reaches the divisor or turns.

    Quotient and remainder reduced alike are seen to belong together."""
    whole = _from_dict({m: (c // divisor if c * divisor >= 0 else -(-c // divisor)) for m, c in value.terms})
    return whole, value - whole * divisor


def _divide_symbolic(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Split off the terms of `left` that are multiples of the single-term `right`."""
    if len(right.terms) != 1:
        return ZERO, left
    (monomial, coefficient), whole, rest = right.terms[0], {}, {}
    for m, c in left.terms:
        quotient = _remove(m, monomial)
        if quotient is not None and c % coefficient == 0:
            whole[quotient] = c // coefficient
        else:
            rest[m] = c
    return _from_dict(whole), _from_dict(rest)


def _remove(monomial: Monomial, factor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in factor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


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


def ceil_div(left: Expr | int, right: Expr | int) -> Expr:
    """`left / right`, rounded up."""
    return floor_div(expr(left) + expr(right) - 1, expr(right))


def _fold(op: Op, function: Callable[[int, int], int]) -> Callable[[Expr | int, Expr | int], Expr]:
    def build(left: Expr | int, right: Expr | int) -> Expr:
        a, b = expr(left), expr(right)
        if a == b and op is not Op.XOR:
            return a
        if a.constant is not None and b.constant is not None:
            return expr(function(a.constant, b.constant))
        return _apply(op, a, b)

    return build


minimum = _fold(Op.MIN, min)
maximum = _fold(Op.MAX, max)
xor = _fold(Op.XOR, lambda a, b: a ^ b)


def exact_quotient(left: Expr, right: Expr) -> Expr | None:
    """`left / right` if it is a polynomial without remainder, else None. `right` has one term."""
    if not left.terms:
        return ZERO
    if right.constant is not None:
        c = right.constant
        if c == 0 or any(k % c for _, k in left.terms):
            return None
        return _from_dict({m: k // c for m, k in left.terms})
    quotient, remainder = _divide_symbolic(left, right)
    return None if remainder.terms else quotient


def product(factors: Iterable[Expr | int]) -> Expr:
    total = ONE
    for factor in factors:
        total = total * factor
    return total


def symbols(value: Expr) -> frozenset[str]:
    """Names of all symbols in `value`, those inside divisions included."""
    return _symbols(value)


@lru_cache(maxsize=65536)
def _symbols(value: Expr) -> frozenset[str]:
    found: set[str] = set()
    for monomial, _ in value.terms:
        for atom in monomial:
            if isinstance(atom, Sym):
                found.add(atom.name)
            else:
                found |= _symbols(atom.left) | _symbols(atom.right)
    return frozenset(found)


def substitute(value: Expr, replacements: Mapping[str, Expr | int]) -> Expr:
    """Replace symbols by expressions, everywhere at once, and fold what becomes constant."""
    if not replacements or not (_symbols(value) & replacements.keys()):
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
            rest = _remove(monomial, (atom,)) or ()
            quotient = Apply(Op.FLOOR_DIV, atom.left, atom.right)
            partner = tuple(sorted((*rest, quotient), key=_atom_key))
            if terms.get(monomial) == coefficient and terms.get(partner) == coefficient * d:
                del terms[monomial], terms[partner]
                whole = _from_dict(terms) + Expr(((rest, coefficient),)) * atom.left
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
        if digit is None or d is None or k != coefficient * d or _remove(other, (digit,)) != rest:
            continue
        m = digit.right.constant
        if m is not None and digit.left == floor_div(atom.left, expr(d)):
            kept = _from_dict({t: c for t, c in terms.items() if t not in (monomial, other)})
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
    quotient = _from_dict({m: c // divisor for m, c in value.terms})
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
            any(isinstance(a, Apply) and _symbols(Expr((((a,), 1),))) & wanted for a in others)
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
