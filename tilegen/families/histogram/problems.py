"""What is told of a schedule that a histogram cannot honour: TG0641, TG0642, and vectors."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import (
    members_of_several_types,
    no_neighbours,
    wider_than_an_instruction,
    without,
)
from tilegen.dtypes import Struct
from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.source import Span
from tilegen.lang.spec import (
    BoundsDirective,
    RasterDirective,
    StageDirective,
    ThreadsDirective,
    TileDirective,
    UnrollDirective,
)
from tilegen.target import Target

_Refused = TileDirective | StageDirective | RasterDirective | BoundsDirective


def not_for_histograms(directive: _Refused) -> Diagnostic:
    match directive:
        case TileDirective():
            word = "tile"
            fact = "blocks of a histogram stride over all elements and hold all bins: there are no tiles"
            action = "leave `tile` out; `threads` and `unroll` say what a block reads at a time"
        case StageDirective():
            word = "stage"
            fact = "each element is read once and counted at once; shared memory holds the bins"
            action = "leave `stage` out"
        case RasterDirective():
            word = "raster"
            fact = "blocks of a histogram stride over all elements: there are no tiles to order"
            action = "leave `raster` out"
        case BoundsDirective():
            word = f"bounds {directive.modes[0].value}"
            fact = "blocks of a histogram stride over all elements: there are no tiles at an edge"
            action = "leave `bounds` out: any size works"
    return Diagnostic(
        "TG0641",
        f"`{word}` cannot be honoured for a histogram",
        directive.span,
        notes=(fact,),
        helps=(action,),
    )


def not_an_element_axis(axis: str, word: str, walked: Sequence[str], span: Span) -> Diagnostic:
    names = ", ".join(f"`{a}`" for a in walked) or "no axis"
    return Diagnostic(
        "TG0642",
        f"`{word}` cannot name `{axis}` here",
        span,
        notes=(f"threads of a histogram walk its elements, along {names}; `{axis}` says where a count goes",),
        helps=(f"name {names}" if walked else f"leave `{word}` out",),
    )


def too_many_counting(directive: ThreadsDirective, count: int, target: Target) -> Diagnostic:
    limit = target.max_threads_per_block
    return Diagnostic(
        "TG0602",
        f"{count} threads are more than a block may have",
        directive.span,
        notes=(f"{target.name} allows {limit} threads per block",),
        helps=(f"use at most {limit}; blocks stride over the elements, whatever their number",),
    )


def many_under_way(directive: UnrollDirective, count: int, most: int) -> Diagnostic:
    return Diagnostic(
        "TG0643",
        f"{count} accesses under way are more than a thread can hold",
        directive.span,
        notes=(f"each waits in registers of its own; {most} of 16 bytes take {most * 4} of them",),
        helps=(f"use at most {most}",),
    )


def written_once(tensor: str, schedule: Schedule) -> Diagnostic:
    return Diagnostic(
        "TG0606",
        f"`{tensor}` cannot be accessed {schedule.width_of(tensor)} elements at a time",
        schedule.span("vector", tensor),
        notes=(f"`vector` is about the elements that are counted; `{tensor}` is touched once per bin",),
        helps=(without(schedule, tensor, ()),),
    )


def no_vector(
    nest: Nest, access: Access, schedule: Schedule, narrower: int | None, others: Sequence[str]
) -> Diagnostic:
    pointer = nest.pointer(access.pointer)
    tensor = pointer.tensor
    kept = tuple(t for t in others if t != tensor)
    if isinstance(pointer.dtype, Struct):
        return members_of_several_types(nest, access, schedule, kept)
    if schedule.width_of(tensor) * pointer.dtype.size > 16:
        return wider_than_an_instruction(nest, access, schedule)
    if access.checked:
        return Diagnostic(
            "TG0606",
            f"`{tensor}` cannot be accessed {schedule.width_of(tensor)} elements at a time",
            schedule.span("vector", tensor),
            notes=(f"the index of `{tensor}` passes through its boundary mode, element by element",),
            helps=(without(schedule, tensor, kept),),
        )
    return no_neighbours(nest, access, schedule, narrower, kept)
