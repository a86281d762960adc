"""Assignments and locals for one choice of types: targets, stores, and what the assignments of a kernel must share."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.algebra import Expr
from tilegen.dtypes import DType, Struct
from tilegen.lang import syntax
from tilegen.lang.check.domains import Domain
from tilegen.lang.check.indices import index_expression
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.proofs.guards import Conditions
from tilegen.lang.check.proofs.one_to_one import is_one_to_one
from tilegen.lang.check.proofs.symbolic import Space
from tilegen.lang.check.scope import Fact, NameKind, Scope
from tilegen.lang.check.values.build import Types, ValueBuilder
from tilegen.lang.check.values.conversions import store, typed
from tilegen.lang.check.values.reads import Reader
from tilegen.lang.near import near_to
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
        target = tensor.name if field is None else f"{tensor.name}[…].{field}"
        stored = store(value, dtype, target, node.value.span, self.problems)
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
                self.problems.report(
                    "TG0410.structs",
                    read.span,
                    source=read.base.name,
                    target=tensor.name,
                    source_type=other.element,
                    target_type=tensor.element,
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
            condition = RuntimeCondition(outcome, domain.axes, node.target.span.text, node.target.span)
            if condition not in self.conditions:
                self.conditions.append(condition)
            return True
        case = "TG0310.shown" if outcome is False else "TG0310.unknown"
        self.problems.report(case, node.target.span, target=node.target.span.text)
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
    base, name = node.target.base, node.target.base.name
    tensor = scope.tensors.get(name)
    if tensor is not None and tensor.role is not Role.IN:
        return True
    scope.doubt(Fact.WRITTEN)
    if not scope.sure(Fact.MEANING, name):
        return False
    if tensor is not None:
        if scope.sure(Fact.ROLE, name):
            role = Role.INOUT if name in scope.reads else Role.OUT
            alone = tensor.declaration.role.span if len(tensor.declaration.names) == 1 else None
            problems.report("TG0212.in", base.span, name=name, declared=tensor.span, role=role, place=alone)
            scope.doubt(Fact.ROLE, name)
    elif name in scope.declared:
        kind = scope.declared[name][0]
        case = "TG0212.local" if kind is NameKind.LOCAL else "TG0212.kind"
        problems.report(case, base.span, name=name, kind=kind)
    else:
        written = [n for n, t in scope.tensors.items() if t.role is not Role.IN and n not in scope.targets]
        problems.report("TG0207.tensor", base.span, name=near_to(name, written))
        scope.unknown(name)
        if name == "let":  # of a local without a name
            scope.doubt(Fact.MEANING)
    return False
