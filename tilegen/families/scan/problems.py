"""What is told of a schedule that a scan cannot honour: TG0610, TG0632."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.core.schedule.model import Schedule
from tilegen.lang.diagnostics import Diagnostic
from tilegen.target import Target


def threads_of_a_row(schedule: Schedule, axis: str, along: int) -> Diagnostic:
    """A row has a power of two of threads within a warp, or whole warps."""
    if along < 32:
        near = sorted({1 << (along.bit_length() - 1), 1 << along.bit_length()})
    else:
        near = sorted({along // 32 * 32, -(-along // 32) * 32})
    return _shape(
        schedule,
        axis,
        f"{along} threads cannot scan a row along `{axis}`",
        "totals go from lane to lane of a warp: a row has 1, 2, 4, 8, 16 or 32 threads, or whole warps",
        "use " + " or ".join(f"`{axis} = {n}`" for n in near) + " in `threads`",
    )


def tile_of_a_row(schedule: Schedule, axis: str, points: int, unit: int) -> Diagnostic:
    above = -(-points // unit) * unit
    return _shape(
        schedule,
        axis,
        f"a tile of {points} along `{axis}` cannot be shared out",
        f"the threads along `{axis}` take {unit} points per step",
        f"use `tile {axis} = {above}`",
        "tile",
    )


def rows_unlike_threads(schedule: Schedule, axis: str, points: int, wanted: int) -> Diagnostic:
    word = "tile" if schedule.writes("tile", axis) else "threads"
    return _shape(
        schedule,
        axis,
        f"`{word} {axis} = {points}` does not fit the other directives",
        "`tile` and `threads` name as many rows: each is computed by threads of its own",
        f"use `{axis} = {wanted}` in `{word}`",
        word,
    )


def several_row_axes(schedule: Schedule, axis: str, named: Sequence[str]) -> Diagnostic:
    word = next(w for w in ("threads", "tile") if schedule.writes(w, named[0]))
    return _shape(
        schedule,
        named[0],
        f"a block cannot be spread over {' and '.join(f'`{a}`' for a in named)} beside `{axis}`",
        f"the threads of a block lie along the scanned axis `{axis}` and along one other",
        f"name one of them in `{word}`",
        word,
    )


def whole_warps(schedule: Schedule, total: int, target: Target) -> Diagnostic:
    limit = target.max_threads_per_block
    return Diagnostic(
        "TG0632",
        f"a block of {total} threads cannot scan",
        schedule.span("threads") or schedule.span("tile"),
        notes=(f"a block has whole warps of 32 threads, at most {limit}",),
        helps=(f"name threads whose product is a multiple of 32 up to {limit} in `threads`",),
    )


def _shape(
    schedule: Schedule, axis: str, message: str, fact: str, action: str, word: str = "threads"
) -> Diagnostic:
    span = schedule.span(word, axis) or schedule.span("threads") or schedule.span("tile")
    return Diagnostic("TG0632", message, span, notes=(fact,), helps=(action,))


def totals_too_large(schedule: Schedule, axis: str, asked: int, target: Target) -> Diagnostic:
    most = target.shared_bytes_default
    return Diagnostic(
        "TG0610",
        f"the totals of the threads along `{axis}` take {asked} bytes of shared memory",
        schedule.span("threads") or schedule.span("tile"),
        notes=(
            f"{target.name} gives a block {most}; every thread of a column leaves a total of each of two tiles",
        ),
        helps=(f"use at most 1/{-(-asked // most)} of the threads along `{axis}`, or of the columns",),
    )
