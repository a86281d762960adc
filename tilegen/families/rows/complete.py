"""A schedule of a nest with reductions as it was written, made complete, or an error at the directive.

`threads` along a reduced axis walk a row together, along a parallel one they are teams side by side; `tile` along a
reduced axis is what a team takes of a row at once (and a row that is no longer stays in registers), along parallel
ones the rows of a block. What is not written is `auto`'s for rows of any length.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilegen.core.nest.model import Nest
from tilegen.core.schedule.model import Counts, Keep, Schedule
from tilegen.core.schedule.problems import (
    MOST_POINTS,
    accumulators_too_large,
    no_loop_over_rows,
    not_shared,
    other_steps,
    part_of_a_row,
    row_does_not_divide,
    rows_do_not_fit,
    team_not_a_power_of_two,
    too_many_rows,
    too_much_of_a_row,
    warps_not_whole,
)
from tilegen.core.schedule.vectors import require_vectors
from tilegen.families.rows.axes import fast_axis, rows_of
from tilegen.families.rows.candidates import may_share, reduce_schedules, teams, tensors_along
from tilegen.families.rows.costs import shared_bytes
from tilegen.families.rows.passes import walked_again
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Memory
from tilegen.target import Target

_WARP = 32


def complete_rows(nest: Nest, written: Schedule, target: Target) -> tuple[Schedule, ...]:
    """The schedules a launcher chooses from, in order of preference: where a row of limited length stays in registers
    that one first, the one for any length last. Raises SpecError, each problem at its directive."""
    require_shareable(nest, written, target)
    complete = _with_teams(nest, written, target)
    rows = rows_of(nest, complete)
    fast = (fast_axis(nest, rows.across, n) for n in range(len(nest.rows)))
    require_vectors(nest, complete, frozenset(a for a in fast if a is not None))
    shared = shared_bytes(nest, rows, complete.item_width)
    if shared > target.shared_bytes_default:
        raise SpecError([accumulators_too_large(complete, shared, target)])
    limited = any(a in nest.reduced for a, _ in written.tile) and walked_again(nest)
    if limited and not complete.keep:
        return replace(complete, keep=Keep(tensors_along(nest), Memory.REGISTERS)), complete
    return (complete,)


def require_shareable(nest: Nest, schedule: Schedule, target: Target) -> None:
    """Raises TG0625 for `keep`, `blocks` and `cluster` where rows cannot be held, or shared, so."""
    found: list[Diagnostic] = []
    keep, along = schedule.keep, tensors_along(nest)
    if keep is not None and keep.tensors:
        stranger = next((t for t in keep.tensors if t not in along), None)
        missing = next((t for t in along if t not in keep.tensors), None)
        if stranger is not None:
            fact = f"`{stranger}` is not read along a row"
            found.append(not_shared(schedule, "keep", fact, "leave it out"))
        elif missing is not None:
            fact = f"a row stays whole, and `{missing}` is read along it too"
            found.append(not_shared(schedule, "keep", fact, f"name `{missing}` too"))
    for word, counts in (("blocks", schedule.blocks), ("cluster", schedule.cluster)):
        other = next((a for a, _ in counts if a not in nest.reduced), None)
        if other is not None:
            reduced = ", ".join(f"`{a}`" for a in nest.reduced)
            fact = f"rows go along {reduced}; every block has rows of its own along `{other}`"
            found.append(not_shared(schedule, word, fact, f"name {reduced}"))
    if schedule.blocks and (keep is not None or not may_share(nest)):
        fact = "blocks share a row that each of them reads once, and along which nothing is kept or written"
        found.append(not_shared(schedule, "blocks", fact, "leave `blocks` out"))
    size = prod(n for _, n in schedule.cluster)
    if schedule.cluster and target.major < 9:
        found.append(not_shared(schedule, "cluster", f"{target.name} has no clusters", "leave `cluster` out"))
    elif schedule.cluster and size not in (1, 2, 4, 8):
        found.append(not_shared(schedule, "cluster", "a cluster has 2, 4 or 8 blocks", "use one of these"))
    elif size > 1 and keep is None:
        fact = "the blocks of a cluster hold one row together"
        found.append(not_shared(schedule, "cluster", fact, "add `keep registers`"))
    if found:
        raise SpecError(found)


def _with_teams(nest: Nest, written: Schedule, target: Target) -> Schedule:
    """How threads share rows, as written; what is left open as `auto` has it."""
    auto = reduce_schedules(nest, target)[-1]
    chosen = rows_of(nest, auto)
    width, span = written.item_width, written.span("tile")
    threads = written.threads
    across = threads[-1][0] not in nest.reduced if threads else chosen.across
    along, beside = chosen.along, chosen.beside
    if threads:
        along, beside = _product(nest, threads, reduced=True), _product(nest, threads, reduced=False)
    count = written.thread_count
    if count is not None:
        along = along if threads else _fewer(along, count)
        if count % along or (threads and beside > 1 and along * beside != count):
            raise SpecError([part_of_a_row(count, along, written.span("threads"))])
        beside = count // along
    if across and written.cluster:
        fact = "neighbouring threads have neighbouring rows, and each block has its own"
        raise SpecError([not_shared(written, "cluster", fact, "leave `cluster` out")])
    lanes = width if across else 1
    block = _product(nest, written.tile, reduced=False)
    if any(a not in nest.reduced for a, _ in written.tile):
        if not threads and count is None:
            beside = max(1, block // lanes)
            along = _fewer(along, max(1, target.max_threads_per_block // beside))
            if along * beside > target.max_threads_per_block:
                raise SpecError([too_many_rows(block, lanes, target, span)])
        if block != beside * lanes:
            raise SpecError([rows_do_not_fit(block, beside * lanes, span)])
    place = written.span("threads")
    if along & (along - 1):
        raise SpecError([team_not_a_power_of_two(along, place)])
    if along > 1 and not across and along * beside % _WARP:
        raise SpecError([warps_not_whole(along, along * beside, bool(nest.parallel), place or span)])
    items = _items(nest, written, along * prod(n for _, n in written.cluster), 1 if across else width)
    if not threads:
        threads, count = teams(nest, along, beside, across)
    return replace(
        written,
        tile=(),
        threads=threads,
        thread_count=count,
        unroll=(),
        in_flight=items or (4 if written.writes("threads") else chosen.items),
    )


def _items(nest: Nest, written: Schedule, team: int, width: int) -> int | None:
    """Steps of `width` points that a thread takes at once, where `tile`, `unroll` or `in_flight` says so. `team`:
    threads of a row."""
    tile, unroll = written.tile, written.unroll
    outside = [a for a, _ in unroll if a not in nest.reduced]
    if outside:
        raise SpecError([no_loop_over_rows(outside[0], nest.reduced, written.span("unroll"))])
    word = "unroll" if unroll else "in_flight"
    steps = _product(nest, unroll, reduced=True) if unroll else written.in_flight
    if written.in_flight not in (None, steps):
        asked = other_steps("unroll", steps or 0, written.in_flight or 0, "in_flight", written.span("unroll"))
        raise SpecError([asked])
    if not any(a in nest.reduced for a, _ in tile):
        if steps is not None and steps * width > MOST_POINTS:
            most = MOST_POINTS // width
            action = f"unroll at most {most} times" if unroll else f"use at most `in_flight {most}`"
            raise SpecError([too_much_of_a_row(steps * width, MOST_POINTS, action, written.span(word))])
        return steps
    points, unit = _product(nest, tile, reduced=True), team * width
    if points % unit:
        raise SpecError([row_does_not_divide(points, unit, written.span("tile"))])
    items = points // unit
    if steps not in (None, items):
        raise SpecError([other_steps(word, steps or 0, items, "tile", written.span(word))])
    if items * width > MOST_POINTS:
        action = (
            f"use a tile of at most {MOST_POINTS * team} points along the row, which may be longer than that"
        )
        raise SpecError([too_much_of_a_row(items * width, MOST_POINTS, action, written.span("tile"))])
    return items


def _fewer(along: int, most: int) -> int:
    while along > most:
        along //= 2
    return along


def _product(nest: Nest, counts: Counts, *, reduced: bool) -> int:
    return prod(n for a, n in counts if (a in nest.reduced) is reduced)
