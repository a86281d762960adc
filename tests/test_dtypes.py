"""Element types: promotion as NumPy's with the exceptions LANGUAGE.md names, structs laid out as C lays them out."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilegen.dtypes import (
    BF16,
    C64,
    C128,
    DTYPES,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I32,
    I64,
    U32,
    U64,
    DType,
    Kind,
    accumulator_type,
    compute_type,
    promote,
    struct_of,
)

# The types NumPy has of its own: its rule is the wanted one, but for an integer with a float.
NUMPY = {
    "bool": np.bool_,
    **{f"i{8 * n}": np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "c64": np.complex64,
    "c128": np.complex128,
}
NAME = {np.dtype(t): n for n, t in NUMPY.items()}


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_promotion_does_not_depend_on_the_order(a: str, b: str) -> None:
    both = promote(DTYPES[a], DTYPES[b])
    assert both == promote(DTYPES[b], DTYPES[a])
    assert (both == DTYPES[a]) or a != b


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations(NUMPY, 2)))
def test_promotion_is_numpys(a: str, b: str) -> None:
    x, y = DTYPES[a], DTYPES[b]
    integer = next((d for d in (x, y) if d.is_integer), None)
    other = y if integer is x else x
    if integer is not None and other.kind is Kind.FLOAT:
        assert promote(x, y) == other
    elif integer is not None and other.kind is Kind.COMPLEX:
        assert promote(x, y) == other, "an integer with a float gives that float, its complex type too"
    else:
        assert promote(x, y).name == NAME[np.result_type(NUMPY[a], NUMPY[b])]


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (F16, BF16, F32),
        (F8E4M3, F8E5M2, F16),
        (F8E4M3, F16, F16),
        (F8E5M2, BF16, BF16),
        (BF16, F32, F32),
        (BF16, F64, F64),
        (BF16, I64, BF16),
        (BF16, C64, C64),
        (F64, C64, C128),
    ],
)
def test_promotion_where_numpy_has_no_rule(a: DType, b: DType, wanted: DType) -> None:
    assert promote(a, b) == wanted


def test_computing_and_accumulating() -> None:
    below = {F8E4M3, F8E5M2, F16, BF16}
    for dtype in DTYPES.values():
        assert compute_type(dtype) == (F32 if dtype in below else dtype)
        total = accumulator_type(dtype)
        match dtype.kind:
            case Kind.BOOL:
                assert total == I32
            case Kind.INT:
                assert total == (I64 if dtype == I64 else I32)
            case Kind.UINT:
                assert total == (U64 if dtype == U64 else U32)
            case _:
                assert total == compute_type(dtype)


C_TYPES = {
    "bool": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(sorted(C_TYPES)), min_size=1, max_size=8))
def test_structs_are_laid_out_as_c_does(kinds: list[str]) -> None:
    members = [(f"m{n}", kind) for n, kind in enumerate(kinds)]
    ours = struct_of(tuple((name, DTYPES[kind]) for name, kind in members))
    theirs = type("Theirs", (ctypes.Structure,), {"_fields_": [(n, C_TYPES[k]) for n, k in members]})
    assert ours.size == ctypes.sizeof(theirs) and ours.align == ctypes.alignment(theirs)
    for field, (name, kind) in zip(ours.fields, members, strict=True):
        assert field.name == name and field.dtype.name == kind
        assert field.offset == getattr(theirs, name).offset


def test_complex_members_have_the_alignment_of_the_device() -> None:
    """8 and 16 bytes, not the 4 and 8 of the host (report M3)."""
    struct = struct_of((("idx", DTYPES["i8"]), ("v", C128)))
    assert (struct.field("v").offset, struct.size, struct.align) == (16, 32, 16)  # type: ignore[union-attr]
    assert struct.field("w") is None and str(struct) == "struct { idx: i8, v: c128 }"
