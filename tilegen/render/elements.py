"""What a kernel of a histogram does per element: its loads, its bin, its condition, its addition."""

from __future__ import annotations

import re

from tilegen.algebra import Expr, product, substitute, sym
from tilegen.dtypes import U8, U32, DType
from tilegen.nest.elements import always_in_bins, first_bin
from tilegen.nest.histogram import Match, element_reads
from tilegen.nest.model import Access
from tilegen.plan.histogram import TOTALS
from tilegen.plan.histogram_model import CountElements
from tilegen.plan.model import Compute, Sweep
from tilegen.render.compute import ItemBody, unconditional
from tilegen.render.scope import KernelScope, mark, prune
from tilegen.render.values import ValuePrinter
from tilegen.spec import Axis, Hint, Read, Reduction

NO_SWEEP = Compute(Sweep((), (), (), ()), (), (), (), (), ())
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


# Loads


def early_reads(c: CountScope) -> tuple[Read, ...]:
    """Reads that may be made for every element before any condition is looked at."""
    found, nest = c.phase.found, c.scope.nest
    (assign,) = nest.kernel.assigns
    axes = {a.name: a for a in (*assign.axes, *found.reduce.axes)}
    # `and` bounds no read, so what follows it is inside its tensor by itself; behind a `where` it need not be.
    plain = found.values if found.reduce.op is Reduction.COUNT else found.values[:1]
    first = {node for value in plain for node in unconditional(value)}
    return tuple(
        read
        for read in element_reads(nest, found)
        if isinstance(nest.pointer(nest.loads[read].pointer).dtype, DType)
        and not nest.loads[read].checked
        and (read in first or _always_inside(c, read, axes))
        and (c.phase.width == 1 or c.phase.width_of(nest.loads[read]) > 1)
    )


def _always_inside(c: CountScope, read: Read, axes: dict[str, Axis]) -> bool:
    """Whether the read is inside its tensor at all points of the axes, whatever a condition says."""
    tensor = c.scope.nest.kernel.tensor(read.tensor)
    for index, extent in zip(read.indices, tensor.extents, strict=True):
        axis = axes.get(index.symbol or "") if isinstance(index, Expr) else None
        if axis is None or axis.upper != extent:
            return False
        if axis.lower.constant is None or axis.lower.constant < 0:
            return False
    return True


def load_lines(c: CountScope) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Statements that load one item, and the arrays that they fill."""
    scope, nest, width = c.scope, c.scope.nest, c.phase.width
    loads: list[str] = []
    arrays: list[str] = []
    for access in dict.fromkeys(nest.loads[r] for r in early_reads(c)):
        dtype = nest.pointer(access.pointer).dtype
        assert isinstance(dtype, DType)
        own = c.phase.width_of(access)
        pieces = width // own
        if _as_words(c, access):
            dtype, own = U32, own // 4
        ctype = scope.vector(dtype, own, own * dtype.size) if own > 1 else scope.file.types.storage(dtype)
        name, step = _array(c, access), f"[{c.step}]" if c.phase.items > 1 else ""
        shape = (f"[{c.items}]" if c.phase.items > 1 else "") + (f"[{pieces}]" if pieces > 1 else "")
        arrays.append(f"{ctype} {name}{shape};")
        for piece in range(pieces):
            place = f"{name}{step}" + (f"[{piece}]" if pieces > 1 else "")
            address = _address(c, access, piece * c.phase.width_of(access))
            loads.append(f"{place} = {_read(c, access, address, dtype, own)};")
    definitions = c.coordinates(sym("@item") * width)
    return (*prune(definitions, "\n".join(loads)), *loads), tuple(arrays)


def _as_words(c: CountScope, access: Access) -> bool:
    """Whether bytes are loaded as words, of which a permutation takes each byte: struct members would take two."""
    dtype = c.scope.nest.pointer(access.pointer).dtype
    return dtype == U8 and c.phase.width_of(access) % 4 == 0


def _read(c: CountScope, access: Access, address: Expr, dtype: DType, width: int) -> str:
    """A load of `width` elements of `dtype`, which may be words of bytes."""
    if width > 1 or not _as_words(c, access):
        return c.scope.read(access.pointer, address, dtype, width)
    text = f"reinterpret_cast<const unsigned*>({c.scope.place(access.pointer, address)})"
    match c.scope.hint(c.scope.nest.pointer(access.pointer).tensor):
        case Hint.DEFAULT:
            return f"*{text}"
        case Hint.STREAMING:
            return f"__ldcs({text})"
        case Hint.READONLY:
            return f"__ldg({text})"


def _address(c: CountScope, access: Access, ahead: int) -> Expr:
    """Of an item's element number `ahead`; over the item itself where memory is walked end to end."""
    walk, position = c.phase.walk, sym("@item") * c.phase.width + ahead
    if walk.flat and c.phase.width > 1:
        return substitute(access.address, dict.fromkeys(walk.axes, 0)) + position
    if len(walk.axes) == 1:
        return substitute(access.address, {walk.axes[0]: position})
    return substitute(access.address, {walk.axes[0]: sym(walk.axes[0]) + ahead}) if ahead else access.address


