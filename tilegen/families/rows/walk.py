"""Walks along a row: loads of several items first, then their values, which are accumulated, kept or stored."""

from __future__ import annotations

from tilegen.algebra import ZERO, Expr, substitute, sym
from tilegen.core.nest.combine import accumulator_type
from tilegen.core.nest.model import Access
from tilegen.core.plan.model import Compute
from tilegen.cuda.item import ItemBody
from tilegen.cuda.operators import identity_value, taken_in
from tilegen.cuda.tree import (
    AUTO,
    NOTHING,
    Assign,
    Block,
    Comment,
    Declare,
    Expression,
    For,
    If,
    Part,
    Scope,
    Statement,
    Templated,
    Variable,
    Words,
    all_of,
    at,
    equal,
    joined,
    lane_of,
    library,
    number,
)
from tilegen.cuda.values import ValueBuilder, shares_divisor
from tilegen.dtypes import F32, DType, Kind
from tilegen.families.rows.names import RowScope
from tilegen.families.rows.passes import is_of_the_row, loaded_ahead
from tilegen.families.rows.phases import PointStores, Walk
from tilegen.lang.spec import Binary, BinaryOp, Read, Reduce, Reduction, Value, children, walk

_TOGETHER = (
    "Always true, and a block of its own: ptxas would put off loads that it could move into the arithmetic."
)


def walk_part(rows: RowScope, phase: Walk, later: frozenset[Value]) -> Part:
    """`later`: values that later walks need."""
    return _Walk(rows, phase, later).part()


def once_part(rows: RowScope, phase: PointStores) -> Part:
    """Stores of one element per row, by the first thread of its team."""
    compute = Compute(phase.sweep, phase.stores, phase.widths, (), (), ())
    body = ItemBody(rows.scope, compute, rows.known).block()
    conditions: list[Expression] = [equal(rows.member, 0)] if rows.rows.along > 1 else []
    condition = all_of([*conditions, *([rows.inside] if rows.ragged else [])])
    outputs = dict.fromkeys(rows.scope.pointer(s.access.pointer) for s in phase.stores)
    who = "The first thread of each row writes " if rows.rows.along > 1 else "Write "
    words: Words = (who, *joined(outputs, ", "), ".")
    return Part((Comment(words),), body if condition is None else (If(condition, body),))


