"""From the directives a user wrote to a complete `Schedule`, or an error at the directive that cannot be honoured."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.diagnostics import Diagnostic, SpecError
from tilegen.dtypes import Struct
from tilegen.nest.affine import contiguous_axis, memory_order, step_of
from tilegen.nest.model import Access, Nest
from tilegen.schedule.model import Placement, Schedule, Stage
from tilegen.source import Span
from tilegen.spec import (
    Bounds,
    BoundsDirective,
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


def complete(nest: Nest, written: ScheduleSpec, target: Target, auto: Schedule) -> Schedule:
    """The schedule `written` (single values only) with what it leaves open filled in.

    `auto`: what tilegen would choose for unknown sizes; it supplies the tile where neither `tile` nor `threads` is
    written.
    Raises SpecError: TG0601 … TG0612, each at its directive's span.
    """
    problems: list[Diagnostic] = []
    tile: dict[str, int] = {}
    threads: tuple[tuple[str, int], ...] = ()
    stages: list[Stage] = []
    vector, vector_of = 1, dict[str, int]()
    bounds, raster, group, index = Bounds.GUARD, tuple[str, ...](), 1, IndexType.AUTO
    unroll: tuple[tuple[str, int], ...] = ()
    hints: list[tuple[str, Hint]] = []
    max_registers = min_blocks = None
    spans: dict[str, Span] = {}
    for directive in written.directives:
        match directive:
            case TileDirective():
                tile = {a: v[0] for a, v in directive.axes}
                spans["tile"] = directive.span
            case ThreadsDirective():
                threads = tuple((a, v[0]) for a, v in directive.axes)
                spans["threads"] = directive.span
            case StageDirective():
                spans["stage"] = directive.span
                problems += require_simple_stage(directive)
                how = (
                    Placement.SWIZZLED
                    if directive.swizzle
                    else Placement.PADDED
                    if directive.pads[0]
                    else Placement.PLAIN
                )
                stages += [Stage(t, how, directive.pads[0], directive.span) for t in directive.tensors]
            case VectorDirective():
                spans["vector"] = directive.span
                for name, width in directive.widths:
                    if name is None:
                        vector = width[0]
                    else:
                        vector_of[name] = width[0]
            case BoundsDirective():
                bounds = directive.modes[0]
                spans["bounds"] = directive.span
            case RasterDirective():
                raster, group = directive.axes, directive.group[0]
                spans["raster"] = directive.span
            case UnrollDirective():
                unroll = tuple((a, v[0]) for a, v in directive.axes)
                spans["unroll"] = directive.span
            case HintDirective():
                hints.append((directive.tensor, directive.hints[0]))
                spans["hint"] = directive.span
            case MaxRegistersDirective():
                max_registers = directive.counts[0]
                spans["max_registers"] = directive.span
            case MinBlocksDirective():
                min_blocks = directive.counts[0]
                spans["min_blocks"] = directive.span
            case IndexDirective():
                index = directive.types[0]
                spans["index"] = directive.span
    problems += require_thread_limit(threads, target, spans.get("threads"))
    problems += require_register_limits(max_registers, target, spans.get("max_registers"))
    if not tile:
        tile = (
            dict(threads)
            if threads
            else default_tile(nest, auto, bool(stages), max([vector, *vector_of.values()]))
        )
    for axis, count in threads:
        tile.setdefault(axis, count)
    if problems:
        raise SpecError(problems)
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
        spans=tuple(spans.items()),
    )
    problems = require_vectors(nest, schedule)
    if problems:
        raise SpecError(problems)
    return schedule


def default_tile(nest: Nest, auto: Schedule, staged: bool, width: int) -> dict[str, int]:
    """The tile of a schedule that names none: `auto`'s where both stage a tensor, else a run of the output."""
    if not nest.axes or (staged and auto.stages):
        return dict(auto.tile)
    output = nest.stores[0].access
    row = contiguous_axis(nest, output) or next(iter(memory_order(nest, output)), nest.axes[-1].name)
    return {row: 256 * width}


