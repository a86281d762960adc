"""From the number of a block to the tile it computes."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import (
    BLOCK,
    INDEX,
    UNSIGNED,
    Binary,
    Cast,
    Conditional,
    Declare,
    Expression,
    Infix,
    add,
    binary,
    less,
    multiply,
    number,
    optional,
)


def tile_counts(scope: KernelScope) -> list[Declare]:
    """The number of tiles along each axis that blocks are counted along."""
    found = []
    for axis in scope.plan.raster:
        tile = scope.plan.tile(axis)
        extent = scope.index(tile.extent)
        if tile.tile > 1:
            constant = scope.tile_constant(axis)
            up = binary(Infix.SUBTRACT, add(extent, constant), 1)
            extent = Binary(Infix.DIVIDE, up, constant)
        known = tile.count.constant
        found.append(optional(scope.tiles(axis), Cast(UNSIGNED, extent) if known is None else number(known)))
    return found


def block_tile(scope: KernelScope, block: Expression) -> list[Declare]:
    """The first coordinates of the tile of `block`: digits of its number, or bands of tiles of the slower axis."""
    plan = scope.plan
    if plan.group > 1 and len(plan.raster) >= 2:
        return _grouped(scope, plan.raster)
    return digits_of(scope, plan.raster, block)


def digits_of(scope: KernelScope, raster: Sequence[str], block: Expression) -> list[Declare]:
    """The tile numbers of `raster` (slowest first) as digits of `block`."""
    found = []
    for axis in reversed(raster):
        last = axis == raster[0]
        digit = block if last else Binary(Infix.REMAINDER, block, scope.tiles(axis))
        found.append(first_of_tile(scope, axis, digit))
        block = Binary(Infix.DIVIDE, block, scope.tiles(axis))
    return found


def first_of_tile(scope: KernelScope, axis: str, digit: Expression) -> Declare:
    """The first coordinate along an axis of the tile with this number."""
    place: Expression = Cast(INDEX, digit)
    if scope.plan.tile(axis).tile > 1:
        place = multiply(place, scope.tile_constant(axis))
    return optional(scope.origin(axis), place)


def _grouped(scope: KernelScope, raster: tuple[str, ...]) -> list[Declare]:
    """Bands of `group` tiles of the slower axis are walked together, so that blocks in flight share both inputs."""
    slow, fast, group = raster[-2], raster[-1], number(scope.plan.group)
    slow_tiles, fast_tiles = scope.tiles(slow), scope.tiles(fast)
    band, first, rows, inside = (
        scope.variable(f"@{k}", k, UNSIGNED) for k in ("band", "first", "rows", "inside")
    )
    plane = Binary(Infix.MULTIPLY, slow_tiles, fast_tiles)
    block = BLOCK if len(raster) == 2 else Binary(Infix.REMAINDER, BLOCK, plane)
    left = Binary(Infix.SUBTRACT, slow_tiles, first)
    in_band = Binary(Infix.MULTIPLY, group, fast_tiles)
    return [
        optional(band, Binary(Infix.DIVIDE, block, in_band)),
        optional(first, multiply(band, group)),
        optional(rows, Conditional(less(left, group), left, group)),
        optional(inside, Binary(Infix.REMAINDER, block, in_band)),
        first_of_tile(scope, slow, add(first, Binary(Infix.REMAINDER, inside, rows))),
        first_of_tile(scope, fast, Binary(Infix.DIVIDE, inside, rows)),
        *digits_of(scope, raster[:-2], Binary(Infix.DIVIDE, BLOCK, plane)),
    ]
