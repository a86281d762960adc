"""What it takes to stage one tensor: which part of it a tile needs, in which order, and in what pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tilegen.algebra import Expr, sym
from tilegen.core.nest.affine import Run, coefficient, contiguous_axis, memory_order, shortest_run, step_along
from tilegen.core.nest.model import Access, Nest
from tilegen.core.plan.model import FIELD, TileAxis
from tilegen.core.plan.problems import (
    Refusal,
    cannot_stage,
    cut_pieces,
    no_neighbours_in_tile,
    one_element,
    one_point_along,
)
from tilegen.core.plan.sector_row import SectorRow
from tilegen.core.schedule.model import Placement, Schedule, Stage
from tilegen.dtypes import DType, Struct
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import Aos, Read, Value, Where, walk


@dataclass(frozen=True, slots=True)
class StageBox:
    """The staged part of a tensor.

    `order`: axes and extents of the box from the fastest in global memory on. `axes`: buffer axes, slowest first, the
    row last. `run`: the elements of one global load, None for single ones. `across`: see `plan.model.Load`.
    `read_width`: elements per shared load. `chunk`: elements that must stay together. `sectors`: the row in which it is
    kept, with its margin, where that is the row of an output.
    """

    tensor: str
    pointers: tuple[str, ...]
    dtype: DType
    access: Access
    order: tuple[tuple[str, int], ...]
    axes: tuple[tuple[str, int], ...]
    run: Run | None
    across: tuple[str, int] | None
    read_width: int
    chunk: int
    stage: Stage
    sectors: SectorRow | None = None

    @property
    def fast(self) -> str:
        return self.order[0][0]

    @property
    def width(self) -> int:
        """Elements per global load."""
        return self.run.width if self.run is not None else 1

    @property
    def items(self) -> int:
        """Pieces of work of the load phase."""
        total = prod(extent for _, extent in self.order)
        return total // (self.width * (self.across[1] if self.across else 1))


def box_of(
    nest: Nest,
    schedule: Schedule,
    tiles: tuple[TileAxis, ...],
    stage: Stage,
    run: Run | None,
    row: SectorRow | None = None,
) -> StageBox:
    """The box of one `stage` directive, for a computation that covers `run` at a time, or goes along `row`.

    Raises TG0611 (a tensor that cannot be staged), TG0612 (a tile that does not hold whole vectors).
    """
    pointers = tuple(p.name for p in nest.pointers if p.tensor == stage.tensor)
    accesses = [a for a in nest.load_accesses() if a.pointer in pointers]
    access = require_one_place(nest, stage, accesses)
    dtype = nest.pointer(access.pointer).dtype
    assert isinstance(dtype, DType)
    extent = {t.axis: t.tile + (row.reach if row is not None and t.axis == row.along else 0) for t in tiles}
    members = _members(nest, stage.tensor)
    order = tuple((a, extent[a]) for a in memory_order(nest, access) if extent[a] > 1)
    if members:
        order = ((FIELD, members), *order)
    if not order:
        raise SpecError([one_element(stage, schedule, memory_order(nest, access))])
    width = schedule.width_of(stage.tensor)
    load_run = run_of(nest, schedule, tiles, stage, access, order, width) if width > 1 else None
    slow_first = tuple(reversed(order))
    across: tuple[str, int] | None = None
    read_width = 1
    inside = dict(order)
    if run is not None and run.single and run.fast in inside:
        shared_width = min(run.width, max(1, 16 // dtype.size))
        if run.fast != order[0][0] and (load_run is None or load_run.single):
            across = (run.fast, min(shared_width, 4) if dtype.size == 1 else shared_width)
            slow_first = (*(x for x in slow_first if x[0] != run.fast), (run.fast, inside[run.fast]))
        if slow_first[-1][0] == run.fast:
            read_width = shared_width
    if across is not None:
        require_whole_pieces(tiles, schedule, stage, inside[across[0]], across)
    inner = row if row is not None and load_run is None and set(dict(row.axes)) <= inside.keys() else None
    if inner is not None:
        outside = (x for x in slow_first if x[0] not in dict(inner.axes))
        slow_first = (*outside, (inner.fast, inner.needed))
    return StageBox(
        tensor=stage.tensor,
        pointers=pointers,
        dtype=dtype,
        access=access,
        order=order,
        axes=slow_first,
        run=load_run,
        across=across,
        read_width=read_width,
        chunk=max(across[1] if across else width, read_width),
        stage=stage,
        sectors=inner,
    )


def run_of(
    nest: Nest,
    schedule: Schedule,
    tiles: tuple[TileAxis, ...],
    stage: Stage,
    access: Access,
    order: tuple[tuple[str, int], ...],
    width: int,
) -> Run:
    """The shortest run of the box, in memory's order, that holds whole loads of `width` elements."""
    address = access.address + sym(FIELD) if order[0][0] == FIELD else access.address
    whole = {FIELD} | {t.axis for t in tiles if t.extent.constant == t.tile}
    run = shortest_run(order, whole, width)
    if run.points % width or (not run.single and stage.placement in (Placement.PADDED, Placement.SWIZZLED)):
        require_whole_pieces(tiles, schedule, stage, order[0][1], (order[0][0], width))
    step = step_along(nest, access, run, address)
    if step is None or step.step != 1:
        axis = contiguous_axis(nest, access)
        if axis is not None and axis not in dict(order):
            raise SpecError([one_point_along(stage, schedule, axis)])
        raise SpecError([no_neighbours_in_tile(stage, schedule)])
    return run


