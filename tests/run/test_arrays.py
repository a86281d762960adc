import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilegen.dtypes import BF16, C64, DTYPES, F8E4M3, F16, F32, F64, U8, Struct, struct_of
from tilegen.errors import ArgumentError, ArgumentTypeError
from tilegen.numpy_types import numpy_dtype
from tilegen.run.arrays import ArrayKind, ArrayView, empty, like, on_host, overlaps, view

from .fakes import CudaInterface, Dlpack, HostInterface, address


def test_numpy_view() -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    seen = view(array.T)
    assert (seen.kind, seen.dtype, seen.shape, seen.strides) == (ArrayKind.NUMPY, "f32", (6, 4), (4, 24))
    assert (seen.pointer, seen.itemsize, seen.device, seen.readonly) == (address(array), 4, None, False)
    assert (seen.rank, seen.size, seen.place) == (2, 24, "host memory")


@pytest.mark.parametrize("name", DTYPES)
def test_every_scalar_element(name: str) -> None:
    element = DTYPES[name]
    array = empty(ArrayKind.NUMPY, (3, 5), element)
    seen = view(array)
    assert (seen.element, seen.dtype, seen.itemsize) == (element, name, element.size)
    assert on_host(seen) is array


def test_struct_elements() -> None:
    element = struct_of((("x", F32), ("n", U8), ("w", F64)))
    array = np.zeros(7, numpy_dtype(element))
    seen = view(array)
    assert seen.element == element and seen.itemsize == 16 and isinstance(seen.element, Struct)
    column = view(array["w"])
    assert (column.dtype, column.strides, column.pointer) == ("f64", (16,), address(array) + 8)


def test_elements_without_a_type_are_named() -> None:
    arrays: list[Any] = [
        np.array(["a"]),
        np.array([None]),
        np.zeros(3, ">f4"),
        np.zeros(3, "M8[s]"),
        np.zeros(2, "g"),
    ]
    for array in arrays:
        with pytest.raises(ArgumentTypeError, match="argument 'a': tilegen has no element type"):
            view(array, name="a")


@pytest.mark.parametrize("value", [[1.0, 2.0], 3.0, None, "text", memoryview(b"abc")])
def test_what_is_no_array_is_a_type_error(value: object) -> None:
    with pytest.raises(
        TypeError, match=r"argument 'a' is a builtins\.\w+; expected a NumPy, CuPy or torch array"
    ):
        view(value, name="a")


def test_readonly_and_broadcast() -> None:
    array = np.broadcast_to(np.float32(1), (4, 4))
    seen = view(array)
    assert seen.readonly and seen.strides == (0, 0)
    assert seen.extent == (address(array), address(array) + 4)


def test_extent_of_negative_strides() -> None:
    array = np.arange(24, dtype=np.int16).reshape(4, 6)
    for turned in (array, array[::-1], array[:, ::-1], array[::-1, ::-1].T):
        assert view(turned).extent == (address(array), address(array) + 48)
    assert view(array[1:3, 2:4]).extent == (address(array) + 16, address(array) + 32)
    nothing = view(array[:0])
    assert nothing.extent == (nothing.pointer, nothing.pointer)


def test_overlap() -> None:
    array = np.zeros((8, 8), np.float32)
    other = np.zeros((8, 8), np.float32)
    assert overlaps(view(array), view(array))
    assert overlaps(view(array), view(array[3:, 4:].T))
    assert not overlaps(view(array), view(other))
    assert not overlaps(view(array[:4]), view(array[4:]))
    assert not overlaps(
        view(array[:, ::2]), view(array[:, 1::2])
    )  # their extents intersect, their elements do not
    assert overlaps(view(array[:, ::2]), view(array[:, 1:5]))
    assert not overlaps(view(array[:0]), view(array))
    assert overlaps(view(array), view(array.view(np.uint8)[2:3, 1:2]))


def on_device(pointer: int, shape: tuple[int, ...], **interface: Any) -> ArrayView:
    return view(CudaInterface(shape=shape, typestr="<f4", data=(pointer, False), **interface))


def test_overlap_on_a_device_touches_no_memory() -> None:
    assert overlaps(on_device(0x7F0000000000, (4, 4)), on_device(0x7F0000000020, (4, 4)))
    assert not overlaps(on_device(0x7F0000000000, (4, 4)), on_device(0x7F0000000040, (4, 4)))
    odd = on_device(0x7F0000000004, (4, 2), strides=(16, 8))
    assert not overlaps(on_device(0x7F0000000000, (4, 2), strides=(16, 8)), odd)
    array = np.zeros((4, 4), np.float32)
    assert not overlaps(on_device(address(array), (4, 4)), view(array))  # same number, other memory


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_overlap_agrees_with_the_bytes(data: st.DataObject) -> None:
    base = np.zeros((5, 6), np.int16)

    def part() -> Any:
        slices = []
        for extent in base.shape:
            start = data.draw(st.integers(0, extent - 1))
            stop = data.draw(st.integers(start, extent))
            slices.append(slice(start, stop, data.draw(st.integers(1, 3))))
        return base[tuple(slices)][:: data.draw(st.sampled_from([1, -1]))]

    a, b = part(), part()
    a[...] = 1
    touched = bool(b.any())
    base[...] = 0
    assert overlaps(view(a), view(b)) is touched


