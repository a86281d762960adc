"""`auto`: the schedule tilegen chooses itself, from the strides of the accesses, the element sizes and the target."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.algebra import Expr, evaluate, symbols
from tilegen.dtypes import Struct
from tilegen.nest.affine import contiguous_axis, memory_order, step_of
from tilegen.nest.model import Access, Nest
from tilegen.schedule.model import Placement, Schedule, Stage
from tilegen.spec import Aos, Read, Where, walk
from tilegen.target import Target

_VECTOR_BYTES = 16
_THREADS = 256


def auto_schedule(nest: Nest, target: Target, sizes: Mapping[str, int] | None = None) -> Schedule:
    """A schedule for `nest`; `sizes` (those known) let it fit tiles to short axes and choose the widest vectors."""
    known = dict(sizes or {})
    if not nest.axes:
        return Schedule("auto", tile=(), thread_count=1)
    output = nest.stores[0].access
    row = contiguous_axis(nest, output) or memory_order(nest, output)[0]
    transposed = [a for a in transposed_loads(nest, row)]
    if transposed:
        return _through_shared_memory(nest, row, transposed, known)
    return _direct(nest, row, known)


def transposed_loads(nest: Nest, row: str) -> list[tuple[str, str]]:
    """(tensor, its contiguous axis) of loads that run across the output's rows and can be staged."""
    found: dict[str, str] = {}
    refused: set[str] = set()
    conditional = _conditional_tensors(nest)
    for access in nest.load_accesses():
        pointer = nest.pointer(access.pointer)
        tensor = pointer.tensor
        fast = contiguous_axis(nest, access)
        if (
            access.checked
            or isinstance(pointer.dtype, Struct)
            or tensor in conditional
            or isinstance(nest.kernel.tensor(tensor).element, Struct)
            or (tensor in found and found[tensor] != fast)
        ):
            refused.add(tensor)
        elif fast is not None and fast != row:
            found[tensor] = fast
    addresses: dict[str, set[Expr]] = {}
    for access in nest.load_accesses():
        addresses.setdefault(nest.pointer(access.pointer).tensor, set()).add(access.address)
    return [(t, f) for t, f in found.items() if t not in refused and len(addresses[t]) == 1]


def _conditional_tensors(nest: Nest) -> set[str]:
    found: set[str] = set()
    for store in nest.stores:
        for node in walk(store.value):
            if isinstance(node, Where):
                for side in (node.then, node.otherwise):
                    found |= {v.tensor for v in walk(side) if isinstance(v, Read)}
    return found


def _known(value: Expr, sizes: Mapping[str, int]) -> int | None:
    return int(evaluate(value, sizes)) if symbols(value) <= sizes.keys() else None


def _element_bytes(nest: Nest, access: Access) -> int:
    return nest.pointer(access.pointer).dtype.size


def _width(nest: Nest, access: Access, axis: str, sizes: Mapping[str, int]) -> int:
    """The widest vector of `access` along `axis` that the sizes known allow (unknown sizes are taken to allow it)."""
    width = _VECTOR_BYTES // min(_VECTOR_BYTES, _element_bytes(nest, access))
    if isinstance(nest.pointer(access.pointer).dtype, Struct) or access.checked:
        return 1
    extent = _known(nest.axis(axis).extent, sizes)
    while width > 1:
        step = step_of(nest, access, axis, width)
        fits = step is not None and step.step == 1
        if fits and step is not None:
            values = [_known(d, sizes) for d in step.divisible]
            fits = all(v is None or v % width == 0 for v in values) and (
                extent is None or extent % width == 0
            )
        if fits:
            return width
        width //= 2
    return 1


