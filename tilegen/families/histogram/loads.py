"""Loads of the elements of a histogram: what may be read early, as vectors, several under way at once."""

from __future__ import annotations

from tilegen.algebra import Expr, substitute, sym
from tilegen.core.nest.model import Access
from tilegen.core.nest.values import unconditional
from tilegen.cuda.scope import prune
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


def load_lines(c: CountScope) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Statements that load one item, and the arrays that they fill."""
    scope, nest, width = c.scope, c.scope.nest, c.phase.width
    loads: list[str] = []
    arrays: list[str] = []
    for access in dict.fromkeys(nest.loads[r] for r in early_reads(c)):
        dtype = nest.pointer(access.pointer).dtype
        assert isinstance(dtype, DType)
        own = c.phase.width_of(access)
        pieces = width // own
        if _as_words(c, access):
            dtype, own = U32, own // 4
        ctype = scope.vector(dtype, own, own * dtype.size) if own > 1 else scope.file.types.storage(dtype)
        name, step = _array(c, access), f"[{c.step}]" if c.phase.items > 1 else ""
        shape = (f"[{c.items}]" if c.phase.items > 1 else "") + (f"[{pieces}]" if pieces > 1 else "")
        arrays.append(f"{ctype} {name}{shape};")
        for piece in range(pieces):
            place = f"{name}{step}" + (f"[{piece}]" if pieces > 1 else "")
            address = _address(c, access, piece * c.phase.width_of(access))
            loads.append(f"{place} = {_read(c, access, address, dtype, own)};")
    definitions = c.coordinates(sym("@item") * width)
    return (*prune(definitions, "\n".join(loads)), *loads), tuple(arrays)


def _as_words(c: CountScope, access: Access) -> bool:
    """Whether bytes are loaded as words, of which a permutation takes each byte: struct members would take two."""
    dtype = c.scope.nest.pointer(access.pointer).dtype
    return dtype == U8 and c.phase.width_of(access) % 4 == 0


def _read(c: CountScope, access: Access, address: Expr, dtype: DType, width: int) -> str:
    """A load of `width` elements of `dtype`, which may be words of bytes."""
    if width > 1 or not _as_words(c, access):
        return c.scope.read(access.pointer, address, dtype, width)
    text = f"reinterpret_cast<const unsigned*>({c.scope.place(access.pointer, address)})"
    match c.scope.hint(c.scope.nest.pointer(access.pointer).tensor):
        case Hint.STREAMING:
            return f"__ldcs({text})"
        case Hint.READONLY:
            return f"__ldg({text})"
        case Hint.DEFAULT | Hint.EVICT_LAST | Hint.SECTORS:
            return f"*{text}"


def _address(c: CountScope, access: Access, ahead: int) -> Expr:
    """Of an item's element number `ahead`; over the item itself where memory is walked end to end."""
    walk, position = c.phase.walk, sym("@item") * c.phase.width + ahead
    if walk.flat and c.phase.width > 1:
        return substitute(access.address, dict.fromkeys(walk.axes, 0)) + position
    if len(walk.axes) == 1:
        return substitute(access.address, {walk.axes[0]: position})
    return substitute(access.address, {walk.axes[0]: sym(walk.axes[0]) + ahead}) if ahead else access.address


def _array(c: CountScope, access: Access) -> str:
    reads = (r for r, a in c.scope.nest.loads.items() if a == access)
    field = next((f"_{r.field}" for r in reads if r.field is not None), "")
    wanted = f"{c.scope.pointer(access.pointer)}{field}_in"
    return c.scope.names.user(f"@in {access.pointer} {access.address}", wanted)


def loaded(c: CountScope, access: Access) -> str:
    """An element that was loaded."""
    own, name, lane = c.phase.width_of(access), _array(c, access), c.scope.symbol("@lane")
    name += f"[{c.step}]" if c.phase.items > 1 else ""
    if c.phase.width == 1:
        return name
    if own < c.phase.width:
        name, lane = f"{name}[{lane} / {own}]", f"{lane} % {own}"
    if not _as_words(c, access):
        return f"{name}.lane[{lane}]"
    c.scope.file.helpers.add("byte_of")
    if own == 4:
        return f"byte_of({name}, {lane})"
    inner = f"({lane})" if " " in lane else lane
    return f"byte_of({name}.lane[{inner} / 4], {lane if own == 4 else f'{inner} % 4'})"
