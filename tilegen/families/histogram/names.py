"""Names of one kernel of a histogram."""

from __future__ import annotations

from tilegen.algebra import Expr, product
from tilegen.cuda.scope import KernelScope
from tilegen.families.histogram.phases import CountElements

_INT = 2**31


class CountScope:
    """Names of one kernel of a histogram."""

    def __init__(self, scope: KernelScope, phase: CountElements) -> None:
        self.scope, self.phase, self.bins = scope, phase, phase.bins
        user, types = scope.names.user, scope.file.types
        self.thread = scope.symbol("@tid")
        self.threads, self.items = user("@THREADS", "THREADS"), user("@ITEMS", "ITEMS")
        count = phase.bins.count.constant
        self.known_bins = count if count is not None and count < _INT else None
        self.bins_name = user("@BINS", "BINS" if self.known_bins is not None else "bins")
        self.slots = f"({self.bins_name} + 1)" if phase.bins.spare else self.bins_name
        self.slot = user("@slot", "slot")
        self.copies = user("@COPIES", "COPIES" if phase.bins.copies is not None else "copies")
        self.capacity = user("@CAPACITY", "CAPACITY")
        self.counters, self.mine = user("@counters", "counts"), user("@mine", "mine")
        self.pitch = user("@PITCH", "PITCH" if phase.bins.copies is not None else "pitch")
        self.own = user("@own", "own")
        self.turn = self.own if phase.bins.copies == 32 else user("@turn", "turn")
        self.counter, self.total_type = types.storage(phase.bins.counter), types.storage(phase.bins.total)
        self.last, self.sum, self.copy = user("@last", "last"), user("@sum", "total"), user("@copy", "c")
        self.number = user("@number", "n")
        axes, walked = phase.bins.axes, phase.walk.axes
        self.bin = user(axes[0]) if len(axes) == 1 else self.number
        scope.names.give("@bin", self.bin)
        length = self.length.symbol
        self.total = scope.symbol(length) if length is not None else user("@total", "elements")
        self.item_count = user("@vectors", "vectors")
        self.first, self.step = user("@first_item", "first"), user("@step_number", "k")
        self.start, self.stride = user("@start", "start"), user("@stride", "stride")
        self.chunk = user("@CHUNK", "CHUNK")
        # One axis: the position along the walk is its coordinate.
        self.rest = user(walked[0]) if len(walked) == 1 else user("@rest", "rest")
        self.item = self.rest if phase.width == 1 and len(walked) == 1 else user("@item", "item")
        scope.names.give("@rest", self.rest)
        scope.names.give("@item", self.item)
        outer = phase.walk.outer
        self.batch = user(outer[0]) if len(outer) == 1 else user("@batch", "batch")
        scope.names.give("@batch", self.batch)
        self.part, self.parts = user("@part", "part"), user("@parts", "parts")
        if not outer:
            self.part, self.parts = "blockIdx.x", "gridDim.x"

    @property
    def ends(self) -> str:
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

    def coordinates(self, position: Expr) -> list[tuple[str, str]]:
        """(name, definition) of the axes of the walk."""
        index, names = self.scope.index, self.scope.names
        return [
            (names.user(axis), f"const index_t {names.user(axis)} = {index(value)};")
            for axis, value in self.phase.walk.coordinates(self.scope.nest, position).items()
            if value.symbol is None or self.scope.symbol(value.symbol) != names.user(axis)
        ]
