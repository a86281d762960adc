"""Where reading stopped, and the words for what was found there and what could have stood there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilegen.lang.parse.machine import Machine
from tilegen.lang.parse.scanner import END, NEWLINE, SEMICOLON, Token
from tilegen.lang.source import Span

COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "and", "or")
CLOSERS = {"(": ")", "[": "]", "{": "}"}
_OPERANDS = frozenset(
    ("INT", "FLOAT", "BYTES", "INF", "NAN", "TRUE", "FALSE", "NOT", "LPAR", "PLUS", "MINUS", "NAME")
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where reading stopped: the token, what the grammar would accept instead, and what is around."""

    machine: Machine
    expected: frozenset[str]

    @property
    def token(self) -> Token:
        return self.machine.token

    @property
    def before(self) -> Token | None:
        """The last token before this one that is not a line end."""
        at = self.before_at
        return self.machine.tokens[at] if at >= 0 else None

    @property
    def before_at(self) -> int:
        at = self.machine.at - 1
        while at >= 0 and self.machine.tokens[at].kind in (NEWLINE, SEMICOLON):
            at -= 1
        return at

    def line_before(self) -> list[Token]:
        """The tokens of the line of `before`, up to and with it, last first."""
        tokens: list[Token] = []
        at = self.before_at
        while at >= 0 and self.machine.tokens[at].kind != NEWLINE:
            tokens.append(self.machine.tokens[at])
            at -= 1
        return tokens

    def keyword(self) -> str | None:
        """The last keyword that was read in this statement."""
        at = self.before_at
        inside = False
        while at >= 0 and self.machine.tokens[at].kind not in (NEWLINE, SEMICOLON, "RBRACE"):
            token = self.machine.tokens[at]
            if at in self.machine.keywords:
                return None if inside and token.text in ("kernel", "schedule") else token.text
            inside = inside or token.kind == "LBRACE"
            at -= 1
        return None

    @property
    def after(self) -> Token:
        tokens = self.machine.tokens
        return tokens[min(self.machine.at + 1, len(tokens) - 1)]

    @property
    def starts_line(self) -> bool:
        return self.machine.at == 0 or self.machine.tokens[self.machine.at - 1].kind in (NEWLINE, SEMICOLON)

    @property
    def ends_statement(self) -> bool:
        """The token ends a statement, or stands on the line after one that should have gone on."""
        return self.token.kind in (NEWLINE, SEMICOLON, END, "RBRACE")

    def literal(self, text: str) -> bool:
        """Whether the operator or bracket `text` could stand here."""
        return self.machine.table.punctuation.get(text) in self.expected

    def span(self, token: Token) -> Span:
        return Span(self.machine.builder.source, token.start, token.end)

    def here(self) -> Span:
        """The token, or the end of what precedes it where the token is no more than a line end."""
        if self.token.kind in (NEWLINE, END) and self.before is not None:
            return Span(self.machine.builder.source, self.before.end, self.before.end)
        return self.span(self.token)

    def words(self) -> list[str]:
        """The keywords that could stand here."""
        return sorted(word for word, kind in self.machine.table.words.items() if kind in self.expected)


def expectation(place: Place) -> str:
    """What the grammar accepts, shortest form, in the words of the language."""
    left = set(place.expected)
    parts: list[str] = []
    if {"NAME", "INT"} <= left:
        parts.append("an expression")
        left -= _OPERANDS
    elif "NAME" in left:
        parts.append("a name")
        left -= {"NAME"}
    elif {"INT", "FLOAT"} <= left:
        parts.append("a number")
        left -= _OPERANDS
    operators = {place.machine.table.punctuation.get(o) or o.upper() for o in OPERATORS}
    if {"PLUS", "STAR"} <= left:
        parts.append("an operator")
        left -= operators | {"LPAR", "LSQB", "DOT"}
    elif place.literal("==") and place.literal("<"):
        parts.append("a comparison")
        left -= operators
    for mark, name in (("TILE", "a directive"), ("PITCH", "a layout clause"), ("RTOL", "a test clause")):
        if mark in left:
            parts.append(name)
            left -= set(place.machine.table.words.values())
    named = sorted(text for kind in left if (text := text_of(place, kind)))
    parts += [f"`{text}`" for text in named]
    if "_NL" in left or END in left:
        parts.append(
            "the end of the statement" if "_NL" in left and place.machine.brackets else "the end of the file"
        )
    return join(parts, "or")


def text_of(place: Place, kind: str) -> str | None:
    table = place.machine.table
    for texts in (table.punctuation, table.words):
        for text, name in texts.items():
            if name == kind:
                return text
    return None


def found(place: Place) -> str:
    token = place.token
    if token.kind == NEWLINE:
        return "the end of the line"
    if token.kind == END:
        return "the end of the file"
    return f"`{short(token.text)}`"


def short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def one_of(words: Iterable[str]) -> str:
    return f"write {join([f'`{word}`' for word in words], 'or')}"


def join(parts: list[str], last: str) -> str:
    if len(parts) <= 1:
        return parts[0] if parts else "nothing more"
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"
