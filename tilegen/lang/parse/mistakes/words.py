"""Words that the language does not have, or not here."""

from __future__ import annotations

from collections.abc import Iterable

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse.machine import ITEM_WORDS
from tilegen.lang.parse.mistakes.place import OPERATORS, Place, found, one_of
from tilegen.lang.parse.scanner import END, NEWLINE, SEMICOLON, WORD
from tilegen.lang.source import Span

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
