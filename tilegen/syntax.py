"""What the user wrote, node by node, with the place of each. No rule of the language is applied here.

`parse.py` builds these from the grammar and does nothing else; `check/` turns them into `spec.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilegen.source import Source, Span


def _span() -> Any:
    return field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Ident:
    name: str
    span: Span = _span()


# Expressions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IntLiteral:
    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class FloatLiteral:
    """Also `inf` and `nan`."""

    value: float
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BoolLiteral:
    value: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BytesLiteral:
    """`128B`, `48KiB`: a number of bytes."""

    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Name:
    """A size, a scalar parameter, an axis, or a rank-0 tensor or let: which one is decided by the checks."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Indexed:
    """`base[indices].field`; `indices` is None without brackets (`p.x`), `field` None without a dot."""

    base: Ident
    indices: tuple[Expression, ...] | None
    field: Ident | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class UnaryExpression:
    """`op` is `-`, `+` or `not`."""

    op: str
    operand: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BinaryExpression:
    """`op` is an operator of the language: `+ - * / // % ** < <= > >= == != and or`."""

    op: str
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class CallExpression:
    """`where(c, x, y)`, a cast `f32(x)`, `clip(x, 0, 1)`: any function by name."""

    function: Ident
    arguments: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class RangeClause:
    """`name in lower..upper` (or `..=`); without a range both are None."""

    axis: Ident
    lower: Expression | None
    upper: Expression | None
    inclusive: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ReduceExpression:
    """`sum[k, u in 0..7](body)`; `function` as written."""

    function: Ident
    axes: tuple[RangeClause, ...]
    body: Expression
    span: Span = _span()


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


@dataclass(frozen=True, slots=True)
class TypeName:
    """A scalar type or type parameter by name."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class StructType:
    fields: tuple[tuple[Ident, TypeName], ...]
    span: Span = _span()


TypeExpression = TypeName | StructType


@dataclass(frozen=True, slots=True)
class TypeParamDecl:
    """`T: f32 | f16`."""

    name: Ident
    choices: tuple[TypeName, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SizeDecl:
    """`M`, or `K = 128` with its compile-time value."""

    name: Ident
    value: Expression | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ScalarDecl:
    """`eps: f32 = 1e-5`."""

    name: Ident
    type: TypeName
    default: Expression | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Star:
    """`*` in `strides(*, 1)`: taken from the array passed."""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ClauseDecl:
    """A layout clause: `name` is `order pitch strides offset align soa aosoa boundary constant texture`; its arguments
    in order (`boundary constant 0` has the arguments Name('constant'), IntLiteral(0))."""

    name: Ident
    arguments: tuple[Expression | Star, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TensorDecl:
    """`role` is `in`, `out` or `inout`; several names share type, extents and clauses."""

    role: Ident
    names: tuple[Ident, ...]
    type: TypeExpression
    extents: tuple[Expression, ...]
    clauses: tuple[ClauseDecl, ...]
    span: Span = _span()


# Statements ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AssignStatement:
    """`target = value for …`; a rank-0 target has `indices` None or empty."""

    target: Indexed
    value: Expression
    ranges: tuple[RangeClause, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class LetStatement:
    """`let name[axes] = value for …`."""

    name: Ident
    axes: tuple[Expression, ...]
    value: Expression
    ranges: tuple[RangeClause, ...]
    span: Span = _span()


# Schedules, tests, expectations -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetValue:
    """A value of a directive: one expression, or the members of `{16, 32}`."""

    choices: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Setting:
    """`i = 32` in a directive; `name` is None for a bare value (`vector 4`)."""

    name: Ident | None
    value: SetValue
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SettingsDirective:
    """`tile`, `threads`, `vector`, `unroll`, `max_registers`, `min_blocks`."""

    keyword: Ident
    settings: tuple[Setting, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class StageStatement:
    """`stage a, b pad {0, 1} buffers 3 async`."""

    tensors: tuple[Ident, ...]
    pad: SetValue | None
    swizzle: Ident | None
    buffers: SetValue | None
    asynchronous: Ident | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ChoiceDirective:
    """`bounds guard`, `index i32`: one word, or a set of words."""

    keyword: Ident
    choices: tuple[Ident, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class RasterStatement:
    axes: tuple[Ident, ...]
    group: SetValue | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class HintStatement:
    tensor: Ident
    choices: tuple[Ident, ...]
    span: Span = _span()


DirectiveStatement = SettingsDirective | StageStatement | ChoiceDirective | RasterStatement | HintStatement


@dataclass(frozen=True, slots=True)
class ScheduleDecl:
    name: Ident
    directives: tuple[DirectiveStatement, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TestClause:
    """`M = 33`, `T = f16`, `on gpu`, `fill normal`, `seed 3`, `rtol 1e-3`: `keyword` is the name set, or the word."""

    keyword: Ident
    value: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TestDecl:
    """`settings` are the `name = value` parts, `clauses` the rest."""

    settings: tuple[TestClause, ...]
    clauses: tuple[TestClause, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ConditionExpression:
    """`metric op value`, `1.0 * ideal` being a BinaryExpression with Name('ideal')."""

    metric: Ident
    op: str
    value: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ExpectDecl:
    schedule: Ident | None
    conditions: tuple[ConditionExpression, ...]
    at: tuple[TestClause, ...]
    span: Span = _span()


KernelItem = TensorDecl | AssignStatement | LetStatement | ScheduleDecl | TestDecl | ExpectDecl


@dataclass(frozen=True, slots=True)
class KernelDecl:
    name: Ident
    type_params: tuple[TypeParamDecl, ...]
    parameters: tuple[SizeDecl | ScalarDecl, ...]
    items: tuple[KernelItem, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class File:
    source: Source = field(repr=False, compare=False)
    kernels: tuple[KernelDecl, ...]
