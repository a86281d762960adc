"""Walks along a row: loads of several items first, then their values, which are accumulated, kept or stored."""

from __future__ import annotations

from dataclasses import replace

from tilegen.algebra import ZERO, Expr, substitute, sym
from tilegen.core.nest.combine import accumulator_type
from tilegen.core.nest.model import Access
from tilegen.core.plan.model import Compute
from tilegen.cuda.operators import accumulator_ctype, identity_text, taken_in
from tilegen.cuda.scope import prune
from tilegen.cuda.values import ValuePrinter, shares_divisor
from tilegen.cuda.view import ItemsView, OnceView, WalkView
from tilegen.dtypes import F32, DType, Kind
from tilegen.families.rows.names import RowScope
from tilegen.families.rows.passes import is_of_the_row, loaded_ahead
from tilegen.families.rows.phases import PointStores, Walk
from tilegen.families.tiles.compute import ItemBody
from tilegen.lang.spec import Binary, BinaryOp, Read, Reduce, Reduction, Value, children, walk


def view_walk(rows: RowScope, phase: Walk, later: frozenset[Value]) -> WalkView:
    """`later`: values that later walks need."""
    return _WalkPrinter(rows, phase, later).view()


def view_once(rows: RowScope, phase: PointStores) -> OnceView:
    """Stores of one element per row, by the first thread of its team."""
    compute = Compute(phase.sweep, phase.stores, phase.widths, (), (), ())
    lines = ItemBody(rows.scope, compute, rows.known).lines()
    conditions = [f"{rows.member} == 0"] if rows.rows.along > 1 else []
    conditions += [rows.inside] if rows.ragged else []
    outputs = ", ".join(dict.fromkeys(rows.scope.pointer(s.access.pointer) for s in phase.stores))
    who = "The first thread of each row writes" if rows.rows.along > 1 else "Write"
    return OnceView((f"{who} {outputs}.",), " && ".join(conditions), tuple(lines))


