"""Schedules in the words of the language: what is printed here parses back to the same directives."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import assert_never

from tilegen.lang.spec import (
    BoundsDirective,
    Directive,
    HintDirective,
    IndexDirective,
    KeepDirective,
    NumbersDirective,
    OtherwiseDirective,
    Placement,
    RasterDirective,
    ScheduleSpec,
    StageDirective,
)


def schedule_text(spec: ScheduleSpec) -> str:
    """A declaration of `.tile`, one directive a line."""
    lines = [f"    {directive_text(d)}" for d in spec.directives]
    return "\n".join([f"schedule {schedule_name(spec.name)} {{", *lines, "}"])


def schedule_name(name: str) -> str:
    """A name for a declaration: `auto` cannot be declared, and variants have signs in their names."""
    letters = "".join(c if c.isalnum() else " " for c in name)
    return "_".join(letters.split()) if name != "auto" else "chosen"


def directive_text(directive: Directive) -> str:
    word = directive.word.value
    match directive:
        case NumbersDirective():
            entries = ((f"{n} = " if n is not None else "") + _choices(v) for n, v in directive.entries)
            return f"{word} {', '.join(entries)}"
        case StageDirective():
            return f"{word} {', '.join(directive.tensors)}{_placed(directive)}"
        case KeepDirective():
            tensors = f"{', '.join(directive.tensors)} " if directive.tensors else ""
            return f"{word} {tensors}{directive.memory.value}"
        case BoundsDirective() | IndexDirective():
            return f"{word} {_choices(directive.choices)}"
        case RasterDirective():
            group = "" if directive.group == (1,) else f" group {_choices(directive.group)}"
            return f"{word} {', '.join(directive.axes)}{group}"
        case HintDirective():
            return f"{word} {directive.tensor} {_choices(directive.choices)}"
        case OtherwiseDirective():
            return word
        case _:
            assert_never(directive)


def _placed(directive: StageDirective) -> str:
    words = []
    if directive.placement in (Placement.SWIZZLED, Placement.BEST):
        words.append(directive.placement.value)
    elif directive.pads != (0,):
        words.append(f"pad {_choices(directive.pads)}")
    words += [f"buffers {_choices(directive.buffers)}"] if directive.buffers != (1,) else []
    words += ["async"] if directive.asynchronous else []
    return "".join(f" {w}" for w in words)


def _choices(values: Iterable[int | Enum]) -> str:
    texts = [str(v.value) if isinstance(v, Enum) else str(v) for v in values]
    return texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"
