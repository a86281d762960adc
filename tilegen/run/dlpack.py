"""Read a DLPack capsule without a library: CPU or CUDA, bf16 and f8 too, which NumPy's own reader refuses.

Layouts: `dlpack.h` 1.0. The capsule is looked at and kept, not consumed, so its own destructor frees it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilegen.errors import ArgumentTypeError

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
# A CUDA stream in DLPack's numbering, or what says which. It is asked for arrays on a GPU alone: elsewhere there may be
# no driver to ask.
Stream = int | Callable[[], int | None] | None

# (DLDataTypeCode, bits) -> element type
_ELEMENTS = {
    **{(0, 8 * size): f"i{8 * size}" for size in (1, 2, 4, 8)},
    **{(1, 8 * size): f"u{8 * size}" for size in (1, 2, 4, 8)},
    **{(2, 8 * size): f"f{8 * size}" for size in (2, 4, 8)},
    (4, 16): "bf16",
    (5, 64): "c64",
    (5, 128): "c128",
    (6, 8): "bool",
    (10, 8): "f8e4m3",  # kDLFloat8_e4m3fn
    (12, 8): "f8e5m2",
}
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)


@dataclass(frozen=True, slots=True)
class Tensor:
    """`strides` in elements; `device` is a CUDA device's number, None for host memory."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    device: int | None
    readonly: bool
    capsule: object


def read(array: Any, stream: Stream = None) -> Tensor:
    """The tensor that `array.__dlpack__()` offers, made safe to use on `stream`.

    One without `__dlpack_device__` says where it is in what it offers.
    """
    arguments: dict[str, Any] = {}
    if hasattr(array, "__dlpack_device__") and _on_gpu(array, int(array.__dlpack_device__()[0])):
        number = stream() if callable(stream) else stream
        arguments = {} if number is None else {"stream": number}
    try:
        capsule = array.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:  # producers from before DLPack 1.0 do not know the keyword
        capsule = array.__dlpack__(**arguments)
    except BufferError as error:  # what the protocol asks for where there is nothing to offer
        raise ArgumentTypeError(f"{type(array).__name__} offers no DLPack: {error}") from error
    readonly = False
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer_of(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise ArgumentTypeError(f"{type(array).__name__} offers DLPack {managed.major}, only 1 is read")
        tensor, readonly = managed.tensor, bool(managed.flags & _READ_ONLY)
    else:
        tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
    element = _ELEMENTS.get((tensor.code, tensor.bits))
    if element is None or tensor.lanes != 1:
        kind = f"code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes"
        raise ArgumentTypeError(f"{type(array).__name__} has elements tilegen does not know: DLPack {kind}")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    return Tensor(
        pointer=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        strides=tuple(tensor.strides[axis] for axis in range(tensor.ndim))
        if tensor.strides
        else row_major(shape),
        element=element,
        device=tensor.device_id if _on_gpu(array, tensor.device_type) else None,
        readonly=readonly,
        capsule=capsule,
    )


def _on_gpu(array: Any, device_type: int) -> bool:
    """Whether the memory is a GPU's. Raises ArgumentTypeError for devices of other kinds."""
    if device_type not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        name = type(array).__name__
        raise ArgumentTypeError(f"{name} is on DLPack device type {device_type}, not CPU or CUDA")
    return device_type in (CUDA, CUDA_MANAGED)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a dense array with the last axis fastest."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)
