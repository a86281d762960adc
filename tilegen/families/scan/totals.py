"""The totals of a kernel with scans: of threads and warps, of what came before them, at every point."""

from __future__ import annotations

from tilegen.algebra import substitute, sym
from tilegen.core.nest.combine import ARGUMENTS
from tilegen.core.nest.reductions import reductions_of
from tilegen.cuda.scope import wrapped
from tilegen.cuda.view import PartView, SharedView
from tilegen.families.scan.names import ScanScope, Total, called, guarded, start_of, used
from tilegen.families.tiles.compute import ItemBody
from tilegen.lang.spec import Value


def terms_part(names: ScanScope, totals: list[Total]) -> PartView:
    spread = names.spread
    inner = _inner(names, totals)
    declared: list[str] = []
    per_step: list[str] = []
    per_lane: list[str] = []
    after: list[str] = []
    for t in totals:
        declared.append(f"{t.ctype} {t.term}{names.per_step()}{names.per_lane()};")
    if spread.across is None:
        for t in totals:
            declared.append(f"{t.ctype} {t.lanes}{names.per_step()};")
            declared.append(f"{t.ctype} {t.mine} = {t.identity};")
            per_step.append(f"{t.ctype} {t.running} = {t.identity};")
            after += _warp_totals(names, t)
    else:
        for t in totals:
            declared.append(f"{t.ctype} {t.mine}{names.per_column()}{start_of(names, t)};")
        if names.per_column():
            declared += names.columns([f"{t.mine}{names.at_column} = {t.identity};" for t in totals])
    known = running_totals(names, inner, declared, per_step, per_lane)
    body = names.item(known)
    for t in totals:
        per_lane += _term(names, body, t)
        so_far = t.running if spread.across is None else f"{t.mine}{names.at_column}"
        per_lane.append(f"{so_far} = {t.combined(so_far, f'{t.term}{names.at_step}{names.at_lane}')};")
    lanes = names.lanes(used(names.neighbour(), per_lane))
    steps = names.steps(used([names.coordinate()], [*per_step, *lanes, *after]))
    return PartView((_terms_comment(names, totals),), (*declared, *steps))


def _terms_comment(names: ScanScope, totals: list[Total]) -> str:
    what = " and ".join(t.carrier.name for t in totals)
    if names.spread.across is not None:
        return f"The {what} of what each thread has of its columns."
    if names.spread.lanes == 1:
        return f"The {what} of what each thread has."
    return f"The {what} of each thread's neighbours, and by shuffles of the lanes and steps before them."


def _warp_totals(names: ScanScope, t: Total) -> list[str]:
    lanes = names.spread.lanes
    names.scope.file.helpers.add("lanes_before")
    scanned = f"lanes_before<{t.operator}, {lanes}>({t.running}, {names.lane}, {t.identity}, {t.step})"
    if lanes == 1:
        return [
            f"{t.lanes}{names.at_step} = {t.mine};",
            f"{t.mine} = {t.combined(t.mine, t.running)};",
        ]
    place = f"{t.lanes}{names.at_step}"
    return [
        f"{t.ctype} {t.step};",
        *called(f"{place} = {scanned};"),
        f"{place} = {t.combined(t.mine, place)};",
        f"{t.mine} = {t.combined(t.mine, t.step)};",
    ]


def _term(names: ScanScope, body: ItemBody, t: Total) -> list[str]:
    """The term of a point; the identity where there is none."""
    carrier = t.carrier
    printer = body.printer(names.shift)
    printer.count(carrier.term)
    text = printer(carrier.term)
    lines = [*body.definitions, *printer.lines]
    body.definitions = []
    if carrier.op in ARGUMENTS:
        text = f"{t.ctype}{{{text}, static_cast<index_t>({_position(names)})}}"
    place, inside = f"{t.term}{names.at_step}{names.at_lane}", names.within(carrier.first, carrier.limit)
    line = carrier.node.span.line
    if not inside:
        return [*lines, *wrapped(f"{place} = {text};", line)]
    if lines:
        return [
            f"{place} = {t.identity};",
            *guarded(inside, [*lines, *wrapped(f"{place} = {text};", line)]),
        ]
    choice = f"({text})" if " ? " in text else text
    return wrapped(f"{place} = {inside} ? {choice} : {t.identity};", line)


def _position(names: ScanScope) -> str:
    """The scanned axis's own value at a point."""
    value = names.scope.in_nest(sym(names.spread.axis))
    return names.scope.index(substitute(value, names.shift))


def _inner(names: ScanScope, totals: list[Total]) -> list[Total]:
    """The totals that terms of these use."""
    wanted = set(reductions_of(t.carrier.term for t in totals))
    return [t for t in names.totals if {t.carrier.inclusive, t.carrier.exclusive} & wanted]


