"""Text to tokens. Every character belongs to a token, a blank or a comment; what is none is reported and read as what
was most likely meant, so that one wrong character gives one message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse.table import Table
from tilegen.lang.source import Source, Span

WORD = "WORD"
NEWLINE = "NEWLINE"
SEMICOLON = ";"
END = "$END"
ILLEGAL = "ILLEGAL"

MAX_TOKENS = 60_000
_MAX_PROBLEMS = 20


class Token(NamedTuple):
    """`kind` is WORD, NEWLINE, SEMICOLON, END, ILLEGAL (reported already) or a terminal of the grammar."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scan:
    """`tokens` ends with END, and is empty where there were too many."""

    tokens: tuple[Token, ...]
    diagnostics: tuple[Diagnostic, ...]


_BLANK = r"[ \t\r\f\v]+|#[^\n]*"
_NUMBER = r"\.?[0-9](?:[eE][+-](?=[0-9])|\.(?!\.)|[0-9A-Za-z_])*"
_FOREIGN = r"\"[^\"\n]*\"?|'[^'\n]*'?|&&|\|\||[-+/%&|^@]=(?!=)|->|!(?!=)|[&^~?@$\\`]"


@cache
def _pattern(literals: tuple[str, ...]) -> re.Pattern[str]:
    ordered = "|".join(re.escape(text) for text in sorted(literals, key=len, reverse=True))
    return re.compile(
        rf"(?P<blank>{_BLANK})|(?P<word>[^\W\d]\w*)|(?P<number>{_NUMBER})|(?P<newline>\n)|(?P<semicolon>;)"
        rf"|(?P<foreign>{_FOREIGN})|(?P<literal>{ordered})|(?P<other>.)",
        re.DOTALL,
    )


@cache
def _number_patterns(patterns: tuple[tuple[str, str], ...]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    known = dict(patterns)
    return tuple((name, re.compile(known[name])) for name in ("INT", "BYTES", "FLOAT"))


def scan(source: Source, table: Table) -> Scan:
    """The tokens of `source`, with what is wrong about single ones."""
    text = source.text
    numbers = _number_patterns(tuple(table.patterns.items()))
    literals = table.punctuation
    tokens: list[Token] = []
    problems: list[Diagnostic] = []

    def report(diagnostic: Diagnostic | None) -> None:
        if diagnostic is not None and len(problems) < _MAX_PROBLEMS:
            problems.append(diagnostic)

    for match in _pattern(tuple(literals)).finditer(text):
        group = match.lastgroup
        if group == "blank":
            continue
        start, end = match.span()
        lexeme = match.group()
        if group == "word":
            tokens.append(Token(WORD, lexeme, start, end))
            if not lexeme.isascii() or len(lexeme) > MAX_NAME:
                report(bad_name(Span(source, start, end)))
        elif group == "literal":
            tokens.append(Token(literals[lexeme], lexeme, start, end))
        elif group == "newline":
            if tokens and tokens[-1].kind != NEWLINE:
                tokens.append(Token(NEWLINE, lexeme, start, end))
        elif group == "semicolon":
            tokens.append(Token(SEMICOLON, lexeme, start, end))
        elif group == "number":
            kind = next((name for name, pattern in numbers if pattern.fullmatch(lexeme)), None)
            report(bad_number(Span(source, start, end), kind))
            tokens.append(Token(kind or "INT", lexeme if kind else "0", start, end))
        elif group == "foreign":
            report(foreign(Span(source, start, end)))
            if lexeme == "\\":  # continues a line elsewhere; the line is read as if it were not there
                continue
            meant = FOREIGN_OPERATORS.get(lexeme, "")
            tokens.append(Token(WORD if meant.isalpha() else ILLEGAL, meant or lexeme, start, end))
        else:
            meant = LOOKALIKES.get(lexeme, "")
            report(bad_character(Span(source, start, end), meant))
            if meant == " ":
                continue
            tokens.append(Token(literals.get(meant, ILLEGAL), meant or lexeme, start, end))
        if len(tokens) >= MAX_TOKENS:
            report(too_many_tokens(Span(source, start, end), MAX_TOKENS))
            return Scan((), tuple(problems))
    tokens.append(Token(END, "", len(text), len(text)))
    return Scan(tuple(tokens), tuple(problems))


# Problems of single tokens: characters, names and numbers that the language does not have.

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
