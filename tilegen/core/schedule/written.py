"""What the directives of a schedule say, whatever the family: a value each, and where it was written.

What a family cannot honour, and what is left open, is its own to say: `complete`, `complete_rows`, `scan`, `histogram`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import registers_out_of_range, too_many_threads
from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.source import Span
from tilegen.lang.spec import (
    Bounds,
    BoundsDirective,
    Directive,
    Hint,
    HintDirective,
    IndexDirective,
    IndexType,
    MaxRegistersDirective,
    MinBlocksDirective,
    RasterDirective,
    ScheduleSpec,
    StageDirective,
    ThreadsDirective,
    TileDirective,
    UnrollDirective,
    VectorDirective,
)
from tilegen.target import Target

Counts = tuple[tuple[str, int], ...]

_WORDS: dict[type[Directive], str] = {
    TileDirective: "tile",
    ThreadsDirective: "threads",
    StageDirective: "stage",
    VectorDirective: "vector",
    BoundsDirective: "bounds",
    RasterDirective: "raster",
    UnrollDirective: "unroll",
    HintDirective: "hint",
    MaxRegistersDirective: "max_registers",
    MinBlocksDirective: "min_blocks",
    IndexDirective: "index",
}


@dataclass(frozen=True, slots=True)
class Written:
    """A schedule as it was written, single values only. `vector`: None where no width for all tensors is given."""

    name: str
    spans: tuple[tuple[str, str | None, Span], ...]
    tile: Counts = ()
    threads: Counts = ()
    unroll: Counts = ()
    vector: int | None = None
    vector_of: Counts = ()
    bounds: Bounds = Bounds.GUARD
    raster: tuple[str, ...] = ()
    group: int = 1
    hints: tuple[tuple[str, Hint], ...] = ()
    max_registers: int | None = None
    min_blocks: int | None = None
    index: IndexType = IndexType.AUTO

    @property
    def thread_count(self) -> int:
        return prod(n for _, n in self.threads)

    def span(self, directive: str) -> Span | None:
        return next((s for d, entry, s in self.spans if d == directive and entry is None), None)

    def over_limits(self, target: Target) -> list[Diagnostic]:
        """TG0602 and TG0603: more threads or registers than there are."""
        found = []
        if self.thread_count > target.max_threads_per_block:
            found.append(too_many_threads(self.threads, self.thread_count, target, self.span("threads")))
        return [*found, *self.registers_over_limits(target)]

    def registers_over_limits(self, target: Target) -> list[Diagnostic]:
        cap = self.max_registers
        if cap is None or target.least_register_cap <= cap <= target.registers_per_thread:
            return []
        return [registers_out_of_range(cap, target, self.span("max_registers"))]

    def schedule(self) -> Schedule:
        """What of it every family takes as it is; tiles and threads are not among that."""
        return Schedule(
            name=self.name,
            tile=(),
            vector=self.vector or 1,
            vector_of=self.vector_of,
            hints=self.hints,
            max_registers=self.max_registers,
            min_blocks=self.min_blocks,
            index=self.index,
            spans=self.spans,
        )


def read_directives(spec: ScheduleSpec) -> Written:
    """The directives of a schedule as values. `stage` is not among them: one family has it."""
    written = Written(spec.name, written_at(spec))
    for directive in spec.directives:
        match directive:
            case TileDirective():
                written = replace(written, tile=tuple((a, v[0]) for a, v in directive.axes))
            case ThreadsDirective():
                written = replace(written, threads=tuple((a, v[0]) for a, v in directive.axes))
            case UnrollDirective():
                written = replace(written, unroll=tuple((a, v[0]) for a, v in directive.axes))
            case VectorDirective():
                every = next((w[0] for t, w in directive.widths if t is None), written.vector)
                named = {t: w[0] for t, w in directive.widths if t is not None}
                written = replace(
                    written, vector=every, vector_of=tuple({**dict(written.vector_of), **named}.items())
                )
            case BoundsDirective():
                written = replace(written, bounds=directive.modes[0])
            case RasterDirective():
                written = replace(written, raster=directive.axes, group=directive.group[0])
            case HintDirective():
                written = replace(written, hints=(*written.hints, (directive.tensor, directive.hints[0])))
            case MaxRegistersDirective():
                written = replace(written, max_registers=directive.counts[0])
            case MinBlocksDirective():
                written = replace(written, min_blocks=directive.counts[0])
            case IndexDirective():
                written = replace(written, index=directive.types[0])
            case StageDirective():
                pass
    return written


def written_at(spec: ScheduleSpec) -> tuple[tuple[str, str | None, Span], ...]:
    """Where each directive and each named entry of it was written: see `Schedule.spans`."""
    found: list[tuple[str, str | None, Span]] = []
    for directive in spec.directives:
        word = _WORDS[type(directive)]
        found.append((word, None, directive.span))
        match directive:
            case TileDirective() | ThreadsDirective():
                names: list[str | None] = [axis for axis, _ in directive.axes]
            case VectorDirective():
                names = [tensor for tensor, _ in directive.widths]
            case HintDirective():
                found.append((word, directive.tensor, directive.span))
                continue
            case _:
                continue
        found += [(word, n, s) for n, s in zip(names, directive.spans, strict=False) if n is not None]
    return tuple(found)


def named_axes(schedule: ScheduleSpec | None) -> frozenset[str]:
    """Axes that directives speak of, which must therefore stay as they are."""
    names: set[str] = set()
    for directive in schedule.directives if schedule is not None else ():
        axes = getattr(directive, "axes", ())
        names |= {a if isinstance(a, str) else a[0] for a in axes}
    return frozenset(names)
