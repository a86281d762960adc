"""Collects every problem of a check. A rule reports and returns None; whoever gets None reports nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from tilegen.lang.diagnostics import Diagnostic, Label
from tilegen.lang.source import Span


@dataclass
class Problems:
    found: list[Diagnostic] = field(default_factory=list)

    def error(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        help: str | Sequence[str],
        note: str | Sequence[str] = (),
        labels: Sequence[tuple[Span, str]] = (),
    ) -> None:
        """Every problem says what to do: `help`."""
        self.found.append(
            Diagnostic(
                code,
                message,
                span,
                (note,) if isinstance(note, str) else tuple(note),
                (help,) if isinstance(help, str) else tuple(help),
                tuple(Label(s, t) for s, t in labels),
            )
        )

    @property
    def ordered(self) -> tuple[Diagnostic, ...]:
        """In the order of the text, each problem once."""
        unique = {(d.code, d.message, _place(d)): d for d in self.found}
        return tuple(sorted(unique.values(), key=lambda d: (*_place(d), d.code, d.message)))


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    return (diagnostic.span.start, diagnostic.span.end) if diagnostic.span else (0, 0)


def merge_choices(runs: Sequence[tuple[str, Sequence[Diagnostic]]]) -> list[Diagnostic]:
    """Problems of one kernel for each choice of types (`T = u8`): what all choices share is told once, without them."""
    places: dict[tuple[str, tuple[int, int]], list[tuple[str, Diagnostic]]] = {}
    for choice, diagnostics in runs:
        seen = set()
        for d in diagnostics:
            key = (d.code, _place(d))
            if key not in seen:
                places.setdefault(key, []).append((choice, d))
                seen.add(key)
    merged = []
    for found in places.values():
        choice, first = found[0]
        if len(found) == len(runs) and all(d.message == first.message for _, d in found):
            merged.append(first)
        else:
            choices = ", or ".join(c for c, _ in found)
            merged.append(replace(first, notes=(*first.notes, f"with {choices}")))
    return merged


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most probably was meant to be."""
    candidates = sorted(set(known))
    exact = [k for k in candidates if k.lower() == name.lower()]
    close = exact or get_close_matches(name, candidates, 1, 0.6)
    return close[0] if close else None


def suggestion(name: str, known: Iterable[str], what: str) -> str:
    """`did you mean `M`?`, or the list of what exists."""
    names = list(dict.fromkeys(known))
    close = nearest(name, names)
    if close is not None:
        return f"did you mean `{close}`?"
    if not names:
        return f"there is no {what} to name here"
    return f"{what} known here: " + ", ".join(f"`{n}`" for n in names)


def counted(number: int, noun: str) -> str:
    """`1 axis`, `2 axes`."""
    plural = {"axis": "axes", "index": "indices"}.get(noun, noun + "s")
    return f"{number} {noun if number == 1 else plural}"
