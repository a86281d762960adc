"""Reads of tensors and locals: members, data-dependent indices, and what their bounds proofs come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilegen.algebra import Expr
from tilegen.dtypes import DType, Struct
from tilegen.lang import syntax
from tilegen.lang.check.bounds import BoundsProver, Proved, Refuted, Undecided, Verdict
from tilegen.lang.check.conversions import Operand, typed
from tilegen.lang.check.indices import index_expression
from tilegen.lang.check.problems import Problems, suggestion
from tilegen.lang.check.reports import report_outside
from tilegen.lang.spec import LocalRead, Read, RuntimeBound, Tensor, Value

if TYPE_CHECKING:
    from tilegen.lang.check.values import ValueBuilder


@dataclass
class Reader:
    prover: BoundsProver
    problems: Problems
    runtime_bounds: list[RuntimeBound] = field(default_factory=list)

    def read(self, builder: ValueBuilder, node: syntax.Indexed, member: str | None) -> Operand | None:
        name = node.base.name
        indices = self._indices(builder, node)
        if name in builder.scope.lets:
            return self._local(builder, node, indices)
        tensor = builder.types.tensors.get(name)
        if tensor is None or indices is None:
            return None
        dtype = self.member_type(tensor, node, member)
        if dtype is None:
            return None
        needs = [
            self._dimension(builder, tensor, d, index, syntax_index)
            for d, (index, syntax_index) in enumerate(zip(indices, node.indices or (), strict=True))
        ]
        known = tuple(n for n in needs if n is not None)
        if len(known) < len(needs):
            return None
        field_name = member if node.field is None else node.field.name
        return Read(name, indices, field_name, dtype, known, node.span)

    def _indices(self, builder: ValueBuilder, node: syntax.Indexed) -> tuple[Expr | Value, ...] | None:
        found: list[Expr | Value] = []
        for index in node.indices or ():
            folded = index_expression(index, builder.scope, self.problems)
            if folded is not None and self._integer_scalars(builder, index):
                found.append(folded)
                continue
            if folded is not None:
                return None
            value = builder.build(index)
            if value is None:
                return None
            if not typed(value).dtype.is_integer:
                self.problems.error(
                    "TG0313",
                    f"an index is an integer, and this is {typed(value).dtype}",
                    index.span,
                    help="cast: `i32(…)`",
                )
                return None
            found.append(typed(value))
        return tuple(found)

    def _integer_scalars(self, builder: ValueBuilder, index: syntax.Expression) -> bool:
        for name in _names(index):
            dtype = builder.types.scalars.get(name.name)
            if name.name in builder.scope.scalars and (dtype is None or not dtype.is_integer):
                if dtype is not None:
                    self.problems.error(
                        "TG0313",
                        f"an index is an integer, and `{name.name}` is {dtype}",
                        name.span,
                        help=f"declare it `{name.name}: i32`",
                    )
                return False
        return True

    def _local(
        self, builder: ValueBuilder, node: syntax.Indexed, indices: tuple[Expr | Value, ...] | None
    ) -> Operand | None:
        name = node.base.name
        dtype = builder.types.lets.get(name)
        if node.field is not None:
            self.problems.error(
                "TG0214",
                f"`{name}` is a local and has no members",
                node.field.span,
                help=f"leave `.{node.field.name}` out, or read the member where the local is defined",
            )
            return None
        if dtype is None or indices is None:
            return None
        plain = []
        for index, syntax_index, axis in zip(
            indices, node.indices or (), builder.scope.lets[name], strict=True
        ):
            if not isinstance(index, Expr):
                self.problems.error(
                    "TG0308",
                    f"the index of the local `{name}` depends on data",
                    syntax_index.span,
                    note="a local never reaches memory, so it can be read at indices of axes only",
                    help="write the value to a tensor in a kernel of its own",
                )
                return None
            verdict = self.prover.ask(index, axis.lower, axis.upper, builder.axes, builder.conditions)
            if not isinstance(verdict, Proved) or verdict.by_defaults:
                report_outside(self.problems, name, syntax_index, axis.lower, axis.upper, verdict, local=True)
                return None
            plain.append(index)
        return LocalRead(name, tuple(plain), dtype, node.span)

    def member_type(self, tensor: Tensor, node: syntax.Indexed, member: str | None) -> DType | None:
        element = tensor.element
        if not isinstance(element, Struct):
            if node.field is None:
                if member is None:
                    return element
                self.problems.error(
                    "TG0410",
                    f"a whole struct is assigned, and `{tensor.name}` holds {element}",
                    node.span,
                    help="assign the members one by one",
                )
                return None
            self.problems.error(
                "TG0214",
                f"`{tensor.name}` holds {element}, which has no members",
                node.field.span,
                help=f"write `{node.base.name}[…]` without `.{node.field.name}`",
            )
            return None
        name = member if node.field is None else node.field.name
        names = [f.name for f in element.fields]
        if name is None:
            self.problems.error(
                "TG0214",
                f"`{tensor.name}` holds structs, and a value is one member",
                node.span,
                help="name a member: " + ", ".join(f"`.{n}`" for n in names),
            )
            return None
        found = element.field(name)
        if found is None:
            span = node.span if node.field is None else node.field.span
            self.problems.error(
                "TG0213",
                f"`{tensor.name}` has no member `{name}`",
                span,
                help=suggestion(name, names, "members"),
            )
            return None
        return found.dtype

    def _dimension(
        self, builder: ValueBuilder, tensor: Tensor, d: int, index: Expr | Value, node: syntax.Expression
    ) -> bool | None:
        """Whether the read needs the tensor's boundary in this dimension; None after an error."""
        if not isinstance(index, Expr):
            if tensor.boundary is not None:
                return True
            self.problems.error(
                "TG0308",
                f"the index of `{tensor.name}` depends on data, and `{tensor.name}` has no boundary",
                node.span,
                note="data can hold any number, so a read outside cannot be excluded",
                help=f"add a boundary to `{tensor.name}`: `boundary edge`, or `boundary constant 0`",
            )
            return None
        verdict = self.prover.ask(index, 0, tensor.extents[d], builder.axes, builder.conditions)
        if tensor.boundary is not None:
            return not isinstance(verdict, Proved) or verdict.by_defaults
        return self.settle_verdict(builder, tensor, d, index, node, verdict)

    def settle_verdict(
        self,
        builder: ValueBuilder,
        tensor: Tensor,
        d: int,
        index: Expr,
        node: syntax.Expression,
        verdict: Verdict,
    ) -> bool | None:
        """Without a boundary: nothing, an error, or a bound for the call."""
        match verdict:
            case Refuted():
                report_outside(
                    self.problems, tensor.name, node, 0, tensor.extents[d], verdict, writes=builder.writing
                )
                return None
            case Proved(by_defaults=False):
                return False
            case Proved() | Undecided():
                for alternative in builder.conditions.alternatives:
                    bound = RuntimeBound(
                        tensor.name,
                        d,
                        index,
                        tensor.extents[d],
                        tuple(builder.axes),
                        node.span,
                        alternative,
                        isinstance(verdict, Proved),
                    )
                    if bound not in self.runtime_bounds:
                        self.runtime_bounds.append(bound)
                return False


def _names(node: syntax.Expression) -> list[syntax.Name]:
    match node:
        case syntax.Name():
            return [node]
        case syntax.UnaryExpression():
            return _names(node.operand)
        case syntax.BinaryExpression():
            return _names(node.left) + _names(node.right)
        case syntax.CallExpression():
            return [n for a in node.arguments for n in _names(a)]
        case _:
            return []
