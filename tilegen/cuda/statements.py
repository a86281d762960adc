"""Prints statements through the macros of `templates/statements.j2` and the skeletons of families."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from types import SimpleNamespace
from typing import assert_never

from tilegen.cuda.printer import COLUMNS, Level, Printer
from tilegen.cuda.templates import macros
from tilegen.cuda.tree import (
    Assign,
    Barrier,
    Block,
    Comment,
    CType,
    Declare,
    Expression,
    For,
    If,
    Literal,
    Part,
    Return,
    Run,
    Scope,
    Skeleton,
    Statement,
    Storage,
    Unroll,
    Variable,
    Words,
)

# Stands at the end of a printed line, before the number of the line of the spec it comes from.
MARK = "\x1f"
_UNROLL = {Unroll.FULLY: "fully", Unroll.NOT_SAID: ""}


class Hole:
    """An expression in a template. As it is, it may stand beside a comparison, in brackets or after `=`; `operand`
    where it is added or multiplied, `unit` before a bracket."""

    __slots__ = ("_printer", "_value")

    def __init__(self, printer: Printer, value: Expression) -> None:
        self._printer, self._value = printer, value

    def __str__(self) -> str:
        return self._printer.text(self._value, Level.SUM)

    @property
    def operand(self) -> str:
        return self._printer.text(self._value, Level.UNARY)

    @property
    def unit(self) -> str:
        return self._printer.text(self._value, Level.PRIMARY)


class StatementPrinter:
    """Prints blocks. `depth` counts the indentations of four columns that a block has in the file."""

    def __init__(self, printer: Printer) -> None:
        self.printer = printer
        self._macros = macros("statements.j2")

    def block(self, statements: Block, depth: int) -> str:
        """The statements, each on lines of its own, indented as if they stood at the left."""
        texts: list[str] = []
        for number, statement in enumerate(statements):
            before = statements[number - 1] if number else None
            if before is not None and (_apart(statement) or _apart(before)):
                texts.append("\n")
            texts.append(self.statement(statement, depth))
        return "".join(texts)

    def statement(self, statement: Statement, depth: int) -> str:
        m, room = self._macros, COLUMNS - 4 * depth
        match statement:
            case Declare():
                return self._declare(statement, room)
            case Assign():
                head = f"{self.printer.text(statement.target)} {statement.op}"
                return self._ended(head, statement.value, room, statement.line)
            case Run():
                return _joined(self.printer.lines(statement.expression, room, "", ";"), statement.line)
            case If():
                condition = "\n".join(self.printer.lines(statement.condition, room - 7))
                then = self.block(statement.then, depth + 1)
                return str(m.if_(condition, then, self.block(statement.otherwise, depth + 1)))
            case For():
                return self._loop(statement, depth)
            case Scope():
                return str(m.scope(self.block(statement.body, depth + 1)))
            case Barrier():
                return str(m.barrier())
            case Return():
                return str(m.return_())
            case Comment():
                return "".join(str(m.comment(line)) for line in self.comment(statement, room))
            case Skeleton():
                return self._skeleton(statement, depth)
            case Part():
                comment = "".join(self.statement(c, depth) for c in statement.comment)
                return comment + self.block(statement.body, depth)
        assert_never(statement)

    def comment(self, comment: Comment, room: int) -> list[str]:
        """The lines of a comment, without what makes them one."""
        return textwrap.wrap(self.words(comment.words), room - 3, break_long_words=False) or [""]

    def words(self, words: Words) -> str:
        return "".join(self.printer.name(w) if isinstance(w, Variable) else w for w in words)

    def shape(self, variable: Variable) -> str:
        return "".join(f"[{self.printer.text(extent)}]" for extent in variable.shape)

    def _declare(self, statement: Declare, room: int) -> str:
        variable = statement.variable
        qualifier = "const " if statement.const else ""
        if variable.storage is Storage.CONSTANT:
            qualifier = "constexpr "
        type_, name = self.printer.type(variable.type), self.printer.name(variable) + self.shape(variable)
        value = statement.value
        if value is None:
            text = str(self._macros.declare(qualifier, type_, name, ""))
            return _joined([text.rstrip("\n")], statement.line)
        return self._ended(f"{qualifier}{type_} {name} =", value, room, statement.line)

    def _ended(self, head: str, value: Expression, room: int, line: int | None) -> str:
        """`head value;`, broken behind the head where the value then fits on a line."""
        text = f"{head} {self.printer.text(value)};"
        if len(text) <= room:
            return _joined([text], line)
        rest = f"    {self.printer.text(value)};"
        if len(rest) <= room:
            return _joined([head, rest], line)
        return _joined(self.printer.lines(value, room, f"{head} ", ";"), line)

    def _loop(self, loop: For, depth: int) -> str:
        text = self.printer.text
        unroll = loop.unroll if isinstance(loop.unroll, int) else _UNROLL[loop.unroll]
        variable = self.printer.name(loop.variable)
        step = f"++{variable}" if loop.step == Literal(1) else f"{variable} += {text(loop.step)}"
        return str(
            self._macros.for_(
                unroll,
                self.printer.type(loop.variable.type),
                variable,
                text(loop.first),
                text(loop.limit, Level.SUM),
                step,
                self.block(loop.body, depth + 1),
            )
        )

    def _skeleton(self, skeleton: Skeleton, depth: int) -> str:
        file, _, name = skeleton.macro.partition(".")
        holes = SimpleNamespace(**{k: self._hole(v, depth) for k, v in skeleton.holes.items()})
        return str(getattr(macros(f"{file}.j2"), name)(holes))

    def _hole(self, value: object, depth: int) -> object:
        if isinstance(value, tuple):
            # Blocks of a skeleton stand inside its braces.
            return self.block(value, depth + 1)
        if isinstance(value, CType):
            return self.printer.type(value)
        if value is None or isinstance(value, str | bool):
            return value
        return Hole(self.printer, value)  # type: ignore[arg-type]


def _apart(statement: Statement) -> bool:
    return isinstance(statement, Part)


def _joined(lines: Iterable[str], line: int | None) -> str:
    end = "\n" if line is None else f"{MARK}{line}\n"
    return "".join(f"{text}{end}" for text in lines)
