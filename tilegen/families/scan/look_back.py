"""What the blocks of a scan ask each other: the total of the tiles before their own, along a row or down columns."""

from __future__ import annotations

from tilegen.cuda.view import PartView, SharedView
from tilegen.families.scan.names import ScanScope, Total, called, guarded
from tilegen.families.scan.plan import flags_apart, wide_values


def look_back_part(names: ScanScope, totals: list[Total]) -> PartView:
    spread, lines = names.spread, list[str]()
    for number, t in enumerate(totals):
        shape = f"{names.per_column()}[{spread.beside}]" if spread.across is not None else ""
        names.shared.append(
            SharedView(
                f"The {t.carrier.name} of the tiles before this one.",
                f"__shared__ {t.ctype} {t.ahead}{shape};",
            )
        )
        if spread.across is None:
            lines += guarded(f"{names.part} == {number % spread.warps}", _looking_back(names, t))
        else:
            lines += names.columns(_looking_up(names, t, number))
    lines.append("__syncthreads();")
    column = names.at_column
    ahead = f"{column}[{names.lane}]" if spread.across is not None else ""
    after = [f"{t.prefix}{column} = {t.combined(t.ahead + ahead, t.prefix + column)};" for t in totals]
    lines += names.columns(after)
    who = "One warp finds" if spread.across is None else "A thread per column finds"
    return PartView(
        (f"{who} the total of the tiles before this one, which other blocks have.",), tuple(lines)
    )


def _looking_back(names: ScanScope, t: Total) -> list[str]:
    scope = names.scope
    scope.file.helpers.add("look_back")
    states, before = scope.names.user("@states", "states"), scope.names.user("@earlier", "before")
    tiles = names.count(names.spread.axis)
    found = (
        f"look_back<{t.operator}>({states}, static_cast<int>({tiles}), {names.number}, {names.lane}, "
        f"{t.tile}, {t.identity})"
    )
    return [
        *_initialised(f"const {_states_type(names, t)} {states}", _states_places(names, t)),
        *called(f"const {t.ctype} {before} = {found};"),
        *guarded(f"{names.lane} == 0", [f"{t.ahead} = {before};"]),
    ]


def _looking_up(names: ScanScope, t: Total, number: int) -> list[str]:
    """Down columns: those of a thread's neighbours are shared out among the threads of a column."""
    scope, spread = names.scope, names.spread
    scope.file.helpers.add("look_back_column")
    states = scope.names.user("@states", "states")
    stride = spread.beside * spread.width
    column = f"{names.l} * {spread.beside} + {names.lane}" if spread.width > 1 else names.lane
    found = (
        f"look_back_column<{t.operator}>({states}, {stride}, {column}, {names.number}, "
        f"{t.tile}{names.at_column}, {t.identity})"
    )
    body = [
        *_initialised(f"const {_states_type(names, t)} {states}", _states_places(names, t)),
        *called(f"{t.ahead}{names.at_column}[{names.lane}] = {found};"),
    ]
    first = f"({names.l} + {number})" if number else names.l
    who = f"{first} % {spread.warps}" if spread.width > 1 else str(number % spread.warps)
    return guarded(f"{names.part} == {who}", body)


def _states_type(names: ScanScope, t: Total) -> str:
    kind = "SeparateStates" if wide_values(t.carrier) else "PackedStates"
    names.scope.file.helpers.add(kind)
    return f"{kind}<{t.ctype}, {flags_apart(names.spread, t.carrier)}>"


def _states_places(names: ScanScope, t: Total) -> list[str]:
    """Where the states of the row lie, and the totals beside them."""
    name = t.carrier.name
    one = all(a == names.spread.axis for a in names.scope.plan.raster)

    def of_row(memory: str, apart: int) -> str:
        places = f"static_cast<size_t>({names.row}) * {names.places}"
        return memory if one else f"{memory} + {places}" if apart == 1 else f"{memory} + {apart} * {places}"

    apart, scratch = flags_apart(names.spread, t.carrier), names.scope.scratch
    if wide_values(t.carrier):
        totals = f"reinterpret_cast<{t.ctype}*>({scratch(f'{name}_totals')})"
        return [of_row(scratch(f"{name}_flags"), apart), of_row(totals, 2)]
    return [of_row(scratch(f"{name}_states"), apart)]


def _initialised(declared: str, values: list[str]) -> list[str]:
    """A definition with its members, on lines of their own where they are long together."""
    text = f"{declared}{{{', '.join(values)}}};"
    if len(text) <= 110:
        return [text]
    return [f"{declared}{{", *(f"    {v}," for v in values[:-1]), f"    {values[-1]}}};"]
