"""The caller's arrays, whatever library they are of, as one kind of value; and new ones of the caller's kind.

No array library is imported but NumPy: an object of another one shows that its caller did.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.dtypes import DTYPES, ElementType
from tilegen.errors import ArgumentError, ArgumentTypeError
from tilegen.numpy_types import element_type, numpy_dtype
from tilegen.run import dlpack
from tilegen.run.dlpack import Stream, row_major


class ArrayKind(Enum):
    NUMPY = "NumPy"
    CUPY = "CuPy"
    TORCH = "torch"
    DLPACK = "DLPack"
    CUDA_INTERFACE = "__cuda_array_interface__"
    HOST_INTERFACE = "__array_interface__"


@dataclass(frozen=True, slots=True, eq=False)
class ArrayView:
    """An array in memory: `strides` in bytes, `device` a CUDA device's number or None for host memory.

    `owner` keeps the memory alive. `stream` is the CUDA stream on which its content becomes ready, where
    its library says so (`__cuda_array_interface__`), else None: then it is ready on the caller's stream.
    """

    kind: ArrayKind
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: ElementType
    itemsize: int
    device: int | None
    readonly: bool
    owner: Any
    stream: int | None = None

    @property
    def dtype(self) -> str:
        """Name of the element type: `f32`, `bf16`."""
        return str(self.element)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def extent(self) -> tuple[int, int]:
        """Lowest address in use and the one after the highest; both the pointer for an empty array."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        reach = [(count - 1) * stride for count, stride in zip(self.shape, self.strides, strict=True)]
        low = self.pointer + sum(distance for distance in reach if distance < 0)
        high = self.pointer + sum(distance for distance in reach if distance > 0)
        return low, high + self.itemsize

    @property
    def place(self) -> str:
        return "host memory" if self.device is None else f"CUDA device {self.device}"


def view(array: Any, *, name: str = "array", stream: Stream = None) -> ArrayView:
    """Look at `array` without copying it. `stream`: where DLPack producers on a GPU are to make it ready.

    Raises ArgumentTypeError, naming the argument, for what is no array or has elements without a type.
    """
    library = type(array).__module__.partition(".")[0]
    try:
        if isinstance(array, np.ndarray):
            return _of_numpy(array, ArrayKind.NUMPY)
        if library == "cupy":
            return _of_cupy(array)
        if library == "torch":
            return _of_torch(array)
        if hasattr(array, "__cuda_array_interface__"):
            return _of_cuda_interface(array)
        if hasattr(array, "__dlpack__"):
            return _of_dlpack(array, stream)
        if hasattr(array, "__array_interface__"):
            return _of_numpy(np.asarray(array), ArrayKind.HOST_INTERFACE)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"argument '{name}': {error}") from error
    raise ArgumentTypeError(
        f"argument '{name}' is a {type(array).__module__}.{type(array).__qualname__}; expected a NumPy, CuPy or torch "
        "array, or one with DLPack or __cuda_array_interface__"
    )


def _element(dtype: Any) -> ElementType:
    """The element type of what an array says of itself. Raises ArgumentTypeError."""
    try:
        return element_type(dtype)
    except TypeError as error:
        raise ArgumentTypeError(str(error)) from error


def _of_numpy(array: npt.NDArray[Any], kind: ArrayKind) -> ArrayView:
    return ArrayView(
        kind=kind,
        pointer=int(array.__array_interface__["data"][0]),
        shape=array.shape,
        strides=array.strides,
        element=_element(array.dtype),
        itemsize=array.itemsize,
        device=None,
        readonly=not array.flags.writeable,
        owner=array,
    )


def _of_cupy(array: Any) -> ArrayView:
    return ArrayView(
        kind=ArrayKind.CUPY,
        pointer=int(array.data.ptr),
        shape=tuple(array.shape),
        strides=tuple(array.strides),
        element=_element(array.dtype),
        itemsize=int(array.dtype.itemsize),
        device=int(array.device.id),
        readonly=False,
        owner=array,
    )


_TORCH = {
    **{f"torch.int{8 * size}": f"i{8 * size}" for size in (1, 2, 4, 8)},
    **{f"torch.uint{8 * size}": f"u{8 * size}" for size in (1, 2, 4, 8)},
    **{f"torch.float{8 * size}": f"f{8 * size}" for size in (2, 4, 8)},
    "torch.bool": "bool",
    "torch.bfloat16": "bf16",
    "torch.float8_e4m3fn": "f8e4m3",
    "torch.float8_e5m2": "f8e5m2",
    "torch.complex64": "c64",
    "torch.complex128": "c128",
}


def _of_torch(tensor: Any) -> ArrayView:
    name = _TORCH.get(str(tensor.dtype))
    if name is None:
        raise ArgumentTypeError(f"tilegen has no element type for {tensor.dtype}")
    if str(tensor.layout) != "torch.strided":
        raise ArgumentTypeError(
            f"a torch tensor of layout {tensor.layout} is not strided memory; use .to_dense()"
        )
    # Lazy conjugation and negation are flags on the tensor; its memory holds other values.
    if tensor.is_conj() or tensor.is_neg():
        raise ArgumentTypeError(
            "a lazily conjugated or negated torch tensor; use .resolve_conj().resolve_neg()"
        )
    if tensor.device.type not in ("cpu", "cuda"):
        raise ArgumentTypeError(f"a torch tensor on '{tensor.device}'; expected cpu or cuda")
    itemsize = int(tensor.element_size())
    return ArrayView(
        kind=ArrayKind.TORCH,
        pointer=int(tensor.data_ptr()),
        shape=tuple(tensor.shape),
        strides=tuple(stride * itemsize for stride in tensor.stride()),
        element=DTYPES[name],
        itemsize=itemsize,
        device=int(tensor.device.index or 0) if tensor.device.type == "cuda" else None,
        # Autograd would not see a write to a tensor it tracks.
        readonly=bool(tensor.requires_grad),
        owner=tensor,
    )


