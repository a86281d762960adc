"""Where the elements of a tensor lie in device memory, and the way from a logical array to those bytes and back.

`layout` knows nothing of kernels: it reads the tensor's clauses and actual sizes. A buffer is as small as the layout
allows (the last row has no padding after it), so that whatever reads past the last element leaves the buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from tilegen.algebra import evaluate
from tilegen.core.nest.build import pointer_names
from tilegen.dtypes import DType, Struct
from tilegen.lang.spec import Aos, Aosoa, Soa, Tensor
from tilegen.numpy_types import Array, block_struct, numpy_dtype

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory behind one pointer: `size` bytes, with the pointer `base` bytes past its start.

    `itemsize`: bytes that one logical element owns together, from each of its `positions`. `granule`: distance that a
    misaligned pointer is moved by, the size of what it points to.
    """

    pointer: str
    field: str | None
    size: int
    base: int
    granule: int


@dataclass(frozen=True, slots=True)
class DeviceLayout:
    """`strides` in elements, one per axis; element `[0, …]` is `offset` elements past each pointer. `first` and `last`
    are the least and greatest element number in use, counted from the pointer (0 and −1 without elements)."""

    tensor: Tensor
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    first: int
    last: int
    buffers: tuple[Buffer, ...]

    @property
    def count(self) -> int:
        """Logical elements."""
        return prod(self.extents)

    def buffer(self, pointer: str) -> Buffer:
        return next(b for b in self.buffers if b.pointer == pointer)

    def numbers(self) -> npt.NDArray[np.int64]:
        """The element number of each logical element, counted from the pointer; its shape is the extents."""
        total = np.full((1,) * len(self.extents), self.offset, np.int64)
        for axis, (extent, stride) in enumerate(zip(self.extents, self.strides, strict=True)):
            shape = [1] * len(self.extents)
            shape[axis] = extent
            total = total + (np.arange(extent, dtype=np.int64) * stride).reshape(shape)
        return total.reshape(self.extents) if self.extents else total.reshape(())


def layout(tensor: Tensor, sizes: Mapping[str, int], *, strides: Sequence[int] | None = None) -> DeviceLayout:
    """Device layout of `tensor` for actual sizes (compile-time sizes too).

    `strides`: in elements, one per axis, used where the spec says `*`; without them such a tensor is row-major.
    """
    extents = tuple(int(evaluate(e, sizes)) for e in tensor.extents)
    given = dense_strides(extents) if strides is None else tuple(strides)
    steps = tuple(
        int(given[axis] if stride is None else evaluate(stride, sizes))
        for axis, stride in enumerate(tensor.strides)
    )
    offset = int(evaluate(tensor.offset, sizes))
    first = last = offset
    for extent, step in zip(extents, steps, strict=True):
        reach = (extent - 1) * step
        first, last = first + min(reach, 0), last + max(reach, 0)
    if 0 in extents:
        first, last = 0, -1
    buffers = tuple(_buffer(tensor, name, field, first, last) for name, field in pointer_names(tensor))
    return DeviceLayout(tensor, extents, steps, offset, first, last, buffers)


def dense_strides(extents: Sequence[int], order: Sequence[int] | None = None) -> tuple[int, ...]:
    """Strides in elements without gaps; `order` lists axes from slowest to fastest."""
    strides = [0] * len(extents)
    step = 1
    for axis in reversed(range(len(extents)) if order is None else order):
        strides[axis] = step
        step *= max(extents[axis], 1)
    return tuple(strides)


def _buffer(tensor: Tensor, name: str, field: str | None, first: int, last: int) -> Buffer:
    element = tensor.element
    if isinstance(element, Struct) and isinstance(tensor.placement, Aosoa):
        block = tensor.placement.block
        size = block_struct(element, block).itemsize
        low, high = min(first, 0) // block, last // block
        granule = max(f.dtype.size for f in element.fields)
        return Buffer(name, field, (high - low + 1) * size, -low * size, granule)
    unit = _unit(tensor, field).itemsize
    low = min(first, 0)
    return Buffer(name, field, (last - low + 1) * unit, -low * unit, granule_of(tensor, field))


