"""Tensor declarations: names, roles and extents once per kernel, element types and layouts once per choice of types."""

from __future__ import annotations

from tilegen.algebra import Expr
from tilegen.dtypes import DTYPES, DType, ElementType, struct_of
from tilegen.lang import syntax
from tilegen.lang.check.header import declare, require_type
from tilegen.lang.check.indices import size_expression
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Fact, NameKind, Scope, TensorName
from tilegen.lang.check.tensors.layouts import resolve_layout
from tilegen.lang.spec import Role, Tensor


def declare_tensors(kernel: syntax.KernelDecl, scope: Scope, problems: Problems) -> None:
    """Enter every tensor with its extents into the scope."""
    for item in kernel.items:
        if not isinstance(item, syntax.TensorDecl):
            continue
        _require_element(item.type, scope, problems)
        extents = [_extent(e, scope, problems) for e in item.extents]
        known = tuple(e for e in extents if e is not None)
        for name in item.names:
            if not declare(scope, name, NameKind.TENSOR, problems):
                continue
            if len(known) == len(extents):
                scope.tensors[name.name] = TensorName(name.name, Role(item.role.name), item, known, name.span)
            else:
                scope.doubt(Fact.MEANING, name.name)


def _require_element(expression: syntax.TypeExpression, scope: Scope, problems: Problems) -> None:
    if isinstance(expression, syntax.TypeName):
        require_type(expression, scope, problems)
        return
    members: set[str] = set()
    for name, type_name in expression.fields:
        require_type(type_name, scope, problems)
        if name.name in members:
            problems.report("TG0208", name.span, name=name.name)
        members.add(name.name)


def _extent(expression: syntax.Expression, scope: Scope, problems: Problems) -> Expr | None:
    extent = size_expression(expression, scope, problems, "TG0206")
    if extent is not None and extent.constant is not None and extent.constant < 0:
        problems.report("TG0206.negative", expression.span, extent=extent)
        return None
    return extent


def resolve_tensors(
    scope: Scope, types: dict[str, DType], problems: Problems
) -> tuple[tuple[Tensor, ...], dict[str, DType]]:
    """The tensors and the types of the scalar parameters for one choice of types. Those that failed are missing."""
    tensors = []
    for entry in scope.tensors.values():
        element = _element(entry.declaration.type, types)
        tensor = None if element is None else resolve_layout(entry, element, scope, problems)
        if tensor is not None:
            tensors.append(tensor)
    scalars = {name: _type(scalar.type, types) for name, scalar in scope.scalars.items()}
    return tuple(tensors), {name: dtype for name, dtype in scalars.items() if dtype is not None}


def _type(name: syntax.TypeName, types: dict[str, DType]) -> DType | None:
    return types.get(name.name) or DTYPES.get(name.name)


def _element(expression: syntax.TypeExpression, types: dict[str, DType]) -> ElementType | None:
    if isinstance(expression, syntax.TypeName):
        return _type(expression, types)
    members = {name.name: dtype for name, of in expression.fields if (dtype := _type(of, types)) is not None}
    whole = members and len(members) == len(expression.fields)
    return struct_of(tuple(members.items())) if whole else None
