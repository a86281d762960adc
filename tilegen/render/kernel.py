"""From a `Plan` to the texts of one kernel (`KernelView`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tilegen.algebra import ANY, NON_NEGATIVE, Expr, Range, expr, substitute, sym
from tilegen.dtypes import DType, Struct
from tilegen.nest.affine import depends_on
from tilegen.nest.model import Access, CheckedIndex, Pointer, stride_symbol
from tilegen.plan.model import FIELD, Barrier, Buffer, Compute, Load, Plan, Sweep, TileAxis
from tilegen.render.c_index import IndexPrinter
from tilegen.render.c_types import TypeNames, vector_name
from tilegen.render.names import Names
from tilegen.render.values import ValuePrinter, literal
from tilegen.render.view import (
    ConstantView,
    KernelView,
    LoopView,
    ParameterView,
    PhaseView,
    SharedView,
    SweepView,
    VectorView,
)
from tilegen.spec import Aosoa, Bounds, Boundary, Cast, Hint, Read, Value, walk


@dataclass
class FileContext:
    """What the kernels of one file share: types, helpers and vector structs that turned out to be needed."""

    types: TypeNames
    helpers: set[str] = field(default_factory=set)
    vectors: dict[str, VectorView] = field(default_factory=dict)
    structs: Mapping[str, str] = field(default_factory=dict)


def mark(text: str, line: int | None) -> str:
    """`text` with the spec line it comes from; `render` takes the marks out again and keeps the map."""
    return text if line is None else f"{text}/*@{line}*/"


def view_kernel(plan: Plan, file: FileContext) -> KernelView:
    return _KernelPrinter(plan, file).view()


class _KernelPrinter:
    def __init__(self, plan: Plan, file: FileContext) -> None:
        self.plan, self.file, self.nest = plan, file, plan.nest
        kernel = plan.nest.kernel
        self.names = Names()
        self.axes = {a.name for a in self.nest.axes}
        for pointer in self.nest.pointers:
            self.names.user(f"*{pointer.name}", pointer.name)
        for size in kernel.sizes:
            self.names.user(size.name)
        for tensor, dimension in self.nest.dynamic_strides:
            self.names.user(stride_symbol(tensor, dimension))
        for scalar in kernel.scalars:
            self.names.user(f"${scalar.name}", scalar.name)
        for axis in self.nest.axes:
            self.names.user(axis.name)
        signed = {stride_symbol(t, d) for t, d in self.nest.dynamic_strides}
        self.ranges: dict[str, Range] = {s.name: NON_NEGATIVE for s in kernel.sizes}
        self.ranges |= {s: ANY for s in signed}
        for axis in self.nest.axes:
            self.ranges[axis.name] = NON_NEGATIVE
            for part in ("thread", "step", "tile", "origin"):
                self.ranges[f"@{part}_{axis.name}"] = NON_NEGATIVE
        self.ranges |= {n: NON_NEGATIVE for n in ("@tid", "@block", FIELD, "@lane", "@row", f"@thread_{FIELD}", f"@step_{FIELD}", f"@tile_{FIELD}")}
        self.index = IndexPrinter(self.symbol, self.ranges, self._leading)

    # Names

    def symbol(self, name: str) -> str:
        """C identifier of a plan symbol."""
        if not name.startswith("@"):
            return self.names.user(name)
        kind, _, axis = name[1:].partition("_")
        label = "field" if axis == FIELD else self.names.user(axis) if axis else ""
        match kind:
            case "tid":
                return self.names.user("@tid", "thread")
            case "field":
                return self.names.user(FIELD, "tile_field")
            case "origin" if self.plan.tile(axis).tile == 1:
                return label
            case "origin":
                return self.names.user(name, f"{label}0")
            case "lane" | "row" | "block":
                return self.names.user(name, {"lane": "l", "row": "r", "block": "block"}[kind])
            case _:
                return self.names.user(name, f"{kind}_{label}")

    def _leading(self, name: str) -> bool:
        return name in self.axes or name.startswith("@")

    def pointer_name(self, pointer: str) -> str:
        return self.names.user(f"*{pointer}")

    # The kernel

    def view(self) -> KernelView:
        plan = self.plan
        phases = tuple(self._phase(p) for p in plan.phases)
        self.file.helpers |= self.index.helpers
        text = "\n".join(_texts(phases))
        shared = self._shared()
        setup = prune(self._setup(), text + "\n" + "\n".join(s.declaration for s in shared))
        text += "\n" + "\n".join(setup)
        return KernelView(
            name=plan.name,
            comment=self._comment(),
            attributes=self._attributes(),
            parameters=tuple(p for p in self._parameters() if re.search(rf"\b{re.escape(p.name)}\b", text)),
            constants=tuple(
                c for c in self._constants() if re.search(rf"\b{c.name}\b", text + "".join(s.declaration for s in shared))
            ),
            shared=shared,
            setup=setup,
            phases=phases,
        )

    def _comment(self) -> tuple[str, ...]:
        plan = self.plan
        lines = [f"{plan.threads} threads per block; a block computes " + self._tile_text() + "."]
        return tuple(lines)

    def _tile_text(self) -> str:
        tiled = [t for t in self.plan.tiles if t.tile > 1]
        if not tiled:
            return "one point"
        sizes = " x ".join(str(t.tile) for t in tiled)
        names = " x ".join(self.names.user(t.axis) for t in tiled)
        return f"a tile of {sizes} points ({names})"

    def _attributes(self) -> str:
        schedule = self.plan.schedule
        if schedule.max_registers is not None:
            return f"__maxnreg__({schedule.max_registers})"
        # Without the second argument ptxas spills the register transposes it could keep.
        return f"__launch_bounds__({self.plan.threads}, {schedule.min_blocks or 1})"

    def _parameters(self) -> tuple[ParameterView, ...]:
        found = []
        for p in self.nest.pointers:
            name = self.pointer_name(p.name)
            const = "" if p.written else "const "
            found.append(ParameterView("pointer", p.name, name, f"{const}{self._pointee(p)}* __restrict__ {name}"))
        for size in self.nest.kernel.sizes:
            name = self.names.user(size.name)
            found.append(ParameterView("size", size.name, name, f"index_t {name}"))
        for tensor, dimension in self.nest.dynamic_strides:
            key = stride_symbol(tensor, dimension)
            found.append(ParameterView("stride", key, self.names.user(key), f"index_t {self.names.user(key)}"))
        for scalar in self.nest.kernel.scalars:
            name = self.names.user(f"${scalar.name}")
            ctype = self.file.types.value(scalar.dtype)
            found.append(ParameterView("scalar", scalar.name, name, f"{ctype} {name}"))
        return tuple(found)

    def _pointee(self, pointer: Pointer) -> str:
        if isinstance(pointer.dtype, Struct):
            return self.file.structs[pointer.tensor]
        return self.file.types.storage(pointer.dtype)

    def _constants(self) -> tuple[ConstantView, ...]:
        return tuple(ConstantView(self._tile_constant(t.axis), t.tile) for t in self.plan.tiles if t.tile > 1)

    def _tile_constant(self, axis: str) -> str:
        return self.names.user(f"@TILE_{axis}", f"TILE_{axis.upper()}")

    def _setup(self) -> list[tuple[str, str]]:
        """(name, definition) pairs from the block number to the origin of its tile."""
        plan = self.plan
        lines = [(self.symbol("@tid"), f"const int {self.symbol('@tid')} = static_cast<int>(threadIdx.x);")]
        raster = plan.raster
        counts = {a: self.names.user(f"@tiles_{a}", f"tiles_{self.names.user(a)}") for a in raster}
        for axis in raster:
            tile = plan.tile(axis)
            extent = self.index(tile.extent)
            if tile.tile > 1:
                constant = self._tile_constant(axis)
                extent = f"({self.index(tile.extent)} + {constant} - 1) / {constant}"
            lines.append((counts[axis], f"const unsigned {counts[axis]} = static_cast<unsigned>({extent});"))
        for axis in (t.axis for t in plan.tiles if t.axis not in raster):
            lines.append((self.symbol(f"@origin_{axis}"), f"const index_t {self.symbol(f'@origin_{axis}')} = 0;"))
        lines += self._grouped(raster, counts) if plan.group > 1 and len(raster) >= 2 else self._plain(raster, counts)
        if plan.schedule.bounds is Bounds.SPLIT:
            ragged = [t for t in plan.tiles if t.ragged]
            conditions = [
                f"{self.symbol(f'@origin_{t.axis}')} + {self._tile_constant(t.axis)} <= {self.index(t.extent)}" for t in ragged
            ]
            interior = self.names.user("@interior", "interior")
            lines.append((interior, f"const bool {interior} = {' && '.join(conditions) or 'true'};"))
        return lines

    def _origin(self, axis: str, number: str) -> tuple[str, str]:
        name = self.symbol(f"@origin_{axis}")
        scale = f" * {self._tile_constant(axis)}" if self.plan.tile(axis).tile > 1 else ""
        return name, f"const index_t {name} = static_cast<index_t>({number}){scale};"

    def _plain(self, raster: tuple[str, ...], counts: Mapping[str, str]) -> list[tuple[str, str]]:
        lines = []
        left = "blockIdx.x"
        for position, axis in enumerate(reversed(raster)):
            last = position == len(raster) - 1
            lines.append(self._origin(axis, left if last else f"{left} % {counts[axis]}"))
            if not last:
                left = f"{left} / {counts[axis]}"
        return lines

    def _grouped(self, raster: tuple[str, ...], counts: Mapping[str, str]) -> list[tuple[str, str]]:
        slow, fast = raster[-2], raster[-1]
        names = {k: self.names.user(f"@{k}", k) for k in ("band", "first", "rows", "inside")}
        g = self.plan.group
        plane = f"({counts[slow]} * {counts[fast]})"
        block = "blockIdx.x" if len(raster) == 2 else f"(blockIdx.x % {plane})"
        lines = [
            (names["band"], f"const unsigned {names['band']} = {block} / ({g} * {counts[fast]});"),
            (names["first"], f"const unsigned {names['first']} = {names['band']} * {g};"),
            (
                names["rows"],
                f"const unsigned {names['rows']} = {counts[slow]} - {names['first']} < {g} ? {counts[slow]} - {names['first']} : {g};",
            ),
            (names["inside"], f"const unsigned {names['inside']} = {block} % ({g} * {counts[fast]});"),
            self._origin(slow, f"{names['first']} + {names['inside']} % {names['rows']}"),
            self._origin(fast, f"{names['inside']} / {names['rows']}"),
        ]
        left = f"blockIdx.x / {plane}"
        for position, axis in enumerate(reversed(raster[:-2])):
            last = position == len(raster) - 3
            lines.append(self._origin(axis, left if last else f"{left} % {counts[axis]}"))
            left = f"{left} / {counts[axis]}"
        return lines

    def _shared(self) -> tuple[SharedView, ...]:
        if not self.plan.buffers:
            return ()
        views = []
        offset = 0
        if self.plan.dynamic_shared:
            name = self.names.user("@dynamic", "shared_bytes")
            views.append(
                SharedView(
                    f"{self.plan.shared_bytes} bytes, more than a static array may have: the launcher asks for them.",
                    f"extern __shared__ __align__(16) unsigned char {name}[];",
                )
            )
        for buffer in self.plan.buffers:
            ctype = self.file.types.storage(buffer.dtype)
            name = self._buffer_name(buffer)
            rows, pitch = self._rows_text(buffer), self._pitch_text(buffer)
            if self.plan.dynamic_shared:
                offset = -(-offset // 16) * 16
                base = self.names.user("@dynamic") + (f" + {offset}" if offset else "")
                text = f"{ctype} (&{name})[{rows}][{pitch}] = *reinterpret_cast<{ctype} (*)[{rows}][{pitch}]>({base});"
                offset += buffer.bytes
            else:
                text = f"__shared__ __align__(16) {ctype} {name}[{rows}][{pitch}];"
            views.append(SharedView(self._buffer_comment(buffer), text))
        return tuple(views)

    def _buffer_name(self, buffer: Buffer) -> str:
        return self.names.user(f"[{buffer.name}", f"{self.names.user('*' + buffer.name, buffer.name)}_tile")

    def _rows_text(self, buffer: Buffer) -> str:
        parts = [str(n) if a == FIELD else self._tile_constant(a) for a, n in buffer.axes[:-1]]
        return " * ".join(parts) or "1"

    def _pitch_text(self, buffer: Buffer) -> str:
        axis, extent = buffer.axes[-1]
        row = str(extent) if axis == FIELD else self._tile_constant(axis)
        return f"{row} + {buffer.pad}" if buffer.pad else row

    def _buffer_comment(self, buffer: Buffer) -> str:
        row = buffer.axes[-1][0]
        along = "its members" if row == FIELD else self.names.user(row)
        text = f"The block's part of {self.names.user('*' + buffer.name, buffer.name)}, rows along {along}"
        if buffer.swizzle is not None:
            piece = f"chunks of {buffer.chunk}" if buffer.chunk > 1 else "elements"
            return text + f"; the {piece} of a row are XOR-swizzled, so that reads across rows meet different banks."
        if buffer.pad:
            return text + f"; {buffer.pad} element{'s' if buffer.pad > 1 else ''} of padding per row, so that reads across rows meet different banks."
        return text + "."

    # Phases

    def _phase(self, phase: Load | Barrier | Compute) -> PhaseView:
        split = self.plan.schedule.bounds is Bounds.SPLIT
        match phase:
            case Barrier():
                return PhaseView((), None, None)
            case Load():
                make = self._load
                comment = self._load_comment(phase)
                guarded = make(phase, True)
                return PhaseView(comment, guarded, make(phase, False) if split and phase.guards else None)
            case Compute():
                compute = self._compute(phase, True)
                free = self._compute(phase, False) if split and phase.guards else None
                return PhaseView(self._compute_comment(phase), compute, free)

    def _load_comment(self, load: Load) -> tuple[str, ...]:
        fast = load.sweep.coordinates[0][0]
        along = "its members" if fast == FIELD else self.names.user(fast)
        name = self.names.user("*" + load.buffer.tensor, load.buffer.tensor)
        text = f"Load the tile of {name}, coalesced along {along}"
        if load.width > 1:
            text += f", {load.width} elements at a time"
        if load.across is not None:
            text += f"; {load.across[1]} x {load.width} elements change places in registers"
        return (text + ".",)

    def _compute_comment(self, compute: Compute) -> tuple[str, ...]:
        outputs = ", ".join(dict.fromkeys(self.pointer_name(s.access.pointer) for s in compute.stores))
        fast = compute.sweep.coordinates[0][0] if compute.sweep.coordinates else None
        text = f"Write {outputs}"
        if fast is not None:
            text += f", neighbouring threads along {self.names.user(fast)}"
        if compute.sweep.vector is not None:
            text += f", {compute.sweep.vector[1]} elements per thread at a time"
        return (text + ".",)

    def _coordinates(self, sweep: Sweep) -> list[tuple[str, str]]:
        """(name, definition) of in-tile and global coordinates."""
        lines = []
        for axis, value in sweep.coordinates:
            inside = self.symbol(FIELD if axis == FIELD else f"@tile_{axis}")
            lines.append((inside, f"const int {inside} = {self.index(value)};"))
            if axis == FIELD:
                continue
            name = self.names.user(axis)
            lines.append((name, f"const index_t {name} = {self.symbol(f'@origin_{axis}')} + {inside};"))
        for tile in self.plan.tiles:
            if tile.tile > 1 and tile.axis not in dict(sweep.coordinates):
                name = self.names.user(tile.axis)
                lines.append((name, f"const index_t {name} = {self.symbol(f'@origin_{tile.axis}')};"))
        return lines

    def _sweep(self, sweep: Sweep, conditions: Iterable[str], body: list[str]) -> SweepView:
        guard = " && ".join(conditions)
        inside = prune(self._coordinates(sweep), "\n".join([guard, *body]))
        digits = [
            (self.symbol(f"@thread_{a}"), f"const int {self.symbol(f'@thread_{a}')} = {self.index(e)};") for a, e in sweep.digits
        ]
        before = prune(digits, "\n".join([guard, *inside, *body]))
        loops = tuple(
            LoopView(
                self.symbol(f"@step_{p.axis}"), p.trip, "#pragma unroll" if p.unroll is None else f"#pragma unroll {p.unroll}"
            )
            for p in sweep.loops
        )
        return SweepView(before, loops, inside, guard, tuple(body))

    def _limits(self, sweep: Sweep) -> list[str]:
        return [f"{self.index(e, 1)} < {bound}" for e, bound in sweep.limits]

    def _guard(self, axis: str, shift: str = "") -> str:
        return f"{self.names.user(axis)}{shift} < {self.index(self.nest.axis(axis).extent)}"

    def _load(self, load: Load, guarded: bool) -> SweepView:
        line = load.access and self._stage_line(load)
        buffer, name = load.buffer, self._buffer_name(load.buffer)
        pointer = self.pointer_name(load.access.pointer)
        address = load.access.address
        if any(a == FIELD for a, _ in load.sweep.coordinates):
            address = address + sym(FIELD)
        conditions = self._limits(load.sweep)
        at = {a: sym(FIELD if a == FIELD else f"@tile_{a}") for a, _ in load.sweep.coordinates}
        guards = [a for a in load.guards if guarded and not (load.across and a == load.across[0])]
        conditions += [self._guard(a) for a in guards]
        if load.across is None:
            target = f"{name}[{self.index(buffer.row(at))}][{self.index(buffer.column(at))}]"
            source = self._load_text(pointer, address, load)
            if load.width > 1:
                target = f"*reinterpret_cast<{self._vector(buffer.dtype, load.width, min(16, load.width * buffer.dtype.size))}*>(&{target})"
            return self._sweep(load.sweep, conditions, [mark(f"{target} = {source};", line)])
        return self._sweep(load.sweep, conditions, self._transposing_body(load, guarded, at, line))

    def _transposing_body(self, load: Load, guarded: bool, at: Mapping[str, Expr], line: int | None) -> list[str]:
        assert load.across is not None
        axis, count = load.across
        fast = load.sweep.vector[0] if load.sweep.vector else load.sweep.coordinates[0][0]
        buffer, dtype = load.buffer, load.buffer.dtype
        name, pointer = self._buffer_name(buffer), self.pointer_name(load.access.pointer)
        r, l = self.symbol("@row"), self.symbol("@lane")
        rows, packed = self.names.user("@rows", "rows"), self.names.user("@packed", "packed")
        row_type = self._vector(dtype, load.width, load.width * dtype.size) if load.width > 1 else self.file.types.storage(dtype)
        column_type = self._vector(dtype, count, count * dtype.size)
        address = substitute(load.access.address, {axis: sym(axis) + sym("@row")})
        read = f"{rows}[{r}] = {self._load_text(pointer, address, load)};"
        if guarded and axis in load.guards:
            read = f"if ({self._guard(axis, f' + {r}')}) {{ {read} }}"
        place = {a: e + sym("@lane") if a == fast and load.width > 1 else e for a, e in at.items()}
        target = f"{name}[{self.index(buffer.row(place))}][{self.index(buffer.column(place))}]"
        element = f"{rows}[{r}].lane[{l}]" if load.width > 1 else f"{rows}[{r}]"
        body = [
            f"{row_type} {rows}[{count}] = {{}};",
            "#pragma unroll",
            f"for (int {r} = 0; {r} < {count}; ++{r}) {{",
            "    " + mark(read, line),
            "}",
        ]
        inner = [
            f"{column_type} {packed};",
            "#pragma unroll",
            f"for (int {r} = 0; {r} < {count}; ++{r}) {{ {packed}.lane[{r}] = {element}; }}",
            mark(f"*reinterpret_cast<{column_type}*>(&{target}) = {packed};", line),
        ]
        if load.width == 1:
            return body + inner
        return [
            *body,
            "#pragma unroll",
            f"for (int {l} = 0; {l} < {load.width}; ++{l}) {{",
            *("    " + x for x in inner),
            "}",
        ]

    def _stage_line(self, load: Load) -> int | None:
        stage = self.plan.schedule.stage_of(load.buffer.tensor)
        return stage.span.line if stage is not None and stage.span is not None else self._read_line(load.buffer.tensor)

    def _read_line(self, tensor: str) -> int | None:
        return next((r.span.line for r in self.nest.loads if r.tensor == tensor and r.span is not None), None)

    def _load_text(self, pointer: str, address: Expr, load: Load) -> str:
        dtype = load.buffer.dtype
        return self._global_read(pointer, load.buffer.tensor, address, dtype, load.width)

    def _global_read(self, pointer: str, tensor: str, address: Expr, dtype: DType, width: int) -> str:
        """A load of `width` elements; with the tensor's cache hint."""
        hint = dict(self.plan.schedule.hints).get(tensor, Hint.DEFAULT)
        if width == 1 and hint is Hint.DEFAULT:
            return f"{pointer}[{self.index(address)}]"
        place = f"{pointer} + {self.index(address)}" if address.terms else pointer
        if width == 1:
            intrinsic = "__ldcs" if hint is Hint.STREAMING else "__ldg"
            return f"{intrinsic}({place})"
        vector = self._vector(dtype, width, width * dtype.size)
        if hint is Hint.DEFAULT:
            return f"*reinterpret_cast<const {vector}*>({place})"
        helper = "load_streaming" if hint is Hint.STREAMING else "load_readonly"
        self.file.helpers.add(helper)
        return f"{helper}<{vector}>({place})"

    def _vector(self, dtype: DType, width: int, alignment: int) -> str:
        alignment = min(16, alignment)
        name = vector_name(dtype, width, alignment)
        self.file.vectors.setdefault(name, VectorView(name, self.file.types.storage(dtype), width, width * dtype.size, alignment))
        return name

    # Computation

    def _compute(self, compute: Compute, guarded: bool) -> SweepView:
        conditions = self._limits(compute.sweep)
        conditions += [self._guard(a) for a in compute.guards if guarded]
        body = _ComputeBody(self, compute).lines()
        return self._sweep(compute.sweep, conditions, body)


