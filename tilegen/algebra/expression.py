"""`Expr`: the canonical form, and the operations that keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache

from tilegen.frozen import HashedOnce, dataclass


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
class Apply(HashedOnce):
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
def atom_key(atom: Atom) -> tuple[int, str]:
    return (0, atom.name) if isinstance(atom, Sym) else (1, str(atom))


def _term_key(term: tuple[Monomial, int]) -> tuple[int, list[tuple[int, str]]]:
    return -len(term[0]), [atom_key(a) for a in term[0]]


@dataclass(frozen=True, slots=True)
class Expr(HashedOnce):
    """Canonical sum: `terms` pairs a sorted product of atoms with its non-zero integer coefficient."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Expr | int) -> Expr:
        total = dict(self.terms)
        for monomial, coefficient in expr(other).terms:
            total[monomial] = total.get(monomial, 0) + coefficient
        return from_terms(total)

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
                monomial = tuple(sorted(m1 + m2, key=atom_key))
                total[monomial] = total.get(monomial, 0) + c1 * c2
        return from_terms(total)

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


def from_terms(total: Mapping[Monomial, int]) -> Expr:
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
    whole = from_terms({m: (c // divisor if c * divisor >= 0 else -(-c // divisor)) for m, c in value.terms})
    return whole, value - whole * divisor


def _divide_symbolic(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Split off the terms of `left` that are multiples of the single-term `right`."""
    if len(right.terms) != 1:
        return ZERO, left
    (monomial, coefficient), whole, rest = right.terms[0], {}, {}
    for m, c in left.terms:
        quotient = without_factor(m, monomial)
        if quotient is not None and c % coefficient == 0:
            whole[quotient] = c // coefficient
        else:
            rest[m] = c
    return from_terms(whole), from_terms(rest)


def without_factor(monomial: Monomial, factor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in factor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


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
        return from_terms({m: k // c for m, k in left.terms})
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
