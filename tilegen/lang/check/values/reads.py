"""Reads of tensors and locals: members, data-dependent indices, and what their bounds proofs come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilegen.algebra import Expr
from tilegen.dtypes import DType, Struct
from tilegen.lang import syntax
from tilegen.lang.check.header import whole_number
from tilegen.lang.check.indices import index_expression, leaves
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.proofs.bounds import BoundsProver, Proved, Refuted, Undecided, Verdict
from tilegen.lang.check.values.conversions import Operand, typed
from tilegen.lang.near import near_to
from tilegen.lang.source import Span
from tilegen.lang.spec import LocalRead, Read, RuntimeBound, Tensor, Value

if TYPE_CHECKING:
    from tilegen.lang.check.values.build import ValueBuilder


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
        indices: list[Expr | Value] = []
        tensor = builder.types.tensors.get(node.base.name)
        for index in node.indices or ():
            folded = index_expression(index, builder.scope, self.problems)
            if folded is not None:
                if not self._integer_scalars(builder, index):
                    return None
                indices.append(folded)
                continue
            value = builder.build(index)
            if value is None:
                return None
            if tensor is not None and not typed(value).dtype.is_integer:
                name = None if tensor.boundary is not None else tensor.name
                case = "TG0313.value" if name is None else "TG0313.unbounded"
                self.problems.report(
                    case, index.span, type=typed(value).dtype, text=index.span.text, name=name
                )
                return None
            indices.append(typed(value))
        return tuple(indices)

    def _integer_scalars(self, builder: ValueBuilder, index: syntax.Expression) -> bool:
        for leaf in leaves(index):
            if not isinstance(leaf, syntax.Name) or leaf.name not in builder.scope.scalars:
                continue
            dtype, declared = builder.types.scalars.get(leaf.name), builder.scope.scalars[leaf.name]
            if dtype is None or not dtype.is_integer:
                if dtype is not None:
                    whole = declared.default is None or whole_number(declared.default) is not None
                    place = declared.type.span if whole else None
                    self.problems.report("TG0313.scalar", leaf.span, name=leaf.name, type=dtype, place=place)
                return False
        return True

    def _local(
        self, builder: ValueBuilder, node: syntax.Indexed, indices: tuple[Expr | Value, ...] | None
    ) -> Operand | None:
        name = node.base.name
        dtype = builder.types.lets.get(name)
        if node.field is not None:
            self.problems.report(
                "TG0214.local", node.field.span, name=name, text=_without_member(node), place=node.span
            )
            return None
        if dtype is None or indices is None:
            return None
        plain = []
        for index, syntax_index, axis in zip(
            indices, node.indices or (), builder.scope.lets[name], strict=True
        ):
            if not isinstance(index, Expr):
                self.problems.report("TG0308.local", syntax_index.span, name=name)
                return None
            verdict = self.prover.ask(index, axis.lower, axis.upper, builder.axes, builder.conditions)
            if not isinstance(verdict, Proved) or verdict.by_defaults:
                extent = f"{axis.lower}..{axis.upper}"
                self._outside("TG0309.local", builder, name, syntax_index, extent, verdict)
                return None
            plain.append(index)
        return LocalRead(name, tuple(plain), dtype, node.span)

    def member_type(self, tensor: Tensor, node: syntax.Indexed, member: str | None) -> DType | None:
        """The type of the member that `node` names, or of `member` where a whole struct is assigned."""
        element = tensor.element
        if not isinstance(element, Struct):
            if node.field is not None:
                self.problems.report(
                    "TG0214.plain",
                    node.field.span,
                    name=tensor.name,
                    element=element,
                    text=_without_member(node),
                    place=node.span,
                )
            elif member is not None:
                self.problems.report("TG0410.plain", node.span, name=tensor.name, element=element)
            else:
                return element
            return None
        name = member if node.field is None else node.field.name
        names = tuple(f.name for f in element.fields)
        if name is None:
            members = tuple(f".{n}" for n in names)
            self.problems.report(
                "TG0214.struct", node.span, name=tensor.name, members=members, text=node.span.text
            )
            return None
        found = element.field(name)
        if found is None:
            place = node.span if node.field is None else node.field.span
            self.problems.report("TG0213", place, tensor=tensor.name, name=near_to(name, names))
            return None
        return found.dtype

    def _dimension(
        self, builder: ValueBuilder, tensor: Tensor, d: int, index: Expr | Value, node: syntax.Expression
    ) -> bool | None:
        """Whether the read needs the tensor's boundary in this dimension; None after an error."""
        if not isinstance(index, Expr):
            if tensor.boundary is not None:
                return True
            self.problems.report(
                "TG0308.tensor", node.span, name=tensor.name, end=_end_of_declaration(builder, tensor.name)
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
                case = "TG0309.write" if builder.writing else "TG0309.read"
                self._outside(case, builder, tensor.name, node, tensor.extents[d], verdict)
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

    def _outside(
        self,
        case: str,
        builder: ValueBuilder,
        name: str,
        node: syntax.Expression,
        extent: Expr | str,
        verdict: Verdict,
    ) -> None:
        shown = verdict if isinstance(verdict, Refuted) else None
        self.problems.report(
            case,
            node.span,
            name=name,
            text=node.span.text,
            extent=extent,
            end=_end_of_declaration(builder, name),
            index=None if shown is None else shown.index,
            sizes=None if shown is None else _values(shown.sizes),
            axes=None if shown is None else _values(shown.axes),
            lower=None if shown is None else shown.lower,
            last=None if shown is None or shown.upper <= shown.lower else shown.upper - 1,
        )


def _values(of: tuple[tuple[str, int], ...]) -> str | None:
    return ", ".join(f"{name} = {value}" for name, value in of) or None


def _end_of_declaration(builder: ValueBuilder, name: str) -> Span | None:
    """Where another clause of a tensor goes."""
    if name not in builder.scope.tensors:
        return None
    span = builder.scope.tensors[name].declaration.span
    return Span(span.source, span.end, span.end)


def _without_member(node: syntax.Indexed) -> str:
    assert node.field is not None
    return node.span.source.text[node.span.start : node.field.span.start - 1].rstrip(". ")
