import numpy as np
import pytest

from tilegen.dtypes import F16, F32
from tilegen.errors import ArgumentError
from tilegen.run.arguments import (
    check_element,
    check_element_strides,
    check_no_overlap,
    check_one_device,
    check_rank,
    check_shape,
    check_strides,
    check_writable,
)
from tilegen.run.arrays import view

from .fakes import CudaInterface

ARRAY = np.zeros((3, 4), np.float32)


def test_right_arguments_pass() -> None:
    seen = view(ARRAY)
    check_element("a", seen, F32)
    check_rank("a", seen, 2)
    check_shape("a", seen, (3, None))
    check_strides("a", seen, (16, 4))
    check_element_strides("a", seen)
    check_writable("a", seen)
    check_one_device({})
    check_one_device({"a": seen, "b": seen})
    check_no_overlap({"b": seen}, {"a": view(ARRAY.copy()), "b": seen})


def test_wrong_arguments_are_named() -> None:
    seen = view(ARRAY)
    with pytest.raises(TypeError, match="argument 'a' holds f32; the kernel takes f16"):
        check_element("a", seen, F16)
    with pytest.raises(ValueError, match=r"argument 'a' has 2 axes, shape \(3, 4\); the kernel takes 3"):
        check_rank("a", seen, 3)
    with pytest.raises(ArgumentError, match=r"argument 'a' has shape \(3, 4\); axis 1 must have extent 5"):
        check_shape("a", seen, (3, 5))
    with pytest.raises(ArgumentError, match=r"strides \(4, 16\) in bytes; axis 0 must have 12"):
        check_strides("a", view(ARRAY.T), (12, 4))
    with pytest.raises(ArgumentError, match="argument 'b' is written by the kernel, but overlaps 'a'"):
        check_no_overlap({"b": view(ARRAY[1:])}, {"a": seen})
    device = view(CudaInterface(shape=(3, 4), typestr="<f4", data=(4096, False)))
    with pytest.raises(ArgumentError, match="argument 'b' is on CUDA device 0, but 'a' is on host memory"):
        check_one_device({"a": seen, "b": device})


def test_outputs_must_be_writable_memory_of_their_own() -> None:
    with pytest.raises(ArgumentError, match="read-only"):
        check_writable("b", view(np.broadcast_to(np.float32(0), (3,))))
    broadcast = np.lib.stride_tricks.as_strided(ARRAY, (3, 4), (0, 4))
    with pytest.raises(ArgumentError, match="is broadcast: elements share memory"):
        check_writable("b", view(broadcast))


@pytest.mark.parametrize("shape", [(0,), (0, 1), (128, 0), (1, 1)])
def test_strides_without_meaning_are_not_looked_at(shape: tuple[int, ...]) -> None:  # report A5
    odd = view(CudaInterface(shape=shape, typestr="<f4", data=(0, False), strides=tuple(3 for _ in shape)))
    check_strides("a", odd, tuple(4 for _ in shape))
    check_element_strides("a", odd)
    check_writable("a", odd)


def test_columns_of_packed_records() -> None:
    packed = np.zeros(4, np.dtype([("tag", "u1"), ("x", "f4"), ("y", "u2")]))
    with pytest.raises(ArgumentError, match="starts at an address that is not a multiple of 4 bytes"):
        check_element_strides("a", view(packed["x"]))
    shifted = np.zeros(4, np.dtype([("x", "f4"), ("y", "u2")]))
    with pytest.raises(ArgumentError, match="stride 6 of axis 0 is not a multiple of the element's 4 bytes"):
        check_element_strides("a", view(shifted["x"]))
