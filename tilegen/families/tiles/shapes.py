"""Tiles over several axes, and what they cost in bytes that move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tilegen.core.schedule.known_sizes import SHORT
from tilegen.families.rows.output_rows import SECTOR_BYTES

# What a tile of few points costs in instructions and barriers.
SMALL = 0.05
# Steps of a walk through a ragged tile have a condition each. Their loads are on their way together as
# far as each has a predicate register to itself, 6 of the 7; blocks larger than that leave too few on a multiprocessor.
PREDICATED_STEPS, PREDICATED_THREADS = 6, 384
# What lanes cost that have no element, where a warp takes a row.
_WARP, _IDLE = 32, 0.1
# How many axes a tile may cover.
_PACKED_AXES = 5


def packed_tiles(
    extents: Mapping[str, int], orders: Sequence[Sequence[str]], points: int, larger: int = 0
) -> list[dict[str, int]]:
    """Tiles of at most `points` points, or `larger`, over the axes of each order (first: the load's, last: the store's)
    that so many points take, the fastest ones."""
    axes: dict[str, None] = {}
    for order in orders:
        run = 1
        for axis in order:
            axes[axis] = None
            run *= extents[axis]
            if run >= points:
                break
    points = max(points, larger)
    tiles: list[dict[str, int]] = [{}]
    for axis in list(axes)[:_PACKED_AXES]:
        extent = extents[axis]
        choices = {aligned(even(extent, 2**k), extent) for k in range(points.bit_length())}
        choices |= {1, min(extent, 3), min(extent, points)}
        choices |= {n for n in range(2, min(extent, SHORT) + 1) if extent % n == 0}
        tiles = [t | {axis: n} for t in tiles for n in sorted(choices) if prod(t.values()) * n <= points]
    return tiles


def tile_cost(
    tile: Mapping[str, int],
    extents: Mapping[str, int],
    orders: Sequence[Sequence[str]],
    size: int,
    points: int,
    margin: int = 0,
) -> float:
    """Bytes that move per byte asked for, more for short rows and small tiles.

    A row of a tile that starts anywhere costs the sectors at its ends; tiles that hang over the edge do nothing there;
    rows shorter than a warp's 128 bytes and tiles of few points cost instructions and barriers. `margin`: what is
    written begins and ends at sectors, for so many elements more that are read per row.
    """
    cost = 0.0
    again = 1 + margin / _row_and_pitch(tile, extents, orders[-1])[0]
    for order in orders:
        row, pitch = _row_and_pitch(tile, extents, order)
        row_bytes, read = row * size, order is orders[0]
        whole = row_bytes % SECTOR_BYTES == 0 and pitch * size % SECTOR_BYTES == 0
        ends = 0 if whole or (margin and not read) else SECTOR_BYTES
        weight = 1 if read else 1.25  # sectors written in part cost more than those read
        moved = (weight * ends / row_bytes + 1) * (again if read else 1)
        cost += moved + 0.05 * max(0.0, 128 / row_bytes - 1) + 1e-3 * 128 / row_bytes
        if margin:
            cost += _IDLE * (-(-row // _WARP) * _WARP / row - 1)
    overhang = prod(-(-extents[a] // n) * n / max(1, extents[a]) for a, n in tile.items())
    return cost * overhang * (1 + SMALL * points / prod(tile.values()))


def _row_and_pitch(
    tile: Mapping[str, int], extents: Mapping[str, int], order: Sequence[str]
) -> tuple[int, int]:
    """Elements that lie end to end in a tile, and from one such row to the next."""
    row, pitch = 1, 1
    for axis in order:
        row *= tile.get(axis, 1)
        pitch *= extents[axis]
        if tile.get(axis, 1) < extents[axis]:
            break
    return row, pitch


def aligned(tile: int, extent: int) -> int:
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
