"""The body of a kernel whose blocks compute tiles: from block number to tile, shared memory, phases."""

from __future__ import annotations

from tilegen.core.plan.model import FIELD, Barrier, Buffer, Compute, Load, Phase
from tilegen.cuda import tree
from tilegen.cuda.blocks import block_tile, tile_counts
from tilegen.cuda.item import ItemBody
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import (
    BLOCK,
    BOOL,
    TRUE,
    Block,
    Body,
    Comment,
    Constant,
    Expression,
    Hole,
    Infix,
    Part,
    Scope,
    SharedArray,
    Skeleton,
    Statement,
    Variable,
    Words,
    add,
    all_of,
    binary,
    joined,
    number,
    optional,
    thread_number,
)
from tilegen.families.tiles.load import load_tile
from tilegen.lang.spec import Bounds


def body(scope: KernelScope) -> Body:
    plan = scope.plan
    tiled = [a for a, t in plan.schedule.tile if t > 1]
    return Body(
        extent=_extent(scope, tiled),
        constants=tuple(Constant(scope.tile_constant(a), plan.tile(a).tile) for a in tiled),
        shared=_shared(scope),
        setup=_setup(scope),
        phases=tuple(_phase(scope, p) for p in plan.phases),
    )


def _extent(scope: KernelScope, tiled: list[str]) -> Words:
    if not tiled:
        return ("one point",)
    sizes = " x ".join(str(scope.plan.tile(a).tile) for a in tiled)
    return f"a tile of {sizes} points (", *joined([scope.axis(a) for a in tiled], " x "), ")"


# From the block number to its tile


def _setup(scope: KernelScope) -> Block:
    plan = scope.plan
    found: list[Statement] = [thread_number(scope.thread), *tile_counts(scope)]
    for axis in (t.axis for t in plan.tiles if t.axis not in plan.raster):
        found.append(optional(scope.origin(axis), number(0)))
    found += block_tile(scope, BLOCK)
    if plan.schedule.bounds is Bounds.SPLIT:
        inside = [
            binary(
                Infix.LESS_EQUAL, add(scope.origin(t.axis), _reached(scope, t.axis)), scope.index(t.extent)
            )
            for t in plan.tiles
            if t.ragged
        ]
        found.append(optional(_interior(scope), all_of(inside) or TRUE))
    return tuple(found)


def _interior(scope: KernelScope) -> Variable:
    """Whether the whole tile is inside, for `bounds split`."""
    return scope.variable("@interior", "interior", BOOL)


def _reached(scope: KernelScope, axis: str) -> Expression:
    """Points along an axis that a tile reads."""
    tile, row = scope.tile_constant(axis), scope.plan.sectors
    return tile if row is None or axis != row.along else add(tile, row.reach)


# Shared memory


def _shared(scope: KernelScope) -> tuple[SharedArray, ...]:
    arrays, offset = [], 0
    for buffer in scope.plan.buffers:
        offset = -(-offset // 16) * 16
        place = offset if scope.plan.dynamic_shared else None
        arrays.append(
            SharedArray(
                scope.buffer(buffer), Comment(_buffer_words(scope, buffer)), aligned=True, offset=place
            )
        )
        offset += buffer.bytes
    return tuple(arrays)


def _buffer_words(scope: KernelScope, buffer: Buffer) -> Words:
    row = buffer.axes[-1][0]
    along: Words = ("its members",) if row == FIELD else (scope.axis(row),)
    if buffer.sectors is not None:
        along = joined([scope.axis(a) for a, _ in reversed(buffer.sectors.axes)], " and ")
    words: Words = ("The block's part of ", scope.tensor(buffer.name), ", rows along ", *along)
    if buffer.sectors is not None:
        words += (f" and {buffer.sectors.margin} elements beyond",)
    if buffer.swizzle is not None:
        piece = f"chunks of {buffer.chunk}" if buffer.chunk > 1 else "elements"
        return (
            *words,
            f"; the {piece} of a row are XOR-swizzled: accesses across rows meet different banks.",
        )
    if buffer.pad:
        count = f"{buffer.pad} elements" if buffer.pad > 1 else "one element"
        return (*words, f"; {count} of padding per row: accesses across rows meet different banks.")
    return (*words, ".")


# Phases


def _phase(scope: KernelScope, phase: Phase) -> Statement:
    split = scope.plan.schedule.bounds is Bounds.SPLIT
    match phase:
        case Barrier():
            return tree.Barrier()
        case Load():
            interior = load_tile(scope, phase, False) if split and phase.guards else None
            return _tile(scope, _load_words(scope, phase), load_tile(scope, phase, True), interior)
        case Compute():
            interior = _compute(scope, phase, False) if split and phase.guards else None
            return _tile(scope, _compute_words(scope, phase), _compute(scope, phase, True), interior)
        case _:
            raise AssertionError("a kernel of tiles loads and computes")


def _tile(scope: KernelScope, words: Words, everywhere: Block, interior: Block | None) -> Part:
    """A phase, written twice where tiles inside need no guards."""
    body: Statement = Scope(everywhere)
    if interior is not None:
        holes: dict[str, Hole] = {"interior": _interior(scope), "inside": interior, "edges": everywhere}
        body = Skeleton("tiles.split", holes)
    return Part((Comment(words),), (body,))


def _compute(scope: KernelScope, compute: Compute, guarded: bool) -> Block:
    """Evaluate every store; `guarded`: with the conditions of ragged edges."""
    item = ItemBody(scope, compute)
    conditions = item.sweep.limits() + [scope.guard(a) for a in compute.guards if guarded]
    return item.sweep.loops(conditions, item.block())


def _load_words(scope: KernelScope, load: Load) -> Words:
    fast = load.sweep.coordinates[0][0]
    along = "its members" if fast == FIELD else scope.axis(fast)
    words: Words = ("Load the tile of ", scope.tensor(load.buffer.tensor), ", coalesced along ", along)
    if load.width > 1:
        words += (f", {load.width} elements at a time",)
    if load.sweep.by_rows:
        words += ("; a warp takes a row",)
    if load.across is not None:
        words += (f"; blocks of {load.across[1]} x {load.width} are transposed in registers",)
    return (*words, ".")


def _compute_words(scope: KernelScope, compute: Compute) -> Words:
    outputs = dict.fromkeys(scope.pointer(s.access.pointer) for s in compute.stores)
    words: Words = ("Write ", *joined(list(outputs), ", "))
    if compute.sweep.sectors is not None:
        rest = "from the first sector of 32 bytes that begins in the tile to the first that begins behind it"
        return (*words, f", a warp per row: {rest}, so that no two blocks write parts of one.")
    if compute.sweep.digits:
        words += (", neighbouring threads along ", scope.axis(compute.sweep.digits[0][0]))
    if compute.sweep.run is not None:
        words += (f", {compute.sweep.run.width} elements per thread at a time",)
    return (*words, ".")
