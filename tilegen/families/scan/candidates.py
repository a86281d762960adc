"""Schedules of scans: what a user wrote made complete, and `auto`.

`threads j` and `tile j` along the scanned axis say how many threads share a row and how many of its points they take
at once; `threads i` and `tile i` along another axis how many rows, or columns, a block computes. Rows that are few and
long are cut among blocks at launch, by the same tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod

from tilegen.algebra import ONE
from tilegen.core.nest.affine import Step, coefficient, memory_order, neighbours
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.known_sizes import Choosing, widest
from tilegen.core.schedule.model import Counts, Schedule
from tilegen.core.schedule.problems import MOST_POINTS, too_much_of_a_row, wider_than_an_instruction
from tilegen.dtypes import Struct
from tilegen.families.rows.output_rows import SECTOR_BYTES
from tilegen.families.scan.costs import bytes_across, words_held
from tilegen.families.scan.nest import fast_axis, memory_address
from tilegen.families.scan.problems import (
    rows_unlike_threads,
    several_row_axes,
    threads_of_a_row,
    tile_of_a_row,
    totals_too_large,
    whole_warps,
)
from tilegen.lang.diagnostics import SpecError
from tilegen.target import Target

_WARP = 32
_THREADS = 256
_MOST_THREADS = 512
_VECTOR_BYTES = 16
# Of the widest element, per thread and tile: enough in flight with five blocks per multiprocessor.
_BYTES_PER_THREAD = 64
# With fewer rows than this per multiprocessor, walking whole rows leaves the memory idle while totals are combined.
_ROWS_PER_SM = 4
_MULTIPROCESSORS = 132
# Where blocks share a row, a tile is held while its block waits for the tiles before it, and every tile costs messages
# and a wait: tiles are as large as registers can hold. 64 of them per thread, of which 40 for the tile: 128 bytes.
_REGISTERS = 64
_WORDS_HELD = 40
# Where the rows have fewer tiles than this per place for a block, smaller ones spread better.
_TILES_PER_PLACE = 4
_MOST_ITEMS = 32
# Bytes take a register each once they are terms; one element per step takes a warp scan per element.
_MOST_SINGLE_ITEMS = 16
_SEGMENT = 128
# Lanes across need this many neighbouring columns to be worth it.
_LEAST_COLUMNS = 8


def auto_scan(nest: Nest, target: Target, sizes: Mapping[str, int] | None = None) -> tuple[Schedule, ...]:
    """The schedule of tilegen's own choice; `sizes`: those known fit it to short rows and few columns."""
    return (_Chooser(nest, target, dict(sizes or {})).schedule(),)


