"""From a `Plan` to the texts of one kernel (`KernelView`): parameters, the way from block number to tile, phases."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tilegen.core.nest.model import Pointer, stride_symbol
from tilegen.core.plan.model import FIELD, Barrier, Buffer, Compute, Load, Phase, Plan
from tilegen.cuda.scope import FileContext, KernelScope, prune
from tilegen.cuda.view import (
    BarrierView,
    BodyView,
    ConstantView,
    KernelView,
    ParameterView,
    PhaseView,
    SharedView,
    SweepPhaseView,
)
from tilegen.dtypes import DType, Struct
from tilegen.families.registry import family_of
from tilegen.families.tiles.compute import view_compute
from tilegen.families.tiles.load import view_load
from tilegen.lang.spec import Bounds, Cast, ScalarRead, walk


def view_kernel(plan: Plan, file: FileContext) -> KernelView:
    """Phases first: what they use decides which parameters, constants and definitions there are."""
    scope = KernelScope(plan, file)
    body = _view_body(scope)
    text = "\n".join([*(t for p in body.phases for t in p.texts), *(s.declaration for s in body.shared)])
    setup = prune(list(body.setup), text)
    text += "\n" + "\n".join(setup)
    evicted_last = _evicted_last(scope, text)
    file.helpers |= scope.index.helpers
    return KernelView(
        name=plan.name,
        comment=(*_statements(plan), f"{plan.threads} threads per block; a block computes {body.extent}."),
        attributes=_attributes(plan),
        parameters=tuple(p for p in _parameters(scope) if _mentions(text, p.name)),
        constants=tuple(c for c in body.constants if _mentions(text, c.name)),
        shared=body.shared,
        evicted_last=evicted_last,
        setup=setup,
        phases=body.phases,
    )


def _view_body(scope: KernelScope) -> BodyView:
    body = family_of(scope.nest.kernel).body
    return _view_tiles(scope) if body is None else body(scope)


def _view_tiles(scope: KernelScope) -> BodyView:
    """The body of a kernel whose blocks compute tiles."""
    return BodyView(
        extent=_tile_text(scope),
        phases=tuple(_phase(scope, p) for p in scope.plan.phases),
        shared=_shared(scope),
        constants=tuple(_constants(scope)),
        setup=tuple(_setup(scope)),
    )


def _statements(plan: Plan) -> tuple[str, ...]:
    """What is computed, in the words of the spec."""
    lines = []
    for statement in plan.nest.kernel.statements:
        text = " ".join(line.split("#")[0].strip() for line in statement.span.text.splitlines()).strip()
        text = text.encode("ascii", "backslashreplace").decode().rstrip("\\;")
        if text not in lines:
            lines.append(text)
    return tuple(lines)


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _tile_text(scope: KernelScope) -> str:
    tiled = [scope.plan.tile(a) for a, t in scope.plan.schedule.tile if t > 1]
    if not tiled:
        return "one point"
    sizes = " x ".join(str(t.tile) for t in tiled)
    return f"a tile of {sizes} points ({' x '.join(scope.names.user(t.axis) for t in tiled)})"


def _attributes(plan: Plan) -> str:
    if plan.schedule.max_registers is not None:
        return f"__maxnreg__({plan.schedule.max_registers})"
    cluster = f"__cluster_dims__({plan.cluster}, 1, 1) " if plan.cluster > 1 else ""
    if plan.sectors is not None and plan.schedule.min_blocks is None:
        return (
            f"__launch_bounds__({plan.threads})"  # more registers than ptxas chooses keep other blocks away
        )
    # Without the second argument ptxas spills the register transposes it could keep.
    blocks = min(plan.schedule.min_blocks or 1, plan.target.max_threads_per_sm // plan.threads)
    return f"{cluster}__launch_bounds__({plan.threads}, {blocks})"


def _parameters(scope: KernelScope) -> tuple[ParameterView, ...]:
    names, found = scope.names, []
    for p in scope.nest.pointers:
        name, const = scope.pointer(p.name), "" if p.written else "const "
        found.append(
            ParameterView("pointer", p.name, name, f"{const}{_pointee(scope, p)}* __restrict__ {name}")
        )
    for s in scope.plan.scratch:
        name = scope.scratch(s.name)
        declaration = f"{scope.file.types.storage(s.dtype)}* __restrict__ {name}"
        found.append(ParameterView("scratch", s.name, name, declaration))
    keys = [("size", s.name) for s in scope.nest.kernel.sizes]
    keys += [("stride", stride_symbol(t, d)) for t, d in scope.nest.dynamic_strides]
    found += [ParameterView(kind, key, names.user(key), f"index_t {names.user(key)}") for kind, key in keys]
    for scalar in scope.nest.kernel.scalars:
        name = names.user(f"${scalar.name}")
        found.append(
            ParameterView("scalar", scalar.name, name, f"{scope.file.types.value(scalar.dtype)} {name}")
        )
    return tuple(found)


def _pointee(scope: KernelScope, pointer: Pointer) -> str:
    if isinstance(pointer.dtype, Struct):
        return scope.file.structs[pointer.tensor]
    return scope.file.types.storage(pointer.dtype)


def _constants(scope: KernelScope) -> tuple[ConstantView, ...]:
    tiled = [a for a, t in scope.plan.schedule.tile if t > 1]
    return tuple(ConstantView(scope.tile_constant(a), scope.plan.tile(a).tile) for a in tiled)


def _evicted_last(scope: KernelScope, text: str) -> tuple[str, ...]:
    """The pointers of the tensors that are to leave the L2 last."""
    pointers = [p for p in scope.nest.pointers if scope.evicted_last(p.tensor)]
    names = [name for p in pointers if _mentions(text, name := scope.pointer(p.name))]
    if names:
        scope.file.helpers.add("evict_last")
    return tuple(names)


# From the block number to its tile


def _setup(scope: KernelScope) -> list[tuple[str, str]]:
    """(name, definition) pairs, each used by later ones."""
    plan, index = scope.plan, scope.index
    lines = [(scope.symbol("@tid"), f"const int {scope.symbol('@tid')} = static_cast<int>(threadIdx.x);")]
    counts = {a: scope.names.user(f"@tiles_{a}", f"tiles_{scope.names.user(a)}") for a in plan.raster}
    for axis in plan.raster:
        tile, extent = plan.tile(axis), index(plan.tile(axis).extent)
        if tile.tile > 1:
            constant = scope.tile_constant(axis)
            extent = f"({extent} + {constant} - 1) / {constant}"
        number = tile.count.constant
        value = str(number) if number is not None else f"static_cast<unsigned>({extent})"
        lines.append((counts[axis], f"const unsigned {counts[axis]} = {value};"))
    for axis in (t.axis for t in plan.tiles if t.axis not in plan.raster):
        lines.append(
            (scope.symbol(f"@origin_{axis}"), f"const index_t {scope.symbol(f'@origin_{axis}')} = 0;")
        )
    grouped = plan.group > 1 and len(plan.raster) >= 2
    lines += (
        _grouped(scope, plan.raster, counts) if grouped else _digits(scope, plan.raster, counts, "blockIdx.x")
    )
    if plan.schedule.bounds is Bounds.SPLIT:
        inside = [
            f"{scope.symbol(f'@origin_{t.axis}')} + {_reached(scope, t.axis)} <= {index(t.extent)}"
            for t in plan.tiles
            if t.ragged
        ]
        interior = scope.interior
        lines.append((interior, f"const bool {interior} = {' && '.join(inside) or 'true'};"))
    return lines


def _reached(scope: KernelScope, axis: str) -> str:
    """Points along an axis that a tile reads."""
    tile, row = scope.tile_constant(axis), scope.plan.sectors
    return tile if row is None or axis != row.along else f"{tile} + {row.reach}"


def _digits(
    scope: KernelScope, raster: tuple[str, ...], counts: Mapping[str, str], number: str
) -> list[tuple[str, str]]:
    """The tile numbers of `raster` (slowest first) as digits of `number`."""
    lines = []
    for axis in reversed(raster):
        last = axis == raster[0]
        lines.append(_origin(scope, axis, number if last else f"{number} % {counts[axis]}"))
        number = f"{number} / {counts[axis]}"
    return lines


def _origin(scope: KernelScope, axis: str, number: str) -> tuple[str, str]:
    name = scope.symbol(f"@origin_{axis}")
    scale = f" * {scope.tile_constant(axis)}" if scope.plan.tile(axis).tile > 1 else ""
    return name, f"const index_t {name} = static_cast<index_t>({number}){scale};"


def _grouped(scope: KernelScope, raster: tuple[str, ...], counts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Bands of `group` tiles of the slower axis are walked together, so that blocks in flight share both inputs."""
    slow, fast, g = raster[-2], raster[-1], scope.plan.group
    band, first, rows, inside = (scope.names.user(f"@{k}", k) for k in ("band", "first", "rows", "inside"))
    plane = f"({counts[slow]} * {counts[fast]})"
    block = "blockIdx.x" if len(raster) == 2 else f"(blockIdx.x % {plane})"
    left = f"{counts[slow]} - {first}"
    return [
        (band, f"const unsigned {band} = {block} / ({g} * {counts[fast]});"),
        (first, f"const unsigned {first} = {band} * {g};"),
        (rows, f"const unsigned {rows} = {left} < {g} ? {left} : {g};"),
        (inside, f"const unsigned {inside} = {block} % ({g} * {counts[fast]});"),
        _origin(scope, slow, f"{first} + {inside} % {rows}"),
        _origin(scope, fast, f"{inside} / {rows}"),
        *_digits(scope, raster[:-2], counts, f"blockIdx.x / {plane}"),
    ]


