"""Where the rows of a staged tile go, so that the threads of an access group meet 32 different banks.

Candidates are tried on the actual addresses of the phase that fills the buffer and the phase that reads it. The rule of
shared memory (32 banks of 4 bytes; groups of a warp, half a warp for 8 bytes, a quarter for 16) is measured in
`sim/counters.py`; here it only ranks candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from tilegen.algebra import Expr, evaluate, substitute
from tilegen.diagnostics import Diagnostic, SpecError
from tilegen.plan.model import Buffer, Load, Sweep, Swizzle
from tilegen.plan.stage import StageBox
from tilegen.schedule.model import Placement

_BANKS, _WORD = 32, 4
_SAMPLED_WARPS, _SAMPLED_STEPS = 4, 4


def place_rows(load: Load, compute: Sweep, box: StageBox, threads: int) -> Buffer:
    """The buffer of `load` with the padding or swizzle that was asked for, its free parameters chosen by conflicts.

    Raises TG0613 (a padding that breaks vector alignment), TG0614 (a swizzle that is not one-to-one).
    """
    buffer = load.buffer
    match box.stage.placement:
        case Placement.PLAIN:
            return buffer
        case Placement.PADDED:
            require_aligned_pad(box)
            return replace(buffer, pad=box.stage.pad)
        case Placement.SWIZZLED:
            require_one_to_one(box, buffer)
            candidates = list(swizzles(buffer))
        case Placement.BEST:
            candidates = [buffer, *swizzles(buffer), replace(buffer, pad=max(1, box.chunk))]
    return min(candidates, key=lambda b: _cost(b, load, compute, box, threads))


def swizzles(buffer: Buffer) -> Iterator[Buffer]:
    """Every swizzle that keeps each row's chunks a permutation of themselves."""
    chunks = buffer.axes[-1][1] // buffer.chunk
    group = min(chunks & -chunks, max(1, _BANKS * _WORD // (buffer.chunk * buffer.dtype.size)))
    while group > 1:
        for shift in range(6):
            yield replace(buffer, swizzle=Swizzle(shift, group - 1))
        group //= 2


def require_aligned_pad(box: StageBox) -> None:
    if box.stage.pad % box.chunk == 0:
        return
    size = box.dtype.size
    raise SpecError(
        [
            Diagnostic(
                "TG0613",
                f"`pad {box.stage.pad}` breaks the alignment of {box.chunk * size}-byte shared accesses",
                box.stage.span,
                notes=(f"rows of `{box.tensor}` are accessed {box.chunk} elements at a time",),
                helps=(f"use `stage {box.tensor} pad {box.chunk}` or `stage {box.tensor} swizzle`",),
            )
        ]
    )


def require_one_to_one(box: StageBox, buffer: Buffer) -> None:
    chunks = buffer.axes[-1][1] // buffer.chunk
    if chunks & (chunks - 1) == 0 and chunks > 1:
        return
    axis, extent = buffer.axes[-1]
    power = 1 << max(1, chunks.bit_length() - 1)
    raise SpecError(
        [
            Diagnostic(
                "TG0614",
                f"a swizzle of rows of {extent} elements is not one-to-one",
                box.stage.span,
                notes=(
                    f"a row along `{axis}` has {chunks} chunks of {buffer.chunk}; "
                    "exclusive or permutes only a power of two",
                ),
                helps=(
                    f"use `{axis} = {power * buffer.chunk}` or `{axis} = {2 * power * buffer.chunk}` in `tile`, "
                    f"or `stage {box.tensor} pad {buffer.chunk}`",
                ),
            )
        ]
    )


def _cost(buffer: Buffer, load: Load, compute: Sweep, box: StageBox, threads: int) -> tuple[int, int, int]:
    """Conflicts first, then bytes, then how plain the layout is."""
    write_width = load.across[1] if load.across else (load.width if buffer.axes[-1][0] == box.fast else 1)
    conflicts = _conflicts(buffer, load.sweep, write_width, threads)
    conflicts += _conflicts(buffer, compute, box.read_width, threads)
    plainness = 0 if buffer.swizzle is None else 1 + buffer.swizzle.shift
    return conflicts, buffer.bytes, plainness


def _conflicts(buffer: Buffer, sweep: Sweep, width: int, threads: int) -> int:
    """Extra wavefronts of the first warps and steps of a sweep that accesses `width` elements of each row at a time."""
    size = buffer.dtype.size
    address = _thread_address(buffer, sweep)
    lanes = 32 // max(1, width * size // _WORD // 1 if width * size > _WORD else 1)
    lanes = {1: 32, 2: 16, 4: 8}[max(1, min(4, width * size // _WORD))]
    trips = [range(min(loop.trip, _SAMPLED_STEPS)) for loop in sweep.loops]
    extra = 0
    for steps in product(*trips):
        fixed = {f"@step_{loop.axis}": s for loop, s in zip(sweep.loops, steps, strict=True)}
        for first in range(0, min(threads, 32 * _SAMPLED_WARPS), lanes):
            words: dict[int, set[int]] = {}
            for tid in range(first, min(first + lanes, threads)):
                place = evaluate(address, {**fixed, "@tid": tid}) * size
                for word in range(place // _WORD, (place + width * size - 1) // _WORD + 1):
                    words.setdefault(word % _BANKS, set()).add(word)
            extra += max(len(w) for w in words.values()) - 1
    return extra


def _thread_address(buffer: Buffer, sweep: Sweep) -> Expr:
    digits = {f"@thread_{a}": e for a, e in sweep.digits}
    at = {a: substitute(e, digits) for a, e in sweep.coordinates}
    for axis, _ in buffer.axes:
        at.setdefault(axis, Expr(()))
    return buffer.linear(at)
