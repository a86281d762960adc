"""The body of a kernel with scans: one phase, part by part: load, totals, what came before, stores."""

from __future__ import annotations

from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import (
    Assign,
    Block,
    Body,
    Comment,
    Constant,
    Part,
    Skeleton,
    Statement,
    Words,
)
from tilegen.families.scan.blocks import setup
from tilegen.families.scan.look_back import look_back_part
from tilegen.families.scan.memory import load_part, write_part
from tilegen.families.scan.names import ScanScope
from tilegen.families.scan.phase import Scan
from tilegen.families.scan.plan import mirrored
from tilegen.families.scan.totals import before_part, terms_part


def body(scope: KernelScope) -> Body:
    (phase,) = scope.plan.phases
    assert isinstance(phase, Scan)
    names = ScanScope(scope, phase)
    parts: list[Part | None] = [load_part(names)]
    for level in range(phase.levels):
        here = [t for t in names.totals if t.carrier.level == level]
        parts += [terms_part(names, here), before_part(names, here, level == 0)]
        if names.look_back:
            parts.append(look_back_part(names, here))
    parts.append(write_part(names))
    phases: Block = tuple(p for p in parts if p is not None)
    tiles = [phase.spread.axis, *(a for a in (phase.row, phase.spread.across) if a is not None)]
    definitions = setup(names)
    return Body(
        extent=_extent(names),
        constants=tuple(Constant(scope.tile_constant(a), scope.plan.tile(a).tile) for a in tiles),
        shared=tuple(names.shared),
        setup=definitions,
        phases=phases if names.look_back else (_walk(names, phases),),
    )


def _walk(names: ScanScope, body: Block) -> Part:
    """Tile after tile of a row, with the totals of everything before."""
    carry: list[Statement] = [names.start_of(t.carry, t.identity) for t in names.totals]
    if names.per_column:
        carry += names.columns(tuple(Assign(names.at_column(t.carry), t.identity) for t in names.totals))
    holes = {
        "start": names.start,
        "extent": names.scope.index(names.extent),
        "tile": names.tile,
        "body": body,
    }
    walk = Skeleton("scan.walk", holes, inner=(names.start,))
    return Part((Comment(_carry_words(names)),), (*carry, walk))


def _carry_words(names: ScanScope) -> Words:
    what = " and ".join(f"the {t.carrier.name}" for t in names.totals)
    words = f"{what[0].upper()}{what[1:]} of everything before the tile"
    return (
        (f"{words}; ", names.axis, " counts from the end.") if mirrored(names.scope.nest) else (f"{words}.",)
    )


def _extent(names: ScanScope) -> Words:
    spread = names.spread
    if names.look_back:
        return (f"a tile of {spread.tile} points of a row along ", names.axis)
    if spread.across is not None:
        columns, along = spread.beside * spread.width, names.scope.axis(names.fast)
        return (f"{columns} columns side by side along ", along, f", {spread.tile} points of each at a time")
    rows = "a row" if spread.beside == 1 else f"{spread.beside} rows"
    return (f"{rows} along ", names.axis, f", {spread.tile} points at a time")
