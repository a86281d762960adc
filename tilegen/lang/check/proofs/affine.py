"""Decisions by integer sets (islpy): exact for quasi-affine expressions, bounded in effort. Imported only when the
cheaper proofs fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilegen.algebra import Apply, Expr, Op, Sym, evaluate, floor_div, sym, symbols
from tilegen.lang.check.proofs.samples import Violation, is_affine_expression
from tilegen.lang.check.proofs.symbolic import Space

_MAX_OPERATIONS = 400_000


class _System:
    """Constraints as isl text. A division, remainder or extremum becomes a variable of its own with its defining
    constraints (isl's parser takes no product with `floor`)."""

    def __init__(self) -> None:
        self.names: dict[str | Apply, str] = {}
        self.parts: list[str] = []

    def name(self, symbol: str | Apply) -> str:
        return self.names.setdefault(symbol, f"v{len(self.names)}")

    def text(self, value: Expr) -> str:
        terms = []
        for monomial, coefficient in value.terms:
            atoms = [self.name(a.name) if isinstance(a, Sym) else self._defined(a) for a in monomial]
            terms.append("*".join([str(coefficient), *atoms]))
        return " + ".join(terms) or "0"

    def non_negative(self, value: Expr) -> None:
        self.parts.append(f"{self.text(value)} >= 0")

    def equal(self, a: Expr, b: Expr) -> None:
        self.parts.append(f"{self.text(a)} = {self.text(b)}")

    def space(self, space: Space) -> None:
        """Ranges, guards and bindings; bindings that are not affine are left out, which only adds points."""
        for guard in space.guards:
            self.non_negative(guard)
        for axis in space.axes:
            name = self.name(axis.name)
            self.parts.append(f"{self.text(axis.lower)} <= {name} < {self.text(axis.upper)}")
        for a, b in space.equal:
            if is_affine_expression(a) and is_affine_expression(b):
                self.equal(a, b)
        axes = {a.name for a in space.axes}
        for symbol, name in list(self.names.items()):
            if isinstance(symbol, str) and symbol not in axes and symbol not in space.free:
                self.parts.append(f"{name} >= 0")

    def _defined(self, atom: Apply) -> str:
        if atom in self.names:
            return self.names[atom]
        left, right = self.text(atom.left), self.text(atom.right)
        name = self.name(atom)
        match atom.op:
            case Op.MOD:
                self.parts.append(
                    f"{name} = {self.text(atom.left - atom.right * floor_div(atom.left, atom.right))}"
                )
            case Op.FLOOR_DIV:
                self.parts.append(f"{atom.right}*{name} <= {left} <= {atom.right}*{name} + {atom.right} - 1")
            case Op.MIN:
                self.parts.append(
                    f"({name} = {left} or {name} = {right}) and {name} <= {left} and {name} <= {right}"
                )
            case Op.MAX:
                self.parts.append(
                    f"({name} = {left} or {name} = {right}) and {name} >= {left} and {name} >= {right}"
                )
            case Op.XOR:
                raise ValueError("exclusive or is not quasi-affine")
        return name

    def solve(self) -> Any:
        """The set of all points, its variables in the order of `names`. Raises islpy.Error past the effort."""
        import islpy

        context = islpy.Context()
        context.set_max_operations(_MAX_OPERATIONS)
        return islpy.Set.read_from_str(
            context, f"{{ [{', '.join(self.names.values())}] : {' and '.join(self.parts)} }}"
        )


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
    """Sizes and axes in `space` with every constraint >= 0 and every pair equal. `{}`: there are none. None: the effort
    was too great. Everything must be affine."""
    import islpy

    system = _System()
    for constraint in constraints:
        system.non_negative(constraint)
    for a, b in pairs:
        system.equal(a, b)
    system.space(space)
    try:
        points = system.solve()
        if points.is_empty():
            return {}
        sample = points.sample_point()
        return {
            symbol: int(sample.get_coordinate_val(islpy.dim_type.set, k).to_python())
            for k, symbol in enumerate(system.names)
            if isinstance(symbol, str)
        }
    except islpy.Error:
        return None


def extremes(index: Expr, space: Space) -> tuple[float, float] | None:
    """Least and greatest value of `index` over `space`, which has no sizes left; (1, 0) if it is empty."""
    import islpy

    system = _System()
    system.equal(sym("the index"), index)
    system.space(Space((*space.axes,), space.guards, space.equal, frozenset({"the index"})))
    try:
        points = system.solve()
        if points.is_empty():
            return 1, 0
        return int(points.dim_min_val(0).to_python()), int(points.dim_max_val(0).to_python())
    except islpy.Error:
        return None
