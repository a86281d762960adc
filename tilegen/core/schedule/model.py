"""`Schedule`: how a nest is spread over blocks and threads, complete and without choices left open.

What a user writes as `spec.ScheduleSpec` (names checked, sets allowed) becomes one `Schedule` per variant. `auto` makes
the same type, so whatever it chooses could have been written down.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from tilegen.frozen import dataclass
from tilegen.lang.source import Span
from tilegen.lang.spec import Bounds, Hint, IndexType


class Placement(Enum):
    """How rows of a staged tile are kept off each other's banks."""

    PLAIN = "plain"
    PADDED = "padded"
    SWIZZLED = "swizzled"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class Stage:
    """One tensor read through shared memory. `pad` in elements per row, for PADDED."""

    tensor: str
    placement: Placement
    pad: int
    span: Span | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Rows:
    """How the threads of a block share the rows of a nest with reductions.

    `along` threads, a power of two, walk a row together; `beside` such teams work side by side. `across`: neighbouring
    threads take neighbouring rows, because those lie next to each other in memory, else neighbouring points of a row.
    `items`: accesses of a thread and tensor that are under way together. `whole`: a row is at most one such step, and
    stays in registers. `parts`: blocks that share a row at most; the last one to finish adds what they found.
    `cluster`: blocks that hold one row together and reach each other's shared memory.
    """

    along: int
    beside: int
    across: bool
    items: int
    whole: bool
    parts: int = 1
    cluster: int = 1

    @property
    def threads(self) -> int:
        return self.along * self.beside

    def chunk(self, vector: int) -> int:
        """Points of a row that a team takes at once."""
        return self.along * self.cluster * self.items * (1 if self.across else vector)

    def describe(self) -> str:
        words = [f"{self.along} threads a row", f"{self.beside} rows a block"]
        words += ["in registers"] if self.whole else []
        words += [f"{self.parts} blocks a row"] if self.parts > 1 else []
        words += [f"a cluster of {self.cluster} blocks a row"] if self.cluster > 1 else []
        return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Counting:
    """How the elements of a histogram are counted. `items`: accesses of a thread and tensor that are under way at
    once. `blocks` per multiprocessor. `inside`: batch axes that are walked with the elements, so that a block has bins
    for all of their points."""

    threads: int
    items: int
    blocks: int
    inside: tuple[str, ...] = ()

    def describe(self) -> str:
        words = [f"{self.threads} threads", f"{self.items} accesses under way", f"{self.blocks} blocks an SM"]
        return ", ".join(words + [f"`{a}` inside a block" for a in self.inside])


@dataclass(frozen=True, slots=True)
class Schedule:
    """Directives for one kernel, axes by the nest's names.

    `tile`: points of each axis one block computes (1 where it is not named). `threads`: per axis, the last one is the
    fastest in a warp; empty: `thread_count` threads in the order of the output. `vector`: elements per global access
    for every tensor it can serve; `vector_of` overrides it per tensor. `vector_required`: tensors for which a narrower
    access is an error, not a choice. `unroll`: axis to unroll factor. `spans`: where directives (entry None) and single
    entries of them (`i` of `tile i = 30`) were written. `rows`: for a nest with reductions, in place of `tile`;
    `counting`: for a histogram.
    """

    name: str
    tile: tuple[tuple[str, int], ...]
    threads: tuple[tuple[str, int], ...] = ()
    thread_count: int | None = None
    stages: tuple[Stage, ...] = ()
    vector: int = 1
    vector_of: tuple[tuple[str, int], ...] = ()
    bounds: Bounds = Bounds.GUARD
    raster: tuple[str, ...] = ()
    group: int = 1
    unroll: tuple[tuple[str, int], ...] = ()
    hints: tuple[tuple[str, Hint], ...] = ()
    max_registers: int | None = None
    min_blocks: int | None = None
    index: IndexType = IndexType.AUTO
    rows: Rows | None = None
    counting: Counting | None = None
    spans: tuple[tuple[str, str | None, Span], ...] = field(default=(), repr=False, compare=False)

    def tile_of(self, axis: str) -> int:
        return dict(self.tile).get(axis, 1)

    def width_of(self, tensor: str) -> int:
        return dict(self.vector_of).get(tensor, self.vector)

    @property
    def item_width(self) -> int:
        """Elements of one item of a row: the width of the tensors that have one."""
        return max([self.vector, *(w for _, w in self.vector_of)])

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

    def describe(self) -> str:
        """The schedule in the language's own words, one line."""
        parts = []
        tiled = [(a, t) for a, t in self.tile if t > 1]
        if tiled:
            parts.append("tile " + ", ".join(f"{a} = {t}" for a, t in tiled))
        if self.rows is not None:
            parts.append(self.rows.describe())
        if self.counting is not None:
            parts.append(self.counting.describe())
        if self.threads:
            parts.append("threads " + ", ".join(f"{a} = {t}" for a, t in self.threads))
        for stage in self.stages:
            how = {Placement.PADDED: f" pad {stage.pad}", Placement.SWIZZLED: " swizzle"}.get(
                stage.placement, ""
            )
            parts.append(f"stage {stage.tensor}{how}")
        if self.vector > 1:
            parts.append(f"vector {self.vector}")
        if self.vector_of:
            parts.append("vector " + ", ".join(f"{t} = {v}" for t, v in self.vector_of))
        if self.bounds is not Bounds.GUARD:
            parts.append(f"bounds {self.bounds.value}")
        if self.raster:
            parts.append(
                "raster " + ", ".join(self.raster) + (f" group {self.group}" if self.group > 1 else "")
            )
        parts += ["unroll " + ", ".join(f"{a} = {n}" for a, n in self.unroll)] if self.unroll else []
        parts += [f"hint {t} {h.value}" for t, h in self.hints]
        parts += [f"max_registers {self.max_registers}"] if self.max_registers else []
        parts += [f"min_blocks {self.min_blocks}"] if self.min_blocks else []
        parts += [f"index {self.index.value}"] if self.index is not IndexType.AUTO else []
        return "; ".join(parts)
