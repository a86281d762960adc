"""The phases of a histogram: clear the bins of a block, count, add up the copies, write.

`@item`: number of a vector along the walk; `@lane`: element of it. The rest is as in `plan.model`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilegen.algebra import Expr, sym
from tilegen.core.nest.model import Access, Store
from tilegen.core.nest.text import access_text, value_text
from tilegen.core.plan.model import Phase
from tilegen.core.plan.text import width_lines
from tilegen.dtypes import DType
from tilegen.families.histogram.bins import ElementWalk
from tilegen.families.histogram.nest import Histogram, Match


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of one block, numbered along `axes`, slowest first.

    `capacity`: counters in shared memory, 0 where elements are counted in scratch memory. `copies`: of each bin, side
    by side, a power of two; None: as many as fit, found at run time. `counter`, `total`: types of a counter in shared
    memory and of a total in scratch memory. `shares`: several blocks may count for the same bins. `spare`: one more bin
    takes what belongs to none, so that counting has no branch.
    """

    axes: tuple[str, ...]
    count: Expr
    capacity: int
    copies: int | None
    counter: DType
    total: DType
    shares: bool
    spare: bool = False

    def lines(self) -> Iterator[str]:
        yield f"    bins {', '.join(self.axes)}: {self.count} totals of {self.total}"
        if self.capacity:
            copies = "as many copies as fit" if self.copies is None else f"{self.copies} of each"
            spare = ", one for what has no bin" if self.spare else ""
            yield f"    {self.capacity} counters of {self.counter} in shared memory, {copies}{spare}"
        if self.shares:
            yield "    blocks share them"


@dataclass(frozen=True, slots=True)
class ClearBins(Phase):
    """All copies of all bins to zero."""

    bins: Bins

    def lines(self) -> Iterator[str]:
        yield "clear the bins"


@dataclass(frozen=True, slots=True)
class CountElements(Phase):
    """Blocks stride over the elements; each adds to its bin.

    `width`: elements of an item, which is what a thread takes at once; `widths`: elements per access. `items`: those of
    a thread that are under way together. `tail`: the walk need not hold whole items.
    """

    bins: Bins
    walk: ElementWalk
    found: Histogram
    width: int
    widths: tuple[tuple[Access, int], ...]
    items: int
    tail: bool

    def lines(self) -> Iterator[str]:
        yield f"count along {', '.join(self.walk.axes)}"
        yield from self.bins.lines()
        if self.walk.outer:
            yield f"    once for each point of {', '.join(self.walk.outer)}"
        flat = " of one run of memory" if self.walk.flat else ""
        yield f"    items of {self.width}{flat}, {self.items} under way{', with a tail' if self.tail else ''}"
        yield from width_lines(self.widths)
        for term in self.found.terms:
            if isinstance(term, Match):
                shift = sym(term.axis.name) * term.sign + term.shift
                yield f"    {value_text(term.key)} == {shift}"
            else:
                yield f"    {value_text(term)}"
        if self.found.weight is not None:
            yield f"    adds {value_text(self.found.weight)}"

    def width_of(self, access: Access) -> int:
        return dict(self.widths).get(access, 1)


@dataclass(frozen=True, slots=True)
class TotalBins(Phase):
    """The copies of each bin are added up; totals go to scratch memory where blocks share bins."""

    bins: Bins

    def lines(self) -> Iterator[str]:
        yield "add up the copies of each bin"


@dataclass(frozen=True, slots=True)
class WriteBins(Phase):
    """The last block that counted for these bins stores what is made of their totals."""

    bins: Bins
    found: Histogram
    store: Store

    def lines(self) -> Iterator[str]:
        yield "write the bins, the last block that counted for them"
        yield f"    store to {access_text(self.store.access)}: {value_text(self.store.value)}"
