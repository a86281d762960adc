"""From the directives a user wrote for a nest with reductions to complete schedules, or an error at the directive.

`threads` along a reduced axis walk a row together, along a parallel one they are teams side by side; `tile` along a
reduced axis is what a team takes of a row at once (and a row that is no longer stays in registers), along parallel
ones the rows of a block. What is not written is `auto`'s for rows of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilegen.core.nest.model import Nest
from tilegen.core.schedule.model import Rows, Schedule
from tilegen.core.schedule.problems import (
    MOST_POINTS,
    accumulators_too_large,
    meaningless_for_rows,
    no_loop_over_rows,
    other_steps,
    row_does_not_divide,
    rows_do_not_fit,
    several_widths,
    team_not_a_power_of_two,
    too_many_rows,
    too_much_of_a_row,
    warps_not_whole,
)
from tilegen.core.schedule.written import Counts, read_directives
from tilegen.families.rows.axes import fast_axis
from tilegen.families.rows.candidates import reduce_schedules
from tilegen.families.rows.costs import shared_bytes
from tilegen.families.rows.nest import axis_called
from tilegen.families.rows.passes import walked_again
from tilegen.families.tiles.complete import require_vectors
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import (
    Bounds,
    BoundsDirective,
    RasterDirective,
    ScheduleSpec,
    StageDirective,
    VectorDirective,
)
from tilegen.target import Target

_WARP = 32


def complete_rows(nest: Nest, written: ScheduleSpec, target: Target) -> tuple[Schedule, ...]:
    """The schedules a launcher chooses from, in order of preference: where a row of limited length stays in registers
    that one first, the one for any length last. Raises SpecError, each problem at its directive."""
    schedule, *counts = _read(written, target)
    tile, threads, unroll = (tuple((axis_called(nest, a), n) for a, n in c) for c in counts)
    rows = _rows(nest, schedule, tile, threads, unroll, target)
    fast = (fast_axis(nest, rows.across, n) for n in range(len(nest.rows)))
    require_vectors(nest, schedule, frozenset(a for a in fast if a is not None))
    shared = shared_bytes(nest, rows, schedule.item_width)
    if shared > target.shared_bytes_default:
        raise SpecError([accumulators_too_large(schedule, shared, target)])
    schedule = replace(schedule, rows=rows)
    limited = any(a in nest.reduced for a, _ in tile) and walked_again(nest)
    return (replace(schedule, rows=replace(rows, whole=True)), schedule) if limited else (schedule,)


def _read(written: ScheduleSpec, target: Target) -> tuple[Schedule, Counts, Counts, Counts]:
    """What the directives say, and `tile`, `threads` and `unroll` as they are written."""
    as_written = read_directives(written)
    found: list[Diagnostic] = []
    for directive in written.directives:
        match directive:
            case BoundsDirective() if directive.modes[0] is not Bounds.GUARD:
                found.append(meaningless_for_rows(f"bounds {directive.modes[0].value}", directive.span))
            case StageDirective():
                found.append(meaningless_for_rows("stage", directive.span))
            case RasterDirective():
                found.append(meaningless_for_rows("raster", directive.span))
            case VectorDirective():
                named = {w[0] for tensor, w in directive.widths if tensor is not None}
                every = {w[0] for tensor, w in directive.widths if tensor is None} - {1}
                if named and len(named | every) > 1:
                    found.append(several_widths(directive.span))
            case _:
                pass
    found += as_written.over_limits(target)
    if found:
        raise SpecError(found)
    return as_written.schedule(), as_written.tile, as_written.threads, as_written.unroll


def _rows(
    nest: Nest, schedule: Schedule, tile: Counts, threads: Counts, unroll: Counts, target: Target
) -> Rows:
    """How threads share rows, as written; what is left open as `auto` has it."""
    auto = reduce_schedules(nest, target)[-1].rows
    assert auto is not None
    width = max([schedule.vector, *(w for _, w in schedule.vector_of)])
    across = threads[-1][0] not in nest.reduced if threads else auto.across
    along, beside = auto.along, auto.beside
    if threads:
        along, beside = _product(nest, threads, reduced=True), _product(nest, threads, reduced=False)
    lanes = width if across else 1
    block = _product(nest, tile, reduced=False)
    if any(a not in nest.reduced for a, _ in tile):
        if not threads:
            beside = max(1, block // lanes)
            along = _fewer(along, max(1, target.max_threads_per_block // beside))
            if along * beside > target.max_threads_per_block:
                raise SpecError([too_many_rows(block, lanes, target, schedule.span("tile"))])
        if block != beside * lanes:
            raise SpecError([rows_do_not_fit(block, beside * lanes, schedule.span("tile"))])
    if along & (along - 1):
        raise SpecError([team_not_a_power_of_two(along, schedule.span("threads"))])
    if along > 1 and not across and along * beside % _WARP:
        raise SpecError(
            [
                warps_not_whole(
                    along,
                    along * beside,
                    bool(nest.parallel),
                    schedule.span("threads") or schedule.span("tile"),
                )
            ]
        )
    items = _items(nest, schedule, tile, unroll, along, 1 if across else width)
    return Rows(along, beside, across, items or (4 if threads else auto.items), whole=False)


def _items(
    nest: Nest, schedule: Schedule, tile: Counts, unroll: Counts, along: int, width: int
) -> int | None:
    """Steps of `width` points that a thread takes at once, where `tile` or `unroll` says so."""
    outside = [a for a, _ in unroll if a not in nest.reduced]
    if outside:
        raise SpecError([no_loop_over_rows(outside[0], nest.reduced, schedule.span("unroll"))])
    steps = _product(nest, unroll, reduced=True) if unroll else None
    if not any(a in nest.reduced for a, _ in tile):
        if steps is not None and steps * width > MOST_POINTS:
            action = f"unroll at most {MOST_POINTS // width} times"
            raise SpecError([too_much_of_a_row(steps * width, MOST_POINTS, action, schedule.span("unroll"))])
        return steps
    points, unit = _product(nest, tile, reduced=True), along * width
    if points % unit:
        raise SpecError([row_does_not_divide(points, unit, schedule.span("tile"))])
    items = points // unit
    if steps not in (None, items):
        raise SpecError([other_steps(steps or 0, items, schedule.span("unroll"))])
    if items * width > MOST_POINTS:
        action = (
            f"use a tile of at most {MOST_POINTS * along} points along the row, which may be longer than that"
        )
        raise SpecError([too_much_of_a_row(items * width, MOST_POINTS, action, schedule.span("tile"))])
    return items


def _fewer(along: int, most: int) -> int:
    while along > most:
        along //= 2
    return along


def _product(nest: Nest, counts: Sequence[tuple[str, int]], *, reduced: bool) -> int:
    return prod(n for a, n in counts if (a in nest.reduced) is reduced)
