"""Variables of a kernel with scans: who a thread is, where its points are, what totals are called; and its loops."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.algebra import Expr, substitute, sym
from tilegen.core.nest.combine import accumulator_type
from tilegen.core.nest.model import Access
from tilegen.core.plan.model import Compute, Sweep
from tilegen.cuda.functions import extreme
from tilegen.cuda.item import ItemBody
from tilegen.cuda.operators import accumulator_ctype, combined, identity_value, operator, operator_entries
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import (
    INDEX,
    UNSIGNED,
    Binary,
    Block,
    Call,
    CType,
    Declare,
    Expression,
    For,
    If,
    Infix,
    Scope,
    SharedArray,
    Templated,
    Variable,
    add,
    all_of,
    at,
    binary,
    less,
    number,
    optional,
)
from tilegen.families.scan.phase import Carrier, Carry, Scan
from tilegen.lang.spec import Read, Reduction, Value


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """The variables of one carrier. Per item: `term` of a point, `lanes` what the lanes and steps before it have in the
    warp. Per tile: `mine` what a warp (across: a thread) has so far, `prefix` everything before it, `carry` everything
    before the tile, `tile` the tile's own. At a point: `running` its total, `before` the one without its term."""

    carrier: Carrier
    ctype: CType
    identity: Expression
    term: Variable
    lanes: Variable
    mine: Variable
    prefix: Variable
    carry: Variable
    running: Variable
    before: Variable
    step: Variable
    shared: Variable
    tile: Variable
    ahead: Variable

    @property
    def operator(self) -> Templated:
        """The function object that combines two totals."""
        return operator(self.carrier.node)

    @property
    def entries(self) -> tuple[str, ...]:
        """Entries of the library for combining totals."""
        indexed = ("from_lane_indexed", "from_below_indexed") if isinstance(self.ctype, Templated) else ()
        return (*operator_entries(self.carrier.node), *indexed)

    def combined(self, a: Expression, b: Expression) -> Expression:
        """`a` before `b`."""
        match self.carrier.op:
            case Reduction.SUM:
                return Binary(Infix.ADD, a, b)
            case Reduction.PROD:
                return Binary(Infix.MULTIPLY, a, b)
            case Reduction.MAX | Reduction.MIN:
                name = f"{self.carrier.op.value}imum"
                return Call(extreme(name, accumulator_type(self.carrier.node)), (a, b))
            case _:
                # Not `||` and `&&`: those would leave out shuffles of the right-hand side.
                return combined(self.carrier.node, a, b)