class _ComputeBody:
    """The statements of one item: loads, values, stores. Every value is computed before the first store, so that an
    `inout` tensor is read as it was before the launch."""

    def __init__(self, kernel: _KernelPrinter, compute: Compute) -> None:
        self.k, self.compute = kernel, compute
        self.vector = compute.sweep.vector
        self.width = self.vector[1] if self.vector else 1
        self.staged = dict(compute.staged)
        self.shared_widths = dict(compute.shared_widths)
        self.before: list[str] = []
        self.hoisted: dict[Read, str] = {}

    def lines(self) -> list[str]:
        if self.vector is None:
            return self._scalar()
        moved = self._plain_move()
        return moved if moved is not None else self._lanes()

    # One element at a time

    def _scalar(self) -> list[str]:
        printer = self._printer({})
        for store in self.compute.stores:
            printer.count(store.value)
        texts = [printer(s.value) for s in self.compute.stores]
        lines = list(printer.lines)
        several = len(texts) > 1 and bool(self._inout())
        for n, store in enumerate(self.compute.stores):
            if several:
                name = self.k.names.user(f"@result{n}", f"{self.k.pointer_name(store.access.pointer)}_value")
                lines.append(f"const {self._value_type(store.access.dtype)} {name} = {texts[n]};")
                texts[n] = name
        for store, text in zip(self.compute.stores, texts, strict=True):
            line = store.assign.span.line if store.assign.span is not None else None
            lines.append(mark(self._store_text(store.access, {}, text), line))
        return lines

    def _inout(self) -> set[str]:
        written = {s.access.pointer for s in self.compute.stores}
        return written & {a.pointer for a in self.k.nest.loads.values()}

    def _value_type(self, dtype: DType) -> str:
        return self.k.file.types.value(dtype)

    def _store_text(self, access: Access, shift: Mapping[str, Expr], value: str) -> str:
        place = self._element(access, shift)
        hint = self._hint(access)
        if hint is Hint.STREAMING and access.member is None:
            return f"__stcs(&{place}, {value});"
        return f"{place} = {value};"

    def _hint(self, access: Access) -> Hint:
        return dict(self.k.plan.schedule.hints).get(self.k.nest.pointer(access.pointer).tensor, Hint.DEFAULT)

    def _element(self, access: Access, shift: Mapping[str, Expr]) -> str:
        """The lvalue of an access; `shift` moves axes (to a lane)."""
        pointer = self.k.nest.pointer(access.pointer)
        name = self.k.pointer_name(access.pointer)
        address = substitute(access.address, shift)
        if access.member is None:
            return f"{name}[{self.k.index(address)}]"
        placement = self.k.nest.kernel.tensor(pointer.tensor).placement
        member = member_name(access.member)
        if isinstance(placement, Aosoa):
            block, inside = address // placement.block, address % placement.block
            return f"{name}[{self.k.index(block)}].{member}[{self.k.index(inside)}]"
        return f"{name}[{self.k.index(address)}].{member}"

    def _printer(self, shift: Mapping[str, Expr]) -> ValuePrinter:
        lets = {value: name for name, value in self.k.nest.lets}
        return ValuePrinter(
            types=self.k.file.types,
            read=lambda read: self._read(read, shift),
            index=lambda e: self.k.index(substitute(self._in_nest(e), shift)),
            scalar=lambda name: self.k.names.user(f"${name}"),
            fresh=self._fresh,
            lets=lets,
            helpers=self.k.file.helpers,
        )

    def _in_nest(self, value: Expr) -> Expr:
        return substitute(substitute(value, self.k.nest.constants), self.k.nest.axis_values)

    def _fresh(self, wanted: str) -> str:
        n = 0
        while f"@local{wanted}{n}" in self._locals:
            n += 1
        self._locals.add(f"@local{wanted}{n}")
        return self.k.names.user(f"@local{wanted}{n}", wanted if n == 0 else f"{wanted}{n}")

    @property
    def _locals(self) -> set[str]:
        if not hasattr(self, "_local_names"):
            self._local_names: set[str] = set()
        return self._local_names

    def _read(self, read: Read, shift: Mapping[str, Expr]) -> str:
        if read in self.hoisted:
            return self.hoisted[read]
        access = self.k.nest.loads[read]
        if access.pointer in self.staged:
            return self._shared_element(access, shift)
        if access.checked:
            return self._checked(read, access, shift)
        pointer = self.k.nest.pointer(access.pointer)
        if access.member is None and self._hint(access) is not Hint.DEFAULT:
            assert isinstance(pointer.dtype, DType)
            return self.k._global_read(
                self.k.pointer_name(access.pointer), pointer.tensor, substitute(access.address, shift), pointer.dtype, 1
            )
        return self._element(access, shift)

    def _shared_element(self, access: Access, shift: Mapping[str, Expr]) -> str:
        buffer = self.staged[access.pointer]
        at = self._inside(buffer, access, shift)
        return f"{self.k._buffer_name(buffer)}[{self.k.index(buffer.row(at))}][{self.k.index(buffer.column(at))}]"

    def _inside(self, buffer: Buffer, access: Access, shift: Mapping[str, Expr]) -> dict[str, Expr]:
        at: dict[str, Expr] = {}
        for axis, members in buffer.axes:
            if axis == FIELD:
                constant = dict(access.address.terms).get((), 0)
                at[axis] = expr(constant % members)
            else:
                moved = substitute(sym(axis), shift)
                at[axis] = substitute(moved, {axis: sym(f"@tile_{axis}")})
        return at

    def _checked(self, read: Read, access: Access, shift: Mapping[str, Expr]) -> str:
        """A read that may leave the tensor: its indices mapped by the boundary mode, or replaced by the constant."""
        replaced: dict[str, Expr] = {}
        inside: list[str] = []
        for c in access.checked:
            text, extent = self._index_text(c, shift), self.k.index(c.extent)
            symbol = f"@index{len(self.k.ranges)}"
            mode = access.boundary
            if mode is Boundary.CONSTANT or mode is None:
                self.k.file.helpers.add("inside")
                inside.append(f"inside<index_t>({text}, {extent})")
            else:
                self.k.file.helpers.add(mode.value)
                text = f"{mode.value}<index_t>({text}, {extent})"
            self.k.ranges[symbol] = NON_NEGATIVE
            if not re.fullmatch(r"\w+|[\w]+(<index_t>)?\([^()]*\)", text):
                text = f"({text})"
            self.k.names._given[symbol] = text
            replaced[c.symbol] = sym(symbol)
        place = self._element(_with_address(access, substitute(access.address, replaced)), shift)
        if not inside:
            return place
        fill, _ = literal(access.boundary_value, access.dtype, self.k.file.types)
        if access.dtype.name == "bool":
            fill = str(int(bool(access.boundary_value)))
        return f"({' && '.join(inside)} ? {place} : {fill})"

    def _index_text(self, checked: CheckedIndex, shift: Mapping[str, Expr]) -> str:
        if isinstance(checked.index, Expr):
            return self.k.index(substitute(checked.index, shift))
        printer = self._printer(shift)
        text = printer(checked.index)
        return f"static_cast<index_t>({text})"

    # Several lanes at a time

    def _plain_move(self) -> list[str] | None:
        """One vector copied as it is: no lanes to be seen."""
        if len(self.compute.stores) != 1:
            return None
        store = self.compute.stores[0]
        if not isinstance(store.value, Read) or self.compute.width_of(store.access) != self.width:
            return None
        access = self.k.nest.loads[store.value]
        wide = self.shared_widths.get(access.pointer, 0) or self.compute.width_of(access)
        if wide != self.width or not self._along(access):
            return None
        line = store.assign.span.line if store.assign.span is not None else None
        return [mark(self._vector_store(store.access, self._vector_load(access)), line)]

    def _along(self, access: Access) -> bool:
        """Whether neighbours along the vector axis are neighbours where the access reads."""
        assert self.vector is not None
        if access.pointer in self.staged:
            return self.staged[access.pointer].axes[-1][0] == self.vector[0]
        return self.compute.width_of(access) > 1

    def _vector_load(self, access: Access) -> str:
        pointer = self.k.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        if access.pointer in self.staged:
            buffer = self.staged[access.pointer]
            place = self._shared_element(access, {})
            piece = self.shared_widths[access.pointer] * buffer.dtype.size
            return f"*reinterpret_cast<const {self.k._vector(buffer.dtype, self.width, piece)}*>(&{place})"
        width = self.compute.width_of(access)
        if width == self.width:
            return self.k._global_read(
                self.k.pointer_name(access.pointer), pointer.tensor, access.address, pointer.dtype, width
            )
        vector = self.k._vector(pointer.dtype, self.width, width * pointer.dtype.size)
        return f"*reinterpret_cast<const {vector}*>({self._address(access)})"

    def _address(self, access: Access) -> str:
        name = self.k.pointer_name(access.pointer)
        return f"{name} + {self.k.index(access.address)}" if access.address.terms else name

    def _vector_store(self, access: Access, value: str) -> str:
        pointer = self.k.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        width = self.compute.width_of(access)
        vector = self.k._vector(pointer.dtype, self.width, width * pointer.dtype.size)
        if self._hint(access) is Hint.STREAMING:
            self.k.file.helpers.add("store_streaming")
            return f"store_streaming({self._address(access)}, {value});"
        return f"*reinterpret_cast<{vector}*>({self._address(access)}) = {value};"

    def _lanes(self) -> list[str]:
        assert self.vector is not None
        lines: list[str] = []
        lane = self.k.symbol("@lane")
        for read, access in self._unconditional().items():
            name = self.k.names.user(f"@read{len(self.hoisted)}", f"{self.k.names.user('*' + access.pointer, access.pointer)}_in")
            if self._along(access):
                lines.append(f"const auto {name} = {self._vector_load(access)};")
                self.hoisted[read] = f"{name}.lane[{lane}]"
        shift = {self.vector[0]: sym(self.vector[0]) + sym("@lane")}
        printer = self._printer(shift)
        for store in self.compute.stores:
            printer.count(store.value)
        texts = [printer(s.value) for s in self.compute.stores]
        inner = list(printer.lines)
        after: list[str] = []
        for n, (store, text) in enumerate(zip(self.compute.stores, texts, strict=True)):
            line = store.assign.span.line if store.assign.span is not None else None
            pointer = self.k.nest.pointer(store.access.pointer)
            assert isinstance(pointer.dtype, DType)
            name = self.k.names.user(f"@out{n}", f"{self.k.pointer_name(store.access.pointer)}_out")
            width = self.compute.width_of(store.access)
            if width > 1:
                vector = self.k._vector(pointer.dtype, self.width, width * pointer.dtype.size)
                lines.append(f"{vector} {name};")
                inner.append(f"{name}.lane[{lane}] = {text};")
                after.append(mark(self._vector_store(store.access, name), line))
            elif self._inout():
                lines.append(f"{self._value_type(store.access.dtype)} {name}[{self.width}];")
                inner.append(f"{name}[{lane}] = {text};")
                after += [
                    "#pragma unroll",
                    f"for (int {lane} = 0; {lane} < {self.width}; ++{lane}) {{",
                    "    " + mark(self._store_text(store.access, shift, f"{name}[{lane}]"), line),
                    "}",
                ]
            else:
                inner.append(mark(self._store_text(store.access, shift, text), line))
        return [
            *lines,
            "#pragma unroll",
            f"for (int {lane} = 0; {lane} < {self.width}; ++{lane}) {{",
            *("    " + x for x in inner),
            "}",
            *after,
        ]

    def _unconditional(self) -> dict[Read, Access]:
        """Reads that happen at every point: those not behind a condition, and not data-dependent."""
        found: dict[Read, Access] = {}

        def visit(value: Value) -> None:
            from tilegen.spec import BinaryOp, Binary, Where, children

            if isinstance(value, Read):
                access = self.k.nest.loads[value]
                if not access.checked:
                    found[value] = access
            for n, child in enumerate(children(value)):
                lazy = isinstance(value, Where) and n > 0
                lazy = lazy or (isinstance(value, Binary) and value.op in (BinaryOp.AND, BinaryOp.OR) and n > 0)
                if not lazy:
                    visit(child)

        for store in self.compute.stores:
            visit(store.value)
        return found


