"""A sweep as loops: the coordinates of its points, the conditions under which a thread has one, addresses over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from tilegen.algebra import ZERO, Expr, Sym, divisions, simplify, substitute, sym, symbols
from tilegen.core.plan.model import FIELD, Buffer, Limit, Loop, Sweep
from tilegen.core.plan.sector_row import SectorRow
from tilegen.cuda.queries import used_in, variables
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import (
    Binary,
    Block,
    Conditional,
    Declare,
    Expression,
    For,
    If,
    Infix,
    Statement,
    Unroll,
    Variable,
    add,
    all_of,
    binary,
    less,
    library,
    number,
    optional,
)


class SweepScope:
    """What is known inside one sweep: in-tile coordinates by their names, and what these stand for."""

    def __init__(self, scope: KernelScope, sweep: Sweep) -> None:
        self.scope, self.sweep = scope, sweep
        self._values: dict[str, Expr] = {}

    # Coordinates

    def inside(self, axis: str) -> Expr:
        """The in-tile coordinate of `axis`: a name of its own only where it is more than a digit of the thread."""
        value = self.sweep.coordinate(axis)
        if len(value.terms) <= 1 and all(isinstance(a, Sym) for m, _ in value.terms for a in m):
            return value
        name = FIELD if axis == FIELD else f"@tile_{axis}"
        self._values[name] = value
        return sym(name)

    def inside_lane(self, axis: str) -> Expr:
        """The in-tile coordinate of `axis` at neighbour `@lane` of an item."""
        run = self.sweep.run
        assert run is not None
        if axis not in dict(self.sweep.lanes):
            return self.inside(axis)
        return self.inside(axis) + sym("@lane") if run.single else sym(f"@in_{axis}")

    def lane_coordinates(self) -> Block:
        """The coordinates of neighbour `@lane` along the axes of the run, those that are used."""
        run, scope = self.sweep.run, self.scope
        assert run is not None
        found: list[Statement] = []
        for axis, value in self.sweep.lanes:
            place = scope.plan_variable(f"@at_{axis}")
            if run.single:
                found.append(optional(place, add(scope.axis(axis), scope.lane)))
                continue
            inside = scope.plan_variable(f"@in_{axis}")
            found.append(optional(inside, scope.index(value)))
            found.append(optional(place, add(scope.symbol(f"@origin_{axis}"), inside)))
        return tuple(found)

    def coordinate(self, axis: str, inside: Expr) -> Declare:
        """The global coordinate of an axis at an in-tile coordinate."""
        start = self.scope.symbol(f"@origin_{axis}")
        value = add(start, self.scope.index(inside)) if inside.terms else start
        return optional(self.scope.axis(axis), value)

    # Addresses

    def element(
        self, buffer: Buffer, at: Mapping[str, Expr], lanes: int = 1, whole: bool = False
    ) -> Expression:
        """The staged element at in-tile coordinates `at`, see `KernelScope.element`."""
        return self.scope.element(buffer, at, lanes, whole, self._values)

    def address(self, address: Expr) -> Expr:
        """A global address; over the linear walk itself where that takes fewer divisions than its coordinates."""
        if not self.sweep.linear:
            return address
        at = {
            axis: value + sym(f"@origin_{axis}") if axis != FIELD and not self._whole(axis) else value
            for axis, value in self.sweep.coordinates
            if divisions(value)
        }
        spelled = simplify(substitute(address, at), {})
        used = sum(divisions(e) for a, e in at.items() if a in symbols(address))
        return spelled if divisions(spelled) < used else address

    def run_address(self, address: Expr) -> Expr:
        """`address` at the first neighbour of an item; over the position along the run where it has several axes."""
        run = self.sweep.run
        if run is None or run.single:
            return address
        at = run.coordinates(self.sweep.position)
        last = run.axes[-1][0]
        if last != FIELD and not self._whole(last):
            at[last] = at[last] + sym(f"@origin_{last}")
        return simplify(substitute(address, at), {})

    def _whole(self, axis: str) -> bool:
        tile = self.scope.plan.tile(axis)
        return tile.extent.constant == tile.tile

    # Loops

    def loops(self, conditions: Iterable[Expression], body: Block, leave: str | None = None) -> Block:
        """The loops of the sweep round `body`; `leave` names an axis whose coordinate the body defines itself."""
        condition = all_of(conditions)
        inner: Block = body if condition is None else (If(condition, body),)
        steps = [self.scope.plan_variable(f"@step_{loop.axis}") for loop in self.sweep.loops]
        # A coordinate stands in the outermost loop that it changes with; what changes with none, before all of them.
        depth = {variable: n for n, variable in enumerate(steps, 1)}
        levels: list[list[Statement]] = [[] for _ in range(len(steps) + 1)]
        for definition in self._coordinates(used_in(inner), leave):
            assert definition.value is not None
            inside = max((depth.get(v, 0) for v in variables(definition.value)), default=0)
            depth[definition.variable] = inside
            levels[inside].append(definition)
        for number_, (loop, variable) in reversed(
            list(enumerate(zip(self.sweep.loops, steps, strict=True), 1))
        ):
            inner = (_loop(loop, variable, (*levels[number_], *inner)),)
        digits = [
            optional(self.scope.plan_variable(f"@thread_{a}"), self.scope.index(e))
            for a, e in self.sweep.digits
        ]
        return (*digits, *levels[0], *inner)

    def _coordinates(self, used: set[Variable], leave: str | None) -> list[Declare]:
        """Definitions of in-tile and global coordinates."""
        sweep, scope = self.sweep, self.scope
        found: list[Declare] = []
        row = sweep.sectors
        of_row = [] if row is None else [a for a, _ in row.axes]
        items = [(a, optional(scope.plan_variable(f"@item_{a}"), scope.index(e))) for a, e in sweep.linear]
        found += [item for a, item in items if a not in of_row]
        for axis, value in sorted(sweep.coordinates, key=lambda c: c[0] in of_row):
            if row is not None and axis == row.fast:
                found += self._sectors(row)
                found += [item for a, item in items if a in of_row]
            inside = self.inside(axis)
            variable = scope.plan_variable(FIELD if axis == FIELD else f"@tile_{axis}")
            named = inside != value
            if named and variable in used:
                found.append(optional(variable, scope.index(value)))
            elif named:
                inside = value
            if axis not in (FIELD, leave):
                found.append(self.coordinate(axis, inside))
        found += [
            self.coordinate(t.axis, ZERO)
            for t in scope.plan.tiles
            if t.tile > 1 and t.axis not in dict(sweep.coordinates)
        ]
        return found

    def _sectors(self, row: SectorRow) -> list[Declare]:
        """Where a row begins and ends, in whole sectors."""
        scope = self.scope
        start = {
            a: sym(f"@origin_{a}") if a == row.along and not self._whole(a) else ZERO for a, _ in row.axes
        }
        first = scope.place(row.pointer, substitute(row.address, start))
        late, end = scope.plan_variable(f"@late_{row.fast}"), scope.plan_variable(f"@end_{row.fast}")
        inside = binary(Infix.GREATER, scope.symbol(f"@origin_{row.along}"), 0)
        return [
            optional(late, Conditional(inside, library("to_sector", first), number(0))),
            optional(
                end, Binary(Infix.ADD, number(row.points), library("to_sector", add(first, row.points)))
            ),
        ]

    def limits(self) -> list[Expression]:
        """Conditions of threads that have a point at all; in a loop that is written out, of the steps that may not."""
        at = {f"@tile_{a}": self.inside(a) for a, _ in self.sweep.coordinates}
        return [self._limit(limit, at) for limit in self.sweep.limits]

    def _limit(self, limit: Limit, at: Mapping[str, Expr]) -> Expression:
        scope = self.scope
        written_out = {loop.axis for loop in self.sweep.loops if loop.unroll is None}
        value = scope.index(substitute(limit.value, at))
        alternatives: list[Expression] = [less(value, scope.index(limit.bound))]
        if limit.further is not None:
            first, count, bound = limit.further
            early = less(scope.index(substitute(first, at)), count)
            alternatives.append(Binary(Infix.AND, early, less(value, bound)))
        if limit.sure and limit.axis in written_out:
            alternatives.insert(0, less(scope.plan_variable(f"@step_{limit.axis}"), limit.sure))
        return reduce(lambda a, b: Binary(Infix.OR, a, b), alternatives)


def _loop(loop: Loop, variable: Variable, body: Block) -> For:
    unroll = Unroll.FULLY if loop.unroll is None else loop.unroll
    return For(variable, number(0), number(loop.trip), body, unroll=unroll)
