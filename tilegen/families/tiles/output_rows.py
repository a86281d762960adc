"""The rows of an output that lie in one tile, the sectors of memory that they are written in, and whether rows that
several tiles share should begin and end at sectors (decision 17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from tilegen.algebra import ONE
from tilegen.core.nest.affine import Run, coefficient, memory_order, shortest_run
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.choosing import SECTOR_BYTES, WARP
from tilegen.dtypes import DType, Struct

# Which part of a row may be read twice for that, along one axis and along several.
_MARGIN, _MARGIN_PACKED = 4, 8


@dataclass(frozen=True, slots=True)
class OutputRow:
    """What of an output lies end to end in memory. `axes`: (axis, extent) from the fastest on, None for an extent that
    only a launch knows, which ends it. `unit`: elements of a sector."""

    axes: tuple[tuple[str, int | None], ...]
    unit: int

    def within(self, tile: Mapping[str, int]) -> Run | str:
        """The part in a tile of these points (1 where an axis is not named), its width the elements of a sector; or why
        no two tiles share such a row."""
        held: list[tuple[str, int]] = []
        for axis, extent in self.axes:
            held.append((axis, tile.get(axis, 1)))
            if held[-1][1] != extent:
                return Run(tuple(held), self.unit) if held[-1][1] > 1 else _SHORT
        return (
            f"the tile holds all of `{held[-1][0]}`, so no row of it goes on in another" if held else _SHORT
        )


_SHORT = "the tile holds no row of it of more than one element, or one that ends with the tile"


def output_row(nest: Nest, tensor: str) -> OutputRow | str:
    """The rows of output `tensor`, or why it has none that could begin and end at sectors."""
    accesses = {s.access for s in nest.stores if nest.pointer(s.access.pointer).tensor == tensor}
    if len(accesses) != 1 or len(nest.stores) != 1:
        return "the kernel writes more than this one tensor, or its members one by one"
    (access,) = accesses
    dtype = nest.pointer(access.pointer).dtype
    if access.member is not None or not isinstance(dtype, DType) or SECTOR_BYTES % dtype.size:
        return "its elements are structs, and a sector may hold a part of one"
    if any(other.pointer == access.pointer for other in nest.load_accesses()):
        return "it is read too, and beyond the tile other blocks write it meanwhile"
    axes: list[tuple[str, int | None]] = []
    points = ONE
    for axis in memory_order(nest, access):
        extent = nest.axis(axis).extent
        if extent == ONE:
            continue
        if coefficient(access, axis) != points:
            break
        axes.append((axis, extent.constant))
        points = points * extent
        if extent.constant is None:
            break
    return OutputRow(tuple(axes), SECTOR_BYTES // dtype.size)


def axes_of_vectors(nest: Nest, access: Access, tile: Mapping[str, int], width: int) -> frozenset[str]:
    """Axes along which vectors of `width` elements of a tensor go that is read from a tile of these points."""
    order = [(a, tile[a]) for a in memory_order(nest, access) if tile.get(a, 1) > 1]
    if width == 1 or not order:
        return frozenset()
    if isinstance(nest.kernel.tensor(nest.pointer(access.pointer).tensor).element, Struct):
        return frozenset(a for a, _ in order)  # from member to member, and on
    whole = {a for a, n in order if nest.axis(a).extent.constant == n}
    return frozenset(a for a, _ in shortest_run(order, whole, width).axes)


@dataclass(frozen=True, slots=True)
class SharedRows:
    """`row`: of the output, or why it has none. `extent`: of an axis, as far as it is known; `width`: elements per
    access of the output in a tile."""

    row: OutputRow | str
    extent: Callable[[str], int | None]
    width: Callable[[Mapping[str, int]], int]
    _widths: dict[tuple[tuple[str, int], ...], int] = field(default_factory=dict, compare=False)

    def within(self, tile: Mapping[str, int]) -> Run | None:
        """The rows in a tile, where there are several and they go on in the next tile."""
        run = self.row if isinstance(self.row, str) else self.row.within(tile)
        if isinstance(run, str) or run.points == prod(tile.values()):
            return None
        along, held = run.axes[-1]
        extent = self.extent(along)
        return run if extent is None or held < extent else None

    def margin(self, tile: Mapping[str, int]) -> int:
        """Elements that a row needs beyond the tile to begin and end at sectors; 0 where tiles do not share its
        sectors, it is written in vectors, or it is too short."""
        run = self.within(tile)
        if run is None:
            return 0
        if run.axes not in self._widths:
            self._widths[run.axes] = self.width(tile)
        return 0 if self._widths[run.axes] > 1 else spare(run)


def spare(run: Run) -> int:
    """The margin of a row, 0 where it is too short for one, or for a warp."""
    most = run.points // (_MARGIN if run.single else _MARGIN_PACKED) if run.points >= WARP else 0
    return run.width - 1 if run.width - 1 <= most else 0
