"""A left-hand side writes each element at most once, and two assignments to one tensor write different elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import permutations

from tilegen.algebra import ZERO, Apply, Expr, Op, linear_parts, maximum, minimum, substitute, symbols
from tilegen.lang.check.proofs.samples import is_affine
from tilegen.lang.check.proofs.symbolic import Space, is_non_negative
from tilegen.lang.spec import Axis

_MOST_GAPS = 3


def is_one_to_one(indices: Sequence[Expr], space: Space) -> bool | Expr | None:
    """True: proved. False: two points write one element. An expression: true where it is >= 0. None: not known."""
    axes = [a.name for a in space.axes]
    joined = _join_divisions(list(indices))
    left = _peel(joined, axes, space)
    if not left:
        return True
    exact = _by_integer_sets(joined, space)
    if exact is not None:
        return exact
    return _gap(joined, left, space)


def _peel(indices: Sequence[Expr], axes: Sequence[str], space: Space) -> list[str]:
    """Axes that are not determined by the indices; an index determines its axes where their steps do not overlap."""
    known: set[str] = set()
    progress = True
    while progress:
        progress = False
        for index in indices:
            inside = [a for a in axes if a in symbols(index) and a not in known]
            parts = linear_parts(index, inside) if inside else None
            if parts is not None and _steps_apart({a: parts[0][a] for a in inside}, space):
                known.update(inside)
                progress = True
    return [a for a in axes if a not in known]


def _steps_apart(steps: dict[str, Expr], space: Space) -> bool:
    """Each step is longer than all smaller ones together reach: mixed-radix digits."""
    reach = ZERO
    ranges = {a.name: a for a in space.axes}
    left = dict(steps)
    while left:
        for name, step in left.items():
            size = step if is_non_negative(step - 1, space) else -step
            if is_non_negative(size - reach - 1, space) and _is_smallest(size, left, name, space):
                break
        else:
            return False
        axis = ranges[name]
        reach = reach + size * (axis.upper - axis.lower - 1)
        if symbols(reach) & ranges.keys():
            return False
        del left[name]
    return True


def _is_smallest(size: Expr, left: dict[str, Expr], name: str, space: Space) -> bool:
    others = [s for n, s in left.items() if n != name]
    return all(is_non_negative(s - size, space) or is_non_negative(-s - size, space) for s in others)


def _join_divisions(indices: list[Expr]) -> list[Expr]:
    """`p // d` and `p % d` together say `p`."""
    for index in indices:
        atom = _sole_atom(index)
        if atom is None or atom.op is not Op.FLOOR_DIV:
            continue
        remainder = atom.left % atom.right
        if remainder in indices:
            rest = [i for i in indices if i not in (index, remainder)]
            return _join_divisions([*rest, atom.left])
    return indices


def _sole_atom(index: Expr) -> Apply | None:
    if len(index.terms) != 1 or index.terms[0][1] != 1 or len(index.terms[0][0]) != 1:
        return None
    atom = index.terms[0][0][0]
    return atom if isinstance(atom, Apply) else None


def _primed(value: Expr, axes: Sequence[Axis]) -> Expr:
    from tilegen.algebra import sym

    return substitute(value, {a.name: sym(a.name + "'") for a in axes})


def _both(first: Space, second: Space) -> Space:
    """Pairs of a point of each; the axes of the second get a prime."""
    axes = tuple(
        Axis(a.name + "'", _primed(a.lower, second.axes), _primed(a.upper, second.axes), a.span)
        for a in second.axes
    )
    guards = tuple(_primed(g, second.axes) for g in second.guards)
    return Space(first.axes + axes, first.guards + guards, first.equal, first.free)


def _by_integer_sets(indices: Sequence[Expr], space: Space) -> bool | None:
    if not is_affine(indices, space) or any(symbols(i) & space.free for i in indices):
        return None
    from tilegen.algebra import sym
    from tilegen.lang.check.proofs.affine import find_point

    pairs = [(i, _primed(i, space.axes)) for i in indices]
    both = _both(space, space)
    for axis in space.axes:
        point = find_point(both, [sym(axis.name + "'") - sym(axis.name) - 1], pairs)
        if point is None:
            return None
        if point:
            return False
    return True


def _gap(indices: Sequence[Expr], left: Sequence[str], space: Space) -> Expr | None:
    """`b[S * i]` is one-to-one where the size S is at least 1, `b[S * i + j]` where it is as large as `j` is long."""
    for index in indices:
        parts = linear_parts(index, left)
        others = {a.name for a in space.axes} - set(left)
        if parts is None or set(parts[0]) != set(left) or symbols(index) & others:
            continue
        orders = permutations(left) if len(left) <= _MOST_GAPS else ()
        gaps = [_digits([parts[0][n] for n in o], [_length(n, space) for n in o], space) for o in orders]
        known = [gap for gap in gaps if gap is not None]
        if known:
            return reduce(maximum, known)
    return None


def _digits(steps: Sequence[Expr], lengths: Sequence[Expr], space: Space) -> Expr | None:
    """Not negative where each step is longer than all before it reach; None where a call cannot decide that, or where a
    step is a plain number too short for what is before it."""
    axes = {a.name for a in space.axes}
    found: Expr | None = None
    reach = ZERO
    for step, length in zip(steps, lengths, strict=True):
        if (symbols(step) | symbols(length)) & axes or not is_non_negative(step, space):
            return None
        gap = step - reach - 1
        if not is_non_negative(gap, space):
            if step.constant is not None:
                return None
            found = gap if found is None else minimum(found, gap)
        reach = reach + step * (length - 1)
    return found


def _length(name: str, space: Space) -> Expr:
    axis = next(a for a in space.axes if a.name == name)
    return axis.upper - axis.lower


def are_disjoint(first: Sequence[Expr], a: Space, second: Sequence[Expr], b: Space) -> bool | None:
    """Whether no element is written by both: True, False (shown), or None (not known)."""
    both = _both(a, b)
    moved = [_primed(i, b.axes) for i in second]
    for x, y in zip(first, moved, strict=True):
        if is_non_negative(y - x - 1, both) or is_non_negative(x - y - 1, both):
            return True
    if not is_affine([*first, *moved], both) or any(symbols(i) & both.free for i in [*first, *moved]):
        return None
    from tilegen.lang.check.proofs.affine import find_point

    point = find_point(both, [], list(zip(first, moved, strict=True)))
    return None if point is None else not point
