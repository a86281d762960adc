"""The device layout of tensors: where elements lie, and that packing is undone by unpacking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import Tensor
from tilegen.numpy_types import numpy_dtype
from tilegen.run.layout import element_mask, layout, owned, pack, unpack

STRUCT = "struct { x: f32, k: u8, z: f64 }"


def tensor(declaration: str, sizes: str = "M, N") -> Tensor:
    text = (
        f"kernel t({sizes}) {{ out a: {declaration}; out o: i32[M]; a[{_axes(declaration)}] = 1; o[i] = 0 }}"
    )
    if "struct" in declaration:
        text = f"kernel t({sizes}) {{ in a: {declaration}; out o: i32[M]; o[i] = 0 }}"
    return check(parse(source_from_text(text))).kernels[0].kernels[0].tensor("a")


def _axes(declaration: str) -> str:
    return ", ".join("ijkl"[: declaration[declaration.index("[") : declaration.index("]")].count(",") + 1])


@pytest.mark.parametrize(
    ("declaration", "size", "strides"),
    [
        ("i32[M, N]", 4 * 35, (7, 1)),
        ("i32[M, N] order(1, 0)", 4 * 35, (1, 5)),
        ("i32[M, N] pitch 32B", 4 * (4 * 8 + 7), (8, 1)),
        ("i32[M, N] pitch 9", 4 * (4 * 9 + 7), (9, 1)),
        ("i32[M, N] offset 3", 4 * 38, (7, 1)),
        ("i32[M, N] strides(2 * N, 2)", 4 * (4 * 14 + 12 + 1), (14, 2)),
    ],
)
def test_bytes_and_strides(declaration: str, size: int, strides: tuple[int, ...]) -> None:
    placed = layout(tensor(declaration), {"M": 5, "N": 7})
    assert placed.strides == strides
    assert placed.buffer("a").size == size
    values = np.arange(35, dtype=np.int32).reshape(5, 7)
    memory = pack(placed, values, fill=0xEE)
    assert np.array_equal(unpack(placed, memory), values)
    assert np.count_nonzero(owned(placed, "a")) == 4 * 35
    assert (memory["a"][~owned(placed, "a")] == 0xEE).all()


@pytest.mark.parametrize("strides", [(7, 1), (-7, 1), (7, -1), (-7, -1), (1, 5), (-3, 40)])
def test_strides_of_the_caller_of_any_sign(strides: tuple[int, int]) -> None:
    placed = layout(tensor("i32[M, N] strides(*, *)"), {"M": 5, "N": 7}, strides=strides)
    buffer = placed.buffer("a")
    values = np.arange(35, dtype=np.int32).reshape(5, 7)
    memory = pack(placed, values)["a"]
    origin = buffer.base // 4
    flat = memory.view(np.int32)
    for i in range(5):
        for j in range(7):
            assert flat[origin + i * strides[0] + j * strides[1]] == values[i, j]
    assert np.array_equal(unpack(placed, {"a": memory}), values)


def test_stride_zero_shares_elements() -> None:
    placed = layout(tensor("i32[M, N] strides(*, 1)"), {"M": 5, "N": 7}, strides=(0, 1))
    assert placed.buffer("a").size == 4 * 7
    values = np.broadcast_to(np.arange(7, dtype=np.int32), (5, 7))
    assert np.array_equal(unpack(placed, pack(placed, values)), values)


@pytest.mark.parametrize("clause", ["", "soa", "aosoa(4)", "aosoa(32)", "offset 2", "soa offset 3"])
def test_structs_come_back(clause: str) -> None:
    t = tensor(f"{STRUCT}[M, N] {clause}")
    placed = layout(t, {"M": 3, "N": 5})
    values = np.zeros((3, 5), numpy_dtype(t.element))
    for number, name in enumerate(("x", "k", "z")):
        values[name] = np.arange(15).reshape(3, 5) + 20 * number
    again = unpack(placed, pack(placed, values))
    for name in ("x", "k", "z"):
        assert np.array_equal(again[name], values[name])


def test_the_last_block_of_aosoa_is_whole() -> None:
    placed = layout(tensor("struct { x: f32, y: f32 }[M] aosoa(8)"), {"M": 9, "N": 0})
    assert placed.buffer("a").size == 2 * 2 * 8 * 4


def test_an_empty_tensor_takes_no_bytes() -> None:
    placed = layout(tensor("i32[M, N] offset 3"), {"M": 0, "N": 7})
    assert placed.buffer("a").size == 0
    assert unpack(placed, pack(placed, np.zeros((0, 7), np.int32))).shape == (0, 7)


def test_rank_zero() -> None:
    placed = layout(tensor("i32[M, N]"), {"M": 1, "N": 1})
    assert placed.count == 1


@pytest.mark.parametrize(("every", "expected"), [(True, [True, False, False]), (False, [True, True, False])])
def test_marks_of_elements(every: bool, expected: list[bool]) -> None:
    placed = layout(tensor("i32[M, N]"), {"M": 1, "N": 3})
    touched: Any = np.zeros(12, np.bool_)
    touched[:6] = True
    assert element_mask(placed, "a", touched, every=every).tolist() == [expected]


def test_nan_payloads_survive() -> None:
    placed = layout(tensor("f32[M, N] pitch 5"), {"M": 2, "N": 3})
    values = np.array([0x7F800001, 0xFFC00123, 0x7FC00000, 1, 2, 3], np.uint32).view(np.float32).reshape(2, 3)
    assert unpack(placed, pack(placed, values)).tobytes() == values.tobytes()
