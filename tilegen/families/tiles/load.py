"""The load phase of one staged tensor."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.algebra import Expr, substitute, sym
from tilegen.core.plan.model import FIELD, Load
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.sweep import SweepScope
from tilegen.cuda.tree import (
    NOTHING,
    UNSIGNED,
    Assign,
    Block,
    CType,
    Declare,
    Expression,
    For,
    If,
    Run,
    Statement,
    Variable,
    address_of,
    at,
    dereferenced,
    lane_of,
    library,
    number,
)
from tilegen.dtypes import U32


def load_tile(scope: KernelScope, load: Load, guarded: bool) -> Block:
    """Copy the tile; `guarded`: with the conditions of ragged edges."""
    return _Load(scope, load, guarded).block()


class _Load:
    def __init__(self, scope: KernelScope, load: Load, guarded: bool) -> None:
        self.scope, self.load, self.guarded = scope, load, guarded
        self.sweep = SweepScope(scope, load.sweep)
        self.at = {a: self.sweep.inside(a) for a, _ in load.sweep.coordinates}
        self.line = _line(scope, load)

    def block(self) -> Block:
        load, buffer = self.load, self.load.buffer
        across = None if load.across is None else load.across[0]
        guards = [a for a in load.guards if self.guarded and a != across]
        conditions = self.sweep.limits() + [self.scope.guard(a) for a in guards]
        if load.across is not None:
            return self.sweep.loops(conditions, self._transposing(*load.across), leave=across)
        target = self.sweep.element(buffer, self.at, whole=load.width == buffer.chunk)
        if load.width > 1:
            vector = self.scope.vector(buffer.dtype, load.width, load.width * buffer.dtype.size)
            target = dereferenced(vector, address_of(target))
        address = self.sweep.address(self.sweep.run_address(self._of_member(load.address)))
        source = self.scope.read(load.access.pointer, address, buffer.dtype, load.width)
        return self.sweep.loops(conditions, (Assign(target, source, line=self.line),))

    def _of_member(self, address: Expr) -> Expr:
        """The address of the member of a struct that the thread is at, where it has no variable of its own."""
        return substitute(address, {FIELD: self.at[FIELD]}) if FIELD in self.at else address

    def _transposing(self, axis: str, count: int) -> Block:
        """Load `count` rows of `width` elements each, and store them as `width` columns of `count`."""
        load, buffer, dtype, scope = self.load, self.load.buffer, self.load.buffer.dtype, self.scope
        if dtype.size == 1 and count == 4 and load.width % 4 == 0:
            return self._transposing_bytes(axis)
        row = scope.plan_variable("@row")
        several = load.width > 1
        row_type: CType = (
            scope.vector(dtype, load.width, load.width * dtype.size)
            if several
            else scope.types.storage(dtype)
        )
        rows = Variable("rows", row_type, (number(count),))
        packed = Variable("packed", scope.vector(dtype, count, count * dtype.size))
        source = scope.read(load.access.pointer, self._of_member(load.address), dtype, load.width)
        element: Expression = lane_of(at(rows, row), scope.lane) if several else at(rows, row)
        target = self.sweep.element(
            buffer, self._moved(sym("@lane") if several else None), load.width, whole=count == buffer.chunk
        )
        store: Block = (
            Declare(packed),
            _each(row, count, Assign(lane_of(packed, row), element)),
            Assign(dereferenced(packed.type, address_of(target)), packed, line=self.line),
        )
        if several:
            store = (_each(scope.lane, load.width, *store),)
        return (*self._rows(axis, rows, row, count, source), *store)

    def _rows(self, axis: str, rows: Variable, row: Variable, count: int, source: Expression) -> Block:
        """The array of rows, and the loop that fills it."""
        read: Statement = Assign(at(rows, row), source, line=self.line)
        if self.guarded and axis in self.load.guards:
            read = If(self.scope.guard(axis), (read,))
        place = self.sweep.coordinate(axis, self.at[axis] + sym("@row"))
        return Declare(rows, NOTHING), _each(row, count, place, read)

    def _moved(self, distance: Expr | None) -> Mapping[str, Expr]:
        """The in-tile coordinates, `distance` along the run."""
        if distance is None:
            return self.at
        assert self.load.sweep.run is not None
        fast = self.load.sweep.run.fast
        return {**self.at, fast: self.at[fast] + distance}

    def _transposing_bytes(self, axis: str) -> Block:
        """The same for bytes, which travel four to a word: 4 x 4 of them are transposed by permutations of bytes."""
        load, scope = self.load, self.scope
        row, lane = scope.plan_variable("@row"), scope.lane
        words = load.width // 4
        rows = Variable("rows", scope.vector(U32, words, load.width), (number(4),))
        source = dereferenced(
            rows.type, scope.place(load.access.pointer, self._of_member(load.address)), const=True
        )
        target = self.sweep.element(
            load.buffer, self._moved(sym("@lane") * 4 + sym("@row")), words, whole=load.buffer.chunk == 4
        )
        transposed = library("transpose_bytes", *(lane_of(at(rows, n), lane) for n in range(4)))
        store = Assign(
            dereferenced(UNSIGNED, address_of(target)), lane_of(at(rows, row), lane), line=self.line
        )
        return (
            *self._rows(axis, rows, row, 4, source),
            _each(lane, words, Run(transposed), _each(row, 4, store)),
        )


def _each(variable: Variable, trip: int, *body: Statement) -> For:
    return For(variable, number(0), number(trip), body)


def _line(scope: KernelScope, load: Load) -> int | None:
    """The spec line of the `stage` directive, or of the first read where `auto` chose to stage."""
    tensor = load.buffer.tensor
    stage = scope.plan.schedule.stage_of(tensor)
    if stage is not None and stage.span is not None:
        return stage.span.line
    return next((r.span.line for r in scope.nest.loads if r.tensor == tensor), None)
