"""What a person is told when a token cannot stand where it does.

`explain` asks the rules in order; each knows one mistake and answers None for any other. The last one says what the
grammar expects, in the words of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from tilegen.diagnostics import Diagnostic, Label
from tilegen.parse.machine import ITEM_WORDS, Machine
from tilegen.parse.scanner import END, NEWLINE, SEMICOLON, WORD, Token
from tilegen.source import Span

_COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "and", "or")
_OPERANDS = frozenset(
    ("INT", "FLOAT", "BYTES", "INF", "NAN", "TRUE", "FALSE", "NOT", "LPAR", "PLUS", "MINUS", "NAME")
)
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_TYPES = frozenset(
    [
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
        "f8e4m3",
        "f8e5m2",
        "c64",
        "c128",
        "struct",
    ]
)
_DIRECTIVES = frozenset(
    [
        "tile",
        "threads",
        "stage",
        "vector",
        "bounds",
        "raster",
        "unroll",
        "hint",
        "max_registers",
        "min_blocks",
        "index",
    ]
)
_FROM_ELSEWHERE = {
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


def explain(machine: Machine) -> Diagnostic:
    """Why the present token of `machine` cannot be read."""
    kinds = machine.table.actions[machine.states[-1]]
    expected = frozenset(kind for kind in kinds if kind.lstrip("_$")[:1].isupper() and machine.accepts(kind))
    place = Place(machine, expected - {"ERROR"})
    return next(found for rule in _RULES if (found := rule(place)) is not None)


# Brackets and blocks


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
    if token.text not in _CLOSERS.values():
        return None
    if not brackets:
        return Diagnostic(
            "TG0122",
            f"this `{token.text}` closes nothing",
            place.span(token),
            helps=(f"remove the `{token.text}`",),
        )
    opened = brackets[-1].token
    if _CLOSERS[opened.text] == token.text:
        return None
    if token.text != "}" and not any(_CLOSERS[b.token.text] == token.text for b in brackets):
        labels = (
            () if brackets[-1].block else (Label(place.span(opened), f"this `{opened.text}` is still open"),)
        )
        instead = "" if brackets[-1].block else f", or write `{_CLOSERS[opened.text]}` if that is meant"
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
    closer = _CLOSERS[opened.text]
    if place.token.kind in (END, SEMICOLON):
        return _unclosed(place, opened)
    if place.starts_line and place.literal(closer) and not place.literal(place.token.text):
        return _unclosed(place, opened)
    return None


def _unclosed(place: Place, opened: Token) -> Diagnostic:
    closer = _CLOSERS[opened.text]
    found = _found(place)
    return Diagnostic(
        "TG0122",
        f"this `{opened.text}` is not closed",
        place.span(opened),
        labels=(Label(_end_of(place), f"`{closer}` is expected at the latest here"),)
        if place.before is not None
        else (),
        notes=(f"reading stopped at {found}",),
        helps=(f"write the `{closer}`",),
    )


def _end_of(place: Place) -> Span:
    assert place.before is not None
    if place.starts_line or place.token.kind == END:
        return Span(place.machine.builder.source, place.before.end, place.before.end)
    return place.span(place.token)


# Operators


def chained_comparison(place: Place) -> Diagnostic | None:
    if place.token.text not in _COMPARISONS or "AND" not in place.expected or place.literal(place.token.text):
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


# Words


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
        if token.text == "(" and word.text not in _FROM_ELSEWHERE:
            return Diagnostic(
                "TG0124",
                f"the call of `{word.text}` is no statement",
                place.span(word),
                helps=("assign the value: `y[i] = …`",),
            )
        if (
            place.ends_statement
            and _known(word.text, ITEM_WORDS) is None
            and word.text not in _FROM_ELSEWHERE
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
        return _unknown("TG0124", message, place.span(word), word.text, ITEM_WORDS)
    if not {"SCHEDULE", "IN", "LET"} <= place.expected:
        return None
    token = place.token
    text = token.text
    helps: tuple[str, ...]
    if text in ("//", "/"):
        helps = ("comments start with `#`",)
    elif text in _OPERATORS or text == ",":
        helps = (f"to go on with the line above, end that line with `{text}`",)
    else:
        helps = ("a statement is `in`, `out`, `let`, an assignment, `schedule`, `test` or `expect`",)
    return Diagnostic("TG0124", f"{_found(place)} starts no statement", place.here(), helps=helps)


def _ends_with_colon(place: Place) -> bool:
    last = place.token
    for token in place.machine.tokens[place.machine.at :]:
        if token.kind in (NEWLINE, SEMICOLON, END):
            break
        last = token
    return last.text == ":"


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


def unknown_top(place: Place) -> Diagnostic | None:
    if "KERNEL" not in place.expected or (place.ends_statement and place.token.kind == "RBRACE"):
        return None
    token = place.token
    message = f"expected `kernel`, found {_found(place)}"
    if token.kind == WORD:
        if token.text in ITEM_WORDS:
            return Diagnostic(
                "TG0124",
                f"`{token.text}` stands outside a kernel",
                place.span(token),
                helps=("put it into the braces: `kernel NAME(…) { … }`",),
            )
        return _unknown("TG0124", message, place.span(token), token.text, ("kernel",))
    helps = ("comments start with `#`",) if token.text in ("//", "/") else ("write `kernel NAME(…) { … }`",)
    return Diagnostic("TG0124", message, place.here(), helps=helps)


def unknown_directive(place: Place) -> Diagnostic | None:
    if "TILE" not in place.expected:
        return None
    if place.token.kind != WORD:
        return Diagnostic(
            "TG0125", f"{_found(place)} starts no directive", place.here(), helps=(_one_of(place.words()),)
        )
    text = place.token.text
    if text in ITEM_WORDS:
        help_text = f"put `{text}` outside the schedule"
        return Diagnostic("TG0125", f"`{text}` is no directive", place.span(place.token), helps=(help_text,))
    return _unknown("TG0125", f"unknown directive `{text}`", place.span(place.token), text, place.words())


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
        listed = inside or place.after.text == "=" or place.after.text in _COMPARISONS
    if not listed:
        return None
    return Diagnostic(
        "TG0129",
        f"`,` is missing before `{_short(token.text)}`",
        place.span(token),
        helps=(f"write `, {_short(token.text)}`",)
        if not place.literal("*")
        else (f"write `, {_short(token.text)}`, or the operator that is missing",),
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
    return _unknown("TG0126", f"unknown {what} `{text}`{of}", place.span(place.token), text, place.words())


# What is left


def statement_ends_early(place: Place) -> Diagnostic | None:
    if not place.ends_statement or (place.token.kind == "RBRACE" and not place.machine.brackets):
        return None
    machine = place.machine
    following = next(
        (t for t in machine.tokens[machine.at :] if t.kind not in (NEWLINE, SEMICOLON)), place.token
    )
    helps = _general_helps(place)
    if place.token.kind == NEWLINE and following.text in _OPERATORS:
        helps = (f"a line goes on after an operator: put the `{following.text}` at the end of the line",)
    span = place.here()
    if place.token.kind == "RBRACE" and place.starts_line and place.before is not None:
        span = Span(span.source, place.before.end, place.before.end)
    return Diagnostic(
        "TG0121", f"the statement ends too early: expected {_expected(place)}", span, helps=helps
    )


def unexpected(place: Place) -> Diagnostic | None:
    return Diagnostic(
        "TG0120",
        f"expected {_expected(place)}, found {_found(place)}",
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
    if any(earlier.text == "//" for earlier in place.line_before()) and not place.starts_line:
        return ("a comment starts with `#`; `//` is division rounded down",)
    if token.kind == WORD and (near := _known(token.text, place.words())):
        return (f"write `{near}`",)
    if token.text == ":" and ("_NL" in place.expected or place.literal("{")):
        return ("remove the `:`",)
    if (
        {"PLUS", "STAR"} <= place.expected
        and "INT" not in place.expected
        and token.kind in (WORD, "INT", "FLOAT", "LPAR")
    ):
        return (f"write the operator that is missing before `{_short(token.text)}`",)
    if len(place.expected) == 1 and (text := _text_of(place, next(iter(place.expected)))):
        return (f"write `{text}` here",)
    return ()


def _expected(place: Place) -> str:
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
    operators = {place.machine.table.punctuation.get(o) or o.upper() for o in _OPERATORS}
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
    named = sorted(text for kind in left if (text := _text_of(place, kind)))
    parts += [f"`{text}`" for text in named]
    if "_NL" in left or END in left:
        parts.append(
            "the end of the statement" if "_NL" in left and place.machine.brackets else "the end of the file"
        )
    return _join(parts, "or")


def _text_of(place: Place, kind: str) -> str | None:
    table = place.machine.table
    for texts in (table.punctuation, table.words):
        for text, name in texts.items():
            if name == kind:
                return text
    return None


def _found(place: Place) -> str:
    token = place.token
    if token.kind == NEWLINE:
        return "the end of the line"
    if token.kind == END:
        return "the end of the file"
    return f"`{_short(token.text)}`"


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def _known(text: str, words: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    near = get_close_matches(text[:50].lower(), sorted(words), n=1, cutoff=0.6)
    return near[0] if near else None


def _unknown(code: str, message: str, span: Span, text: str, words: Iterable[str]) -> Diagnostic:
    if text in _FROM_ELSEWHERE:
        code = "TG0130" if code == "TG0124" else code
        return Diagnostic(code, message, span, helps=(_FROM_ELSEWHERE[text],))
    near = _known(text, words)
    helps = (f"did you mean `{near}`?",) if near else (_one_of(sorted(words)),)
    return Diagnostic(code, message, span, helps=helps)


def _one_of(words: Iterable[str]) -> str:
    return f"write {_join([f'`{word}`' for word in words], 'or')}"


def _join(parts: list[str], last: str) -> str:
    if len(parts) <= 1:
        return parts[0] if parts else "nothing more"
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


_RULES: tuple[Callable[[Place], Diagnostic | None], ...] = (
    missing_block_end,
    bracket_mismatch,
    unclosed_bracket,
    chained_comparison,
    assignment_or_comparison,
    second_index,
    slice_index,
    conditional_expression,
    python_range,
    unknown_statement,
    unknown_top,
    unknown_directive,
    range_in_target,
    missing_comma,
    missing_colon,
    unknown_clause,
    statement_ends_early,
    unexpected,
)
