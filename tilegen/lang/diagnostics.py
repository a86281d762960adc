"""Problems as data: what a rule finds (`Problem`: a case and values), and what a person is told (`Diagnostic`: words).

The words are those of the case in `codes`, which is imported only where something is told. One renderer
(`render_diagnostic`) makes text of them, `to_json` values for `--json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import Any

from tilegen.frozen import dataclass
from tilegen.lang.source import Span


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong: a `case` of a code (`TG0309.local`), where, and the values that its words name."""

    case: str
    span: Span | None
    values: tuple[tuple[str, object], ...]
    circumstances: tuple[tuple[str, str], ...] = ()

    @property
    def code(self) -> str:
        return self.case.partition(".")[0]

    def under(self, kind: str, text: str) -> Problem:
        """The same, told to depend on something: a kind of `codes.CIRCUMSTANCES`, and which."""
        return replace(self, circumstances=(*self.circumstances, (kind, text)))


def problem(case: str, span: Span | None, /, **values: object) -> Problem:
    return Problem(case, span, tuple(values.items()))


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that matters, with what is to be seen there."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A way out, exactly: `text` instead of what stands at `span`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem in words: what is wrong (`message`), where (`span`), facts (`notes`) and what to type instead
    (`helps`, of which `edits` are the exact ones)."""

    code: str
    message: str
    span: Span | None
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    severity: Severity = Severity.ERROR
    edits: tuple[Edit, ...] = ()


def told(problem: Problem | Diagnostic) -> Diagnostic:
    """`problem` in the words of its case."""
    if isinstance(problem, Diagnostic):
        return problem
    from tilegen.lang.codes import CASES, CIRCUMSTANCES
    from tilegen.lang.codes.entry import fill, fill_each

    case, values = CASES[problem.case], dict(problem.values)
    message = fill(case.message, values)
    assert message is not None, f"{problem.case} has no message without all of its values"
    notes = [text for note in case.notes if (text := fill(note, values)) is not None]
    notes += [CIRCUMSTANCES[kind].format(text) for kind, text in problem.circumstances]
    labels = [
        Label(place, text)
        for name, template in case.labels
        if isinstance(place := values[name], Span) and (text := fill((template,), values)) is not None
    ]
    helps: list[str] = []
    edits: list[Edit] = []
    for alternatives in case.helps:
        found = next(((h, text) for h in alternatives if (text := fill((h.text,), values)) is not None), None)
        if found is not None:
            help, text = found
            helps.append(text)
            place = values[help.at] if help.at else problem.span
            if isinstance(place, Span):
                edits += [Edit(place, typed) for edit in help.edits for typed in fill_each(edit, values)]
    return Diagnostic(
        problem.code, message, problem.span, tuple(notes), tuple(helps), tuple(labels), edits=tuple(edits)
    )


class SpecError(Exception):
    """A spec (or a request about it) that cannot be honoured. Carries every problem that was found."""

    def __init__(self, problems: Sequence[Problem | Diagnostic]) -> None:
        super().__init__(problems)
        self.problems = tuple(problems)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(told(problem) for problem in self.problems)

    def __str__(self) -> str:
        return "\n".join(render_diagnostic(d) for d in self.diagnostics)


def render_diagnostic(diagnostic: Diagnostic, colour: bool = False) -> str:
    """The text a person reads: code, message, the lines with carets, facts, actions. With `colour`, for a terminal."""
    paint = _ANSI if colour else _PLAIN
    title = f"{diagnostic.severity.value}[{diagnostic.code}]"
    out = [f"{paint[diagnostic.severity.value]}{title}{paint['end']}: {_printable(diagnostic.message)}"]
    marks = [_Mark(diagnostic.span, "^", "")] if diagnostic.span is not None else []
    marks += [_Mark(label.span, "-", label.text) for label in diagnostic.labels]
    while marks:
        together = [mark for mark in marks if mark.span.source is marks[0].span.source]
        marks = [mark for mark in marks if mark.span.source is not together[0].span.source]
        out += _excerpt(together, paint)
    out += [f"  {paint['note']}note{paint['end']}: {_printable(note)}" for note in diagnostic.notes]
    out += [f"  {paint['help']}help{paint['end']}: {_printable(text)}" for text in diagnostic.helps]
    return "\n".join(out)


def render_all(diagnostics: Iterable[Diagnostic], colour: bool = False) -> str:
    return "\n\n".join(render_diagnostic(d, colour) for d in diagnostics)


def to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """The same facts as values of JSON. Lines and columns count from 1, `start` and `end` are offsets in the text."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "place": None if diagnostic.span is None else _place(diagnostic.span),
        "notes": list(diagnostic.notes),
        "helps": list(diagnostic.helps),
        "labels": [{"place": _place(label.span), "text": label.text} for label in diagnostic.labels],
        "edits": [{"place": _place(edit.span), "text": edit.text} for edit in diagnostic.edits],
    }


def _place(span: Span) -> dict[str, Any]:
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {
        "file": span.source.name,
        "start": span.start,
        "end": span.end,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }


_MAX_EXCERPT = 160
_PLAIN = dict.fromkeys(("error", "warning", "note", "help", "line", "^", "-", "end"), "")
_ANSI = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "note": "\x1b[1m",
    "help": "\x1b[1;32m",
    "line": "\x1b[34m",
    "^": "\x1b[1;31m",
    "-": "\x1b[1;34m",
    "end": "\x1b[0m",
}


@dataclass(frozen=True, slots=True)
class _Mark:
    span: Span
    mark: str
    text: str


def _excerpt(marks: Sequence[_Mark], paint: dict[str, str]) -> list[str]:
    """The lines that `marks` start on, in order, each with one row of carets per mark. `-->` gives the first mark."""
    source = marks[0].span.source
    line, column = source.position(marks[0].span.start)
    rows = sorted({source.position(mark.span.start)[0] for mark in marks})
    gutter = " " * len(str(rows[-1]))
    bar = f"{paint['line']}|{paint['end']}"
    out = [
        f"{gutter}{paint['line']}-->{paint['end']} {_printable(source.name)}:{line}:{column}",
        f"{gutter} {bar}",
    ]
    for before, row in zip((rows[0], *rows), rows, strict=False):
        if row > before + 1:
            out.append(f"{gutter} {bar} ...")
        here = [mark for mark in marks if source.position(mark.span.start)[0] == row]
        first = min(source.position(mark.span.start)[1] for mark in here)
        content = source.line(row)
        cut = max(0, first - 1 - _MAX_EXCERPT // 2) if len(content) > _MAX_EXCERPT else 0
        shown = content[cut : cut + _MAX_EXCERPT]
        head, tail = "…" if cut else "", "…" if len(content) > cut + len(shown) else ""
        number = f"{paint['line']}{str(row).rjust(len(gutter))}{paint['end']}"
        out.append(f"{number} {bar} {head}{_printable(shown)}{tail}".rstrip())
        for mark in here:
            left = source.position(mark.span.start)[1] - 1 - cut
            if left > len(shown):
                continue
            marked = shown[left : left + mark.span.end - mark.span.start]
            indent = " " * (len(head) + _columns(shown[:left]))
            carets = f"{paint[mark.mark]}{mark.mark * max(1, _columns(marked))}"
            text = f" {_printable(mark.text)}" if mark.text else ""
            out.append(f"{gutter} {bar} {indent}{carets}{text}{paint['end']}")
    return out


def _printable(text: str) -> str:
    """`text` on one line and without characters that a terminal would act on or that UTF-8 cannot encode."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def _columns(text: str) -> int:
    """Cells of a terminal that `text` takes: East Asian wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