def granule_of(tensor: Tensor, field: str | None) -> int:
    """The least distance in bytes that a pointer may be moved by and stay aligned for scalar accesses."""
    element = tensor.element
    if isinstance(element, DType):
        return element.size
    if field is not None:
        member = element.field(field)
        assert member is not None
        return member.dtype.size
    return element.align


def _unit(tensor: Tensor, field: str | None) -> np.dtype[np.void]:
    """What an element number counts behind one pointer (not for blocks)."""
    element = tensor.element
    if isinstance(element, Struct) and field is not None:
        member = element.field(field)
        assert member is not None
        return numpy_dtype(member.dtype)
    return numpy_dtype(element)


def window(placed: DeviceLayout, pointer: str, memory: Bytes, *, writeable: bool = False) -> Array:
    """The logical elements behind `pointer` as a strided view of the buffer's bytes; not for blocks of structs.

    Bytes of a buffer that is moved by a misalignment are fine: NumPy reads and writes unaligned elements.
    """
    buffer = placed.buffer(pointer)
    unit = _unit(placed.tensor, buffer.field)
    if placed.count == 0:
        return np.empty(placed.extents, unit)
    view = np.ndarray(
        placed.extents,
        unit,
        memory,
        buffer.base + placed.offset * unit.itemsize,
        tuple(s * unit.itemsize for s in placed.strides),
    )
    view.flags.writeable = writeable
    return view


def positions(
    placed: DeviceLayout, pointer: str, field: str | None = None
) -> tuple[npt.NDArray[np.int64], int]:
    """Byte offset, counted from the start of the buffer, of each logical element behind `pointer`, and its bytes.

    `field`: of one member of a struct that is kept whole; without it, of the whole element.
    """
    buffer = placed.buffer(pointer)
    tensor, numbers = placed.tensor, placed.numbers()
    element = tensor.element
    if isinstance(element, Struct) and isinstance(tensor.placement, Aosoa):
        assert field is not None, "an element of blocks has no bytes of its own, its members have"
        blocks = block_struct(element, tensor.placement.block)
        assert blocks.fields is not None
        member = element.field(field)
        assert member is not None
        at = numbers // tensor.placement.block * blocks.itemsize + int(blocks.fields[field][1])
        return buffer.base + at + numbers % tensor.placement.block * member.dtype.size, member.dtype.size
    unit = _unit(tensor, buffer.field)
    at = buffer.base + numbers * unit.itemsize
    if isinstance(element, Struct) and isinstance(tensor.placement, Aos) and field is not None:
        member = element.field(field)
        assert member is not None
        return at + member.offset, member.dtype.size
    return at, unit.itemsize


def pack(placed: DeviceLayout, logical: Array, *, fill: int = 0) -> dict[str, Bytes]:
    """The bytes of each pointer's buffer that hold `logical`; bytes that no element owns are `fill`."""
    memory = {b.pointer: np.full(b.size, fill, np.uint8) for b in placed.buffers}
    source = np.asarray(logical, numpy_dtype(placed.tensor.element))
    if source.shape != placed.extents:
        raise ValueError(
            f"{placed.tensor.name} has the extents {placed.extents}, the array has {source.shape}"
        )
    for buffer in placed.buffers:
        if placed.count == 0:
            continue
        _store(placed, buffer, memory[buffer.pointer], source)
    return memory


def _store(placed: DeviceLayout, buffer: Buffer, memory: Bytes, source: Array) -> None:
    element = placed.tensor.element
    if isinstance(element, DType):
        window(placed, buffer.pointer, memory, writeable=True)[...] = source
    elif isinstance(placed.tensor.placement, Soa):
        window(placed, buffer.pointer, memory, writeable=True)[...] = source[buffer.field]
    elif isinstance(placed.tensor.placement, Aos):
        target = window(placed, buffer.pointer, memory, writeable=True)
        for f in element.fields:
            target[f.name] = source[f.name]
    else:
        for f in element.fields:
            at, size = positions(placed, buffer.pointer, f.name)
            values = np.ascontiguousarray(source[f.name]).reshape(-1, 1).view(np.uint8).reshape(-1, size)
            memory[at.reshape(-1, 1) + np.arange(size)] = values


