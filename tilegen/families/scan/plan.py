"""`plans_of_scan`: a nest with scans and a complete schedule become plans, for many rows and for few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilegen.algebra import ONE, ZERO, Expr, ceil_div, expr, product, substitute
from tilegen.core.nest.affine import Run, coefficient, depends_on, step_along
from tilegen.core.nest.combine import ARGUMENTS, accumulator_type
from tilegen.core.nest.model import Access, Nest
from tilegen.core.nest.reductions import level_of, reductions_of
from tilegen.core.nest.values import unconditional
from tilegen.core.plan.conditions import Followed, aligned, index_conditions, require_along
from tilegen.core.plan.model import AtLeast, AtMost, Condition, Multiple, Plan, Scratch, TileAxis
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import members_of_several_types
from tilegen.dtypes import U32, U64, Struct
from tilegen.families.scan.candidates import follows, most_shared_rows
from tilegen.families.scan.nest import fast_axis, is_inclusive, memory_address
from tilegen.families.scan.phase import CHUNK, Carrier, Carry, Loaded, Scan, Spread
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import Read, Reduce
from tilegen.target import Target


def plans_of_scan(
    nest: Nest, schedule: Schedule, target: Target, name: str, plain: str, last: bool
) -> Iterator[Plan]:
    """Plans in order of preference: for few rows and for any, with vectors and without; the last one has no
    conditions. Raises SpecError: TG0604, TG0607."""
    require_vectors(nest, schedule)
    for scalar in (False, True):
        used = _single(schedule, nest) if scalar else schedule
        suffix = "_scalar" if scalar else ""
        walk = _plan(nest, used, target, name + suffix, Carry.WALK)
        few = _few_rows(nest, used, walk, target)
        if few is not None:
            long = _plan(nest, used, target, f"{name}_long{suffix}", Carry.LOOK_BACK)
            yield replace(long, conditions=(*long.conditions, *few))
        yield walk
        if not walk.conditions:
            return


def _single(schedule: Schedule, nest: Nest) -> Schedule:
    """The same tile, one element at a time."""
    spread = spread_of(nest, schedule)
    if spread.across is None:
        return replace(schedule, vector=1, vector_of=())
    tile = tuple((a, spread.beside if a == spread.across else t) for a, t in schedule.tile)
    return replace(schedule, vector=1, vector_of=(), tile=tile)


def require_vectors(nest: Nest, schedule: Schedule) -> None:
    """Every width that is written must be possible for some access and sizes."""
    fast = spread_of(nest, schedule).run.fast
    followed: list[Followed] = []
    for access in nest.accesses():
        pointer = nest.pointer(access.pointer)
        width, struct = schedule.width_of(pointer.tensor), isinstance(pointer.dtype, Struct)
        if width > 1 and struct and schedule.writes("vector"):
            kept = [p.tensor for p in nest.pointers if not isinstance(p.dtype, Struct)]
            raise SpecError([members_of_several_types(nest, access, schedule, kept)])
        run, address = Run(((fast, width),), width), memory_address(access, fast, width)
        followed.append((access, fast, None if access.checked else step_along(nest, access, run, address)))
    require_along(nest, schedule, followed, fast)


def spread_of(nest: Nest, schedule: Schedule) -> Spread:
    axis, fast = nest.reduced[0], fast_axis(nest)
    threads, tile = dict(schedule.threads), dict(schedule.tile)
    across = fast if fast != axis and fast in threads else None
    along = threads[axis]
    beside = next((n for a, n in threads.items() if a != axis), 1)
    width = max([schedule.vector, *(w for _, w in schedule.vector_of)])
    unit = along if across is not None else along * width
    return Spread(axis, across, along, beside, max(1, tile[axis] // unit), width)


def _few_rows(nest: Nest, schedule: Schedule, walk: Plan, target: Target) -> tuple[Condition, ...] | None:
    """When rows are so few and long that blocks must share them; None where they never do."""
    (phase,) = walk.phases
    assert isinstance(phase, Scan)
    spread = phase.spread
    if spread.warps < 2 or (spread.across is None and spread.beside > 1):
        return None
    rows, length = _lines(nest, walk.tiles), nest.axis(spread.axis).extent
    most, least = most_shared_rows(target), 2 * spread.tile
    if (rows.constant or 0) > most or (length.constant is not None and length.constant < least):
        return None
    found: list[Condition] = []
    if rows.constant is None:
        found.append(AtMost(rows, most))
    if length.constant is None:
        found.append(AtLeast(length, least))
    return tuple(found)


def _plan(nest: Nest, schedule: Schedule, target: Target, name: str, carry: Carry) -> Plan:
    spread = spread_of(nest, schedule)
    carriers = carriers_of(nest)
    tiles = tuple(_tiles(nest, schedule, spread, carry))
    row = next((a for a, n in schedule.threads if a != spread.axis and n > 1 and a != spread.across), None)
    widths = tuple(
        (s.access, w) for s in nest.stores for w in [_width(nest, s.access, schedule, spread)] if w > 1
    )
    phase = Scan(
        spread=spread,
        carry=carry,
        carriers=carriers,
        loads=_loads(nest, schedule, spread, carriers),
        stores=nest.stores,
        store_first=_store_first(nest),
        widths=widths,
        row=row,
        guards=tuple(t.axis for t in tiles if t.ragged),
        tail=True,
    )
    conditions = _conditions(nest, phase)
    extent = nest.axis(spread.run.fast).extent
    whole = extent.constant is not None and extent.constant % spread.width == 0
    phase = replace(
        phase, tail=spread.width > 1 and not whole and not _implied(extent, spread.width, conditions)
    )
    return Plan(
        name=name,
        nest=nest,
        schedule=schedule,
        target=target,
        tiles=tiles,
        raster=_raster(nest, spread, tiles),
        threads=spread.threads,
        phases=(phase,),
        conditions=conditions,
        fits_i32=index_conditions(nest),
        scratch=tuple(_scratch(nest, phase, tiles)) if carry is Carry.LOOK_BACK else (),
    )


def _tiles(nest: Nest, schedule: Schedule, spread: Spread, carry: Carry) -> Iterator[TileAxis]:
    for axis in nest.axes:
        tile, known = schedule.tile_of(axis.name), axis.extent.constant
        ragged = tile > 1 and not (known is not None and known % tile == 0)
        count = ceil_div(axis.extent, tile)
        if axis.name == spread.axis and carry is Carry.WALK:
            count = ONE
        yield TileAxis(axis.name, axis.extent, tile, count, ragged)


def _raster(nest: Nest, spread: Spread, tiles: tuple[TileAxis, ...]) -> tuple[str, ...]:
    """A tile waits for those before it only, so it comes after them: all tiles of a row, then those of the next one;
    across, where rows lie side by side in memory, one tile of all of them, then the next."""
    single = {t.axis for t in tiles if t.count.constant == 1}
    names = [a.name for a in nest.parallel]
    names = [*names, spread.axis] if spread.across is None else [spread.axis, *names]
    return tuple(a for a in names if a not in single)


# What is carried


def carriers_of(nest: Nest) -> tuple[Carrier, ...]:
    """The running totals of a nest, those that others use first."""
    groups: dict[tuple[object, ...], list[Reduce]] = {}
    for node in reductions_of(s.value for s in nest.stores):
        key = (node.op, node.body, accumulator_type(node), _first(nest, node))
        groups.setdefault(key, []).append(node)
    taken: dict[str, int] = {}
    named = {value: name for name, value in nest.lets}
    extent = nest.axis(nest.reduced[0]).extent
    found = []
    for nodes in sorted(groups.values(), key=lambda g: level_of(g[0])):
        node = nodes[0]
        inclusive = next((n for n in nodes if is_inclusive(n)), None)
        exclusive = next((n for n in nodes if not is_inclusive(n)), None)
        name = named.get(node, node.op.value)
        taken[name] = taken.get(name, 0) + 1
        found.append(
            Carrier(
                name=name if taken[name] == 1 else f"{name}{taken[name]}",
                op=node.op,
                term=node.body,
                dtype=accumulator_type(node),
                first=_first(nest, node),
                # The last term of an exclusive scan is in no total, and may lie outside its tensor.
                limit=extent if inclusive is not None else extent - 1,
                level=level_of(node),
                inclusive=inclusive,
                exclusive=exclusive,
            )
        )
    return tuple(found)


def _first(nest: Nest, node: Reduce) -> Expr:
    """The first point of the walk that has a term."""
    (axis,) = node.axes
    return _along_walk(nest, axis.lower, axis.upper)


def _store_first(nest: Nest) -> Expr:
    """The first point of the walk at which something is stored."""
    name = nest.reduced[0]
    axis = next(a for a in nest.stores[0].assign.axes if a.name == name)
    return _along_walk(nest, axis.lower, axis.upper)


def _along_walk(nest: Nest, lower: Expr, upper: Expr) -> Expr:
    """Where a range of the spec starts, counted along the walk."""
    name = nest.reduced[0]
    value = nest.axis_values[name]
    if mirrored(nest):
        return substitute(value, {name: ZERO}) + 1 - substitute(upper, nest.constants)
    return substitute(lower, nest.constants) - substitute(value, {name: ZERO})


def mirrored(nest: Nest) -> bool:
    """Whether rows are walked from their end."""
    name = nest.reduced[0]
    return (
        substitute(nest.axis_values[name], {name: ONE})
        == substitute(nest.axis_values[name], {name: ZERO}) - 1
    )


# What is read


def _loads(
    nest: Nest, schedule: Schedule, spread: Spread, carriers: tuple[Carrier, ...]
) -> tuple[Loaded, ...]:
    """Reads that happen at every point of a known range and change along the row: they are all under way before the
    first of them is used."""
    extent = nest.axis(spread.axis).extent
    ranges: dict[Read, set[tuple[Expr, Expr]]] = {}
    roots = [(c.term, (c.first, c.limit)) for c in carriers]
    roots += [(s.value, (_store_first(nest), extent)) for s in nest.stores]
    for value, limits in roots:
        for node in unconditional(value):
            if isinstance(node, Read):
                ranges.setdefault(node, set()).add(limits)
    found = []
    for read, several in ranges.items():
        access, whole = nest.loads[read], (ZERO, extent)
        limits = next(iter(several)) if len(several) == 1 else whole
        moves = not access.checked and depends_on(access.address, spread.axis)
        if limits in several and moves and access.member is None:
            found.append(Loaded(read, access, _width(nest, access, schedule, spread), *limits))
    return tuple(found)


def _width(nest: Nest, access: Access, schedule: Schedule, spread: Spread) -> int:
    """Elements of `access` that move at once; 1 where neighbours do not lie side by side."""
    width = schedule.width_of(nest.pointer(access.pointer).tensor)
    if width == 1 or access.member is not None or not follows(nest, access, spread.run.fast, width):
        return 1
    return width


def is_mirrored(access: Access, axis: str) -> bool:
    """Whether an access comes to the end of an item first, in the order of the walk."""
    return coefficient(access, axis) == -ONE


# Conditions and scratch memory


def _conditions(nest: Nest, phase: Scan) -> tuple[Condition, ...]:
    fast = phase.spread.run.fast
    wide = [(a, w) for a, w in phase.widths] + [(p.access, p.width) for p in phase.loads if p.width > 1]
    return aligned(
        nest, tuple((a, replace(phase.spread.run, width=w), memory_address(a, fast, w)) for a, w in wide)
    )


def _implied(extent: Expr, width: int, conditions: tuple[Condition, ...]) -> bool:
    return Multiple(extent, width) in conditions


def wide_values(carrier: Carrier) -> bool:
    """Whether a total does not fit beside a flag into one word of 64 bits."""
    return carrier.op in ARGUMENTS or carrier.dtype.size > 4


def words_per_value(carrier: Carrier) -> int:
    """64-bit words of a total: a value, with its index for arg-reductions."""
    return 2 if carrier.op in ARGUMENTS else 1


# Bytes of a line of the L2. Flags of tiles lie in a line each: where they share one, all that look and all that publish
# queue for it (docs/decisions/0015-scans.md has the times).
LINE = 128


def flags_apart(spread: Spread, carrier: Carrier) -> int:
    """Words from the flag of a tile to that of the next. Down columns a warp looks at a line of neighbours at once."""
    if spread.across is not None:
        return 1
    return LINE // (U32.size if wide_values(carrier) else U64.size)


def _lines(nest: Nest, tiles: tuple[TileAxis, ...]) -> Expr:
    """Rows, or groups of columns, each of which is scanned by itself."""
    return product(tile.count for tile in tiles if tile.axis not in nest.reduced)


def _scratch(nest: Nest, phase: Scan, tiles: tuple[TileAxis, ...]) -> Iterator[Scratch]:
    """A ticket, and per carrier the states of tiles and chunks; totals beside them that do not fit into a word.

    How many there are of a row: `places` of render/scan_blocks.py."""
    spread, extent = phase.spread, nest.axis(phase.spread.axis).extent
    if spread.across is None:
        # A word for each tile of a chunk, and one for the chunk.
        places = _lines(nest, tiles) * ceil_div(extent, spread.tile * CHUNK) * (CHUNK + 1)
    else:
        places = _lines(nest, tiles) * ceil_div(extent, spread.tile) * (spread.beside * spread.width)
    yield Scratch("ticket", U32, expr(1), zeroed=True)
    for carrier in phase.carriers:
        flags = places * flags_apart(spread, carrier)
        if wide_values(carrier):
            yield Scratch(f"{carrier.name}_flags", U32, flags, zeroed=True)
            # The total of the place itself, and the one up to its end.
            yield Scratch(
                f"{carrier.name}_totals", U64, places * (2 * words_per_value(carrier)), zeroed=False
            )
        else:
            yield Scratch(f"{carrier.name}_states", U64, flags, zeroed=True)
