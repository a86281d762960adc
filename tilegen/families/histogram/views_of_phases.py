"""The phases of a histogram's kernel as views: clear, count, add up, write."""

from __future__ import annotations

from tilegen.algebra import Expr, sym
from tilegen.cuda.scope import prune
from tilegen.families.histogram.elements import NO_SWEEP, element_lines
from tilegen.families.histogram.loads import load_lines
from tilegen.families.histogram.names import CountScope
from tilegen.families.histogram.phases import WriteBins
from tilegen.families.histogram.plan import TICKETS, TOTALS
from tilegen.families.histogram.views import ClearView, CountView, TailView, TotalView, WriteView
from tilegen.families.tiles.compute import ItemBody


def view_clear(c: CountScope) -> ClearView:
    return ClearView(("Clear the bins.",), c.number, c.thread, slots(c), c.threads, c.counters)


def slots(c: CountScope) -> str:
    """All counters of a block."""
    return c.slots.strip("()") if c.bins.copies == 1 else f"{c.slots} * {c.copies}"


def view_count(c: CountScope) -> CountView:
    phase = c.phase
    loads, arrays = load_lines(c)
    inside = element_lines(c)
    first, step = (c.start, c.stride) if phase.bins.shares else ("0", chunk(c))
    several = phase.items > 1
    return CountView(
        comment=_count_comment(c, bool(arrays)),
        head=f"index_t {c.first} = {first}; {c.first} < {c.ends}; {c.first} += {step}",
        arrays=arrays if several else (),
        step=c.step if several else "",
        trip=c.items,
        item=f"const index_t {c.item} = {_item(c)};",
        guard=f"{c.item} < {c.ends}",
        loads=loads if several else (),
        # One block of statements then: coordinates that both parts use are defined once.
        inside=inside if several else (*arrays, *loads, *(x for x in inside if x not in loads)),
        tail=_tail(c) if phase.tail else None,
    )


def chunk(c: CountScope) -> str:
    """What a block takes in one stride."""
    return c.chunk if c.phase.items > 1 else c.threads


def _item(c: CountScope) -> str:
    step = f" + {c.step} * {c.threads}" if c.phase.items > 1 else ""
    return f"{c.first}{step} + {c.thread}"


def _count_comment(c: CountScope, loads: bool) -> tuple[str, ...]:
    lines = []
    if loads:
        what = f"{c.phase.items} loads of each thread" if c.phase.items > 1 else "The loads of a thread"
        lines.append(f"Count. {what} are under way before the first is used.")
    else:
        lines.append("Count.")
    if not c.bins.capacity:
        lines.append(
            "There are too many bins for shared memory: atomics in the L2 cache add to totals of all blocks."
        )
    return tuple(lines)


def _tail(c: CountScope) -> TailView:
    first = f"index_t {c.rest} = {c.item_count} * {c.phase.width} + {c.thread};"
    inside = " && ".join([*([f"{c.part} == 0"] if c.bins.shares else []), f"{c.rest} < {c.total}"])
    definition, head = f"const {first}", f"if ({inside})"
    if c.scope.plan.threads < c.phase.width - 1:
        definition, head = "", f"for ({first} {inside}; {c.rest} += {c.threads})"
    return TailView(
        ("The elements after the last whole vector.",), definition, head, element_lines(c, tail=True)
    )


def view_total(c: CountScope) -> TotalView:
    bins = c.bins
    comment = ["Totals of the block."]
    if bins.copies != 1:
        comment = [
            "Totals of the block: each thread adds the copies of a bin, beginning where no other lane does: all banks "
            "are busy."
        ]
    place = f"{c.scope.scratch(TOTALS)} + {_slot(c, c.number)}"
    sum_ = f"static_cast<{c.total_type}>({c.sum})" if bins.total != bins.counter else c.sum
    return TotalView(
        comment=tuple(comment),
        number=c.number,
        thread=c.thread,
        count=c.bins_name,
        threads=c.threads,
        counter=c.counter,
        counters=c.counters,
        turn=c.turn if bins.copies != 1 else "",
        sum=c.sum,
        copies=c.copies if bins.copies != 1 else "",
        copy=c.copy,
        unroll=bins.copies is not None,
        share=f"{c.parts} > 1 && {c.sum} != 0" if bins.shares else "",
        add=f"atomicAdd({place}, {sum_});",
    )


def _slot(c: CountScope, number: str) -> str:
    """A bin's place among the totals of all batch points."""
    return f"{c.batch} * {c.bins_name} + {number}" if c.phase.walk.outer else number


def view_write(c: CountScope, phase: WriteBins) -> WriteView:
    scope, bins, found = c.scope, c.bins, phase.found
    result = scope.file.types.value(found.reduce.dtype)
    body = ItemBody(scope, NO_SWEEP, {found.reduce: c.sum})
    printer = body.printer({})
    printer.count(phase.store.value)
    text = printer(phase.store.value)
    stored = [*body.definitions, *printer.lines, *body.stored(phase.store, {}, text)]
    mine = f"{c.counters}[{c.bin}]" if bins.copies == 1 else f"{c.counters}[{c.bin} * {c.copies} + {c.turn}]"
    all_ = f"__ldcg({scope.scratch(TOTALS)} + {_slot(c, c.bin)})"
    taken = all_ if not bins.capacity else f"{c.parts} > 1 ? {all_} : {mine}" if bins.shares else mine
    coordinates = digits(c, bins.axes, sym("@bin"))
    lines = [(c.sum, f"const {result} {c.sum} = static_cast<{result}>({taken});"), *coordinates]
    outputs = scope.pointer(phase.store.access.pointer)
    comment = [f"Write {outputs}."]
    if bins.shares:
        comment = [
            f"The last block to finish writes {outputs}: the fence puts a block's totals before its ticket, so the "
            "last ticket sees them all."
        ]
    ticket = f"{scope.scratch(TICKETS)} + {c.batch}" if c.phase.walk.outer else scope.scratch(TICKETS)
    return WriteView(
        comment=tuple(comment),
        shares=bins.shares,
        alone=f"{c.parts} > 1" if bins.capacity else "",
        thread=c.thread,
        last=c.last,
        ticket=f"atomicAdd({ticket}, 1u) + 1 == {c.parts}",
        number=c.bin,
        number_type="int" if c.known_bins is not None else "index_t",
        count=c.bins_name,
        threads=c.threads,
        body=(*prune(lines, "\n".join(stored)), *stored),
    )


def digits(c: CountScope, axes: tuple[str, ...], number: Expr) -> list[tuple[str, str]]:
    """Coordinates of `axes`, slowest first, from their joint number."""
    lines = []
    for position, axis in enumerate(reversed(axes)):
        extent = c.scope.nest.axis(axis).extent
        value = number % extent if position < len(axes) - 1 else number
        name = c.scope.names.user(axis)
        if value.symbol is None or c.scope.symbol(value.symbol) != name:
            lines.append((name, f"const index_t {name} = {c.scope.index(value)};"))
        number = number // extent
    return lines
