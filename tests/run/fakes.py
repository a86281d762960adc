"""Stand-ins for libraries and devices that a test machine lacks: they say what the real ones say."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt


class CudaInterface:
    """An array in device memory, as Numba's, by its interface alone."""

    def __init__(self, **interface: Any) -> None:
        self.__cuda_array_interface__ = {"version": 3, "strides": None, **interface}


class Dlpack:
    """A producer of DLPack capsules, made of a NumPy array's memory, that may claim any device and element."""

    def __init__(
        self,
        array: npt.NDArray[Any],
        *,
        device: tuple[int, int] = (1, 0),
        code: tuple[int, int] = (2, 32),
        versioned: bool = True,
        readonly: bool = False,
        strides: bool = True,
        byte_offset: int = 0,
    ) -> None:
        from tilegen.run import dlpack

        self.array, self.device, self.versioned = array, device, versioned
        self.streams: list[Any] = []
        rank = array.ndim
        self._shape = (ctypes.c_int64 * rank)(*array.shape)
        self._strides = (ctypes.c_int64 * rank)(*(stride // array.itemsize for stride in array.strides))
        self._name = b"dltensor_versioned" if versioned else b"dltensor"
        managed = dlpack._Versioned()
        managed.major, managed.minor, managed.flags = 1, 0, int(readonly)
        tensor = managed.tensor
        tensor.data = array.ctypes.data - byte_offset
        tensor.device_type, tensor.device_id = device
        tensor.ndim, (tensor.code, tensor.bits), tensor.lanes = rank, code, 1
        tensor.shape = self._shape
        if strides:
            tensor.strides = self._strides
        tensor.byte_offset = byte_offset
        self._managed = managed

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: Any = None, **version: Any) -> Any:
        if version and not self.versioned:
            raise TypeError("unexpected keyword 'max_version'")
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        whole = self._managed if self.versioned else self._managed.tensor
        return new(ctypes.addressof(whole), self._name, None)


class HostInterface:
    """An object with `__array_interface__` only."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


def address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


EMPTY = np.empty(0)
