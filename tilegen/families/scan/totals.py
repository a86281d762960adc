"""The totals of a kernel with scans: of threads and warps, of what came before them, at every point."""

from __future__ import annotations

from tilegen.algebra import substitute, sym
from tilegen.core.nest.combine import ARGUMENTS
from tilegen.core.nest.reductions import reductions_of
from tilegen.cuda import tree
from tilegen.cuda.item import ItemBody
from tilegen.cuda.operators import result
from tilegen.cuda.tree import (
    INDEX,
    INT,
    Assign,
    Binary,
    Block,
    Braces,
    Call,
    Cast,
    Comment,
    Conditional,
    Declare,
    Expression,
    Function,
    Infix,
    Part,
    SharedArray,
    Statement,
    add,
    at,
    binary,
    equal,
    multiply,
    number,
    optional,
)
from tilegen.families.scan.names import ScanScope, Total, guarded
from tilegen.lang.spec import Value


def terms_part(names: ScanScope, totals: list[Total]) -> Part:
    spread = names.spread
    declared: list[Statement] = [Declare(t.term) for t in totals]
    per_step: list[Statement] = []
    per_lane: list[Statement] = []
    after: list[Statement] = []
    if spread.across is None:
        for t in totals:
            declared += [Declare(t.lanes), Declare(t.mine, t.identity)]
            per_step.append(Declare(t.running, t.identity))
            after += _warp_totals(names, t)
    else:
        declared += [names.start_of(t.mine, t.identity) for t in totals]
        if names.per_column:
            declared += names.columns(tuple(Assign(names.at_column(t.mine), t.identity) for t in totals))
    known = running_totals(names, _inner(names, totals), declared, per_step, per_lane)
    body = names.item(known)
    for t in totals:
        per_lane += _term(names, body, t)
        so_far = t.running if spread.across is None else names.at_column(t.mine)
        per_lane.append(Assign(so_far, t.combined(so_far, names.term(t))))
    lanes = names.lanes((*names.neighbour(), *per_lane))
    steps = names.steps((names.coordinate(), *per_step, *lanes, *after))
    return Part((Comment((_terms_comment(names, totals),)),), (*declared, *steps))


def _terms_comment(names: ScanScope, totals: list[Total]) -> str:
    what = " and ".join(t.carrier.name for t in totals)
    if names.spread.across is not None:
        return f"The {what} of what each thread has of its columns."
    if names.spread.lanes == 1:
        return f"The {what} of what each thread has."
    return f"The {what} of each thread's neighbours, and by shuffles of the lanes and steps before them."


def _warp_totals(names: ScanScope, t: Total) -> Block:
    lanes, place = names.spread.lanes, names.at_step(t.lanes)
    if lanes == 1:
        return Assign(place, t.mine), Assign(t.mine, t.combined(t.mine, t.running))
    before = Function("lanes_before", ("lanes_before", *t.entries), (t.operator, number(lanes)))
    return (
        Declare(t.step),
        Assign(place, Call(before, (t.running, names.lane, t.identity, t.step))),
        Assign(place, t.combined(t.mine, place)),
        Assign(t.mine, t.combined(t.mine, t.step)),
    )


def _term(names: ScanScope, body: ItemBody, t: Total) -> Block:
    """The term of a point; the identity where there is none."""
    carrier = t.carrier
    builder = body.builder(names.shift)
    builder.count(carrier.term)
    value = builder(carrier.term)
    definitions = builder.take()
    if carrier.op in ARGUMENTS:
        value = Braces(t.ctype, (value, Cast(INDEX, _position(names))))
    place, inside, line = names.term(t), names.within(carrier.first, carrier.limit), carrier.node.span.line
    assign = Assign(place, value, line=line)
    if inside is None:
        return (*definitions, assign)
    if definitions:
        return (Assign(place, t.identity), *guarded(inside, (*definitions, assign)))
    return (Assign(place, Conditional(inside, value, t.identity), line=line),)


def _position(names: ScanScope) -> Expression:
    """The scanned axis's own value at a point."""
    value = names.scope.in_nest(sym(names.spread.axis))
    return names.scope.index(substitute(value, names.shift))


