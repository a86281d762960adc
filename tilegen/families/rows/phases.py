"""The phases of kernels with reductions: walks along rows, combinations, and stores of one element per row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilegen.core.nest.model import Access, Store
from tilegen.core.nest.text import access_text, value_text
from tilegen.core.plan.model import Phase, Sweep
from tilegen.core.plan.text import sweep_lines, width_lines
from tilegen.families.rows.passes import Pass
from tilegen.lang.spec import Reduce


@dataclass(frozen=True, slots=True)
class Walk(Phase):
    """Threads go along a row: they read, accumulate reductions, keep values for later walks, and store.

    `sweep` has only the run of an item. `widths`: elements per global access of each access that follows the run.
    """

    step: Pass
    sweep: Sweep
    widths: tuple[tuple[Access, int], ...]

    def lines(self) -> Iterator[str]:
        yield f"walk row {self.step.row}"
        for value in self.step.known:
            yield f"    has {value_text(value)}"
        for read in self.step.reads:
            yield f"    reads {value_text(read)}"
        for value in self.step.keep:
            yield f"    keeps {value_text(value)}"
        yield from width_lines(self.widths)
        for node in self.step.reductions:
            yield f"    adds to {value_text(node)}"
        for store in self.step.stores:
            yield f"    store to {access_text(store.access)}: {value_text(store.value)}"
        yield from sweep_lines(self.sweep)

    def width_of(self, access: Access) -> int:
        return dict(self.widths).get(access, 1)


@dataclass(frozen=True, slots=True)
class Combine(Phase):
    """The threads of a team put their accumulators of `reductions` together. `everyone`: all of them need the results,
    else the first one. `parts`: what other blocks found of the same row is added, in order, by the last of them."""

    reductions: tuple[Reduce, ...]
    everyone: bool
    parts: bool

    def lines(self) -> Iterator[str]:
        parts = ", with the parts of other blocks" if self.parts else ""
        yield f"combine for {'all threads' if self.everyone else 'the first thread'} of a row{parts}"
        for node in self.reductions:
            yield f"    {value_text(node)}"


@dataclass(frozen=True, slots=True)
class PointStores(Phase):
    """Stores of one element per row. `sweep`: the lanes of neighbouring rows, where a thread has several."""

    stores: tuple[Store, ...]
    sweep: Sweep
    widths: tuple[tuple[Access, int], ...]

    def lines(self) -> Iterator[str]:
        yield "once a row"
        yield from width_lines(self.widths)
        for store in self.stores:
            yield f"    store to {access_text(store.access)}: {value_text(store.value)}"
        yield from sweep_lines(self.sweep)
