"""Element types as NumPy dtypes, with the byte layout they have on the device, and the inverse."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tilegen.dtypes import DTYPES, DType, ElementType, Field, Struct, struct_of

Array = npt.NDArray[Any]

# `f8e4m3` is the format of NVIDIA's `__nv_fp8_e4m3`: no infinities, one NaN per sign, largest value 448 (OCP OFP8).
_SCALARS: dict[str, Any] = {
    "bool": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
_NUMPY: dict[DType, np.dtype[Any]] = {DTYPES[name]: np.dtype(scalar) for name, scalar in _SCALARS.items()}
_TILEGEN: dict[np.dtype[Any], DType] = {dtype: element for element, dtype in _NUMPY.items()}


@lru_cache(maxsize=1024)
def numpy_dtype(element: ElementType) -> np.dtype[Any]:
    """The NumPy dtype with the bytes of `element` on the device; a struct keeps its offsets, padding and size.

    The padding is the device's, where a complex number is aligned to its whole size; `np.dtype(align=True)` follows
    the host, which may pad less.
    """
    if isinstance(element, DType):
        return _NUMPY[element]
    return np.dtype(
        {
            "names": [f.name for f in element.fields],
            "formats": [_NUMPY[f.dtype] for f in element.fields],
            "offsets": [f.offset for f in element.fields],
            "itemsize": element.size,
        }
    )


def element_type(dtype: npt.DTypeLike) -> ElementType:
    """The element type of a NumPy dtype; TypeError where tilegen has none.

    A structured dtype maps to a struct with its own offsets and item size, so a packed one differs from `struct_of`.
    """
    resolved = np.dtype(dtype).newbyteorder("=")
    if resolved.names is None:
        element = _TILEGEN.get(resolved)
        if element is None or not np.dtype(dtype).isnative:
            raise TypeError(f"tilegen has no element type for the NumPy dtype {np.dtype(dtype)}")
        return element
    fields = []
    assert resolved.fields is not None
    for name in resolved.names:
        member = element_type(np.dtype(dtype)[name])
        if not isinstance(member, DType):
            raise TypeError(
                f"member {name} of {np.dtype(dtype)} is a struct; tilegen's structs hold scalars only"
            )
        fields.append(Field(name, member, int(resolved.fields[name][1])))
    natural = struct_of(tuple((f.name, f.dtype) for f in fields))
    return Struct(tuple(fields), resolved.itemsize, natural.align if natural.fields == tuple(fields) else 1)


@lru_cache(maxsize=1024)
def block_struct(element: Struct, block: int) -> np.dtype[Any]:
    """One block of `aosoa(block)`: a run of `block` values per field, each where C puts it in a struct of arrays."""
    offset, offsets = 0, []
    for f in element.fields:
        offset = -(-offset // f.dtype.align) * f.dtype.align
        offsets.append(offset)
        offset += f.dtype.size * block
    return np.dtype(
        {
            "names": [f.name for f in element.fields],
            "formats": [(_NUMPY[f.dtype], (block,)) for f in element.fields],
            "offsets": offsets,
            "itemsize": -(-offset // element.align) * element.align,
        }
    )


def to_blocks(array: Array, block: int) -> Array:
    """A logical struct array [..., n] as blocks [..., ceil(n / block)]; the tail of a last block is zero."""
    element = element_type(array.dtype)
    if not isinstance(element, Struct):
        raise TypeError(f"blocks of structs need a struct array, not {array.dtype}")
    count = array.shape[-1]
    blocks = np.zeros((*array.shape[:-1], -(-count // block)), block_struct(element, block))
    for f in element.fields:
        runs = np.zeros((*array.shape[:-1], blocks.shape[-1] * block), _NUMPY[f.dtype])
        runs[..., :count] = array[f.name]
        blocks[f.name] = runs.reshape(*blocks.shape, block)
    return blocks


def from_blocks(blocks: Array, element: Struct, count: int) -> Array:
    """The inverse of `to_blocks`: the first `count` structs of each run of blocks."""
    array = np.zeros((*blocks.shape[:-1], count), numpy_dtype(element))
    for f in element.fields:
        runs = blocks[f.name]
        array[f.name] = runs.reshape(*blocks.shape[:-1], blocks.shape[-1] * runs.shape[-1])[..., :count]
    return array
