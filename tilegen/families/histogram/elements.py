"""What a kernel of a histogram does per element: its bin, its condition, its addition."""

from __future__ import annotations

import re

from tilegen.algebra import sym
from tilegen.core.plan.model import Compute, Sweep
from tilegen.cuda.scope import mark, prune
from tilegen.cuda.values import ValuePrinter
from tilegen.families.histogram.bins import always_in_bins, first_bin
from tilegen.families.histogram.loads import early_reads, loaded
from tilegen.families.histogram.names import CountScope
from tilegen.families.histogram.nest import Match
from tilegen.families.histogram.plan import TOTALS
from tilegen.families.tiles.compute import ItemBody
from tilegen.lang.spec import Value

NO_SWEEP = Compute(Sweep((), (), (), ()), (), (), (), (), ())
_INT = 2**31


def element_lines(c: CountScope, tail: bool = False) -> tuple[str, ...]:
    """Statements that count the elements of one item, or one element of the `tail`."""
    scope, width = c.scope, 1 if tail else c.phase.width
    body = ItemBody(scope, NO_SWEEP)
    if not tail:
        for read in early_reads(c):
            body.hoisted[read] = loaded(c, scope.nest.loads[read])
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

    def text(self, value: Value) -> str:
        """C text of a value, after the definitions that it needs."""
        text = self.printer(value)
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
