"""What a family of kernels honours of a schedule, as data, and the rules that are the same for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from tilegen.core.nest.model import Nest
from tilegen.core.schedule.axes import by_nest
from tilegen.core.schedule.directives import schedule_of
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import registers_out_of_range, too_many_threads
from tilegen.core.schedule.text import directive_text
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import (
    Bounds,
    BoundsDirective,
    Directive,
    Hint,
    HintDirective,
    KeepDirective,
    Memory,
    NumbersDirective,
    ScheduleSpec,
    StageDirective,
    Word,
)
from tilegen.target import Target


class Feature(Enum):
    """What a directive can ask for, in the words of docs/language.md."""

    TILE = "tile i = 32"
    THREADS = "threads i = 8"
    THREAD_COUNT = "threads 256"
    COUNT_AND_AXES = "threads 256, i = 8"
    STAGE = "stage a"
    BUFFERS = "stage a buffers 2"
    ASYNC = "stage a async"
    KEEP_REGISTERS = "keep a registers"
    KEEP_SHARED = "keep a shared"
    VECTOR = "vector 4"
    WIDTHS = "vector a = 4, b = 2"
    IN_FLIGHT = "in_flight 4"
    BLOCKS = "blocks i = 8"
    CLUSTER = "cluster i = 8"
    UNROLL = "unroll i = 4"
    BOUNDS = "bounds split"
    RASTER = "raster i"
    HINT = "hint a streaming"
    SECTORS = "hint b sectors"
    MAX_REGISTERS = "max_registers 32"
    MIN_BLOCKS = "min_blocks 4"
    INDEX = "index i32"
    AT = "at M = 7"
    OTHERWISE = "otherwise"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a feature is not honoured, and what to do. `{said}` stands for what was written, `{tensor}` for its tensor,
    `{plain}` for the directive without it. `code` and `message` where they are not the family's."""

    fact: str
    action: str = "leave `{said}` out"
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What one family refuses; it honours all other features. `message`: what is told, with `{said}`. `fewer_threads`:
    what else to do about too many threads."""

    code: str
    message: str
    refused: Mapping[Feature, Refused]
    fewer_threads: str = ", and `tile` for the part of the index space a block computes"


def features(directive: Directive) -> Iterator[tuple[Feature, str]]:
    """What a directive of single values asks for, and the words in which it was said."""
    word = directive.word.value
    match directive:
        case NumbersDirective(word=Word.THREADS):
            if any(name is None for name, _ in directive.entries):
                yield Feature.THREAD_COUNT, directive_text(directive)
                if len(directive.entries) > 1:
                    yield Feature.COUNT_AND_AXES, directive_text(directive)
            else:
                yield Feature.THREADS, word
        case NumbersDirective(word=Word.VECTOR):
            yield Feature.VECTOR, word
            named = {v[0] for name, v in directive.entries if name is not None}
            every = {v[0] for name, v in directive.entries if name is None} - {1}
            if named and len(named | every) > 1:
                yield Feature.WIDTHS, "several vector widths"
        case StageDirective():
            yield Feature.STAGE, word
            if directive.asynchronous:
                yield Feature.ASYNC, "async"
            elif directive.buffers != (1,):
                yield Feature.BUFFERS, f"buffers {directive.buffers[0]}"
        case KeepDirective():
            kept = Feature.KEEP_SHARED if directive.memory is Memory.SHARED else Feature.KEEP_REGISTERS
            yield kept, directive_text(directive)
        case BoundsDirective():
            if directive.choices != (Bounds.GUARD,):
                yield Feature.BOUNDS, directive_text(directive)
        case HintDirective():
            sectors = directive.choices == (Hint.SECTORS,)
            yield (Feature.SECTORS if sectors else Feature.HINT), directive_text(directive)
        case _:
            yield Feature[directive.word.name], word


def read_schedule(nest: Nest, spec: ScheduleSpec, rules: Rules, target: Target) -> Schedule:
    """One alternative as a value, its axes by the names of the nest. Raises SpecError with all that is refused or
    beyond the limits of the machine, each at its directive: the codes of `rules`, TG0602, TG0603, TG0624."""
    schedule = schedule_of(spec)
    problems = [p for d in spec.directives for p in _refusals(d, rules)]
    threads = schedule.block_threads
    if threads is not None and threads > target.max_threads_per_block:
        problems.append(too_many_threads(schedule, threads, target, rules.fewer_threads))
    cap = schedule.max_registers
    if cap is not None and not target.least_register_cap <= cap <= target.registers_per_thread:
        problems.append(registers_out_of_range(cap, target, schedule.span("max_registers")))
    if problems:
        raise SpecError(problems)
    return by_nest(nest, schedule)


def _refusals(directive: Directive, rules: Rules) -> Iterator[Diagnostic]:
    """The first thing in a directive that is refused."""
    for feature, said in features(directive):
        refused = rules.refused.get(feature)
        if refused is None:
            continue
        tensor = directive.tensor if isinstance(directive, HintDirective) else ""
        plain = ""
        if isinstance(directive, StageDirective):
            plain = directive_text(replace(directive, buffers=(1,), asynchronous=False))
        words = {"said": said, "tensor": tensor, "plain": plain}
        message = (refused.message or rules.message).format(**words)
        fact, action = refused.fact.format(**words), refused.action.format(**words)
        yield Diagnostic(refused.code or rules.code, message, directive.span, notes=(fact,), helps=(action,))
        return
