"""Loads of the elements of a histogram: what may be read early, as vectors, several under way at once."""

from __future__ import annotations

from tilegen.algebra import Expr, substitute, sym
from tilegen.core.nest.model import Access
from tilegen.core.nest.values import unconditional
from tilegen.cuda.tree import (
    UNSIGNED,
    Assign,
    Block,
    CType,
    Declare,
    Expression,
    Infix,
    PointerCast,
    Prefix,
    Unary,
    Variable,
    at,
    binary,
    call,
    lane_of,
    library,
    number,
)
from tilegen.dtypes import U8, U32, DType
from tilegen.families.histogram.names import CountScope
from tilegen.families.histogram.nest import element_reads
from tilegen.lang.spec import Axis, Hint, Read, Reduction


def early_reads(c: CountScope) -> tuple[Read, ...]:
    """Reads that may be made for every element before any condition is looked at."""
    found, nest = c.phase.found, c.scope.nest
    (assign,) = nest.kernel.assigns
    axes = {a.name: a for a in (*assign.axes, *found.reduce.axes)}
    # `and` bounds no read, so what follows it is inside its tensor by itself; behind a `where` it need not be.
    plain = found.values if found.reduce.op is Reduction.COUNT else found.values[:1]
    first = {node for value in plain for node in unconditional(value)}
    return tuple(
        read
        for read in element_reads(nest, found)
        if isinstance(nest.pointer(nest.loads[read].pointer).dtype, DType)
        and not nest.loads[read].checked
        and (read in first or _always_inside(c, read, axes))
        and (c.phase.width == 1 or c.phase.width_of(nest.loads[read]) > 1)
    )


def _always_inside(c: CountScope, read: Read, axes: dict[str, Axis]) -> bool:
    """Whether the read is inside its tensor at all points of the axes, whatever a condition says."""
    tensor = c.scope.nest.kernel.tensor(read.tensor)
    for index, extent in zip(read.indices, tensor.extents, strict=True):
        axis = axes.get(index.symbol or "") if isinstance(index, Expr) else None
        if axis is None or axis.upper != extent:
            return False
        if axis.lower.constant is None or axis.lower.constant < 0:
            return False
    return True


class EarlyLoads:
    """The registers that hold what is read early, the statements that fill them, and the elements in them."""

    def __init__(self, c: CountScope) -> None:
        self.c = c
        self.reads = early_reads(c)
        self.arrays: list[Declare] = []
        self._variables: dict[Access, Variable] = {}
        loads: list[Assign] = []
        for access in dict.fromkeys(c.scope.nest.loads[r] for r in self.reads):
            loads += self._load(access)
        self.loads: Block = (*c.coordinates(c.at_item * c.phase.width), *loads) if loads else ()

    def _load(self, access: Access) -> list[Assign]:
        c, width = self.c, self.c.phase.width
        dtype = c.scope.nest.pointer(access.pointer).dtype
        assert isinstance(dtype, DType)
        several = c.phase.width_of(access)
        pieces = width // several
        if self._as_words(access):
            dtype, several = U32, several // 4
        type_: CType = (
            c.scope.vector(dtype, several, several * dtype.size)
            if several > 1
            else c.scope.types.storage(dtype)
        )
        shape = [c.items] if c.phase.items > 1 else []
        sizes: tuple[Expression, ...] = (*shape, *([number(pieces)] if pieces > 1 else []))
        field = next((f"_{r.field}" for r in self._reads_of(access) if r.field is not None), "")
        array = Variable(f"{c.scope.pointer(access.pointer).wanted}{field}_in", type_, sizes)
        self._variables[access] = array
        self.arrays.append(Declare(array))
        found = []
        for piece in range(pieces):
            place = self._place(access, [number(piece)] if pieces > 1 else [])
            address = self._address(access, piece * c.phase.width_of(access))
            found.append(Assign(place, self._read(access, address, dtype, several)))
        return found

    def _reads_of(self, access: Access) -> list[Read]:
        return [r for r, a in self.c.scope.nest.loads.items() if a == access]

    def _place(self, access: Access, piece: list[Expression]) -> Expression:
        step = [self.c.step] if self.c.phase.items > 1 else []
        return at(self._variables[access], *step, *piece)

    def _as_words(self, access: Access) -> bool:
        """Whether bytes are loaded as words, of which a permutation takes each byte: struct members would take two."""
        dtype = self.c.scope.nest.pointer(access.pointer).dtype
        return dtype == U8 and self.c.phase.width_of(access) % 4 == 0

    def _read(self, access: Access, address: Expr, dtype: DType, width: int) -> Expression:
        """A load of `width` elements of `dtype`, which may be words of bytes."""
        scope = self.c.scope
        if width > 1 or not self._as_words(access):
            return scope.read(access.pointer, address, dtype, width)
        word = PointerCast(UNSIGNED, scope.place(access.pointer, address), const=True)
        match scope.hint(scope.nest.pointer(access.pointer).tensor):
            case Hint.STREAMING:
                return call("__ldcs", word)
            case Hint.READONLY:
                return call("__ldg", word)
            case Hint.DEFAULT | Hint.EVICT_LAST | Hint.SECTORS:
                return Unary(Prefix.DEREFERENCE, word)

    def _address(self, access: Access, ahead: int) -> Expr:
        """Of an item's element number `ahead`; over the item itself where memory is walked end to end."""
        c, walk = self.c, self.c.phase.walk
        position = c.at_item * c.phase.width + ahead
        if walk.flat and c.phase.width > 1:
            return substitute(access.address, dict.fromkeys(walk.axes, 0)) + position
        if len(walk.axes) == 1:
            return substitute(access.address, {walk.axes[0]: position})
        return (
            substitute(access.address, {walk.axes[0]: sym(walk.axes[0]) + ahead}) if ahead else access.address
        )

    def element(self, access: Access) -> Expression:
        """An element that was loaded, of the lane of the item."""
        c, lane = self.c, self.c.scope.lane
        if c.phase.width == 1:
            return self._place(access, [])
        several = c.phase.width_of(access)
        inner: Expression = lane
        piece: list[Expression] = []
        if several < c.phase.width:
            piece, inner = [binary(Infix.DIVIDE, lane, several)], binary(Infix.REMAINDER, lane, several)
        place = self._place(access, piece)
        if not self._as_words(access):
            return lane_of(place, inner)
        if several == 4:
            return library("byte_of", place, inner)
        word = lane_of(place, binary(Infix.DIVIDE, inner, 4))
        return library("byte_of", word, binary(Infix.REMAINDER, inner, 4))
