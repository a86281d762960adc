"""One tensor of a call: the arrays passed for it, as pointers with strides, and the way to and from logical arrays.

A struct tensor is passed as `soa`: a mapping from field to array; else: one structured array, or, where all fields have
one type, an array with a last axis for the fields (`aosoa(n)`: blocks, so that the last three axes are blocks, fields
and the n elements of a block).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from tilegen.core.nest.build import pointer_names, uniform
from tilegen.dtypes import DType, ElementType, Struct
from tilegen.errors import ArgumentError, CallError, CallTypeError, coded
from tilegen.lang.spec import Aosoa, Soa, Tensor
from tilegen.numpy_types import Array, from_blocks, numpy_dtype, to_blocks
from tilegen.run.arguments import check_element_strides, check_strides
from tilegen.run.arrays import ArrayView, on_host, view


class Form(Enum):
    """How the elements of a tensor are passed."""

    PLAIN = "an array of elements"
    FIELDS = "a mapping from field to array"
    LAST_AXIS = "an array whose last axis is the fields"
    BLOCKS = "an array whose last axes are blocks, fields and the elements of a block"


@dataclass(frozen=True, slots=True)
class Passed:
    """`views`: by pointer name. `value`: what the caller passed, returned as it is for an output."""

    tensor: Tensor
    form: Form
    views: Mapping[str, ArrayView]
    value: Any

    @property
    def first(self) -> ArrayView:
        return next(iter(self.views.values()))

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Extents of the tensor; None where blocks leave the last one open."""
        shape = self.first.shape
        match self.form:
            case Form.PLAIN | Form.FIELDS:
                return shape
            case Form.LAST_AXIS:
                return shape[:-1]
            case Form.BLOCKS:
                return None

    def element_strides(self, extents: tuple[int, ...]) -> tuple[int, ...]:
        """Strides in elements; of axes with at most one element those of a dense array, since theirs mean nothing."""
        dense, step = [0] * len(extents), 1
        for axis in reversed(range(len(extents))):
            dense[axis] = step
            step *= max(1, extents[axis])
        if self.form is Form.BLOCKS or 0 in extents:
            return tuple(dense)
        size = self.tensor.element.size if self.form is Form.LAST_AXIS else self.first.itemsize
        strides = self.first.strides
        return tuple(
            strides[axis] // size if extent > 1 else dense[axis] for axis, extent in enumerate(extents)
        )


def read(tensor: Tensor, value: Any) -> Passed:
    """Look at what was passed for `tensor`. Raises CallError TG0811, TG0820."""
    element = tensor.element
    if isinstance(element, Struct) and isinstance(tensor.placement, Soa):
        return _read_fields(tensor, element, value)
    if isinstance(value, Mapping):
        raise CallTypeError(
            "TG0820",
            f"argument '{tensor.name}' is a mapping, and the tensor is no structure of arrays",
            helps=(
                "pass one array, or declare the tensor `soa`"
                if isinstance(element, Struct)
                else "pass one array",
            ),
        )
    with coded("TG0811", conversion(value, tensor)):
        found = view(value, name=tensor.name, stream=_current_stream)
    form = Form.PLAIN
    if isinstance(element, Struct) and isinstance(found.element, DType):
        form = Form.BLOCKS if isinstance(tensor.placement, Aosoa) else Form.LAST_AXIS
        _require_field_axes(tensor, element, found, form)
    elif isinstance(element, Struct) and isinstance(tensor.placement, Aosoa) and found.device is not None:
        raise CallTypeError(
            "TG0820",
            f"argument '{tensor.name}' is a structured array on a GPU, and the tensor is kept in blocks",
            helps=(f"pass an array of shape […, blocks, {len(element.fields)}, {tensor.placement.block}]",),
        )
    return Passed(tensor, form, {tensor.name: found}, value)


def _current_stream() -> int | None:
    """Where a DLPack producer is to make its array on a GPU ready (1: CUDA's default stream)."""
    cupy = sys.modules.get("cupy")
    return None if cupy is None else int(cupy.cuda.get_current_stream().ptr) or 1


