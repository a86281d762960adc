"""What is told of a schedule that no machine can honour (TG06), and what to type instead."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.model import Schedule
from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.source import Span
from tilegen.lang.spec import ScheduleSpec
from tilegen.target import Target


def too_many_threads(schedule: Schedule, count: int, target: Target, rest: str) -> Diagnostic:
    """`rest`: what else there is to do."""
    fewer, room = [], target.max_threads_per_block
    for axis, n in reversed(schedule.threads):  # the last axis is the fastest: it keeps most
        fits = min(n, room)
        room //= fits
        fewer += [f"{dict(schedule.called).get(axis, axis)} = {fits}"] if fits < n else []
    if not fewer:
        fewer = [f"threads {target.max_threads_per_block}"]
    return Diagnostic(
        "TG0602",
        f"{count} threads are more than a block may have",
        schedule.span("threads"),
        notes=(f"{target.name} allows {target.max_threads_per_block} threads per block",),
        helps=(f"use `{', '.join(reversed(fewer))}`{rest}",),
    )


def registers_out_of_range(count: int, target: Target, span: Span | None) -> Diagnostic:
    least, limit = target.least_register_cap, target.registers_per_thread
    return Diagnostic(
        "TG0603",
        f"a thread cannot be held to {count} registers",
        span,
        notes=(f"{target.name} gives a thread {least} to {limit} registers",),
        helps=(f"use `max_registers {min(max(count, least), limit)}`",),
    )


def too_many_rows(rows: int, lanes: int, target: Target, span: Span | None) -> Diagnostic:
    most = target.max_threads_per_block
    each = f", each of which takes {lanes} rows" if lanes > 1 else ""
    return Diagnostic(
        "TG0602",
        f"{rows} rows are more than the threads of a block can walk",
        span,
        notes=(f"{target.name} allows {most} threads per block{each}",),
        helps=(f"use a tile of at most {most * lanes} rows",),
    )


def no_loop_over_rows(axis: str, reduced: Sequence[str], span: Span | None) -> Diagnostic:
    return Diagnostic(
        "TG0609",
        f"there is no serial loop along `{axis}` to unroll",
        span,
        notes=(f"a thread loops along {', '.join(f'`{a}`' for a in reduced)}",),
        helps=("unroll one of those, or leave `unroll` out",),
    )


def other_steps(word: str, asked: int, steps: int, maker: str, span: Span | None) -> Diagnostic:
    """`maker`: what makes it `steps` steps already."""
    said = f"the loop along a row cannot be unrolled {asked} times"
    other = "`in_flight`" if maker == "in_flight" else "the reduced axes out of `tile`"
    return Diagnostic(
        "TG0609",
        said if word == "unroll" else f"a thread cannot have {asked} accesses of a row under way",
        span,
        notes=(f"{_MAKERS[maker]} it {steps} step{'s' if steps > 1 else ''} per thread",),
        helps=(f"leave `{word}` out, or leave {other}{' out' if maker == 'in_flight' else ''}",),
    )


_MAKERS = {"tile": "`tile` and `threads` make", "in_flight": "`in_flight` makes"}


def part_of_a_row(count: int, along: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "TG0620",
        f"{count} threads of a block do not make up whole rows",
        span,
        notes=(f"a row has {along} of them",),
        helps=(f"use `threads {max(1, count // along) * along}`, or other threads along the axes",),
    )


def promised_apart(spec: ScheduleSpec, word: str) -> Diagnostic:
    """Alternatives that do not promise the same about every launch."""
    return Diagnostic(
        "TG0626",
        f"the alternatives of schedule `{spec.name}` differ in `{word}`",
        next((d.span for d in spec.directives if d.word.value == word), spec.span),
        notes=(f"`{word}` is a promise about every launch, whichever alternative serves it",),
        helps=(f"give the same `{word}` in all of them, or in none",),
    )


def not_shared(schedule: Schedule, word: str, fact: str, action: str) -> Diagnostic:
    """A directive about a row that several threads or blocks hold together."""
    return Diagnostic(
        "TG0625",
        f"`{word}` cannot be honoured as it is",
        schedule.span(word),
        notes=(fact,),
        helps=(action,),
    )


# Points of a row that a thread may have in registers.
MOST_POINTS = 256


def too_many_resident(schedule: Schedule, threads: int, target: Target) -> Diagnostic:
    """More blocks per multiprocessor than `threads` threads each, or its registers, leave room for."""
    asked, room = schedule.min_blocks or 1, most_resident(schedule, threads, target)
    facts = [
        f"{target.name} has {target.max_threads_per_sm} threads and {target.blocks_per_sm} blocks per multiprocessor"
    ]
    if schedule.max_registers is not None:
        facts.append(
            f"and {target.registers_per_sm} registers, {schedule.max_registers} of them for each thread"
        )
    other = (
        ""
        if schedule.writes("threads")
        else "; or give the block fewer by `threads`: so many is tilegen's choice"
    )
    return Diagnostic(
        "TG0621",
        f"{asked} blocks of {threads} threads cannot be on a multiprocessor at once",
        schedule.span("min_blocks"),
        notes=(", ".join(facts),),
        helps=(f"use `min_blocks {room}`{other}" if room else "use fewer threads or registers",),
    )


def most_resident(schedule: Schedule, threads: int, target: Target) -> int:
    """Blocks of so many threads that a multiprocessor can have at once, as far as the schedule tells."""
    room = min(target.blocks_per_sm, target.max_threads_per_sm // threads)
    if schedule.max_registers is not None:
        room = min(room, target.registers_per_sm // (schedule.max_registers * threads))
    return room


def too_much_of_a_row(points: int, most: int, action: str, span: Span | None) -> Diagnostic:
    """`points` of a row for each thread, `most` that it may have."""
    return Diagnostic(
        "TG0615",
        f"each thread would hold {points} points of a row",
        span,
        notes=(f"they live in registers, and the code for each is written out: at most {most}",),
        helps=(action,),
    )


def accumulators_too_large(schedule: Schedule, asked: int, target: Target) -> Diagnostic:
    most = target.shared_bytes_default
    return Diagnostic(
        "TG0610",
        f"the results of the threads of a block take {asked} bytes of shared memory",
        schedule.span("threads") or schedule.span("tile"),
        notes=(f"{target.name} gives a block {most}; every thread leaves a result per row and reduction",),
        helps=(f"use at most 1/{-(-asked // most)} of the threads, or narrower vectors",),
    )


def team_not_a_power_of_two(along: int, span: Span | None) -> Diagnostic:
    lower = 1 << (along.bit_length() - 1)
    return Diagnostic(
        "TG0618",
        f"{along} threads cannot share a row",
        span,
        notes=("threads of a row combine their results in pairs: their number is a power of two",),
        helps=(f"use {lower} or {2 * lower} threads along the reduced axes",),
    )


def warps_not_whole(along: int, threads: int, several: bool, span: Span | None) -> Diagnostic:
    """`several`: whether there are rows to put side by side."""
    rows = -(-threads // 32) * 32 // along
    return Diagnostic(
        "TG0619",
        f"a block of {threads} threads has a warp that is not whole",
        span,
        notes=("threads of a row exchange results within warps of 32",),
        helps=(
            f"use {rows} rows of {along} threads, or as many as make a multiple of 32"
            if several
            else "use 32 threads or more along the row",
        ),
    )


def rows_do_not_fit(asked: int, have: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "TG0620",
        f"the threads of a block do not make up {asked} rows",
        span,
        notes=(f"`threads` and `vector` make up {have}",),
        helps=(f"use a tile of {have} row{'s' if have > 1 else ''}, or other `threads`",),
    )


def row_does_not_divide(asked: int, unit: int, span: Span | None) -> Diagnostic:
    near = max(unit, asked // unit * unit)
    return Diagnostic(
        "TG0620",
        f"the threads of a row do not make up {asked} points",
        span,
        notes=(f"threads and vectors take {unit} at a time",),
        helps=(f"use {near}" + (f" or {near + unit}" if near < asked else ""),),
    )


def members_of_several_types(
    nest: Nest, access: Access, schedule: Schedule, others: Sequence[str]
) -> Diagnostic:
    pointer = nest.pointer(access.pointer)
    return Diagnostic(
        "TG0604",
        f"`{pointer.tensor}` cannot be accessed {schedule.width_of(pointer.tensor)} elements at a time",
        schedule.span("vector", pointer.tensor),
        notes=(f"its elements are {pointer.dtype}: members of several types",),
        helps=(without(schedule, pointer.tensor, others),),
    )


def wider_than_an_instruction(nest: Nest, access: Access, schedule: Schedule) -> Diagnostic:
    pointer = nest.pointer(access.pointer)
    tensor, size = pointer.tensor, pointer.dtype.size
    width = schedule.width_of(tensor)
    if size < 16:
        action = f"use `{width_as_written(schedule, tensor, 16 // size)}`"
    elif schedule.names_width(tensor):
        action = f"leave `{tensor}` out of `vector`"
    else:
        action = f"leave `vector` out for {pointer.dtype}"
    return Diagnostic(
        "TG0605",
        f"`vector {width}` of {pointer.dtype} is {width * size} bytes",
        schedule.span("vector", tensor),
        notes=("a memory instruction moves at most 16 bytes per thread",),
        helps=(action,),
    )


def no_neighbours(
    nest: Nest, access: Access, schedule: Schedule, narrower: int | None, others: Sequence[str]
) -> Diagnostic:
    tensor = nest.pointer(access.pointer).tensor
    width = schedule.width_of(tensor)
    return Diagnostic(
        "TG0606",
        f"`{tensor}` cannot be accessed {width} elements at a time",
        schedule.span("vector", tensor),
        notes=(
            f"its address is {access.address}: no axis has neighbours side by side at a multiple of {width}",
        ),
        helps=(
            f"use `{width_as_written(schedule, tensor, narrower)}`"
            if narrower
            else without(schedule, tensor, others),
        ),
    )


def by_element(tensor: str, schedule: Schedule, others: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        "TG0606",
        f"`{tensor}` cannot be accessed {schedule.width_of(tensor)} elements at a time",
        schedule.span("vector", tensor),
        notes=(f"the index of `{tensor}` passes through its boundary mode, element by element",),
        helps=(without(schedule, tensor, others),),
    )


def width_as_written(schedule: Schedule, tensor: str, width: int) -> str:
    """A new width in the words the old one was written in: `y = 2` or `vector 2`."""
    return f"{tensor} = {width}" if schedule.names_width(tensor) else f"vector {width}"


def without(schedule: Schedule, tensor: str, others: Sequence[str]) -> str:
    """How to write `vector` so that it no longer speaks of `tensor`; `others`: tensors that can keep their widths."""
    if schedule.names_width(tensor):
        return f"leave `{tensor}` out of `vector`"
    named = ", ".join(f"{t} = {schedule.width_of(t)}" for t in others)
    return f"name the other tensors: `vector {named}`" if named else "leave `vector` out"
