"""A schedule of tiles as it was written, made complete."""

from __future__ import annotations

from dataclasses import replace

from tilegen.core.nest.affine import contiguous_axis, memory_order
from tilegen.core.nest.model import Nest
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.vectors import require_vectors
from tilegen.families.tiles.candidates import auto_schedule
from tilegen.target import Target


def complete_tiles(nest: Nest, written: Schedule, target: Target) -> tuple[Schedule, ...]:
    """Where neither `tile` nor `threads` is written the tile is that of `auto` for unknown sizes.

    Raises SpecError: TG0604, TG0605, TG0606, each at its directive's span.
    """
    tile = dict(written.tile or written.threads)
    if not tile:
        tile = default_tile(nest, target, bool(written.stages), written.item_width)
    for axis, count in written.threads:
        tile.setdefault(axis, count)
    schedule = replace(written, tile=tuple((a.name, tile[a.name]) for a in nest.axes if a.name in tile))
    require_vectors(nest, schedule)
    return (schedule,)


def default_tile(nest: Nest, target: Target, staged: bool, width: int) -> dict[str, int]:
    """The tile of a schedule that names none: `auto`'s where both stage a tensor, else a run of the output."""
    auto = auto_schedule(nest, target) if staged or not nest.axes else None
    if auto is not None and (not nest.axes or auto.stages):
        return dict(auto.tile)
    output = nest.stores[0].access
    row = contiguous_axis(nest, output) or next(iter(memory_order(nest, output)), nest.axes[-1].name)
    return {row: 256 * width}
