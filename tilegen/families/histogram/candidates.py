"""Schedules of histograms: `auto`, and what a user wrote made complete. See docs/decisions/0016-histograms.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from tilegen.algebra import Expr, evaluate, product, symbols
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.model import Counting, Schedule
from tilegen.core.schedule.written import read_directives
from tilegen.dtypes import Struct
from tilegen.families.histogram.bins import ElementWalk, element_walk, faster_batch_axes, vector_needs
from tilegen.families.histogram.nest import Histogram, element_accesses, histogram_in
from tilegen.families.histogram.problems import (
    many_under_way,
    no_vector,
    not_an_element_axis,
    not_for_histograms,
    too_many_counting,
    written_once,
)
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.source import Span
from tilegen.lang.spec import (
    Bounds,
    BoundsDirective,
    RasterDirective,
    ScheduleSpec,
    StageDirective,
    ThreadsDirective,
    TileDirective,
    UnrollDirective,
)
from tilegen.target import Target

_THREADS = 512
_THREADS_PER_SM = 1024
_VECTOR_BYTES = 16
# Bytes under way per SM: a third more than saturate memory, because a thread that counts reads nothing.
_UNDER_WAY = 64 * 1024
MOST_ITEMS = 16
# Static shared memory without the ticket's flag.
_FLAG_BYTES = 64
# A batch axis of unknown number of bins is walked inside a block up to here.
_FEW = 16


def counter_bytes(found: Histogram) -> int:
    """Of one bin in shared memory: a count of one block fits 32 bits, whatever the type of the result."""
    return 4 if found.weight is None else found.reduce.dtype.size


def most_counters(target: Target, bytes_: int) -> int:
    """Counters of a block in shared memory."""
    return (target.shared_bytes_default - _FLAG_BYTES) // bytes_


def auto_histogram(nest: Nest, target: Target, sizes: Mapping[str, int] | None = None) -> Schedule:
    """The schedule that tilegen chooses; `sizes`, where they are known, say which vectors there can be."""
    found = histogram_in(nest)
    inside = inside_axes(nest, found, target)
    walk = element_walk(nest, found, inside)
    widths: dict[str, int] = {}
    for access in element_accesses(nest, found):
        width = _widest(nest, walk, access, sizes or {})
        tensor = nest.pointer(access.pointer).tensor
        widths[tensor] = min(width, widths.get(tensor, width))
    # All of one width: lanes that load several vectors each for one of another tensor touch every sector twice.
    wide = min((w for w in widths.values() if w > 1), default=1)
    schedule = Schedule(
        "auto",
        tile=(),
        thread_count=_THREADS,
        vector_of=tuple((t, wide) for t, w in widths.items() if w > 1),
        min_blocks=blocks_per_sm(_THREADS),
        counting=Counting(_THREADS, 1, blocks_per_sm(_THREADS), inside),
    )
    return with_items(nest, found, schedule)


def blocks_per_sm(threads: int) -> int:
    """As many as leave a thread the registers for its loads, and shared memory a copy of the bins per lane."""
    return max(1, min(4, _THREADS_PER_SM // threads))


def with_items(nest: Nest, found: Histogram, schedule: Schedule) -> Schedule:
    """The schedule with as many accesses under way as saturate memory."""
    counting = schedule.counting
    assert counting is not None
    sizes = [(a, nest.pointer(a.pointer).dtype.size) for a in element_accesses(nest, found) if not a.checked]
    width = max((schedule.width_of(nest.pointer(a.pointer).tensor) for a, _ in sizes), default=1)
    item = max(1, width * sum(size for _, size in sizes))
    wanted = _UNDER_WAY // (counting.blocks * counting.threads) // item
    return replace(schedule, counting=replace(counting, items=max(1, min(8, wanted))))


def inside_axes(nest: Nest, found: Histogram, target: Target) -> tuple[str, ...]:
    """Batch axes that memory has inside the elements and whose bins fit a block together."""
    bins, chosen = product(nest.axis(a.name).extent for a in found.bins).constant, []
    room = (most_counters(target, counter_bytes(found)) - 1) // bins if bins else _FEW
    for axis in faster_batch_axes(nest, found):
        extent = nest.axis(axis).extent.constant
        if extent is not None and 0 < extent <= room:
            chosen.append(axis)
            room //= extent
    return tuple(chosen)


def _widest(nest: Nest, walk: ElementWalk, access: Access, sizes: Mapping[str, int]) -> int:
    size = nest.pointer(access.pointer).dtype.size
    width = _VECTOR_BYTES // min(_VECTOR_BYTES, size)
    while width > 1 and not _possible(nest, walk, access, width, sizes):
        width //= 2
    return width


def _possible(
    nest: Nest, walk: ElementWalk, access: Access, width: int, sizes: Mapping[str, int] | None = None
) -> bool:
    """Whether some of the sizes that are not known allow vectors of `width`."""
    needs = vector_needs(nest, walk, access, width)
    if needs is None:
        return False
    values: list[Expr] = [*needs, *(() if walk.flat else (nest.axis(walk.axes[0]).extent,))]
    known = sizes or {}
    return all(evaluate(v, known) % width == 0 for v in values if symbols(v) <= known.keys())


# What a user wrote


def complete_histogram(nest: Nest, written: ScheduleSpec, target: Target) -> Schedule:
    """The schedule `written` (single values only) with what it leaves open filled in.

    Raises SpecError at the directive: TG0602 to TG0606 and TG0609 as for other kernels, TG0641 for one that histograms
    have no use for, TG0642 for an axis that is not walked.
    """
    found = histogram_in(nest)
    inside = inside_axes(nest, found, target)
    walk = element_walk(nest, found, inside)
    as_written = read_directives(written)
    threads, unroll = as_written.threads, as_written.unroll
    problems: list[Diagnostic] = []
    for directive in written.directives:
        match directive:
            case TileDirective() | StageDirective() | RasterDirective():
                problems.append(not_for_histograms(directive))
            case BoundsDirective() if directive.modes[0] is not Bounds.GUARD:
                problems.append(not_for_histograms(directive))
            case ThreadsDirective():
                problems += _strangers(walk, "threads", threads, directive.spans)
                if as_written.thread_count > target.max_threads_per_block:
                    problems.append(too_many_counting(directive, as_written.thread_count, target))
            case UnrollDirective():
                problems += _strangers(walk, "unroll", unroll, [directive.span] * len(unroll))
                if prod(n for _, n in unroll) > MOST_ITEMS:
                    problems.append(many_under_way(directive, prod(n for _, n in unroll), MOST_ITEMS))
            case _:
                pass
    problems += as_written.registers_over_limits(target)
    count = as_written.thread_count if threads else _THREADS
    blocks = as_written.min_blocks or blocks_per_sm(count)
    schedule = replace(
        as_written.schedule(),
        threads=threads,
        thread_count=count,
        unroll=unroll,
        min_blocks=blocks,
        counting=Counting(count, 1, blocks, inside),
    )
    problems += _vector_problems(nest, found, walk, schedule)
    if problems:
        raise SpecError(problems)
    if unroll:
        assert schedule.counting is not None
        return replace(schedule, counting=replace(schedule.counting, items=prod(n for _, n in unroll)))
    return with_items(nest, found, schedule)


def _strangers(
    walk: ElementWalk, word: str, axes: Sequence[tuple[str, int]], spans: Sequence[Span]
) -> list[Diagnostic]:
    """Axes named that are not walked. One that is named was not merged with another."""
    return [
        not_an_element_axis(axis, word, walk.axes, span)
        for (axis, _), span in zip(axes, spans, strict=True)
        if axis not in walk.axes
    ]


def _vector_problems(nest: Nest, found: Histogram, walk: ElementWalk, schedule: Schedule) -> list[Diagnostic]:
    accesses = element_accesses(nest, found)
    tensors = {nest.pointer(a.pointer).tensor for a in accesses}
    problems = [written_once(t, schedule) for t, w in schedule.vector_of if w > 1 and t not in tensors]

    def refused(access: Access) -> Diagnostic | None:
        pointer = nest.pointer(access.pointer)
        width = schedule.width_of(pointer.tensor)
        if width == 1 or (
            not isinstance(pointer.dtype, Struct)
            and width * pointer.dtype.size <= _VECTOR_BYTES
            and _possible(nest, walk, access, width)
        ):
            return None
        narrower = next((w for w in (8, 4, 2) if w < width and _possible(nest, walk, access, w)), None)
        return no_vector(nest, access, schedule, narrower, others)

    others: tuple[str, ...] = ()
    others = tuple(dict.fromkeys(nest.pointer(a.pointer).tensor for a in accesses if refused(a) is None))
    problems += [p for p in map(refused, accesses) if p is not None]
    return list(dict.fromkeys(problems))
