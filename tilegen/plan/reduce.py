"""`plan_reduce`: a nest with reductions and a schedule with `Rows` become one `Plan`."""

from __future__ import annotations

from dataclasses import replace

from tilegen.algebra import ONE, Expr, ceil_div, expr, minimum, sym
from tilegen.dtypes import I64, U32, Struct
from tilegen.nest.affine import Run, memory_order, step_along
from tilegen.nest.model import Access, Nest
from tilegen.plan.combine import ARGUMENTS, accumulator_type
from tilegen.plan.conditions import aligned_access, index_conditions, multiple
from tilegen.plan.model import (
    PARTS,
    ROWS,
    AtMost,
    Combine,
    Condition,
    Phase,
    Plan,
    PointStores,
    Scratch,
    Sweep,
    TileAxis,
    Walk,
)
from tilegen.plan.passes import Pass, passes, point_stores, row_stores
from tilegen.schedule.model import Rows, Schedule
from tilegen.spec import Read, Reduce
from tilegen.target import Target

# A position along a row runs past its end by less than this before it is compared with it.
_OVERRUN = 2**25



def plan_reduce(nest: Nest, schedule: Schedule, target: Target, name: str) -> Plan:
    """Lower one schedule of a nest with reductions."""
    rows = schedule.rows
    assert rows is not None
    fast = fast_axis(nest, rows)
    run = Run(((fast, schedule.vector),), schedule.vector) if fast is not None and schedule.vector > 1 else None
    sweep = _lanes(run)
    steps = passes(nest, rows.whole)
    phases: list[Phase] = []
    for level in range(1 + max(step.level for step in steps)):
        here = [step for step in steps if step.level == level]
        phases += [Walk(step, sweep, _widths(nest, step, run)) for step in here]
        found = tuple(r for step in here for r in step.reductions)
        if found:
            later = any(step.level > level for step in steps)
            phases.append(Combine(found, everyone=later, parts=rows.parts > 1))
    once = point_stores(nest)
    if once:
        accesses = [s.access for s in once]
        widths = _along(nest, accesses, run) if rows.across else ()
        phases.append(PointStores(once, sweep if rows.across else _lanes(None), widths))
    parts = parts_of(nest, rows, schedule.vector)
    total, block = row_count(nest), rows.beside * (schedule.vector if rows.across else 1)
    blocks = ceil_div(total, block)
    tiles = [TileAxis(ROWS, total, block, blocks, ragged=not _divides(total, block))]
    if parts is not None:
        tiles.append(TileAxis(PARTS, parts, 1, parts, ragged=False))
    return Plan(
        name=name,
        nest=nest,
        schedule=schedule,
        target=target,
        tiles=tuple(tiles),
        raster=(),
        group=1,
        threads=rows.threads,
        buffers=(),
        phases=tuple(phases),
        conditions=_conditions(nest, schedule, rows, run, phases),
        fits_i32=_fits_i32(nest),
        scratch=_scratch(nest, phases, parts, total, blocks) if parts is not None else (),
    )


def parallel_order(nest: Nest) -> tuple[str, ...]:
    """Parallel axes from the fastest on, as the outputs lie in memory."""
    order = tuple(dict.fromkeys(a for s in nest.stores for a in memory_order(nest, s.access)))
    names = [a.name for a in nest.parallel]
    return (*(a for a in order if a in names), *(a for a in reversed(names) if a not in order))


def row_order(nest: Nest, row: int) -> tuple[str, ...]:
    """The axes of a row from the fastest on, as most of what is read along it lies in memory."""
    names = nest.rows[row]
    access = main_access(nest, row)
    order = memory_order(nest, access) if access is not None else ()
    return (*(a for a in order if a in names), *(a for a in reversed(names) if a not in order))


def main_access(nest: Nest, row: int) -> Access | None:
    """The read that moves along most axes, among those along a row; an output, where nothing is read."""
    accesses = (*nest.load_accesses(), *(s.access for s in nest.stores))
    along = [a for a in accesses if set(memory_order(nest, a)) & set(nest.rows[row])]
    return max(along, key=lambda a: len(memory_order(nest, a)), default=None)