def _with_address(access: Access, address: Expr) -> Access:
    from dataclasses import replace

    return replace(access, address=address, checked=())


def member_name(name: str) -> str:
    """C name of a struct member."""
    return Names().user(name)


def prune(definitions: list[tuple[str, str]], used_in: str) -> tuple[str, ...]:
    """The definitions whose names are used, by `used_in` or by a definition that is kept."""
    kept: list[str] = []
    for name, text in reversed(definitions):
        if re.search(rf"\b{re.escape(name)}\b", used_in):
            kept.append(text)
            used_in += "\n" + text.split("=", 1)[-1]
    return tuple(reversed(kept))


def _texts(phases: Iterable[PhaseView]) -> list[str]:
    lines: list[str] = []
    for phase in phases:
        for sweep in (phase.sweep, phase.interior):
            if sweep is not None:
                lines += [*sweep.before, *sweep.inside, sweep.guard, *sweep.body]
        if phase.interior is not None:
            lines.append("interior")
    return lines


def arithmetic_floats(plan: Plan) -> frozenset[DType]:
    """Narrow float types that appear in a conversion or as a non-zero constant, and so need their C type."""
    found: set[DType] = set()
    for store in plan.nest.stores:
        for node in walk(store.value):
            if isinstance(node, Cast):
                found |= {node.operand.dtype, node.dtype}
    for access in plan.nest.load_accesses():
        if access.boundary_value:
            found.add(access.dtype)
    return frozenset(found)


__all__ = ["FileContext", "TileAxis", "arithmetic_floats", "depends_on", "view_kernel"]
