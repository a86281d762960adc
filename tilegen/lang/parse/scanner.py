"""Text to tokens. Every character belongs to a token, a blank or a comment; what is none is reported and read as what
was most likely meant, so that one wrong character gives one message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse import lexical_errors
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
            if not lexeme.isascii() or len(lexeme) > lexical_errors.MAX_NAME:
                report(lexical_errors.bad_name(Span(source, start, end)))
        elif group == "literal":
            tokens.append(Token(literals[lexeme], lexeme, start, end))
        elif group == "newline":
            if tokens and tokens[-1].kind != NEWLINE:
                tokens.append(Token(NEWLINE, lexeme, start, end))
        elif group == "semicolon":
            tokens.append(Token(SEMICOLON, lexeme, start, end))
        elif group == "number":
            kind = next((name for name, pattern in numbers if pattern.fullmatch(lexeme)), None)
            report(lexical_errors.bad_number(Span(source, start, end), kind))
            tokens.append(Token(kind or "INT", lexeme if kind else "0", start, end))
        elif group == "foreign":
            report(lexical_errors.foreign(Span(source, start, end)))
            if lexeme == "\\":  # continues a line elsewhere; the line is read as if it were not there
                continue
            meant = lexical_errors.FOREIGN_OPERATORS.get(lexeme, "")
            tokens.append(Token(WORD if meant.isalpha() else ILLEGAL, meant or lexeme, start, end))
        else:
            meant = lexical_errors.LOOKALIKES.get(lexeme, "")
            report(lexical_errors.bad_character(Span(source, start, end), meant))
            if meant == " ":
                continue
            tokens.append(Token(literals.get(meant, ILLEGAL), meant or lexeme, start, end))
        if len(tokens) >= MAX_TOKENS:
            report(lexical_errors.too_many_tokens(Span(source, start, end), MAX_TOKENS))
            return Scan((), tuple(problems))
    tokens.append(Token(END, "", len(text), len(text)))
    return Scan(tuple(tokens), tuple(problems))
