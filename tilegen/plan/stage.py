"""What it takes to stage one tensor: which part of it a tile needs, in which order, and in what pieces."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.algebra import Expr, sym
from tilegen.diagnostics import Diagnostic, SpecError
from tilegen.dtypes import DType, Struct
from tilegen.nest.affine import coefficient, memory_order, step_of
from tilegen.nest.model import Access, Nest
from tilegen.plan.model import FIELD, TileAxis
from tilegen.schedule.model import Schedule, Stage
from tilegen.source import Span
from tilegen.spec import Aos, Read, Where, walk


@dataclass(frozen=True, slots=True)
class StageBox:
    """The staged part of a tensor.

    `order`: axes and extents of the box from the fastest in global memory on; `fast`: the one with stride 1 (or the
    first). `axes`: buffer axes, slowest first, the row last. `width`: elements per global load along `fast`; `across`:
    see `plan.model.Load`. `read_width`: elements per shared load. `chunk`: elements that must stay together.
    """

    tensor: str
    pointers: tuple[str, ...]
    dtype: DType
    access: Access
    order: tuple[tuple[str, int], ...]
    axes: tuple[tuple[str, int], ...]
    fast: str
    width: int
    across: tuple[str, int] | None
    read_width: int
    chunk: int
    stage: Stage

    @property
    def items(self) -> int:
        """Pieces of work of the load phase."""
        total = 1
        for _, extent in self.order:
            total *= extent
        return total // (self.width * (self.across[1] if self.across else 1))


def box_of(
    nest: Nest, schedule: Schedule, tiles: tuple[TileAxis, ...], stage: Stage, vector: tuple[str, int] | None
) -> StageBox:
    """The box of one `stage` directive. Raises TG0611 (a tensor that cannot be staged), TG0612 (tile and vectors)."""
    pointers = tuple(p.name for p in nest.pointers if p.tensor == stage.tensor)
    accesses = [a for a in nest.load_accesses() if a.pointer in pointers]
    access = require_one_place(nest, stage, accesses)
    pointer = nest.pointer(access.pointer)
    assert isinstance(pointer.dtype, DType)
    dtype = pointer.dtype
    extent = {t.axis: t.tile for t in tiles}
    members = _members(nest, stage.tensor)
    order = tuple((a, extent[a]) for a in memory_order(nest, access) if extent[a] > 1)
    if members:
        order = ((FIELD, members), *order)
    if not order:
        raise SpecError(
            [_cannot(stage, f"the tile holds one element of `{stage.tensor}`", "name a `tile` of several")]
        )
    fast = order[0][0]
    width = schedule.width_of(stage.tensor)
    if width > 1 and (fast == FIELD or (s := step_of(nest, access, fast, width)) is None or s.step != 1):
        raise SpecError(
            [
                _cannot(
                    stage,
                    f"`{stage.tensor}` has no {width} neighbours side by side in the tile",
                    "use a narrower `vector`",
                )
            ]
        )
    slow_first = tuple(reversed(order))
    across: tuple[str, int] | None = None
    read_width = 1
    inside = dict(order)
    if vector is not None and vector[0] in inside:
        shared_width = min(vector[1], max(1, 16 // dtype.size))
        if vector[0] != fast:
            across = (vector[0], min(shared_width, 4) if dtype.size == 1 else shared_width)
            slow_first = (*(x for x in slow_first if x[0] != vector[0]), (vector[0], inside[vector[0]]))
        read_width = shared_width
    chunk = max(across[1] if across else width, read_width)
    require_whole_pieces(stage, schedule, inside, fast, width, across)
    return StageBox(
        stage.tensor,
        pointers,
        dtype,
        access,
        order,
        slow_first,
        fast,
        width,
        across,
        read_width,
        chunk,
        stage,
    )


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
        from dataclasses import replace

        return replace(base, address=base.address - number)
    return base


def _constant(address: Expr) -> int:
    return dict(address.terms).get((), 0)


def _members(nest: Nest, tensor: str) -> int:
    element = nest.kernel.tensor(tensor).element
    return len(element.fields) if isinstance(element, Struct) else 0


def require_whole_pieces(
    stage: Stage,
    schedule: Schedule,
    box: dict[str, int],
    fast: str,
    width: int,
    across: tuple[str, int] | None,
) -> None:
    for axis, piece in ((fast, width), across or (fast, 1)):
        if box[axis] % piece:
            raise SpecError(
                [
                    Diagnostic(
                        "TG0612",
                        f"a tile of {box[axis]} along `{axis}` does not hold whole vectors of {piece}",
                        schedule.span("tile") or stage.span,
                        notes=(f"`{stage.tensor}` is staged {piece} elements at a time along `{axis}`",),
                        helps=(f"use `{axis} = {-(-box[axis] // piece) * piece}` in `tile`",),
                    )
                ]
            )


def _cannot(stage: Stage, fact: str, action: str) -> Diagnostic:
    span: Span | None = stage.span
    return Diagnostic("TG0611", f"`{stage.tensor}` cannot be staged", span, (fact,), (action,))


FIELD_SYMBOL = sym(FIELD)
