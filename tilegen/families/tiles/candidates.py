"""`auto`: the schedule tilegen chooses itself, from the strides of the accesses, the element sizes and what is known of
the sizes. `candidates` lists what is worth considering, best first; nothing here is keyed by a shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

from tilegen.core.nest.affine import coefficient, contiguous_axis, memory_order, shortest_run, step_along
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.known_sizes import SHORT, Choosing, widest
from tilegen.core.schedule.model import Placement, Schedule, Stage
from tilegen.dtypes import Struct
from tilegen.families.rows.output_rows import axes_of_vectors, output_row
from tilegen.families.rows.shared_rows import SharedRows, spare
from tilegen.families.tiles.shapes import (
    PREDICATED_STEPS,
    PREDICATED_THREADS,
    SMALL,
    aligned,
    even,
    packed_tiles,
    tile_cost,
)
from tilegen.lang.spec import Bounds, Hint, Read, Where, walk
from tilegen.target import Target

_VECTOR_BYTES = 16
_THREADS = 256
# A smaller tile leaves threads of a vector transpose without work.
_LEAST_TILE_BYTES = 4096
# Blocks that keep every multiprocessor busy, with others to take over while some wait.
_BLOCKS_PER_SM = 4
# Elements per store that are gathered one by one from a tile of several short axes.
_GATHERED = 4
# How many tiles are looked at closely.
_REFINED = 8
# Bytes of a row of a square tile, on both sides: bytes in rows of 128 reached 0.91 of a copy, in rows of 256 0.97.
_ROW_BYTES = 256
# The most that a tile over short axes holds is a square of this side; the last blocks of few large ones run alone.
_PACKED_SIDE = 128
_PACKED_BLOCKS_PER_SM = 16
# Where the rows of a tile begin and end at sectors: rows of a square one, points and bytes of one over short axes.
_SECTOR_ROWS, _SECTOR_POINTS, _SECTOR_TILE = 64, 12288, 49152
# How much more a tile may move that is loaded in few steps.
_LITTLE = 1.05


def auto_schedule(nest: Nest, target: Target, sizes: Mapping[str, int] | None = None) -> Schedule:
    """The first of `candidates`. `sizes`: those known let it fit tiles to axes and choose the widest vectors."""
    return next(candidates(nest, target, sizes))


def auto_tiles(nest: Nest, target: Target, sizes: Mapping[str, int] | None = None) -> tuple[Schedule, ...]:
    return (auto_schedule(nest, target, sizes),)


def expected_share(nest: Nest, schedule: Schedule, target: Target, sizes: Mapping[str, int]) -> float:
    """The share of a copy's rate that `tile_cost` gives a schedule: 1 where everything moves in whole sectors and long
    rows. It ranks tiles by the bytes they move; how long anything takes is not in it."""
    chooser = _Chooser(nest, target, dict(sizes))
    loads = [a for t, a in chooser.transposed().items() if schedule.stage_of(t) is not None]
    if not loads:
        return 1.0
    tile = {a: n for a, n in schedule.tile if n > 1}
    extents = {a.name: chooser.extent(a.name) or 1 for a in nest.axes}
    orders = (chooser.known_axes(loads[0]), chooser.known_axes(chooser.output))
    points = prod(tile.values())
    ideal = 2 * (1 + SMALL)
    margin = chooser.rows.margin(tile) if Hint.SECTORS in dict(schedule.hints).values() else 0
    return min(1.0, ideal / tile_cost(tile, extents, orders, chooser.size(loads[0]), points, margin))


def candidates(nest: Nest, target: Target, sizes: Mapping[str, int] | None = None) -> Iterator[Schedule]:
    """Schedules worth considering, best first."""
    if not nest.axes:
        yield Schedule("auto")
        return
    chooser = _Chooser(nest, target, dict(sizes or {}))
    yield from chooser.staged()
    yield chooser.direct()


class _Chooser(Choosing):
    @property
    def output(self) -> Access:
        return self.nest.stores[0].access

    @cached_property
    def rows(self) -> SharedRows:
        row = output_row(self.nest, self.tensor(self.output))
        return SharedRows(row, self.extent, lambda tile: self.width(self._along_row(), tile))

    @property
    def row(self) -> str:
        """The axis along which the output is written."""
        return contiguous_axis(self.nest, self.output) or memory_order(self.nest, self.output)[0]

    def width(self, accesses: Sequence[Access], tile: Mapping[str, int], tail: bool = False) -> int:
        """The widest vector that all `accesses` can have along one run of the tile, in the order of the first of them.

        Known sizes must allow it, unknown ones are taken to. `tail`: the end of a row may be done element by element.
        """
        if not accesses or any(
            a.checked or isinstance(self.nest.pointer(a.pointer).dtype, Struct) for a in accesses
        ):
            return 1
        order = [(a, tile[a]) for a in memory_order(self.nest, accesses[0]) if tile.get(a, 1) > 1]
        whole = {a for a, n in order if self.nest.axis(a).extent.constant == n}
        most = _VECTOR_BYTES // min(_VECTOR_BYTES, max(self.size(a) for a in accesses))
        return widest(most, lambda width: self._fits(accesses, order, whole, width, tail))

    def _fits(
        self,
        accesses: Sequence[Access],
        order: Sequence[tuple[str, int]],
        whole: set[str],
        width: int,
        tail: bool,
    ) -> bool:
        run = shortest_run(order, whole, width) if order else None
        if run is None or run.points % width:
            return False
        last, points = run.axes[-1]
        values = [] if tail and run.single else [self.nest.axis(last).extent * (run.points // points)]
        for access in accesses:
            step = step_along(self.nest, access, run)
            if step is None or step.step != 1:
                return False
            values += step.divisible
        return self.divides(width, values)

    # Tiles

    def pack(self, tile: dict[str, int], order: Sequence[str], points: int) -> None:
        """Add axes of `order` to `tile`, whole ones while they fit and a part of the next, up to about `points`."""
        for axis in order:
            extent, have = self.extent(axis), tile.get(axis, 1)
            if extent is None:
                return
            total = prod(tile.values())
            if total // have * extent <= points * 5 // 4:
                tile[axis] = max(1, extent)
                continue
            tile[axis] = max(have, aligned(even(extent, max(1, points * have // total)), extent))
            return

    # Straight from input to output

    def direct(self) -> Schedule:
        """Every thread reads what it writes; neighbouring threads write neighbouring memory."""
        accesses = [s.access for s in self.nest.stores]
        accesses += [
            a for a in self.nest.load_accesses() if a.checked or self.row in memory_order(self.nest, a)
        ]
        most = _VECTOR_BYTES // min(_VECTOR_BYTES, max(self.size(a) for a in accesses))
        tile = self._run_of_output(_THREADS * most * 2)
        follow = [a for a in accesses if a.checked or contiguous_axis(self.nest, a) == self.row]
        # All of one width: a narrower access would be made several times, each at a stride.
        width = self.width(follow, tile, tail=True) if self.output in follow else 1
        strided = {self.tensor(a) for a in accesses if a not in follow}
        if strided:
            # Neighbouring lanes read at a stride in any case. Where the elements between are read too (members of a
            # struct), two lanes per thread hide latency; elsewhere they would fetch sectors twice.
            several = all(sum(self.tensor(a) == t for a in accesses) > 1 for t in strided)
            width = min(width, 2 if several else 1)
        steps = 1 if strided and width > 1 else 2 if width > 1 else 4
        tile = self._run_of_output(_THREADS * width * steps)
        return self._schedule(tile, {self.tensor(a): width for a in follow}, ())

    def _run_of_output(self, points: int) -> dict[str, int]:
        extent = self.extent(self.row)
        if extent is None:
            return {self.row: points if len(self.nest.axes) == 1 else points // 2}
        if extent >= points:
            return {self.row: points}
        tile: dict[str, int] = {}
        self.pack(tile, memory_order(self.nest, self.output), points)
        return tile

    # Through shared memory

    def staged(self) -> Iterator[Schedule]:
        """Inputs that run across the output's rows are read in their own order into shared memory."""
        loads = self.transposed()
        if not loads:
            return
        first = next(iter(loads.values()))
        fast = contiguous_axis(self.nest, first)
        assert fast is not None
        loads = {t: a for t, a in loads.items() if contiguous_axis(self.nest, a) == fast}
        largest = max(self.size(a) for a in (self.output, *loads.values()))
        for tile in self._tiles(fast, first, self._side(largest, self._packed(fast))):
            if tile.get(fast, 1) < 2 or tile.get(self.row, 1) < 2:
                continue
            stores = self._along_row()
            out = self.width(stores, tile)
            load = min(self.width([a], tile) for a in loads.values())
            if tile.get(self.row, 1) % out or tile[fast] % load:
                out = min(out, _GATHERED)
            widths = {self.tensor(a): out for a in stores} | dict.fromkeys(loads, load)
            chosen = self._schedule(tile, widths, tuple(loads), split=out == load == 1)
            if self._writes_sectors(tile, dict.fromkeys(loads.values(), load)):
                chosen = replace(chosen, hints=((self.tensor(self.output), Hint.SECTORS),))
            yield chosen

    def _writes_sectors(self, tile: Mapping[str, int], loads: Mapping[Access, int]) -> bool:
        """Whether rows of the output in this tile, where they are written in single elements, should begin and end at
        sectors. `loads`: elements per access of what is staged."""
        run = self.rows.within(tile)
        if run is None:
            return False
        along = [axes_of_vectors(self.nest, access, tile, width) for access, width in loads.items()]
        if frozenset().union(*along) & dict(run.axes).keys():
            return False
        if any(self.extent(a.name) is None for a in self.nest.axes):
            return spare(run) > 0  # for the variant without vectors
        return self.rows.margin(tile) > 0 and self._go_round(tile)

    def _in_sectors(self, fast: str, side: int) -> dict[str, int] | None:
        """The tile of single elements whose rows of the output begin and end at sectors, if there is one."""
        rows = _SECTOR_ROWS if side == self._whole_side() else side
        extents = {a: self.extent(a) or 1 for a in (fast, self.row)}
        tile = {fast: _share(extents[fast], rows), self.row: _share(extents[self.row], side)}
        return tile if self._go_round(tile) and self.rows.margin(tile) else None

    def _whole_side(self) -> int:
        """The side of a tile of single elements where there are blocks enough."""
        return min(_PACKED_SIDE, _ROW_BYTES // self.size(self.output))

    def _go_round(self, tile: Mapping[str, int]) -> bool:
        """Whether there are enough blocks for every multiprocessor."""
        blocks = prod(-(-(self.extent(a.name) or 1) // tile.get(a.name, 1)) for a in self.nest.axes)
        return blocks >= _BLOCKS_PER_SM * (self.target.sm_count or 1)

    def _packed(self, fast: str) -> bool:
        """Whether a side of the tile is a short axis, which it then holds whole."""
        return any((self.extent(a) or SHORT + 1) <= SHORT for a in (fast, self.row))

    def _along_row(self) -> list[Access]:
        """The stores along the row that the first output is written in; none if that has no neighbours side by side."""
        if contiguous_axis(self.nest, self.output) != self.row:
            return []
        return [s.access for s in self.nest.stores if contiguous_axis(self.nest, s.access) == self.row]

    def _side(self, largest: int, packed: bool) -> int:
        """The side of a square tile for elements of `largest` bytes; smaller while blocks are too few to go round, or
        would not fit a multiprocessor three at a time."""
        side, extents = _ROW_BYTES // largest, [self.extent(a.name) for a in self.nest.axes]
        target = self.target
        room = target.shared_bytes_default if None in extents else target.shared_bytes_opt_in // 3
        while side * side * largest > room:
            side //= 2
        points = prod(e for e in extents if e is not None)
        blocks = _PACKED_BLOCKS_PER_SM if packed else _BLOCKS_PER_SM
        enough = blocks * (self.target.sm_count or 1)
        while (
            None not in extents
            and side * side * largest >= 4 * _LEAST_TILE_BYTES
            and points < enough * side * side
        ):
            side //= 2
        return side

    def _tiles(self, fast: str, load: Access, side: int) -> Iterator[dict[str, int]]:
        """Tiles for a load along `fast` and a store along the output's row, the cheapest first."""
        extents = {a.name: self.extent(a.name) for a in self.nest.axes}
        if extents[fast] is None or extents[self.row] is None:
            yield {
                a: side if e is None else even(e, side) for a, e in extents.items() if a in (fast, self.row)
            }
            return
        orders = (self.known_axes(load), self.known_axes(self.output))
        sizes = {a: max(1, e) for a, e in extents.items() if e is not None}
        square = {a: min(e, side) for a, e in sizes.items() if a in (fast, self.row)}
        widths = (self.width([load], square), self.width(self._along_row(), square))
        if 1 in widths or min(sizes[fast], sizes[self.row]) < 2 * side:
            side = min(side, _PACKED_SIDE)
        points, most = side * side, side * side * 5 // 4
        if widths[1] == 1 and not self._packed(fast):
            whole = self._in_sectors(fast, side)
            if whole is not None:
                yield whole
        if self.size(load) == 4 and max(widths) == 1:
            points = most = side * side * 2

        def cost(tile: Mapping[str, int]) -> float:
            return tile_cost(tile, sizes, orders, self.size(load), points, self.rows.margin(tile))

        larger = min(_SECTOR_POINTS, _SECTOR_TILE // self.size(load)) * side * side // self._whole_side() ** 2
        tiles = packed_tiles(sizes, orders, most, larger)
        ranked = sorted((t for t in tiles if prod(t.values()) <= most or self.rows.margin(t)), key=cost)
        refined = sorted(
            ranked[:_REFINED], key=lambda tile: self._refined_cost(tile, sizes, orders, load, side)
        )
        yield from self._in_few_steps(ranked, refined[0], sizes, orders, load)
        yield from refined

    def _in_few_steps(
        self,
        ranked: Sequence[dict[str, int]],
        best: Mapping[str, int],
        sizes: Mapping[str, int],
        orders: tuple[tuple[str, ...], ...],
        load: Access,
    ) -> Iterator[dict[str, int]]:
        """Instead of a large tile of single elements over a short axis, one that is loaded in few steps, if there is
        one that moves little more."""
        most = PREDICATED_STEPS * PREDICATED_THREADS * (2 if self.rows.margin(best) else 1)
        axes = (contiguous_axis(self.nest, load), self.row)
        if not any(a is not None and sizes[a] <= SHORT for a in axes) or prod(best.values()) <= most:
            return
        if max(self.width([load], best), self.width(self._along_row(), best)) > 1:
            return

        def cost(tile: Mapping[str, int]) -> float:
            return tile_cost(tile, sizes, orders, self.size(load), prod(tile.values()))

        few = min((t for t in ranked if prod(t.values()) <= most), key=cost, default=None)
        if (
            few is not None
            and cost(few) <= _LITTLE * cost(best)
            and (self.rows.margin(few) or not self.rows.margin(best))
        ):
            yield few

    def known_axes(self, access: Access) -> tuple[str, ...]:
        """Axes in memory's order, up to the first of unknown extent."""
        order = memory_order(self.nest, access)
        unknown = next((n for n, a in enumerate(order) if self.extent(a) is None), len(order))
        return order[:unknown]

    def _refined_cost(
        self,
        tile: Mapping[str, int],
        sizes: Mapping[str, int],
        orders: tuple[tuple[str, ...], ...],
        load: Access,
        side: int,
    ) -> float:
        """The cost of a tile, counting also the instructions that vectors save."""
        widest = _VECTOR_BYTES // min(_VECTOR_BYTES, self.size(load))
        single = sum(self.width([a], tile) < widest for a in (load, self.output))
        return tile_cost(tile, sizes, orders, self.size(load), side * side) * (1 + 0.1 * single)

    def transposed(self) -> dict[str, Access]:
        """Loads, by tensor, that run across the output's rows and can be staged."""
        conditional = _conditional_tensors(self.nest)
        by_tensor: dict[str, set[Access]] = {}
        for access in self.nest.load_accesses():
            by_tensor.setdefault(self.tensor(access), set()).add(access)
        found: dict[str, Access] = {}
        for tensor, accesses in by_tensor.items():
            access = next(iter(accesses))
            element = self.nest.kernel.tensor(tensor).element
            if len(accesses) > 1 or access.checked or isinstance(element, Struct) or tensor in conditional:
                continue
            fast = contiguous_axis(self.nest, access)
            linear = all(coefficient(access, a.name) is not None for a in self.nest.axes)
            across = fast is not None and fast != self.row and self.row in memory_order(self.nest, access)
            if across and linear:
                found[tensor] = access
        return found

    def _schedule(
        self, tile: Mapping[str, int], widths: Mapping[str, int], stages: Sequence[str], split: bool = False
    ) -> Schedule:
        named = tuple((a.name, tile[a.name]) for a in self.nest.axes if a.name in tile)
        return Schedule(
            "auto",
            bounds=Bounds.SPLIT if split else Bounds.GUARD,
            tile=tuple((a, n) for a, n in named if n > 1) or named[:1],
            stages=tuple(Stage(t, Placement.BEST) for t in stages),
            vector_of=tuple((t, w) for t, w in widths.items() if w > 1),
        )


def _share(extent: int, most: int) -> int:
    """About `most` of an axis: where few tiles share it, as much for each."""
    return most if extent >= 8 * most else -(-extent // max(1, round(extent / most)))


def _conditional_tensors(nest: Nest) -> set[str]:
    """Tensors read only where a condition holds."""
    found: set[str] = set()
    for store in nest.stores:
        for node in walk(store.value):
            if isinstance(node, Where):
                for side in (node.then, node.otherwise):
                    found |= {v.tensor for v in walk(side) if isinstance(v, Read)}
    return found
