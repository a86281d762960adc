"""`plan_reduce`: a nest with reductions and a complete schedule become one `Plan`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilegen.algebra import Expr, ceil_div, expr, minimum, sym
from tilegen.core.nest.affine import Run, step_along
from tilegen.core.nest.build import reads_of
from tilegen.core.nest.combine import ARGUMENTS, accumulator_type
from tilegen.core.nest.model import Access, Nest
from tilegen.core.plan.conditions import (
    Followed,
    aligned_access,
    index_conditions,
    multiple,
    require_along,
)
from tilegen.core.plan.model import (
    PARTS,
    ROWS,
    AtMost,
    Barrier,
    Condition,
    Phase,
    Plan,
    Scratch,
    Sweep,
    TileAxis,
)
from tilegen.core.schedule.model import Schedule
from tilegen.dtypes import I64, U32, DType, Struct
from tilegen.families.rows.axes import Rows, fast_axis, row_count, row_length, rows_of
from tilegen.families.rows.passes import Pass, passes, point_stores
from tilegen.families.rows.phases import Combine, PointStores, Walk
from tilegen.lang.spec import Reduce
from tilegen.target import Target

# A position along a row runs past its end by less than this before it is compared with it.
_OVERRUN = 2**25


def plan_reduce(nest: Nest, schedule: Schedule, target: Target, name: str) -> Plan:
    """Lower one schedule of a nest with reductions."""
    rows = rows_of(nest, schedule)
    runs = tuple(_run(nest, rows, schedule.item_width, row) for row in range(len(nest.rows)))
    steps = passes(nest, rows.whole)
    phases: list[Phase] = []
    for level in range(1 + max(step.level for step in steps)):
        here = [step for step in steps if step.level == level]
        phases += [
            Walk(step, _lanes(runs[step.row]), _widths(nest, schedule, step, runs[step.row])) for step in here
        ]
        found = tuple(r for step in here for r in step.reductions)
        if found:
            later = any(step.level > level for step in steps)
            phases.append(Combine(found, everyone=later, parts=rows.parts > 1))
    once = point_stores(nest)
    if once:
        accesses = [s.access for s in once]
        widths = _along(nest, schedule, accesses, runs[0]) if rows.across else ()
        if _written_while_read(nest, phases[-1], accesses):
            phases.append(Barrier())
        phases.append(PointStores(once, _lanes(runs[0] if rows.across else None), widths))
    require_along(nest, schedule, _followed(nest, phases), fast_axis(nest, rows.across))
    parts = parts_of(nest, rows, schedule.item_width)
    total, block = row_count(nest), rows.beside * (schedule.item_width if rows.across else 1)
    blocks = ceil_div(total, block)
    tiles = [TileAxis(ROWS, total, block, blocks, ragged=not _divides(total, block))]
    if rows.cluster > 1:
        tiles.append(TileAxis(PARTS, expr(rows.cluster), 1, expr(rows.cluster), ragged=False))
    if parts is not None:
        tiles.append(TileAxis(PARTS, parts, 1, parts, ragged=False))
    return Plan(
        name=name,
        nest=nest,
        schedule=schedule,
        target=target,
        tiles=tuple(tiles),
        threads=rows.threads,
        phases=tuple(phases),
        conditions=_conditions(nest, schedule, rows, phases),
        fits_i32=_fits_i32(nest),
        scratch=_scratch(nest, phases, parts, total, blocks) if parts is not None else (),
    )


def plans_of_rows(
    nest: Nest, schedule: Schedule, target: Target, name: str, plain: str, last: bool
) -> Iterator[Plan]:
    """The kernel of one schedule and, where it is the `last` to be chosen from and has conditions, the same teams one
    element at a time, called `plain`, for rows of any length."""
    plan = plan_reduce(nest, schedule, target, name)
    yield plan
    if last and plan.conditions:
        single = replace(schedule, vector=1, vector_of=(), keep=None, cluster=())
        yield plan_reduce(nest, single, target, plain)


def label_of_rows(nest: Nest, schedule: Schedule) -> str:
    """What tells the kernel of one schedule from others for the same rows."""
    rows = rows_of(nest, schedule)
    return f"upto{rows.chunk(schedule.item_width)}" if rows.whole else "long"


def _written_while_read(nest: Nest, last: Phase, written: Sequence[Access]) -> bool:
    """Whether threads of a row may still read what the first of them is about to write: nothing after the last walk has
    made them wait."""
    if not isinstance(last, Walk):
        return False
    read = {nest.loads[value].pointer for root in last.step.roots for value in reads_of(root)}
    return any(a.pointer in read for a in written)


def parts_of(nest: Nest, rows: Rows, vector: int) -> Expr | None:
    """Blocks that share a row: hardly more than there are chunks in it, and one for an empty row, which writes the
    identity."""
    if rows.parts == 1:
        return None
    return minimum(expr(rows.parts), row_length(nest, 0) // rows.chunk(vector) + 1)


def _divides(total: Expr, block: int) -> bool:
    return block == 1 or (total.constant is not None and total.constant % block == 0)


def _followed(nest: Nest, phases: Sequence[Phase]) -> Iterator[Followed]:
    for phase in phases:
        if isinstance(phase, Walk | PointStores):
            run = phase.sweep.run
            accesses = [s.access for s in (phase.step.stores if isinstance(phase, Walk) else phase.stores)]
            accesses += [nest.loads[r] for r in phase.step.reads] if isinstance(phase, Walk) else []
            for access in accesses:
                step = step_along(nest, access, run) if run is not None and not access.checked else None
                yield access, None if run is None else run.fast, step


def _run(nest: Nest, rows: Rows, width: int, row: int) -> Run | None:
    """The neighbouring elements of one item."""
    axis = fast_axis(nest, rows.across, row)
    return Run(((axis, width),), width) if axis is not None and width > 1 else None


def _lanes(run: Run | None) -> Sweep:
    lanes = ((run.fast, sym(run.fast) + sym("@lane")),) if run is not None else ()
    return Sweep(digits=(), loops=(), coordinates=(), limits=(), run=run, lanes=lanes)


def _widths(nest: Nest, schedule: Schedule, step: Pass, run: Run | None) -> tuple[tuple[Access, int], ...]:
    return _along(
        nest, schedule, [*(nest.loads[r] for r in step.reads), *(s.access for s in step.stores)], run
    )


def _along(
    nest: Nest, schedule: Schedule, accesses: list[Access], run: Run | None
) -> tuple[tuple[Access, int], ...]:
    """The accesses that neighbours along the run make to neighbours in memory, with their width."""
    found = {}
    for access in accesses if run is not None else ():
        step = step_along(nest, access, run) if run is not None and not access.checked else None
        pointer = nest.pointer(access.pointer)
        if step is not None and step.step == 1 and not isinstance(pointer.dtype, Struct):
            assert run is not None
            if schedule.width_of(pointer.tensor) == 1:
                continue
            found[access] = run.width
    return tuple(found.items())


def _conditions(nest: Nest, schedule: Schedule, rows: Rows, phases: list[Phase]) -> tuple[Condition, ...]:
    found: dict[Condition, None] = {}
    for phase in phases:
        if isinstance(phase, Walk | PointStores) and phase.sweep.run is not None:
            run = phase.sweep.run
            multiple(nest.axis(run.fast).extent, run.width, found)
            for access, _ in phase.widths:
                aligned_access(nest, access, run, access.address, found)
    if rows.whole:
        for row in range(len(nest.rows)):
            length, most = row_length(nest, row), rows.chunk(schedule.item_width)
            if length.constant is None or length.constant > most:
                found[AtMost(length, most)] = None
    return tuple(found)


def _fits_i32(nest: Nest) -> tuple[AtMost, ...]:
    lengths = [row_length(nest, n) for n in range(len(nest.rows))]
    long = [AtMost(e, 2**31 - 1 - _OVERRUN) for e in (*lengths, row_count(nest)) if e.constant is None]
    return tuple(dict.fromkeys((*index_conditions(nest), *long)))


def components(node: Reduce) -> tuple[tuple[str, DType], ...]:
    """(name of the part, type) of an accumulator: arg-reductions carry a value and where it was found."""
    if node.op in ARGUMENTS:
        return (("value", accumulator_type(node)), ("index", I64))
    return (("", accumulator_type(node)),)


def _scratch(nest: Nest, phases: list[Phase], parts: Expr, total: Expr, blocks: Expr) -> tuple[Scratch, ...]:
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