class ScanScope:
    """What the parts of the phase share."""

    def __init__(self, scope: KernelScope, phase: Scan) -> None:
        self.scope, self.phase, self.spread = scope, phase, phase.spread
        variable = scope.variable
        self.thread, self.l = scope.thread, scope.lane
        self.lane, self.step = variable("@lane_number", "lane"), variable("@step_number", "step")
        self.part = variable("@part", "warp" if self.spread.across is None else "part")
        self.side, self.half = variable("@side", "side"), variable("@half", "parity")
        self.group = variable("@group", "w")
        self.axis = scope.axis(self.spread.axis)
        self.start = variable(f"@start_{self.spread.axis}", f"{self.spread.axis}0", INDEX)
        self.tile = scope.tile_constant(self.spread.axis)
        self.extent = scope.nest.axis(self.spread.axis).extent
        self.block = variable("@block", "block", UNSIGNED)
        self.row = variable("@row_number", "row", UNSIGNED)
        self.number = variable("@tile_number", "tile")
        self.places = variable("@places", "places", UNSIGNED)
        self.totals = tuple(self._total(c) for c in phase.carriers)
        self.loaded: dict[Read, Expression] = {}
        self.shared: list[SharedArray] = []

    def _total(self, carrier: Carrier) -> Total:
        spread = self.spread
        ctype = accumulator_ctype(carrier.node, self.scope.types)
        steps = (number(spread.steps),) if spread.steps > 1 else ()
        lanes = (number(spread.width),) if spread.width > 1 else ()
        columns = lanes if spread.across is not None else ()

        def named(kind: str, *shape: Expression) -> Variable:
            return Variable(f"{carrier.name}_{kind}", ctype, shape)

        count = spread.warps * (spread.beside if spread.across is None else 1)
        halves = () if self.look_back else (number(2),)
        beside = (number(spread.beside),) if spread.across is not None else ()
        return Total(
            carrier=carrier,
            ctype=ctype,
            identity=identity_value(carrier.node, self.scope.types),
            term=named("term", *steps, *lanes),
            lanes=named("lanes", *steps),
            mine=named("warp" if spread.across is None else "thread", *columns),
            prefix=named("prefix", *columns),
            carry=named("carry", *columns),
            running=named("running", *columns),
            before=named("before"),
            step=named("step"),
            shared=named(
                "warps" if spread.across is None else "parts", *halves, number(count), *columns, *beside
            ),
            tile=named("tile", *columns),
            ahead=named("ahead", *columns, *beside),
        )

    # Which variables are arrays

    @property
    def per_column(self) -> bool:
        """Whether the neighbours of an item are columns with totals of their own."""
        return self.spread.across is not None and self.spread.width > 1

    def at_step(self, variable: Variable) -> Expression:
        return at(variable, self.step) if self.spread.steps > 1 else variable

    def at_lane(self, place: Expression) -> Expression:
        return at(place, self.l) if self.spread.width > 1 else place

    def at_column(self, place: Expression) -> Expression:
        """Of the column of a neighbour."""
        return at(place, self.l) if self.per_column else place

    def term(self, total: Total) -> Expression:
        return self.at_lane(self.at_step(total.term))

    @property
    def look_back(self) -> bool:
        return self.phase.carry is Carry.LOOK_BACK

    # Loops

    def steps(self, body: Block) -> Block:
        return (Scope(body),) if self.spread.steps == 1 else _loop(self.step, self.spread.steps, body)

    def lanes(self, body: Block) -> Block:
        return _loop(self.l, self.spread.width, body)

    def columns(self, body: Block) -> Block:
        return _loop(self.l, self.spread.width if self.spread.across is not None else 1, body)

    def groups(self, body: Block) -> Block:
        return _loop(self.group, self.spread.warps, body)

    # Places

    @property
    def fast(self) -> str:
        """The axis of an item's neighbours."""
        return self.spread.run.fast

    @property
    def shift(self) -> dict[str, Expr]:
        """To a neighbour of an item."""
        return {self.fast: sym(f"@at_{self.fast}")} if self.spread.width > 1 else {}

    def coordinate(self) -> Declare:
        """The scanned coordinate of an item, in the loop over steps."""
        alias = self.scope.alias
        part = alias(self.part) if self.spread.warps > 1 else Expr(())
        lane = alias(self.lane) if self.spread.lanes > 1 else Expr(())
        step = alias(self.step) if self.spread.steps > 1 else Expr(())
        inside = self.spread.position(part, lane, step)
        return optional(self.axis, add(self.start, self.scope.index(inside)))

    def neighbour(self) -> Block:
        """The coordinate of a neighbour, in the loop over lanes."""
        if self.spread.width == 1:
            return ()
        place = self.scope.plan_variable(f"@at_{self.fast}")
        return (optional(place, add(self.scope.axis(self.fast), self.l)),)

    def within(self, first: Expr, limit: Expr, whole: bool = False) -> Expression | None:
        """The condition that a neighbour (`whole`: all of the item) is one of the points `first <= … < limit`; None
        where it always is."""
        spread, index, width = self.spread, self.scope.index, self.spread.width
        along = spread.across is None
        # Where items are whole or nothing, one comparison serves all neighbours.
        moved = width > 1 and not whole and self.ends(first, limit)
        near = self.scope.plan_variable(f"@at_{self.fast}") if moved else self.scope.axis(self.fast)
        several = whole and self.ends(first, limit)
        j = near if along else self.axis
        found: list[Expression] = []

        def ends_before(place: Expression, end: Expr, item: bool) -> Expression:
            if item:
                return Binary(Infix.LESS_EQUAL, add(place, width), index(end))
            return less(place, index(end))

        if first.terms:
            found.append(binary(Infix.GREATER_EQUAL, j, index(first)))
        if limit != self.extent or spread.axis in self.phase.guards:
            found.append(ends_before(j, limit, along and several))
        if not along and self.fast in self.phase.guards:
            found.append(ends_before(near, self.scope.nest.axis(self.fast).extent, several))
        if self.phase.row is not None and self.phase.row in self.phase.guards:
            found.append(self.scope.guard(self.phase.row))
        return all_of(found)

    def ends(self, first: Expr, limit: Expr) -> bool:
        """Whether the points may end, or start, inside an item."""
        if self.spread.width == 1:
            return False
        along = self.spread.across is None
        return self.phase.tail or (along and (bool(first.terms) or limit != self.extent))

    # Values

    def item(self, known: dict[Value, Expression]) -> ItemBody:
        """Builds values at a point; what was loaded is in registers."""
        sweep = Sweep(digits=(), loops=(), coordinates=(), limits=())
        body = ItemBody(self.scope, Compute(sweep, self.phase.stores, (), (), (), ()), known)
        body.hoisted.update(self.loaded)
        return body

    def moved(self, access: Access) -> Expr:
        """The address of a neighbour."""
        return substitute(access.address, self.shift)

    # Definitions

    def start_of(self, variable: Variable, value: Expression) -> Declare:
        """A total that starts as `value`; arrays are filled afterwards."""
        return Declare(variable, None if self.per_column else value)


def _loop(variable: Variable, trip: int, body: Block) -> Block:
    return body if trip == 1 else (For(variable, number(0), number(trip), body),)


def guarded(condition: Expression | None, body: Block, otherwise: Block = ()) -> Block:
    """`body` under a condition, if there is one."""
    return body if condition is None else (If(condition, body, otherwise),)