class _Walk:
    def __init__(self, rows: RowScope, phase: Walk, later: frozenset[Value]) -> None:
        self.rows, self.phase, self.step, self.later = rows, phase, phase.step, later
        self.scope = rows.scope
        self.run = phase.sweep.run
        self.width = rows.width
        self.number: Expression = rows.item if rows.rows.items > 1 else number(0)
        self.arrays: list[Statement] = []
        self.before: list[Statement] = []
        self.after: list[Statement] = []
        # Sums of one chunk, by their reductions.
        self.chunk: dict[Reduce, Variable] = {}
        self.compute = Compute(phase.sweep, self.step.stores, phase.widths, (), (), ())

    def part(self) -> Part:
        rows = self.rows
        for node in self.step.reductions:
            self._declare(node)
        fetched, loads = self._fetch()
        body = self._body({**rows.held, **fetched})
        # Several items are all read before the first is computed.
        apart = bool(loads) and rows.rows.items > 1
        pieces: list[Statement] = []
        if apart:
            several = len({self.scope.nest.loads[r] for r in fetched}) > 1
            first = self._items(loads)
            if several and rows.nest.parallel and rows.guard(self.step.row) is None:
                pieces += [Comment((_TOGETHER,)), If(rows.exists(), (first,))]
            else:
                pieces.append(first)
            pieces.append(self._items(body))
        else:
            pieces.append(self._items((*loads, *body)))
        if rows.rows.whole:
            rows.held |= {r: t for r, t in fetched.items() if r in self.later}
        inner = (*self.arrays, *pieces, *self.after)
        return Part((Comment(self._words()),), (*self.before, *rows.chunks(self.step.row, inner)))

    def _words(self) -> Words:
        rows, nest = self.rows, self.rows.nest
        along = joined([self.scope.axis(a) for a in nest.rows[self.step.row]], ", ")
        what: list[Words] = [(f"{r.op.value} over ", *along) for r in self.step.reductions]
        outputs = dict.fromkeys(self.scope.pointer(s.access.pointer) for s in self.step.stores)
        what += [("write ", o) for o in outputs]
        words = tuple(w for n, part in enumerate(what) for w in ((", ", *part) if n else part))
        if rows.rows.whole and self.later:
            words += ("; what is needed again stays in registers",)
        elif not rows.rows.whole and rows.rows.items > 1:
            words += (f", {rows.rows.items} loads under way per thread",)
        if self.chunk:
            words += ("; a sum per chunk, so that chains of additions are short",)
        first, *rest = words
        assert isinstance(first, str)
        return first[0].upper() + first[1:], *rest, "."

    def _items(self, body: Block) -> Statement:
        """`body` for each item of the thread that is an element of the row."""
        rows = self.rows
        guard = rows.guard(self.step.row)
        inner: Block = (
            *rows.coordinates(self.step.row),
            *(body if guard is None else (If(guard, body),)),
        )
        if rows.rows.items == 1:
            return Scope(inner)
        return For(rows.item, number(0), number(rows.rows.items), inner)

    def _declare(self, node: Reduce) -> None:
        rows = self.rows
        total, start = rows.result(node), identity_value(node, rows.types)
        if self._in_chunks(node):
            self.chunk[node] = part = Variable(f"{total.wanted}_chunk", total.type, total.shape)
            self.arrays.append(Declare(part, NOTHING if rows.lanes > 1 else start))
            self.after += rows.each_lane((Assign(rows.at_lane(total), rows.at_lane(part), "+="),))
        if rows.lanes == 1:
            self.before.append(Declare(total, start))
            return
        self.before.append(Declare(total))
        self.before += rows.each_lane((Assign(at(total, rows.lane), start),))

    def _in_chunks(self, node: Reduce) -> bool:
        """Whether rounding makes it worth while to add up chunks of a long row first."""
        summed = node.op in (Reduction.SUM, Reduction.MEAN) and accumulator_type(node).kind is Kind.FLOAT
        return summed and not self.rows.rows.whole and self.rows.rows.items * self.width > 1

    # Loads

    def _fetch(self) -> tuple[dict[Read, Expression], Block]:
        """Arrays for what is loaded before anything is computed: their elements at a lane, and the loads."""
        elements: dict[Read, Expression] = {}
        loads: list[Statement] = []
        places: dict[Access, Expression] = {}
        body = ItemBody(self.scope, self.compute, self.rows.known)
        for read in self.step.reads:
            access = self.scope.nest.loads[read]
            if access.checked or not self._fetchable(read, access):
                continue
            if access not in places:
                places[access] = self._array(body, read, access, loads)
            elements[read] = places[access]
        return elements, tuple(loads)

    def _fetchable(self, read: Read, access: Access) -> bool:
        """Whether an array of it is loaded before anything is computed."""
        if self.rows.rows.whole and not loaded_ahead(self.scope.nest, self.step, read):
            return False
        return self.run is None or self.phase.width_of(access) > 1

    def _array(self, body: ItemBody, read: Read, access: Access, loads: list[Statement]) -> Expression:
        scope, items = self.scope, number(self.rows.rows.items)
        wanted = f"{scope.pointer(access.pointer).wanted}_in"
        if self.run is None:
            array = Variable(wanted, self.rows.types.storage(read.dtype), (items,))
            self.arrays.append(Declare(array))
            loads.append(Assign(at(array, self.number), body.read(read)))
            return at(array, self.number)
        pointer = scope.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        vector = scope.vector(pointer.dtype, self.width, self.width * pointer.dtype.size)
        array = Variable(wanted, vector, (items,))
        self.arrays.append(Declare(array))
        loads.append(Assign(at(array, self.number), body.vector_load(access)))
        return lane_of(at(array, self.number), self.rows.lane)

    # Values

    def _body(self, hoisted: dict[Read, Expression]) -> Block:
        rows, scope = self.rows, self.scope
        body = ItemBody(scope, self.compute, rows.known)
        body.hoisted = dict(hoisted)
        shift = {axis: sym(f"@at_{axis}") for axis, _ in self.run.axes} if self.run is not None else {}
        self._hoist(body)
        loads = self._item_loads(body)
        builder = body.builder(shift)
        self._share_divisors(builder)
        stays = sorted(self.step.keep, key=lambda v: sum(1 for _ in walk(v)))
        stays += [r for r in self.step.reads if r in self.later and r not in hoisted]
        for value in (*stays, *self.step.roots):
            builder.count(value)
        found: list[Statement] = []

        def tree_of(value: Value) -> Expression:
            tree = builder(value)
            found.extend(builder.take())
            return tree

        for value in stays:
            tree, place = tree_of(value), self._array_of(value)
            found.append(Assign(place, tree))
            builder.know(value, place)
            rows.known[value] = place
        for node in self.step.reductions:
            tree = tree_of(node.body)
            place = rows.at_lane(self.chunk.get(node) or rows.result(node))
            index = self._index(node, shift)
            ordered = rows.in_order(node, self.step.row)
            found.append(taken_in(node, place, tree, index, rows.types, ordered=ordered))
        before: list[Statement] = []
        after: list[Statement] = []
        for store in self.step.stores:
            tree = tree_of(store.value)
            if self.run is None:
                found.append(body.stored(store, shift, tree))
                continue
            declared, assigned, stored = body.lane_store(store, tree, shift)
            before += declared
            found.append(assigned)
            after += stored
        if self.run is None:
            return (*loads, *found)
        inner = (*body.sweep.lane_coordinates(), *found)
        return (*loads, *before, *body.each_lane(inner), *after)

    def _item_loads(self, body: ItemBody) -> Block:
        """Vectors that are loaded where they are used."""
        found: list[Statement] = []
        for read in self.step.reads:
            access = self.scope.nest.loads[read]
            if read in body.hoisted or self.run is None or self.phase.width_of(access) == 1:
                continue
            vector = Variable(f"{self.scope.pointer(access.pointer).wanted}_in", AUTO)
            found.append(Declare(vector, body.vector_load(access), const=True))
            body.hoisted[read] = lane_of(vector, self.rows.lane)
        return tuple(found)

    def _share_divisors(self, builder: ValueBuilder) -> None:
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
            known = self.rows.known.get(value)
            if known is not None and is_of_the_row(self.scope.nest, value):
                name = known.wanted if isinstance(known, Variable) else "row"
                divisor = Variable(f"{name}_divisor", Templated("Divisor"))
                made = library("divisor", known, entries=("Divisor",))
                self.before.append(Declare(divisor, made, const=True))
                builder.divide_by(value, divisor)

    def _array_of(self, value: Value) -> Expression:
        """A place in registers for a value of every item, which stays for later walks."""
        rows = self.rows
        lets = {v: name for name, v in self.scope.nest.lets}
        read = self.scope.pointer(value.tensor).wanted if isinstance(value, Read) else "value"
        shape = [number(rows.rows.items), *([number(self.width)] if self.run is not None else [])]
        array = Variable(f"{lets.get(value, read)}_row", rows.types.value(value.dtype), tuple(shape))
        self.arrays.append(Declare(array))
        return at(array, self.number, *([rows.lane] if self.run is not None else []))

    def _index(self, node: Reduce, shift: dict[str, Expr]) -> Expression:
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
        builder = body.builder({})
        lets = {v: n for n, v in self.scope.nest.lets}
        for root in self.step.roots:
            for value in self._row_values(root):
                if value in self.rows.known:
                    continue
                tree = builder(value)
                self.before += builder.take()
                variable = Variable(lets.get(value, "value"), self.rows.types.value(value.dtype))
                self.before.append(Declare(variable, tree, const=True))
                self.rows.known[value] = body.known[value] = variable
                builder.know(value, variable)

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
