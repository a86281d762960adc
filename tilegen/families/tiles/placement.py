"""Where the rows of a staged tile go, so that the threads of an access group meet 32 different banks.

Candidates are tried on the actual addresses of the phase that fills the buffer and the phase that reads it. The rule of
shared memory (32 banks of 4 bytes; groups of a warp, half a warp for 8 bytes, a quarter for 16) is measured in
`sim/counters.py`; here it only ranks candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from tilegen.algebra import Expr, as_function, substitute
from tilegen.core.nest.model import Nest
from tilegen.core.plan.model import Buffer, Load, Sweep, Swizzle
from tilegen.core.plan.problems import misaligned_pad, not_one_to_one
from tilegen.core.schedule.model import Placement
from tilegen.families.tiles.stage import StageBox
from tilegen.lang.diagnostics import SpecError

_BANKS, _WORD = 32, 4
_SAMPLED_STEPS = 2


def place_rows(nest: Nest, load: Load, compute: Sweep, box: StageBox, threads: int) -> Buffer:
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
            require_one_to_one(nest, box, buffer)
            candidates = list(swizzles(buffer, box.width))
        case Placement.BEST if box.sectors is not None:
            candidates = [replace(buffer, pad=pad) for pad in range(4)]
        case Placement.BEST if box.run is not None and not box.run.single:
            return buffer  # a load goes on from row to row: rows stay end to end
        case Placement.BEST:
            padded = replace(buffer, pad=max(1, box.chunk))
            # Single elements are cheaper to pad: a multiplication instead of a shift, a mask and an xor.
            ways = (
                (padded, *swizzles(buffer, box.width))
                if box.chunk == 1
                else (*swizzles(buffer, box.width), padded)
            )
            candidates = [buffer, *ways]
    return _first_with_least_conflicts(candidates, load, compute, box, threads)


def swizzles(buffer: Buffer, width: int) -> Iterator[Buffer]:
    """Every swizzle that keeps each row's chunks a permutation of themselves.

    First the one whose key changes every `width` rows, as the columns of a vector load do.
    """
    chunks = buffer.axes[-1][1] // buffer.chunk
    group = min(chunks & -chunks, max(1, _BANKS * _WORD // (buffer.chunk * buffer.dtype.size)))
    while group > 1:
        for shift in sorted(range(6), key=lambda s: abs(s - (width.bit_length() - 1))):
            yield replace(buffer, swizzle=Swizzle(shift, group - 1))
        group //= 2


def require_aligned_pad(box: StageBox) -> None:
    if box.stage.pad % box.chunk:
        raise SpecError([misaligned_pad(box.stage, box.dtype, box.chunk)])


def require_one_to_one(nest: Nest, box: StageBox, buffer: Buffer) -> None:
    chunks = buffer.axes[-1][1] // buffer.chunk
    if chunks < 2 or chunks & (chunks - 1):
        row = buffer.axes[-1][0]
        name = next((a.called for a in nest.axes if a.name == row), row)
        raise SpecError([not_one_to_one(box.stage, buffer, name)])


def _first_with_least_conflicts(
    candidates: list[Buffer], load: Load, compute: Sweep, box: StageBox, threads: int
) -> Buffer:
    """Candidates come from the plainest on; one without conflicts ends the search."""
    best, least = candidates[0], None
    for candidate in candidates:
        write_width = (
            load.across[1] if load.across else (load.width if candidate.axes[-1][0] == box.fast else 1)
        )
        conflicts = _conflicts(candidate, load.sweep, write_width, threads)
        if least is None or conflicts < least:
            conflicts += _conflicts(candidate, compute, box.read_width, threads)
        if least is None or conflicts < least:
            best, least = candidate, conflicts
        if least == 0:
            break
    return best


def _conflicts(buffer: Buffer, sweep: Sweep, width: int, threads: int) -> int:
    """Extra wavefronts of the first and last warp in the first steps of a sweep that accesses `width` elements each."""
    size = buffer.dtype.size
    address = _thread_address(buffer, sweep)
    lanes = {1: 32, 2: 16, 4: 8}[max(1, min(4, width * size // _WORD))]
    starts = {*range(0, min(threads, 32), lanes), *range(max(0, threads - 32) // 32 * 32, threads, lanes)}
    extra = 0
    for steps in product(*(range(min(loop.trip, _SAMPLED_STEPS)) for loop in sweep.loops)):
        fixed = {f"@step_{loop.axis}": s for loop, s in zip(sweep.loops, steps, strict=True)}
        element = as_function(substitute(address, fixed), "@tid")
        for first in starts:
            words: dict[int, set[int]] = {}
            for tid in range(first, min(first + lanes, threads)):
                place = element(tid) * size
                for word in range(place // _WORD, (place + width * size - 1) // _WORD + 1):
                    words.setdefault(word % _BANKS, set()).add(word)
            extra += max(len(w) for w in words.values()) - 1
    return extra


def _thread_address(buffer: Buffer, sweep: Sweep) -> Expr:
    digits = {f"@thread_{a}": e for a, e in sweep.digits}
    items = {f"@item_{a}": substitute(e, digits) for a, e in sweep.linear}
    if sweep.sectors is not None:
        items = {a: substitute(e, {f"@late_{sweep.sectors.fast}": 0}) for a, e in items.items()}
    at = {a: substitute(e, digits | items) for a, e in sweep.coordinates}
    for axis, _ in buffer.coordinates:
        at.setdefault(axis, Expr(()))
    return buffer.linear(at)
