"""Tensor declarations: names, roles and extents once per kernel, element types and layouts once per choice of types."""

from __future__ import annotations

from tilegen.algebra import Expr
from tilegen.dtypes import DType, ElementType, struct_of
from tilegen.lang import syntax
from tilegen.lang.check.header import declare, resolve_type
from tilegen.lang.check.indices import size_expression
from tilegen.lang.check.layouts import resolve_layout
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Scope, TensorName
from tilegen.lang.spec import Role, Tensor


def declare_tensors(kernel: syntax.KernelDecl, scope: Scope, problems: Problems) -> None:
    """Enter every tensor with its extents into the scope."""
    for item in kernel.items:
        if not isinstance(item, syntax.TensorDecl):
            continue
        extents = [_extent(e, scope, problems) for e in item.extents]
        known = tuple(e for e in extents if e is not None)
        for name in item.names:
            if not declare(scope, name, "tensor", problems):
                continue
            if len(known) < len(extents):
                scope.broken.add(name.name)
                continue
            scope.tensors[name.name] = TensorName(name.name, Role(item.role.name), item, known, name.span)


def _extent(expression: syntax.Expression, scope: Scope, problems: Problems) -> Expr | None:
    extent = size_expression(expression, scope, problems, "TG0206", "an extent")
    if extent is not None and extent.constant is not None and extent.constant < 0:
        problems.error(
            "TG0206",
            f"an extent cannot be negative, and this is {extent.constant}",
            expression.span,
            help="write an extent of 0 or more",
        )
        return None
    return extent


def resolve_tensors(
    scope: Scope, types: dict[str, DType], problems: Problems
) -> tuple[tuple[Tensor, ...], dict[str, DType]]:
    """The tensors and the types of the scalar parameters for one choice of types. Tensors that failed are missing."""
    tensors = []
    elements: dict[int, ElementType | None] = {}
    for entry in scope.tensors.values():
        declaration = entry.declaration
        if id(declaration) not in elements:
            elements[id(declaration)] = resolve_element(declaration.type, types, problems)
        element = elements[id(declaration)]
        if element is None:
            continue
        tensor = resolve_layout(entry, element, scope, problems)
        if tensor is not None:
            tensors.append(tensor)
    scalars = {}
    for name, scalar in scope.scalars.items():
        dtype = resolve_type(scalar.type, types, problems)
        if dtype is not None:
            scalars[name] = dtype
    return tuple(tensors), scalars


def resolve_element(
    expression: syntax.TypeExpression, types: dict[str, DType], problems: Problems
) -> ElementType | None:
    if isinstance(expression, syntax.TypeName):
        return resolve_type(expression, types, problems)
    members: dict[str, DType] = {}
    failed = False
    for name, type_name in expression.fields:
        dtype = resolve_type(type_name, types, problems)
        if name.name in members:
            problems.error(
                "TG0208", f"the struct has two members `{name.name}`", name.span, help="rename one of them"
            )
            failed = True
        elif dtype is None:
            failed = True
        else:
            members[name.name] = dtype
    if not failed and not members:
        problems.error(
            "TG0208",
            "a struct needs a member",
            expression.span,
            help="write a name and a type: `struct { x: f32 }`",
        )
        failed = True
    return None if failed else struct_of(tuple(members.items()))
