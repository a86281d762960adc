"""Assignments and locals for one choice of types: targets, stores, and what the assignments of a kernel must share."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.algebra import Expr
from tilegen.dtypes import DType, Struct
from tilegen.lang import syntax
from tilegen.lang.check.conversions import store, typed
from tilegen.lang.check.domains import Domain
from tilegen.lang.check.guards import Conditions
from tilegen.lang.check.indices import index_expression
from tilegen.lang.check.one_to_one import is_one_to_one
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.reads import Reader
from tilegen.lang.check.scope import Scope
from tilegen.lang.check.symbolic import Space
from tilegen.lang.check.values import Types, ValueBuilder
from tilegen.lang.spec import Assign, Let, Role, RuntimeCondition, Tensor


@dataclass
class StatementBuilder:
    scope: Scope
    types: Types
    reader: Reader
    equal: tuple[tuple[Expr, Expr], ...]
    problems: Problems
    conditions: list[RuntimeCondition]

    def builder(self, domain: Domain, member: str | None = None) -> ValueBuilder:
        return ValueBuilder(self.scope, self.types, domain, self.reader, self.problems, member)

    def let(self, node: syntax.LetStatement, domain: Domain) -> Let | None:
        value = self.builder(domain).build(node.value)
        if value is None:
            return None
        settled = typed(value)
        self.types.lets[node.name.name] = settled.dtype
        return Let(node.name.name, domain.axes, settled, node.span)

    def assign(self, node: syntax.AssignStatement, domain: Domain) -> tuple[Assign, ...]:
        """One `Assign`, or one per member where whole structs are assigned; none after an error."""
        tensor = self.types.tensors.get(node.target.base.name)
        if tensor is None:
            return ()
        indices = self._target(node, tensor, domain)
        if indices is None:
            return ()
        if isinstance(tensor.element, Struct) and node.target.field is None:
            members = [(f.name, f.dtype) for f in tensor.element.fields]
            if not self._struct_types_agree(node, tensor):
                return ()
            found = [self._one(node, tensor, name, dtype, indices, domain, name) for name, dtype in members]
            return tuple(a for a in found if a is not None)
        dtype = self.reader.member_type(tensor, node.target, None)
        if dtype is None:
            return ()
        field = None if node.target.field is None else node.target.field.name
        assign = self._one(node, tensor, field, dtype, indices, domain, None)
        return () if assign is None else (assign,)

    def _one(
        self,
        node: syntax.AssignStatement,
        tensor: Tensor,
        field: str | None,
        dtype: DType,
        indices: tuple[Expr, ...],
        domain: Domain,
        member: str | None,
    ) -> Assign | None:
        value = self.builder(domain, member).build(node.value)
        if value is None:
            return None
        what = f"`{tensor.name}`" if field is None else f"`{tensor.name}[…].{field}`"
        stored = store(value, dtype, what, node.value.span, self.problems)
        return None if stored is None else Assign(tensor.name, indices, field, domain.axes, stored, node.span)

    def _struct_types_agree(self, node: syntax.AssignStatement, tensor: Tensor) -> bool:
        """`q[i] = p[i]` needs the same members with the same types."""
        for read in whole_structs(node.value):
            other = self.types.tensors.get(read.base.name)
            if (
                other is not None
                and isinstance(other.element, Struct)
                and _members(other) != _members(tensor)
            ):
                self.problems.error(
                    "TG0410",
                    f"`{read.base.name}` and `{tensor.name}` hold different structs",
                    read.span,
                    note=f"`{tensor.name}` holds {tensor.element}; `{read.base.name}` holds {other.element}",
                    help="assign the members one by one",
                )
                return False
        return True

    def _target(
        self, node: syntax.AssignStatement, tensor: Tensor, domain: Domain
    ) -> tuple[Expr, ...] | None:
        """Indices of the left-hand side, inside the tensor and one-to-one."""
        builder = self.builder(domain)
        builder.writing = True
        indices: list[Expr] = []
        for d, index_node in enumerate(node.target.indices or ()):
            index = index_expression(index_node, self.scope, self.problems)
            if index is None:
                return None
            verdict = self.reader.prover.ask(index, 0, tensor.extents[d], domain.axes, Conditions())
            if self.reader.settle_verdict(builder, tensor, d, index, index_node, verdict) is None:
                return None
            indices.append(index)
        return tuple(indices) if self._one_to_one(node, tuple(indices), domain) else None

    def _one_to_one(self, node: syntax.AssignStatement, indices: tuple[Expr, ...], domain: Domain) -> bool:
        space = Space(domain.axes, (), self.equal, frozenset(self.scope.scalars))
        outcome = is_one_to_one(indices, space)
        if not outcome and self.scope.defaults:
            space = space.replace_sizes(self.scope.defaults)
            from tilegen.algebra import substitute

            outcome = is_one_to_one([substitute(i, dict(self.scope.defaults)) for i in indices], space)
        if outcome is True:
            return True
        if isinstance(outcome, Expr):
            condition = RuntimeCondition(
                outcome, domain.axes, f"`{node.target.span.text}` writes every element once", node.target.span
            )
            if condition not in self.conditions:
                self.conditions.append(condition)
            return True
        self.problems.error(
            "TG0310",
            f"`{node.target.span.text}` "
            + (
                "writes some element twice"
                if outcome is False
                else "cannot be shown to write every element once"
            ),
            node.target.span,
            note="the left-hand side must be one-to-one: two points of the axes never write one element",
            help="let each axis index a dimension of its own, or reduce over the axis on the right",
        )
        return False


def _members(tensor: Tensor) -> list[tuple[str, DType]]:
    return [(f.name, f.dtype) for f in tensor.element.fields] if isinstance(tensor.element, Struct) else []


def whole_structs(node: syntax.Expression) -> list[syntax.Indexed]:
    """Elements read whole on the right of a struct assignment."""
    match node:
        case syntax.Indexed(field=None):
            return [node]
        case syntax.CallExpression(function=syntax.Ident(name="where"), arguments=(_, then, otherwise)):
            return whole_structs(then) + whole_structs(otherwise)
        case _:
            return []


def check_target_role(node: syntax.AssignStatement, scope: Scope, problems: Problems) -> bool:
    """Only `out` and `inout` tensors are written."""
    base = node.target.base
    tensor = scope.tensors.get(base.name)
    if tensor is None:
        if base.name in scope.broken:
            return False
        kind = scope.declared.get(base.name)
        from tilegen.lang.check.problems import suggestion

        problems.error(
            "TG0207" if kind is None else "TG0212",
            f"unknown tensor `{base.name}`"
            if kind is None
            else f"`{base.name}` is a {kind[0]} and cannot be assigned",
            base.span,
            help=suggestion(
                base.name, [n for n, t in scope.tensors.items() if t.role is not Role.IN], "tensors"
            )
            if kind is None
            else "assign to a tensor that is `out` or `inout`"
            + ("; a local is defined with `let`" if kind[0] == "local" else ""),
        )
        return False
    if tensor.role is Role.IN:
        problems.error(
            "TG0212",
            f"`{base.name}` is an `in` tensor and cannot be written",
            base.span,
            labels=[(tensor.span, "declared here")],
            help="declare it `out`, or `inout` if its old values are read",
        )
        return False
    return True
