"""Arrays for the outputs that a caller leaves to tilegen: of the caller's kind, in the layout the spec declares."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilegen.algebra import sym
from tilegen.api.tensors import Form, Passed
from tilegen.core.nest.build import pointer_names, uniform
from tilegen.dtypes import ElementType, Struct
from tilegen.errors import CallError, coded
from tilegen.lang.spec import Aosoa, Assign, Kernel, Role, Soa, Tensor
from tilegen.run.arrays import ArrayKind, empty, view
from tilegen.run.layout import DeviceLayout, dense_strides

# More than any address space has.
_TOO_MANY_BYTES = 1 << 47
_NUMPY_LIKE = (ArrayKind.NUMPY, ArrayKind.HOST_INTERFACE, ArrayKind.DLPACK)


def allocate(kernel: Kernel, placed: DeviceLayout, kind: ArrayKind, device: int | None) -> Passed:
    """New arrays for an output. Elements that the kernel does not write are zero. Raises CallError TG0811, TG0812."""
    tensor = placed.tensor
    span = (placed.last - placed.first + 1 + placed.offset) * tensor.element.size
    if span >= _TOO_MANY_BYTES:
        raise CallError(
            "TG0812",
            f"the output `{tensor.name}` of extents {placed.extents} takes {span} bytes",
            helps=("use smaller sizes",),
        )
    zeros = not writes_all(kernel, tensor)
    element = tensor.element
    host = device is None and kind in _NUMPY_LIKE
    if isinstance(element, Struct) and isinstance(tensor.placement, Soa):
        value: dict[str, Any] = {}
        views = {}
        for pointer, field in pointer_names(tensor):
            assert field is not None
            member = element.field(field)
            assert member is not None
            value[field] = _array(kind, device, placed, member.dtype, zeros)
            views[pointer] = view(value[field], name=tensor.name)
        return Passed(tensor, Form.FIELDS, views, value)
    if isinstance(element, Struct) and not host:
        return _of_fields(tensor, element, placed, kind, device, zeros)
    array = _array(kind, device, placed, element, zeros)
    return Passed(tensor, Form.PLAIN, {tensor.name: view(array, name=tensor.name)}, array)


def _of_fields(
    tensor: Tensor, element: Struct, placed: DeviceLayout, kind: ArrayKind, device: int | None, zeros: bool
) -> Passed:
    common = uniform(element)
    if common is None:
        raise CallError(
            "TG0811",
            f"{kind.value} has no arrays of {element}, so `{tensor.name}` cannot be allocated",
            helps=("declare the tensor `soa`, or pass memory of that layout as `out`",),
        )
    count = len(element.fields)
    if isinstance(tensor.placement, Aosoa):
        block = tensor.placement.block
        shape = (*placed.extents[:-1], -(-placed.extents[-1] // block), count, block)
        form = Form.BLOCKS
    else:
        shape, form = (*placed.extents, count), Form.LAST_AXIS
    with coded("TG0811", "pass the output as `out`"):
        array = empty(kind, shape, common, device)
    if zeros:
        array[...] = 0
    return Passed(tensor, form, {tensor.name: view(array, name=tensor.name)}, array)


def _array(
    kind: ArrayKind, device: int | None, placed: DeviceLayout, element: ElementType, zeros: bool
) -> Any:
    """An array with the strides of `placed`, its pointer aligned as the tensor promises."""
    dense = placed.strides == dense_strides(placed.extents) or 0 in placed.extents
    align = placed.tensor.align or 1
    with coded("TG0811", "pass the output as `out`"):
        if dense and placed.offset == 0 and align <= 16:
            array = empty(kind, placed.extents, element, device)
        else:
            array = _strided(kind, device, placed, element, align)
    if zeros and placed.count:
        array[...] = np.zeros((), array.dtype)[()] if kind in _NUMPY_LIKE else 0
    return array


def _strided(
    kind: ArrayKind, device: int | None, placed: DeviceLayout, element: ElementType, align: int
) -> Any:
    """A view of a longer run of elements: what a kernel writes to the gaps of a row, nobody sees."""
    size = element.size
    extra = -(-align // size)
    count = placed.last - placed.first + 1 + placed.offset + extra
    flat = empty(kind, (count,), element, device)
    start = next((n for n in range(extra + 1) if (view(flat).pointer + n * size) % align == 0), 0)
    first = start + placed.offset - min(placed.first, placed.offset)
    strides = tuple(s * size for s in placed.strides)
    if kind is ArrayKind.TORCH:
        return flat.as_strided(placed.extents, placed.strides, first)
    if device is None:
        return np.lib.stride_tricks.as_strided(flat[first:], placed.extents, strides)
    import cupy

    return cupy.lib.stride_tricks.as_strided(flat[first:], placed.extents, strides)


def writes_all(kernel: Kernel, tensor: Tensor) -> bool:
    """Whether it is plain that every element of an output is written: each member, or the element, by one assignment
    whose indices are different axes that run over the whole extents."""
    if tensor.role is Role.INOUT:
        return True
    wanted = [f.name for f in tensor.element.fields] if isinstance(tensor.element, Struct) else [None]
    covered = {a.field for a in kernel.assigns if a.tensor == tensor.name and _covers(a, tensor)}
    return all(field in covered for field in wanted)


def _covers(assign: Assign, tensor: Tensor) -> bool:
    axes = {a.name: a for a in assign.axes}
    names: set[str] = set()
    for index, extent in zip(assign.indices, tensor.extents, strict=True):
        axis = next((a for name, a in axes.items() if index == sym(name)), None)
        if (
            axis is None
            or axis.name in names
            or axis.lower.constant != 0
            or (axis.upper - extent).constant != 0
        ):
            return False
        names.add(axis.name)
    return True
