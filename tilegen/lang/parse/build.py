"""Syntax nodes from the productions of `grammar/tile.lark`: one method per production, named after it.

A method gets the span of the production and the values of its symbols; literals of the grammar are gone, a keyword
that is kept is its Token. No rule of the language is applied, save for shapes that the grammar cannot tell apart
(a reduction's axes and an index).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse.scanner import Token
from tilegen.lang.source import Source, Span
from tilegen.lang.syntax import (
    AssignStatement,
    BinaryExpression,
    BoolLiteral,
    BytesLiteral,
    CallExpression,
    ChoiceDirective,
    ClauseDecl,
    ConditionExpression,
    ExpectDecl,
    Expression,
    File,
    FloatLiteral,
    HintStatement,
    Ident,
    Indexed,
    IntLiteral,
    KeepStatement,
    KernelDecl,
    KernelItem,
    LetStatement,
    Name,
    OtherwiseStatement,
    RangeClause,
    RasterStatement,
    ReduceExpression,
    ScalarDecl,
    ScheduleDecl,
    Setting,
    SettingsDirective,
    SetValue,
    SizeDecl,
    StageStatement,
    Star,
    StructType,
    TensorDecl,
    TestClause,
    TestDecl,
    TypeExpression,
    TypeName,
    TypeParamDecl,
    UnaryExpression,
)

_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class Builder:
    """Builds the nodes of one file; problems are collected in `diagnostics`."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    def _ident(self, token: Token) -> Ident:
        return Ident(token.text, Span(self.source, token.start, token.end))

    # Declarations

    def start(self, span: Span, *kernels: KernelDecl | None) -> File:
        return File(self.source, tuple(k for k in kernels if k is not None))

    def bad(self, span: Span, error: Token) -> None:
        return None

    def kernel(
        self,
        span: Span,
        name: Token,
        type_params: tuple[TypeParamDecl, ...],
        parameters: tuple[SizeDecl | ScalarDecl, ...],
        items: tuple[KernelItem, ...],
    ) -> KernelDecl:
        return KernelDecl(self._ident(name), type_params, parameters, items, span)

    def type_params(self, span: Span, *params: TypeParamDecl) -> tuple[TypeParamDecl, ...]:
        return params

    def type_param(self, span: Span, name: Token, *choices: TypeName) -> TypeParamDecl:
        return TypeParamDecl(self._ident(name), choices, span)

    def type_name(self, span: Span, name: Token) -> TypeName:
        return TypeName(name.text, span)

    def parameters(self, span: Span, *parameters: SizeDecl | ScalarDecl) -> tuple[SizeDecl | ScalarDecl, ...]:
        return parameters

    def size(self, span: Span, name: Token, value: Expression | None = None) -> SizeDecl:
        return SizeDecl(self._ident(name), value, span)

    def scalar(
        self, span: Span, name: Token, type_name: TypeName, default: Expression | None = None
    ) -> ScalarDecl:
        return ScalarDecl(self._ident(name), type_name, default, span)

    def items(self, span: Span, *items: KernelItem | None) -> tuple[KernelItem, ...]:
        return tuple(item for item in items if item is not None)

    # Tensors

    def tensor(
        self,
        span: Span,
        role: Ident,
        names: tuple[Ident, ...],
        element: TypeExpression,
        extents: tuple[Expression, ...],
        clauses: tuple[ClauseDecl, ...],
    ) -> TensorDecl:
        return TensorDecl(role, names, element, extents, clauses, span)

    def word(self, span: Span, token: Token) -> Ident:
        return Ident(token.text, span)

    role = list_clause = value_clause = flag_clause = boundary_clause = word
    per_axis = per_thread = per_tensor = per_size = plain = choice = word_clause = number_clause = word

    def names(self, span: Span, *names: Token) -> tuple[Ident, ...]:
        return tuple(self._ident(name) for name in names)

    def struct(self, span: Span, *fields: tuple[Ident, TypeName]) -> StructType:
        return StructType(fields, span)

    def field(self, span: Span, name: Token, element: TypeName) -> tuple[Ident, TypeName]:
        return self._ident(name), element

    def clauses(self, span: Span, *clauses: ClauseDecl) -> tuple[ClauseDecl, ...]:
        return clauses

    def clause(self, span: Span, name: Ident, *arguments: Expression | Star) -> ClauseDecl:
        return ClauseDecl(name, arguments, span)

    def boundary(self, span: Span, name: Ident, mode: Ident, value: Expression | None) -> ClauseDecl:
        first = Name(mode.name, mode.span)
        return ClauseDecl(name, (first,) if value is None else (first, value), span)

    def boundary_value(self, span: Span, value: Expression | None = None) -> Expression | None:
        return value

    def star(self, span: Span) -> Star:
        return Star(span)

    # Statements

    def assignment(
        self, span: Span, target: Indexed, value: Expression, ranges: tuple[RangeClause, ...]
    ) -> AssignStatement:
        return AssignStatement(target, value, ranges, span)

    def name_target(self, span: Span, name: Token) -> Indexed:
        return Indexed(self._ident(name), None, None, span)

    def let(
        self,
        span: Span,
        name: Token,
        axes: tuple[Expression, ...],
        value: Expression,
        ranges: tuple[RangeClause, ...],
    ) -> LetStatement:
        return LetStatement(self._ident(name), axes, value, ranges, span)

    def expressions(self, span: Span, *expressions: Expression) -> tuple[Expression, ...]:
        return expressions

    def let_axes(self, span: Span, axes: tuple[Expression, ...] = ()) -> tuple[Expression, ...]:
        return axes

    def for_ranges(self, span: Span, *ranges: RangeClause) -> tuple[RangeClause, ...]:
        return ranges

    def range(self, span: Span, axis: Token, lower: Expression, upper: Expression) -> RangeClause:
        return RangeClause(self._ident(axis), lower, upper, False, span)

    def inclusive_range(self, span: Span, axis: Token, lower: Expression, upper: Expression) -> RangeClause:
        return RangeClause(self._ident(axis), lower, upper, True, span)

    # Expressions

    def binary(self, span: Span, left: Expression, operator: Token, right: Expression) -> BinaryExpression:
        return BinaryExpression(operator.text, left, right, span)

    def unary(self, span: Span, operator: Token, operand: Expression) -> UnaryExpression:
        return UnaryExpression(operator.text, operand, span)

    def compare_op(self, span: Span, token: Token) -> Token:
        return token

    add_op = mul_op = sign = compare_op

    def group(self, span: Span, inner: Expression) -> Expression:
        return replace(inner, span=span)

    def name(self, span: Span, name: Token) -> Name:
        return Name(name.text, span)

    def member(self, span: Span, base: Token, field: Token) -> Indexed:
        return Indexed(self._ident(base), None, self._ident(field), span)

    def indices(self, span: Span, *indices: Expression | RangeClause) -> tuple[Expression | RangeClause, ...]:
        return indices

    def indexed(
        self,
        span: Span,
        base: Token,
        indices: tuple[Expression | RangeClause, ...],
        field: Token | None = None,
    ) -> Indexed:
        kept: list[Expression] = []
        for index in indices:
            if not isinstance(index, RangeClause):
                kept.append(index)
                continue
            self._report(
                "TG0151",
                "a range cannot stand in an index",
                index.span,
                f"write `{base.text}[…, {index.axis.name}, …]` and end the statement with `for {index.span.text}`, or "
                f"reduce over it: `sum[{index.span.text}](…)`",
            )
        return Indexed(self._ident(base), tuple(kept), self._ident(field) if field else None, span)

    def reduction(
        self, span: Span, function: Token, axes: tuple[Expression | RangeClause, ...], body: Expression
    ) -> ReduceExpression:
        ranges: list[RangeClause] = []
        for axis in axes:
            if isinstance(axis, RangeClause):
                ranges.append(axis)
            elif isinstance(axis, Name):
                ranges.append(RangeClause(Ident(axis.name, axis.span), None, None, False, axis.span))
            else:
                self._report(
                    "TG0150",
                    f"`{function.text}[…](…)` is a reduction, and this is not an axis",
                    axis.span,
                    f"name the axes, with a range where one is needed: `{function.text}[k](…)`, "
                    f"`{function.text}[k in 0..8](…)`",
                )
        if not axes:
            self._report(
                "TG0150",
                f"the reduction `{function.text}[](…)` names no axis",
                Span(self.source, function.start, function.end),
                f"name the axes to reduce over: `{function.text}[k](…)`",
            )
        return ReduceExpression(self._ident(function), tuple(ranges), body, span)

    def call(self, span: Span, function: Token, arguments: tuple[Expression, ...]) -> CallExpression:
        return CallExpression(self._ident(function), arguments, span)

    def integer(self, span: Span, token: Token) -> IntLiteral:
        digits = token.text.replace("_", "")
        return IntLiteral(int(digits) if len(digits) <= 20 else 0, span)

    def float(self, span: Span, token: Token) -> FloatLiteral:
        return FloatLiteral(float(token.text) if len(token.text) <= 400 else 0.0, span)

    def bytes(self, span: Span, token: Token) -> BytesLiteral:
        unit = next(u for u in ("KiB", "MiB", "GiB", "B") if token.text.endswith(u))
        digits = token.text[: -len(unit)].replace("_", "")
        return BytesLiteral(int(digits) * _UNITS[unit] if len(digits) <= 20 else 0, span)

    def true(self, span: Span, token: Token) -> BoolLiteral:
        return BoolLiteral(True, span)

    def false(self, span: Span, token: Token) -> BoolLiteral:
        return BoolLiteral(False, span)

    # Schedules

    def schedule(self, span: Span, name: Token, directives: tuple[Any, ...]) -> ScheduleDecl:
        return ScheduleDecl(self._ident(name), directives, span)

    def directives(self, span: Span, *directives: Any) -> tuple[Any, ...]:
        return tuple(d for d in directives if d is not None)

    def settings(self, span: Span, keyword: Ident, *settings: Setting) -> SettingsDirective:
        return SettingsDirective(keyword, settings, span)

    def setting(self, span: Span, name: Token, value: SetValue) -> Setting:
        return Setting(self._ident(name), value, span)

    def axis(self, span: Span, *names: Token) -> Ident:
        return Ident("*".join(n.text for n in names), span)

    def axis_setting(self, span: Span, axis: Ident, value: SetValue) -> Setting:
        return Setting(axis, value, span)

    def bare_setting(self, span: Span, value: SetValue) -> Setting:
        return Setting(None, value, span)

    def value(self, span: Span, *choices: Expression) -> SetValue:
        return SetValue(choices, span)

    def words(self, span: Span, *words: Ident) -> tuple[Ident, ...]:
        return words

    def pad(self, span: Span, value: SetValue) -> tuple[str, SetValue]:
        return "pad", value

    def buffers(self, span: Span, value: SetValue) -> tuple[str, SetValue]:
        return "buffers", value

    def placed(self, span: Span, token: Token) -> tuple[str, Ident]:
        return token.text, self._ident(token)

    def asynchronous(self, span: Span, token: Token) -> tuple[str, Ident]:
        return "async", self._ident(token)

    def stage(self, span: Span, tensors: tuple[Ident, ...], *options: tuple[str, Any]) -> StageStatement:
        given: dict[str, Any] = {}
        for name, value in options:
            if name in given:
                self._report("TG0152", f"`{name}` is given twice", value.span, "keep one of them")
            given[name] = value
        placed = given.get("swizzle") or given.get("auto")
        return StageStatement(
            tensors, given.get("pad"), placed, given.get("buffers"), given.get("async"), span
        )

    def keep(self, span: Span, *parts: Any) -> KeepStatement:
        *tensors, memory = parts
        return KeepStatement(tensors[0] if tensors else (), memory, span)

    def otherwise(self, span: Span) -> OtherwiseStatement:
        return OtherwiseStatement(span)

    def choose(self, span: Span, keyword: Ident, choices: tuple[Ident, ...]) -> ChoiceDirective:
        return ChoiceDirective(keyword, choices, span)

    def raster(self, span: Span, axes: tuple[Ident, ...], group: SetValue | None = None) -> RasterStatement:
        return RasterStatement(axes, group, span)

    def hint(self, span: Span, tensor: Token, choices: tuple[Ident, ...]) -> HintStatement:
        return HintStatement(self._ident(tensor), choices, span)

    # Tests and expectations

    def test(self, span: Span, *parts: tuple[bool, TestClause]) -> TestDecl:
        settings = tuple(part for is_setting, part in parts if is_setting)
        return TestDecl(settings, tuple(part for is_setting, part in parts if not is_setting), span)

    def test_setting(self, span: Span, name: Token, value: Expression) -> tuple[bool, TestClause]:
        return True, TestClause(self._ident(name), value, span)

    def test_clause(self, span: Span, keyword: Ident, value: Expression | Ident) -> tuple[bool, TestClause]:
        expression = Name(value.name, value.span) if isinstance(value, Ident) else value
        return False, TestClause(keyword, expression, span)

    def expect(self, span: Span, *parts: Any) -> ExpectDecl:
        *schedule, conditions, at = parts
        return ExpectDecl(self._ident(schedule[0]) if schedule else None, conditions, at, span)

    def conditions(self, span: Span, *conditions: ConditionExpression) -> tuple[ConditionExpression, ...]:
        return conditions

    def condition(self, span: Span, metric: Token, operator: Token, value: Expression) -> ConditionExpression:
        return ConditionExpression(self._ident(metric), operator.text, value, span)

    def at(self, span: Span, *settings: tuple[bool, TestClause]) -> tuple[TestClause, ...]:
        return tuple(setting for _, setting in settings)

    def _report(self, code: str, message: str, span: Span, help_text: str) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, helps=(help_text,)))
