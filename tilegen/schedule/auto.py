"""`auto`: the schedule tilegen chooses itself, from the strides of the accesses, the element sizes and what is known of
the sizes. `candidates` lists what is worth considering, best first; nothing here is keyed by a shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilegen.algebra import Expr, evaluate, symbols
from tilegen.dtypes import Struct
from tilegen.nest.affine import coefficient, contiguous_axis, memory_order, shortest_run, step_along
from tilegen.nest.model import Access, Nest
from tilegen.schedule.model import Placement, Schedule, Stage
from tilegen.spec import Bounds, Kernel, Read, Where, walk
from tilegen.target import Target

_VECTOR_BYTES = 16
_THREADS = 256
# The longest axis that is worth a kernel of its own: known extents make index arithmetic and short rows cheap.
_SHORT = 128
_SECTOR = 32
# A smaller tile leaves threads of a vector transpose without work.
_LEAST_TILE_BYTES = 4096
# Blocks that keep every multiprocessor busy, with others to take over while some wait.
_BLOCKS_PER_SM = 4
# Elements per store that are gathered one by one from a tile of several short axes.
_GATHERED = 4
# How many axes a tile may cover, and how many tiles are looked at closely.
_PACKED_AXES = 5
_REFINED = 8
# Bytes of a row of a square tile, on both sides: bytes in rows of 128 reached 0.91 of a copy, in rows of 256 0.97.
_ROW_BYTES = 256
# The most that a tile over short axes holds is a square of this side.
_PACKED_SIDE = 128
# What a tile of few points costs in instructions and barriers.
_SMALL = 0.05


def auto_schedule(nest: Nest, target: Target, sizes: Mapping[str, int] | None = None) -> Schedule:
    """The first of `candidates`. `sizes`: those known let it fit tiles to axes and choose the widest vectors."""
    return next(candidates(nest, target, sizes))


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
    ideal = 2 * (1 + _SMALL)
    return min(1.0, ideal / tile_cost(tile, extents, orders, chooser.size(loads[0]), points))


def short_sizes(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, int]:
    """Run-time sizes small enough to be constants of the code made for these sizes."""
    return {
        s.name: sizes[s.name]
        for s in kernel.sizes
        if s.default is None and 0 < sizes.get(s.name, 0) <= _SHORT
    }


def candidates(nest: Nest, target: Target, sizes: Mapping[str, int] | None = None) -> Iterator[Schedule]:
    """Schedules worth considering, best first."""
    if not nest.axes:
        yield Schedule("auto", tile=(), thread_count=1)
        return
    chooser = _Chooser(nest, target, dict(sizes or {}))
    yield from chooser.staged()
    yield chooser.direct()


@dataclass(frozen=True, slots=True)
class _Chooser:
    nest: Nest
    target: Target
    sizes: Mapping[str, int]

    @property
    def output(self) -> Access:
        return self.nest.stores[0].access

    @property
    def row(self) -> str:
        """The axis along which the output is written."""
        return contiguous_axis(self.nest, self.output) or memory_order(self.nest, self.output)[0]

    # What is known

    def known(self, value: Expr) -> int | None:
        return int(evaluate(value, self.sizes)) if symbols(value) <= self.sizes.keys() else None

    def extent(self, axis: str) -> int | None:
        return self.known(self.nest.axis(axis).extent)

    def size(self, access: Access) -> int:
        """Bytes of what the access moves."""
        return self.nest.pointer(access.pointer).dtype.size

    def tensor(self, access: Access) -> str:
        return self.nest.pointer(access.pointer).tensor

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
        width = _VECTOR_BYTES // min(_VECTOR_BYTES, max(self.size(a) for a in accesses))
        while width > 1 and not self._fits(accesses, order, whole, width, tail):
            width //= 2
        return width

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
        total = self.known(self.nest.axis(last).extent)
        values = [] if total is None or (tail and run.single) else [total * run.points // points]
        for access in accesses:
            step = step_along(self.nest, access, run)
            if step is None or step.step != 1:
                return False
            values += [d for d in map(self.known, step.divisible) if d is not None]
        return all(v % width == 0 for v in values)

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
            tile[axis] = max(have, _aligned(even(extent, max(1, points * have // total)), extent))
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
        for tile in self._tiles(fast, first, self._side(largest)):
            if tile.get(fast, 1) < 2 or tile.get(self.row, 1) < 2:
                continue
            stores = self._along_row()
            out = self.width(stores, tile)
            load = min(self.width([a], tile) for a in loads.values())
            if tile.get(self.row, 1) % out or tile[fast] % load:
                out = min(out, _GATHERED)
            widths = {self.tensor(a): out for a in stores} | dict.fromkeys(loads, load)
            yield self._schedule(tile, widths, tuple(loads), split=out == load == 1)

    def _along_row(self) -> list[Access]:
        """The stores along the row that the first output is written in; none if that has no neighbours side by side."""
        if contiguous_axis(self.nest, self.output) != self.row:
            return []
        return [s.access for s in self.nest.stores if contiguous_axis(self.nest, s.access) == self.row]

    def _side(self, largest: int) -> int:
        """The side of a square tile for elements of `largest` bytes; smaller while blocks are too few to go round, or
        would not fit a multiprocessor three at a time."""
        side, extents = _ROW_BYTES // largest, [self.extent(a.name) for a in self.nest.axes]
        target = self.target
        room = target.shared_bytes_default if None in extents else target.shared_bytes_opt_in // 3
        while side * side * largest > room:
            side //= 2
        points = prod(e for e in extents if e is not None)
        enough = _BLOCKS_PER_SM * (self.target.sm_count or 1)
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
        single = 1 in (self.width([load], square), self.width(self._along_row(), square))
        if single or min(sizes[fast], sizes[self.row]) < 2 * side:
            side = min(side, _PACKED_SIDE)
        ranked = sorted(
            packed_tiles(sizes, orders, side * side * 5 // 4),
            key=lambda tile: tile_cost(tile, sizes, orders, self.size(load), side * side),
        )
        largest = {a: min(e, side) for a, e in sizes.items() if a in (fast, self.row)}
        if (
            self.size(load) == 4
            and max(self.width([load], largest), self.width(self._along_row(), largest)) == 1
        ):
            ranked = sorted(
                packed_tiles(sizes, orders, side * side * 2),
                key=lambda tile: tile_cost(tile, sizes, orders, self.size(load), side * side * 2),
            )
        yield from sorted(
            ranked[:_REFINED], key=lambda tile: self._refined_cost(tile, sizes, orders, load, side)
        )

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
        return Schedule(
            "auto",
            bounds=Bounds.SPLIT if split else Bounds.GUARD,
            tile=tuple((a.name, tile[a.name]) for a in self.nest.axes if a.name in tile),
            stages=tuple(Stage(t, Placement.BEST, 0) for t in stages),
            vector_of=tuple((t, w) for t, w in widths.items() if w > 1),
        )


def packed_tiles(
    extents: Mapping[str, int], orders: Sequence[Sequence[str]], points: int
) -> list[dict[str, int]]:
    """Tiles of at most `points` points over the fastest axes of each order (first: the load's, last: the store's)."""
    axes: dict[str, None] = {}
    for order in orders:
        run = 1
        for axis in order:
            axes[axis] = None
            run *= extents[axis]
            if run >= points:
                break
    tiles: list[dict[str, int]] = [{}]
    for axis in list(axes)[:_PACKED_AXES]:
        extent = extents[axis]
        choices = {_aligned(even(extent, 2**k), extent) for k in range(points.bit_length())}
        choices |= {1, min(extent, points)} | {
            n for n in range(2, min(extent, _SHORT) + 1) if extent % n == 0
        }
        tiles = [t | {axis: n} for t in tiles for n in sorted(choices) if prod(t.values()) * n <= points]
    return tiles


def tile_cost(
    tile: Mapping[str, int],
    extents: Mapping[str, int],
    orders: Sequence[Sequence[str]],
    size: int,
    points: int,
) -> float:
    """Bytes that move per byte asked for, more for short rows and small tiles.

    A row of a tile that starts anywhere costs the sectors at its ends; tiles that hang over the edge do nothing there;
    rows shorter than a warp's 128 bytes and tiles of few points cost instructions and barriers.
    """
    cost = 0.0
    for order in orders:
        row, pitch = 1, 1
        for axis in order:
            row *= tile.get(axis, 1)
            pitch *= extents[axis]
            if tile.get(axis, 1) < extents[axis]:
                break
        row_bytes = row * size
        ends = 0 if row_bytes % _SECTOR == 0 and pitch * size % _SECTOR == 0 else _SECTOR
        weight = 1 if order is orders[0] else 1.25  # sectors written in part cost more than those read
        cost += weight * ends / row_bytes + 1 + 0.05 * max(0.0, 128 / row_bytes - 1) + 1e-3 * 128 / row_bytes
    overhang = prod(-(-extents[a] // n) * n / max(1, extents[a]) for a, n in tile.items())
    return cost * overhang * (1 + _SMALL * points / prod(tile.values()))


def _aligned(tile: int, extent: int) -> int:
    """A part of a long axis that holds whole vectors and, where it can, whole warps."""
    unit = next((u for u in (32, 16, 8, 4, 2) if tile >= 2 * u and extent > tile), 1)
    return tile - tile % unit


def even(extent: int, most: int) -> int:
    """A tile of about `most` that leaves no thin rest: few tiles share an axis evenly, many need not."""
    if extent >= 4 * most:
        return most
    count = max(1, round(extent / most))
    if -(-extent // count) > most * 5 // 4:
        count += 1
    return max(1, -(-extent // count))


def _conditional_tensors(nest: Nest) -> set[str]:
    """Tensors read only where a condition holds."""
    found: set[str] = set()
    for store in nest.stores:
        for node in walk(store.value):
            if isinstance(node, Where):
                for side in (node.then, node.otherwise):
                    found |= {v.tensor for v in walk(side) if isinstance(v, Read)}
    return found