def test_cuda_interface() -> None:
    seen = on_device(4096, (2, 3), stream=7)
    assert (seen.kind, seen.strides, seen.device, seen.stream) == (ArrayKind.CUDA_INTERFACE, (12, 4), 0, 7)
    assert seen.place == "CUDA device 0"
    with pytest.raises(ArgumentError, match="on CUDA device 0, not in host memory"):
        on_host(seen)
    readonly = view(CudaInterface(shape=(0,), typestr="<c8", data=(0, True), strides=(8,)))
    assert readonly.readonly and readonly.element == C64
    with pytest.raises(ArgumentTypeError, match="argument 'a': a masked array"):
        view(CudaInterface(shape=(1,), typestr="<f4", data=(4096, False), mask=object()), name="a")
    record = view(
        CudaInterface(shape=(2,), typestr="|V8", descr=[("x", "<f4"), ("y", "<f4")], data=(4096, False))
    )
    assert record.element == struct_of((("x", F32), ("y", F32))) and record.strides == (8,)
    with pytest.raises(ArgumentTypeError, match="no element type"):
        view(CudaInterface(shape=(1,), typestr="|V2", data=(4096, False)))


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_of_the_host(versioned: bool) -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    seen = view(Dlpack(array.T, versioned=versioned))
    assert (seen.kind, seen.element, seen.shape, seen.strides) == (ArrayKind.DLPACK, F32, (4, 3), (4, 16))
    assert (seen.pointer, seen.device, seen.readonly) == (address(array), None, False)
    host = on_host(seen)
    np.testing.assert_array_equal(host, array.T)
    host[1, 2] = -1
    assert array[2, 1] == -1


def test_dlpack_details() -> None:
    array = np.arange(12, dtype=np.uint16).reshape(3, 4)
    seen = view(Dlpack(array, code=(4, 16), strides=False, byte_offset=64, readonly=True))
    assert (seen.element, seen.strides, seen.pointer, seen.readonly) == (BF16, (8, 2), address(array), True)
    host = on_host(seen)
    assert host.dtype == ml_dtypes.bfloat16 and not host.flags.writeable
    assert view(Dlpack(array.view(np.uint8), code=(10, 8))).element == F8E4M3
    producer = Dlpack(array, code=(2, 16), device=(2, 3))
    assert view(producer, stream=5).device == 3 and producer.streams == [5]
    with pytest.raises(ArgumentTypeError, match="argument 'a': Dlpack has elements tilegen does not know"):
        view(Dlpack(array, code=(2, 8)), name="a")
    with pytest.raises(ArgumentTypeError, match="DLPack device type 10"):
        view(Dlpack(array, device=(10, 0)))


def test_dlpack_of_numpy_itself() -> None:
    class Hidden:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **arguments: Any) -> Any:
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    array = np.arange(5, dtype=np.complex64)
    seen = view(Hidden(array))
    assert seen.element == C64 and seen.pointer == address(array)
    np.testing.assert_array_equal(on_host(seen), array)


def test_host_interface() -> None:
    array = np.arange(6, dtype=np.float64)[::2]
    seen = view(HostInterface(array))
    assert (seen.kind, seen.pointer, seen.strides) == (ArrayKind.HOST_INTERFACE, address(array), (16,))
    on_host(seen)[0] = 9
    assert array[0] == 9


def test_outputs_are_of_the_callers_kind() -> None:
    array = view(np.zeros((2, 3), np.float32))
    made = like(array, (3, 2), F16)
    assert isinstance(made, np.ndarray) and made.shape == (3, 2) and made.dtype == np.float16
    assert isinstance(like(view(Dlpack(np.zeros(3, np.float32))), [4], BF16), np.ndarray)


def test_memory_lives_as_long_as_the_view() -> None:
    seen = view(HostInterface(np.full(1000, 7, np.int64)))
    np.testing.assert_array_equal(on_host(seen), 7)


def test_cupy_and_torch_are_not_imported_for_numpy() -> None:
    code = (
        "import sys, numpy as np\nfrom tilegen.run.arrays import view, like\nfrom tilegen.dtypes import F32\n"
        "like(view(np.zeros(3)), (2,), F32)\nassert not {'cupy', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
