"""Collects every problem of a check. A rule reports and returns None; whoever gets None reports nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tilegen.lang.diagnostics import Diagnostic, Label, Problem, problem, told
from tilegen.lang.source import Span


@dataclass
class Problems:
    found: list[Problem | Diagnostic] = field(default_factory=list)

    def report(self, case: str, span: Span, /, **values: object) -> None:
        """`case` of a code, with the values that its words name."""
        self.found.append(problem(case, span, **values))

    def error(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        help: str,
        note: str | Sequence[str] = (),
        labels: Sequence[tuple[Span, str]] = (),
    ) -> None:
        """TODO directives.py"""
        notes = (note,) if isinstance(note, str) else tuple(note)
        self.found.append(
            Diagnostic(code, message, span, notes, (help,), tuple(Label(s, t) for s, t in labels))
        )

    @property
    def ordered(self) -> tuple[Problem | Diagnostic, ...]:
        """In the order of the text; a place has one problem of a code."""
        unique: dict[tuple[str, tuple[int, int]], Problem | Diagnostic] = {}
        for found in self.found:
            unique.setdefault((found.code, _place(found)), found)
        return tuple(sorted(unique.values(), key=lambda p: (*_place(p), p.code)))


def _place(problem: Problem | Diagnostic) -> tuple[int, int]:
    return (problem.span.start, problem.span.end) if problem.span else (0, 0)


def merge_choices(runs: Sequence[tuple[str, Sequence[Problem | Diagnostic]]]) -> list[Problem]:
    """Problems of one kernel for each choice of types (`T = u8`): what all choices share is told once, without them."""
    places: dict[tuple[str, tuple[int, int]], dict[str, Problem]] = {}
    for choice, problems in runs:
        for found in problems:
            assert isinstance(found, Problem)
            places.setdefault((found.code, _place(found)), {}).setdefault(choice, found)
    merged = []
    for of_choices in places.values():
        first = next(iter(of_choices.values()))
        if len(of_choices) == len(runs) and len({told(p).message for p in of_choices.values()}) == 1:
            merged.append(first)
        else:
            merged.append(first.under("types", ", or ".join(of_choices)))
    return merged


def suggestion(name: str, known: Iterable[str], what: str) -> str:
    """TODO directives.py"""
    from tilegen.lang.codes.entry import fill
    from tilegen.lang.near import near_to

    return fill((f"{{n:near {what}}}",), {"n": near_to(name, known)}) or ""
