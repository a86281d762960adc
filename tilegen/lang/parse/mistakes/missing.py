"""Something is missing: a comma, a colon, the rest of the statement, or whatever the grammar says."""

from __future__ import annotations

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse.mistakes.place import (
    COMPARISONS,
    OPERATORS,
    Place,
    expectation,
    found,
    short,
    text_of,
)
from tilegen.lang.parse.mistakes.words import nearest
from tilegen.lang.parse.scanner import NEWLINE, SEMICOLON, WORD
from tilegen.lang.source import Span

_TYPES = frozenset(
    (
        "bool",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "f16",
        "bf16",
        "f32",
        "f64",
        "c64",
        "c128",
        "struct",
    )
)
_OPENED = frozenset((*OPERATORS, "=", ",", ":", "|", "..", "..=", "."))
_EXAMPLES = {
    "kernel": "kernel copy(N) { … }",
    "in": "in x: f32[N]",
    "out": "out y: f32[N]",
    "inout": "inout y: f32[N]",
    "struct": "struct { x: f32, y: f32 }",
    "order": "order(1, 0)",
    "pitch": "pitch 128B",
    "strides": "strides(lda, 1)",
    "offset": "offset 1",
    "align": "align 16B",
    "aosoa": "aosoa(32)",
    "boundary": "boundary edge",
    "texture": "texture(linear, edge)",
    "let": "let t[i] = 2 * x[i]",
    "for": "y[i] = x[i] for i in 1..N",
    "schedule": "schedule tiled { tile i = 32 }",
    "tile": "tile i = 32, j = 32",
    "threads": "threads i = 8, j = 32",
    "stage": "stage a, b pad 1",
    "keep": "keep a registers",
    "in_flight": "in_flight 4",
    "blocks": "blocks k = 8",
    "cluster": "cluster k = 8",
    "pad": "stage a pad 1",
    "buffers": "stage a buffers 3",
    "vector": "vector 4",
    "bounds": "bounds guard",
    "raster": "raster j, i",
    "group": "raster i, j group 8",
    "unroll": "unroll k = 4",
    "hint": "hint a streaming",
    "max_registers": "max_registers 32",
    "min_blocks": "min_blocks 4",
    "index": "index i32",
    "test": "test M = 33, N = 65",
    "on": "on gpu",
    "fill": "fill normal",
    "seed": "seed 3",
    "rtol": "rtol 1e-3",
    "atol": "atol 1e-6",
    "expect": "expect padded: bank_conflicts == 0",
    "at": "at M = 64, N = 64",
}


def missing_comma(place: Place) -> Diagnostic | None:
    """Two parts of a list with nothing between them."""
    if "COMMA" not in place.expected or place.starts_line:
        return None
    token = place.token
    if token.kind == WORD and place.literal(":") and (token.text in _TYPES or not place.literal("=")):
        return None
    listed = token.kind in ("INT", "FLOAT", "BYTES")
    if token.kind == WORD:
        inside = bool(place.machine.brackets) and not place.machine.brackets[-1].block
        listed = inside or place.after.text == "=" or place.after.text in COMPARISONS
    if not listed:
        return None
    return Diagnostic(
        "TG0129",
        f"`,` is missing before `{short(token.text)}`",
        place.span(token),
        helps=(f"write `, {short(token.text)}`",)
        if not place.literal("*")
        else (f"write `, {short(token.text)}`, or the operator that is missing",),
    )


def missing_colon(place: Place) -> Diagnostic | None:
    if not place.literal(":") or place.token.kind != WORD:
        return None
    word = place.before
    assert word is not None
    return Diagnostic(
        "TG0129",
        f"`:` is missing before `{place.token.text}`",
        place.span(place.token),
        helps=(f"write `{word.text}: {place.token.text}`",),
    )


def statement_ends_early(place: Place) -> Diagnostic | None:
    if not place.ends_statement or (place.token.kind == "RBRACE" and not place.machine.brackets):
        return None
    machine = place.machine
    following = next(
        (t for t in machine.tokens[machine.at :] if t.kind not in (NEWLINE, SEMICOLON)), place.token
    )
    helps = _general_helps(place)
    if place.token.kind == NEWLINE and following.text in OPERATORS:
        helps = (f"a line goes on after an operator: put the `{following.text}` at the end of the line",)
    span = place.here()
    if place.token.kind == "RBRACE" and place.starts_line and place.before is not None:
        span = Span(span.source, place.before.end, place.before.end)
    return Diagnostic(
        "TG0121", f"the statement ends too early: expected {expectation(place)}", span, helps=helps
    )


def unexpected(place: Place) -> Diagnostic | None:
    return Diagnostic(
        "TG0120",
        f"expected {expectation(place)}, found {found(place)}",
        place.here(),
        helps=_general_helps(place),
    )


def _general_helps(place: Place) -> tuple[str, ...]:
    token = place.token
    before = place.before
    if place.expected == {"LSQB"}:
        return ("write the extents: `f32[N]`, or `f32[]` for a single value",)
    if (
        place.expected == {"COLON"}
        and place.machine.brackets
        and place.machine.brackets[-1].token.text == "["
    ):
        return ("the choices of a type are separated by `|`: `T: f32 | f16`",)
    if place.expected == {"LSQB", "LPAR"} and before is not None and before.kind == WORD:
        return (f"write the sizes in parentheses, if only `()`: `kernel {before.text}(M, N) {{`",)
    if before is not None and before.text == "," and token.text in (")", "]", "}"):
        return ("remove the `,`",)
    if token.text == "," and "_NL" in place.expected:
        return ("end the statement with a newline or `;`",)
    if token.text == "(" and before is not None and before.text == ")" and "PLUS" in place.expected:
        return ("the axes of a reduction stand in brackets: `sum[k](…)`",)
    if token.text == "*" and before is not None and before.text == "/" and before.end == token.start:
        return ("a comment starts with `#`",)
    if token.text == "|" and "OR" in place.expected:
        return ("write `or`",)
    if any(earlier.text == "//" for earlier in place.line_before()) and not place.starts_line:
        return ("a comment starts with `#`; `//` is division rounded down",)
    if token.kind == WORD and (near := nearest(token.text, place.words())):
        return (f"write `{near}`",)
    if token.text == ":" and ("_NL" in place.expected or place.literal("{")):
        return ("remove the `:`",)
    if (
        {"PLUS", "STAR"} <= place.expected
        and "INT" not in place.expected
        and token.kind in (WORD, "INT", "FLOAT", "LPAR")
        and token.text not in _EXAMPLES
    ):
        return (f"write the operator that is missing before `{short(token.text)}`",)
    if token.text == "." and before is not None and before.text == "..":
        return ("a range has two dots: `1..N`",)
    if len(place.expected) == 1 and (text := text_of(place, next(iter(place.expected)))):
        return (f"write `{text}` here",)
    if before is not None and before.text in _OPENED and place.ends_statement:
        return (f"write what follows the `{before.text}`",)
    keyword = place.keyword()
    if keyword in _EXAMPLES:
        return (f"as in `{_EXAMPLES[keyword]}`",)
    if place.literal("="):
        return ("write a value, as in `y[i] = x[i]`",)
    return ("as in `y[i] = x[i] + 1`",) if place.machine.brackets else ("as in `kernel copy(N) { … }`",)
