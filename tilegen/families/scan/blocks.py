"""From block and thread numbers to the rows, tiles and columns of a kernel with scans."""

from __future__ import annotations

from functools import reduce

from tilegen.cuda.blocks import first_of_tile, tile_counts
from tilegen.cuda.tree import (
    BLOCK,
    INDEX,
    INT,
    UNSIGNED,
    Binary,
    Block,
    Cast,
    Comment,
    Declare,
    Expression,
    Infix,
    SharedArray,
    Skeleton,
    Statement,
    Storage,
    Variable,
    add,
    binary,
    multiply,
    number,
    optional,
    thread_number,
)
from tilegen.families.scan.names import ScanScope
from tilegen.families.scan.phase import CHUNK


def setup(names: ScanScope) -> Block:
    scope, spread, plan = names.scope, names.spread, names.scope.plan
    found: list[Statement] = [thread_number(names.thread)]
    lanes = spread.lanes if spread.across is None else spread.beside
    found.append(optional(names.lane, binary(Infix.REMAINDER, names.thread, lanes)))
    inside: Expression = names.thread
    if spread.across is None and spread.beside > 1:
        inside = binary(Infix.REMAINDER, names.thread, spread.along)
        found.append(optional(names.side, binary(Infix.DIVIDE, names.thread, spread.along)))
    found.append(optional(names.part, binary(Infix.DIVIDE, inside, lanes)))
    block: Expression = BLOCK
    if names.look_back:
        found.append(_ticket(names))
        block = names.block
    found += tile_counts(scope)
    if names.look_back:
        found += _places(names)
    first = plan.raster[0] if plan.raster else None
    for axis in reversed(plan.raster):
        digit = block if axis == first else Binary(Infix.REMAINDER, block, scope.tiles(axis))
        if axis == spread.axis:
            found.append(optional(names.start, multiply(Cast(INDEX, names.number), names.tile)))
        else:
            found.append(first_of_tile(scope, axis, digit))
        block = Binary(Infix.DIVIDE, block, scope.tiles(axis))
    for tile in plan.tiles:
        if tile.axis not in plan.raster and tile.axis != spread.axis:
            found.append(optional(scope.origin(tile.axis), number(0)))
    return (*found, *_beside(names))


def _ticket(names: ScanScope) -> Skeleton:
    """Blocks take tiles in the order in which they start."""
    scope = names.scope
    place = Variable("ticket_of_block", UNSIGNED, storage=Storage.SHARED)
    words = "Blocks take tiles in the order in which they start: those before are under way or done."
    names.shared.append(SharedArray(place, Comment((words,))))
    holes = {"place": place, "ticket": scope.scratch("ticket"), "block": names.block}
    return Skeleton("scan.ticket", holes, declares=(names.block,))


def _places(names: ScanScope) -> list[Declare]:
    """Which tile of which row a block has, and where the states of the row lie."""
    scope, spread, block = names.scope, names.spread, names.block
    count = scope.tiles(spread.axis)
    others: list[Expression] = [scope.tiles(a) for a in scope.plan.raster if a != spread.axis]
    tile: Expression = block
    if spread.across is None:
        row: Expression = Binary(Infix.DIVIDE, block, count)
        if others:
            tile = Binary(Infix.REMAINDER, block, count)
        chunks = binary(Infix.DIVIDE, add(count, CHUNK - 1), CHUNK)
        places = binary(Infix.MULTIPLY, chunks, CHUNK + 1)
    else:
        if others:
            product = reduce(lambda a, b: Binary(Infix.MULTIPLY, a, b), others)
            tile, row = Binary(Infix.DIVIDE, block, product), Binary(Infix.REMAINDER, block, product)
        else:
            row = number(0)
        places = binary(Infix.MULTIPLY, count, spread.beside * spread.width)
    return [
        optional(names.number, Cast(INT, tile)),
        optional(names.row, row),
        optional(names.places, places),
    ]


def _beside(names: ScanScope) -> list[Declare]:
    """The row, or the columns, of a thread."""
    scope, spread = names.scope, names.spread
    inside: Expression
    if spread.across is not None:
        inside, axis = multiply(names.lane, spread.width), spread.across
    elif names.phase.row is not None:
        inside, axis = names.side, names.phase.row
    else:
        return []
    return [optional(scope.axis(axis), add(scope.origin(axis), inside))]
