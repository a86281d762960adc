"""One item of a sweep: its loads, values and stores.

Every value is computed before the first store, so that an `inout` tensor is read as it was before the launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilegen.algebra import Expr, expr, substitute, sym, symbols
from tilegen.core.nest.model import Access, CheckedIndex, Store
from tilegen.core.nest.values import unconditional
from tilegen.core.plan.model import FIELD, Buffer, Compute
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.sweep import SweepScope
from tilegen.cuda.tree import (
    AUTO,
    INDEX,
    LONG_LONG,
    UNSIGNED_LONG_LONG,
    Assign,
    Block,
    Cast,
    Conditional,
    Declare,
    Expression,
    For,
    If,
    Infix,
    Literal,
    Member,
    Run,
    Scalar,
    Statement,
    Variable,
    add,
    address_of,
    all_of,
    at,
    binary,
    call,
    dereferenced,
    lane_of,
    less,
    library,
    number,
)
from tilegen.cuda.values import ValueBuilder
from tilegen.dtypes import DType, Kind
from tilegen.lang.spec import Aosoa, Boundary, Hint, Read, Value

Shift = Mapping[str, Expr]


class ItemBody:
    """The statements of one item. `known`: values that have a tree already; `hoisted`: reads that were made before."""

    def __init__(
        self, scope: KernelScope, compute: Compute, known: Mapping[Value, Expression] | None = None
    ) -> None:
        self.known = dict(known or {})
        self.scope, self.compute = scope, compute
        self.sweep = SweepScope(scope, compute.sweep)
        self.run = compute.sweep.run
        self.width = self.run.width if self.run is not None else 1
        self.staged = dict(compute.staged)
        self.shared_widths = dict(compute.shared_widths)
        self.hoisted: dict[Read, Expression] = {}
        self._indices: dict[Expr, Variable] = {}

    def block(self) -> Block:
        if self.run is None:
            return self._points({})
        whole = self._whole_vector() or self._lanes()
        return self._with_tail(whole) if self.compute.tail else whole

    def _with_tail(self, whole: Block) -> Block:
        """Whole items as vectors, the last elements of a row one by one."""
        assert self.run is not None
        scope, axis = self.scope, self.run.fast
        single = ItemBody(scope, self.compute)._points({axis: sym(f"@at_{axis}")})
        extent = scope.index(scope.nest.axis(axis).extent)
        place = scope.plan_variable(f"@at_{axis}")
        fits = binary(Infix.LESS_EQUAL, add(scope.axis(axis), self.width), extent)
        guarded = If(less(place, extent), single)
        rest = self.each_lane((*self.sweep.lane_coordinates(), guarded))
        return (If(fits, whole, rest),)

    # One element at a time

    def _points(self, shift: Shift) -> Block:
        """The statements of one point; `shift` moves the axes of the run to a lane."""
        values, found = self._values(shift)
        statements = list(found)
        if len(values) > 1 and self._in_place():
            for n, store in enumerate(self.compute.stores):
                name = f"{self.scope.pointer(store.access.pointer).wanted}_value"
                variable = Variable(name, self.scope.types.value(store.access.dtype))
                statements.append(Declare(variable, values[n], const=True))
                values[n] = variable
        for store, value in zip(self.compute.stores, values, strict=True):
            statements.append(self.stored(store, shift, value))
        return tuple(statements)

    def _values(self, shift: Shift) -> tuple[list[Expression], Block]:
        """The value of each store, and the definitions they use."""
        builder = self.builder(shift)
        for store in self.compute.stores:
            builder.count(store.value)
        values = [builder(s.value) for s in self.compute.stores]
        return values, builder.take()

    def _in_place(self) -> bool:
        written = {s.access.pointer for s in self.compute.stores}
        return any(a.pointer in written for a in self.scope.nest.loads.values())

    def _hint(self, access: Access) -> Hint:
        return self.scope.hint(self.scope.nest.pointer(access.pointer).tensor)

    def stored(self, store: Store, shift: Shift, value: Expression) -> Statement:
        """The statement that writes `value`."""
        access, line = store.access, store.assign.span.line
        if self._hint(access) is Hint.STREAMING and access.member is None:
            place = self.scope.place(access.pointer, self._moved(access, shift))
            return Run(call("__stcs", place, value), line)
        return Assign(self._element(access, shift), value, line=line)

    def _moved(self, access: Access, shift: Shift) -> Expr:
        """The address of an access at the point, or at a lane of it."""
        if not shift:
            return self.sweep.address(access.address)
        return substitute(access.address, shift)

    def _element(self, access: Access, shift: Shift) -> Expression:
        """The place of an access; `shift` moves axes (to a lane)."""
        pointer, index = self.scope.pointer(access.pointer), self.scope.index
        address = self._moved(access, shift)
        if access.member is None:
            return at(pointer, index(address))
        tensor = self.scope.nest.pointer(access.pointer).tensor
        placement = self.scope.nest.kernel.tensor(tensor).placement
        field = self.scope.file.structs[tensor].field(access.member)
        if isinstance(placement, Aosoa):
            element = Member(at(pointer, index(address // placement.block)), field)
            return at(element, index(address % placement.block))
        return Member(at(pointer, index(address)), field)

    # Values

    def builder(self, shift: Shift, named: bool = True) -> ValueBuilder:
        """Builds values at the point, or at a lane of it. `named`: a `let` becomes a constant by its name."""
        builder = ValueBuilder(
            types=self.scope.types,
            read=lambda read: self._read(read, shift, builder),
            index=lambda e, long: self._index_value(substitute(self.scope.in_nest(e), shift), long),
            scalar=self.scope.scalar,
            lets={value: name for name, value in self.scope.nest.lets} if named else {},
            known=self.known,
        )
        return builder

    def _index_value(self, value: Expr, long: bool) -> Expression:
        return self.scope.long_index(value) if long else self.scope.index(value)

    def read(self, read: Read) -> Expression:
        """A read at the point that is no index of data and meets no boundary."""
        return self._read(read, {}, self.builder({}))

    def _read(self, read: Read, shift: Shift, builder: ValueBuilder) -> Expression:
        if read in self.hoisted:
            return self.hoisted[read]
        access = self.scope.nest.loads[read]
        if access.pointer in self.staged:
            buffer = self.staged[access.pointer]
            return self.sweep.element(buffer, self._inside(buffer, access, shift), self.width)
        if access.checked:
            return self._checked(access, shift, builder)
        pointer = self.scope.nest.pointer(access.pointer)
        if isinstance(pointer.dtype, DType):
            return self.scope.read(access.pointer, self._moved(access, shift), pointer.dtype, 1)
        return self._element(access, shift)

    def _inside(self, buffer: Buffer, access: Access, shift: Shift) -> dict[str, Expr]:
        """In-tile coordinates of a staged read."""
        found: dict[str, Expr] = {}
        for axis, members in buffer.coordinates:
            if axis == FIELD:
                found[axis] = expr(dict(access.address.terms).get((), 0) % members)
            else:
                found[axis] = self.sweep.inside_lane(axis) if shift else self.sweep.inside(axis)
        return found

    def _checked(self, access: Access, shift: Shift, builder: ValueBuilder) -> Expression:
        """A read that may leave the tensor: its indices mapped by the boundary mode, or replaced by the constant."""
        replaced: dict[str, Expr] = {}
        conditions: list[Expression] = []
        constant = access.boundary is Boundary.CONSTANT or access.boundary is None
        for checked in access.checked:
            kind = index_kind(checked, self.scope)
            index, extent = (
                self._index(access, checked, kind, shift, builder),
                self.scope.index(checked.extent),
            )
            if constant:
                conditions.append(library("inside", index, extent, template=(kind,)))
                place = index
            else:
                assert access.boundary is not None
                place = library(access.boundary.value, index, extent, template=(kind,))
            replaced[checked.symbol] = self.scope.alias(place if kind == INDEX else Cast(INDEX, place))
        element = self._element(replace(access, address=substitute(access.address, replaced)), shift)
        condition = all_of(conditions)
        if condition is None:
            return element
        return Conditional(condition, element, self._fill(access))

    def _fill(self, access: Access) -> Expression:
        """What a read outside gives, as the element is kept in memory."""
        if access.dtype.kind is Kind.BOOL:
            return Literal(int(bool(access.boundary_value)))
        return self.scope.types.literal(access.boundary_value, access.dtype)

    def _index(
        self, access: Access, checked: CheckedIndex, kind: Scalar, shift: Shift, builder: ValueBuilder
    ) -> Expression:
        """The index before the boundary mode maps it. One that takes arithmetic, or is read from memory and needed
        twice, becomes a constant of its own."""
        wanted = checked.symbol[1:]
        if isinstance(checked.index, Expr):
            value = substitute(checked.index, shift)
            tree = self._index_value(value, long=kind != INDEX)
            if isinstance(tree, Variable):
                return tree
            if value not in self._indices:
                self._indices[value] = variable = Variable(wanted, kind)
                builder.define(Declare(variable, tree, const=True))
            return self._indices[value]
        tree = builder(checked.index)
        tree = Cast(INDEX, tree) if kind == INDEX else tree
        constant = access.boundary is Boundary.CONSTANT or access.boundary is None
        if builder.guarded or not constant:
            return tree
        variable = Variable(wanted, kind)
        builder.define(Declare(variable, tree, const=True))
        return variable

    # Several lanes at a time

    def _whole_vector(self) -> Block | None:
        """One vector copied as it is: no lanes to be seen."""
        store = self.compute.stores[0]
        if len(self.compute.stores) > 1 or not isinstance(store.value, Read):
            return None
        access = self.scope.nest.loads[store.value]
        wide = self.shared_widths.get(access.pointer, 0) or self.compute.width_of(access)
        if self.compute.width_of(store.access) != self.width or wide != self.width or not self._along(access):
            return None
        return (self._vector_store(store.access, self.vector_load(access), store.assign.span.line),)

    def _along(self, access: Access) -> bool:
        """Whether neighbours along the run are neighbours where the access reads."""
        assert self.run is not None
        if access.pointer in self.staged:
            return self.run.single and self.staged[access.pointer].axes[-1][0] == self.run.fast
        return self.compute.width_of(access) > 1

    def vector_load(self, access: Access) -> Expression:
        pointer = self.scope.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        size = pointer.dtype.size
        if access.pointer in self.staged:
            buffer = self.staged[access.pointer]
            whole = self.shared_widths[access.pointer] == buffer.chunk
            place = self.sweep.element(buffer, self._inside(buffer, access, {}), whole=whole)
            vector = self.scope.vector(pointer.dtype, self.width, self.shared_widths[access.pointer] * size)
            return dereferenced(vector, address_of(place), const=True)
        width = self.compute.width_of(access)
        address = self.sweep.run_address(access.address)
        if width == self.width:
            return self.scope.read(access.pointer, address, pointer.dtype, width)
        vector = self.scope.vector(pointer.dtype, self.width, width * size)
        return dereferenced(vector, self.scope.place(access.pointer, address), const=True)

    def _vector_store(self, access: Access, value: Expression, line: int | None) -> Statement:
        pointer = self.scope.nest.pointer(access.pointer)
        assert isinstance(pointer.dtype, DType)
        place = self.scope.place(access.pointer, self.sweep.run_address(access.address))
        if self._hint(access) is Hint.STREAMING:
            return Run(library("store_streaming", place, value), line)
        size = self.compute.width_of(access) * pointer.dtype.size
        return Assign(
            dereferenced(self.scope.vector(pointer.dtype, self.width, size), place), value, line=line
        )

    def _lanes(self) -> Block:
        assert self.run is not None
        scope = self.scope
        before: list[Statement] = []
        for read in self._unconditional():
            access = scope.nest.loads[read]
            if self._along(access):
                vector = Variable(f"{scope.pointer(access.pointer).wanted}_in", AUTO)
                before.append(Declare(vector, self.vector_load(access), const=True))
                self.hoisted[read] = lane_of(vector, scope.lane)
        shift = {axis: sym(f"@at_{axis}") for axis, _ in self.run.axes}
        values, definitions = self._values(shift)
        inner = list(definitions)
        after: list[Statement] = []
        for store, value in zip(self.compute.stores, values, strict=True):
            declared, assigned, stored = self.lane_store(store, value, shift)
            before += declared
            inner.append(assigned)
            after += stored
        return (*before, *self.each_lane((*self.sweep.lane_coordinates(), *inner)), *after)

    def lane_store(self, store: Store, value: Expression, shift: Shift) -> tuple[Block, Statement, Block]:
        """What a store adds before, inside and after the loop over lanes."""
        lane, line = self.scope.lane, store.assign.span.line
        name = f"{self.scope.pointer(store.access.pointer).wanted}_out"
        width = self.compute.width_of(store.access)
        if width > 1:
            pointer = self.scope.nest.pointer(store.access.pointer)
            assert isinstance(pointer.dtype, DType)
            vector = Variable(name, self.scope.vector(pointer.dtype, self.width, width * pointer.dtype.size))
            whole = self._vector_store(store.access, vector, line)
            return (Declare(vector),), Assign(lane_of(vector, lane), value), (whole,)
        if not self._in_place():
            return (), self.stored(store, shift, value), ()
        values = Variable(name, self.scope.types.value(store.access.dtype), (number(self.width),))
        one = self.stored(store, shift, at(values, lane))
        after = self.each_lane((*self.sweep.lane_coordinates(), one))
        return (Declare(values),), Assign(at(values, lane), value), after

    def each_lane(self, body: Block) -> Block:
        return (For(self.scope.lane, number(0), number(self.width), body),)

    def _unconditional(self) -> dict[Read, None]:
        """Reads that happen at every point: those not behind a condition, and not data-dependent."""
        found: dict[Read, None] = {}
        for store in self.compute.stores:
            for value in unconditional(store.value):
                if isinstance(value, Read) and not self.scope.nest.loads[value].checked:
                    found[value] = None
        return found


def index_kind(checked: CheckedIndex, scope: KernelScope) -> Scalar:
    """The type in which an index meets its bounds: wide data is not cut down to the index type before."""
    if isinstance(checked.index, Expr):
        return LONG_LONG if scope.scalars_in(symbols(checked.index)) else INDEX
    wide = {"u32": LONG_LONG, "i64": LONG_LONG, "u64": UNSIGNED_LONG_LONG}
    return wide.get(checked.index.dtype.name, INDEX)
