"""Variables of a kernel with rows: who a thread is, which row it works on, where along it, what results are called."""

from __future__ import annotations

from tilegen.algebra import ONE, Expr, sym
from tilegen.core.plan.model import ROWS
from tilegen.cuda.operators import accumulator_ctype
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import (
    BLOCK,
    BLOCKS,
    BOOL,
    INDEX,
    INT,
    UNSIGNED,
    Binary,
    Block,
    Cast,
    Constant,
    Declare,
    Expression,
    For,
    Infix,
    SharedArray,
    Storage,
    Unroll,
    Variable,
    add,
    all_of,
    at,
    binary,
    less,
    multiply,
    number,
    optional,
    thread_number,
)
from tilegen.cuda.types import ElementTypes
from tilegen.families.rows.axes import (
    parallel_order,
    row_count,
    row_length,
    row_order,
    rows_of,
)
from tilegen.lang.spec import Read, Reduce, Value


class RowScope:
    """What the phases of one kernel share. `known`: values that are there already: results of reductions, values kept
    in registers. `held`: reads that stay in registers. `shared`: shared arrays that turned out to be needed."""

    def __init__(self, scope: KernelScope) -> None:
        self.scope, self.plan, self.nest = scope, scope.plan, scope.nest
        self.rows = rows = rows_of(scope.nest, scope.plan.schedule)
        self.width = scope.plan.schedule.item_width
        self.known: dict[Value, Expression] = {}
        self.held: dict[Read, Expression] = {}
        self.shared: list[SharedArray] = []
        self._results: dict[Reduce, Variable] = {}
        self._combined = False
        variable = scope.variable
        self.thread = scope.thread
        self.member: Expression = variable("@member", "member") if rows.along > 1 else number(0)
        self.side: Expression = variable("@side", "team") if rows.beside > 1 else number(0)
        self.inside = variable("@inside", "inside", BOOL)
        self.item = variable("@item_number", "s")
        self.base = variable("@base", "base", INDEX)
        self.part, self.parts = variable("@part", "part", UNSIGNED), variable("@parts", "parts", UNSIGNED)
        self.shares = rows.parts > 1  # several blocks work on one row
        apart = self.shares or rows.cluster > 1
        self.block: Expression = variable("@block", "row_block", UNSIGNED) if apart else BLOCK
        self.rank = variable("@rank", "rank")
        self.position = variable("@position", "position", INDEX)
        self.team, self.items, self.tile, self.cluster = (
            variable(f"@{name}", name, storage=Storage.CONSTANT)
            for name in ("TEAM", "ITEMS", "ROWS", "CLUSTER")
        )
        self.order = parallel_order(self.nest)
        self.order_along = tuple(row_order(self.nest, n) for n in range(len(self.nest.rows)))
        one = len(self.order) == 1
        self.row = scope.axis(self.order[0]) if one else variable("@row_number", "row", INDEX)
        self.lane = scope.lane

    @property
    def types(self) -> ElementTypes:
        return self.scope.types

    @property
    def lanes(self) -> int:
        """Rows of one thread side by side."""
        return self.width if self.rows.across else 1

    @property
    def ragged(self) -> bool:
        return self.plan.tile(ROWS).ragged

    # The row of a thread

    def constants(self) -> list[Constant]:
        rows = self.rows
        found = [
            Constant(self.team, rows.along * rows.cluster),
            Constant(self.items, rows.items),
            Constant(self.tile, self.plan.tile(ROWS).tile),
            Constant(self.cluster, rows.cluster),
        ]
        return [c for c in found if c.value > 1]

    def setup(self) -> Block:
        """Definitions, each used by later ones."""
        rows = self.rows
        found: list[Declare] = [thread_number(self.thread)]
        first, second = Infix.REMAINDER, Infix.DIVIDE
        if rows.across:
            first, second = second, first
        cut = rows.beside if rows.across else rows.along
        if isinstance(self.member, Variable):
            member: Expression = binary(first, self.thread, cut) if rows.beside > 1 else self.thread
            if rows.cluster > 1:
                rank = Cast(INT, Binary(Infix.REMAINDER, BLOCK, self.cluster))
                assert isinstance(self.block, Variable)
                found += [
                    optional(self.rank, rank),
                    optional(self.block, Binary(Infix.DIVIDE, BLOCK, self.cluster)),
                ]
                member = add(multiply(self.rank, rows.along), member)
            found.append(optional(self.member, member))
        if isinstance(self.side, Variable):
            side: Expression = binary(second, self.thread, cut) if rows.along > 1 else self.thread
            found.append(optional(self.side, side))
        if self.shares:
            found += self._parts()
        return (*found, *self._row())

    def _parts(self) -> list[Declare]:
        """Which part of which rows a block takes; neighbouring blocks read neighbouring memory."""
        scope = self.scope
        count = self.plan.tile(ROWS).count
        blocks = scope.variable("@blocks_", "row_blocks", UNSIGNED)
        assert isinstance(self.block, Variable)
        if count == ONE:
            parts, part, row = [optional(self.parts, BLOCKS)], BLOCK, number(0)
            return [*parts, optional(self.part, part), optional(self.block, row)]
        found = [
            optional(blocks, Cast(UNSIGNED, scope.index(count))),
            optional(self.parts, Binary(Infix.DIVIDE, BLOCKS, blocks)),
        ]
        inner = blocks if self.rows.across else self.parts
        slow, fast = Binary(Infix.DIVIDE, BLOCK, inner), Binary(Infix.REMAINDER, BLOCK, inner)
        own_part, row_block = (slow, fast) if self.rows.across else (fast, slow)
        return [*found, optional(self.part, own_part), optional(self.block, row_block)]

    def _row(self) -> list[Declare]:
        if not self.order and not self.ragged:
            return []
        row: Expression = Cast(INDEX, self.block)
        if self.plan.tile(ROWS).tile > 1:
            row = multiply(row, self.tile)
        if self.rows.beside > 1:
            row = add(row, multiply(self.side, self.lanes))
        found = [optional(self.row, row)]
        if len(self.order) > 1:
            found += self._digits(self.order, sym("@row_number"))
        if self.ragged:
            found.append(optional(self.inside, self.exists()))
        return found

    def _digits(self, order: tuple[str, ...] | list[str], joint: Expr) -> list[Declare]:
        """The coordinates of axes, fastest first, from their joint number."""
        found = []
        for n, axis in enumerate(order):
            extent = self.nest.divisor(axis)
            value = joint % extent if n < len(order) - 1 else joint
            found.append(optional(self.scope.axis(axis), self.scope.index(value)))
            joint = joint // extent
        return found

    def exists(self) -> Expression:
        """That the row of this thread is one of the rows."""
        return less(self.row, self.scope.index(row_count(self.nest)))

    # Along a row

    def coordinates(self, row: int) -> list[Declare]:
        """The coordinates of item `s` along a row."""
        rows, order = self.rows, self.order_along[row]
        step: Expression = self.member if rows.along > 1 else number(0)
        if rows.items > 1:
            step = add(multiply(self.item, self.team), self.member) if rows.along > 1 else self.item
        if not rows.across:
            step = multiply(step, self.width) if step != number(0) else step
        place = step if rows.whole else add(self.base, step)
        if len(order) == 1:
            return [optional(self.scope.axis(order[0]), place)]
        return [optional(self.position, place), *self._digits(order, sym("@position"))]

    def in_order(self, node: Reduce, row: int) -> bool:
        """Whether a thread meets the elements of a reduction in the order of their indices."""
        return len(node.axes) == 1 and len(self.nest.rows[row]) == 1

    def guard(self, row: int) -> Expression | None:
        """Whether item `s` is an element of the row; None where it always is."""
        length = row_length(self.nest, row)
        most = self.rows.chunk(self.width)
        conditions: list[Expression] = [self.inside] if self.ragged else []
        whole = length.constant is not None and (
            length.constant == most if self.rows.whole else length.constant % most == 0 and not self.shares
        )
        if not whole:
            order = self.order_along[row]
            place = self.scope.axis(order[0]) if len(order) == 1 else self.position
            conditions.append(less(place, self.scope.index(length)))
        return all_of(conditions)

    def chunks(self, row: int, body: Block) -> Block:
        """`body` for each chunk of a row; alone where a row is one."""
        if self.rows.whole:
            return body
        size = number(self.rows.chunk(self.width))
        first: Expression = number(0)
        step: Expression = size
        if self.shares:
            first, step = multiply(Cast(INDEX, self.part), size), multiply(Cast(INDEX, self.parts), size)
        length = self.scope.index(row_length(self.nest, row))
        return (For(self.base, first, length, body, step, Unroll.NOT_SAID),)

    # Results

    def result(self, node: Reduce) -> Variable:
        """The accumulator of a reduction; one per lane where a thread has several rows."""
        if node not in self._results:
            lets = {value: name for name, value in self.nest.lets}
            shape = (number(self.lanes),) if self.lanes > 1 else ()
            self._results[node] = Variable(
                lets.get(node, f"row_{node.op.value}"), accumulator_ctype(node, self.types), shape
            )
        return self._results[node]

    def first_combination(self) -> bool:
        """Whether this is asked for the first time: a cluster waits once until all of its blocks have started."""
        first, self._combined = not self._combined, True
        return first

    def at_lane(self, variable: Variable) -> Expression:
        return at(variable, self.lane) if self.lanes > 1 else variable

    def each_lane(self, body: Block) -> Block:
        """`body` for every row of the thread."""
        if self.lanes == 1:
            return body
        return (For(self.lane, number(0), number(self.lanes), body),)