class _Chooser(Choosing):
    @property
    def axis(self) -> str:
        return self.nest.reduced[0]

    def others(self, *axes: str) -> int | None:
        """Points of all axes but these, if known."""
        found = [self.extent(a.name) for a in self.nest.axes if a.name not in axes]
        return prod(e for e in found if e is not None) if None not in found else None

    def schedule(self) -> Schedule:
        fast = fast_axis(self.nest)
        if fast is not None and fast != self.axis:
            columns = self.extent(fast)
            if columns is None or columns >= _LEAST_COLUMNS:
                return self._across(fast, columns)
        return self._along()

    def _along(self) -> Schedule:
        follow = _following(self.nest, self.axis)
        size = max((self.size(a) for a in follow or self.nest.accesses()), default=4)
        width = self._width(follow, self.axis, _VECTOR_BYTES // min(_VECTOR_BYTES, size))
        most = _MOST_ITEMS if width > 1 and size > 1 else _MOST_SINGLE_ITEMS
        steps = max(1, min(_BYTES_PER_THREAD // (width * size), most // width))
        along, length = _THREADS, self.extent(self.axis)
        if length is not None:
            along, steps = _team(length, width, steps, size)
            shared = self._shared(width, length)
            if shared is not None:
                return shared
        beside, row = 1, parallel_row(self.nest)
        if row is not None and along < _THREADS:
            count = self.extent(row)
            beside = _THREADS // along if count is None else min(_THREADS // along, _power(count))
        if along * beside < _WARP:
            along = _WARP // beside
            steps = 1 if length is None else max(1, -(-length // (along * width)))
        tile, threads = [(self.axis, along * steps * width)], [(self.axis, along)]
        if beside > 1 and row is not None:
            tile, threads = [(row, beside), *tile], [(row, beside), *threads]
        return self._made(tile, threads, self.axis, width)

    def _shared(self, width: int, length: int) -> Schedule | None:
        """For rows that blocks share, if those have tiles enough for all blocks of the device."""
        rows = self.others(self.axis)
        if width == 1 or rows is None or rows > most_shared_rows(self.target):
            return None
        tile = _MOST_THREADS * max(1, _WORDS_HELD // words_held(self.nest, width)) * width
        resident = self.target.registers_per_sm // (_REGISTERS * _MOST_THREADS)
        places = resident * (self.target.sm_count or _MULTIPROCESSORS)
        if rows * (length // tile) < _TILES_PER_PLACE * places:
            return None
        made = self._made([(self.axis, tile)], [(self.axis, _MOST_THREADS)], self.axis, width)
        return replace(made, min_blocks=resident)

    def _across(self, fast: str, columns: int | None) -> Schedule:
        follow = _following(self.nest, fast)
        size = max(self.size(a) for a in follow or self.nest.accesses())
        width = max(1, 4 // size)
        enough = 2 * (self.target.sm_count or 1)
        others = self.others(self.axis, fast)
        if columns is not None and others is not None:
            while width * size < _VECTOR_BYTES and columns * others >= enough * _WARP * width * 2:
                width *= 2
        width = self._width(follow, fast, width)
        steps, along, length = max(2, 16 // width), 8, self.extent(self.axis)
        if columns is not None and others is not None and columns * others < enough * _WARP * width:
            along = 16
        if length is not None:
            along = min(along, _power(-(-length // steps)))
        while bytes_across(self.nest, along, _WARP * width) > self.target.shared_bytes_default:
            width, along = (width // 2, along) if width > 1 else (1, along // 2)
        tile, threads = (
            [(self.axis, along * steps), (fast, _WARP * width)],
            [(self.axis, along), (fast, _WARP)],
        )
        return self._made(tile, threads, fast, width)

    def _made(
        self, tile: Iterable[tuple[str, int]], threads: Iterable[tuple[str, int]], fast: str, width: int
    ) -> Schedule:
        """`width`: neighbours along `fast`, for the tensors that have them."""
        moving = (a for a in self.nest.accesses() if follows(self.nest, a, fast, width))
        return Schedule(
            "auto",
            tile=in_order(self.nest, tile),
            threads=in_order(self.nest, threads),
            vector_of=tuple((t, width) for t in self.tensors_of(moving)) if width > 1 else (),
        )

    def _width(self, follow: Iterable[Access], axis: str, width: int) -> int:
        """The widest vector up to `width` that all accesses along `axis` can have, by what is known."""
        accesses = list(follow)

        def fits(width: int) -> bool:
            steps = [_neighbours(self.nest, a, axis, width) for a in accesses]
            return all(s is not None and self.divides(width, s.divisible) for s in steps)

        return widest(width, fits) if accesses else 1


def _team(length: int, width: int, most: int, size: int) -> tuple[int, int]:
    """Threads and steps of a row of known length, at most `most` steps of `width` elements of `size` bytes.

    A short row has a part of a warp that its points fill well, by runs of memory that are not too short, and with
    several loads per thread where it can. A longer one has the warps it needs up to a limit, else tiles of one size.
    """
    if length <= _WARP * width * most:
        ranked = []
        for lanes in (32, 16, 8, 4, 2, 1):
            steps, run = max(1, -(-length // (lanes * width))), lanes * width * size
            if steps <= most and (run >= SECTOR_BYTES or lanes == _WARP):
                filled = length / (lanes * steps * width)
                coalesced = 1.0 if run >= _SEGMENT else 0.97 if 2 * run >= _SEGMENT else 0.9
                flight = min(1.0, 0.7 + 0.3 * steps * width * size / SECTOR_BYTES)
                ranked.append((filled * coalesced * flight, lanes, steps))
        _, lanes, steps = max(ranked)
        return lanes, steps
    if length <= _MOST_THREADS * width * most:
        along = -(-length // (width * most * _WARP)) * _WARP
        return along, -(-length // (along * width))
    tiles = -(-length // (_THREADS * width * most))
    return _THREADS, -(-length // (tiles * _THREADS * width))


def most_shared_rows(target: Target) -> int:
    """How many rows there may be at most for blocks to share them."""
    return _ROWS_PER_SM * (target.sm_count or _MULTIPROCESSORS)


def _power(number: int) -> int:
    """The least power of two that is not below."""
    return 1 << max(0, number - 1).bit_length()


def _following(nest: Nest, axis: str) -> list[Access]:
    """Accesses whose neighbours along `axis` lie side by side, in either order."""
    return [
        a
        for a in nest.accesses()
        if not a.checked
        and not isinstance(nest.pointer(a.pointer).dtype, Struct)
        and coefficient(a, axis) in (ONE, -ONE)
    ]


def _neighbours(nest: Nest, access: Access, axis: str, width: int) -> Step | None:
    return neighbours(nest, access, axis, width, memory_address(access, axis, width))


def follows(nest: Nest, access: Access, axis: str, width: int) -> bool:
    """Whether `width` neighbours along `axis` can be one access of memory."""
    return _neighbours(nest, access, axis, width) is not None


def parallel_row(nest: Nest) -> str | None:
    """The axis whose neighbours are rows that one block computes side by side."""
    names = [a.name for a in nest.parallel]
    order = [a for a in memory_order(nest, nest.stores[0].access) if a in names]
    return next(iter(order), names[-1] if names else None)


def in_order(nest: Nest, counts: Iterable[tuple[str, int]]) -> Counts:
    """By the order of the nest's axes."""
    order = [a.name for a in nest.axes]
    return tuple(sorted(counts, key=lambda c: order.index(c[0])))


# What was written


def complete_scan(nest: Nest, schedule: Schedule, target: Target) -> tuple[Schedule, ...]:
    """The schedule with `tile` and `threads` for the scanned axis and at most one other, as `auto` has what is open.

    Raises SpecError: TG0602, TG0605, TG0610, TG0615, TG0632, each at its directive's span.
    """
    item, (auto,) = schedule.item_width, auto_scan(nest, target)
    axis = nest.reduced[0]
    tile, threads = dict(schedule.tile), dict(schedule.threads)
    named = [
        a.name for a in nest.axes if a.name != axis and max(tile.get(a.name, 1), threads.get(a.name, 1)) > 1
    ]
    if len(named) > 1:
        raise SpecError([several_row_axes(schedule, axis, named)])
    fast = fast_axis(nest)
    across = fast if fast != axis and (fast in named or not (named or tile or threads)) else None
    for access in nest.accesses():
        pointer = nest.pointer(access.pointer)
        if isinstance(pointer.dtype, Struct):
            continue
        if schedule.width_of(pointer.tensor) * pointer.dtype.size > _VECTOR_BYTES:
            raise SpecError([wider_than_an_instruction(nest, access, schedule)])
    chosen = dict(auto.threads)
    if across is not None:
        columns = threads.get(across) or tile.get(across, _WARP * item) // item or 1
        along = threads.get(axis) or min(chosen.get(axis, 8), max(1, tile.get(axis, 8)))
        steps = tile.get(axis, along * 8) // along
        wanted = {axis: along * steps, across: columns * item}
        threads = {axis: along, across: columns}
    else:
        row = named[0] if named else None
        beside = threads.get(row) or tile.get(row, 1) if row is not None else 1
        along = threads.get(axis) or _default_along(tile.get(axis), item, beside)
        steps = tile.get(axis, along * item * max(1, 16 // item)) // (along * item)
        wanted = {axis: along * max(steps, 1) * item} | ({row: beside} if row is not None else {})
        threads = {axis: along} | ({row: beside} if row is not None else {})
        if along & (along - 1) if along < _WARP else along % _WARP:
            raise SpecError([threads_of_a_row(schedule, axis, along)])
    for name, points in tile.items():
        if wanted.get(name, 1) != points:
            if name == axis:
                unit = threads[axis] * (1 if across is not None else item)
                raise SpecError([tile_of_a_row(schedule, axis, points, unit)])
            raise SpecError([rows_unlike_threads(schedule, name, points, wanted.get(name, 1))])
    for name, points in schedule.threads:
        if threads.get(name, 1) != points:
            raise SpecError([rows_unlike_threads(schedule, name, points, threads.get(name, 1))])
    held = prod(wanted.values()) // prod(threads.values())
    if held > MOST_POINTS:
        action = (
            f"use `tile {axis} = {wanted[axis] * MOST_POINTS // held}` at most; a row may be longer than that"
        )
        raise SpecError([too_much_of_a_row(held, MOST_POINTS, action, schedule.span("tile", axis))])
    total = prod(threads.values())
    if total % _WARP or total > target.max_threads_per_block:
        raise SpecError([whole_warps(schedule, total, target)])
    if across is not None:
        shared = bytes_across(nest, threads[axis], wanted[across])
        if shared > target.shared_bytes_default:
            raise SpecError([totals_too_large(schedule, axis, shared, target)])
    return (replace(schedule, tile=in_order(nest, wanted.items()), threads=in_order(nest, threads.items())),)


def _default_along(tile: int | None, item: int, beside: int) -> int:
    """Threads of a row whose tile is written: as many as have a whole item each, up to a block."""
    most = max(1, _THREADS // beside)
    if tile is None:
        return most
    along = most
    while along > 1 and tile % (along * item):
        along //= 2
    return along
