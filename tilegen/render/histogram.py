"""The body of a histogram's kernel: who a block is, and its phases. What is done per element: `render.elements`."""

from __future__ import annotations

from tilegen.algebra import Expr, sym
from tilegen.plan.histogram import TICKETS, TOTALS
from tilegen.plan.histogram_model import Bins, ClearBins, CountElements, TotalBins, WriteBins
from tilegen.plan.model import Barrier
from tilegen.render.compute import ItemBody
from tilegen.render.elements import NO_SWEEP, CountScope, element_lines, load_lines
from tilegen.render.scope import KernelScope, prune
from tilegen.render.view import (
    BarrierView,
    BodyView,
    ClearView,
    ConstantView,
    CountView,
    PhaseView,
    SharedView,
    TailView,
    TotalView,
    WriteView,
)


def view_histogram(scope: KernelScope) -> BodyView:
    count = next(p for p in scope.plan.phases if isinstance(p, CountElements))
    counts = CountScope(scope, count)
    phases: list[PhaseView] = []
    for phase in scope.plan.phases:
        match phase:
            case Barrier():
                phases.append(BarrierView())
            case ClearBins():
                phases.append(_clear(counts))
            case CountElements():
                phases.append(_count(counts))
            case TotalBins():
                phases.append(_total(counts))
            case WriteBins():
                phases.append(_write(counts, phase))
            case _:
                raise AssertionError("a histogram has no tiles")
    return BodyView(
        extent=_extent(counts),
        constants=tuple(_constants(counts)),
        shared=tuple(_shared(counts)),
        setup=tuple(_setup(counts)),
        phases=tuple(phases),
    )


def _extent(c: CountScope) -> str:
    what = f"{c.phase.items * c.phase.width * c.scope.plan.threads} elements at a time"
    return f"{what}, in strides of all blocks" if not c.phase.walk.outer else f"{what} of one row of elements"


def _constants(c: CountScope) -> list[ConstantView]:
    found = [ConstantView(c.threads, c.scope.plan.threads), ConstantView(c.items, c.phase.items)]
    if c.phase.items > 1:
        found.append(ConstantView(c.chunk, c.scope.plan.threads * c.phase.items))
    if c.known_bins is not None:
        found.append(ConstantView(c.bins_name, c.known_bins))
    if c.bins.copies is not None:
        found.append(ConstantView(c.copies, c.bins.copies))
        found.append(ConstantView(c.pitch, c.bins.copies * c.bins.counter.size))
    else:
        found.append(ConstantView(c.capacity, c.bins.capacity))
    return found


def _shared(c: CountScope) -> list[SharedView]:
    found = []
    if c.bins.capacity:
        size = c.capacity
        if c.bins.copies is not None:
            size = _slots(c)
        text = f"__shared__ {c.counter} {c.counters}[{size}];"
        found.append(SharedView(_shared_comment(c.bins), text))
    if c.bins.shares:
        comment = "Whether this block is the last to finish."
        found.append(SharedView(comment, f"__shared__ bool {c.last};"))
    return found


def _shared_comment(bins: Bins) -> str:
    text = "The bins of the block, several copies side by side, so that fewer lanes meet."
    if bins.copies == 1:
        text = "The bins of the block."
    if bins.copies == 32:
        text = "The bins of the block, a copy per lane: the bank is the lane's own, so lanes never meet."
    return text + (" One more takes what belongs to none." if bins.spare else "")


def _setup(c: CountScope) -> list[tuple[str, str]]:
    """(name, definition) pairs, each used by later ones."""
    scope = c.scope
    lines = [(c.thread, f"const int {c.thread} = static_cast<int>(threadIdx.x);")]
    outer = c.phase.walk.outer
    if outer:
        rows = scope.index(c.outer, 2)
        lines.append((c.parts, f"const unsigned {c.parts} = gridDim.x / static_cast<unsigned>({rows});"))
        lines.append((c.part, f"const unsigned {c.part} = blockIdx.x % {c.parts};"))
        lines.append((c.batch, f"const index_t {c.batch} = static_cast<index_t>(blockIdx.x / {c.parts});"))
        lines += _digits(c, outer, sym("@batch"))
    if c.known_bins is None:
        lines.append((c.bins_name, f"const index_t {c.bins_name} = {scope.index(c.bins.count)};"))
    if c.bins.copies is None:
        room = f"min(static_cast<int>({c.capacity} / {c.slots}), 32)"
        lines.append((c.copies, f"const int {c.copies} = 1 << (31 - __clz({room}));"))
    if c.total != scope.index(c.length):
        lines.append((c.total, f"const index_t {c.total} = {scope.index(c.length)};"))
    if c.phase.width > 1:
        lines.append(
            (c.item_count, f"const index_t {c.item_count} = {scope.index(c.length, 2)} / {c.phase.width};")
        )
    return [*lines, *_thread(c)]


def _thread(c: CountScope) -> list[tuple[str, str]]:
    """What a thread has of its own: a copy of the bins, and where in the elements its block begins."""
    size, chunk = c.bins.counter.size, _chunk(c)
    return [
        (c.own, f"const int {c.own} = {c.thread} & ({c.copies} - 1);"),
        *(
            [(c.turn, f"const int {c.turn} = ({c.thread} * {c.copies} / 32) & ({c.copies} - 1);")]
            if c.turn != c.own
            else []
        ),
        (c.mine, f"const unsigned {c.mine} = {c.own} * {size};"),
        *([(c.pitch, f"const unsigned {c.pitch} = {c.copies} * {size};")] if c.bins.copies is None else []),
        (c.start, f"const index_t {c.start} = static_cast<index_t>({c.part}) * {chunk};"),
        (c.stride, f"const index_t {c.stride} = static_cast<index_t>({c.parts}) * {chunk};"),
    ]


def _digits(c: CountScope, axes: tuple[str, ...], number: Expr) -> list[tuple[str, str]]:
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


def _clear(c: CountScope) -> ClearView:
    return ClearView(("Clear the bins.",), c.number, c.thread, _slots(c), c.threads, c.counters)


def _slots(c: CountScope) -> str:
    """All counters of a block."""
    return c.slots.strip("()") if c.bins.copies == 1 else f"{c.slots} * {c.copies}"


def _count(c: CountScope) -> CountView:
    phase = c.phase
    loads, arrays = load_lines(c)
    inside = element_lines(c)
    first, step = (c.start, c.stride) if phase.bins.shares else ("0", _chunk(c))
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


def _chunk(c: CountScope) -> str:
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
    definition = f"const index_t {c.rest} = {c.item_count} * {c.phase.width} + {c.thread};"
    conditions = [f"{c.part} == 0"] if c.bins.shares else []
    return TailView(
        ("The elements after the last whole vector.",),
        definition,
        " && ".join([*conditions, f"{c.rest} < {c.total}"]),
        element_lines(c, tail=True),
    )


def _total(c: CountScope) -> TotalView:
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


def _write(c: CountScope, phase: WriteBins) -> WriteView:
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
    coordinates = _digits(c, bins.axes, sym("@bin"))
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
