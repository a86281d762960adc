"""Tiles whose rows of an output begin and end at sectors: two blocks that each write a part of one cost more than the
bytes (docs/decisions/0017-whole-sectors.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilegen.algebra import ONE, ZERO, Expr, expr, substitute, sym
from tilegen.core.nest.affine import Run
from tilegen.core.nest.model import Nest
from tilegen.core.plan.model import TID, Limit, Loop, Sweep, TileAxis, linear_item, step, thread_digit
from tilegen.core.plan.problems import Refusal, no_whole_sectors
from tilegen.core.plan.sector_row import SectorRow
from tilegen.core.schedule.choosing import SECTOR_BYTES, WARP
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import without
from tilegen.families.tiles.output_rows import axes_of_vectors, output_row
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import Hint

# Accesses of a thread that are under way together: more of them take registers that keep other blocks away.
_UNDER_WAY = 4
# Bytes of a tile for each thread.
_THREAD_BYTES = 32
_MOST_WARPS = 16


def sector_row(nest: Nest, schedule: Schedule, tiles: tuple[TileAxis, ...]) -> SectorRow | None:
    """The row that `hint … sectors` asks for, None without one. Raises TG0622 where there is none in the tile."""
    tensor = next((t for t, h in schedule.hints if h is Hint.SECTORS), None)
    if tensor is None:
        return None
    row = output_row(nest, tensor)
    run = row if isinstance(row, str) else row.within({t.axis: t.tile for t in tiles})
    refusal = Refusal(run) if isinstance(run, str) else _refused(nest, schedule, tiles, run)
    if refusal is not None:
        raise SpecError([no_whole_sectors(tensor, refusal, schedule.span("hint", tensor))])
    assert isinstance(run, Run)
    access = nest.stores[0].access
    return SectorRow(run, access.pointer, access.address)


def _refused(nest: Nest, schedule: Schedule, tiles: tuple[TileAxis, ...], row: Run) -> Refusal | None:
    if schedule.threads:
        return Refusal("`threads` says which thread writes which element", "leave `threads` out")
    if not schedule.stages:
        return Refusal("nothing is staged", "stage what is read across them")
    if not any(t.tile > 1 for t in tiles if t.axis not in dict(row.axes)):
        return Refusal("the tile has one row of it")
    for access in nest.load_accesses():
        tensor, tile = nest.pointer(access.pointer).tensor, {t.axis: t.tile for t in tiles}
        width = schedule.width_of(tensor) if schedule.stage_of(tensor) is not None else 1
        shared = sorted(axes_of_vectors(nest, access, tile, width) & dict(row.axes).keys())
        if shared:
            fact = f"`{tensor}` is staged in vectors along `{shared[0]}`, along which the rows go"
            return Refusal(fact, without(schedule, tensor, ()))
    return None


def with_margin(tiles: tuple[TileAxis, ...], row: SectorRow) -> tuple[TileAxis, ...]:
    """The tiles of a plan in which every tile along the row may reach into the next one."""
    margin = (0, row.reach)
    return tuple(replace(t, ragged=True, margin=margin) if t.axis == row.along else t for t in tiles)


def along_rows(
    box: Sequence[tuple[str, int]],
    length: int,
    threads: int,
    sectors: SectorRow | None = None,
    reaching: SectorRow | None = None,
) -> Sweep:
    """A warp takes a row of `box` at a time, the first `length` axes of it ((axis, points) from the fastest on), its
    lanes go along. `sectors`: those axes are this row, from its sector on. `reaching`: the box reaches over the end of
    this row, and needs no points behind its margin."""
    row, rest = box[:length], box[length:]
    warps = threads // WARP
    fast, first = row[0][0], rest[0][0]
    points, rows = prod(n for _, n in row), prod(n for _, n in rest)
    steps = -(-(points + (sectors.margin if sectors is not None else 0)) // WARP)
    trips = -(-rows // warps)
    place = thread_digit(fast) + (step(fast) * WARP if steps > 1 else expr(0))
    number = thread_digit(first) + (step(first) * warps if trips > 1 else expr(0))
    linear: list[tuple[str, Expr]] = []
    if len(rest) > 1:
        linear.append((first, number))
        number = linear_item(first)
    if sectors is not None or len(row) > 1:
        linear.append((fast, place if sectors is None else place + sectors.late))
        place = linear_item(fast)
    if sectors is not None:
        coordinates = sectors.run.coordinates(place)
        limits = [Limit(place, sectors.end, fast, sure=max(0, points - sectors.margin) // WARP)]
    else:
        coordinates = Run(tuple(row), 1).coordinates(place)
        limits = [Limit(place, expr(points), fast, sure=points // WARP)] if points % WARP else []
    coordinates |= Run(tuple(rest), 1).coordinates(number)
    if rows % warps:
        limits.append(
            Limit(sym(f"@tile_{first}") if len(rest) == 1 else number, expr(rows), first, sure=rows // warps)
        )
    loops = [Loop(first, trips, max(1, _UNDER_WAY // steps))] if trips > 1 else []
    loops += [Loop(fast, steps)] if steps > 1 else []
    sweep = Sweep(
        digits=((fast, TID % WARP), (first, TID // WARP)),
        loops=tuple(loops),
        coordinates=tuple(coordinates.items()),
        limits=tuple(limits),
        linear=tuple(linear),
        sectors=sectors,
        by_rows=True,
    )
    if reaching is None:
        return sweep
    if row[-1][0] != reaching.along or reaching.reach != 1 or not _reaches(sweep, reaching):
        return within_margin(sweep, reaching)
    # The first `margin` elements of the next point of `along` are needed too.
    held = points // row[-1][1] * reaching.axes[-1][1]
    before = reaching.place(_tile_coordinates(reaching) | {reaching.along: ZERO})
    limit = Limit(place, expr(held), fast, held // WARP, (before, reaching.margin, points))
    return replace(sweep, limits=(limit, *(x for x in limits if x.value != place)))


def within_margin(sweep: Sweep, row: SectorRow) -> Sweep:
    """A sweep over a box that reaches over the end of the row, without the points behind the margin."""
    if not _reaches(sweep, row):
        return sweep
    limit = Limit(row.place(_tile_coordinates(row)), expr(row.needed), row.fast)
    return replace(sweep, limits=(*sweep.limits, limit))


def _reaches(sweep: Sweep, row: SectorRow) -> bool:
    """Whether the sweep has all axes of the row, and points behind the margin."""
    every = {a for a, _ in row.axes} <= dict(sweep.coordinates).keys()
    return every and row.points + row.reach * row.inner > row.needed


def _tile_coordinates(row: SectorRow) -> dict[str, Expr]:
    return {a: sym(f"@tile_{a}") for a, _ in row.axes}


def threads_for(row: SectorRow, points: int, others: Sequence[int]) -> int:
    """Threads of a block for a tile of `points`: about `_THREAD_BYTES` each, in a number of warps that leaves few
    without a row in the last round. `others`: rows of what else is walked row by row."""
    rows = (points // row.points, *others)
    most = max(1, min(_MOST_WARPS, points * SECTOR_BYTES // row.run.width // (WARP * _THREAD_BYTES)))

    def busy(warps: int) -> float:
        return prod(n / (warps * -(-n // warps)) for n in rows)

    return WARP * max(range(-(-most // 2), most + 1), key=lambda warps: (busy(warps), warps))


def joined(nest: Nest, address: Expr, order: Sequence[tuple[str, int]]) -> int:
    """How many axes of a box, from the fastest on, lie end to end in memory: all but the last of them whole."""
    count = 0
    points = ONE
    for axis, tile in order:
        if substitute(address, {axis: expr(1)}) - substitute(address, {axis: expr(0)}) != points:
            break
        count += 1
        extent = nest.axis(axis).extent
        points = points * extent
        if extent.constant != tile:
            break
    return count