def require_one_place(nest: Nest, stage: Stage, accesses: list[Access]) -> Access:
    """All reads of a staged tensor must be of one element per point (or of the members of one struct)."""
    refusal = why_not_staged(nest, stage.tensor)
    if refusal is not None:
        raise SpecError([cannot_stage(stage, refusal)])
    base = _first_place(accesses)
    members = _members(nest, stage.tensor)
    return replace(base, address=base.address - _constant(base.address) % members) if members else base


def why_not_staged(nest: Nest, tensor: str) -> Refusal | None:
    """What keeps `tensor` from being staged, whatever the schedule."""
    declared = nest.kernel.tensor(tensor)
    accesses = [a for a in nest.load_accesses() if nest.pointer(a.pointer).tensor == tensor]
    if not accesses:
        return Refusal(f"`{tensor}` is not read")
    if len({a.pointer for a in accesses}) > 1:
        return Refusal(f"`{tensor}` is one array per field, and a tile holds one array")
    if any(a.checked for a in accesses):
        return Refusal(f"an index of `{tensor}` depends on data or passes through its boundary mode")
    if any(isinstance(nest.pointer(a.pointer).dtype, Struct) for a in accesses):
        return Refusal(f"the members of `{tensor}` have several types")
    if isinstance(declared.element, Struct) and not isinstance(declared.placement, Aos):
        return Refusal(f"`{tensor}` is in blocks, whose index is not linear in the axes")
    if any(coefficient(a, x.name) is None for a in accesses for x in nest.axes):
        return Refusal(f"the index of `{tensor}` is not linear in the axes")
    if any(_reads_on_condition(store.value, tensor) for store in nest.stores):
        return Refusal(f"`{tensor}` is read only where a condition holds")
    base, members = _first_place(accesses), _members(nest, tensor) or 1
    for access in accesses:
        distance = (access.address - base.address).constant
        if distance is None or not 0 <= distance < members:
            places = f"{base.address} and {access.address}"
            halo = "tiles with a halo come with the stencils"
            return Refusal(f"`{tensor}` is read at several places: {places}", halo)
    return None


def _reads_on_condition(value: Value, tensor: str) -> bool:
    """Whether a side of a `where` in `value` reads `tensor`."""
    sides = [side for node in walk(value) if isinstance(node, Where) for side in (node.then, node.otherwise)]
    return any(isinstance(node, Read) and node.tensor == tensor for side in sides for node in walk(side))


def _first_place(accesses: list[Access]) -> Access:
    return min(accesses, key=lambda a: _constant(a.address))


def _constant(address: Expr) -> int:
    return dict(address.terms).get((), 0)


def _members(nest: Nest, tensor: str) -> int:
    element = nest.kernel.tensor(tensor).element
    return len(element.fields) if isinstance(element, Struct) else 0


def require_whole_pieces(
    tiles: tuple[TileAxis, ...], schedule: Schedule, stage: Stage, points: int, piece: tuple[str, int]
) -> None:
    axis, width = piece
    if points % width:
        raise SpecError([cut_pieces(tiles, schedule, stage, points, axis, width)])
