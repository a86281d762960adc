"""Brackets that do not match, and blocks that are not closed."""

from __future__ import annotations

from tilegen.lang.diagnostics import Diagnostic, Label
from tilegen.lang.parse.machine import ITEM_WORDS
from tilegen.lang.parse.mistakes.place import CLOSERS, Place, found
from tilegen.lang.parse.scanner import END, NEWLINE, SEMICOLON, WORD, Token
from tilegen.lang.source import Span


def missing_block_end(place: Place) -> Diagnostic | None:
    brackets = place.machine.brackets
    if not brackets or not brackets[-1].block:
        return None
    token = place.token
    opened = brackets[-1]
    if token.kind != END and not _starts_outer(place):
        return None
    if token.text == "kernel":
        opened = brackets[0]
    what = "kernel" if opened is brackets[0] else "schedule"
    before = "at the end" if token.kind == END else "before this"
    return Diagnostic(
        "TG0123",
        f"`}}` is missing: the {what} is still open",
        place.here(),
        labels=(Label(place.span(opened.token), "opened here"),),
        helps=(f"write `}}` {before}",),
    )


def _starts_outer(place: Place) -> bool:
    """The token starts a kernel, or inside a schedule a statement of the kernel."""
    token = place.token
    if token.kind != WORD:
        return False
    if token.text == "kernel" and place.machine.starts_kernel():
        return "SCHEDULE" in place.expected or "TILE" in place.expected
    if "TILE" not in place.expected or not place.starts_line:
        return False
    if token.text not in ITEM_WORDS or place.after.kind != WORD:
        return False
    depth = 0
    for following in place.machine.tokens[place.machine.at :]:
        if following.kind == NEWLINE:
            return True
        depth += (following.kind == "LBRACE") - (following.kind == "RBRACE")
        if depth < 0:
            return False
    return True


def bracket_mismatch(place: Place) -> Diagnostic | None:
    token = place.token
    brackets = place.machine.brackets
    if token.text not in CLOSERS.values():
        return None
    if not brackets:
        return Diagnostic(
            "TG0122",
            f"this `{token.text}` closes nothing",
            place.span(token),
            helps=(f"remove the `{token.text}`",),
        )
    opened = brackets[-1].token
    if CLOSERS[opened.text] == token.text:
        return None
    if token.text != "}" and not any(CLOSERS[b.token.text] == token.text for b in brackets):
        labels = (
            () if brackets[-1].block else (Label(place.span(opened), f"this `{opened.text}` is still open"),)
        )
        instead = "" if brackets[-1].block else f", or write `{CLOSERS[opened.text]}` if that is meant"
        return Diagnostic(
            "TG0122",
            f"this `{token.text}` closes nothing",
            place.span(token),
            labels=labels,
            helps=(f"remove the `{token.text}`{instead}",),
        )
    return _unclosed(place, opened)


def unclosed_bracket(place: Place) -> Diagnostic | None:
    brackets = place.machine.brackets
    if not brackets or brackets[-1].block:
        return None
    opened = brackets[-1].token
    closer = CLOSERS[opened.text]
    if place.token.kind in (END, SEMICOLON):
        return _unclosed(place, opened)
    if place.token.text == "=" and any(
        line_end.kind == NEWLINE and line_end.start > opened.start
        for line_end in place.machine.tokens[max(0, place.machine.at - 50) : place.machine.at]
    ):
        return _unclosed(place, opened)
    if place.starts_line and place.literal(closer) and not place.literal(place.token.text):
        return _unclosed(place, opened)
    return None


def _unclosed(place: Place, opened: Token) -> Diagnostic:
    closer = CLOSERS[opened.text]
    stopped = found(place)
    return Diagnostic(
        "TG0122",
        f"this `{opened.text}` is not closed",
        place.span(opened),
        labels=(Label(_end_of(place), f"`{closer}` is expected at the latest here"),)
        if place.before is not None
        else (),
        notes=(f"reading stopped at {stopped}",),
        helps=(f"write the `{closer}`",),
    )


def _end_of(place: Place) -> Span:
    assert place.before is not None
    if place.starts_line or place.token.kind == END:
        return Span(place.machine.builder.source, place.before.end, place.before.end)
    return place.span(place.token)
