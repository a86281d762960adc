"""Vector widths as they are written: what can never be honoured, whatever the sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tilegen.core.nest.affine import contiguous_axis, memory_order, shortest_run, step_along, step_of
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import (
    by_element,
    members_of_several_types,
    no_neighbours,
    wider_than_an_instruction,
)
from tilegen.dtypes import Struct
from tilegen.lang.diagnostics import Diagnostic, SpecError

# Whether an access can move so many elements at once, for some sizes.
Possible = Callable[[Access, int], bool]


def require_vectors(nest: Nest, schedule: Schedule, along: frozenset[str] | None = None) -> None:
    """Every vector width asked for must be possible for some sizes: contiguous along one axis, or over several that
    are whole in the tile; at most 16 bytes.

    `along`: of the tensors that the schedule does not name, only those that move along one of these axes count.
    Raises TG0604, TG0605, TG0606: all that are found.
    """
    accesses = [
        a
        for a in nest.accesses()
        if along is None
        or schedule.names_width(nest.pointer(a.pointer).tensor)
        or along & set(memory_order(nest, a))
    ]

    def possible(access: Access, width: int) -> bool:
        if access.checked or any(step_of(nest, access, a.name, width) is not None for a in nest.axes):
            return True
        tile = {a.name: min(schedule.tile_of(a.name), a.extent.constant or 1 << 30) for a in nest.axes}
        order = [(a, tile[a]) for a in memory_order(nest, access) if tile[a] > 1]
        whole = {a for a, n in order if nest.axis(a).extent.constant == n}
        run = shortest_run(order, whole, width) if order else None
        return run is not None and run.points % width == 0 and step_along(nest, access, run) is not None

    found = vector_problems(
        nest, schedule, accesses, possible, lambda fine: side_by_side(nest, schedule, fine), along is not None
    )
    if found:
        raise SpecError(found)


def vector_problems(
    nest: Nest,
    schedule: Schedule,
    accesses: Iterable[Access],
    possible: Possible,
    together: Callable[[Sequence[Access]], Sequence[str]],
    items: bool = False,
) -> tuple[Diagnostic, ...]:
    """What is wrong with the widths of `accesses`. `together`: the tensors of those that can have theirs, which may go
    on to. `items`: a thread takes items of neighbours, whose elements may take several instructions where others are
    narrower; it is enough that one access of a pointer follows them."""
    asked = [a for a in accesses if schedule.width_of(nest.pointer(a.pointer).tensor) > 1]
    sizes = {nest.pointer(a.pointer).dtype.size for a in asked}
    least = min(sizes) if items and sizes else None
    wrong = {a for a in asked if _problem(nest, schedule, a, (), possible, least) is not None}
    fine = [a for a in asked if a not in wrong]
    if items:
        wrong = {a for a in wrong if all(a.pointer != b.pointer for b in fine)}
    others = together(fine)
    problems = (_problem(nest, schedule, a, others, possible, least) for a in asked if a in wrong)
    return tuple(dict.fromkeys(p for p in problems if p is not None))


def _problem(
    nest: Nest,
    schedule: Schedule,
    access: Access,
    others: Sequence[str],
    possible: Possible,
    least: int | None,
) -> Diagnostic | None:
    """`least`: bytes of the narrowest element, where that counts."""
    pointer = nest.pointer(access.pointer)
    width = schedule.width_of(pointer.tensor)
    others = tuple(t for t in others if t != pointer.tensor)
    if isinstance(pointer.dtype, Struct):
        return members_of_several_types(nest, access, schedule, others)
    if width * (least or pointer.dtype.size) > 16:
        return wider_than_an_instruction(nest, access, schedule)
    if possible(access, width):
        return None
    if access.checked:
        return by_element(pointer.tensor, schedule, others)
    narrower = next((w for w in (8, 4, 2) if w < width and possible(access, w)), None)
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
