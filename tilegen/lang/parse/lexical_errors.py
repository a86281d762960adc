"""Problems of single tokens: characters, names and numbers that the language does not have."""

from __future__ import annotations

import re

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.source import Span

MAX_NAME = 200
_MAX_INTEGER = 2**64 - 1

# What to read, and to suggest, instead of a character that looks like one of the language's.
LOOKALIKES = {
    "×": "*", "·": "*", "∗": "*", "⋅": "*", "÷": "/", "∕": "/", "⁄": "/", "−": "-", "–": "-", "—": "-", "‐": "-",
    "‑": "-", "≤": "<=", "≥": ">=", "≠": "!=", "…": "..", "‥": "..", "（": "(", "）": ")", "［": "[", "］": "]",
    "｛": "{", "｝": "}", "，": ",", "：": ":", "＝": "=", "＋": "+", "＊": "*", "．": ".", "｜": "|", "＜": "<",
    "＞": ">",
    "\u00a0": " ", "\u2002": " ", "\u2003": " ", "\u2009": " ", "\u202f": " ", "\u3000": " ", "\u200b": " ",
    "\u200c": " ", "\u200d": " ", "\u2060": " ", "\ufeff": " ", "\u00ad": " ",
}  # fmt: skip

FOREIGN_OPERATORS = {"&&": "and", "||": "or", "!": "not"}
_FOREIGN_HELPS = {
    "&&": "write `and`",
    "||": "write `or`",
    "!": "write `not`",
    "&": "write `and` for booleans; the language has no bitwise operators",
    "^": "write `**` for a power; the language has no bitwise operators",
    "~": "write `not` for booleans; the language has no bitwise operators",
    "?": "write `where(condition, x, y)`",
    "->": "outputs are declared in the kernel's body: `out y: f32[N]`",
    "@": "write a matrix product as `c[i, j] = sum[k](a[i, k] * b[k, j])`",
    "\\": "a line goes on after an operator or a comma, and inside `( )` and `[ ]`",
}


def bad_character(span: Span, meant: str) -> Diagnostic:
    import unicodedata

    character = span.text
    name = unicodedata.name(character, "")
    number = f"U+{ord(character):04X}"
    described = f"{number} {name}" if name else f"the control character {number}"
    shown = f"`{character}` ({described})" if character.isprintable() else described
    if meant:
        helps = (f"write {'a plain space' if meant == ' ' else f'`{meant}`'}",)
    elif character in "“”‘’«»":
        helps = ("remove it: the language has no strings",)
    else:
        helps = ("remove it; outside comments a spec is plain ASCII",)
    return Diagnostic("TG0110", f"{shown} is not a character of the language", span, helps=helps)


def bad_name(span: Span) -> Diagnostic:
    text = span.text
    if len(text) > MAX_NAME:
        return Diagnostic(
            "TG0113",
            f"this name has {len(text)} characters; at most {MAX_NAME} are allowed",
            Span(span.source, span.start, span.start + 1),
            helps=("choose a shorter name",),
        )
    import unicodedata

    at = next(n for n, character in enumerate(text) if not character.isascii())
    name = unicodedata.name(text[at], f"U+{ord(text[at]):04X}")
    plain = re.sub(r"\W", "", unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode())
    greek = re.fullmatch(r"GREEK (?:SMALL|CAPITAL) LETTER (\w+)", name)
    suggestion = greek.group(1).lower() if greek and len(text) == 1 else plain
    helps = (f"write `{suggestion}`",) if suggestion.isidentifier() else ("use `A-Z`, `a-z`, `0-9` and `_`",)
    return Diagnostic(
        "TG0110",
        f"`{text[at]}` ({name}) cannot be part of a name",
        Span(span.source, span.start + at, span.start + at + 1),
        notes=("names are ASCII: letters, digits and `_`",),
        helps=helps,
    )