class _WalkPrinter:
    def __init__(self, rows: RowScope, phase: Walk, later: frozenset[Value]) -> None:
        self.rows, self.phase, self.step, self.later = rows, phase, phase.step, later
        self.scope = rows.scope
        self.run = phase.sweep.run
        self.width = rows.width
        self.number = rows.item if rows.rows.items > 1 else "0"
        self.arrays: list[str] = []
        self.before: list[str] = []
        self.after: list[str] = []
        # Sums of one chunk, by their reductions.
        self.chunk: dict[Reduce, str] = {}
        self.inputs: dict[str, int] = {}
        self.compute = Compute(phase.sweep, self.step.stores, phase.widths, (), (), ())

    def view(self) -> WalkView:
        for node in self.step.reductions:
            self._declare(node)
        fetched, loads = self._fetch()
        hoisted = {**self.rows.kept, **fetched}
        body = self._body(hoisted)
        # Several items are all read before the first is computed.
        apart = bool(loads) and self.rows.rows.items > 1
        pieces = [self._items(p) for p in ([loads, body] if apart else [[*loads, *body]])]
        several = len(set(fetched.values())) > 1
        if apart and several and self.rows.nest.parallel and not pieces[0].guard:
            pieces[0] = replace(pieces[0], together=self.rows.exists())
        if self.rows.rows.whole:
            self.rows.kept |= {r: t for r, t in fetched.items() if r in self.later}
        return WalkView(
            comment=(self._comment(),),
            before=tuple(self.before),
            chunks=self.rows.chunks(self.step.row),
            arrays=tuple(self.arrays),
            pieces=tuple(pieces),
            after=tuple(self.after),
        )

    def _comment(self) -> str:
        nest = self.rows.nest
        along = ", ".join(self.scope.names.user(a) for a in nest.rows[self.step.row])
        what = [f"{r.op.value} over {along}" for r in self.step.reductions]
        outputs = dict.fromkeys(self.scope.pointer(s.access.pointer) for s in self.step.stores)
        what += [f"write {o}" for o in outputs]
        text = ", ".join(what)
        if self.rows.rows.whole and self.later:
            text += "; what is needed again stays in registers"
        elif not self.rows.rows.whole and self.rows.rows.items > 1:
            text += f", {self.rows.rows.items} loads under way per thread"
        if self.chunk:
            text += "; a sum per chunk, so that chains of additions are short"
        return text[0].upper() + text[1:] + "."

    def _items(self, body: list[str]) -> ItemsView:
        guard = self.rows.guard(self.step.row)
        inside = prune(self.rows.position(self.step.row), "\n".join([guard, *body]))
        return ItemsView(self.rows.item, self.rows.rows.items, inside, guard, tuple(body))

    def _declare(self, node: Reduce) -> None:
        rows = self.rows
        name, ctype = rows.result(node), accumulator_ctype(node, rows.types, rows.helpers)
        start = identity_text(node, rows.types, rows.helpers)
        if self._in_chunks(node):
            self.chunk[node] = part = rows.fresh(f"{name}_chunk")
            self.arrays.append(
                f"{ctype} {part}" + (f"[{rows.lanes}] = {{}};" if rows.lanes > 1 else f" = {start};")
            )
            self.after += rows.each_lane([f"{rows.at_lane(name)} += {rows.at_lane(part)};"])
        if rows.lanes == 1:
            self.before.append(f"{ctype} {name} = {start};")
            return
        self.before.append(f"{ctype} {name}[{rows.lanes}];")
        self.before += rows.each_lane([f"{name}[{rows.lane}] = {start};"])

    def _in_chunks(self, node: Reduce) -> bool:
        """Whether rounding makes it worth while to add up chunks of a long row first."""
        summed = node.op in (Reduction.SUM, Reduction.MEAN) and accumulator_type(node).kind is Kind.FLOAT
        return summed and bool(self.rows.chunks(self.step.row)) and self.rows.rows.items * self.width > 1

    # Loads

    def _fetch(self) -> tuple[dict[Read, str], list[str]]:
        """Arrays for what is loaded before anything is computed: their texts at a lane, and the loads."""
        texts: dict[Read, str] = {}
        lines: list[str] = []
        places: dict[Access, str] = {}
        body = ItemBody(self.scope, self.compute, self.rows.known)
        for read in self.step.reads:
            access = self.scope.nest.loads[read]
            if access.checked or not self._fetchable(read, access):
                continue
            if access not in places:
                places[access] = self._array(body, read, access, lines)
            texts[read] = places[access]
        return texts, [*body.definitions, *lines]

    def _fetchable(self, read: Read, access: Access) -> bool:
        """Whether an array of it is loaded before anything is computed."""
        if self.rows.rows.whole and not loaded_ahead(self.scope.nest, self.step, read):
            return False
        return self.run is None or self.phase.width_of(access) > 1

    def _array(self, body: ItemBody, read: Read, access: Access, lines: list[str]) -> str:
        scope, items = self.scope, self.rows.rows.items
        name = self._input(access.pointer)
        if self.run is None:
            self.arrays.append(f"{self.rows.types.storage(read.dtype)} {name}[{items}];")
            lines.append(f"{name}[{self.number}] = {body._read(read, {})};")
            return f"{name}[{self.number}]"
        pointer = scope.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        vector = scope.vector(pointer.dtype, self.width, self.width * pointer.dtype.size)
        self.arrays.append(f"{vector} {name}[{items}];")
        lines.append(f"{name}[{self.number}] = {body.vector_load(access)};")
        return f"{name}[{self.number}].lane[{self.rows.lane}]"

    def _input(self, pointer: str) -> str:
        """The array for what a walk reads. It is declared inside the walk, so that others may have one of its name,
        unless what is in it stays for them."""
        wanted = f"{self.scope.pointer(pointer)}_in"
        if self.rows.rows.whole:
            return self.rows.fresh(wanted)
        self.inputs[pointer] = number = self.inputs.get(pointer, 0) + 1
        return self.scope.names.user(f"@input{number} {pointer}", wanted)

    # Values

    def _body(self, hoisted: dict[Read, str]) -> list[str]:
        rows, scope = self.rows, self.scope
        body = ItemBody(scope, self.compute, rows.known)
        body.hoisted = dict(hoisted)
        shift = {axis: sym(f"@at_{axis}") for axis, _ in self.run.axes} if self.run is not None else {}
        self._hoist(body)
        loads = self._item_loads(body)
        printer = body.printer(shift)
        self._share_divisors(printer)
        kept = sorted(self.step.keep, key=lambda v: sum(1 for _ in walk(v)))
        kept += [r for r in self.step.reads if r in self.later and r not in hoisted]
        for value in (*kept, *self.step.roots):
            printer.count(value)
        lines: list[str] = []

        def text_of(value: Value) -> str:
            text = printer(value)
            lines.extend([*body.definitions, *printer.lines])
            body.definitions.clear()
            printer.lines.clear()
            return text

        for value in kept:
            text = text_of(value)
            place = self._kept_array(value)
            lines.append(f"{place} = {text};")
            printer.know(value, place)
            rows.known[value] = place
        for node in self.step.reductions:
            text = text_of(node.body)
            place = rows.at_lane(self.chunk.get(node, rows.result(node)))
            index = self._index(node, shift)
            ordered = rows.in_order(node, self.step.row)
            lines.append(taken_in(node, place, text, index, rows.types, rows.helpers, ordered=ordered))
        before: list[str] = []
        after: list[str] = []
        for n, store in enumerate(self.step.stores):
            text = text_of(store.value)
            if self.run is None:
                lines += body.stored(store, shift, text)
                continue
            declared, assigned, stored = body.lane_store(n, store, text, shift)
            before += declared
            lines.append(assigned)
            after += stored
        if self.run is None:
            return [*loads, *lines]
        inner = [*prune(scope.lane_coordinates(self.phase.sweep), "\n".join(lines)), *lines]
        return [*loads, *before, *body.each_lane(inner), *after]

    def _item_loads(self, body: ItemBody) -> list[str]:
        """Vectors that are loaded where they are used."""
        lines: list[str] = []
        for read in self.step.reads:
            access = self.scope.nest.loads[read]
            if read in body.hoisted or self.run is None or self.phase.width_of(access) == 1:
                continue
            name = self.rows.fresh(f"{self.scope.pointer(access.pointer)}_in")
            lines.append(f"const auto {name} = {body.vector_load(access)};")
            body.hoisted[read] = f"{name}.lane[{self.rows.lane}]"
        return lines

    def _share_divisors(self, printer: ValuePrinter) -> None:
        """Divisors of type f32 that are one for the whole row."""
        if self.rows.lanes > 1:
            return
        divisors = [
            node.right
            for root in self.step.roots
            for node in walk_outside(root)
            if isinstance(node, Binary)
            and node.op is BinaryOp.DIVIDE
            and node.dtype == F32
            and shares_divisor(node)
        ]
        for value in dict.fromkeys(divisors):
            if value in self.rows.known and is_of_the_row(self.scope.nest, value):
                name = self.rows.fresh(f"{self.rows.known[value]}_divisor")
                self.rows.helpers.add("Divisor")
                self.before.append(f"const Divisor {name} = divisor({self.rows.known[value]});")
                printer.divide_by(value, name)

    def _kept_array(self, value: Value) -> str:
        rows = self.rows
        lets = {v: name for name, v in self.scope.nest.lets}
        wanted = lets.get(value, self.scope.pointer(value.tensor) if isinstance(value, Read) else "kept")
        name = rows.fresh(f"{wanted}_row")
        width = f"[{self.width}]" if self.run is not None else ""
        self.arrays.append(f"{rows.types.value(value.dtype)} {name}[{rows.rows.items}]{width};")
        return f"{name}[{self.number}]" + (f"[{rows.lane}]" if width else "")

    def _index(self, node: Reduce, shift: dict[str, Expr]) -> str:
        """Where an arg-reduction is: the value of its axis, or the place among the points of several."""
        if len(node.axes) == 1:
            value = sym(node.axes[0].name)
        else:
            value = ZERO
            for axis in node.axes:
                value = value * (axis.upper - axis.lower) + sym(axis.name) - axis.lower
        return self.scope.index(substitute(self.scope.in_nest(value), shift))

    def _hoist(self, body: ItemBody) -> None:
        """Values of the whole row that the walk uses, computed once before it."""
        if self.rows.lanes > 1:
            return
        printer = body.printer({})
        for root in self.step.roots:
            for value in self._row_values(root):
                if value not in self.rows.known:
                    name = self.rows.fresh(dict((v, n) for n, v in self.scope.nest.lets).get(value, "value"))
                    text = printer(value)
                    self.before += printer.lines
                    printer.lines.clear()
                    self.before.append(f"const {self.rows.types.value(value.dtype)} {name} = {text};")
                    self.rows.known[value] = name
                    body.known[value] = name
                    printer.know(value, name)

    def _row_values(self, value: Value) -> list[Value]:
        """The largest parts of `value` that are made of results of reductions and scalars alone."""
        if isinstance(value, Reduce) or value in self.rows.known:
            return []
        parts = list(walk_outside(value))
        fixed = all(isinstance(p, Reduce) or not isinstance(p, Read) for p in parts)
        fixed = fixed and is_of_the_row(self.scope.nest, value)
        if fixed and any(isinstance(p, Reduce) for p in parts):
            return [value]
        return [v for child in children(value) for v in self._row_values(child)]


def walk_outside(value: Value) -> list[Value]:
    """`value` and what is below it, but not what reductions are made of."""
    if isinstance(value, Reduce):
        return [value]
    return [value, *(v for child in children(value) for v in walk_outside(child))]
