"""From the directives a user wrote to a complete `Schedule`, or an error at the directive that cannot be honoured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilegen.core.nest.affine import contiguous_axis, memory_order, step_of
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.model import Placement, Schedule, Stage
from tilegen.core.schedule.problems import (
    members_of_several_types,
    no_neighbours,
    several_buffers,
    wider_than_an_instruction,
)
from tilegen.core.schedule.written import read_directives
from tilegen.dtypes import Struct
from tilegen.families.tiles.candidates import auto_schedule
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import (
    ScheduleSpec,
    StageDirective,
)
from tilegen.target import Target


def complete(nest: Nest, written: ScheduleSpec, target: Target) -> Schedule:
    """The schedule `written` (single values only) with what it leaves open filled in.

    Where neither `tile` nor `threads` is written the tile is that of `auto` for unknown sizes.
    Raises SpecError: TG0601 … TG0612, each at its directive's span.
    """
    as_written = read_directives(written)
    found: list[Diagnostic] = []
    stages: list[Stage] = []
    for directive in written.directives:
        if isinstance(directive, StageDirective):
            if directive.asynchronous or directive.buffers[0] > 1:
                found.append(several_buffers(directive))
            plain = Placement.PADDED if directive.pads[0] else Placement.PLAIN
            how = Placement.SWIZZLED if directive.swizzle else plain
            stages += [Stage(t, how, directive.pads[0], directive.span) for t in directive.tensors]
    found += as_written.over_limits(target)
    schedule = as_written.schedule()
    tile = dict(as_written.tile)
    if not tile:
        tile = (
            dict(as_written.threads)
            if as_written.threads
            else default_tile(nest, target, bool(stages), schedule.item_width)
        )
    for axis, count in as_written.threads:
        tile.setdefault(axis, count)
    if found:
        raise SpecError(found)
    schedule = replace(
        schedule,
        tile=tuple((a.name, tile[a.name]) for a in nest.axes if a.name in tile),
        threads=as_written.threads,
        stages=tuple(stages),
        bounds=as_written.bounds,
        raster=as_written.raster,
        group=as_written.group,
        unroll=as_written.unroll,
    )
    require_vectors(nest, schedule)
    return schedule


def default_tile(nest: Nest, target: Target, staged: bool, width: int) -> dict[str, int]:
    """The tile of a schedule that names none: `auto`'s where both stage a tensor, else a run of the output."""
    auto = auto_schedule(nest, target) if staged or not nest.axes else None
    if auto is not None and (not nest.axes or auto.stages):
        return dict(auto.tile)
    output = nest.stores[0].access
    row = contiguous_axis(nest, output) or next(iter(memory_order(nest, output)), nest.axes[-1].name)
    return {row: 256 * width}


def require_vectors(nest: Nest, schedule: Schedule, along: frozenset[str] | None = None) -> None:
    """Every vector width asked for must be possible for some sizes: contiguous along one axis, at most 16 bytes.

    `along`: of the tensors that the schedule does not name, only those that move along one of these axes count.
    Raises TG0604, TG0605, TG0606: all that are found.
    """
    every = (*(s.access for s in nest.stores), *nest.load_accesses())
    accesses = {
        a.pointer: a
        for a in every
        if along is None
        or schedule.names_width(nest.pointer(a.pointer).tensor)
        or along & set(memory_order(nest, a))
    }
    wide = [a for a in accesses.values() if schedule.width_of(nest.pointer(a.pointer).tensor) > 1]
    problems = [vector_problem(nest, a, schedule, ()) for a in wide]
    others = side_by_side(nest, schedule, [a for a, p in zip(wide, problems, strict=True) if p is None])
    problems = [vector_problem(nest, a, schedule, others) for a in wide]
    found = tuple(dict.fromkeys(p for p in problems if p is not None))
    if found:
        raise SpecError(found)


def vector_problem(
    nest: Nest, access: Access, schedule: Schedule, others: tuple[str, ...]
) -> Diagnostic | None:
    """Why `access` can never move as many elements at once as it should; None if some sizes allow it.

    `others`: tensors that can.
    """
    pointer = nest.pointer(access.pointer)
    width = schedule.width_of(pointer.tensor)
    if isinstance(pointer.dtype, Struct):
        return members_of_several_types(nest, access, schedule, others)
    if width * pointer.dtype.size > 16:
        return wider_than_an_instruction(nest, access, schedule)

    def possible(width: int) -> bool:
        return any(step_of(nest, access, a.name, width) is not None for a in nest.axes)

    if access.checked or possible(width):
        return None
    narrower = next((w for w in (8, 4, 2) if w < width and possible(w)), None)
    return no_neighbours(nest, access, schedule, narrower, others)


def side_by_side(nest: Nest, schedule: Schedule, accesses: Sequence[Access]) -> tuple[str, ...]:
    """Tensors of `accesses` that can be vectors together: staged, or contiguous along the same axis as the first."""
    direct = [a for a in accesses if contiguous_axis(nest, a) is not None and not a.checked]
    return tuple(
        dict.fromkeys(
            nest.pointer(a.pointer).tensor
            for a in direct
            if contiguous_axis(nest, a) == contiguous_axis(nest, direct[0])
            or schedule.stage_of(nest.pointer(a.pointer).tensor)
        )
    )