def _of_cuda_interface(array: Any) -> ArrayView:
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise ArgumentTypeError("a masked array; pass its data and mask as two arrays")
    described = interface.get("descr")
    structured = described is not None and len(described) > 1
    element = _element(described if structured else interface["typestr"])
    itemsize = numpy_dtype(element).itemsize
    pointer, readonly = interface["data"]
    shape = tuple(int(extent) for extent in interface["shape"])
    strides = interface.get("strides") or tuple(stride * itemsize for stride in row_major(shape))
    return ArrayView(
        kind=ArrayKind.CUDA_INTERFACE,
        pointer=int(pointer or 0),
        shape=shape,
        strides=tuple(int(stride) for stride in strides),
        element=element,
        itemsize=itemsize,
        device=_device_of_pointer(int(pointer or 0)),
        readonly=bool(readonly),
        owner=array,
        stream=interface.get("stream"),
    )


def _device_of_pointer(pointer: int) -> int:
    """The interface does not say; the driver knows, if CuPy is there to ask it."""
    if pointer == 0 or "cupy" not in sys.modules:
        return 0
    try:
        return int(sys.modules["cupy"].cuda.runtime.pointerGetAttributes(pointer).device)
    except RuntimeError:  # without a driver there is no such memory to launch on either
        return 0


def _of_dlpack(array: Any, stream: Stream) -> ArrayView:
    tensor = dlpack.read(array, stream)
    element = DTYPES[tensor.element]
    return ArrayView(
        kind=ArrayKind.DLPACK,
        pointer=tensor.pointer,
        shape=tensor.shape,
        strides=tuple(stride * element.size for stride in tensor.strides),
        element=element,
        itemsize=element.size,
        device=tensor.device,
        readonly=tensor.readonly,
        owner=(array, tensor.capsule),
    )


class _Memory:
    """Memory of `owner` for NumPy to look at. NumPy reads the interface only, not the memory."""

    def __init__(self, array: ArrayView) -> None:
        self.owner = array.owner
        self.__array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "strides": array.strides,
            "typestr": f"|V{array.itemsize}",
            "data": (array.pointer, array.readonly),
        }


def on_host(array: ArrayView) -> npt.NDArray[Any]:
    """The same memory as a NumPy array of `numpy_dtype(element)`; ArgumentError for device memory."""
    if array.device is not None:
        raise ArgumentError(f"the array is on {array.place}, not in host memory")
    if array.kind is ArrayKind.NUMPY:
        return array.owner  # type: ignore[no-any-return]
    if array.size == 0:
        return np.empty(array.shape, numpy_dtype(array.element))
    return np.asarray(_Memory(array)).view(numpy_dtype(array.element))


def overlaps(a: ArrayView, b: ArrayView) -> bool:
    """Whether some byte belongs to an element of both. Exact, but for layouts too intricate to tell: then True."""
    if a.device != b.device or 0 in a.shape or 0 in b.shape:
        return False
    (a_low, a_high), (b_low, b_high) = a.extent, b.extent
    if a_high <= b_low or b_high <= a_low:
        return False
    work: Any = 100_000  # NumPy's stubs know 0 and -1 only
    try:
        return bool(np.shares_memory(np.asarray(_Memory(a)), np.asarray(_Memory(b)), max_work=work))
    except np.exceptions.TooHardError:
        return True


def empty(kind: ArrayKind, shape: Sequence[int], element: ElementType, device: int | None = None) -> Any:
    """A new array of unset content, dense and row-major, of the library `kind` stands for.

    For an interface rather than a library it is CuPy's on a device and NumPy's in host memory.
    ArgumentTypeError where the library has no such element (structs are NumPy's and CuPy's alone).
    """
    shape = tuple(shape)
    match kind:
        case ArrayKind.TORCH:
            import torch

            names = {name: key for key, name in _TORCH.items()}
            dtype = getattr(torch, names.get(str(element), "").removeprefix("torch."), None)
            if dtype is None:
                raise ArgumentTypeError(
                    f"torch has no tensors of {element}; pass the output in another kind of array"
                )
            return torch.empty(shape, dtype=dtype, device="cpu" if device is None else f"cuda:{device}")
        case ArrayKind.NUMPY | ArrayKind.HOST_INTERFACE:
            return np.empty(shape, numpy_dtype(element))
        case ArrayKind.CUPY | ArrayKind.CUDA_INTERFACE | ArrayKind.DLPACK:
            if device is None:
                return np.empty(shape, numpy_dtype(element))
            import cupy

            with cupy.cuda.Device(device):
                return cupy.empty(shape, numpy_dtype(element))


def like(array: ArrayView, shape: Sequence[int], element: ElementType) -> Any:
    """A new array of the kind and in the place of `array`."""
    return empty(array.kind, shape, element, array.device)
