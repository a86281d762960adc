"""Types of expressions: syntax to `spec.Value`, every implicit conversion made explicit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilegen.dtypes import BOOL, I64, DType
from tilegen.lang import syntax
from tilegen.lang.check.domains import Domain
from tilegen.lang.check.indices import DividesByZero, fold, names_in
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.proofs.guards import Conditions, condition_of
from tilegen.lang.check.scope import Scope
from tilegen.lang.check.values.calls import build_call
from tilegen.lang.check.values.conversions import Free, Operand, common_type, settle, typed
from tilegen.lang.check.values.operators import build_binary, build_unary
from tilegen.lang.check.values.reads import Reader
from tilegen.lang.check.values.reductions import build_reduction
from tilegen.lang.spec import Axis, IndexValue, LocalRead, Reduce, ScalarRead, Tensor, Value, Where


@dataclass
class Types:
    """What one choice of types gives the names of a kernel."""

    choices: Mapping[str, DType]
    tensors: Mapping[str, Tensor]
    scalars: Mapping[str, DType]
    lets: dict[str, DType] = field(default_factory=dict)


class ValueBuilder:
    """Builds the values of one statement. `member` selects a field where whole structs are assigned."""

    def __init__(
        self,
        scope: Scope,
        types: Types,
        domain: Domain,
        reader: Reader,
        problems: Problems,
        member: str | None = None,
    ) -> None:
        self.scope = scope
        self.types = types
        self.domain = domain
        self.reader = reader
        self.problems = problems
        self.member = member
        self.axes: list[Axis] = list(domain.axes)
        self.conditions = Conditions()
        self.writing = False

    def build(self, node: syntax.Expression) -> Operand | None:
        try:
            index = self._index_value(node)
        except DividesByZero as error:
            error.report(self.problems)
            return None
        if index is not None:
            return index
        match node:
            case syntax.IntLiteral() | syntax.FloatLiteral() | syntax.BoolLiteral():
                return Free(node.value)
            case syntax.Name():
                return self._name(node)
            case syntax.Indexed():
                return self._indexed(node)
            case syntax.UnaryExpression():
                return build_unary(self, node)
            case syntax.BinaryExpression():
                return build_binary(self, node)
            case syntax.CallExpression():
                if node.function.name == "where" and len(node.arguments) == 3:
                    return self._where(node)
                return build_call(self, node)
            case syntax.ReduceExpression():
                return self._reduce(node)
            case _:
                return None

    def _index_value(self, node: syntax.Expression) -> IndexValue | None:
        """Arithmetic of axes, sizes and integers alone is index arithmetic. Raises DividesByZero."""
        if isinstance(node, syntax.IntLiteral):
            return None
        scope = self.scope
        index = fold(node, lambda name: name in scope.sizes or scope.is_axis(name), scope.defaults)
        if index is None or (index.constant is not None and not any(names_in(node))):
            return None
        return IndexValue(index, I64)

    def _name(self, node: syntax.Name) -> Operand | None:
        name = node.name
        if name in self.scope.scalars:
            dtype = self.types.scalars.get(name)
            return None if dtype is None else ScalarRead(name, dtype)
        if name in self.scope.lets:
            dtype = self.types.lets.get(name)
            return None if dtype is None else LocalRead(name, (), dtype, node.span)
        if name in self.scope.tensors:
            ident = syntax.Ident(name, node.span)
            return self._indexed(syntax.Indexed(ident, (), None, node.span))
        return None

    def _indexed(self, node: syntax.Indexed) -> Operand | None:
        member, self.member = self.member, None
        value = self.reader.read(self, node, member)
        self.member = member
        return value

    def _where(self, node: syntax.CallExpression) -> Operand | None:
        condition_node, then_node, else_node = node.arguments
        member, self.member = self.member, None
        condition = self.build(condition_node)
        self.member = member
        outside = self.conditions
        facts = condition_of(condition)
        self.conditions = outside.and_also(facts)
        then = self.build(then_node)
        self.conditions = outside.and_also(facts.negated())
        otherwise = self.build(else_node)
        self.conditions = outside
        if condition is None or then is None or otherwise is None:
            return None
        if typed(condition).dtype is not BOOL:
            condition_type = typed(condition).dtype
            self.problems.report(
                "TG0411", condition_node.span, type=condition_type, text=condition_node.span.text
            )
            return None
        dtype = common_type([then, otherwise])
        a = settle(then, dtype, then_node.span, self.problems)
        b = settle(otherwise, dtype, else_node.span, self.problems)
        if a is None or b is None:
            return None
        return Where(typed(condition), a, b, dtype)

    def _reduce(self, node: syntax.ReduceExpression) -> Reduce | Value | None:
        axes = self.domain.reductions[id(node)]
        self.axes.extend(axes)
        body = self.build(node.body)
        del self.axes[len(self.axes) - len(axes) :]
        return None if body is None else build_reduction(node, axes, body, self.problems)