# Shared memory


def _shared(scope: KernelScope) -> tuple[SharedView, ...]:
    views, offset, plan = [], 0, scope.plan
    if plan.dynamic_shared:
        comment = f"{plan.shared_bytes} bytes, more than a static array may have: the launcher asks for them."
        name = scope.names.user("@dynamic", "shared_bytes")
        views.append(SharedView(comment, f"extern __shared__ __align__(16) unsigned char {name}[];"))
    for buffer in plan.buffers:
        ctype, name, shape = (
            scope.file.types.storage(buffer.dtype),
            scope.buffer(buffer),
            _shape(scope, buffer),
        )
        text = f"__shared__ __align__(16) {ctype} {name}{shape};"
        if plan.dynamic_shared:
            offset = -(-offset // 16) * 16
            base = scope.names.user("@dynamic") + (f" + {offset}" if offset else "")
            text = f"{ctype} (&{name}){shape} = *reinterpret_cast<{ctype} (*){shape}>({base});"
            offset += buffer.bytes
        views.append(SharedView(_buffer_comment(scope, buffer), text))
    return tuple(views)


def _shape(scope: KernelScope, buffer: Buffer) -> str:
    """The array dimensions of a buffer: rows, and elements from one row to the next."""
    if buffer.flat:
        return "[" + _product([_extent_text(scope, *axis) for axis in buffer.axes]) + "]"
    rows = _product([_extent_text(scope, *axis) for axis in buffer.axes[:-1]]) or "1"
    row, extra = _extent_text(scope, *buffer.axes[-1]), buffer.pad
    if buffer.sectors is not None:
        row = _product([_extent_text(scope, *axis) for axis in reversed(buffer.sectors.axes)])
        extra += buffer.sectors.margin
    return f"[{rows}][{row + f' + {extra}' if extra else row}]"


def _extent_text(scope: KernelScope, axis: str, extent: int) -> str:
    """The extent of a buffer along an axis: the tile's, or some more."""
    if axis == FIELD:
        return str(extent)
    more = extent - scope.plan.tile(axis).tile
    return f"{scope.tile_constant(axis)} + {more}" if more else scope.tile_constant(axis)


def _product(factors: list[str]) -> str:
    return " * ".join(f"({f})" if "+" in f and len(factors) > 1 else f for f in factors)


def _buffer_comment(scope: KernelScope, buffer: Buffer) -> str:
    row = buffer.axes[-1][0]
    along = "its members" if row == FIELD else scope.names.user(row)
    if buffer.sectors is not None:
        along = " and ".join(scope.names.user(a) for a, _ in reversed(buffer.sectors.axes))
    text = f"The block's part of {scope.tensor(buffer.name)}, rows along {along}"
    if buffer.sectors is not None:
        text += f" and {buffer.sectors.margin} elements beyond"
    if buffer.swizzle is not None:
        piece = f"chunks of {buffer.chunk}" if buffer.chunk > 1 else "elements"
        return f"{text}; the {piece} of a row are XOR-swizzled: accesses across rows meet different banks."
    if buffer.pad:
        count = f"{buffer.pad} elements" if buffer.pad > 1 else "one element"
        return f"{text}; {count} of padding per row: accesses across rows meet different banks."
    return text + "."


# Phases


def _phase(scope: KernelScope, phase: Phase) -> PhaseView:
    split = scope.plan.schedule.bounds is Bounds.SPLIT
    match phase:
        case Barrier():
            return BarrierView()
        case Load():
            free = view_load(scope, phase, False) if split and phase.guards else None
            return SweepPhaseView(
                (_load_comment(scope, phase),), view_load(scope, phase, True), free, scope.interior
            )
        case Compute():
            free = view_compute(scope, phase, False) if split and phase.guards else None
            return SweepPhaseView(
                _compute_comment(scope, phase), view_compute(scope, phase, True), free, scope.interior
            )
        case _:
            raise AssertionError("a nest of the map family has tiles only")


def _load_comment(scope: KernelScope, load: Load) -> str:
    fast = load.sweep.coordinates[0][0]
    along = "its members" if fast == FIELD else scope.names.user(fast)
    text = f"Load the tile of {scope.tensor(load.buffer.tensor)}, coalesced along {along}"
    if load.width > 1:
        text += f", {load.width} elements at a time"
    if load.sweep.by_rows:
        text += "; a warp takes a row"
    if load.across is not None:
        text += f"; blocks of {load.across[1]} x {load.width} are transposed in registers"
    return text + "."


def _compute_comment(scope: KernelScope, compute: Compute) -> tuple[str, ...]:
    outputs = ", ".join(dict.fromkeys(scope.pointer(s.access.pointer) for s in compute.stores))
    text = f"Write {outputs}"
    if compute.sweep.sectors is not None:
        return (
            f"{text}, a warp per row: from the first sector of 32 bytes that begins in the tile to the first that",
            "begins behind it, so that no two blocks write parts of one.",
        )
    if compute.sweep.digits:
        text += f", neighbouring threads along {scope.names.user(compute.sweep.digits[0][0])}"
    if compute.sweep.run is not None:
        text += f", {compute.sweep.run.width} elements per thread at a time"
    return (text + ".",)


def arithmetic_floats(plan: Plan) -> frozenset[DType]:
    """Narrow float types that appear in a conversion or as a non-zero constant, and so need their C type."""
    found: set[DType] = set()
    for store in plan.nest.stores:
        for node in walk(store.value):
            if isinstance(node, Cast):
                found |= {node.operand.dtype, node.dtype}
            elif isinstance(node, ScalarRead):
                found.add(node.dtype)
    for access in plan.nest.load_accesses():
        if access.boundary_value:
            found.add(access.dtype)
    return frozenset(found)