def _through_shared_memory(
    nest: Nest, row: str, staged: list[tuple[str, str]], sizes: Mapping[str, int]
) -> Schedule:
    fast = staged[0][1]
    staged = [(t, f) for t, f in staged if f == fast]
    output = nest.stores[0].access
    largest = max(nest.pointer(a.pointer).dtype.size for a in (output, *nest.load_accesses()))
    side = {1: 128, 2: 128, 4: 64, 8: 32, 16: 16}[largest]
    loads = {
        t: next(a for a in nest.load_accesses() if nest.pointer(a.pointer).tensor == t) for t, _ in staged
    }
    in_width = min(_width(nest, a, fast, sizes) for a in loads.values())
    out_width = min(_width(nest, s.access, row, sizes) for s in nest.stores)
    if in_width == 1 and out_width == 1:
        side = min(side, 64) if largest < 8 else 32
    tile = {fast: _shrunk(nest, fast, side, in_width, sizes), row: _shrunk(nest, row, side, out_width, sizes)}
    if min(tile.values()) == 1:
        return _direct(nest, row, sizes)
    _grow(
        nest, tile, (memory_order(nest, output), memory_order(nest, loads[staged[0][0]])), side * side, sizes
    )
    widths = {nest.pointer(s.access.pointer).tensor: out_width for s in nest.stores} | {
        t: in_width for t, _ in staged
    }
    return Schedule(
        "auto",
        tile=tuple((a.name, tile[a.name]) for a in nest.axes if a.name in tile),
        stages=tuple(Stage(t, Placement.BEST, 0) for t, _ in staged),
        vector_of=tuple((t, w) for t, w in widths.items() if w > 1),
    )


def _shrunk(nest: Nest, axis: str, side: int, width: int, sizes: Mapping[str, int]) -> int:
    extent = _known(nest.axis(axis).extent, sizes)
    if extent is None or extent >= side:
        return side
    return max(width, -(-max(1, extent) // width) * width)


def _grow(
    nest: Nest,
    tile: dict[str, int],
    orders: tuple[tuple[str, ...], ...],
    points: int,
    sizes: Mapping[str, int],
) -> None:
    """Give a tile that short axes keep small more axes, or more of the long one, until it holds `points` points."""
    for order in orders:
        for axis in order:
            total = 1
            for n in tile.values():
                total *= n
            room = points // max(1, total)
            extent = _known(nest.axis(axis).extent, sizes)
            if room < 2 or extent is None:
                continue
            have = tile.get(axis, 1)
            tile[axis] = (
                min(have * room, have * -(-max(1, extent) // have))
                if axis in tile
                else min(room, max(1, extent))
            )


def _direct(nest: Nest, row: str, sizes: Mapping[str, int]) -> Schedule:
    output = nest.stores[0].access
    loads = [a for a in nest.load_accesses() if not a.checked]
    widths: dict[str, int] = {}
    for access in (*(s.access for s in nest.stores), *loads):
        tensor = nest.pointer(access.pointer).tensor
        width = _width(nest, access, row, sizes)
        widths[tensor] = min(widths.get(tensor, width), width)
    for access in nest.load_accesses():
        if access.checked:
            widths[nest.pointer(access.pointer).tensor] = 1
    item = max(widths.values())
    if contiguous_axis(nest, output) is None or item == 1:
        widths, item = {}, 1
    extent = _known(nest.axis(row).extent, sizes)
    if extent is not None and item > 1 and extent % item:
        widths, item = {}, 1
    points = _THREADS * item * (4 if item == 1 else 2)
    tile = {row: points}
    if extent is not None and extent < points:
        tile[row] = max(item, -(-max(1, extent) // item) * item)
        _grow(nest, tile, (memory_order(nest, output),), points, sizes)
    elif len(nest.axes) > 1 and extent is None:
        tile[row] = _THREADS * item
    return Schedule(
        "auto",
        tile=tuple((a.name, tile[a.name]) for a in nest.axes if a.name in tile),
        vector_of=tuple((t, w) for t, w in widths.items() if w > 1),
    )


def is_aos(nest: Nest, tensor: str) -> bool:
    declared = nest.kernel.tensor(tensor)
    return isinstance(declared.element, Struct) and isinstance(declared.placement, Aos)
