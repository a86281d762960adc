"""Families of schedules: the cross product of all sets of values, one `ScheduleSpec` with single values each."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product
from math import prod
from typing import Any

from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Directive, ScheduleSpec

# The parts of a directive that hold choices are tuples; which ones, by field name.
MOST_VARIANTS = 256
_CHOICES = ("pads", "buffers", "modes", "group", "hints", "counts", "types")
_NAMED_CHOICES = ("axes", "widths")


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
    slots: list[list[tuple[str, Any, str]]] = []
    for item in fields(directive):
        value = getattr(directive, item.name)
        if item.name in _CHOICES and len(value) > 1:
            slots.append([(item.name, (v,), f"{item.name.removesuffix('s')} = {_text(v)}") for v in value])
        elif item.name in _NAMED_CHOICES and any(isinstance(v, tuple) and len(v[1]) > 1 for v in value):
            each = [[(n, (c,), len(choices) > 1) for c in choices] for n, choices in value]
            keyword = (
                "vector"
                if item.name == "widths"
                else type(directive).__name__.removesuffix("Directive").lower()
            )
            slots.append(
                [
                    (
                        item.name,
                        tuple((n, c) for n, c, _ in combination),
                        ", ".join(
                            f"{keyword} {n} = {c[0]}" if n else f"{keyword} = {c[0]}"
                            for n, c, many in combination
                            if many
                        ),
                    )
                    for combination in product(*each)
                ]
            )
    return [
        (replace(directive, **{n: v for n, v, _ in combination}), ", ".join(t for _, _, t in combination))
        for combination in product(*slots)
    ]


def _text(value: Any) -> str:
    return str(getattr(value, "value", value))
