"""Schedules of histograms: `auto`, and what a user wrote made complete. See docs/decisions/0016-histograms.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import prod

from tilegen.algebra import product
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.known_sizes import Choosing, widest
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import not_shared, other_steps
from tilegen.core.schedule.vectors import vector_problems
from tilegen.families.histogram.bins import ElementWalk, element_walk, faster_batch_axes, vector_needs
from tilegen.families.histogram.nest import Histogram, element_accesses, histogram_in
from tilegen.families.histogram.problems import many_under_way, not_an_element_axis, written_once
from tilegen.lang.diagnostics import Diagnostic, SpecError
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


def auto_histogram(
    nest: Nest, target: Target, sizes: Mapping[str, int] | None = None
) -> tuple[Schedule, ...]:
    """The schedule that tilegen chooses; `sizes`, where they are known, say which vectors there can be."""
    choice, found = Choosing(nest, target, sizes or {}), histogram_in(nest)
    inside = inside_axes(nest, found, target)
    walk = element_walk(nest, found, inside)
    widths: dict[str, int] = {}
    for access in element_accesses(nest, found):
        most = _VECTOR_BYTES // min(_VECTOR_BYTES, choice.size(access))
        width, tensor = widest(most, partial(_possible, choice, walk, access)), choice.tensor(access)
        widths[tensor] = min(width, widths.get(tensor, width))
    # All of one width: lanes that load several vectors each for one of another tensor touch every sector twice.
    wide = min((w for w in widths.values() if w > 1), default=1)
    schedule = Schedule(
        "auto",
        thread_count=_THREADS,
        vector_of=tuple((t, wide) for t, w in widths.items() if w > 1),
        blocks=tuple((a, 1) for a in inside),
        min_blocks=blocks_per_sm(_THREADS),
    )
    return (with_items(nest, found, schedule),)


def blocks_per_sm(threads: int) -> int:
    """As many as leave a thread the registers for its loads, and shared memory a copy of the bins per lane."""
    return max(1, min(4, _THREADS_PER_SM // threads))


def with_items(nest: Nest, found: Histogram, schedule: Schedule) -> Schedule:
    """The schedule with as many accesses under way as saturate memory."""
    sizes = [(a, nest.pointer(a.pointer).dtype.size) for a in element_accesses(nest, found) if not a.checked]
    width = max((schedule.width_of(nest.pointer(a.pointer).tensor) for a, _ in sizes), default=1)
    item = max(1, width * sum(size for _, size in sizes))
    threads = (schedule.block_threads or _THREADS) * (schedule.min_blocks or 1)
    return replace(schedule, in_flight=max(1, min(8, _UNDER_WAY // threads // item)))


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


def _possible(choice: Choosing, walk: ElementWalk, access: Access, width: int) -> bool:
    """Whether some of the sizes that are not known allow vectors of `width`."""
    needs = vector_needs(choice.nest, walk, access, width)
    if needs is None:
        return False
    row = () if walk.flat else (choice.nest.axis(walk.axes[0]).extent,)
    return choice.divides(width, (*needs, *row))


# What a user wrote


def complete_histogram(nest: Nest, written: Schedule, target: Target) -> tuple[Schedule, ...]:
    """The schedule with what it leaves open filled in.

    Raises SpecError at the directive: TG0604 to TG0606 as for other kernels, TG0625 for `blocks` that do not hold an
    axis, TG0642 for an axis that is not walked, TG0643 for more loads than a thread can hold.
    """
    found = histogram_in(nest)
    problems = list(_not_inside(nest, found, written, target))
    inside = (
        tuple(a for a, _ in written.blocks) if written.writes("blocks") else inside_axes(nest, found, target)
    )
    walk = element_walk(nest, found, inside)
    for word, counts in (("threads", written.threads), ("unroll", written.unroll)):
        strangers = [a for a, _ in counts if a not in walk.axes]
        problems += [not_an_element_axis(a, word, walk.axes, written.span(word, a)) for a in strangers]
    word = "unroll" if written.unroll else "in_flight"
    items = prod(n for _, n in written.unroll) if written.unroll else written.in_flight
    if items is not None and items > MOST_ITEMS:
        problems.append(many_under_way(items, MOST_ITEMS, written.span(word)))
    if written.in_flight not in (None, items):
        problems.append(
            other_steps("unroll", items or 0, written.in_flight or 0, "in_flight", written.span("unroll"))
        )
    threads = written.block_threads or _THREADS
    schedule = replace(
        written,
        thread_count=None if written.threads else threads,
        blocks=tuple((a, 1) for a in inside),
        unroll=(),
        in_flight=items,
        min_blocks=written.min_blocks or blocks_per_sm(threads),
    )
    problems += _vector_problems(Choosing(nest, target, {}), found, walk, schedule)
    if problems:
        raise SpecError(problems)
    return (schedule if items else with_items(nest, found, schedule),)


def _not_inside(nest: Nest, found: Histogram, written: Schedule, target: Target) -> Iterator[Diagnostic]:
    """Why a block cannot have all points of the axes that `blocks … = 1` names."""
    bins = {b.name for b in found.bins}
    batch = [a.name for a in nest.parallel if a.name not in bins]
    inside = product(nest.axis(a).extent for a, _ in written.blocks if a in batch).constant
    total = product(nest.axis(b).extent for b in bins).constant
    for axis, count in written.blocks:
        if axis not in batch:
            fact = "every block strides over the elements and has all bins: `blocks` names other axes of the output"
            yield not_shared(written, "blocks", fact, "leave it out")
        elif count != 1:
            fact = f"a block has one point of `{axis}`, or all of them"
            yield not_shared(written, "blocks", fact, f"write `{axis} = 1` for all, or leave it out")
        elif inside is None or inside * (total or 1) >= most_counters(target, counter_bytes(found)):
            fact = "the bins of all of these points are not known to fit into shared memory"
            yield not_shared(written, "blocks", fact, f"leave `{axis}` out")


def _vector_problems(
    choice: Choosing, found: Histogram, walk: ElementWalk, schedule: Schedule
) -> list[Diagnostic]:
    accesses = element_accesses(choice.nest, found)
    tensors = choice.tensors_of(accesses)
    problems = [written_once(t, schedule) for t, w in schedule.vector_of if w > 1 and t not in tensors]
    possible = partial(_possible, choice, walk)
    problems += vector_problems(choice.nest, schedule, accesses, possible, choice.tensors_of)
    return problems