def fast_axis(nest: Nest, rows: Rows) -> str | None:
    """The axis along which a thread's neighbouring elements lie."""
    if rows.across:
        order = parallel_order(nest)
        return order[0] if order else None
    return row_order(nest, 0)[0]


def row_count(nest: Nest) -> Expr:
    total = ONE
    for axis in nest.parallel:
        total = total * axis.extent
    return total


def row_length(nest: Nest, row: int) -> Expr:
    """Points of a row."""
    total = ONE
    for axis in nest.rows[row]:
        total = total * nest.axis(axis).extent
    return total


def chunk(rows: Rows, vector: int) -> int:
    """Points of a row that a team takes at once."""
    return rows.along * rows.items * (1 if rows.across else vector)


def parts_of(nest: Nest, rows: Rows, vector: int) -> Expr | None:
    """Blocks that share a row: no more than there are chunks in it."""
    if rows.parts == 1:
        return None
    chunks = ceil_div(row_length(nest, 0), chunk(rows, vector))
    # An empty row still has a block, which writes the identity.
    return minimum(expr(rows.parts), chunks + (1 - minimum(chunks, expr(1))))


def _divides(total: Expr, block: int) -> bool:
    return block == 1 or (total.constant is not None and total.constant % block == 0)


def _lanes(run: Run | None) -> Sweep:
    lanes = ((run.fast, sym(run.fast) + sym("@lane")),) if run is not None else ()
    return Sweep(digits=(), loops=(), coordinates=(), limits=(), run=run, lanes=lanes)


def _widths(nest: Nest, step: Pass, run: Run | None) -> tuple[tuple[Access, int], ...]:
    return _along(nest, [*(nest.loads[r] for r in step.reads), *(s.access for s in step.stores)], run)


def _along(nest: Nest, accesses: list[Access], run: Run | None) -> tuple[tuple[Access, int], ...]:
    """The accesses that neighbours along the run make to neighbours in memory, with their width."""
    found = {}
    for access in accesses if run is not None else ():
        step = step_along(nest, access, run) if run is not None and not access.checked else None
        if step is not None and step.step == 1 and not isinstance(nest.pointer(access.pointer).dtype, Struct):
            assert run is not None
            found[access] = run.width
    return tuple(found.items())


def _conditions(
    nest: Nest, schedule: Schedule, rows: Rows, run: Run | None, phases: list[Phase]
) -> tuple[Condition, ...]:
    found: dict[Condition, None] = {}
    if run is not None:
        multiple(nest.axis(run.fast).extent, run.width, found)
        for phase in phases:
            for access, _ in phase.widths if isinstance(phase, Walk | PointStores) else ():
                aligned_access(nest, access, run, access.address, found)
    if rows.whole:
        for row in range(len(nest.rows)):
            length, most = row_length(nest, row), chunk(rows, schedule.vector)
            if length.constant is None or length.constant > most:
                found[AtMost(length, most)] = None
    return tuple(found)


def _fits_i32(nest: Nest) -> tuple[AtMost, ...]:
    lengths = [row_length(nest, n) for n in range(len(nest.rows))]
    long = [AtMost(e, 2**31 - 1 - _OVERRUN) for e in (*lengths, row_count(nest)) if e.constant is None]
    return tuple(dict.fromkeys((*index_conditions(nest), *long)))


def components(node: Reduce) -> tuple[tuple[str, object], ...]:
    """(name of the part, type) of an accumulator: arg-reductions carry a value and where it was found."""
    if node.op in ARGUMENTS:
        return (("value", accumulator_type(node)), ("index", I64))
    return (("", accumulator_type(node)),)


def _scratch(
    nest: Nest, phases: list[Phase], parts: Expr, total: Expr, blocks: Expr
) -> tuple[Scratch, ...]:
    """Partial results of every part of every row, and a count of the parts that are done per block of rows."""
    found = []
    reductions = [r for p in phases if isinstance(p, Combine) for r in p.reductions]
    for number, node in enumerate(reductions):
        for part, dtype in components(node):
            found.append(Scratch(scratch_name(number, part), dtype, parts * total, zeroed=False))
    return (*found, Scratch("tickets", U32, blocks, zeroed=True))


def scratch_name(number: int, part: str) -> str:
    """Of the partial results of reduction `number`."""
    return f"part{number}_{part}" if part else f"part{number}"
