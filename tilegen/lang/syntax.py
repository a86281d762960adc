"""What the user wrote, node by node, with the place of each. No rule of the language is applied here.

`parse.py` builds these from the grammar and does nothing else; `check/` turns them into `spec.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilegen.lang.source import Source, Span


class Node:
    """Equality, hash and repr of all nodes: every field counts but the place. They are written once here, and switched
    off in the decorators, because making them for each class takes half the time of importing this module."""

    __slots__: tuple[str, ...] = ()

    def _facts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__ if name != "span")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node) or type(self) is not type(other):
            return NotImplemented
        return self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((type(self), self._facts()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._facts()))})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ident(Node):
    name: str
    span: Span


# Expressions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IntLiteral(Node):
    value: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FloatLiteral(Node):
    """Also `inf` and `nan`."""

    value: float
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BoolLiteral(Node):
    value: bool
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BytesLiteral(Node):
    """`128B`, `48KiB`: a number of bytes."""

    value: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name(Node):
    """A size, a scalar parameter, an axis, or a rank-0 tensor or let: which one is decided by the checks."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Indexed(Node):
    """`base[indices].field`; `indices` is None without brackets (`p.x`), `field` None without a dot."""

    base: Ident
    indices: tuple[Expression, ...] | None
    field: Ident | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnaryExpression(Node):
    """`op` is `-`, `+` or `not`."""

    op: str
    operand: Expression
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BinaryExpression(Node):
    """`op` is an operator of the language: `+ - * / // % ** < <= > >= == != and or`."""

    op: str
    left: Expression
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallExpression(Node):
    """`where(c, x, y)`, a cast `f32(x)`, `clip(x, 0, 1)`: any function by name."""

    function: Ident
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RangeClause(Node):
    """`name in lower..upper` (or `..=`); without a range both are None."""

    axis: Ident
    lower: Expression | None
    upper: Expression | None
    inclusive: bool
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReduceExpression(Node):
    """`sum[k, u in 0..7](body)`; `function` as written."""

    function: Ident
    axes: tuple[RangeClause, ...]
    body: Expression
    span: Span


Expression = (
    IntLiteral
    | FloatLiteral
    | BoolLiteral
    | BytesLiteral
    | Name
    | Indexed
    | UnaryExpression
    | BinaryExpression
    | CallExpression
    | ReduceExpression
)


# Declarations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TypeName(Node):
    """A scalar type or type parameter by name."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StructType(Node):
    fields: tuple[tuple[Ident, TypeName], ...]
    span: Span


TypeExpression = TypeName | StructType


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TypeParamDecl(Node):
    """`T: f32 | f16`."""

    name: Ident
    choices: tuple[TypeName, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SizeDecl(Node):
    """`M`, or `K = 128` with its compile-time value."""

    name: Ident
    value: Expression | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScalarDecl(Node):
    """`eps: f32 = 1e-5`."""

    name: Ident
    type: TypeName
    default: Expression | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Star(Node):
    """`*` in `strides(*, 1)`: taken from the array passed."""

    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClauseDecl(Node):
    """A layout clause: `name` is `order pitch strides offset align soa aosoa boundary constant texture`; its arguments
    in order (`boundary constant 0` has the arguments Name('constant'), IntLiteral(0))."""

    name: Ident
    arguments: tuple[Expression | Star, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TensorDecl(Node):
    """`role` is `in`, `out` or `inout`; several names share type, extents and clauses."""

    role: Ident
    names: tuple[Ident, ...]
    type: TypeExpression
    extents: tuple[Expression, ...]
    clauses: tuple[ClauseDecl, ...]
    span: Span


# Statements ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AssignStatement(Node):
    """`target = value for …`; a rank-0 target has `indices` None or empty."""

    target: Indexed
    value: Expression
    ranges: tuple[RangeClause, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LetStatement(Node):
    """`let name[axes] = value for …`."""

    name: Ident
    axes: tuple[Expression, ...]
    value: Expression
    ranges: tuple[RangeClause, ...]
    span: Span


# Schedules, tests, expectations -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetValue(Node):
    """A value of a directive: one expression, or the members of `{16, 32}`."""

    choices: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Setting(Node):
    """`i = 32` in a directive, `i*j = 32` for the axis that is both; `name` is None for a bare value (`vector 4`)."""

    name: Ident | None
    value: SetValue
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SettingsDirective(Node):
    """A directive of numbers: `tile i = 32`, `vector 4`, `min_blocks 4`."""

    keyword: Ident
    settings: tuple[Setting, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StageStatement(Node):
    """`stage a, b pad {0, 1} buffers 3 async`; `placed` is the word `swizzle` or `auto`."""

    tensors: tuple[Ident, ...]
    pad: SetValue | None
    placed: Ident | None
    buffers: SetValue | None
    asynchronous: Ident | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChoiceDirective(Node):
    """`bounds guard`, `index i32`: one word, or a set of words."""

    keyword: Ident
    choices: tuple[Ident, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RasterStatement(Node):
    axes: tuple[Ident, ...]
    group: SetValue | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HintStatement(Node):
    tensor: Ident
    choices: tuple[Ident, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeepStatement(Node):
    """`keep a, b registers`; no tensors for what a block keeps in any case."""

    tensors: tuple[Ident, ...]
    memory: Ident
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OtherwiseStatement(Node):
    """What follows is for launches that what stands before does not serve."""

    span: Span


DirectiveStatement = (
    SettingsDirective
    | StageStatement
    | KeepStatement
    | ChoiceDirective
    | RasterStatement
    | HintStatement
    | OtherwiseStatement
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScheduleDecl(Node):
    name: Ident
    directives: tuple[DirectiveStatement, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TestClause(Node):
    """`M = 33`, `T = f16`, `on gpu`, `fill normal`, `seed 3`, `rtol 1e-3`: `keyword` is the name set, or the word."""

    keyword: Ident
    value: Expression
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TestDecl(Node):
    """`settings` are the `name = value` parts, `clauses` the rest."""

    settings: tuple[TestClause, ...]
    clauses: tuple[TestClause, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConditionExpression(Node):
    """`metric op value`, `1.0 * ideal` being a BinaryExpression with Name('ideal')."""

    metric: Ident
    op: str
    value: Expression
    span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExpectDecl(Node):
    schedule: Ident | None
    conditions: tuple[ConditionExpression, ...]
    at: tuple[TestClause, ...]
    span: Span


KernelItem = TensorDecl | AssignStatement | LetStatement | ScheduleDecl | TestDecl | ExpectDecl


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KernelDecl(Node):
    name: Ident
    type_params: tuple[TypeParamDecl, ...]
    parameters: tuple[SizeDecl | ScalarDecl, ...]
    items: tuple[KernelItem, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class File:
    source: Source = field(repr=False, compare=False)
    kernels: tuple[KernelDecl, ...]
