"""Problems as data. One renderer (`render_diagnostic`) turns them into text; `--json` writes the same fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from tilegen.source import Span


class Severity(Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that matters, with what is to be seen there."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: what is wrong (`message`), where (`span`), facts (`notes`) and what to type instead (`helps`)."""

    code: str
    message: str
    span: Span | None
    notes: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    severity: Severity = Severity.ERROR


class SpecError(Exception):
    """A spec (or a request about it) that cannot be honoured. Carries every problem that was found."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n".join(render_diagnostic(d) for d in self.diagnostics))


def render_diagnostic(diagnostic: Diagnostic) -> str:
    """The text a person reads: code, message, the line with a caret, facts, actions."""
    out = [f"{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}"]
    if diagnostic.span is not None:
        out += _excerpt(diagnostic.span, "^", "")
    for label in diagnostic.labels:
        out += _excerpt(label.span, "-", label.text)
    out += [f"  note: {note}" for note in diagnostic.notes]
    out += [f"  help: {text}" for text in diagnostic.helps]
    return "\n".join(out)


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    return "\n\n".join(render_diagnostic(d) for d in diagnostics)


_MAX_EXCERPT = 160


def _excerpt(span: Span, mark: str, text: str) -> list[str]:
    line, column = span.source.position(span.start)
    content = span.source.line(line).replace("\t", " ")
    width = max(1, min(span.end, span.start + len(content) - column + 1) - span.start)
    shift = max(0, column - 1 - _MAX_EXCERPT // 2)
    shown = content[shift : shift + _MAX_EXCERPT]
    left = column - 1 - shift
    width = min(width, max(1, len(shown) - left))
    gutter = " " * len(str(line))
    pointer = " " * left + mark * width + (f" {text}" if text else "")
    return [
        f"{gutter}--> {span.source.name}:{line}:{column}",
        f"{gutter} |",
        f"{line} | {shown}",
        f"{gutter} | {pointer}",
    ]
