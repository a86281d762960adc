"""What is told of a schedule that a histogram cannot honour: TG0642, TG0643, and vectors."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import without
from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.source import Span


def not_an_element_axis(axis: str, word: str, walked: Sequence[str], span: Span | None) -> Diagnostic:
    names = ", ".join(f"`{a}`" for a in walked) or "no axis"
    return Diagnostic(
        "TG0642",
        f"`{word}` cannot name `{axis}` here",
        span,
        notes=(f"threads of a histogram walk its elements, along {names}; `{axis}` says where a count goes",),
        helps=(f"name {names}" if walked else f"leave `{word}` out",),
    )


def many_under_way(count: int, most: int, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "TG0643",
        f"{count} accesses under way are more than a thread can hold",
        span,
        notes=(f"each waits in registers of its own; {most} of 16 bytes take {most * 4} of them",),
        helps=(f"use at most {most}",),
    )


def written_once(tensor: str, schedule: Schedule) -> Diagnostic:
    return Diagnostic(
        "TG0606",
        f"`{tensor}` cannot be accessed {schedule.width_of(tensor)} elements at a time",
        schedule.span("vector", tensor),
        notes=(f"`vector` is about the elements that are counted; `{tensor}` is touched once per bin",),
        helps=(without(schedule, tensor, ()),),
    )
