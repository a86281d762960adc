"""`Schedule`: how a nest is spread over blocks and threads, as values, one field per directive of the language.

What a user writes as `spec.ScheduleSpec` (names checked, sets allowed) is read into one `Schedule` per variant and
alternative, and a family makes it complete. `auto` makes the same type: `text.py` prints either, and what it prints is
read back as the same value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from tilegen.lang.source import Span
from tilegen.lang.spec import Bounds, Hint, IndexType, Memory, Placement

__all__ = ["Counts", "Keep", "Placement", "Schedule", "Stage"]

# Numbers by the names of axes, tensors or sizes.
Counts = tuple[tuple[str, int], ...]
# Where directives (entry None) and single entries of them (`i` of `tile i = 30`) were written.
Places = tuple[tuple[str, str | None, Span], ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """One tensor read through shared memory. `pad` in elements per row, for PADDED."""

    tensor: str
    placement: Placement
    pad: int = 0
    span: Span | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Keep:
    """What a block reads and needs again stays in `memory`; `tensors`: of which ones, none for all."""

    tensors: tuple[str, ...]
    memory: Memory


@dataclass(frozen=True, slots=True)
class Schedule:
    """Directives for one kernel, axes by the nest's names; what each means to a family is said in docs/language.md.

    `at`: sizes that are constants of the code, which is for launches with these. `tile`: points of each axis that one
    block computes (1 where it is not named). `threads`: per axis, the last one is the fastest in a warp;
    `thread_count`: of a block, whatever the axes. `vector`: elements per global access for every tensor; `vector_of`
    overrides it per tensor. `in_flight`: accesses of a thread and tensor that are under way together. `blocks`: that
    share an axis; `cluster`: that do so in one cluster. `called`: what axes are called in the spec that have another
    name in the nest.
    """

    name: str
    at: Counts = ()
    tile: Counts = ()
    threads: Counts = ()
    thread_count: int | None = None
    stages: tuple[Stage, ...] = ()
    keep: Keep | None = None
    vector: int = 1
    vector_of: Counts = ()
    in_flight: int | None = None
    blocks: Counts = ()
    cluster: Counts = ()
    unroll: Counts = ()
    bounds: Bounds = Bounds.GUARD
    raster: tuple[str, ...] = ()
    group: int = 1
    hints: tuple[tuple[str, Hint], ...] = ()
    max_registers: int | None = None
    min_blocks: int | None = None
    index: IndexType = IndexType.AUTO
    called: tuple[tuple[str, str], ...] = ()
    spans: Places = field(default=(), repr=False, compare=False)

    def tile_of(self, axis: str) -> int:
        return dict(self.tile).get(axis, 1)

    def width_of(self, tensor: str) -> int:
        return dict(self.vector_of).get(tensor, self.vector)

    @property
    def item_width(self) -> int:
        """Elements of one item of a row: the width of the tensors that have one."""
        return max([self.vector, *(w for _, w in self.vector_of)])

    @property
    def block_threads(self) -> int | None:
        """Threads of a block, where the schedule tells; 1 along axes of which it says nothing."""
        if self.thread_count is not None or not self.threads:
            return self.thread_count
        return prod(n for _, n in self.threads)

    def stage_of(self, tensor: str) -> Stage | None:
        return next((s for s in self.stages if s.tensor == tensor), None)

    def span(self, directive: str, entry: str | None = None) -> Span | None:
        """Where the entry of the directive was written, else the directive; None for a choice of `auto`."""
        found = {e: span for d, e, span in self.spans if d == directive}
        return found.get(entry, found.get(None))

    def writes(self, directive: str, entry: str | None = None) -> bool:
        return any((d, e) == (directive, entry) for d, e, _ in self.spans)

    def entries(self, directive: str) -> tuple[str, ...]:
        return tuple(e for d, e, _ in self.spans if d == directive and e is not None)

    def names_width(self, tensor: str) -> bool:
        """Whether `vector` gives this tensor a width of its own."""
        return any(t == tensor for t, _ in self.vector_of)
