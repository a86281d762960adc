"""Element types and NumPy dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from tilegen.dtypes import C64, C128, DTYPES, F32, F64, I8, U8, Struct, struct_of
from tilegen.numpy_types import block_struct, element_type, from_blocks, numpy_dtype, to_blocks


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_scalars_round_trip_with_their_size(name: str) -> None:
    dtype = numpy_dtype(DTYPES[name])
    assert dtype.itemsize == DTYPES[name].size
    assert element_type(dtype) == DTYPES[name]


def test_struct_has_the_padding_of_c() -> None:
    element = struct_of((("tag", I8), ("value", F64), ("x", F32)))
    dtype = numpy_dtype(element)
    aligned = np.dtype([("tag", "i1"), ("value", "f8"), ("x", "f4")], align=True)
    assert dtype == aligned and dtype.itemsize == 24
    assert element_type(dtype) == element
    assert element_type(aligned) == element


def test_complex_is_aligned_as_on_the_device() -> None:
    """Report M3: 16 bytes for c128, where the host aligns to 8."""
    dtype = numpy_dtype(struct_of((("idx", I8), ("v", C128), ("w", C64))))
    assert dtype.fields is not None
    assert [dtype.fields[n][1] for n in ("idx", "v", "w")] == [0, 16, 32]
    assert dtype.itemsize == 48


def test_packed_struct_is_not_the_natural_one() -> None:
    packed = element_type(np.dtype([("a", "i1"), ("b", "f4")]))
    assert isinstance(packed, Struct)
    assert packed.size == 5 and packed != struct_of((("a", I8), ("b", F32)))


@pytest.mark.parametrize("dtype", ["M8[s]", "S4", ">f4", "f2,O", np.dtype([("p", [("x", "f4")])])])
def test_other_dtypes_are_refused(dtype: object) -> None:
    with pytest.raises(TypeError):
        element_type(dtype)  # type: ignore[arg-type]


def test_blocks_of_structs() -> None:
    element = struct_of((("a", U8), ("b", F32)))
    block = block_struct(element, 3)
    assert block.fields is not None
    assert (block.fields["a"][1], block.fields["b"][1], block.itemsize) == (0, 4, 16)
    array = np.zeros((2, 4), numpy_dtype(element))
    array["a"], array["b"] = np.arange(8).reshape(2, 4), np.arange(8).reshape(2, 4) + 0.5
    blocks = to_blocks(array, 3)
    assert blocks.shape == (2, 2)
    assert blocks["a"].tolist() == [[[0, 1, 2], [3, 0, 0]], [[4, 5, 6], [7, 0, 0]]]
    np.testing.assert_array_equal(from_blocks(blocks, element, 4), array)