def _inner(names: ScanScope, totals: list[Total]) -> list[Total]:
    """The totals that terms of these use."""
    needed = set(reductions_of(t.carrier.term for t in totals))
    return [t for t in names.totals if {t.carrier.inclusive, t.carrier.exclusive} & needed]


def running_totals(
    names: ScanScope,
    totals: list[Total],
    declared: list[Statement],
    per_step: list[Statement],
    per_lane: list[Statement],
) -> dict[Value, Expression]:
    """Statements that go through the totals of every point, and the value of each scan."""
    known: dict[Value, Expression] = {}
    for t in totals:
        running = names.at_column(t.running)
        if names.spread.across is None:
            per_step.append(Declare(t.running, t.combined(t.prefix, names.at_step(t.lanes))))
        else:
            declared.append(names.start_of(t.running, t.prefix))
            if names.per_column:
                declared += names.columns((Assign(running, names.at_column(t.prefix)),))
        if t.carrier.exclusive is not None:
            known[t.carrier.exclusive] = result(t.carrier.exclusive, t.before, names.scope.types)
            per_lane.append(Declare(t.before, running, const=True))
        if t.carrier.inclusive is not None:
            known[t.carrier.inclusive] = result(t.carrier.inclusive, running, names.scope.types)
        per_lane.append(Assign(running, t.combined(running, names.term(t))))
    return known


def before_part(names: ScanScope, totals: list[Total], first: bool) -> Part:
    """The total of everything before each warp, and of the tile."""
    spread, column = names.spread, names.at_column
    found: list[Statement] = []
    if names.look_back:
        found += [names.start_of(t.tile, t.identity) for t in totals]
        if names.per_column:
            found += names.columns(tuple(Assign(column(t.tile), t.identity) for t in totals))
    if spread.warps == 1:
        for t in totals:
            found.append(Declare(t.prefix, None if names.per_column else t.carry, const=not names.per_column))
            start = [Assign(column(t.prefix), column(t.carry))] if names.per_column else []
            on = Assign(column(t.carry), t.combined(column(t.carry), column(t.mine)))
            found += names.columns((*start, on))
        return Part((Comment(("A row has one warp at most: it carries its total on.",)),), tuple(found))
    store: Block = tuple(Assign(_shared_place(names, t, names.part), column(t.mine)) for t in totals)
    store = names.columns(store) if spread.across is not None else guarded(equal(names.lane, 0), store)
    if first and not names.look_back:
        tile_number = binary(Infix.DIVIDE, names.start, names.tile)
        found.append(optional(names.half, Cast(INT, binary(Infix.REMAINDER, tile_number, 2))))
    found += [*store, tree.Barrier()]
    chain: list[Statement] = []
    for t in totals:
        until = t.tile if names.look_back else t.carry
        total, value = column(until), column(t.prefix)
        found.append(names.start_of(t.prefix, until))
        if names.per_column:
            found += names.columns((Assign(value, total),))
        here = Binary(Infix.EQUAL, names.group, names.part)
        chain.append(Assign(value, Conditional(here, total, value)))
        chain.append(Assign(total, t.combined(total, _shared_place(names, t, names.group))))
    found += names.groups(names.columns(tuple(chain)))
    what = "warps" if spread.across is None else "threads of a column"
    words = f"The totals of the {what} meet in shared memory"
    words += "." if names.look_back else ", in one half of it, then the other: one barrier per tile will do."
    return Part((Comment((words,)),), tuple(found))


def _shared_place(names: ScanScope, t: Total, group: Expression) -> Expression:
    """Where the total of a warp, or of a thread's column, lies."""
    spread = names.spread
    if all(s.variable is not t.shared for s in names.shared):
        whose = "warp" if spread.across is None else "thread of a column"
        names.shared.append(SharedArray(t.shared, Comment((f"The {t.carrier.name} of every {whose}.",))))
    half = t.shared if names.look_back else at(t.shared, names.half)
    if spread.across is not None:
        return at(names.at_column(at(half, group)), names.lane)
    if spread.beside > 1:
        return at(half, add(multiply(names.side, spread.warps), group))
    return at(half, group)
