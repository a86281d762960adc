"""Tensors in constant memory and read through textures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilegen.algebra import ONE, Expr, substitute
from tilegen.dtypes import F16, F32, DType, Kind
from tilegen.lang import syntax
from tilegen.lang.check.problems import Problems
from tilegen.lang.near import near_to
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
    size = constant_bytes(tensor, defaults)
    if tensor.role is not Role.IN:
        problems.report("TG0509.written", clause.name.span, name=tensor.name)
    elif size is not None and size > CONSTANT_MEMORY:
        over = size - CONSTANT_MEMORY
        problems.report(
            "TG0509.size", clause.name.span, name=tensor.name, size=size, most=CONSTANT_MEMORY, over=over
        )
    return replace(tensor, constant=True)


def check_constant_total(tensors: Sequence[Tensor], defaults: Mapping[str, int], problems: Problems) -> None:
    """All constant tensors of a kernel share the 64 KiB."""
    sizes = {t.name: constant_bytes(t, defaults) or 0 for t in tensors if t.constant}
    total = sum(sizes.values())
    if total > CONSTANT_MEMORY and all(size <= CONSTANT_MEMORY for size in sizes.values()):
        last = [t for t in tensors if t.constant][-1]
        each = ", ".join(f"`{name}`: {size}" for name, size in sizes.items())
        problems.report("TG0509.total", last.span, total=total, most=CONSTANT_MEMORY, sizes=each)


def resolve_texture(
    clause: syntax.ClauseDecl | None, tensor: Tensor, boundary: syntax.ClauseDecl | None, problems: Problems
) -> Tensor:
    """A texture's address mode is also the tensor's boundary."""
    if clause is None:
        return tensor
    words = [a.name if isinstance(a, syntax.Name) else "" for a in clause.arguments]
    if len(words) != 2 or words[0] not in ("nearest", "linear"):
        problems.report("TG0510.form", clause.span)
        return tensor
    if words[1] not in ADDRESS_MODES:
        problems.report("TG0510.mode", clause.arguments[1].span, name=near_to(words[1], ADDRESS_MODES))
        return tensor
    _texture_fits(clause, words[0], tensor, problems)
    mode = Boundary(words[1])
    if boundary is not None and tensor.boundary is not mode:
        problems.report("TG0502.mode", clause.arguments[1].span, mode=mode, clause=boundary.span)
    return replace(tensor, texture=Texture(words[0], words[1]), boundary=mode)


def _texture_fits(clause: syntax.ClauseDecl, filtering: str, tensor: Tensor, problems: Problems) -> None:
    place, element = clause.name.span, tensor.element
    if tensor.role is not Role.IN:
        problems.report("TG0510.written", place, name=tensor.name, clause=clause.span)
    elif not 1 <= tensor.rank <= 3:
        problems.report("TG0510.rank", place, name=tensor.name, rank=tensor.rank, clause=clause.span)
    elif not isinstance(element, DType) or not (
        element in (F32, F16) or (element.is_integer and element.size <= 4)
    ):
        problems.report("TG0510.element", place, element=element, clause=clause.span)
    elif filtering == "linear" and element.kind is not Kind.FLOAT:
        problems.report("TG0510.linear", clause.arguments[0].span, name=tensor.name, element=element)
