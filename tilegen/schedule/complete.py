"""From the directives a user wrote to a complete `Schedule`, or an error at the directive that cannot be honoured."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilegen.diagnostics import Diagnostic, SpecError
from tilegen.dtypes import Struct
from tilegen.nest.affine import contiguous_axis, memory_order, step_of
from tilegen.nest.model import Access, Nest
from tilegen.schedule.auto import auto_schedule
from tilegen.schedule.model import Placement, Schedule, Stage
from tilegen.schedule.problems import (
    members_of_several_types,
    no_neighbours,
    registers_out_of_range,
    several_buffers,
    too_many_threads,
    wider_than_an_instruction,
)
from tilegen.source import Span
from tilegen.spec import (
    Bounds,
    BoundsDirective,
    Directive,
    Hint,
    HintDirective,
    IndexDirective,
    IndexType,
    MaxRegistersDirective,
    MinBlocksDirective,
    RasterDirective,
    ScheduleSpec,
    StageDirective,
    ThreadsDirective,
    TileDirective,
    UnrollDirective,
    VectorDirective,
)
from tilegen.target import Target

_WORDS: dict[type[Directive], str] = {
    TileDirective: "tile",
    ThreadsDirective: "threads",
    StageDirective: "stage",
    VectorDirective: "vector",
    BoundsDirective: "bounds",
    RasterDirective: "raster",
    UnrollDirective: "unroll",
    HintDirective: "hint",
    MaxRegistersDirective: "max_registers",
    MinBlocksDirective: "min_blocks",
    IndexDirective: "index",
}


def complete(nest: Nest, written: ScheduleSpec, target: Target) -> Schedule:
    """The schedule `written` (single values only) with what it leaves open filled in.

    Where neither `tile` nor `threads` is written the tile is that of `auto` for unknown sizes.
    Raises SpecError: TG0601 … TG0612, each at its directive's span.
    """
    found: list[Diagnostic] = []
    tile: dict[str, int] = {}
    threads: tuple[tuple[str, int], ...] = ()
    stages: list[Stage] = []
    vector, vector_of = 1, dict[str, int]()
    bounds, raster, group, index = Bounds.GUARD, tuple[str, ...](), 1, IndexType.AUTO
    unroll: tuple[tuple[str, int], ...] = ()
    hints: list[tuple[str, Hint]] = []
    max_registers = min_blocks = None
    spans = written_at(written)
    at = {d: span for d, entry, span in spans if entry is None}
    for directive in written.directives:
        match directive:
            case TileDirective():
                tile = {a: v[0] for a, v in directive.axes}
            case ThreadsDirective():
                threads = tuple((a, v[0]) for a, v in directive.axes)
            case StageDirective():
                if directive.asynchronous or directive.buffers[0] > 1:
                    found.append(several_buffers(directive))
                how = (
                    Placement.SWIZZLED
                    if directive.swizzle
                    else Placement.PADDED
                    if directive.pads[0]
                    else Placement.PLAIN
                )
                stages += [Stage(t, how, directive.pads[0], directive.span) for t in directive.tensors]
            case VectorDirective():
                for name, width in directive.widths:
                    if name is None:
                        vector = width[0]
                    else:
                        vector_of[name] = width[0]
            case BoundsDirective():
                bounds = directive.modes[0]
            case RasterDirective():
                raster, group = directive.axes, directive.group[0]
            case UnrollDirective():
                unroll = tuple((a, v[0]) for a, v in directive.axes)
            case HintDirective():
                hints.append((directive.tensor, directive.hints[0]))
            case MaxRegistersDirective():
                max_registers = directive.counts[0]
            case MinBlocksDirective():
                min_blocks = directive.counts[0]
            case IndexDirective():
                index = directive.types[0]
    count = prod(n for _, n in threads)
    if count > target.max_threads_per_block:
        found.append(too_many_threads(threads, count, target, at["threads"]))
    if max_registers is not None and not 16 <= max_registers <= target.registers_per_thread:
        found.append(registers_out_of_range(max_registers, target, at["max_registers"]))
    if not tile:
        tile = (
            dict(threads)
            if threads
            else default_tile(nest, target, bool(stages), max([vector, *vector_of.values()]))
        )
    for axis, count in threads:
        tile.setdefault(axis, count)
    if found:
        raise SpecError(found)
    schedule = Schedule(
        name=written.name,
        tile=tuple((a.name, tile[a.name]) for a in nest.axes if a.name in tile),
        threads=threads,
        stages=tuple(stages),
        vector=vector,
        vector_of=tuple(vector_of.items()),
        bounds=bounds,
        raster=raster,
        group=group,
        unroll=unroll,
        hints=tuple(hints),
        max_registers=max_registers,
        min_blocks=min_blocks,
        index=index,
        spans=spans,
    )
    require_vectors(nest, schedule)
    return schedule


def written_at(written: ScheduleSpec) -> tuple[tuple[str, str | None, Span], ...]:
    """Where each directive and each named entry of it was written: see `Schedule.spans`."""
    found: list[tuple[str, str | None, Span]] = []
    for directive in written.directives:
        word = _WORDS[type(directive)]
        found.append((word, None, directive.span))
        match directive:
            case TileDirective() | ThreadsDirective():
                names: list[str | None] = [axis for axis, _ in directive.axes]
            case VectorDirective():
                names = [tensor for tensor, _ in directive.widths]
            case _:
                continue
        found += [(word, n, s) for n, s in zip(names, directive.spans, strict=False) if n is not None]
    return tuple(found)


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


def named_axes(schedule: ScheduleSpec | None) -> frozenset[str]:
    """Axes that directives speak of, which must therefore stay as they are."""
    names: set[str] = set()
    for directive in schedule.directives if schedule is not None else ():
        axes = getattr(directive, "axes", ())
        names |= {a if isinstance(a, str) else a[0] for a in axes}
    return frozenset(names)
