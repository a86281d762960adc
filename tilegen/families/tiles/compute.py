"""The compute phase: loads, values and stores of one item of the sweep.

Every value is computed before the first store, so that an `inout` tensor is read as it was before the launch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tilegen.algebra import Expr, expr, substitute, sym
from tilegen.core.nest.model import Access, CheckedIndex, Store
from tilegen.core.nest.values import unconditional
from tilegen.core.plan.model import FIELD, Buffer, Compute
from tilegen.cuda.names import member_name
from tilegen.cuda.scope import KernelScope, mark, prune, wrapped
from tilegen.cuda.values import ValuePrinter, literal
from tilegen.cuda.view import SweepView
from tilegen.dtypes import DType
from tilegen.lang.spec import Aosoa, Boundary, Hint, Read, Value

Shift = Mapping[str, Expr]


def view_compute(scope: KernelScope, compute: Compute, guarded: bool) -> SweepView:
    """Evaluate every store; `guarded`: with the conditions of ragged edges."""
    conditions = scope.limits(compute.sweep) + [scope.guard(a) for a in compute.guards if guarded]
    return scope.sweep(compute.sweep, conditions, ItemBody(scope, compute).lines())


class ItemBody:
    """The statements of one item. `known`: values that have a text already."""

    def __init__(
        self, scope: KernelScope, compute: Compute, known: Mapping[Value, str] | None = None
    ) -> None:
        self.known = dict(known or {})
        self.scope, self.compute = scope, compute
        self.run = compute.sweep.run
        self.width = self.run.width if self.run is not None else 1
        self.staged = dict(compute.staged)
        self.shared_widths = dict(compute.shared_widths)
        self.hoisted: dict[Read, str] = {}
        self.taken: set[str] = set()
        self.indices: dict[str, str] = {}
        self.definitions: list[str] = []

    def lines(self) -> list[str]:
        if self.run is None:
            return self._points({})
        whole = self._whole_vector() or self._lanes()
        return self._with_tail(whole) if self.compute.tail else whole

    def _with_tail(self, whole: list[str]) -> list[str]:
        """Whole items as vectors, the last elements of a row one by one."""
        assert self.run is not None
        scope, axis = self.scope, self.run.fast
        shift = {axis: sym(f"@at_{axis}")}
        single = ItemBody(scope, self.compute)._points(shift)
        extent = scope.index(scope.nest.axis(axis).extent)
        at = scope.symbol(f"@at_{axis}")
        guarded = [f"if ({at} < {extent}) {{", *("    " + x for x in single), "}"]
        return [
            f"if ({scope.names.user(axis)} + {self.width} <= {extent}) {{",
            *("    " + x for x in whole),
            "} else {",
            *(
                "    " + x
                for x in self.each_lane(
                    [text for _, text in scope.lane_coordinates(self.compute.sweep)] + guarded
                )
            ),
            "}",
        ]

    # One element at a time

    def _points(self, shift: Shift) -> list[str]:
        """The statements of one point; `shift` moves the axes of the run to a lane."""
        texts, lines = self._values(shift)
        if len(texts) > 1 and self._in_place():
            for n, store in enumerate(self.compute.stores):
                name = self.scope.names.user(
                    f"@result{n}", f"{self.scope.pointer(store.access.pointer)}_value"
                )
                lines.append(f"const {self.scope.file.types.value(store.access.dtype)} {name} = {texts[n]};")
                texts[n] = name
        for store, text in zip(self.compute.stores, texts, strict=True):
            lines += self.stored(store, shift, text)
        return lines

    def stored(self, store: Store, shift: Shift, text: str) -> list[str]:
        """The statement that writes `text`."""
        return wrapped(self._store(store.access, shift, text), store.assign.span.line)

    def _values(self, shift: Shift) -> tuple[list[str], list[str]]:
        """The text of each store's value, and the definitions they use."""
        printer = self.printer(shift)
        for store in self.compute.stores:
            printer.count(store.value)
        texts = [printer(s.value) for s in self.compute.stores]
        return texts, [*self.definitions, *printer.lines]

    def _in_place(self) -> bool:
        written = {s.access.pointer for s in self.compute.stores}
        return any(a.pointer in written for a in self.scope.nest.loads.values())

    def _hint(self, access: Access) -> Hint:
        return self.scope.hint(self.scope.nest.pointer(access.pointer).tensor)

    def _store(self, access: Access, shift: Shift, value: str) -> str:
        if self._hint(access) is Hint.STREAMING and access.member is None:
            return f"__stcs({self.scope.place(access.pointer, self._moved(access, shift))}, {value});"
        return f"{self._element(access, shift)} = {value};"

    def _moved(self, access: Access, shift: Shift) -> Expr:
        """The address of an access at the point, or at a lane of it."""
        if not shift:
            return self.scope.address(self.compute.sweep, access.address)
        return substitute(access.address, shift)

    def _element(self, access: Access, shift: Shift) -> str:
        """The lvalue of an access; `shift` moves axes (to a lane)."""
        name, index = self.scope.pointer(access.pointer), self.scope.index
        address = self._moved(access, shift)
        if access.member is None:
            return f"{name}[{index(address)}]"
        placement = self.scope.nest.kernel.tensor(self.scope.nest.pointer(access.pointer).tensor).placement
        member = member_name(access.member)
        if isinstance(placement, Aosoa):
            return f"{name}[{index(address // placement.block)}].{member}[{index(address % placement.block)}]"
        return f"{name}[{index(address)}].{member}"

    def printer(self, shift: Shift, named: bool = True) -> ValuePrinter:
        """Prints values at the point, or at a lane of it. `named`: a `let` becomes a constant by its name."""
        return ValuePrinter(
            types=self.scope.file.types,
            read=lambda read: self._read(read, shift),
            index=lambda e: self.scope.index(substitute(self.scope.in_nest(e), shift)),
            scalar=lambda name: self.scope.names.user(f"${name}"),
            fresh=self.fresh,
            lets={value: name for name, value in self.scope.nest.lets} if named else {},
            helpers=self.scope.file.helpers,
            known=self.known,
        )

    def fresh(self, wanted: str) -> str:
        name, n = wanted, 0
        while name in self.taken:
            n += 1
            name = f"{wanted}{n}"
        self.taken.add(name)
        return self.scope.names.user(f"@local {name}", name)

    def _read(self, read: Read, shift: Shift) -> str:
        if read in self.hoisted:
            return self.hoisted[read]
        access = self.scope.nest.loads[read]
        if access.pointer in self.staged:
            buffer = self.staged[access.pointer]
            return self.scope.element(buffer, self._inside(buffer, access, shift), self.width)
        if access.checked:
            return self._checked(access, shift)
        pointer = self.scope.nest.pointer(access.pointer)
        if isinstance(pointer.dtype, DType):
            return self.scope.read(access.pointer, self._moved(access, shift), pointer.dtype, 1)
        return self._element(access, shift)

    def _inside(self, buffer: Buffer, access: Access, shift: Shift) -> dict[str, Expr]:
        """In-tile coordinates of a staged read."""
        at: dict[str, Expr] = {}
        for axis, members in buffer.coordinates:
            if axis == FIELD:
                at[axis] = expr(dict(access.address.terms).get((), 0) % members)
            else:
                sweep = self.compute.sweep
                at[axis] = self.scope.inside_lane(sweep, axis) if shift else self.scope.inside(sweep, axis)
        return at

    def _checked(self, access: Access, shift: Shift) -> str:
        """A read that may leave the tensor: its indices mapped by the boundary mode, or replaced by the constant."""
        replaced: dict[str, Expr] = {}
        inside: list[str] = []
        for c in access.checked:
            index, extent, kind = (
                self._index_text(access, c, shift),
                self.scope.index(c.extent),
                index_kind(c),
            )
            if access.boundary is Boundary.CONSTANT or access.boundary is None:
                self.scope.file.helpers.add("inside")
                inside.append(f"inside<{kind}>({index}, {extent})")
                if kind != "index_t":
                    index = f"static_cast<index_t>({index})"
                replaced[c.symbol] = self.scope.alias(
                    index if re.fullmatch(r"\w+|\w+<\w+>\(.*\)", index) else f"({index})"
                )
            else:
                self.scope.file.helpers.add(access.boundary.value)
                mapped = f"{access.boundary.value}<{kind}>({index}, {extent})"
                replaced[c.symbol] = self.scope.alias(
                    mapped if kind == "index_t" else f"static_cast<index_t>({mapped})"
                )
        place = self._element(replace(access, address=substitute(access.address, replaced)), shift)
        if not inside:
            return place
        fill = literal(access.boundary_value, access.dtype, self.scope.file.types)[0]
        if access.dtype.name == "bool":
            fill = str(int(bool(access.boundary_value)))
        return f"{' && '.join(inside)} ? {place} : {fill}"

    def _index_text(self, access: Access, checked: CheckedIndex, shift: Shift) -> str:
        """The index before the boundary mode maps it; one that takes arithmetic becomes a constant of its own."""
        if isinstance(checked.index, Expr):
            text = self.scope.index(substitute(checked.index, shift))
            if re.fullmatch(r"\w+", text):
                return text
            if text not in self.indices:
                name = self.fresh(checked.symbol[1:])
                self.definitions.append(f"const index_t {name} = {text};")
                self.indices[text] = name
            return self.indices[text]
        # A constant would stand before the condition that guards the read.
        text = self.printer(shift, named=False)(checked.index)
        return f"static_cast<index_t>({text})" if index_kind(checked) == "index_t" else text

    # Several lanes at a time

    def _whole_vector(self) -> list[str] | None:
        """One vector copied as it is: no lanes to be seen."""
        store = self.compute.stores[0]
        if len(self.compute.stores) > 1 or not isinstance(store.value, Read):
            return None
        access = self.scope.nest.loads[store.value]
        wide = self.shared_widths.get(access.pointer, 0) or self.compute.width_of(access)
        if self.compute.width_of(store.access) != self.width or wide != self.width or not self._along(access):
            return None
        text = self._vector_store(store.access, self.vector_load(access))
        return wrapped(text, store.assign.span.line)

    def _along(self, access: Access) -> bool:
        """Whether neighbours along the run are neighbours where the access reads."""
        assert self.run is not None
        if access.pointer in self.staged:
            return self.run.single and self.staged[access.pointer].axes[-1][0] == self.run.fast
        return self.compute.width_of(access) > 1

    def vector_load(self, access: Access) -> str:
        pointer = self.scope.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        size = pointer.dtype.size
        if access.pointer in self.staged:
            buffer = self.staged[access.pointer]
            whole = self.shared_widths[access.pointer] == buffer.chunk
            place = self.scope.element(buffer, self._inside(buffer, access, {}), whole=whole)
            vector = self.scope.vector(pointer.dtype, self.width, self.shared_widths[access.pointer] * size)
            return f"*reinterpret_cast<const {vector}*>(&{place})"
        width = self.compute.width_of(access)
        address = self.scope.run_address(self.compute.sweep, access.address)
        if width == self.width:
            return self.scope.read(access.pointer, address, pointer.dtype, width)
        vector = self.scope.vector(pointer.dtype, self.width, width * size)
        return f"*reinterpret_cast<const {vector}*>({self.scope.place(access.pointer, address)})"

    def _vector_store(self, access: Access, value: str) -> str:
        pointer = self.scope.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        place = self.scope.place(access.pointer, self.scope.run_address(self.compute.sweep, access.address))
        if self._hint(access) is Hint.STREAMING:
            self.scope.file.helpers.add("store_streaming")
            return f"store_streaming({place}, {value});"
        vector = self.scope.vector(
            pointer.dtype, self.width, self.compute.width_of(access) * pointer.dtype.size
        )
        return f"*reinterpret_cast<{vector}*>({place}) = {value};"

    def _lanes(self) -> list[str]:
        assert self.run is not None
        scope = self.scope
        before: list[str] = []
        lane = scope.symbol("@lane")
        for read in self._unconditional():
            access = scope.nest.loads[read]
            if self._along(access):
                name = self.fresh(f"{scope.pointer(access.pointer)}_in")
                before.append(f"const auto {name} = {self.vector_load(access)};")
                self.hoisted[read] = f"{name}.lane[{lane}]"
        shift = {axis: sym(f"@at_{axis}") for axis, _ in self.run.axes}
        texts, definitions = self._values(shift)
        inner = list(definitions)
        after: list[str] = []
        for n, (store, text) in enumerate(zip(self.compute.stores, texts, strict=True)):
            declared, assigned, stored = self.lane_store(n, store, text, shift)
            before += declared
            inner.append(assigned)
            after += stored
        inner = [*prune(scope.lane_coordinates(self.compute.sweep), "\n".join(inner)), *inner]
        return [*before, *self.each_lane(inner), *after]

    def lane_store(self, n: int, store: Store, text: str, shift: Shift) -> tuple[list[str], str, list[str]]:
        """What a store adds before, inside and after the loop over lanes."""
        lane, line = self.scope.symbol("@lane"), store.assign.span.line
        name = self.scope.names.user(f"@out{n}", f"{self.scope.pointer(store.access.pointer)}_out")
        width = self.compute.width_of(store.access)
        if width > 1:
            pointer = self.scope.nest.pointer(store.access.pointer)
            assert isinstance(pointer.dtype, DType)
            vector = self.scope.vector(pointer.dtype, self.width, width * pointer.dtype.size)
            whole = mark(self._vector_store(store.access, name), line)
            return [f"{vector} {name};"], f"{name}.lane[{lane}] = {text};", [whole]
        if not self._in_place():
            return [], mark(self._store(store.access, shift, text), line), []
        one = mark(self._store(store.access, shift, f"{name}[{lane}]"), line)
        moved = prune(self.scope.lane_coordinates(self.compute.sweep), one)
        declared = f"{self.scope.file.types.value(store.access.dtype)} {name}[{self.width}];"
        return [declared], f"{name}[{lane}] = {text};", self.each_lane([*moved, one])

    def each_lane(self, lines: list[str]) -> list[str]:
        lane = self.scope.symbol("@lane")
        return [
            "#pragma unroll",
            f"for (int {lane} = 0; {lane} < {self.width}; ++{lane}) {{",
            *("    " + x for x in lines),
            "}",
        ]

    def _unconditional(self) -> dict[Read, None]:
        """Reads that happen at every point: those not behind a condition, and not data-dependent."""
        found: dict[Read, None] = {}
        for store in self.compute.stores:
            for value in unconditional(store.value):
                if isinstance(value, Read) and not self.scope.nest.loads[value].checked:
                    found[value] = None
        return found


def index_kind(checked: CheckedIndex) -> str:
    """The type in which an index meets its bounds: wide data is not cut down to the index type before."""
    if isinstance(checked.index, Expr):
        return "index_t"
    return {"u32": "long long", "i64": "long long", "u64": "unsigned long long"}.get(
        checked.index.dtype.name, "index_t"
    )
