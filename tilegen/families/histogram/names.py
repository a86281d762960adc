"""Variables of one kernel of a histogram."""

from __future__ import annotations

from tilegen.algebra import Expr, product
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import (
    BLOCK,
    BLOCKS,
    BOOL,
    INDEX,
    INT,
    UNSIGNED,
    Declare,
    Expression,
    Infix,
    Storage,
    Variable,
    add,
    binary,
    multiply,
    optional,
)
from tilegen.families.histogram.phases import CountElements

_INT = 2**31


class CountScope:
    """What the phases of one kernel of a histogram share."""

    def __init__(self, scope: KernelScope, phase: CountElements) -> None:
        self.scope, self.phase, self.bins = scope, phase, phase.bins
        bins, variable, types = phase.bins, scope.variable, scope.types

        def constant(name: str) -> Variable:
            return variable(f"@{name}", name, storage=Storage.CONSTANT)

        self.thread = scope.thread
        self.threads, self.items, self.chunk = constant("THREADS"), constant("ITEMS"), constant("CHUNK")
        self.capacity = constant("CAPACITY")
        count = bins.count.constant
        self.known_bins = count if count is not None and count < _INT else None
        self.bins_in_all = (
            constant("BINS") if self.known_bins is not None else variable("@BINS", "bins", INDEX)
        )
        self.slots = add(self.bins_in_all, 1) if bins.spare else self.bins_in_all
        self.slot = variable("@slot", "slot", UNSIGNED)
        known = bins.copies is not None
        self.copies = constant("COPIES") if known else variable("@COPIES", "copies")
        self.pitch = constant("PITCH") if known else variable("@PITCH", "pitch", UNSIGNED)
        self.counter, self.total_type = types.storage(bins.counter), types.storage(bins.total)
        size: tuple[Expression, ...] = (self.capacity,) if not known else (self.all_slots(),)
        self.counters = variable("@counters", "counts", self.counter, size, Storage.SHARED)
        self.mine = variable("@mine", "mine", UNSIGNED)
        # The copy of a thread, and the one it begins with when it adds copies up.
        self.copy_of_thread = variable("@copy_of_thread", "copy")
        self.turn = self.copy_of_thread if bins.copies == 32 else variable("@turn", "turn")
        self.last = variable("@last", "last", BOOL, storage=Storage.SHARED)
        self.copy, self.number = variable("@copy", "c"), variable("@number", "n")
        axes, walked = bins.axes, phase.walk.axes
        number_type = INT if self.known_bins is not None else INDEX
        self.bin = variable(axes[0], axes[0], number_type, user=True) if len(axes) == 1 else self.number
        length = self.length.symbol
        self.total: Expression = (
            scope.symbol(length) if length is not None else variable("@total", "elements", INDEX)
        )
        self.item_count = variable("@vectors", "vectors", INDEX)
        self.first, self.step = variable("@first_item", "first", INDEX), variable("@step_number", "k")
        self.start, self.stride = variable("@start", "start", INDEX), variable("@stride", "stride", INDEX)
        # One axis: the position along the walk is its coordinate.
        one = len(walked) == 1
        self.rest = scope.axis(walked[0]) if one else variable("@rest_number", "rest", INDEX)
        self.item = self.rest if phase.width == 1 and one else variable("@item_number", "item", INDEX)
        outer = phase.walk.outer
        self.batch = scope.axis(outer[0]) if len(outer) == 1 else variable("@batch_number", "batch", INDEX)
        self.part: Expression = variable("@part", "part", UNSIGNED) if outer else BLOCK
        self.parts: Expression = variable("@parts", "parts", UNSIGNED) if outer else BLOCKS
        # What symbols of addresses stand for.
        self.at_item, self.at_rest = scope.alias(self.item), scope.alias(self.rest)
        self.at_bin, self.at_batch = scope.alias(self.bin), scope.alias(self.batch)

    def all_slots(self) -> Expression:
        """All counters of a block."""
        return self.slots if self.bins.copies == 1 else multiply(self.slots, self.copies)

    @property
    def ends(self) -> Expression:
        """Number of items of the walk."""
        return self.item_count if self.phase.width > 1 else self.total

    @property
    def outer(self) -> Expr:
        """Points of the batch axes that blocks are divided over."""
        return product(self.scope.nest.axis(a).extent for a in self.phase.walk.outer)

    @property
    def length(self) -> Expr:
        """Elements of the walk."""
        return self.phase.walk.length(self.scope.nest)

    def counter_of(self, number: Expression, copy: Expression) -> Expression:
        """The place of a counter in shared memory."""
        return number if self.bins.copies == 1 else add(multiply(number, self.copies), copy)

    def total_of(self, number: Expression) -> Expression:
        """A bin's place among the totals of all batch points."""
        return add(multiply(self.batch, self.bins_in_all), number) if self.phase.walk.outer else number

    def coordinates(self, position: Expr) -> list[Declare]:
        """The axes of the walk at a position."""
        values = self.phase.walk.coordinates(self.scope.nest, position).items()
        return [d for axis, value in values for d in self._defined(axis, value)]

    def digits(self, axes: tuple[str, ...], number: Expr) -> list[Declare]:
        """Coordinates of `axes`, slowest first, from their joint number."""
        found = []
        for position, axis in enumerate(reversed(axes)):
            extent = self.scope.nest.axis(axis).extent
            value = number % extent if position < len(axes) - 1 else number
            found += self._defined(axis, value)
            number = number // extent
        return found

    def _defined(self, axis: str, value: Expr) -> list[Declare]:
        variable, tree = self.scope.axis(axis), self.scope.index(value)
        return [] if tree is variable else [optional(variable, tree)]

    def shared_by_blocks(self) -> Expression:
        return binary(Infix.GREATER, self.parts, 1)