def require_simple_stage(directive: StageDirective) -> list[Diagnostic]:
    if directive.asynchronous or directive.buffers[0] > 1:
        what = "async" if directive.asynchronous else f"buffers {directive.buffers[0]}"
        return [
            Diagnostic(
                "TG0601",
                f"`{what}` cannot be honoured here",
                directive.span,
                notes=(
                    "a block of this kernel loads one tile and is done: there is no next tile to load meanwhile",
                ),
                helps=(f"write `stage {', '.join(directive.tensors)}`",),
            )
        ]
    return []


def require_thread_limit(
    threads: tuple[tuple[str, int], ...], target: Target, span: Span | None
) -> list[Diagnostic]:
    count = 1
    for _, n in threads:
        count *= n
    if count <= target.max_threads_per_block:
        return []
    axis, last = threads[0]
    nearest = max(1, target.max_threads_per_block * last // count)
    return [
        Diagnostic(
            "TG0602",
            f"{count} threads are more than a block may have",
            span,
            notes=(f"{target.name} allows {target.max_threads_per_block} threads per block",),
            helps=(f"use `{axis} = {nearest}`, and `tile` for the part of the index space a block computes",),
        )
    ]


def require_register_limits(count: int | None, target: Target, span: Span | None) -> list[Diagnostic]:
    limit = target.registers_per_thread
    if count is None or 16 <= count <= limit:
        return []
    return [
        Diagnostic(
            "TG0603",
            f"a thread cannot be held to {count} registers",
            span,
            notes=(f"{target.name} gives a thread 16 to {limit} registers",),
            helps=(f"use `max_registers {min(max(count, 16), limit)}`",),
        )
    ]


def require_vectors(nest: Nest, schedule: Schedule) -> list[Diagnostic]:
    """Every vector width asked for must be possible for some sizes: contiguous along one axis, at most 16 bytes."""
    span = schedule.span("vector")
    widths: Mapping[str, int] = dict(schedule.vector_of)
    problems: list[Diagnostic] = []
    accesses = {a.pointer: a for a in (*nest.load_accesses(), *(s.access for s in nest.stores))}
    for pointer, access in accesses.items():
        tensor = nest.pointer(pointer).tensor
        width = widths.get(tensor, schedule.vector)
        if width == 1:
            continue
        problem = vector_problem(nest, access, width, span)
        if problem is not None and not any(p.message == problem.message for p in problems):
            problems.append(problem)
    return problems


def vector_problem(nest: Nest, access: Access, width: int, span: Span | None) -> Diagnostic | None:
    """Why `access` can never move `width` elements at once; None if some sizes allow it."""
    pointer = nest.pointer(access.pointer)
    tensor, size = pointer.tensor, pointer.dtype.size
    if isinstance(pointer.dtype, Struct):
        return Diagnostic(
            "TG0604",
            f"`{tensor}` cannot be accessed {width} elements at a time",
            span,
            notes=(f"its elements are {pointer.dtype}: members of several types",),
            helps=("leave `vector` out, or name other tensors",),
        )
    if width * size > 16:
        return Diagnostic(
            "TG0605",
            f"`vector {width}` of {pointer.dtype} is {width * size} bytes",
            span,
            notes=("a memory instruction moves at most 16 bytes per thread",),
            helps=(f"use `vector {16 // size}`" if size < 16 else f"leave `vector` out for {pointer.dtype}",),
        )
    steps = {a.name: step_of(nest, access, a.name, width) for a in nest.axes}
    if access.checked or any(s is not None for s in steps.values()):
        return None
    narrower = next(
        (w for w in (8, 4, 2) if w < width and any(step_of(nest, access, a.name, w) for a in nest.axes)), None
    )
    return Diagnostic(
        "TG0606",
        f"`{tensor}` cannot be accessed {width} elements at a time",
        span,
        notes=(
            f"its address is {access.address}: no axis has neighbours side by side at a multiple of {width}",
        ),
        helps=(
            f"use `vector {narrower}`"
            if narrower
            else f"leave `{tensor}` out: name the tensors, `vector NAME = {width}`",
        ),
    )
