"""What the blocks of a scan ask each other: the total of the tiles before their own, along a row or down columns."""

from __future__ import annotations

from tilegen.cuda import tree
from tilegen.cuda.tree import (
    INT,
    SIZE,
    Assign,
    Binary,
    Block,
    Braces,
    Call,
    Cast,
    Comment,
    Declare,
    Expression,
    Function,
    Infix,
    Part,
    PointerCast,
    SharedArray,
    Statement,
    Templated,
    Variable,
    add,
    at,
    binary,
    equal,
    multiply,
    number,
)
from tilegen.families.scan.names import ScanScope, Total, guarded
from tilegen.families.scan.plan import flags_apart, wide_values


def look_back_part(names: ScanScope, totals: list[Total]) -> Part:
    spread, column = names.spread, names.at_column
    found: list[Statement] = []
    after: list[Statement] = []
    for position, t in enumerate(totals):
        words = f"The {t.carrier.name} of the tiles before this one."
        names.shared.append(SharedArray(t.ahead, Comment((words,))))
        if spread.across is None:
            found += guarded(equal(names.part, position % spread.warps), _looking_back(names, t))
            ahead: Expression = t.ahead
        else:
            found += names.columns(_looking_up(names, t, position))
            ahead = at(column(t.ahead), names.lane)
        after.append(Assign(column(t.prefix), t.combined(ahead, column(t.prefix))))
    who = "One warp finds" if spread.across is None else "A thread per column finds"
    words = f"{who} the total of the tiles before this one, which other blocks have."
    return Part((Comment((words,)),), (*found, tree.Barrier(), *names.columns(tuple(after))))


def _looking_back(names: ScanScope, t: Total) -> Block:
    states, before = Variable("states", _states_type(names, t)), Variable("before", t.ctype)
    tiles = Cast(INT, names.scope.tiles(names.spread.axis))
    look = Function("look_back", ("look_back", *t.entries), (t.operator,))
    found = Call(look, (states, tiles, names.number, names.lane, t.tile, t.identity))
    return (
        Declare(states, Braces(None, _states_places(names, t)), const=True),
        Declare(before, found, const=True),
        *guarded(equal(names.lane, 0), (Assign(t.ahead, before),)),
    )


def _looking_up(names: ScanScope, t: Total, position: int) -> Block:
    """Down columns: those of a thread's neighbours are shared out among the threads of a column."""
    spread = names.spread
    states = Variable("states", _states_type(names, t))
    stride = number(spread.beside * spread.width)
    column: Expression = names.lane
    if spread.width > 1:
        column = add(multiply(names.l, spread.beside), names.lane)
    look = Function("look_back_column", ("look_back_column", *t.entries), (t.operator,))
    total = names.at_column(t.tile)
    found = Call(look, (states, stride, column, names.number, total, t.identity))
    who: Expression = number(position % spread.warps)
    if spread.width > 1:
        who = binary(Infix.REMAINDER, add(names.l, position), spread.warps)
    body = (
        Declare(states, Braces(None, _states_places(names, t)), const=True),
        Assign(at(names.at_column(t.ahead), names.lane), found),
    )
    return guarded(Binary(Infix.EQUAL, names.part, who), body)


def _states_type(names: ScanScope, t: Total) -> Templated:
    kind = "SeparateStates" if wide_values(t.carrier) else "PackedStates"
    return Templated(kind, (t.ctype, flags_apart(names.spread, t.carrier)))


def _states_places(names: ScanScope, t: Total) -> tuple[Expression, ...]:
    """Where the states of the row lie, and the totals beside them."""
    name = t.carrier.name
    one = all(a == names.spread.axis for a in names.scope.plan.raster)

    def of_row(memory: Expression, apart: int) -> Expression:
        places = Binary(Infix.MULTIPLY, Cast(SIZE, names.row), names.places)
        return memory if one else Binary(Infix.ADD, memory, multiply(apart, places) if apart > 1 else places)

    apart, scratch = flags_apart(names.spread, t.carrier), names.scope.scratch
    if wide_values(t.carrier):
        totals = PointerCast(t.ctype, scratch(f"{name}_totals"), const=False)
        return of_row(scratch(f"{name}_flags"), apart), of_row(totals, 2)
    return (of_row(scratch(f"{name}_states"), apart),)
