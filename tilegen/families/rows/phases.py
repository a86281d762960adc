"""The phases of kernels with reductions: walks along rows, combinations, and stores of one element per row."""

from __future__ import annotations

from tilegen.core.nest.model import Access, Store
from tilegen.core.plan.model import Phase, Sweep
from tilegen.families.rows.passes import Pass
from tilegen.frozen import dataclass
from tilegen.lang.spec import Reduce


@dataclass(frozen=True, slots=True)
class Walk(Phase):
    """Threads go along a row: they read, accumulate reductions, keep values for later walks, and store.

    `sweep` has only the run of an item. `widths`: elements per global access of each access that follows the run.
    """

    step: Pass
    sweep: Sweep
    widths: tuple[tuple[Access, int], ...]

    def width_of(self, access: Access) -> int:
        return dict(self.widths).get(access, 1)


@dataclass(frozen=True, slots=True)
class Combine(Phase):
    """The threads of a team put their accumulators of `reductions` together. `everyone`: all of them need the results,
    else the first one. `parts`: what other blocks found of the same row is added, in order, by the last of them."""

    reductions: tuple[Reduce, ...]
    everyone: bool
    parts: bool


@dataclass(frozen=True, slots=True)
class PointStores(Phase):
    """Stores of one element per row. `sweep`: the lanes of neighbouring rows, where a thread has several."""

    stores: tuple[Store, ...]
    sweep: Sweep
    widths: tuple[tuple[Access, int], ...]