def _array(c: CountScope, access: Access) -> str:
    reads = (r for r, a in c.scope.nest.loads.items() if a == access)
    field = next((f"_{r.field}" for r in reads if r.field is not None), "")
    wanted = f"{c.scope.pointer(access.pointer)}{field}_in"
    return c.scope.names.user(f"@in {access.pointer} {access.address}", wanted)


def _loaded(c: CountScope, access: Access) -> str:
    """An element that was loaded."""
    own, name, lane = c.phase.width_of(access), _array(c, access), c.scope.symbol("@lane")
    name += f"[{c.step}]" if c.phase.items > 1 else ""
    if c.phase.width == 1:
        return name
    if own < c.phase.width:
        name, lane = f"{name}[{lane} / {own}]", f"{lane} % {own}"
    if not _as_words(c, access):
        return f"{name}.lane[{lane}]"
    c.scope.file.helpers.add("byte_of")
    if own == 4:
        return f"byte_of({name}, {lane})"
    inner = f"({lane})" if " " in lane else lane
    return f"byte_of({name}.lane[{inner} / 4], {lane if own == 4 else f'{inner} % 4'})"


# Counting


def element_lines(c: CountScope, tail: bool = False) -> tuple[str, ...]:
    """Statements that count the elements of one item, or one element of the `tail`."""
    scope, width = c.scope, 1 if tail else c.phase.width
    body = ItemBody(scope, NO_SWEEP)
    if not tail:
        for read in early_reads(c):
            body.hoisted[read] = _loaded(c, scope.nest.loads[read])
    lines = _Element(c, body).lines()
    position = sym("@rest") if tail else sym("@item")
    if width > 1:
        position = position * width + sym("@lane")
    lines = [*prune(c.coordinates(position), "\n".join(lines)), *lines]
    if width == 1:
        return tuple(lines)
    lane = scope.symbol("@lane")
    head = ["#pragma unroll", f"for (int {lane} = 0; {lane} < {width}; ++{lane}) {{"]
    return (*head, *("    " + x for x in lines), "}")


