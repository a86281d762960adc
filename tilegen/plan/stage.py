"""What it takes to stage one tensor: which part of it a tile needs, in which order, and in what pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilegen.algebra import Expr, sym
from tilegen.diagnostics import Diagnostic, SpecError
from tilegen.dtypes import DType, Struct
from tilegen.nest.affine import Run, coefficient, memory_order, shortest_run, step_along
from tilegen.nest.model import Access, Nest
from tilegen.plan.model import FIELD, TileAxis
from tilegen.schedule.model import Placement, Schedule, Stage
from tilegen.source import Span
from tilegen.spec import Aos, Read, Where, walk


@dataclass(frozen=True, slots=True)
class StageBox:
    """The staged part of a tensor.

    `order`: axes and extents of the box from the fastest in global memory on. `axes`: buffer axes, slowest first, the
    row last. `run`: the elements of one global load, None for single ones. `across`: see `plan.model.Load`.
    `read_width`: elements per shared load. `chunk`: elements that must stay together.
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
        total = 1
        for _, extent in self.order:
            total *= extent
        return total // (self.width * (self.across[1] if self.across else 1))


def box_of(
    nest: Nest, schedule: Schedule, tiles: tuple[TileAxis, ...], stage: Stage, run: Run | None
) -> StageBox:
    """The box of one `stage` directive, for a computation that covers `run` at a time.

    Raises TG0611 (a tensor that cannot be staged), TG0612 (a tile that does not hold whole vectors).
    """
    pointers = tuple(p.name for p in nest.pointers if p.tensor == stage.tensor)
    accesses = [a for a in nest.load_accesses() if a.pointer in pointers]
    access = require_one_place(nest, stage, accesses)
    dtype = nest.pointer(access.pointer).dtype
    assert isinstance(dtype, DType)
    extent = {t.axis: t.tile for t in tiles}
    members = _members(nest, stage.tensor)
    order = tuple((a, extent[a]) for a in memory_order(nest, access) if extent[a] > 1)
    if members:
        order = ((FIELD, members), *order)
    if not order:
        fact = f"the tile holds one element of `{stage.tensor}`"
        raise SpecError([_cannot(stage, fact, "name a `tile` of several")])
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
        require_whole_pieces(stage, schedule, inside[across[0]], across)
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
        require_whole_pieces(stage, schedule, order[0][1], (order[0][0], width))
    step = step_along(nest, access, run, address)
    if step is None or step.step != 1:
        fact = f"`{stage.tensor}` has no {width} neighbours side by side in the tile"
        raise SpecError([_cannot(stage, fact, "use a narrower `vector`")])
    return run


def require_one_place(nest: Nest, stage: Stage, accesses: list[Access]) -> Access:
    """All reads of a staged tensor must be of one element per point (or of the members of one struct)."""
    tensor = nest.kernel.tensor(stage.tensor)
    if len({a.pointer for a in accesses}) > 1:
        raise SpecError(
            [
                _cannot(
                    stage,
                    f"`{stage.tensor}` is one array per field: its reads are coalesced already",
                    "leave it out",
                )
            ]
        )
    if any(a.checked for a in accesses):
        raise SpecError(
            [
                _cannot(
                    stage,
                    f"an index of `{stage.tensor}` depends on data or passes through its boundary mode",
                    "leave it out",
                )
            ]
        )
    if any(isinstance(nest.pointer(a.pointer).dtype, Struct) for a in accesses):
        raise SpecError(
            [_cannot(stage, f"the members of `{stage.tensor}` have several types", "leave it out")]
        )
    if isinstance(tensor.element, Struct) and not isinstance(tensor.placement, Aos):
        raise SpecError(
            [_cannot(stage, f"`{stage.tensor}` is blocked already: its reads are coalesced", "leave it out")]
        )
    if any(coefficient(a, x.name) is None for a in accesses for x in nest.axes):
        raise SpecError(
            [_cannot(stage, f"the index of `{stage.tensor}` is not linear in the axes", "leave it out")]
        )
    for store in nest.stores:
        for node in walk(store.value):
            if isinstance(node, Where):
                for side in (node.then, node.otherwise):
                    if any(isinstance(v, Read) and v.tensor == stage.tensor for v in walk(side)):
                        raise SpecError(
                            [
                                _cannot(
                                    stage,
                                    f"`{stage.tensor}` is read only where a condition holds",
                                    "leave it out",
                                )
                            ]
                        )
    members = _members(nest, stage.tensor) or 1
    base = min(accesses, key=lambda a: _constant(a.address))
    for access in accesses:
        distance = (access.address - base.address).constant
        if distance is None or not 0 <= distance < members:
            raise SpecError(
                [
                    _cannot(
                        stage,
                        f"`{stage.tensor}` is read at several places: {base.address} and {access.address}",
                        "leave it out; tiles with a halo come with the stencils",
                    )
                ]
            )
    if members > 1:
        number = _constant(base.address) % members
        return replace(base, address=base.address - number)
    return base


def _constant(address: Expr) -> int:
    return dict(address.terms).get((), 0)


def _members(nest: Nest, tensor: str) -> int:
    element = nest.kernel.tensor(tensor).element
    return len(element.fields) if isinstance(element, Struct) else 0


def require_whole_pieces(stage: Stage, schedule: Schedule, points: int, piece: tuple[str, int]) -> None:
    axis, width = piece
    if points % width == 0:
        return
    name = "the members of a struct" if axis == FIELD else f"`{axis}`"
    action = f"use `{axis} = {-(-points // width) * width}` in `tile`"
    if axis == FIELD:
        action = f"leave `vector` out for `{stage.tensor}`, or stage it without `pad` and `swizzle`"
    raise SpecError(
        [
            Diagnostic(
                "TG0612",
                f"a tile of {points} along {name} does not hold whole vectors of {width}",
                schedule.span("tile") or stage.span,
                notes=(f"`{stage.tensor}` is staged {width} elements at a time along {name}",),
                helps=(action,),
            )
        ]
    )


def _cannot(stage: Stage, fact: str, action: str) -> Diagnostic:
    span: Span | None = stage.span
    return Diagnostic("TG0611", f"`{stage.tensor}` cannot be staged", span, (fact,), (action,))
