"""Tensors in constant memory and read through textures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilegen.algebra import ONE, Expr, substitute
from tilegen.dtypes import F16, F32, DType, Kind
from tilegen.lang import syntax
from tilegen.lang.check.problems import Problems, counted, suggestion
from tilegen.lang.spec import Boundary, Role, Tensor, Texture

CONSTANT_MEMORY = 64 * 1024

# NumPy's names for the address modes of a texture unit: border, clamp, mirror, wrap.
ADDRESS_MODES = ("constant", "edge", "symmetric", "wrap")


def span_elements(tensor: Tensor) -> Expr:
    """Elements from the first to the last in memory (strides positive), the offset included."""
    total = tensor.offset + 1
    for extent, stride in zip(tensor.extents, tensor.strides, strict=True):
        total = total + (extent - 1) * (ONE if stride is None else stride)
    return total


def constant_bytes(tensor: Tensor, sizes: Mapping[str, int]) -> int | None:
    """Bytes of a tensor for these sizes, None where they do not say."""
    elements = substitute(span_elements(tensor), dict(sizes)).constant
    return None if elements is None else max(0, elements) * tensor.element.size


def resolve_constant(
    clause: syntax.ClauseDecl | None, tensor: Tensor, defaults: Mapping[str, int], problems: Problems
) -> Tensor:
    if clause is None:
        return tensor
    if tensor.role is not Role.IN:
        problems.error(
            "TG0509",
            f"`{tensor.name}` is written, and constant memory is only read",
            clause.name.span,
            help="leave the clause out, or make the tensor an `in`",
        )
    size = constant_bytes(tensor, defaults)
    if size is not None and size > CONSTANT_MEMORY:
        problems.error(
            "TG0509",
            f"`{tensor.name}` has {size} bytes, and constant memory has {CONSTANT_MEMORY}",
            clause.name.span,
            note=f"{size - CONSTANT_MEMORY} bytes too many",
            help="leave `constant` out: the tensor is then read through the cache",
        )
    return replace(tensor, constant=True)


def check_constant_total(tensors: Sequence[Tensor], defaults: Mapping[str, int], problems: Problems) -> None:
    """All constant tensors of a kernel share the 64 KiB."""
    known = [(t, constant_bytes(t, defaults)) for t in tensors if t.constant]
    total = sum(size or 0 for _, size in known)
    if total > CONSTANT_MEMORY and all((size or 0) <= CONSTANT_MEMORY for _, size in known):
        problems.error(
            "TG0509",
            f"the constant tensors have {total} bytes together, and constant memory has {CONSTANT_MEMORY}",
            known[-1][0].span,
            note=", ".join(f"`{t.name}` has {size}" for t, size in known if size is not None),
            help="leave `constant` out of one of them",
        )


def resolve_texture(
    clause: syntax.ClauseDecl | None, tensor: Tensor, bounded: bool, problems: Problems
) -> Tensor:
    """A texture's address mode is also the tensor's boundary."""
    if clause is None:
        return tensor
    words = [a.name if isinstance(a, syntax.Name) else "" for a in clause.arguments]
    if len(words) != 2 or words[0] not in ("nearest", "linear"):
        problems.error(
            "TG0510",
            "`texture` takes a filter and an address mode",
            clause.span,
            help="write `texture(nearest, edge)` or `texture(linear, edge)`",
        )
        return tensor
    if words[1] not in ADDRESS_MODES:
        problems.error(
            "TG0510",
            f"unknown address mode `{words[1]}`",
            clause.arguments[1].span,
            help=suggestion(words[1], ADDRESS_MODES, "address modes"),
        )
        return tensor
    _texture_role(clause, tensor, problems)
    _texture_element(clause, words[0], tensor, problems)
    boundary = Boundary(words[1])
    if bounded and tensor.boundary is not boundary:
        problems.error(
            "TG0502",
            f"the texture's address mode `{words[1]}` contradicts the tensor's boundary",
            clause.arguments[1].span,
            help="leave `boundary` out: the address mode says it",
        )
    return replace(tensor, texture=Texture(words[0], words[1]), boundary=boundary)


def _texture_role(clause: syntax.ClauseDecl, tensor: Tensor, problems: Problems) -> None:
    if tensor.role is not Role.IN:
        problems.error(
            "TG0510",
            f"`{tensor.name}` is written, and a texture is only read",
            clause.name.span,
            help="leave the clause out, or make the tensor an `in`",
        )
    if not 1 <= tensor.rank <= 3:
        problems.error(
            "TG0510",
            f"a texture has 1 to 3 axes, and `{tensor.name}` has {counted(tensor.rank, 'axis')}",
            clause.name.span,
            help="leave the clause out",
        )


def _texture_element(clause: syntax.ClauseDecl, filtering: str, tensor: Tensor, problems: Problems) -> None:
    element = tensor.element
    fits = element in (F32, F16) or (isinstance(element, DType) and element.is_integer and element.size <= 4)
    if not fits:
        problems.error(
            "TG0510",
            f"a texture cannot hold {element}",
            clause.name.span,
            note="textures hold f32, f16 and integers up to 32 bits",
            help="leave the clause out",
        )
    elif filtering == "linear" and isinstance(element, DType) and element.kind is not Kind.FLOAT:
        problems.error(
            "TG0510",
            f"a linear filter needs floats, and `{tensor.name}` holds {element}",
            clause.arguments[0].span,
            help="write `texture(nearest, …)`, or pass f32 or f16",
        )
