"""The rows of an output that lie in one tile, and the sectors of memory that they are written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilegen.algebra import ONE
from tilegen.core.nest.affine import Run, coefficient, memory_order, shortest_run
from tilegen.core.nest.model import Access, Nest
from tilegen.dtypes import DType, Struct

SECTOR_BYTES = 32


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