def _read_fields(tensor: Tensor, element: Struct, value: Any) -> Passed:
    names = [f.name for f in element.fields]
    if not isinstance(value, Mapping):
        raise CallTypeError(
            "TG0820",
            f"argument '{tensor.name}' is one array, and the tensor is a structure of arrays",
            helps=(f"pass a dictionary with an array for each of {', '.join(names)}",),
        )
    if sorted(map(str, value)) != sorted(names):
        raise CallTypeError(
            "TG0820",
            f"argument '{tensor.name}' has the fields {', '.join(map(str, value))}; the tensor has {', '.join(names)}",
            helps=(f"pass a dictionary with an array for each of {', '.join(names)}",),
        )
    views = {}
    for pointer, field in pointer_names(tensor):
        array = value[field]
        with coded("TG0811", f"pass a NumPy, CuPy or torch array of {_member_type(element, str(field))}"):
            views[pointer] = view(array, name=f"{tensor.name}[{field!r}]", stream=_current_stream)
    shapes = {v.shape for v in views.values()}
    if len(shapes) > 1:
        raise CallError(
            "TG0812",
            f"the arrays of '{tensor.name}' have different shapes: {_listed(shapes)}",
            helps=("pass arrays of one shape",),
        )
    strides = {tuple(s // v.itemsize for s in v.strides) for v in views.values() if v.size}
    if None in tensor.strides and len(strides) > 1:
        raise CallError(
            "TG0813",
            f"the arrays of '{tensor.name}' have different strides: {_listed(strides)}",
            helps=("pass contiguous copies: `numpy.ascontiguousarray`, `.copy()`",),
        )
    return Passed(tensor, Form.FIELDS, views, value)


def _member_type(element: Struct, name: str) -> DType | None:
    member = element.field(name)
    return None if member is None else member.dtype


def spelled(element: ElementType) -> str:
    """The NumPy dtype of `element` as a person writes it."""
    if isinstance(element, DType):
        scalar = numpy_dtype(element).type
        return f"{scalar.__module__}.{scalar.__name__}"
    formats = [(f.name, spelled(f.dtype)) for f in element.fields]
    wanted = numpy_dtype(element)
    aligned = np.dtype([(f.name, numpy_dtype(f.dtype)) for f in element.fields], align=True)
    if aligned == wanted and aligned.itemsize == wanted.itemsize:
        return f"numpy.dtype([{', '.join(f'({n!r}, {t})' for n, t in formats)}], align=True)"
    return (
        f"numpy.dtype({{'names': {[f.name for f in element.fields]}, "
        f"'formats': [{', '.join(t for _, t in formats)}], "
        f"'offsets': {[f.offset for f in element.fields]}, 'itemsize': {element.size}}})"
    )


def conversion(value: Any, tensor: Tensor) -> str:
    """How `value` becomes an array that `tensor` takes."""
    dtype = spelled(tensor.element)
    library = type(value).__module__.partition(".")[0]
    if value is None or isinstance(value, str | bytes):
        return f"pass a NumPy, CuPy or torch array of {tensor.element}"
    if library == "torch":
        return f"convert it: `{tensor.name}.to(torch.{dtype.rpartition('.')[2]})`"
    if hasattr(value, "astype"):
        return f"convert it: `{tensor.name}.astype({dtype})`"
    return f"make it an array: `numpy.asarray({tensor.name}, {dtype})`"


def _listed(values: set[Any]) -> str:
    return ", ".join(map(str, sorted(values)))


def _require_field_axes(tensor: Tensor, element: Struct, found: ArrayView, form: Form) -> None:
    inner: tuple[int, ...] = (len(element.fields),)
    if form is Form.BLOCKS and isinstance(tensor.placement, Aosoa):
        inner = (*inner, tensor.placement.block)
    shown = ", ".join(map(str, inner))
    if uniform(element) is None:
        raise CallTypeError(
            "TG0820",
            f"argument '{tensor.name}' holds {found.element}, and the kernel takes {element}",
            helps=("its fields have several types: pass a structured array",),
        )
    if found.shape[-len(inner) :] != inner:
        raise CallTypeError(
            "TG0820",
            f"argument '{tensor.name}' has shape {found.shape}; its last axes must be {shown}: the fields of {element}",
            helps=(f"pass an array whose last axes are {shown}, or a structured array",),
        )


def element_of(passed: Passed, pointer: str) -> ElementType:
    """The element type the kernel expects behind `pointer`."""
    element = passed.tensor.element
    if not isinstance(element, Struct):
        return element
    if passed.form is Form.PLAIN:
        return element
    if passed.form is Form.FIELDS:
        field = dict(pointer_names(passed.tensor))[pointer]
        return next(f.dtype for f in element.fields if f.name == field)
    common = uniform(element)
    assert common is not None
    return common


def label(passed: Passed, pointer: str) -> str:
    """The argument's name in messages: `a`, or `q['x']` for an array of a structure of arrays."""
    field = dict(pointer_names(passed.tensor))[pointer] if passed.form is Form.FIELDS else None
    return passed.tensor.name if field is None else f"{passed.tensor.name}[{field!r}]"


def require_layout(passed: Passed, extents: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Strides are those of the tensor's declared layout, addresses whole elements. Raises CallError TG0813, TG0814."""
    tensor = passed.tensor
    for pointer, array in passed.views.items():
        name = label(passed, pointer)
        with coded(
            "TG0814" if _odd(array) else "TG0813", "pass a copy: `numpy.ascontiguousarray`, `.copy()`"
        ):
            check_element_strides(name, array)
        if 0 in extents:
            continue
        expected: tuple[int, ...]
        match passed.form:
            case Form.PLAIN | Form.FIELDS:
                if isinstance(tensor.placement, Aosoa):
                    continue  # a logical array, which the simulator puts into blocks
                expected = tuple(s * array.itemsize for s in strides)
            case Form.LAST_AXIS:
                expected = (*(s * tensor.element.size for s in strides), array.itemsize)
            case Form.BLOCKS:
                expected, step = (), array.itemsize
                for extent in reversed(array.shape):
                    expected, step = (step, *expected), step * extent
        try:
            check_strides(name, array, expected)
        except ArgumentError:
            raise CallError(
                "TG0813",
                f"argument '{name}' of shape {array.shape} has strides {array.strides} in bytes; "
                f"the kernel takes {expected}",
                notes=(f"`{tensor.name}` is declared {_declared(tensor)}",),
                helps=(_what_to_do(passed, array),),
            ) from None


def _odd(array: ArrayView) -> bool:
    return bool(array.size) and array.pointer % array.element.align != 0


def _declared(tensor: Tensor) -> str:
    shown = ", ".join("*" if s is None else str(s) for s in tensor.strides)
    plain = tensor.order == tuple(range(tensor.rank))
    return f"with strides ({shown}) in elements" + (
        ", dense and row-major" if plain and None not in tensor.strides else ""
    )


def _what_to_do(passed: Passed, array: ArrayView) -> str:
    rank = passed.tensor.rank
    size = passed.tensor.element.size if passed.form is Form.LAST_AXIS else array.itemsize
    steps = [s // size for s in array.strides[:rank]]
    last_is_dense = bool(steps) and (steps[-1] == 1 or array.shape[rank - 1] <= 1)
    free = ", ".join(["*"] * (rank - 1) + ["1"]) if last_is_dense else ", ".join(["*"] * rank)
    copy = {"CuPy": "cupy.ascontiguousarray(…)", "torch": ".contiguous()"}.get(
        array.kind.value, "numpy.ascontiguousarray(…)"
    )
    return f"declare `strides({free})`, which takes them from the array, or pass a contiguous copy: `{copy}`"


# Logical arrays on the host --------------------------------------------------------------------------------------


def to_logical(passed: Passed, extents: tuple[int, ...]) -> Array:
    """The tensor's values as one NumPy array of its extents (of structs, for a struct tensor)."""
    element = passed.tensor.element
    if passed.form is Form.PLAIN:
        return on_host(passed.first)
    assert isinstance(element, Struct)
    logical = np.empty(extents, numpy_dtype(element))
    if logical.size == 0:
        return logical
    if passed.form is Form.BLOCKS:
        assert isinstance(passed.tensor.placement, Aosoa)
        blocks = np.empty(
            passed.first.shape[:-2], to_blocks(logical[..., :0], passed.tensor.placement.block).dtype
        )
        host = on_host(passed.first)
        for number, f in enumerate(element.fields):
            blocks[f.name] = host[..., number, :]
        return from_blocks(blocks, element, extents[-1])
    for f, part in zip(element.fields, _parts(passed, element), strict=True):
        logical[f.name] = part
    return logical


def from_logical(passed: Passed, logical: Array) -> None:
    """Write `logical` into the arrays that the caller passed."""
    element = passed.tensor.element
    if passed.form is Form.PLAIN:
        on_host(passed.first)[...] = logical
        return
    assert isinstance(element, Struct)
    if passed.form is Form.BLOCKS:
        assert isinstance(passed.tensor.placement, Aosoa)
        blocks = to_blocks(logical, passed.tensor.placement.block)
        host = on_host(passed.first)
        for number, f in enumerate(element.fields):
            host[..., number, :] = blocks[f.name]
        return
    for f, part in zip(element.fields, _parts(passed, element), strict=True):
        part[...] = logical[f.name]


def _parts(passed: Passed, element: Struct) -> list[Array]:
    """One view per field, in field order."""
    if passed.form is Form.LAST_AXIS:
        host = on_host(passed.first)
        return [host[..., number] for number in range(len(element.fields))]
    by_field = {field: on_host(passed.views[pointer]) for pointer, field in pointer_names(passed.tensor)}
    return [by_field[f.name] for f in element.fields]
