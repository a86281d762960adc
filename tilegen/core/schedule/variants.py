"""Families of schedules: the cross product of all sets of values, one `ScheduleSpec` with single values each."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Directive, NumbersDirective, ScheduleSpec, Word

MOST_VARIANTS = 256
# The parts of a directive that are choices, by field name; what each is called in the name of a variant.
_CHOICES = {"pads": "pad", "buffers": "buffers", "group": "group", "choices": ""}
_CALLED = {Word.BOUNDS: "mode", Word.INDEX: "type", Word.HINT: "hint"}


def expand(schedule: ScheduleSpec) -> tuple[ScheduleSpec, ...]:
    """All variants of `schedule`, in the order written (the last set varies fastest); itself if it has no sets.

    A variant's name tells its choices: `tiled[tile i = 16, pad = 1]`. Raises TG0616 for more than MOST_VARIANTS.
    """
    options = [_alternatives(d) for d in schedule.directives]
    count = prod(len(o) for o in options)
    if count > MOST_VARIANTS:
        raise SpecError([_too_many(schedule, count)])
    if all(len(o) == 1 for o in options):
        return (schedule,)
    variants = []
    for chosen in product(*options):
        label = ", ".join(text for _, text in chosen if text)
        variants.append(
            replace(schedule, name=f"{schedule.name}[{label}]", directives=tuple(d for d, _ in chosen))
        )
    return tuple(variants)


def _too_many(schedule: ScheduleSpec, count: int) -> Diagnostic:
    return Diagnostic(
        "TG0616",
        f"schedule `{schedule.name}` is a family of {count} variants",
        schedule.span,
        notes=(f"the sets of a schedule multiply; a family has at most {MOST_VARIANTS}",),
        helps=("take values out of its sets, or split it into several schedules",),
    )


def _alternatives(directive: Directive) -> list[tuple[Directive, str]]:
    """Every single-valued form of `directive` with the words that tell it from the others."""
    word = directive.word.value
    if isinstance(directive, NumbersDirective):
        each = [[(n, (v,), len(choices) > 1) for v in choices] for n, choices in directive.entries]
        return [
            (
                replace(directive, entries=tuple((n, v) for n, v, _ in combination)),
                ", ".join(
                    f"{word} {n} = {v[0]}" if n is not None else f"{word} = {v[0]}"
                    for n, v, several in combination
                    if several
                ),
            )
            for combination in product(*each)
        ]
    slots: list[list[tuple[str, Any, str]]] = [
        [
            (name, (v,), f"{label or _CALLED[directive.word]} = {getattr(v, 'value', v)}")
            for v in getattr(directive, name)
        ]
        for name, label in _CHOICES.items()
        if len(getattr(directive, name, ())) > 1
    ]
    return [
        (replace(directive, **{n: v for n, v, _ in combination}), ", ".join(t for _, _, t in combination))
        for combination in product(*slots)
    ]
