"""Words, operators and indices that the language does not have, many of them known from other languages."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse.machine import ITEM_WORDS
from tilegen.lang.parse.mistakes.place import COMPARISONS, OPERATORS, Place, found, one_of
from tilegen.lang.parse.scanner import END, NEWLINE, SEMICOLON, WORD
from tilegen.lang.source import Span


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


_DIRECTIVES = frozenset(
    (
        "at",
        "tile",
        "threads",
        "stage",
        "keep",
        "in_flight",
        "blocks",
        "cluster",
        "otherwise",
        "vector",
        "bounds",
        "raster",
        "unroll",
        "hint",
        "max_registers",
        "min_blocks",
        "index",
    )
)
FROM_ELSEWHERE = {
    "for": "the language has no loops: write `y[i] = … for i in 0..N`, and a sum as `sum[k](…)`",
    "while": "the language has no loops: state what every element is, `y[i] = …`",
    "if": "write `where(condition, x, y)`",
    "elif": "write `where(condition, x, y)`",
    "else": "write `where(condition, x, y)`",
    "return": "outputs are declared: `out y: f32[N]`, and assigned: `y[i] = …`",
    "def": "a kernel starts with `kernel NAME(…) {`",
    "void": "a kernel starts with `kernel NAME(…) {`",
    "__global__": "a kernel starts with `kernel NAME(…) {`",
    "import": "a spec imports nothing; remove the line",
    "from": "a spec imports nothing; remove the line",
    "print": "a spec runs nothing; remove the line",
    "float": "name a value with `let`: `let t[i] = …`",
    "int": "name a value with `let`: `let t[i] = …`",
    "double": "name a value with `let`: `let t[i] = …`",
    "var": "name a value with `let`: `let t[i] = …`",
    "const": "name a value with `let`: `let t[i] = …`",
    "local": "name a value with `let`: `let t[i] = …`",
    "input": "inputs are declared with `in`: `in x: f32[N]`",
    "output": "outputs are declared with `out`: `out y: f32[N]`",
}


def unknown_statement(place: Place) -> Diagnostic | None:
    """After a word that starts a statement and is no keyword, which the grammar takes for the target of an
    assignment; or a token that starts none."""
    word = place.before
    if {"EQUAL", "LSQB", "DOT"} == place.expected and word is not None and word.kind == WORD:
        token = place.token
        if token.text == ":" and place.after.kind == WORD:
            return Diagnostic(
                "TG0124",
                f"the tensor `{word.text}` has no role",
                place.span(word),
                helps=(f"write `in {word.text}: …`, `out {word.text}: …` or `inout {word.text}: …`",),
            )
        if word.text == "for" and not _ends_with_colon(place):
            return Diagnostic(
                "TG0124",
                "`for` starts no statement",
                place.span(word),
                helps=("write the ranges on the line of their statement: `y[i] = … for i in 1..N`",),
            )
        if token.text == "(" and word.text not in FROM_ELSEWHERE:
            return Diagnostic(
                "TG0124",
                f"the call of `{word.text}` is no statement",
                place.span(word),
                helps=("assign the value: `y[i] = …`",),
            )
        if (
            place.ends_statement
            and nearest(word.text, ITEM_WORDS) is None
            and word.text not in FROM_ELSEWHERE
        ):
            return None
        message = f"`{word.text}` starts no statement"
        if word.text in _DIRECTIVES:
            return Diagnostic(
                "TG0124",
                message,
                place.span(word),
                helps=(f"directives stand in a schedule: `schedule NAME {{ {word.text} … }}`",),
            )
        return unknown("TG0124", message, place.span(word), word.text, ITEM_WORDS)
    if not {"SCHEDULE", "IN", "LET"} <= place.expected:
        return None
    token = place.token
    text = token.text
    helps: tuple[str, ...]
    if text in ("//", "/"):
        helps = ("comments start with `#`",)
    elif text in OPERATORS or text == ",":
        helps = (f"to go on with the line above, end that line with `{text}`",)
    else:
        helps = ("a statement is `in`, `out`, `let`, an assignment, `schedule`, `test` or `expect`",)
    return Diagnostic("TG0124", f"{found(place)} starts no statement", place.here(), helps=helps)


def _ends_with_colon(place: Place) -> bool:
    last = place.token
    for token in place.machine.tokens[place.machine.at :]:
        if token.kind in (NEWLINE, SEMICOLON, END):
            break
        last = token
    return last.text == ":"


def unknown_top(place: Place) -> Diagnostic | None:
    if "KERNEL" not in place.expected or (place.ends_statement and place.token.kind == "RBRACE"):
        return None
    token = place.token
    message = f"expected `kernel`, found {found(place)}"
    if token.kind == WORD:
        if token.text in ITEM_WORDS:
            return Diagnostic(
                "TG0124",
                f"`{token.text}` stands outside a kernel",
                place.span(token),
                helps=("put it into the braces: `kernel NAME(…) { … }`",),
            )
        return unknown("TG0124", message, place.span(token), token.text, ("kernel",))
    helps = ("comments start with `#`",) if token.text in ("//", "/") else ("write `kernel NAME(…) { … }`",)
    return Diagnostic("TG0124", message, place.here(), helps=helps)


def unknown_directive(place: Place) -> Diagnostic | None:
    if "TILE" not in place.expected:
        return None
    if place.token.kind != WORD:
        return Diagnostic(
            "TG0125", f"{found(place)} starts no directive", place.here(), helps=(one_of(place.words()),)
        )
    text = place.token.text
    if text in ITEM_WORDS:
        help_text = f"put `{text}` outside the schedule"
        return Diagnostic("TG0125", f"`{text}` is no directive", place.span(place.token), helps=(help_text,))
    return unknown("TG0125", f"unknown directive `{text}`", place.span(place.token), text, place.words())


def unknown_clause(place: Place) -> Diagnostic | None:
    if place.token.kind != WORD:
        return None
    text = place.token.text
    what = ""
    for mark, name in (("PITCH", "layout clause"), ("RTOL", "test clause"), ("SWIZZLE", "option")):
        if mark in place.expected:
            what = name
    if not what:
        return None
    of = " of `stage`" if what == "option" else ""
    return unknown("TG0126", f"unknown {what} `{text}`{of}", place.span(place.token), text, place.words())


def unknown(code: str, message: str, span: Span, text: str, words: Iterable[str]) -> Diagnostic:
    if text in FROM_ELSEWHERE:
        code = "TG0130" if code == "TG0124" else code
        return Diagnostic(code, message, span, helps=(FROM_ELSEWHERE[text],))
    near = nearest(text, words)
    helps = (f"did you mean `{near}`?",) if near else (one_of(sorted(words)),)
    return Diagnostic(code, message, span, helps=helps)


def nearest(text: str, words: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    near = get_close_matches(text[:50].lower(), sorted(words), n=1, cutoff=0.6)
    return near[0] if near else None
