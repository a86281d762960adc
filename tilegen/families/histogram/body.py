"""The body of a histogram's kernel: who a block is, and its phases. What is done per element: `render.elements`."""

from __future__ import annotations

from tilegen.algebra import sym
from tilegen.core.plan.model import Barrier
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.view import BarrierView, BodyView, ConstantView, PhaseView, SharedView
from tilegen.families.histogram.names import CountScope
from tilegen.families.histogram.phases import Bins, ClearBins, CountElements, TotalBins, WriteBins
from tilegen.families.histogram.views_of_phases import (
    chunk,
    digits,
    slots,
    view_clear,
    view_count,
    view_total,
    view_write,
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
                phases.append(view_clear(counts))
            case CountElements():
                phases.append(view_count(counts))
            case TotalBins():
                phases.append(view_total(counts))
            case WriteBins():
                phases.append(view_write(counts, phase))
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
            size = slots(c)
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
        lines += digits(c, outer, sym("@batch"))
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
    size, taken = c.bins.counter.size, chunk(c)
    return [
        (c.own, f"const int {c.own} = {c.thread} & ({c.copies} - 1);"),
        *(
            [(c.turn, f"const int {c.turn} = ({c.thread} * {c.copies} / 32) & ({c.copies} - 1);")]
            if c.turn != c.own
            else []
        ),
        (c.mine, f"const unsigned {c.mine} = {c.own} * {size};"),
        *([(c.pitch, f"const unsigned {c.pitch} = {c.copies} * {size};")] if c.bins.copies is None else []),
        (c.start, f"const index_t {c.start} = static_cast<index_t>({c.part}) * {taken};"),
        (c.stride, f"const index_t {c.stride} = static_cast<index_t>({c.parts}) * {taken};"),
    ]