def unpack(placed: DeviceLayout, memory: Mapping[str, Bytes]) -> Array:
    """The logical array that the buffers hold; the inverse of `pack`."""
    element = placed.tensor.element
    result = np.zeros(placed.extents, numpy_dtype(element))
    if placed.count == 0:
        return result
    for buffer in placed.buffers:
        content = memory[buffer.pointer]
        if isinstance(element, DType):
            # Bytes, not values: a conversion of the same type may still quieten a NaN.
            result = np.array(window(placed, buffer.pointer, content))
        elif isinstance(placed.tensor.placement, Soa):
            result[buffer.field] = window(placed, buffer.pointer, content)
        elif isinstance(placed.tensor.placement, Aos):
            source = window(placed, buffer.pointer, content)
            for f in element.fields:
                result[f.name] = source[f.name]
        else:
            for f in element.fields:
                at, size = positions(placed, buffer.pointer, f.name)
                raw = content[at.reshape(-1, 1) + np.arange(size)]
                result[f.name] = np.ascontiguousarray(raw).view(numpy_dtype(f.dtype)).reshape(placed.extents)
    return result


def through_memory(tensor: Tensor, sizes: Mapping[str, int], logical: Array) -> Array:
    """`logical` as a kernel sees it: where declared strides put several elements in one place, all are the last one.
    Strides of `*` keep elements apart."""
    if None in tensor.strides:
        return logical
    placed = layout(tensor, sizes)
    strides = sorted((abs(s), n) for s, n in zip(placed.strides, placed.extents, strict=True) if n > 1)
    reach = 1
    for step, extent in strides:
        if step < reach:
            return unpack(placed, pack(placed, logical))
        reach += step * (extent - 1)
    return logical


def owned(placed: DeviceLayout, pointer: str) -> npt.NDArray[np.bool_]:
    """For each byte of the buffer, whether a logical element owns it (a struct's padding bytes count)."""
    buffer = placed.buffer(pointer)
    mask = np.zeros(buffer.size, np.bool_)
    if placed.count == 0:
        return mask
    element = placed.tensor.element
    blocks = isinstance(element, Struct) and isinstance(placed.tensor.placement, Aosoa)
    fields = [f.name for f in element.fields] if blocks and isinstance(element, Struct) else [None]
    for field in fields:
        at, size = positions(placed, pointer, field)
        flat = at.reshape(-1)
        for byte in range(size):
            mask[flat + byte] = True
    return mask


def element_mask(placed: DeviceLayout, pointer: str, touched: npt.NDArray[np.bool_], *, every: bool) -> Array:
    """Which logical elements have any (or `every`) byte marked in `touched`, a mask over the buffer's bytes.

    A struct's elements have one mark per member, as a structured array of bools.
    """
    element = placed.tensor.element
    combine = np.logical_and if every else np.logical_or
    if isinstance(element, DType):
        return _any_byte(*positions(placed, pointer), touched, combine)
    buffer = placed.buffer(pointer)
    members = [f for f in element.fields if buffer.field in (None, f.name)]
    result = np.zeros(placed.extents, np.dtype([(f.name, np.bool_) for f in members]))
    for f in members:
        at, size = positions(placed, pointer, None if buffer.field is not None else f.name)
        result[f.name] = _any_byte(at, size, touched, combine)
    return result


def _any_byte(
    at: npt.NDArray[np.int64], size: int, touched: npt.NDArray[np.bool_], combine: np.ufunc
) -> Array:
    if at.size == 0:
        return np.zeros(at.shape, np.bool_)
    found = touched[at]
    for byte in range(1, size):
        found = combine(found, touched[at + byte])
    return np.asarray(found)
