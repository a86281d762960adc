"""Collects every problem of a check. A rule reports and returns None; whoever gets None reports nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilegen.lang.diagnostics import Problem, problem, told
from tilegen.lang.source import Span


@dataclass
class Problems:
    found: list[Problem] = field(default_factory=list)

    def report(self, case: str, span: Span, /, **values: object) -> None:
        """`case` of a code, with the values that its words name."""
        self.found.append(problem(case, span, **values))

    @property
    def ordered(self) -> tuple[Problem, ...]:
        """In the order of the text; a place has one problem of a code."""
        unique: dict[tuple[str, tuple[int, int]], Problem] = {}
        for found in self.found:
            unique.setdefault((found.code, _place(found)), found)
        return tuple(sorted(unique.values(), key=lambda p: (*_place(p), p.code)))


def _place(problem: Problem) -> tuple[int, int]:
    return (problem.span.start, problem.span.end) if problem.span else (0, 0)


def merge_choices(runs: Sequence[tuple[str, Sequence[Problem]]]) -> list[Problem]:
    """Problems of one kernel for each choice of types (`T = u8`): what all choices share is told once, without them."""
    places: dict[tuple[str, tuple[int, int]], dict[str, Problem]] = {}
    for choice, problems in runs:
        for found in problems:
            places.setdefault((found.code, _place(found)), {}).setdefault(choice, found)
    merged = []
    for of_choices in places.values():
        first = next(iter(of_choices.values()))
        if len(of_choices) == len(runs) and len({told(p).message for p in of_choices.values()}) == 1:
            merged.append(first)
        else:
            merged.append(first.under("types", ", or ".join(of_choices)))
    return merged
