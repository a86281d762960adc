"""Small sizes and axis values at which an index leaves its dimension, found by trying some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from tilegen.algebra import Apply, Expr, Op, evaluate, symbols
from tilegen.lang.check.proofs.symbolic import Space
from tilegen.lang.spec import Axis

_VALUES = (4, 1, 2, 3, 8, 0, 5, 7)
_MAX_SIZES = 600
_MAX_POINTS = 6000


@dataclass(frozen=True, slots=True)
class Violation:
    sizes: tuple[tuple[str, int], ...]
    axes: tuple[tuple[str, int], ...]
    index: int
    lower: int
    upper: int


def is_affine(expressions: Sequence[Expr], space: Space) -> bool:
    """No products, and divisions by constants only: what integer sets can decide."""
    ranges = [e for a in space.axes for e in (a.lower, a.upper)]
    return all(is_affine_expression(e) for e in [*expressions, *ranges, *space.guards])


def is_affine_expression(value: Expr) -> bool:
    for monomial, _ in value.terms:
        if len(monomial) > 1:
            return False
        for atom in monomial:
            if not isinstance(atom, Apply):
                continue
            if not is_affine_expression(atom.left) or not is_affine_expression(atom.right):
                return False
            if atom.op is Op.XOR or (atom.op in (Op.FLOOR_DIV, Op.MOD) and (atom.right.constant or 0) <= 0):
                return False
    return True


def find_violation(index: Expr, lower: Expr, upper: Expr, spaces: Sequence[Space]) -> Violation | None:
    """Sizes and axes of one of the spaces at which `lower <= index < upper` fails."""
    budget = [_MAX_POINTS]
    for space in spaces:
        names = _size_names([index, lower, upper], space)
        for sizes in islice(_assignments(names), _MAX_SIZES):
            found = _at(index, lower, upper, space, sizes, budget)
            if found is not None:
                return found
            if budget[0] <= 0:
                return None
    return None


def decide(index: Expr, lower: Expr, upper: Expr, spaces: Sequence[Space]) -> Violation | bool | None:
    """As `affine.decide`, with samples first: they are cheap and give small numbers."""
    violation = find_violation(index, lower, upper, spaces)
    if violation is not None:
        return violation
    from tilegen.lang.check.proofs import affine

    return affine.decide(index, lower, upper, spaces)


def _size_names(expressions: Sequence[Expr], space: Space) -> list[str]:
    found: set[str] = set()
    for e in [*expressions, *space.guards, *(e for a in space.axes for e in (a.lower, a.upper))]:
        found |= symbols(e)
    axes = {a.name for a in space.axes}
    while True:
        linked = {
            n for a, b in space.equal for n in symbols(a) | symbols(b) if (symbols(a) | symbols(b)) & found
        }
        if linked <= found:
            return sorted(found - axes)
        found |= linked


def _assignments(names: Sequence[str]) -> Iterator[dict[str, int]]:
    for value in _VALUES:
        yield dict.fromkeys(names, value)
    for values in product(_VALUES, repeat=len(names)):
        yield dict(zip(names, values, strict=True))


def _at(
    index: Expr, lower: Expr, upper: Expr, space: Space, sizes: dict[str, int], budget: list[int]
) -> Violation | None:
    names = sizes.keys()
    for a, b in space.equal:
        if symbols(a) | symbols(b) <= names and evaluate(a, sizes) != evaluate(b, sizes):
            return None
    low, high = evaluate(lower, sizes), evaluate(upper, sizes)
    for point in _points(space.axes, 0, dict(sizes)):
        budget[0] -= 1
        if budget[0] <= 0:
            return None
        if all(evaluate(g, point) >= 0 for g in space.guards):
            value = evaluate(index, point)
            if not low <= value < high:
                axes = tuple((a.name, point[a.name]) for a in space.axes if a.name in symbols(index))
                used = _size_names([index, lower, upper], space)
                return Violation(tuple((n, sizes[n]) for n in used), axes, value, low, high)
    return None


def _points(axes: Sequence[Axis], position: int, values: dict[str, int]) -> Iterator[dict[str, int]]:
    if position == len(axes):
        yield values
        return
    axis = axes[position]
    low, high = evaluate(axis.lower, values), evaluate(axis.upper, values)
    for value in dict.fromkeys((low, high - 1, low + 1, high - 2, (low + high) // 2)):
        if low <= value < high:
            values[axis.name] = value
            yield from _points(axes, position + 1, values)
    values.pop(axis.name, None)
