"""What a kernel of a histogram does per element: its bin, its condition, its addition."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.core.plan.model import Compute, Sweep
from tilegen.cuda.item import ItemBody
from tilegen.cuda.tree import (
    INDEX,
    UNSIGNED,
    UNSIGNED_LONG_LONG,
    Binary,
    Block,
    Cast,
    Conditional,
    Declare,
    Expression,
    For,
    If,
    Infix,
    Literal,
    Run,
    Scalar,
    Statement,
    Variable,
    add,
    all_of,
    call,
    less,
    library,
    multiply,
    negated,
    number,
)
from tilegen.families.histogram.bins import always_in_bins, first_bin
from tilegen.families.histogram.loads import EarlyLoads
from tilegen.families.histogram.names import CountScope
from tilegen.families.histogram.nest import Match
from tilegen.families.histogram.plan import TOTALS
from tilegen.lang.spec import Value

NO_SWEEP = Compute(Sweep((), (), (), ()), (), (), (), (), ())
_INT = 2**31
# Bins that fit the shared memory of any multiprocessor are fewer.
_MOST_IN_BLOCK = 2**20


def element_statements(c: CountScope, early: EarlyLoads | None) -> Block:
    """Statements that count the elements of one item, or one element of the tail where nothing was read early."""
    scope, width = c.scope, 1 if early is None else c.phase.width
    body = ItemBody(scope, NO_SWEEP)
    if early is not None:
        for read in early.reads:
            body.hoisted[read] = early.element(scope.nest.loads[read])
    position = c.at_rest if early is None else c.at_item
    if width > 1:
        position = position * width + scope.alias(scope.lane)
    found = (*c.coordinates(position), *_Element(c, body).block())
    return found if width == 1 else (For(scope.lane, number(0), number(width), found),)


@dataclass(frozen=True, slots=True)
class _Guarded:
    """What stands inside a condition, from `start` of the statements on."""

    condition: Expression
    start: int


class _Element:
    """The statements of one element. Conditions are evaluated in their order: what one guards comes inside it."""

    def __init__(self, c: CountScope, body: ItemBody) -> None:
        self.c, self.body = c, body
        self.builder = body.builder({})
        self.found: list[Statement] = []
        self.open: list[_Guarded] = []
        self.pending: list[Expression] = []
        self.slots: dict[str, Expression] = {}

    def block(self) -> Block:
        for term in self.c.phase.found.terms:
            if isinstance(term, Match):
                self._match(term)
            else:
                self.pending.append(self.value(term))
        slot = self._slot()
        if self.c.bins.spare:
            condition = all_of(self.pending)
            assert condition is not None
            chosen = Conditional(condition, slot, self.c.bins_in_all)
            self.found.append(Declare(self.c.slot, chosen, const=True))
            slot = self.c.slot
        else:
            self._open()
        self._add(slot)
        for guarded in reversed(self.open):
            inside = tuple(self.found[guarded.start :])
            self.found[guarded.start :] = [If(guarded.condition, inside)]
        return tuple(self.found)

    def _open(self) -> None:
        """What follows is done where the conditions hold; with a spare bin, nothing depends on them."""
        condition = all_of(self.pending)
        if condition is not None and not self.c.bins.spare:
            self.open.append(_Guarded(condition, len(self.found)))
            self.pending = []

    def value(self, value: Value) -> Expression:
        """A value, after the definitions that it needs."""
        tree = self.builder(value)
        needed = self.builder.take()
        if needed:
            self._open()
        self.found += needed
        return tree

    def _match(self, match: Match) -> None:
        """Define the number of the bin, from 0; unsigned, so that what is below the first bin is past the last too."""
        self._open()
        scope, dtype = self.c.scope, match.key.dtype
        axis = scope.nest.axis(match.axis.name)
        start = first_bin(scope.nest, match)
        key = self.value(match.key)
        known, extent = start.constant, axis.extent.constant
        if always_in_bins(scope.nest, match):
            assert known is not None
            bin_ = Variable(axis.name, UNSIGNED, user=True)
            self._define(bin_, _from(key, known, match.sign, Scalar("int")))
            self.slots[axis.name] = bin_
            return
        small = dtype.size <= 4 and dtype.name != "u32"
        # Bins in shared memory are few.
        most = extent if extent is not None else _MOST_IN_BLOCK if self.c.bins.capacity else None
        narrow = small and known is not None and most is not None and _in_32_bits(known, most, match.sign)
        type_ = UNSIGNED if narrow else UNSIGNED_LONG_LONG
        bin_ = Variable(axis.name, type_, user=True)
        begin: Expression | int = known if known is not None else Cast(type_, scope.index(start))
        end = Literal(extent, type_) if extent is not None else Cast(type_, scope.index(axis.extent))
        self._define(bin_, _from(Cast(type_, key), begin, match.sign, type_))
        self.pending.append(less(bin_, end))
        kind = UNSIGNED if self.c.bins.capacity else INDEX
        plain = type_ == UNSIGNED and self.c.bins.capacity
        self.slots[axis.name] = bin_ if plain else Cast(kind, bin_)

    def _define(self, variable: Variable, value: Expression) -> None:
        self.found.append(Declare(variable, value, const=True))

    def _slot(self) -> Expression:
        """The number of the bin in the block."""
        c, scope = self.c, self.c.scope
        kind = UNSIGNED if c.bins.capacity else INDEX
        slot: Expression | None = None
        for axis in c.bins.axes:
            digit = self.slots.get(axis)
            if digit is None:  # a batch axis
                digit = Cast(kind, scope.axis(axis))
            extent = scope.index(scope.nest.axis(axis).extent)
            slot = digit if slot is None else add(multiply(slot, extent), digit)
        assert slot is not None
        return slot

    def _add(self, slot: Expression) -> None:
        c, scope = self.c, self.c.scope
        type_ = c.counter if c.bins.capacity else c.total_type
        size = c.bins.counter.size if c.bins.capacity else c.bins.total.size
        amount: Expression = Literal(1, UNSIGNED if size == 4 else UNSIGNED_LONG_LONG)
        if c.phase.found.weight is not None:
            amount = Cast(type_, self.value(c.phase.found.weight))
        line = scope.nest.stores[0].assign.span.line
        if not c.bins.capacity:
            place: Expression = add(scope.scratch(TOTALS), c.total_of(slot))
        elif c.bins.copies == 1:
            place = add(c.counters, slot)
        else:
            offset = add(multiply(slot, c.pitch), c.mine)
            self.found.append(Run(library("add_at", c.counters, offset, amount), line))
            return
        self.found.append(Run(call("atomicAdd", place, amount), line))


def _in_32_bits(start: int, count: int, sign: int) -> bool:
    """Whether all keys of `count` bins from `start` on are numbers of 32 bits, so that no other key meets a bin."""
    first, last = (start, start + count - 1) if sign > 0 else (start - count + 1, start)
    return first >= -_INT and last < _INT


def _from(key: Expression, start: Expression | int, sign: int, type_: Scalar) -> Expression:
    """`key - start`, or `start - key` where the axis runs the other way."""
    if isinstance(start, int):
        begin: Expression = Literal(abs(start), type_)
        if sign < 0:
            return Binary(Infix.SUBTRACT, negated(begin) if start < 0 else begin, key)
        if start == 0:
            return key
        return Binary(Infix.ADD if start < 0 else Infix.SUBTRACT, key, begin)
    return Binary(Infix.SUBTRACT, *((start, key) if sign < 0 else (key, start)))