def running_totals(
    names: ScanScope, totals: list[Total], declared: list[str], per_step: list[str], per_lane: list[str]
) -> dict[Value, str]:
    """Statements that go through the totals of every point, and the text of each scan."""
    known: dict[Value, str] = {}
    for t in totals:
        running = f"{t.running}{names.at_column}"
        if names.spread.across is None:
            start = t.combined(t.prefix, f"{t.lanes}{names.at_step}")
            per_step.append(f"{t.ctype} {t.running} = {start};")
        elif names.per_column():
            declared.append(f"{t.ctype} {t.running}{names.per_column()};")
            declared += names.columns([f"{running} = {t.prefix}{names.at_column};"])
        else:
            declared.append(f"{t.ctype} {t.running} = {t.prefix};")
        if t.carrier.exclusive is not None:
            known[t.carrier.exclusive] = _result(t, t.before)
            per_lane.append(f"const {t.ctype} {t.before} = {running};")
        if t.carrier.inclusive is not None:
            known[t.carrier.inclusive] = _result(t, running)
        term = f"{t.term}{names.at_step}{names.at_lane}"
        per_lane.append(f"{running} = {t.combined(running, term)};")
    return known


def _result(t: Total, text: str) -> str:
    """What a scan gives, of its total."""
    return f"static_cast<long long>({text}.index)" if t.carrier.op in ARGUMENTS else text


def before_part(names: ScanScope, totals: list[Total], first: bool) -> PartView:
    """The total of everything before each warp, and of the tile."""
    spread, lines = names.spread, list[str]()
    column, per_column = names.at_column, names.per_column()
    if names.look_back:
        lines += [f"{t.ctype} {t.tile}{per_column}{start_of(names, t)};" for t in totals]
        if per_column:
            lines += names.columns([f"{t.tile}{column} = {t.identity};" for t in totals])
    until = {t: t.tile if names.look_back else t.carry for t in totals}
    if spread.warps == 1:
        for t in totals:
            declared = (
                f"{t.ctype} {t.prefix}{per_column}"
                if per_column
                else f"const {t.ctype} {t.prefix} = {t.carry}"
            )
            lines.append(f"{declared};")
            own = [f"{t.prefix}{column} = {t.carry}{column};"] if per_column else []
            lines += names.columns(
                [*own, f"{t.carry}{column} = {t.combined(f'{t.carry}{column}', f'{t.mine}{column}')};"]
            )
        return PartView(("A row has one warp at most: it carries its total on.",), tuple(lines))
    places = [_shared_place(names, t, names.part) for t in totals]
    store = [f"{place} = {t.mine}{column};" for t, place in zip(totals, places, strict=True)]
    store = names.columns(store) if spread.across is not None else guarded(f"{names.lane} == 0", store)
    if not names.look_back:
        half = f"static_cast<int>({names.start} / {names.tile} % 2)"
        lines += [f"const int {names.half} = {half};"] if first else []
    lines += [*store, "__syncthreads();"]
    chain: list[str] = []
    for t in totals:
        total = f"{until[t]}{column}"
        value = f"{t.prefix}{column}"
        start = f" = {until[t]}" if not per_column else ""
        lines.append(f"{t.ctype} {t.prefix}{per_column}{start};")
        if per_column:
            lines += names.columns([f"{value} = {total};"])
        chain.append(f"{value} = {names.group} == {names.part} ? {total} : {value};")
        chain.append(f"{total} = {t.combined(total, _shared_place(names, t, names.group))};")
    lines += names.groups(names.columns(chain))
    what = "warps" if spread.across is None else "threads of a column"
    text = f"The totals of the {what} meet in shared memory"
    text += "." if names.look_back else ", in one half of it, then the other: one barrier per tile will do."
    return PartView((text,), tuple(lines))


def _shared_place(names: ScanScope, t: Total, group: str) -> str:
    """Where the total of a warp, or of a thread's column, lies."""
    spread = names.spread
    if all(t.shared not in s.declaration for s in names.shared):
        count = spread.warps * (spread.beside if spread.across is None else 1)
        shape = f"[{count}]"
        if spread.across is not None:
            shape += f"{names.per_column()}[{spread.beside}]"
        halves = "" if names.look_back else "[2]"
        whose = "warp" if spread.across is None else "thread of a column"
        names.shared.append(
            SharedView(
                f"The {t.carrier.name} of every {whose}.",
                f"__shared__ {t.ctype} {t.shared}{halves}{shape};",
            )
        )
    half = "" if names.look_back else f"[{names.half}]"
    if spread.across is not None:
        return f"{t.shared}{half}[{group}]{names.at_column}[{names.lane}]"
    if spread.beside > 1:
        return f"{t.shared}{half}[{names.side} * {spread.warps} + {group}]"
    return f"{t.shared}{half}[{group}]"
