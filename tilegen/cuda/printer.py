"""Prints expressions and types: precedence, parentheses, literals and line breaks are decided here and nowhere else."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import assert_never

from tilegen.cuda.tree import (
    AddressNumber,
    Binary,
    Braces,
    Call,
    Cast,
    Conditional,
    CType,
    Expression,
    Function,
    Infix,
    Instance,
    Literal,
    Member,
    PointerCast,
    Scalar,
    StructType,
    Subscript,
    Templated,
    Unary,
    Variable,
    VectorType,
)


class Level(IntEnum):
    """C's precedence, tightest first. An expression needs parentheses where its level is above what is allowed."""

    PRIMARY = 0
    UNARY = 1
    PRODUCT = 2
    SUM = 3
    SHIFT = 4
    COMPARE = 5
    BIT_AND = 6
    BIT_XOR = 7
    BIT_OR = 8
    AND = 9
    OR = 10
    CONDITIONAL = 11


_LEVELS = {
    Infix.MULTIPLY: Level.PRODUCT,
    Infix.DIVIDE: Level.PRODUCT,
    Infix.REMAINDER: Level.PRODUCT,
    Infix.ADD: Level.SUM,
    Infix.SUBTRACT: Level.SUM,
    Infix.SHIFT_LEFT: Level.SHIFT,
    Infix.SHIFT_RIGHT: Level.SHIFT,
    Infix.BIT_AND: Level.BIT_AND,
    Infix.BIT_XOR: Level.BIT_XOR,
    Infix.BIT_OR: Level.BIT_OR,
    Infix.AND: Level.AND,
    Infix.OR: Level.OR,
}
# The longest line.
COLUMNS = 120
_SUFFIXES = {"unsigned": "u", "long long": "ll", "unsigned long long": "ull", "size_t": "ull"}
_SMALLEST = {"int": -(1 << 31), "long long": -(1 << 63)}


def level_of(value: Expression) -> Level:
    match value:
        case Variable() | Subscript() | Call():
            return Level.PRIMARY
        case Unary():
            return Level.UNARY
        case Binary():
            return _LEVELS.get(value.op, Level.COMPARE)
        case Conditional():
            return Level.CONDITIONAL
        case Literal():
            return Level.UNARY if _negative(value) else Level.PRIMARY
        case _:
            return Level.PRIMARY


def _negative(value: Literal) -> bool:
    if isinstance(value.value, bool) or value.value != value.value:
        return False
    return math.copysign(1, value.value) < 0 and not _is_smallest(value)


def _is_smallest(value: Literal) -> bool:
    return value.value == _SMALLEST.get(value.type.name)


def _sides(value: Binary) -> tuple[Level, Level]:
    """What may stand without parentheses at the left and at the right of an operator: what C allows, and no mixture
    that compilers warn about."""
    level = level_of(value)
    match value.op:
        case Infix.MULTIPLY | Infix.ADD | Infix.SUBTRACT | Infix.DIVIDE | Infix.REMAINDER:
            return level, Level(level - 1)
        case Infix.AND:
            return level, Level.BIT_OR
        case Infix.OR:
            left = Level.OR if isinstance(value.left, Binary) and value.left.op is Infix.OR else Level.BIT_OR
            return left, Level.BIT_OR
        case Infix.BIT_AND | Infix.BIT_OR | Infix.BIT_XOR | Infix.SHIFT_LEFT | Infix.SHIFT_RIGHT:
            return Level.UNARY, Level.UNARY
        case _:
            return Level.SUM, Level.SUM