class _Element:
    """The statements of one element. Conditions are evaluated in their order: what one guards comes inside it."""

    def __init__(self, c: CountScope, body: ItemBody) -> None:
        self.c, self.body = c, body
        self.printer: ValuePrinter = body.printer({})
        self.out: list[str] = []
        self.depth = 0
        self.pending: list[str] = []
        self.slots: dict[str, str] = {}

    def lines(self) -> list[str]:
        found = self.c.phase.found
        for term in found.terms:
            if isinstance(term, Match):
                self._match(term)
            else:
                text = self.text(term)
                self.pending.append(f"({text})" if re.search(r"\|\||\?", text) else text)
        slot = self._slot()
        if self.c.bins.spare:
            condition = " && ".join(self.pending)
            self._line(f"const unsigned {self.c.slot} = {condition} ? {slot} : {self.c.bins_name};")
            slot = self.c.slot
        else:
            self._open()
        self._add(slot)
        while self.depth:
            self.depth -= 1
            self._line("}")
        return self.out

    def _line(self, text: str) -> None:
        self.out.append("    " * self.depth + text)

    def _open(self) -> None:
        """What follows is done where the conditions hold; with a spare bin, nothing depends on them."""
        if self.pending and not self.c.bins.spare:
            self._line(f"if ({' && '.join(self.pending)}) {{")
            self.depth, self.pending = self.depth + 1, []

    def text(self, value: object) -> str:
        """C text of a value, after the definitions that it needs."""
        text = self.printer(value)  # type: ignore[arg-type]
        needed = [*self.body.definitions, *self.printer.lines]
        self.body.definitions.clear()
        self.printer.lines.clear()
        if needed:
            self._open()
        for line in needed:
            self._line(line)
        return text

    def _match(self, match: Match) -> None:
        """Define the number of the bin, from 0; unsigned, so that what is below the first bin is past the last too."""
        self._open()
        scope, dtype = self.c.scope, match.key.dtype
        axis = scope.nest.axis(match.axis.name)
        name = scope.names.user(axis.name)
        start = first_bin(scope.nest, match)
        key = self.text(match.key)
        known, extent = start.constant, axis.extent.constant
        if always_in_bins(scope.nest, match):
            self._line(f"const unsigned {name} = {_from(key, str(known), known or 0, match.sign)};")
            self.slots[axis.name] = name
            return
        small = dtype.size <= 4 and dtype.name != "u32" and known is not None and abs(known) < _INT
        # Bins in shared memory are few.
        if small and known is not None and (self.c.bins.capacity or (extent is not None and extent < _INT)):
            text = _from(f"static_cast<unsigned>({key})", f"{abs(known)}u", known, match.sign)
            end = f"{extent}u" if extent is not None else f"static_cast<unsigned>({scope.index(axis.extent)})"
            self._bin(axis.name, f"const unsigned {name} = {text};", f"{name} < {end}")
            return
        wide = "static_cast<unsigned long long>"
        begin = f"{abs(known)}ull" if known is not None else f"{wide}({scope.index(start)})"
        text = _from(f"{wide}({key})", begin, known if known is not None else 1, match.sign)
        end = f"{extent}ull" if extent is not None else f"{wide}({scope.index(axis.extent)})"
        self._bin(axis.name, f"const unsigned long long {name} = {text};", f"{name} < {end}")

    def _bin(self, axis: str, definition: str, condition: str) -> None:
        self._line(definition)
        self.pending.append(condition)
        name = self.c.scope.names.user(axis)
        kind = "index_t" if not self.c.bins.capacity else "unsigned"
        plain = re.match(r"const (unsigned|int|index_t) ", definition) and self.c.bins.capacity
        self.slots[axis] = name if plain else f"static_cast<{kind}>({name})"

    def _slot(self) -> str:
        """The number of the bin in the block."""
        c, scope = self.c, self.c.scope
        slot = ""
        for axis in c.bins.axes:
            own = self.slots.get(axis)
            if own is None:  # a batch axis
                own = f"static_cast<{'unsigned' if c.bins.capacity else 'index_t'}>({scope.names.user(axis)})"
            extent = scope.index(scope.nest.axis(axis).extent, 3)
            slot = own if not slot else f"{_operand(slot)} * {extent} + {own}"
        return slot

    def _add(self, slot: str) -> None:
        c, scope = self.c, self.c.scope
        value = "1u" if c.bins.counter.size == 4 else "1ull"
        type_ = c.counter if c.bins.capacity else c.total_type
        if c.phase.found.weight is not None:
            value = f"static_cast<{type_}>({self.text(c.phase.found.weight)})"
        elif not c.bins.capacity:
            value = "1u" if c.bins.total.size == 4 else "1ull"
        if not c.bins.capacity:
            before = f"{c.batch} * {c.bins_name} + " if c.phase.walk.outer else ""
            place = f"{scope.scratch(TOTALS)} + {before}{slot}"
        elif c.bins.copies == 1:
            place = f"{c.counters} + {slot}"
        line = scope.plan.nest.stores[0].assign.span.line
        if c.bins.capacity and c.bins.copies != 1:
            scope.file.helpers.add("add_at")
            text = f"add_at({c.counters}, {_operand(slot)} * {c.pitch} + {c.mine}, {value});"
        else:
            text = f"atomicAdd({place}, {value});"
        self._line(mark(text, line))


def _from(key: str, start: str, known: int, sign: int) -> str:
    """`key - start`, or `start - key` where the axis runs the other way. `known`: of the start, for its sign."""
    if sign < 0:
        return f"{'-' if known < 0 and not start.startswith('-') else ''}{start} - {_operand(key)}"
    if known == 0:
        return key
    if known < 0:
        return f"{_operand(key)} + {start.removeprefix('-')}"
    return f"{_operand(key)} - {start}"


def _operand(text: str) -> str:
    return text if re.fullmatch(r"[\w.\[\]]+|static_cast<[\w ]+>\([^()]*\)", text) else f"({text})"
