"""Proofs that an expression is >= 0 over a domain, without a solver: axes are replaced by the end that is worst for the
expression, and what is left must have no negative part for sizes >= 0. Products of sizes are no obstacle here. A
failure to prove means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilegen import algebra
from tilegen.algebra import NON_NEGATIVE, Apply, Expr, Op, Sym, linear_parts, substitute, symbols
from tilegen.lang.spec import Axis

_MAX_STEPS = 400


@dataclass(frozen=True, slots=True)
class Space:
    """Points that exist: `axes` within their ranges, `guards` >= 0, `equal` pairs equal, sizes >= 0."""

    axes: tuple[Axis, ...]
    guards: tuple[Expr, ...] = ()
    equal: tuple[tuple[Expr, Expr], ...] = ()
    free: frozenset[str] = frozenset()  # symbols of unknown sign: scalar parameters

    def replace_sizes(self, values: dict[str, int]) -> Space:
        return Space(
            tuple(
                Axis(a.name, substitute(a.lower, values), substitute(a.upper, values), a.span)
                for a in self.axes
            ),
            tuple(substitute(g, values) for g in self.guards),
            tuple((substitute(a, values), substitute(b, values)) for a, b in self.equal),
            self.free,
        )


def is_non_negative(value: Expr, space: Space) -> bool:
    """Whether `value >= 0` at every point of `space` is proved."""
    if value.constant is not None:
        return value.constant >= 0
    return _Proof(space).prove(value)


class _Proof:
    """The facts of a space, and a limit on the work."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.rename = _equalities(space)
        self.least = _least_sizes(space, self.rename)
        self.steps = _MAX_STEPS

    def prove(self, value: Expr) -> bool:
        value = _apply_all(value, self.rename)
        if value.constant is not None:
            return value.constant >= 0
        self.steps -= 1
        if self.steps < 0:
            return False
        present = symbols(value)
        axis = next((a for a in reversed(self.space.axes) if a.name in present), None)
        if axis is None:
            return _non_negative_sizes(value, self.space, self.least) or self._division(value)
        parts = linear_parts(value, [axis.name])
        if parts is None:
            return self._division(value)
        below, above = _ends(axis, self.space)
        if self.prove(parts[0][axis.name]):
            ends = below
        elif self.prove(-parts[0][axis.name]):
            ends = above
        else:
            return False
        return any(self.prove(substitute(value, {axis.name: end})) for end in ends)

    def _division(self, value: Expr) -> bool:
        """Decide the first division or remainder: `r - p // d >= 0` is `p < (r + 1) * d`, `0 <= p % d < d`."""
        for monomial, coefficient in value.terms:
            if len(monomial) != 1 or not isinstance(monomial[0], Apply):
                continue
            atom = monomial[0]
            rest = value - Expr(((monomial, coefficient),))
            if atom.op in (Op.MIN, Op.MAX):
                return self._extremum(atom, coefficient, rest)
            if not self.prove(atom.right - 1):
                continue
            if atom.op is Op.MOD:
                return self.prove(rest if coefficient > 0 else rest + coefficient * (atom.right - 1))
            if atom.op is Op.FLOOR_DIV and coefficient == -1:
                return self.prove((rest + 1) * atom.right - 1 - atom.left)
            if atom.op is Op.FLOOR_DIV and coefficient == 1:
                return self.prove(atom.left + rest * atom.right)
        return False

    def _extremum(self, atom: Apply, coefficient: int, rest: Expr) -> bool:
        sides = (self.prove(rest + coefficient * s) for s in (atom.left, atom.right))
        return all(sides) if (atom.op is Op.MIN) == (coefficient > 0) else any(sides)


def _ends(axis: Axis, space: Space) -> tuple[list[Expr], list[Expr]]:
    """Expressions that the axis is not below, and not above; those of guards first (they are the tighter)."""
    below, above = [axis.lower], [axis.upper - 1]
    names = [a.name for a in space.axes]
    later = frozenset(names[names.index(axis.name) :])
    for guard in space.guards:
        parts = linear_parts(guard, [axis.name])
        if parts is None or axis.name not in parts[0] or symbols(parts[1]) & later:
            continue
        coefficient = parts[0][axis.name].constant
        if coefficient is not None and coefficient > 0:
            below.insert(0, algebra.ceil_div(-parts[1], coefficient))
        elif coefficient is not None and coefficient < 0:
            above.insert(0, parts[1] // -coefficient)
    return below, above


def _equalities(space: Space) -> dict[str, Expr]:
    """One size of each binding written in the others, where a side is a bare size."""
    rename: dict[str, Expr] = {}
    for a, b in space.equal:
        left, right = _apply_all(a, rename), _apply_all(b, rename)
        for one, other in ((left, right), (right, left)):
            name = one.symbol
            if name is not None and name not in symbols(other):
                rename = {k: substitute(v, {name: other}) for k, v in rename.items()}
                rename[name] = other
                break
    return rename


def _apply_all(value: Expr, rename: dict[str, Expr]) -> Expr:
    return substitute(value, dict(rename)) if rename else value


def _least_sizes(space: Space, rename: dict[str, Expr]) -> dict[str, int]:
    """The least value of each size for which the space has a point, as far as bare facts `size - c >= 0` tell."""
    axes = frozenset(a.name for a in space.axes)
    least: dict[str, int] = {}
    facts = [a.upper - a.lower - 1 for a in space.axes] + list(space.guards)
    for fact in facts:
        _learn(_apply_all(fact, rename), axes | space.free, least)
    return least


def _learn(fact: Expr, axes: frozenset[str], least: dict[str, int]) -> None:
    """`fact >= 0`, of the form `k * product(sizes) - c` with c > 0."""
    factors = [(m, k) for m, k in fact.terms if m]
    rest = fact - Expr(tuple(factors)) if factors else fact
    if len(factors) != 1 or symbols(fact) & axes or rest.constant is None or factors[0][1] <= 0:
        return
    (monomial, k), c = factors[0], -rest.constant
    needed = -(-c // k)
    if needed <= 0:
        return
    for atom in monomial:
        value = needed if len(monomial) == 1 else 1
        if isinstance(atom, Apply) and atom.op is Op.FLOOR_DIV and atom.right.constant is not None:
            value, inner = value * atom.right.constant, atom.left.symbol
        else:
            inner = atom.name if isinstance(atom, Sym) else None
        if inner is not None:
            least[inner] = max(least.get(inner, 0), value)


def _non_negative_sizes(value: Expr, space: Space, least: dict[str, int]) -> bool:
    shifted = substitute(value, {n: algebra.sym(n) + k for n, k in least.items()})
    ranges = {n: NON_NEGATIVE for n in symbols(shifted) if n not in space.free}
    return algebra.bounds(shifted, ranges).low >= 0
