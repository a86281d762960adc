"""`plan_map`: a nest and a complete schedule become one `Plan`. The steps are called in order by `plan_map`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from tilegen.algebra import ceil_div
from tilegen.core.nest.affine import Run, contiguous_axis, memory_order, shortest_run, step_along
from tilegen.core.nest.model import Access, Nest
from tilegen.core.plan.conditions import index_conditions, needs_tail, vector_conditions
from tilegen.core.plan.model import Barrier, Buffer, Compute, Load, Phase, Plan, Sweep, TileAxis
from tilegen.core.plan.problems import (
    cut_vectors,
    endless_tile,
    not_along,
    nothing_to_unroll,
    too_much_shared,
)
from tilegen.core.plan.sector_row import SectorRow
from tilegen.core.plan.sweep import distribute, distribute_as_written
from tilegen.core.schedule.model import Placement, Schedule
from tilegen.families.tiles.placement import place_rows
from tilegen.families.tiles.sectors import (
    along_rows,
    joined,
    sector_row,
    threads_for,
    with_margin,
    within_margin,
)
from tilegen.families.tiles.shapes import PREDICATED_STEPS, PREDICATED_THREADS
from tilegen.families.tiles.stage import StageBox, box_of, why_not_staged
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Bounds
from tilegen.target import Target


def plan_map(nest: Nest, schedule: Schedule, target: Target, name: str) -> Plan:
    """Lower one schedule. Raises SpecError (TG0607 … TG0614) at the directive that the machine or the nest forbids."""
    tiles = tile_axes(nest, schedule)
    require_finite_tile(tiles, schedule)
    run = vector_run(nest, schedule, tiles)
    row = sector_row(nest, schedule, tiles) if run is None else None
    if row is not None:
        tiles = with_margin(tiles, row)
    boxes = tuple(box_of(nest, schedule, tiles, s, run, row) for s in schedule.stages)
    order = compute_order(nest, tiles)
    leading = [a for a, _ in run.axes] if run is not None else []
    order = (*leading, *(a for a in order if a not in leading))
    compute_box = [(a, n) for a in order for n in [_tile(tiles, a)] if n > 1]
    threads = thread_count(nest, schedule, compute_box, run, boxes, row)
    if schedule.threads:
        sweep = distribute_as_written(compute_box, schedule.threads, run)
    elif row is not None:
        rest = [(a, n) for a, n in compute_box if a not in dict(row.axes)]
        sweep = along_rows([*row.axes, *rest], len(row.axes), threads, row)
    else:
        sweep = distribute(compute_box, threads, run)
    sweep = unrolled(sweep, schedule)
    loads = tuple(_load(nest, box, threads, tiles, sweep) for box in boxes)
    compute = Compute(
        sweep=sweep,
        stores=nest.stores,
        widths=access_widths(nest, schedule, run),
        staged=tuple((p, load.buffer) for box, load in zip(boxes, loads, strict=True) for p in box.pointers),
        shared_widths=tuple((p, box.read_width) for box in boxes for p in box.pointers),
        guards=tuple(t.axis for t in tiles if t.ragged),
    )
    if run is not None:
        least = vector_conditions(nest, replace(compute, tail=True), loads)
        compute = replace(compute, tail=needs_tail(nest, run, least))
    phases: tuple[Phase, ...] = (*loads, Barrier(), compute) if loads else (compute,)
    plan = Plan(
        name=name,
        nest=nest,
        schedule=schedule,
        target=target,
        tiles=tiles,
        raster=raster_order(nest, schedule, tiles, order),
        group=schedule.group,
        threads=threads,
        buffers=tuple(load.buffer for load in loads),
        phases=phases,
        conditions=vector_conditions(nest, compute, loads),
        fits_i32=index_conditions(nest),
    )
    require_shared_memory(plan)
    return plan


def plans_of_tiles(
    nest: Nest, schedule: Schedule, target: Target, name: str, plain: str, last: bool
) -> Iterator[Plan]:
    """The kernel of one schedule and, where it is the `last` to be chosen from and relies on alignment, one that takes
    single elements of the same tile; a pad or swizzle made for vectors gives way to one made for elements."""
    plan = plan_map(nest, schedule, target, name)
    yield plan
    if last and plan.conditions:
        stages = tuple(
            s if s.placement is Placement.PLAIN else replace(s, placement=Placement.BEST)
            for s in schedule.stages
        )
        single = replace(schedule, vector=1, vector_of=(), stages=stages)
        yield plan_map(nest, single, target, f"{name}_scalar")


# Bytes of a staged tile in one thread's registers on their way: more leaves too few warps to take over.
_THREAD_BYTES = 128
# Threads of a block, the best first, of which one is taken that divides the work.
_COUNTS = (256, 320, 192, 384, 224, 160, 128, 96, 64, 32)
# More points than this in a block are serial work of minutes for a thread.
MOST_POINTS = 1 << 20


def require_finite_tile(tiles: tuple[TileAxis, ...], schedule: Schedule) -> None:
    points = prod(t.tile for t in tiles)
    if points > MOST_POINTS:
        raise SpecError([endless_tile(tiles, schedule, points, MOST_POINTS)])


def tile_axes(nest: Nest, schedule: Schedule) -> tuple[TileAxis, ...]:
    """Every axis with its tile; a tile never exceeds an extent that is known."""
    tiles = []
    for axis in nest.axes:
        tile, known = schedule.tile_of(axis.name), axis.extent.constant
        if known is not None and known > 0:
            tile = min(tile, known)
        whole = known is not None and known % tile == 0
        ragged = tile > 1 and not whole and schedule.bounds is not Bounds.EXACT
        tiles.append(TileAxis(axis.name, axis.extent, tile, ceil_div(axis.extent, tile), ragged))
    return tuple(tiles)


def _tile(tiles: tuple[TileAxis, ...], axis: str) -> int:
    return next(t.tile for t in tiles if t.axis == axis)


def compute_order(nest: Nest, tiles: tuple[TileAxis, ...]) -> tuple[str, ...]:
    """Axes from the fastest on, in the order of the first output: neighbouring threads write neighbouring memory."""
    order = memory_order(nest, nest.stores[0].access)
    return order + tuple(t.axis for t in reversed(tiles) if t.axis not in order)


def vector_run(nest: Nest, schedule: Schedule, tiles: tuple[TileAxis, ...]) -> Run | None:
    """What one item of the computation covers: as many neighbours as the widest access, along the first access that
    can be a vector (outputs before inputs).

    Raises TG0607 where no access of a tensor that should be accessed in vectors lies along it, TG0608 for a tile that does
    not hold whole vectors.
    """
    direct = _direct_accesses(nest, schedule)
    wide = [(a, schedule.width_of(nest.pointer(a.pointer).tensor)) for a in direct]
    wide = [(a, w) for a, w in wide if w > 1]
    if not wide:
        return None
    width = max(w for _, w in wide)
    run: Run | None = None
    for access, _ in wide:
        start = contiguous_axis(nest, access)
        if start is not None and not access.checked:
            order = [
                (a, _tile(tiles, a)) for a in memory_order(nest, access) if a == start or _tile(tiles, a) > 1
            ]
            whole = {t.axis for t in tiles if t.extent.constant == t.tile}
            run = shortest_run(order, whole, width)
            require_whole_vectors(tiles, schedule, run)
            break
    following = {nest.pointer(a.pointer).tensor for a, own in wide if _follows(nest, a, run, own)}
    wrong = [a for a, _ in wide if nest.pointer(a.pointer).tensor not in following]
    if wrong:
        raise SpecError([_not_along(nest, schedule, run, wrong, [a for a, _ in wide])])
    return run


def _follows(nest: Nest, access: Access, run: Run | None, width: int) -> bool:
    return (
        run is not None
        and not access.checked
        and step_along(nest, access, replace(run, width=width)) is not None
    )


def _not_along(
    nest: Nest, schedule: Schedule, run: Run | None, wrong: list[Access], wide: list[Access]
) -> Diagnostic:
    tensor = nest.pointer(wrong[0].pointer).tensor
    refused = {nest.pointer(a.pointer).tensor for a in wrong}
    asked = dict.fromkeys(nest.pointer(a.pointer).tensor for a in wide)
    asked |= dict.fromkeys(s.tensor for s in schedule.stages if schedule.width_of(s.tensor) > 1)
    return not_along(
        nest,
        wrong[0],
        run.fast if run is not None else None,
        schedule,
        stageable=why_not_staged(nest, tensor) is None,
        others=[t for t in asked if t not in refused],
    )


def _direct_accesses(nest: Nest, schedule: Schedule) -> tuple[Access, ...]:
    """Accesses of global memory while computing: all stores, and loads of tensors that are not staged."""
    loads = [a for a in nest.load_accesses() if schedule.stage_of(nest.pointer(a.pointer).tensor) is None]
    return (*(s.access for s in nest.stores), *loads)


def require_whole_vectors(tiles: tuple[TileAxis, ...], schedule: Schedule, run: Run) -> None:
    if run.points % run.width == 0 and (run.single or not schedule.threads):
        return
    raise SpecError([cut_vectors(tiles, schedule, run)])


def access_widths(nest: Nest, schedule: Schedule, run: Run | None) -> tuple[tuple[Access, int], ...]:
    """Elements per instruction for each direct access that follows the run."""
    if run is None:
        return ()
    found: dict[Access, int] = {}
    for access in _direct_accesses(nest, schedule):
        width = schedule.width_of(nest.pointer(access.pointer).tensor)
        if width > 1 and not access.checked:
            step = step_along(nest, access, replace(run, width=width))
            if step is not None and step.step == 1:
                found[access] = width
    return tuple(found.items())


def thread_count(
    nest: Nest,
    schedule: Schedule,
    compute_box: Sequence[tuple[str, int]],
    run: Run | None,
    boxes: tuple[StageBox, ...],
    row: SectorRow | None,
) -> int:
    """Threads per block: as written, else the most up to 256 that leave every thread work in every phase; up to 512
    where a thread would hold more than `_THREAD_BYTES` of the tile."""
    if schedule.block_threads is not None:
        return schedule.block_threads
    points = prod(n for _, n in compute_box)
    if row is not None:
        lengths = [(box, _row_axes(nest, box, distribute(box.order, 256))) for box in boxes]
        return threads_for(row, points, [prod(n for _, n in box.order[k:]) for box, k in lengths if k])
    items = min([points // (run.width if run else 1), *(box.items for box in boxes)])
    if items <= 32:
        return max(1, items)
    few = -(-items // (PREDICATED_STEPS * 32)) * 32
    if 256 < few <= PREDICATED_THREADS and _walks_singly(compute_box, run, boxes):
        return few
    held = sum(prod(n for _, n in box.order) * box.dtype.size for box in boxes)
    for count in (*([512] if held > 256 * _THREAD_BYTES else []), *_COUNTS):
        if count <= items and items % count == 0:
            return count
    return min(256, items // 32 * 32)


def _walks_singly(
    compute_box: Sequence[tuple[str, int]], run: Run | None, boxes: tuple[StageBox, ...]
) -> bool:
    """Whether a staged tile is walked element by element, its axes not dividing among the threads."""
    if run is not None or not boxes or any(box.run is not None or box.across is not None for box in boxes):
        return False
    return any(distribute(box, 256).linear for box in (compute_box, *(b.order for b in boxes)))


def unrolled(sweep: Sweep, schedule: Schedule) -> Sweep:
    """Loops with the factors of `unroll`. Raises TG0609 for an axis along which a thread does not loop."""
    factors = dict(schedule.unroll)
    looping = {loop.axis for loop in sweep.loops}
    for axis in factors:
        if axis not in looping:
            raise SpecError([nothing_to_unroll(axis, looping, schedule)])
    return replace(sweep, loops=tuple(replace(p, unroll=factors.get(p.axis, p.unroll)) for p in sweep.loops))


def _load(nest: Nest, box: StageBox, threads: int, tiles: tuple[TileAxis, ...], compute: Sweep) -> Load:
    order = [(a, n // box.across[1] if box.across and a == box.across[0] else n) for a, n in box.order]
    sweep = distribute(order, threads, box.run)
    if compute.sectors is not None and box.run is None:
        length = _row_axes(nest, box, sweep)
        if length:
            sweep = along_rows(order, length, threads, reaching=compute.sectors)
        else:
            sweep = within_margin(sweep, compute.sectors)
    if box.across is not None:
        axis, count = box.across
        sweep = replace(
            sweep, coordinates=tuple((a, c * count if a == axis else c) for a, c in sweep.coordinates)
        )
    ragged = {t.axis for t in tiles if t.ragged}
    load = Load(
        buffer=Buffer(
            box.tensor,
            box.tensor,
            box.dtype,
            box.axes,
            pad=0,
            chunk=box.chunk,
            swizzle=None,
            sectors=box.sectors,
        ),
        access=box.access,
        sweep=sweep,
        width=box.width,
        across=box.across,
        guards=tuple(a for a, _ in box.order if a in ragged),
    )
    buffer = place_rows(load, compute, box, threads)
    plain = buffer.pad == 0 and buffer.swizzle is None and buffer.sectors is None
    flat = plain and (len(buffer.axes) > 2 or bool(sweep.linear))
    return replace(load, buffer=replace(buffer, flat=flat))


def _row_axes(nest: Nest, box: StageBox, sweep: Sweep) -> int:
    """How many axes of a box, from the fastest on, make a row that a warp takes; 0 where `sweep`, which gives threads
    their points, divides among them or the box is one row."""
    if box.run is not None or not sweep.linear or sweep.linear[0][0] != box.fast:
        return 0
    length = joined(nest, box.access.address, box.order)
    return length if length < len(box.order) else 0


def raster_order(
    nest: Nest, schedule: Schedule, tiles: tuple[TileAxis, ...], order: tuple[str, ...]
) -> tuple[str, ...]:
    """Axes from the slowest to the fastest in block order; neighbouring blocks write neighbouring memory by default."""
    wanted = schedule.raster or ()
    rest = [a for a in reversed(order) if a not in wanted]
    single = {t.axis for t in tiles if t.count.constant == 1}
    return tuple(a for a in (*rest, *wanted) if a not in single)


def require_shared_memory(plan: Plan) -> None:
    if plan.shared_bytes > plan.target.shared_bytes_opt_in:
        raise SpecError([too_much_shared(plan)])
