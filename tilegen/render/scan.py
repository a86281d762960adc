"""The phase of a kernel with scans, part by part: load, totals of threads and warps, what came before, stores."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.algebra import Expr, substitute, sym
from tilegen.dtypes import DType
from tilegen.nest.family import reductions_of
from tilegen.nest.model import Access, Store
from tilegen.plan.combine import ARGUMENTS
from tilegen.plan.scan import is_mirrored, wide_values
from tilegen.plan.scan_phase import Carry, Loaded, Scan
from tilegen.render.compute import ItemBody
from tilegen.render.scan_names import ScanScope, Total, guarded
from tilegen.render.scope import KernelScope, kept, mark, wrapped
from tilegen.render.view import BodyView, ConstantView, PartView, ScanView, SharedView
from tilegen.spec import Hint, Read, Value, walk


def view_scan(scope: KernelScope) -> BodyView:
    (phase,) = scope.plan.phases
    assert isinstance(phase, Scan)
    return _ScanPrinter(ScanScope(scope, phase)).view()


class _ScanPrinter:
    def __init__(self, names: ScanScope) -> None:
        self.names, self.scope, self.phase, self.spread = names, names.scope, names.phase, names.spread
        self.look_back = self.phase.carry is Carry.LOOK_BACK
        self.shared: list[SharedView] = []

    def view(self) -> BodyView:
        names = self.names
        parts = [self._load()]
        for level in range(self.phase.levels):
            here = [t for t in names.totals if t.carrier.level == level]
            parts.append(self._terms(level, here))
            parts.append(self._before(here, level == 0))
            if self.look_back:
                parts.append(self._look_back(here))
        parts.append(self._write())
        carry = [f"{t.ctype} {t.carry}{names.per_column()}{self._start(t)};" for t in names.totals]
        if names.per_column():
            carry += names.columns([f"{t.carry}{names.at_column} = {t.identity};" for t in names.totals])
        head = f"index_t {names.start} = 0; {names.start} < {self.scope.index(names.extent)}; {names.start} += {names.tile}"
        setup = tuple(self._setup())
        view = ScanView(
            comment=("Everything before the tile.",),
            carry=() if self.look_back else tuple(carry),
            walk="" if self.look_back else head,
            parts=tuple(p for p in parts if p.lines),
        )
        tiles = [self.spread.axis, *(a for a in (self.phase.row, self.spread.across) if a is not None)]
        return BodyView(
            extent=self._extent(),
            constants=tuple(
                ConstantView(self.scope.tile_constant(a), self.scope.plan.tile(a).tile) for a in tiles
            ),
            shared=tuple(self.shared),
            setup=setup,
            phases=(view,),
        )

    def _start(self, total: Total) -> str:
        return "" if self.names.per_column() else f" = {total.identity}"

    def _extent(self) -> str:
        names, spread = self.names, self.spread
        if self.look_back:
            return f"a tile of {spread.tile} points of a row along {names.axis}"
        if spread.across is not None:
            columns = spread.beside * spread.width
            return f"{columns} columns side by side along {self.scope.names.user(names.fast)}, {spread.tile} points of each at a time"
        rows = "a row" if spread.beside == 1 else f"{spread.beside} rows"
        return f"{rows} along {names.axis}, {spread.tile} points at a time"

    # From block and thread to rows

    def _setup(self) -> list[tuple[str, str]]:
        names, scope, spread, index = self.names, self.scope, self.spread, self.scope.index
        plan, lines = scope.plan, []
        lines.append((names.thread, f"const int {names.thread} = static_cast<int>(threadIdx.x);"))
        if spread.across is not None:
            lines.append((names.lane, f"const int {names.lane} = {names.thread} % {spread.beside};"))
            lines.append((names.part, f"const int {names.part} = {names.thread} / {spread.beside};"))
        else:
            lanes, inside = spread.lanes, names.thread
            lines.append((names.lane, f"const int {names.lane} = {names.thread} % {lanes};"))
            if spread.beside > 1:
                inside = f"{names.thread} % {spread.along}"
                lines.append((names.side, f"const int {names.side} = {names.thread} / {spread.along};"))
            lines.append((names.part, f"const int {names.part} = {inside} / {lanes};"))
        number = "blockIdx.x"
        if self.look_back:
            number, ticket = names.block, scope.scratch("ticket")
            taken = scope.names.user("@ticket", "ticket_of_block")
            self.shared.append(
                SharedView(
                    "Blocks take tiles in the order in which they start: those before are under way or done.",
                    f"__shared__ unsigned {taken};",
                )
            )
            take = (
                f"if (threadIdx.x == 0) {{\n        {taken} = atomicAdd({ticket}, 1u);\n    }}\n"
                f"    __syncthreads();\n    const unsigned {number} = {taken};"
            )
            lines.append((number, take))
        counts = {a: names.count(a) for a in plan.raster}
        for axis in plan.raster:
            tile, extent = plan.tile(axis), index(plan.tile(axis).extent)
            if tile.tile > 1:
                constant = scope.tile_constant(axis)
                extent = f"({extent} + {constant} - 1) / {constant}"
            known = tile.count.constant
            value = str(known) if known is not None else f"static_cast<unsigned>({extent})"
            lines.append((counts[axis], f"const unsigned {counts[axis]} = {value};"))
        if self.look_back:
            lines += self._places(counts, number)
        first = plan.raster[0] if plan.raster else None
        for axis in reversed(plan.raster):
            digit = number if axis == first else f"{number} % {counts[axis]}"
            if axis == spread.axis:
                text = f"static_cast<index_t>({names.number}) * {names.tile}"
                lines.append((names.start, f"const index_t {names.start} = {text};"))
            else:
                scale = f" * {scope.tile_constant(axis)}" if plan.tile(axis).tile > 1 else ""
                start = scope.symbol(f"@origin_{axis}")
                lines.append((start, f"const index_t {start} = static_cast<index_t>({digit}){scale};"))
            number = f"{number} / {counts[axis]}"
        for tile in plan.tiles:
            if tile.axis in plan.raster or tile.axis == spread.axis:
                continue
            start = scope.symbol(f"@origin_{tile.axis}")
            lines.append((start, f"const index_t {start} = 0;"))
        lines += self._beside()
        return lines

    def _places(self, counts: Mapping[str, str], number: str) -> list[tuple[str, str]]:
        """Which tile of which row a block has, and where the states of the row lie."""
        names, count = self.names, counts[self.spread.axis]
        one = len(counts) == 1
        tile = number if one else f"{number} % {count}"
        row = "0" if one else f"{number} / {count}"
        return [
            (names.number, f"const int {names.number} = static_cast<int>({tile});"),
            (names.row, f"const unsigned {names.row} = {row};"),
            (names.places, f"const unsigned {names.places} = {count} + ({count} + 31) / 32;"),
        ]

    def _beside(self) -> list[tuple[str, str]]:
        """The row, or the columns, of a thread."""
        names, scope, spread = self.names, self.scope, self.spread
        if spread.across is not None:
            inside = names.lane if spread.width == 1 else f"{names.lane} * {spread.width}"
            axis = spread.across
        elif self.phase.row is not None:
            inside, axis = names.side, self.phase.row
        else:
            return []
        start, name = scope.symbol(f"@origin_{axis}"), scope.names.user(axis)
        return [(name, f"const index_t {name} = {start} + {inside};")]

    # Load

    def _load(self) -> PartView:
        names, declared, inside = self.names, [], []
        for load in self.phase.loads:
            first, rest = self._loaded(load)
            declared.append(first)
            inside += rest
        if not declared:
            return PartView((), ())
        inside = _used([names.coordinate()], inside)
        along = self.scope.names.user(names.fast)
        text = f"Load the tile, neighbouring lanes along {along}"
        text += f", {self.spread.width} elements at a time." if self.spread.width > 1 else "."
        return PartView((text,), (*declared, *names.steps(inside)))

    def _loaded(self, load: Loaded) -> tuple[str, list[str]]:
        """The declaration of the registers, and the statements of one step."""
        names, scope, width = self.names, self.scope, self.spread.width
        pointer = scope.nest.pointer(load.access.pointer)
        assert isinstance(pointer.dtype, DType)
        name = scope.names.user(f"@in{len(names.loaded)}", f"{scope.pointer(pointer.name)}_in")
        place, line = f"{name}{names.at_step}", load.read.span.line
        address = names.moved(load.access)
        one = scope.read(pointer.name, address, pointer.dtype, 1)
        inside = names.within(load.first, load.limit)
        if load.width == 1:
            ctype = scope.file.types.storage(pointer.dtype)
            text = f"{place}{names.at_lane}"
            names.loaded[load.read] = text
            body = guarded(inside, [mark(f"{text} = {one};", line)])
            if names.spread.width > 1:
                body = names.lanes(_used(names.neighbour(), body))
            return f"{ctype} {name}{names.per_step()}{names.per_lane()} = {{}};", body
        vector = scope.vector(pointer.dtype, width, load.width * pointer.dtype.size)
        element = f"{place}.lane[{self._lane(load.access)}]"
        names.loaded[load.read] = element
        at = _first_of_item(load.access, names)
        whole = mark(f"{place} = {self._wide(pointer.name, at, pointer.dtype, load.width)};", line)
        body = guarded(names.within(load.first, load.limit, whole=True), [whole])
        if names.ends(load.first, load.limit):
            single = names.lanes([*names.neighbour(), *guarded(inside, [mark(f"{element} = {one};", line)])])
            body[-1:] = ["} else {", *("    " + x for x in single), "}"]
        return f"{vector} {name}{names.per_step()} = {{}};", body

    def _lane(self, access: Access) -> str:
        """Where a neighbour lies in the vector of its item."""
        if is_mirrored(access, self.names.fast):
            return f"{self.spread.width - 1} - {self.names.l}"
        return self.names.l

    def _wide(self, pointer: str, address: Expr, dtype: DType, width: int) -> str:
        if width == self.spread.width:
            return self.scope.read(pointer, address, dtype, width)
        vector = self.scope.vector(dtype, self.spread.width, width * dtype.size)
        return f"*reinterpret_cast<const {vector}*>({self.scope.place(pointer, address)})"

    # Terms, and the totals of threads and warps

    def _terms(self, level: int, totals: list[Total]) -> PartView:
        names, spread = self.names, self.spread
        inner = self._inner(totals)
        declared, per_step, per_lane, after = [], [], [], []
        for t in totals:
            declared.append(f"{t.ctype} {t.term}{names.per_step()}{names.per_lane()};")
        if spread.across is None:
            for t in totals:
                declared.append(f"{t.ctype} {t.lanes}{names.per_step()};")
                declared.append(f"{t.ctype} {t.mine} = {t.identity};")
                per_step.append(f"{t.ctype} {t.running} = {t.identity};")
                after += self._warp_totals(t)
        else:
            for t in totals:
                declared.append(f"{t.ctype} {t.mine}{names.per_column()}{self._start(t)};")
            if names.per_column():
                declared += names.columns([f"{t.mine}{names.at_column} = {t.identity};" for t in totals])
        known = self._running(inner, declared, per_step, per_lane)
        body = names.item(known)
        for t in totals:
            per_lane += self._term(body, t)
            so_far = t.running if spread.across is None else f"{t.mine}{names.at_column}"
            per_lane.append(f"{so_far} = {t.combined(so_far, f'{t.term}{names.at_step}{names.at_lane}')};")
        lanes = names.lanes(_used(names.neighbour(), per_lane))
        steps = names.steps(_used([names.coordinate()], [*per_step, *lanes, *after]))
        return PartView((self._terms_comment(totals),), (*declared, *steps))

    def _terms_comment(self, totals: list[Total]) -> str:
        what = " and ".join(t.carrier.name for t in totals)
        if self.spread.across is not None:
            return f"The {what} of what each thread has of its columns."
        if self.spread.lanes == 1:
            return f"The {what} of what each thread has."
        return f"The {what} of each thread's neighbours, and by shuffles of the lanes and steps before them."

    def _warp_totals(self, t: Total) -> list[str]:
        names, lanes = self.names, self.spread.lanes
        self.scope.file.helpers.add("lanes_before")
        scanned = f"lanes_before<{t.operator}, {lanes}>({t.running}, {names.lane}, {t.identity}, {t.step})"
        if lanes == 1:
            return [
                f"{t.lanes}{names.at_step} = {t.mine};",
                f"{t.mine} = {t.combined(t.mine, t.running)};",
            ]
        return [
            f"{t.ctype} {t.step};",
            *wrapped(f"{t.lanes}{names.at_step} = {t.combined(t.mine, scanned)};", None),
            f"{t.mine} = {t.combined(t.mine, t.step)};",
        ]

    def _term(self, body: ItemBody, t: Total) -> list[str]:
        """The term of a point; the identity where there is none."""
        names, carrier = self.names, t.carrier
        printer = body.printer(names.shift)
        printer.count(carrier.term)
        text = printer(carrier.term)
        lines = [*body.definitions, *printer.lines]
        body.definitions = []
        if carrier.op in ARGUMENTS:
            text = f"{t.ctype}{{{text}, static_cast<long long>({self._position()})}}"
        place, inside = f"{t.term}{names.at_step}{names.at_lane}", names.within(carrier.first, carrier.limit)
        line = carrier.node.span.line
        if not inside:
            return [*lines, *wrapped(f"{place} = {text};", line)]
        if lines:
            return [
                f"{place} = {t.identity};",
                *guarded(inside, [*lines, *wrapped(f"{place} = {text};", line)]),
            ]
        choice = f"({text})" if " ? " in text else text
        return wrapped(f"{place} = {inside} ? {choice} : {t.identity};", line)

    def _position(self) -> str:
        """The scanned axis's own value at a point."""
        value = self.scope.in_nest(sym(self.spread.axis))
        return self.scope.index(substitute(value, self.names.shift))

    def _inner(self, totals: list[Total]) -> list[Total]:
        """The totals that terms of these use."""
        used = set(reductions_of(t.carrier.term for t in totals))
        return [t for t in self.names.totals if {t.carrier.inclusive, t.carrier.exclusive} & used]

    def _running(
        self, totals: list[Total], declared: list[str], per_step: list[str], per_lane: list[str]
    ) -> dict[Value, str]:
        """Statements that go through the totals of every point, and the text of each scan."""
        names, known = self.names, dict[Value, str]()
        for t in totals:
            member = ".index" if t.carrier.op in ARGUMENTS else ""
            running = f"{t.running}{names.at_column}"
            if self.spread.across is None:
                start = t.combined(t.prefix, f"{t.lanes}{names.at_step}")
                per_step.append(f"{t.ctype} {t.running} = {start};")
            elif names.per_column():
                declared.append(f"{t.ctype} {t.running}{names.per_column()};")
                declared += names.columns([f"{running} = {t.prefix}{names.at_column};"])
            else:
                declared.append(f"{t.ctype} {t.running} = {t.prefix};")
            if t.carrier.exclusive is not None:
                known[t.carrier.exclusive] = t.before + member
                per_lane.append(f"const {t.ctype} {t.before} = {running};")
            if t.carrier.inclusive is not None:
                known[t.carrier.inclusive] = running + member
            term = f"{t.term}{names.at_step}{names.at_lane}"
            per_lane.append(f"{running} = {t.combined(running, term)};")
        return known

    # What came before

    def _before(self, totals: list[Total], first: bool) -> PartView:
        """The total of everything before each warp, and of the tile."""
        names, spread, lines = self.names, self.spread, list[str]()
        column, per_column = names.at_column, names.per_column()
        if self.look_back:
            lines += [f"{t.ctype} {t.tile} = {t.identity};" for t in totals]
        until = {t: t.tile if self.look_back else t.carry for t in totals}
        if spread.warps == 1:
            for t in totals:
                declared = (
                    f"{t.ctype} {t.prefix}{per_column}"
                    if per_column
                    else f"const {t.ctype} {t.prefix} = {t.carry}"
                )
                lines.append(f"{declared};")
                own = [f"{t.prefix}{column} = {t.carry}{column};"] if per_column else []
                lines += names.columns(
                    [*own, f"{t.carry}{column} = {t.combined(f'{t.carry}{column}', f'{t.mine}{column}')};"]
                )
            return PartView(("A row has one warp at most: it carries its total on.",), tuple(lines))
        places = [self._shared_place(t, names.part) for t in totals]
        store = [f"{place} = {t.mine}{column};" for t, place in zip(totals, places, strict=True)]
        store = names.columns(store) if spread.across is not None else guarded(f"{names.lane} == 0", store)
        if not self.look_back:
            half = f"static_cast<int>({names.start} / {names.tile} % 2)"
            lines += [f"const int {names.half} = {half};"] if first else []
        lines += [*store, "__syncthreads();"]
        chain: list[str] = []
        for t in totals:
            total = f"{until[t]}{column}"
            value = f"{t.prefix}{column}"
            start = f" = {until[t]}" if not per_column else ""
            lines.append(f"{t.ctype} {t.prefix}{per_column}{start};")
            if per_column:
                lines += names.columns([f"{value} = {total};"])
            chain.append(f"{value} = {names.group} == {names.part} ? {total} : {value};")
            chain.append(f"{total} = {t.combined(total, self._shared_place(t, names.group))};")
        lines += names.groups(names.columns(chain))
        what = "warps" if spread.across is None else "threads of a column"
        text = f"The totals of the {what} meet in shared memory"
        text += (
            "."
            if self.look_back
            else ", in one half of it and then the other: one barrier per tile is enough."
        )
        return PartView((text,), tuple(lines))

    def _shared_place(self, t: Total, group: str) -> str:
        """Where the total of a warp, or of a thread's column, lies."""
        names, spread = self.names, self.spread
        if all(t.shared not in s.declaration for s in self.shared):
            count = spread.warps * (spread.beside if spread.across is None else 1)
            shape = f"[{count}]"
            if spread.across is not None:
                shape += f"{names.per_column()}[{spread.beside}]"
            halves = "" if self.look_back else "[2]"
            whose = "warp" if spread.across is None else "thread of a column"
            self.shared.append(
                SharedView(
                    f"The {t.carrier.name} of every {whose}.",
                    f"__shared__ {t.ctype} {t.shared}{halves}{shape};",
                )
            )
        half = "" if self.look_back else f"[{names.half}]"
        if spread.across is not None:
            return f"{t.shared}{half}[{group}]{names.at_column}[{names.lane}]"
        if spread.beside > 1:
            return f"{t.shared}{half}[{names.side} * {spread.warps} + {group}]"
        return f"{t.shared}{half}[{group}]"

    def _look_back(self, totals: list[Total]) -> PartView:
        names, scope, lines = self.names, self.scope, list[str]()
        scope.file.helpers.add("look_back")
        tiles = names.count(self.spread.axis)
        for number, t in enumerate(totals):
            self.shared.append(
                SharedView(
                    f"The {t.carrier.name} of the tiles before this one.", f"__shared__ {t.ctype} {t.ahead};"
                )
            )
            found = (
                f"look_back<{t.operator}>(states, static_cast<int>({tiles}), {names.number}, {names.lane}, "
                f"{t.tile}, {t.identity})"
            )
            body = [
                f"const {self._states_type(t)} states{{{self._states_places(t)}}};",
                *wrapped(f"const {t.ctype} before = {found};", None),
                *guarded(f"{names.lane} == 0", [f"{t.ahead} = before;"]),
            ]
            lines += guarded(f"{names.part} == {number % self.spread.warps}", body)
        lines.append("__syncthreads();")
        lines += [f"{t.prefix} = {t.combined(t.ahead, t.prefix)};" for t in totals]
        return PartView(
            ("One warp finds the total of the tiles before this one, which other blocks have.",), tuple(lines)
        )

    def _states_type(self, t: Total) -> str:
        kind = "SeparateStates" if wide_values(t.carrier) else "PackedStates"
        self.scope.file.helpers.add(kind)
        return f"{kind}<{t.ctype}>"

    def _states_places(self, t: Total) -> str:
        names, name = self.names, t.carrier.name
        rows = f"static_cast<size_t>({names.row}) * {names.places}"
        if wide_values(t.carrier):
            flags, totals = self.scope.scratch(f"{name}_flags"), self.scope.scratch(f"{name}_totals")
            return f"{flags} + {rows}, reinterpret_cast<{t.ctype}*>({totals}) + 2 * {rows}"
        return f"{self.scope.scratch(f'{name}_states')} + {rows}"

    # Store

    def _write(self) -> PartView:
        names, scope = self.names, self.scope
        declared, per_step, per_lane, after = list[str](), list[str](), list[str](), list[str]()
        used = set(reductions_of(s.value for s in self.phase.stores))
        totals = [t for t in names.totals if {t.carrier.inclusive, t.carrier.exclusive} & used]
        known = self._running(totals, declared, per_step, per_lane)
        body = names.item(known)
        printer = body.printer(names.shift)
        for store in self.phase.stores:
            printer.count(store.value)
        texts = [printer(s.value) for s in self.phase.stores]
        definitions = [*body.definitions, *printer.lines]
        inside = names.within(self.phase.store_first, names.extent)
        values, stores = list[str](), list[str]()
        for n, (store, text) in enumerate(zip(self.phase.stores, texts, strict=True)):
            line = store.assign.span.line
            if self.phase.width_of(store.access) > 1:
                declared_, assigned, stored = self._wide_store(n, store, text)
                per_step.append(declared_)
                values += wrapped(assigned, line)
                after += stored
                continue
            if len(texts) > 1:
                name = scope.names.user(f"@result{n}", f"{scope.pointer(store.access.pointer)}_value")
                values += wrapped(
                    f"const {scope.file.types.value(store.access.dtype)} {name} = {text};", line
                )
                text = name
            stores += body.stored(store, names.shift or {}, text)
        if stores:
            per_lane += guarded(inside, [*definitions, *values, *stores])
        elif any(self._reads_memory(s.value) for s in self.phase.stores):
            per_lane += guarded(inside, [*definitions, *values])
        else:
            per_lane += [*definitions, *values]
        lanes = names.lanes(_used(names.neighbour(), per_lane))
        steps = names.steps(_used([names.coordinate()], [*per_step, *lanes, *after]))
        outputs = ", ".join(dict.fromkeys(scope.pointer(s.access.pointer) for s in self.phase.stores))
        return PartView(
            (f"Go through the points once more, with what came before them, and write {outputs}.",),
            (*declared, *steps),
        )

    def _reads_memory(self, value: Value) -> bool:
        """Whether a value reads what is not in registers: then it must not be computed past the end."""
        return any(isinstance(v, Read) and v not in self.names.loaded for v in walk(value))

    def _wide_store(self, n: int, store: Store, text: str) -> tuple[str, str, list[str]]:
        """What a store of several elements adds per step, per neighbour and after them."""
        names, scope, width = self.names, self.scope, self.spread.width
        access, line = store.access, store.assign.span.line
        pointer = scope.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        name = scope.names.user(f"@out{n}", f"{scope.pointer(access.pointer)}_out")
        own = self.phase.width_of(access)
        vector = scope.vector(pointer.dtype, width, own * pointer.dtype.size)
        place = scope.place(access.pointer, _first_of_item(access, names))
        if scope.hint(pointer.tensor) is Hint.STREAMING and own == width:
            scope.file.helpers.add("store_streaming")
            whole = f"store_streaming({place}, {name});"
        else:
            whole = f"*reinterpret_cast<{vector}*>({place}) = {name};"
        first = self.phase.store_first
        lines = guarded(names.within(first, names.extent, whole=True), [mark(whole, line)])
        element = f"{name}.lane[{self._lane(access)}]"
        if names.ends(first, names.extent):
            one = f"{scope.pointer(access.pointer)}[{scope.index(names.moved(access))}] = {element};"
            single = names.lanes(
                [*names.neighbour(), *guarded(names.within(first, names.extent), [mark(one, line)])]
            )
            lines[-1:] = ["} else {", *("    " + x for x in single), "}"]
        return f"{vector} {name};", f"{element} = {text};", lines


def _first_of_item(access: Access, names: ScanScope) -> Expr:
    """The address of the neighbour of an item that lies first in memory, over the item's own coordinate."""
    if not is_mirrored(access, names.fast):
        return access.address
    return substitute(access.address, {names.fast: sym(names.fast) + (names.spread.width - 1)})


def _used(definitions: list[str], lines: list[str]) -> list[str]:
    """Those definitions that `lines` use, before them."""
    pairs = [(d.split(" = ")[0].split()[-1], d) for d in definitions]
    return [*(text for _, text in kept(pairs, "\n".join(lines))), *lines]
