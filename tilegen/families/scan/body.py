"""The body of a kernel with scans: one phase, part by part: load, totals, what came before, stores."""

from __future__ import annotations

from tilegen.cuda.scope import KernelScope
from tilegen.cuda.view import BodyView, ConstantView, ScanView
from tilegen.families.scan.blocks import setup_lines
from tilegen.families.scan.look_back import look_back_part
from tilegen.families.scan.memory import load_part, write_part
from tilegen.families.scan.names import ScanScope, start_of
from tilegen.families.scan.phase import Scan
from tilegen.families.scan.plan import mirrored
from tilegen.families.scan.totals import before_part, terms_part


def view_scan(scope: KernelScope) -> BodyView:
    (phase,) = scope.plan.phases
    assert isinstance(phase, Scan)
    names = ScanScope(scope, phase)
    parts = [load_part(names)]
    for level in range(phase.levels):
        here = [t for t in names.totals if t.carrier.level == level]
        parts.append(terms_part(names, here))
        parts.append(before_part(names, here, level == 0))
        if names.look_back:
            parts.append(look_back_part(names, here))
    parts.append(write_part(names))
    carry = [f"{t.ctype} {t.carry}{names.per_column()}{start_of(names, t)};" for t in names.totals]
    if names.per_column():
        carry += names.columns([f"{t.carry}{names.at_column} = {t.identity};" for t in names.totals])
    start, extent = names.start, scope.index(names.extent)
    head = f"index_t {start} = 0; {start} < {extent}; {start} += {names.tile}"
    setup = tuple(setup_lines(names))
    view = ScanView(
        comment=(_carry_comment(names),),
        carry=() if names.look_back else tuple(carry),
        walk="" if names.look_back else head,
        parts=tuple(p for p in parts if p.lines),
    )
    tiles = [phase.spread.axis, *(a for a in (phase.row, phase.spread.across) if a is not None)]
    return BodyView(
        extent=_extent(names),
        constants=tuple(ConstantView(scope.tile_constant(a), scope.plan.tile(a).tile) for a in tiles),
        shared=tuple(names.shared),
        setup=setup,
        phases=(view,),
    )


def _carry_comment(names: ScanScope) -> str:
    what = " and ".join(f"the {t.carrier.name}" for t in names.totals)
    text = f"{what[0].upper()}{what[1:]} of everything before the tile"
    return text + (f"; {names.axis} counts from the end." if mirrored(names.scope.nest) else ".")


def _extent(names: ScanScope) -> str:
    spread = names.spread
    if names.look_back:
        return f"a tile of {spread.tile} points of a row along {names.axis}"
    if spread.across is not None:
        columns = spread.beside * spread.width
        along = names.scope.names.user(names.fast)
        return f"{columns} columns side by side along {along}, {spread.tile} points of each at a time"
    rows = "a row" if spread.beside == 1 else f"{spread.beside} rows"
    return f"{rows} along {names.axis}, {spread.tile} points at a time"
