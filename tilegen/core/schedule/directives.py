"""The directives of a schedule as values of a `Schedule`, and back.

`schedule_of` reads an alternative of what was written, axes by their names in the spec. `spec_of` is the way back for
any `Schedule`, whatever made it. What a family can honour is in `families/directives.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from tilegen.core.schedule.model import Keep, Placement, Places, Schedule, Stage
from tilegen.core.schedule.text import directive_text, schedule_name
from tilegen.lang.source import Source, Span
from tilegen.lang.spec import (
    Bounds,
    BoundsDirective,
    Directive,
    HintDirective,
    IndexDirective,
    IndexType,
    KeepDirective,
    NumbersDirective,
    OtherwiseDirective,
    RasterDirective,
    ScheduleSpec,
    StageDirective,
    Word,
)

# The fields of a `Schedule` that hold the numbers of a directive, where they are not called as its word is.
_NAMED = {Word.VECTOR: "vector_of"}
_BARE = {Word.THREADS: "thread_count"}


def alternatives(spec: ScheduleSpec) -> tuple[ScheduleSpec, ...]:
    """What stands between `otherwise` and `otherwise`, as schedules of their own."""
    found, rest = [], iter(spec.directives)
    ends = sum(isinstance(d, OtherwiseDirective) for d in spec.directives)
    for _ in range(ends + 1):
        part = tuple(takewhile(lambda d: not isinstance(d, OtherwiseDirective), rest))
        found.append(replace(spec, directives=part))
    return tuple(found)


def named_axes(spec: ScheduleSpec) -> frozenset[str]:
    """Axes that directives speak of, which must therefore be axes of the nest: `i`, or `i*j` for both as one."""
    names: set[str] = set()
    for directive in spec.directives:
        match directive:
            case NumbersDirective() if directive.word not in (Word.AT, Word.VECTOR):
                names |= {n for n, _ in directive.entries if n is not None}
            case RasterDirective():
                names |= {*directive.axes}
            case _:
                pass
    return frozenset(names)


def schedule_of(spec: ScheduleSpec) -> Schedule:
    """One alternative, single values only, with every axis by its name in the spec."""
    made = Schedule(spec.name, spans=_written_at(spec))
    for directive in spec.directives:
        match directive:
            case NumbersDirective(word=word):
                named = tuple((n, v[0]) for n, v in directive.entries if n is not None)
                bare = [v[0] for n, v in directive.entries if n is None]
                fields: dict[str, Any] = {_NAMED.get(word, word.value): named} if named else {}
                fields |= {_BARE.get(word, word.value): bare[0]} if bare else {}
                made = replace(made, **fields)
            case StageDirective():
                pad = directive.pads[0]
                plain = directive.placement is Placement.PADDED and not pad
                how = Placement.PLAIN if plain else directive.placement
                stages = (Stage(t, how, pad, directive.span) for t in directive.tensors)
                made = replace(made, stages=(*made.stages, *stages))
            case KeepDirective():
                tensors = made.keep.tensors if made.keep is not None else ()
                made = replace(made, keep=Keep((*tensors, *directive.tensors), directive.memory))
            case BoundsDirective():
                made = replace(made, bounds=directive.choices[0])
            case RasterDirective():
                made = replace(made, raster=directive.axes, group=directive.group[0])
            case HintDirective():
                made = replace(made, hints=(*made.hints, (directive.tensor, directive.choices[0])))
            case IndexDirective():
                made = replace(made, index=directive.choices[0])
            case OtherwiseDirective():
                raise AssertionError("an alternative has no alternatives")
    return made


def _written_at(spec: ScheduleSpec) -> Places:
    """Where each directive and each named entry of it was written: see `Schedule.spans`."""
    found: list[tuple[str, str | None, Span]] = []
    for directive in spec.directives:
        word = directive.word.value
        found.append((word, None, directive.span))
        match directive:
            case NumbersDirective():
                places = zip(directive.entries, directive.spans, strict=False)
                found += [(word, n, span) for (n, _), span in places if n is not None]
            case HintDirective():
                found.append((word, directive.tensor, directive.span))
            case _:
                pass
    return tuple(found)


# The way back


def spec_of(schedules: Sequence[Schedule], name: str | None = None) -> ScheduleSpec:
    """Schedules, alternatives in order of preference, as one that is written; spans are places in its text."""
    found: list[Directive] = []
    nowhere = Span(Source("", ""), 0, 0)
    for number, schedule in enumerate(schedules):
        found += [OtherwiseDirective(nowhere)] if number else []
        found += _directives(schedule, nowhere)
    named = schedule_name(schedules[0].name if name is None else name)
    texts = [directive_text(d) for d in found]
    lines = [f"schedule {named} {{", *(f"    {t}" for t in texts), "}"]
    source = Source(f"schedule {named}", "\n".join(lines))
    placed: list[Directive] = []
    at = len(lines[0]) + 1
    for directive, text in zip(found, texts, strict=True):
        span = Span(source, at + 4, at + 4 + len(text))
        if isinstance(directive, NumbersDirective):
            directive = replace(directive, spans=tuple(span for _ in directive.entries))
        placed.append(replace(directive, span=span))
        at += len(text) + 5
    return ScheduleSpec(named, tuple(placed), Span(source, 0, len(lines[0])))


def schedule_lines(schedules: Sequence[Schedule]) -> tuple[str, ...]:
    """The directives of alternatives, a line each; those after the first begin with `otherwise`."""
    lines = ("; ".join(map(directive_text, spec_of([s]).directives)) for s in schedules)
    return tuple(
        line if not n else f"otherwise; {line}" if line else "otherwise" for n, line in enumerate(lines)
    )


def _directives(schedule: Schedule, span: Span) -> Iterator[Directive]:
    called = dict(schedule.called)

    def numbers(word: Word, named: bool = True, bare: bool = False) -> Iterator[Directive]:
        entries: list[tuple[str | None, tuple[int, ...]]] = []
        number = getattr(schedule, _BARE.get(word, word.value)) if bare else None
        if number is not None and (word, number) != (Word.VECTOR, 1):
            entries.append((None, (number,)))
        for name, value in getattr(schedule, _NAMED.get(word, word.value)) if named else ():
            entries.append((called.get(name, name) if word not in (Word.AT, Word.VECTOR) else name, (value,)))
        if entries:
            yield NumbersDirective(word, tuple(entries), span)

    yield from numbers(Word.AT)
    yield from numbers(Word.TILE)
    yield from numbers(Word.THREADS, bare=True)
    for stage in schedule.stages:
        placement = Placement.PADDED if stage.placement is Placement.PLAIN else stage.placement
        yield StageDirective((stage.tensor,), placement, (stage.pad,), (1,), False, span)
    if schedule.keep is not None:
        yield KeepDirective(schedule.keep.tensors, schedule.keep.memory, span)
    yield from numbers(Word.VECTOR, bare=True)
    yield from numbers(Word.IN_FLIGHT, named=False, bare=True)
    for word in (Word.BLOCKS, Word.CLUSTER, Word.UNROLL):
        yield from numbers(word)
    if schedule.raster:
        yield RasterDirective(tuple(called.get(a, a) for a in schedule.raster), (schedule.group,), span)
    if schedule.bounds is not Bounds.GUARD:
        yield BoundsDirective((schedule.bounds,), span)
    yield from (HintDirective(t, (h,), span) for t, h in schedule.hints)
    for word in (Word.MAX_REGISTERS, Word.MIN_BLOCKS):
        yield from numbers(word, named=False, bare=True)
    if schedule.index is not IndexType.AUTO:
        yield IndexDirective((schedule.index,), span)
