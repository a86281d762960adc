"""Decisions by integer sets (islpy): exact for quasi-affine expressions, bounded in effort. Imported only when the
cheaper proofs fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilegen.algebra import Apply, Expr, Op, Sym, evaluate, symbols
from tilegen.check.samples import Violation, is_affine_expression
from tilegen.check.symbolic import Space

_MAX_OPERATIONS = 400_000


class _Names:
    """isl identifiers for the symbols of a question."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        return self.known.setdefault(name, f"v{len(self.known)}")


def decide(index: Expr, lower: Expr, upper: Expr, spaces: Sequence[Space]) -> Violation | bool | None:
    """True: `lower <= index < upper` everywhere; a violation where not; None where the effort was too great."""
    for space in spaces:
        for outside in (lower - 1 - index, index - upper):
            point = find_point(space, [outside])
            if point is None:
                return None
            if point:
                return _violation(index, lower, upper, space, point)
    return True


def _violation(index: Expr, lower: Expr, upper: Expr, space: Space, point: dict[str, int]) -> Violation:
    axes = {a.name for a in space.axes}
    return Violation(
        tuple(sorted((n, v) for n, v in point.items() if n not in axes)),
        tuple((a.name, point[a.name]) for a in space.axes if a.name in symbols(index)),
        evaluate(index, point),
        evaluate(lower, point),
        evaluate(upper, point),
    )


def find_point(
    space: Space, constraints: Sequence[Expr], pairs: Sequence[tuple[Expr, Expr]] = ()
) -> dict[str, int] | None:
    """Sizes and axes in `space` with every constraint >= 0 and every pair equal: `{}` if there are none, None if the
    effort was too great. Everything must be affine; bindings that are not are left out (fewer facts, so a point that
    is found may not be one: the caller's pairs are exact)."""
    import islpy

    names = _Names()
    axes = {a.name for a in space.axes}
    parts = [f"{_text(c, names)} >= 0" for c in [*constraints, *space.guards]]
    parts += [f"{_text(a, names)} = {_text(b, names)}" for a, b in pairs]
    for axis in space.axes:
        parts.append(f"{_text(axis.lower, names)} <= {names[axis.name]} < {_text(axis.upper, names)}")
    parts += [
        f"{_text(a, names)} = {_text(b, names)}"
        for a, b in space.equal
        if is_affine_expression(a) and is_affine_expression(b)
    ]
    parts += [
        f"{n} >= 0" for name, n in list(names.known.items()) if name not in axes and name not in space.free
    ]
    context = islpy.Context()
    context.set_max_operations(_MAX_OPERATIONS)
    try:
        points = islpy.Set.read_from_str(
            context, f"{{ [{', '.join(names.known.values())}] : {' and '.join(parts)} }}"
        )
        if points.is_empty():
            return {}
        sample: Any = points.sample_point()
        return {
            name: int(sample.get_coordinate_val(islpy.dim_type.set, k).to_python())
            for k, name in enumerate(names.known)
        }
    except islpy.Error:
        return None


def _text(value: Expr, names: _Names) -> str:
    if not value.terms:
        return "0"
    parts = []
    for monomial, coefficient in value.terms:
        factors = "".join(f" * {_atom(a, names)}" for a in monomial)
        parts.append(f"({coefficient}){factors}")
    return "(" + " + ".join(parts) + ")"


def _atom(atom: Sym | Apply, names: _Names) -> str:
    if isinstance(atom, Sym):
        return names[atom.name]
    left, right = _text(atom.left, names), _text(atom.right, names)
    match atom.op:
        case Op.FLOOR_DIV:
            return f"floor(({left})/{atom.right})"
        case Op.MOD:
            return f"(({left}) mod {atom.right})"
        case Op.MIN:
            return f"min({left}, {right})"
        case Op.MAX:
            return f"max({left}, {right})"
        case Op.XOR:
            raise ValueError("exclusive or is not quasi-affine")


def extremes(index: Expr, space: Space) -> tuple[float, float] | None:
    """Least and greatest value of `index` over `space`, which has no sizes left; (1, 0) if it is empty."""
    import islpy

    names = _Names()
    value = names["the index"]
    parts = [f"{value} = {_text(index, names)}", *(f"{_text(g, names)} >= 0" for g in space.guards)]
    for axis in space.axes:
        parts.append(f"{_text(axis.lower, names)} <= {names[axis.name]} < {_text(axis.upper, names)}")
    context = islpy.Context()
    context.set_max_operations(_MAX_OPERATIONS)
    try:
        points = islpy.Set.read_from_str(
            context, f"{{ [{', '.join(names.known.values())}] : {' and '.join(parts)} }}"
        )
        if points.is_empty():
            return 1, 0
        return int(points.dim_min_val(0).to_python()), int(points.dim_max_val(0).to_python())
    except islpy.Error:
        return None