class Printer:
    """Prints with the names of variables and struct types. One that has no name prints under its wish."""

    def __init__(self, names: Mapping[Variable, str], structs: Mapping[StructType, str]) -> None:
        self.names, self.structs = names, structs

    def name(self, variable: Variable) -> str:
        return self.names.get(variable, variable.wanted)

    def type(self, type_: CType) -> str:
        match type_:
            case Scalar() | VectorType():
                return type_.name
            case StructType():
                return self.structs.get(type_, type_.wanted)
            case Templated():
                return type_.name + self._template(type_.arguments)
        assert_never(type_)

    def _template(self, arguments: Sequence[CType | Expression | int]) -> str:
        if not arguments:
            return ""
        texts = [
            str(a) if isinstance(a, int) else self.type(a) if isinstance(a, CType) else self.text(a)
            for a in arguments
        ]
        return f"<{', '.join(texts)}>"

    def text(self, value: Expression, allowed: Level = Level.CONDITIONAL) -> str:
        """The expression on one line, in parentheses where its place allows no operator as weak as its own."""
        text = self._text(value)
        # Every expression may stand where a conditional may.
        if allowed is Level.CONDITIONAL or level_of(value) <= allowed:
            return text
        return f"({text})"

    def _text(self, value: Expression) -> str:
        match value:
            case Variable():
                return self.name(value)
            case Literal():
                return literal(value)
            case Unary():
                operand = self.text(value.operand, Level.UNARY)
                # `--x` and `&&x` are other operators.
                same = operand.startswith(value.op.value)
                return f"{value.op.value}({operand})" if same else f"{value.op.value}{operand}"
            case Binary():
                left, right = _sides(value)
                return f"{self.text(value.left, left)} {value.op.value} {self.text(value.right, right)}"
            case Conditional():
                condition, then = self.text(value.condition, Level.OR), self.text(value.then, Level.OR)
                return f"{condition} ? {then} : {self.text(value.otherwise)}"
            case Cast():
                return f"static_cast<{self.type(value.type)}>({self.text(value.operand)})"
            case PointerCast():
                return f"reinterpret_cast<{self.pointed_to(value)}*>({self.text(value.operand)})"
            case AddressNumber():
                return f"reinterpret_cast<uintptr_t>({self.text(value.operand)})"
            case Call():
                arguments = ", ".join(self.text(a) for a in value.arguments)
                return f"{self.function(value.function)}({arguments})"
            case Instance():
                return self.function(value.of)
            case Subscript():
                return f"{self.text(value.base, Level.PRIMARY)}[{self.text(value.index)}]"
            case Member():
                return f"{self.text(value.base, Level.PRIMARY)}.{self.member(value)}"
            case Braces():
                items = ", ".join(self.text(i) for i in value.items)
                return f"{'' if value.type is None else self.type(value.type)}{{{items}}}"
        assert_never(value)

    def pointed_to(self, value: PointerCast) -> str:
        return f"{'const ' if value.const else ''}{self.type(value.type)}"

    def member(self, value: Member) -> str:
        return value.field if isinstance(value.field, str) else value.field.name

    def function(self, function: Function) -> str:
        scope = "" if function.scope is None else f"{self.type(function.scope)}::"
        return f"{scope}{function.name}{self._template(function.template)}"

    # Lines

    def lines(self, value: Expression, room: int, before: str = "", after: str = "") -> list[str]:
        """`before`, the expression, `after`: on one line of `room` columns, or broken where a person would."""
        text = f"{before}{self.text(value)}{after}"
        if len(text) <= room:
            return [text]
        match value:
            case Conditional():
                return [
                    *self.lines(value.condition, room, before),
                    *self._indented(value.then, room, "? ", "", Level.OR),
                    *self._indented(value.otherwise, room, ": ", after, Level.CONDITIONAL),
                ]
            case Binary(op=Infix.AND | Infix.OR):
                terms = _chain(value, value.op)
                allowed = _sides(value)[1]
                texts = [self.text(t, allowed) for t in terms]
                head = f"{before}{texts[0]} {value.op.value}"
                middle = [f"    {t} {value.op.value}" for t in texts[1:-1]]
                return [head, *middle, f"    {texts[-1]}{after}"]
            case Call():
                return self._arguments(
                    value.arguments, room, f"{before}{self.function(value.function)}(", f"){after}"
                )
            case Cast():
                return self._arguments(
                    (value.operand,), room, f"{before}static_cast<{self.type(value.type)}>(", f"){after}"
                )
            case Braces() if value.items:
                type_ = "" if value.type is None else self.type(value.type)
                return self._arguments(value.items, room, f"{before}{type_}{{", f"}}{after}")
            case Binary():
                left, right = _sides(value)
                first = self.lines(value.left, room, before + self._open(value.left, left))
                first[-1] += f"{self._close(value.left, left)} {value.op.value}"
                return [*first, *self._indented(value.right, room, "", after, right)]
            case _:
                return [text]

    def _open(self, value: Expression, allowed: Level) -> str:
        return "(" if level_of(value) > allowed else ""

    def _close(self, value: Expression, allowed: Level) -> str:
        return ")" if level_of(value) > allowed else ""

    def _indented(self, value: Expression, room: int, before: str, after: str, allowed: Level) -> list[str]:
        start, end = self._open(value, allowed), self._close(value, allowed)
        return [f"    {line}" for line in self.lines(value, room - 4, f"{before}{start}", f"{end}{after}")]

    def _arguments(self, values: Sequence[Expression], room: int, before: str, after: str) -> list[str]:
        joined = ", ".join(self.text(v) for v in values)
        if len(joined) + len(after) <= room - 4:
            return [before, f"    {joined}{after}"]
        found = [before]
        for number, value in enumerate(values):
            end = after if number == len(values) - 1 else ","
            found += [f"    {line}" for line in self.lines(value, room - 4, "", end)]
        return found


def _chain(value: Expression, op: Infix) -> list[Expression]:
    """The terms of `a op b op c`."""
    if isinstance(value, Binary) and value.op is op:
        return [*_chain(value.left, op), value.right]
    return [value]


def literal(value: Literal) -> str:
    """A literal of C; every number prints as one that the compiler reads as exactly that number of its type."""
    number, name = value.value, value.type.name
    if name == "bool":
        return "true" if number else "false"
    if isinstance(number, float):
        return _floating(number, name == "float")
    suffix = _SUFFIXES.get(name, "")
    if value.hexadecimal:
        return f"{int(number):#x}{suffix}"
    if _is_smallest(value):
        return f"({int(number) + 1}{suffix} - 1)"
    return f"{int(number)}{suffix}"


def _floating(number: float, single: bool) -> str:
    if single:
        number = _rounded_to_single(number)
    if math.isnan(number):
        return "__int_as_float(0x7fffffff)" if single else "__longlong_as_double(0x7fffffffffffffffll)"
    if math.isinf(number):
        text = "__int_as_float(0x7f800000)" if single else "__longlong_as_double(0x7ff0000000000000ll)"
        return text if number > 0 else f"-{text}"
    if not single:
        return repr(number)
    # The shortest that is read as this number: 0.1 and not 0.10000000149011612.
    shortest = (float(f"{number:.{digits}g}") for digits in range(1, 10))
    return repr(next(s for s in shortest if _rounded_to_single(s) == number)) + "f"


def _rounded_to_single(number: float) -> float:
    """The nearest number of 32 bits, which C would not always find: it rounds the decimal digits."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return rounded
