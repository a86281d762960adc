"""`plans_of_histogram`: the nest of a histogram and a complete schedule become plans. See
docs/decisions/0016-histograms.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilegen.algebra import Expr, ceil_div, expr, minimum, product
from tilegen.core.nest.model import Access, Nest
from tilegen.core.plan.conditions import INDEX_LIMIT, index_conditions, magnitude, multiple
from tilegen.core.plan.model import (
    Aligned,
    AtMost,
    Barrier,
    Condition,
    Phase,
    Plan,
    Scratch,
    TileAxis,
)
from tilegen.core.schedule.model import Schedule
from tilegen.dtypes import U32, U64
from tilegen.families.histogram.bins import (
    Counting,
    ElementWalk,
    always_in_bins,
    counting_of,
    element_walk,
    vector_needs,
)
from tilegen.families.histogram.candidates import counter_bytes, most_counters, with_items
from tilegen.families.histogram.nest import Histogram, Match, element_accesses, histogram_in
from tilegen.families.histogram.phases import Bins, ClearBins, CountElements, TotalBins, WriteBins
from tilegen.lang.spec import Reduction
from tilegen.target import Target

BATCH, ELEMENTS = "@batch", "@elements"
TOTALS, TICKETS = "totals", "tickets"
_MOST_COPIES = 32
_MULTIPROCESSORS = 128


def plans_of_histogram(
    nest: Nest, schedule: Schedule, target: Target, name: str, plain: str, last: bool
) -> Iterator[Plan]:
    """Plans in order of preference: vectors and shared memory where arguments allow them. Only counts of more elements
    than any memory holds are refused by the last."""
    found = histogram_in(nest)
    bins = bin_count(nest, found, counting_of(schedule)).constant
    most = most_counters(target, counter_bytes(found)) - _has_branch(nest, found)
    single = with_items(nest, found, replace(schedule, vector=1, vector_of=()))
    for shared in (True, False):
        if bins is not None and (bins <= most) is not shared:
            continue
        suffix = "" if bins is not None or shared else "_many"
        wide = plan_histogram(nest, schedule, target, f"{name}{suffix}", shared)
        yield wide
        if any(w > 1 for _, w in _count(wide).widths):
            yield plan_histogram(nest, single, target, f"{name}{suffix}_scalar", shared)


def plan_histogram(nest: Nest, schedule: Schedule, target: Target, name: str, shared: bool) -> Plan:
    """`shared`: the bins of a block are in shared memory, else they are counted in scratch memory."""
    found, counting = histogram_in(nest), counting_of(schedule)
    walk = element_walk(nest, found, counting.inside)
    widths = _widths(nest, found, schedule)
    width = max((w for _, w in widths), default=1)
    total, outer = walk.length(nest), product(nest.axis(a).extent for a in walk.outer)
    chunk = counting.threads * counting.items * width
    most = counting.blocks * (target.sm_count or _MULTIPROCESSORS)
    # One more than there are whole chunks: at least one block, which writes zeros where nothing is to be counted.
    parts = minimum(total // chunk + 1, ceil_div(expr(most), outer))
    bins = _bins(nest, found, counting, target, shared, shares=parts.constant != 1)
    conditions = _vector_conditions(nest, walk, widths, width)
    whole = total.constant is not None and total.constant % width == 0
    count = CountElements(
        bins=bins,
        walk=walk,
        found=found,
        width=width,
        widths=widths,
        items=counting.items,
        tail=width > 1 and walk.flat and not whole and not _holds_whole(conditions, total, width),
    )
    write = WriteBins(bins, found, nest.stores[0])
    phases: tuple[Phase, ...] = (count, write)
    if shared:
        phases = (ClearBins(bins), Barrier(), count, Barrier(), TotalBins(bins), write)
    tiles = [TileAxis(BATCH, outer, 1, outer, ragged=False)] if walk.outer else []
    return Plan(
        name=name,
        nest=nest,
        schedule=schedule,
        target=target,
        tiles=(*tiles, TileAxis(ELEMENTS, total, chunk, parts, ragged=True)),
        threads=counting.threads,
        phases=phases,
        conditions=(*conditions, *_count_conditions(bins, found, walk, total, most)),
        fits_i32=_fits_i32(nest, found, bins, total, outer, most * chunk),
        scratch=_scratch(bins, outer),
    )


def bin_count(nest: Nest, found: Histogram, counting: Counting) -> Expr:
    return product(nest.axis(a).extent for a in (*counting.inside, *(b.name for b in found.bins)))


def _count(plan: Plan) -> CountElements:
    return next(p for p in plan.phases if isinstance(p, CountElements))


def _widths(nest: Nest, found: Histogram, schedule: Schedule) -> tuple[tuple[Access, int], ...]:
    """Elements per access of those that move several at once."""
    wide = [
        (a, schedule.width_of(nest.pointer(a.pointer).tensor))
        for a in element_accesses(nest, found)
        if not a.checked
    ]
    return tuple((a, w) for a, w in wide if w > 1)


def _bins(
    nest: Nest, found: Histogram, counting: Counting, target: Target, shared: bool, shares: bool
) -> Bins:
    count, bytes_ = bin_count(nest, found, counting), counter_bytes(found)
    total = U32 if found.reduce.dtype.size == 4 else U64
    capacity, copies = (most_counters(target, bytes_) if shared else 0), None
    spare = shared and _has_branch(nest, found)
    if shared and count.constant is not None:
        slots = max(1, count.constant) + spare
        copies = max(1, min(_MOST_COPIES, 1 << ((capacity // slots).bit_length() - 1)))
        capacity = slots * copies
    return Bins(
        axes=(*counting.inside, *(b.name for b in found.bins)),
        count=count,
        capacity=capacity,
        copies=copies if shared else 1,
        counter=U32 if bytes_ == 4 else U64,
        total=total,
        shares=shares or not shared,
        spare=spare,
    )


def _has_branch(nest: Nest, found: Histogram) -> bool:
    """Whether elements may belong to no bin, in a count: there is nothing else to be done, or left, for them."""
    if found.reduce.op is not Reduction.COUNT:
        return False
    return not all(isinstance(t, Match) and always_in_bins(nest, t) for t in found.terms)


def _vector_conditions(
    nest: Nest, walk: ElementWalk, widths: tuple[tuple[Access, int], ...], width: int
) -> tuple[Condition, ...]:
    conditions: dict[Condition, None] = {}
    for access, own in widths:
        needs = vector_needs(nest, walk, access, own)
        assert needs is not None
        conditions[Aligned(access.pointer, own * nest.pointer(access.pointer).dtype.size)] = None
        for value in needs:
            multiple(value, own, conditions)
    if width > 1 and not walk.flat:
        multiple(nest.axis(walk.axes[0]).extent, width, conditions)
    return tuple(conditions)


def _holds_whole(conditions: tuple[Condition, ...], total: Expr, width: int) -> bool:
    found: dict[Condition, None] = {}
    multiple(total, width, found)
    return all(c in conditions for c in found)


def _count_conditions(
    bins: Bins, found: Histogram, walk: ElementWalk, total: Expr, most: int
) -> tuple[Condition, ...]:
    conditions: list[Condition] = []
    if bins.capacity and bins.count.constant is None:
        conditions.append(AtMost(bins.count, bins.capacity - bins.spare))
    if bins.capacity and bins.counter.size < bins.total.size:
        # A block of those that share so many elements has less than half of what its counters hold.
        conditions.append(AtMost(total, 2**31 * (1 if walk.outer else most)))
    return tuple(c for c in conditions if not (isinstance(c, AtMost) and _known(c)))


def _known(condition: AtMost) -> bool:
    return condition.value.constant is not None and condition.value.constant <= condition.limit


def _fits_i32(
    nest: Nest, found: Histogram, bins: Bins, total: Expr, outer: Expr, stride: int
) -> tuple[AtMost, ...]:
    """Also for positions along the walk, which pass its end by less than the stride of all blocks, for numbers of bins
    in scratch memory, and for where the bins begin."""
    values = [(total, INDEX_LIMIT - stride), (bins.count * outer, INDEX_LIMIT)]
    for match in (t for t in found.terms if isinstance(t, Match)):
        offset = nest.axis_values[match.axis.name]
        values.append((magnitude(offset, nest) + magnitude(match.shift, nest), INDEX_LIMIT))
    limits: dict[Expr, int] = {}
    for condition in (*index_conditions(nest), *(AtMost(v, n) for v, n in values if v.constant is None)):
        limits[condition.value] = min(condition.limit, limits.get(condition.value, condition.limit))
    return tuple(AtMost(value, limit) for value, limit in limits.items())


def _scratch(bins: Bins, outer: Expr) -> tuple[Scratch, ...]:
    """Totals of all bins and a ticket for each batch point; none where one block has them all."""
    if not bins.shares:
        return ()
    return (
        Scratch(TOTALS, bins.total, bins.count * outer, zeroed=True),
        Scratch(TICKETS, U32, outer, zeroed=True),
    )
