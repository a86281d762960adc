"""The LALR machine: feeds tokens to the table, decides what words and newlines mean, and goes on after an error.

Three things are decided here and not in the grammar. A word is a keyword where the grammar can go on with that keyword
and the next token does not show it to be a name. A newline ends a statement unless a `(`, `[` or a set's `{` is open
or an operator or a comma precedes it. A statement that does not parse becomes an ERROR token, and reading goes on at
the next statement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse.build import Builder
from tilegen.lang.parse.scanner import END, ILLEGAL, NEWLINE, SEMICOLON, WORD, Token
from tilegen.lang.parse.table import Table
from tilegen.lang.source import Span
from tilegen.lang.syntax import File

MAX_ERRORS = 20
MAX_NESTING = 100

_OPENERS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
_CLOSERS = frozenset(_OPENERS.values())
_CONTINUES = frozenset(
    (
        ",",
        "=",
        ":",
        "|",
        ".",
        "..",
        "..=",
        "+",
        "-",
        "*",
        "/",
        "//",
        "%",
        "**",
        "<",
        "<=",
        ">",
        ">=",
        "==",
        "!=",
    )
)
_NAME_FOLLOWERS = frozenset(("EQUAL", "LSQB", "DOT"))
_OPERAND_STARTS = frozenset((WORD, "INT", "FLOAT", "BYTES", "LPAR", "PLUS", "MINUS"))
_AFTER_A_BLOCK = frozenset((WORD, NEWLINE, SEMICOLON, "RBRACE", END))
_CONSTANTS = frozenset(("INF", "NAN", "TRUE", "FALSE"))
ITEM_WORDS = frozenset(("in", "out", "inout", "let", "schedule", "test", "expect"))


@dataclass(frozen=True, slots=True)
class Bracket:
    """An open bracket. `block` is true for the braces of a kernel or a schedule, in which newlines end statements;
    `height` is that of the state stack below it."""

    token: Token
    block: bool
    height: int


class Machine:
    """One run over the tokens of a file."""

    def __init__(
        self,
        table: Table,
        tokens: tuple[Token, ...],
        builder: Builder,
        explain: Callable[[Machine], Diagnostic],
    ) -> None:
        self.table = table
        self.tokens = tokens
        self.builder = builder
        self.explain = explain
        self.diagnostics: list[Diagnostic] = []
        self.states = [table.start]
        self.values: list[Any] = []
        self.starts: list[int] = []  # -1 for a production without tokens
        self.ends: list[int] = []
        self.brackets: list[Bracket] = []
        self.at = 0
        self.previous: Token | None = None
        self.result: File | None = None
        self.keywords: set[int] = set()  # tokens that were read as keywords, by number
        self._separated = True
        self._last_kind = ""
        self._significant = 0
        self._callbacks = [getattr(builder, rule.callback) if rule.callback else None for rule in table.rules]

    @property
    def token(self) -> Token:
        """The token that is read now."""
        return self.tokens[self.at]

    def run(self) -> None:
        while self.result is None:
            token = self.tokens[self.at]
            if token.kind in (NEWLINE, SEMICOLON):
                if not self._end_statement(token):
                    return
                continue
            if token.kind == ILLEGAL:
                if not self._recover():
                    return
                continue
            if token.kind == "RBRACE" and self._closes_nothing():
                self.diagnostics.append(_stray_brace(Span(self.builder.source, token.start, token.end)))
                self.at += 1
                continue
            kind = self.classify(token)
            if token.kind in _OPENERS and len(self.brackets) >= MAX_NESTING:
                self.diagnostics.append(_too_deep(Span(self.builder.source, token.start, token.end)))
                return
            if self.feed(kind, token):
                if token.kind == WORD and kind != "NAME":
                    self.keywords.add(self.at)
                self._after(token)
                self.at += 1
            elif not self._fail():
                return

    def _closes_nothing(self) -> bool:
        """Whether a `}` would close a block in the middle of a statement."""
        block = bool(self.brackets) and self.brackets[-1].block
        return block and self.tokens[self.at + 1].kind not in _AFTER_A_BLOCK

    # Words and newlines

    def classify(self, token: Token) -> str:
        """The terminal that `token` is in the present state."""
        if token.kind != WORD:
            return token.kind
        keyword = self.table.words.get(token.text)
        actions = self.table.actions[self.states[-1]]
        if keyword == "KERNEL" and self._separated and self.starts_kernel():
            return keyword
        if keyword is None or keyword not in actions:
            return "NAME"
        if "NAME" not in actions:
            return keyword
        following = self.tokens[self.at + 1]
        if keyword == "NOT":
            if following.kind == NEWLINE:
                following = self.tokens[self.at + 2]
            return keyword if following.kind in _OPERAND_STARTS else "NAME"
        if keyword in _CONSTANTS and following.text == "in":
            return "NAME"
        return "NAME" if following.kind in _NAME_FOLLOWERS else keyword

    def starts_kernel(self) -> bool:
        """Whether the tokens from here on are the head of a kernel, and nothing that has a tensor called `kernel`."""
        at = self.at
        return self.tokens[at + 1].kind == WORD and self.tokens[at + 2].kind in ("LPAR", "LSQB", "LBRACE")

    def _end_statement(self, token: Token) -> bool:
        """Handles a newline or `;`; false when the run is over."""
        if token.kind == NEWLINE and self._continues():
            self.at += 1
            return True
        if self._separated or self._next_significant().kind in ("RBRACE", END):
            if token.kind == SEMICOLON and self.brackets and not self.brackets[-1].block:
                return self._fail()
            self.at += 1
            return True
        if not self.feed("_NL", token):
            return self._fail()
        self._separated = True
        self.previous = token
        self.at += 1
        return True

    def _continues(self) -> bool:
        if self.brackets and not self.brackets[-1].block:
            return True
        if self.previous is not None and self.previous.text in _CONTINUES:
            return True
        if self.previous is not None and self.previous.text in ("and", "or", "not"):
            return self.table.words[self.previous.text] == self._last_kind
        return self._next_significant().kind == "LBRACE"

    def _next_significant(self) -> Token:
        self._significant = max(self._significant, self.at)
        while self.tokens[self._significant].kind in (NEWLINE, SEMICOLON):
            self._significant += 1
        return self.tokens[self._significant]

    def _after(self, token: Token) -> None:
        """Bookkeeping after `token` was read."""
        self.previous = token
        self._separated = False
        if token.kind in _OPENERS:
            block = "ERROR" in self.table.actions[self.states[-1]]
            self.brackets.append(Bracket(token, block, len(self.states) - 1))
            self._separated = block
        elif token.kind in _CLOSERS and self.brackets:
            closed = self.brackets.pop()
            following = self.tokens[self.at + 1]
            if closed.block and following.kind not in (NEWLINE, SEMICOLON, "RBRACE", END):
                self.feed("_NL", Token("_NL", "", token.end, token.end))
                self._separated = True

    # The table

    def feed(self, kind: str, token: Token) -> bool:
        """Reads one token. False, with nothing changed, when it cannot stand here."""
        if not self.accepts(kind):
            return False
        actions = self.table.actions
        states = self.states
        while True:
            action = actions[states[-1]][kind]
            if action >= 0:
                states.append(action)
                self.values.append(token)
                self.starts.append(token.start)
                self.ends.append(token.end)
                self._last_kind = kind
                return True
            self._reduce(-1 - action)
            if kind == END and states[-1] == self.table.end:
                self.result = self.values[-1]
                return True

    def accepts(self, kind: str) -> bool:
        """Whether the table can read `kind` next: reductions are tried on a copy of the states."""
        actions = self.table.actions
        states = self.states
        action = actions[states[-1]].get(kind)
        if action is None:
            return False
        if action >= 0:
            return True
        height = len(states)
        added: list[int] = []
        while action < 0:
            rule = self.table.rules[-1 - action]
            size = len(rule.parts)
            if size > len(added):
                height -= size - len(added)
                added.clear()
            elif size:
                del added[-size:]
            below = added[-1] if added else states[height - 1]
            added.append(actions[below][rule.origin])
            if kind == END and added[-1] == self.table.end:
                return True
            following = actions[added[-1]].get(kind)
            if following is None:
                return False
            action = following
        return True

    def _reduce(self, number: int) -> None:
        rule = self.table.rules[number]
        size = len(rule.parts)
        states = self.states
        if rule.unwrap and size == 1:
            states.pop()
            states.append(self.table.actions[states[-1]][rule.origin])
            return
        start = end = -1
        children: list[Any] = []
        if size:
            for part, value, begins, stops in zip(
                rule.parts, self.values[-size:], self.starts[-size:], self.ends[-size:], strict=True
            ):
                if begins >= 0:
                    start = begins if start < 0 else start
                    end = stops
                if part == 1:
                    children.append(value)
                elif part == 2:
                    children.extend(value)
            del states[-size:], self.values[-size:], self.starts[-size:], self.ends[-size:]
        callback = self._callbacks[number]
        if callback is None:
            value = children
        else:
            value = callback(Span(self.builder.source, max(start, 0), max(end, 0)), *children)
        states.append(self.table.actions[states[-1]][rule.origin])
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)

    # Errors

    def _fail(self) -> bool:
        """Reports the present token and goes on after it; false when the run is over."""
        diagnostic = self.explain(self)
        self.diagnostics.append(diagnostic)
        if len(self.diagnostics) >= MAX_ERRORS or self.token.kind == END:
            return False
        if diagnostic.code == "TG0123":
            return self._close_block()
        return self._open_block() or self._recover()

    def _open_block(self) -> bool:
        """Reads the `{` that is missing before the present token, where nothing else could stand and the token can
        stand behind it."""
        if [kind for kind in self.table.actions[self.states[-1]] if self.accepts(kind)] != ["LBRACE"]:
            return False
        stacks = (self.states, self.values, self.starts, self.ends)
        before = [list(stack) for stack in stacks]
        brace = Token("LBRACE", "{", self.token.start, self.token.start)
        self.feed("LBRACE", brace)
        block = "ERROR" in self.table.actions[self.states[-1]]
        if not block or (self.token.kind != NEWLINE and not self.accepts(self.classify(self.token))):
            for stack, saved in zip(stacks, before, strict=True):
                stack[:] = saved
            return False
        self._after(brace)
        return True

    def _close_block(self) -> bool:
        """Reads the `}` that is missing before the present token (and before `kernel`, all that are)."""
        place = self.token.start
        closing = len(self.brackets) if self.token.text == "kernel" else 1
        for _ in range(closing):
            self.feed(
                "ERROR", Token("ERROR", "", place, place)
            )  # stands for the statement after the last line end
            self.feed("RBRACE", Token("RBRACE", "", place, place))
            self.brackets.pop()
            self.feed("_NL", Token("_NL", "", place, place))
        self._separated = True
        return True

    def _recover(self) -> bool:
        """Drops the statement that has the present token and goes on at the next; false at the end of the file."""
        actions = self.table.actions
        self.feed(
            "_NL", Token("_NL", "", self.token.start, self.token.start)
        )  # keeps a statement that is complete
        while "ERROR" not in actions[self.states[-1]]:
            self.states.pop()
            self.values.pop()
            self.starts.pop()
            self.ends.pop()
        depth = braces = 0
        while self.brackets and self.brackets[-1].height >= len(self.states):
            braced = self.brackets.pop().token.kind == "LBRACE"
            braces, depth = braces + braced, depth + (not braced)
        token = self.token
        self.feed("ERROR", token)
        self.previous = None
        self._separated = False
        if not self.brackets:
            return self._skip_to_kernel()
        if token.kind == "LBRACE" and self.tokens[self.at - 1].kind in (NEWLINE, SEMICOLON, "LBRACE"):
            self.at += 1  # opens nothing
        self._skip(depth, braces)
        return self.token.kind != END

    def _skip_to_kernel(self) -> bool:
        """Outside of kernels nothing else is read."""
        while self.token.kind != END:
            self.at += 1
            if self.token.text == "kernel" and self.starts_kernel():
                self.feed("_NL", Token("_NL", "", self.token.start, self.token.start))
                self._separated = True
                break
        return True

    def _skip(self, depth: int, braces: int) -> None:
        """Moves to what ends the statement at hand, of which `depth` brackets and `braces` of sets are open."""
        if (
            (depth or braces)
            and self.at
            and self.tokens[self.at - 1].kind == NEWLINE
            and self._starts_statement(self.at)
        ):
            self.at -= 1
            return
        blocks = 0
        while True:
            token = self.tokens[self.at]
            if token.kind == END:
                return
            if token.kind == "LBRACE":
                blocks += 1
            elif token.kind == "RBRACE":
                after = self.tokens[self.at + 1].kind
                if blocks:
                    blocks -= 1
                elif braces:
                    braces -= 1
                elif after in _AFTER_A_BLOCK:
                    return
            elif token.kind in ("LPAR", "LSQB"):
                depth += 1
            elif token.kind in ("RPAR", "RSQB"):
                depth = max(0, depth - 1)
            elif not blocks and (
                token.kind == SEMICOLON
                or (token.kind == NEWLINE and (not (depth or braces) or self._starts_statement(self.at + 1)))
            ):
                return
            self.at += 1

    def _starts_statement(self, at: int) -> bool:
        """Whether the line from token `at` looks like a statement of its own."""
        first = self.tokens[at]
        if first.kind in ("RBRACE", END):
            return True
        if first.kind != WORD:
            return False
        if first.text in ITEM_WORDS or first.text == "kernel":
            return self.tokens[at + 1].kind == WORD
        while self.tokens[at].kind not in (NEWLINE, END):
            if self.tokens[at].kind == "EQUAL":
                return True
            at += 1
        return False


def _stray_brace(span: Span) -> Diagnostic:
    return Diagnostic("TG0122", "this `}` closes nothing", span, helps=("remove the `}`",))


def _too_deep(span: Span) -> Diagnostic:
    return Diagnostic(
        "TG0140",
        f"more than {MAX_NESTING} brackets are open here",
        span,
        helps=("name a part of the expression with `let`",),
    )
