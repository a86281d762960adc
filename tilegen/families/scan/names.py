"""Names of a kernel with scans: who a thread is, where its points are, what totals are called; and its loops."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilegen.algebra import Expr, substitute, sym
from tilegen.core.nest.combine import accumulator_type
from tilegen.core.nest.model import Access
from tilegen.core.plan.model import Compute, Sweep
from tilegen.cuda.functions import nan_helper
from tilegen.cuda.operators import accumulator_ctype, identity_text, operator_name
from tilegen.cuda.scope import KernelScope, kept
from tilegen.cuda.view import SharedView
from tilegen.families.scan.phase import Carrier, Carry, Scan
from tilegen.families.tiles.compute import ItemBody
from tilegen.lang.spec import Read, Reduction, Value


@dataclass(frozen=True, slots=True)
class Total:
    """The variables of one carrier. Per item: `term` of a point, `lanes` what the lanes and steps before it have in the
    warp. Per tile: `mine` what a warp (across: a thread) has so far, `prefix` everything before it, `carry` everything
    before the tile. At a point: `running` its total, `before` the one without its term."""

    carrier: Carrier
    ctype: str
    helpers: set[str] = field(compare=False)
    identity: str
    term: str
    lanes: str
    mine: str
    prefix: str
    carry: str
    running: str
    before: str
    step: str
    shared: str
    tile: str
    ahead: str

    @property
    def operator(self) -> str:
        """The function object that combines two totals."""
        return operator_name(self.carrier.node, self.helpers)

    def combined(self, a: str, b: str) -> str:
        """`a` before `b`."""
        match self.carrier.op:
            case Reduction.SUM:
                return f"{a} + {b}"
            case Reduction.PROD:
                return f"{a} * {b}"
            case Reduction.MAX | Reduction.MIN:
                name = f"{self.carrier.op.value}imum"
                self.helpers.add(nan_helper(name, accumulator_type(self.carrier.node)))
                return f"{name}({a}, {b})"
            case _:
                # Not `||` and `&&`: those would leave out shuffles of the right-hand side.
                return f"{self.operator}::of({a}, {b})"


class ScanScope:
    """What the parts of the phase share."""

    def __init__(self, scope: KernelScope, phase: Scan) -> None:
        self.scope, self.phase, self.spread = scope, phase, phase.spread
        names = scope.names
        self.thread = scope.symbol("@tid")
        # Reserved words are never given to a user's name.
        names.give("@lane_number", "lane")
        names.give("@step_number", "step")
        self.lane, self.step = "lane", "step"
        self.part = names.user("@part", "warp" if self.spread.across is None else "part")
        self.side = names.user("@side", "side")
        self.half = names.user("@half", "parity")
        self.group = names.user("@group", "w")
        self.axis = names.user(self.spread.axis)
        self.start = names.user(f"@start_{self.spread.axis}", f"{self.axis}0")
        self.tile = scope.tile_constant(self.spread.axis)
        self.extent = scope.nest.axis(self.spread.axis).extent
        self.l = scope.symbol("@lane")
        self.block, self.row = names.user("@block", "block"), names.user("@row_number", "row")
        self.number, self.places = names.user("@tile_number", "tile"), names.user("@places", "places")
        self.totals = tuple(self._total(c) for c in phase.carriers)
        self.loaded: dict[Read, str] = {}
        self.shared: list[SharedView] = []

    def _total(self, carrier: Carrier) -> Total:
        helpers, types, user = self.scope.file.helpers, self.scope.file.types, self.scope.names.user

        def name(kind: str) -> str:
            return user(f"@{carrier.name}_{kind}", f"{carrier.name}_{kind}")

        ctype = accumulator_ctype(carrier.node, types, helpers)
        if ctype.startswith("Indexed"):
            helpers |= {"from_lane_indexed", "from_below_indexed"}
        return Total(
            carrier=carrier,
            ctype=ctype,
            helpers=helpers,
            identity=identity_text(carrier.node, types, helpers),
            term=name("term"),
            lanes=name("lanes"),
            mine=name("warp") if self.spread.across is None else name("thread"),
            prefix=name("prefix"),
            carry=name("carry"),
            running=name("running"),
            before=name("before"),
            step=name("step"),
            shared=name("warps" if self.spread.across is None else "parts"),
            tile=name("tile"),
            ahead=name("ahead"),
        )

    def count(self, axis: str) -> str:
        """The number of tiles along an axis."""
        return self.scope.names.user(f"@tiles_{axis}", f"tiles_{self.scope.names.user(axis)}")

    # Which variables are arrays

    @property
    def at_step(self) -> str:
        return f"[{self.step}]" if self.spread.steps > 1 else ""

    @property
    def at_lane(self) -> str:
        return f"[{self.l}]" if self.spread.width > 1 else ""

    @property
    def at_column(self) -> str:
        """Per neighbour of an item, where those are columns with totals of their own."""
        return self.at_lane if self.spread.across is not None else ""

    def per_step(self) -> str:
        return f"[{self.spread.steps}]" if self.spread.steps > 1 else ""

    def per_lane(self) -> str:
        return f"[{self.spread.width}]" if self.spread.width > 1 else ""

    def per_column(self) -> str:
        return self.per_lane() if self.spread.across is not None else ""

    @property
    def look_back(self) -> bool:
        return self.phase.carry is Carry.LOOK_BACK

    # Loops

    def steps(self, lines: list[str]) -> list[str]:
        if self.spread.steps == 1:
            return ["{", *("    " + x for x in lines), "}"]
        return _loop(self.step, self.spread.steps, lines)

    def lanes(self, lines: list[str]) -> list[str]:
        return _loop(self.l, self.spread.width, lines)

    def columns(self, lines: list[str]) -> list[str]:
        return _loop(self.l, self.spread.width if self.spread.across is not None else 1, lines)

    def groups(self, lines: list[str]) -> list[str]:
        return _loop(self.group, self.spread.warps, lines)

    # Places

    @property
    def fast(self) -> str:
        """The axis of an item's neighbours."""
        return self.spread.run.fast

    @property
    def shift(self) -> dict[str, Expr]:
        """To a neighbour of an item."""
        return {self.fast: sym(f"@at_{self.fast}")} if self.spread.width > 1 else {}

    def coordinate(self) -> str:
        """The scanned coordinate of an item, in the loop over steps."""
        alias = self.scope.alias
        part = alias(self.part) if self.spread.warps > 1 else Expr(())
        lane = alias(self.lane) if self.spread.lanes > 1 else Expr(())
        step = alias(self.step) if self.spread.steps > 1 else Expr(())
        inside = self.spread.position(part, lane, step)
        text = f"{self.start} + {self.scope.index(inside, 1)}" if inside.terms else self.start
        return f"const index_t {self.axis} = {text};"

    def neighbour(self) -> list[str]:
        """The coordinate of a neighbour, in the loop over lanes."""
        if self.spread.width == 1:
            return []
        at = self.scope.symbol(f"@at_{self.fast}")
        return [f"const index_t {at} = {self.scope.names.user(self.fast)} + {self.l};"]

    def within(self, first: Expr, limit: Expr, whole: bool = False) -> str:
        """The condition that a neighbour (`whole`: all of the item) is one of the points `first <= … < limit`."""
        spread, index, width, found = self.spread, self.scope.index, self.spread.width, list[str]()
        along = spread.across is None
        # Where items are whole or nothing, one comparison serves all neighbours.
        moved = width > 1 and not whole and self.ends(first, limit)
        near = self.scope.symbol(f"@at_{self.fast}") if moved else self.scope.names.user(self.fast)
        several = whole and self.ends(first, limit)
        j = near if along else self.axis
        if first.terms:
            found.append(f"{j} >= {index(first, 1)}")
        if limit != self.extent or spread.axis in self.phase.guards:
            found.append(f"{j} + {width} <= {index(limit)}" if along and several else f"{j} < {index(limit)}")
        if not along and self.fast in self.phase.guards:
            extent = index(self.scope.nest.axis(self.fast).extent)
            found.append(f"{near} + {width} <= {extent}" if several else f"{near} < {extent}")
        if self.phase.row is not None and self.phase.row in self.phase.guards:
            found.append(self.scope.guard(self.phase.row))
        return " && ".join(found)

    def ends(self, first: Expr, limit: Expr) -> bool:
        """Whether the points may end, or start, inside an item."""
        if self.spread.width == 1:
            return False
        along = self.spread.across is None
        return self.phase.tail or (along and (bool(first.terms) or limit != self.extent))

    # Values

    def item(self, known: dict[Value, str]) -> ItemBody:
        """Prints values at a point; what was loaded is in registers."""
        sweep = Sweep(digits=(), loops=(), coordinates=(), limits=())
        body = ItemBody(self.scope, Compute(sweep, self.phase.stores, (), (), (), ()), known)
        body.hoisted.update(self.loaded)
        return body

    def moved(self, access: Access) -> Expr:
        """The address of a neighbour."""
        return substitute(access.address, self.shift)


def _loop(variable: str, trip: int, lines: list[str]) -> list[str]:
    if trip == 1:
        return lines
    return [
        "#pragma unroll",
        f"for (int {variable} = 0; {variable} < {trip}; ++{variable}) {{",
        *("    " + x for x in lines),
        "}",
    ]


def guarded(condition: str, lines: list[str]) -> list[str]:
    """`lines` under a condition, if there is one."""
    if not condition:
        return lines
    return [f"if ({condition}) {{", *("    " + x for x in lines), "}"]


def start_of(names: ScanScope, total: Total) -> str:
    """How a total is defined to be that of nothing; arrays are filled afterwards."""
    return "" if names.per_column() else f" = {total.identity}"


def used(definitions: list[str], lines: list[str]) -> list[str]:
    """Those definitions that `lines` use, before them."""
    pairs = [(d.split(" = ")[0].split()[-1], d) for d in definitions]
    return [*(text for _, text in kept(pairs, "\n".join(lines))), *lines]


def called(text: str) -> list[str]:
    """A statement that calls; a long one has its arguments on a line of their own."""
    if len(text) <= 110:
        return [text]
    head, _, rest = text.partition("(")
    return [f"{head}(", f"    {rest}"]
