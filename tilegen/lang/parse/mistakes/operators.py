"""Operators and indices of other languages."""

from __future__ import annotations

from itertools import pairwise

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse.mistakes.place import COMPARISONS, Place


def chained_comparison(place: Place) -> Diagnostic | None:
    if place.token.text not in COMPARISONS or "AND" not in place.expected or place.literal(place.token.text):
        return None
    return Diagnostic(
        "TG0127", "comparisons cannot be chained", place.span(place.token), helps=("write `a < b and b < c`",)
    )


def assignment_or_comparison(place: Place) -> Diagnostic | None:
    token = place.token
    if token.text == "=" and place.literal("=="):
        return Diagnostic(
            "TG0128", "`=` assigns; a comparison is written `==`", place.span(token), helps=("write `==`",)
        )
    if token.text == "==" and place.literal("="):
        return Diagnostic(
            "TG0128", "`==` compares; an assignment is written `=`", place.span(token), helps=("write `=`",)
        )
    if (
        token.text == ":"
        and place.literal("=")
        and place.after.text == "="
        and place.after.start == token.end
    ):
        span = place.span(token).to(place.span(place.after))
        return Diagnostic("TG0128", "an assignment is written `=`", span, helps=("write `=`",))
    return None


def second_index(place: Place) -> Diagnostic | None:
    if place.token.text != "[" or place.before is None or place.before.text != "]" or place.starts_line:
        return None
    return Diagnostic(
        "TG0131",
        "a second pair of `[ ]`",
        place.span(place.token),
        helps=("write all indices in one pair: `b[i, j]`, not `b[i][j]`",),
    )


def slice_index(place: Place) -> Diagnostic | None:
    brackets = place.machine.brackets
    if place.token.text != ":" or not brackets or brackets[-1].token.text != "[" or not place.literal("]"):
        return None
    if not {"PLUS", "INT"} & place.expected:
        return None
    return Diagnostic(
        "TG0130",
        "the language has no slices",
        place.span(place.token),
        helps=("write an axis, and its range behind the statement: `y[i] = x[i] for i in 1..N`",),
    )


def conditional_expression(place: Place) -> Diagnostic | None:
    if place.token.text == "?" or place.token.text not in ("if", "else") or "AND" not in place.expected:
        return None
    return Diagnostic(
        "TG0130",
        f"the language has no `{place.token.text}`",
        place.span(place.token),
        helps=("write `where(condition, x, y)`",),
    )


def python_range(place: Place) -> Diagnostic | None:
    if not place.literal("..") or place.before is None or place.before.text != ")":
        return None
    line = place.line_before()
    called = next((word for word, left in pairwise(line) if left.text == "in"), None)
    if called is None or called.text not in ("range", "arange", "prange"):
        return None
    return Diagnostic(
        "TG0130",
        f"a range is not written `{called.text}(…)`",
        place.span(called),
        helps=("write `i in 0..N`; `..` excludes the end, `..=` includes it",),
    )


def range_in_target(place: Place) -> Diagnostic | None:
    brackets = place.machine.brackets
    if place.token.text != "in" or not brackets or brackets[-1].token.text != "[" or not place.literal("]"):
        return None
    return Diagnostic(
        "TG0151",
        "a range cannot stand in the index of what is assigned",
        place.span(place.token),
        helps=("write the axis here and its range behind the statement: `y[i] = … for i in 1..N`",),
    )