def bad_number(span: Span, kind: str | None) -> Diagnostic | None:
    """`kind` is the terminal that the text matches, None if it matches none."""
    text = span.text
    short = text if len(text) <= 40 else f"{text[:20]}… ({len(text)} characters)"
    if kind in ("INT", "BYTES"):
        digits = text.rstrip("BKiMG").replace("_", "")
        if len(digits) <= 20 and int(digits) <= _MAX_INTEGER:
            return None
        return Diagnostic(
            "TG0112",
            f"the integer {short} does not fit in 64 bits",
            span,
            notes=(f"the largest integer is {_MAX_INTEGER}",),
            helps=("write a float, such as `1e30`, if a float is meant",),
        )
    if kind == "FLOAT":
        if len(text) <= 400 and float(text) != float("inf"):
            if text.replace("_", "").isdigit():
                return Diagnostic(
                    "TG0111",
                    f"the integer {short} starts with 0",
                    span,
                    helps=(
                        f"write `{text.replace('_', '').lstrip('0') or '0'}`; there are no octal numbers",
                    ),
                )
            return None
        return Diagnostic(
            "TG0112", f"the number {short} is too large for f64", span, helps=("write `inf` for infinity",)
        )
    return Diagnostic(
        "TG0111", f"`{short}` is not a number", span, notes=_NUMBER_NOTE, helps=_number_helps(text)
    )


_NUMBER_NOTE = ("numbers are written `12`, `1_000`, `1.5`, `1e-5`; sizes in bytes `128B`, `48KiB`, `2MiB`",)
_UNITS = {
    "b": "B",
    "kb": "KiB",
    "kib": "KiB",
    "k": "KiB",
    "mb": "MiB",
    "mib": "MiB",
    "m": "MiB",
    "gb": "GiB",
    "gib": "GiB",
}


def _number_helps(text: str) -> tuple[str, ...]:
    if re.fullmatch(r"\.[0-9]+([eE][+-]?[0-9]+)?", text):
        return (f"write `0{text}`",)
    if re.fullmatch(r"[0-9]+\.", text):
        return (f"write `{text}0`",)
    if match := re.fullmatch(r"([0-9]+)\.([eE][+-]?[0-9]+)", text):
        return (f"write `{match[1]}.0{match[2]}`",)
    if match := re.fullmatch(r"([0-9]+\.[0-9]+|[0-9]+)[fFlLuU]+", text):
        return (f"write `{match[1]}`; a literal takes the type of the other operand",)
    if (match := re.fullmatch(r"([0-9]+)([A-Za-z]+)", text)) and match[2].lower() in _UNITS:
        return (f"write `{match[1]}{_UNITS[match[2].lower()]}`",)
    if match := re.fullmatch(r"0[xX]([0-9a-fA-F]{1,16})", text):
        return (f"write it in decimal: `{int(match[1], 16)}`",)
    if match := re.fullmatch(r"0[bB]([01]{1,64})", text):
        return (f"write it in decimal: `{int(match[1], 2)}`",)
    if match := re.fullmatch(r"([0-9]+)([A-Za-z_]\w*)", text):
        return (f"write `{match[1]} * {match[2]}` for a product; a name cannot start with a digit",)
    return ("write it in one of these forms",)


def foreign(span: Span) -> Diagnostic:
    text = span.text
    if text[0] in "\"'":
        return Diagnostic(
            "TG0114",
            "the language has no strings",
            span,
            helps=("write names without quotes, as in `on gpu`",),
        )
    if len(text) == 2 and text[1] == "=":
        helps: tuple[str, ...] = (
            "write `y[i] = …`; each element is assigned once, a sum over an axis is `sum[k](…)`",
        )
    else:
        helps = (_FOREIGN_HELPS.get(text, f"remove the `{text}`"),)
    return Diagnostic("TG0114", f"`{text}` is not an operator of the language", span, helps=helps)


def too_many_tokens(span: Span, limit: int) -> Diagnostic:
    return Diagnostic(
        "TG0142",
        f"the spec is too long: more than {limit} names, numbers and operators",
        span,
        helps=("put the kernels into several files",),
    )
