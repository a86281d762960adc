"""The phases of a histogram: clear the bins of a block, count, add up the copies, write.

`@item`: number of a vector along the walk; `@lane`: element of it. The rest is as in `plan.model`.
"""

from __future__ import annotations

from tilegen.algebra import Expr
from tilegen.core.nest.model import Access, Store
from tilegen.core.plan.model import Phase
from tilegen.dtypes import DType
from tilegen.families.histogram.bins import ElementWalk
from tilegen.families.histogram.nest import Histogram
from tilegen.frozen import dataclass


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


@dataclass(frozen=True, slots=True)
class ClearBins(Phase):
    """All copies of all bins to zero."""

    bins: Bins


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

    def width_of(self, access: Access) -> int:
        return dict(self.widths).get(access, 1)


@dataclass(frozen=True, slots=True)
class TotalBins(Phase):
    """The copies of each bin are added up; totals go to scratch memory where blocks share bins."""

    bins: Bins


@dataclass(frozen=True, slots=True)
class WriteBins(Phase):
    """The last block that counted for these bins stores what is made of their totals."""

    bins: Bins
    found: Histogram
    store: Store
