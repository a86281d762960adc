"""Reports C, D, E, F, G: tails, alignment, strides, shared memory, barriers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilegen.lang.diagnostics import SpecError
from tilegen.program import Program

Run = Callable[..., Any]
Values = Callable[..., Any]


def copy(dtype: str, schedule: str = "") -> str:
    return f"kernel copy(N) {{ in x: {dtype}[N]; out y: {dtype}[N]; y[i] = x[i]; {schedule} }}"


# C: tails


@pytest.mark.parametrize(
    "schedule", ["", "tile n = 32, w = 32; stage x pad 1", "tile n = 32, w = 32; stage x; bounds split"]
)
def test_c1_loads_are_guarded_too(run: Run, values: Values, schedule: str) -> None:
    """The input ends where its allocation does; a read past it is a fault."""
    text = f"""kernel p(N, H, C, W) {{
        in x: f16[N, H, C, W]; out y: f16[N, C, W, H]; y[n, c, w, h] = x[n, h, c, w]
        {f"schedule s {{ {schedule.replace('n = 32', 'h = 32')} }}" if schedule else ""}
    }}"""
    x = values((1, 462, 16, 64), np.float16)
    found = run(text, {"N": 1, "H": 462, "C": 16, "W": 64}, {"x": x})
    np.testing.assert_array_equal(found.outputs["y"], x.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 61, 63, 64])
@pytest.mark.parametrize("schedule", ["", "schedule s { vector 4 }", "schedule s { vector y = 2 }"])
def test_c2_no_element_is_dropped(run: Run, values: Values, count: int, schedule: str) -> None:
    x = values((count,))
    found = run(copy("f32", schedule), {"N": count}, {"x": x})
    np.testing.assert_array_equal(found.outputs["y"], x)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 31])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_c2_no_byte_is_dropped(run: Run, values: Values, count: int, width: int) -> None:
    x = values((count,), np.int8)
    found = run(copy("i8", f"schedule s {{ vector {width} }}"), {"N": count}, {"x": x})
    np.testing.assert_array_equal(found.outputs["y"], x)


@pytest.mark.parametrize("fill", [-99, 0, 2147483647])
def test_c3_the_fill_is_the_one_asked_for(run: Run, values: Values, fill: int) -> None:
    text = f"""kernel fill(M, N) {{
        in x: i32[M, N] boundary constant {fill}; out y: i32[64, 64]; y[i, j] = x[i, j] for i in 0..64, j in 0..64
    }}"""
    x = values((60, 60), np.int32)
    wanted = np.full((64, 64), fill, np.int32)
    wanted[:60, :60] = x
    np.testing.assert_array_equal(run(text, {"M": 60, "N": 60}, {"x": x}).outputs["y"], wanted)


@pytest.mark.parametrize(
    ("dtype", "shape", "width"),
    [("f32", (8, 16, 64, 2), 4), ("f32", (8, 16, 64, 2), 2), ("i8", (4, 8, 16, 3), 16)],
)
@pytest.mark.parametrize("fixed", [False, True])
def test_c6_inner_axis_shorter_than_the_vector(
    run: Run, values: Values, dtype: str, shape: tuple[int, ...], width: int, fixed: bool
) -> None:
    last = str(shape[3]) if fixed else "D"
    text = f"""kernel p(A, B, C{"" if fixed else ", D"}) {{
        in x: {dtype}[A, B, C, {last}]; out y: {dtype}[A, C, B, {last}]; y[a, c, b, d] = x[a, b, c, d]
        schedule s {{ vector {width} }}
    }}"""
    x = values(shape, np.int8 if dtype == "i8" else np.float32)
    sizes = dict(zip("ABC" if fixed else "ABCD", shape, strict=False))
    for schedule in (text, re.sub(r"schedule.*", "", text)):
        try:
            found = run(schedule, sizes, {"x": x})
        except SpecError as error:
            assert schedule is text and {d.code for d in error.diagnostics} <= {"TG0606", "TG0607", "TG0608"}
            continue
        np.testing.assert_array_equal(found.outputs["y"], x.transpose(0, 2, 1, 3))


# D: alignment


def test_d1_a_view_that_starts_at_an_odd_element(run: Run) -> None:
    base = np.array([[1, 2, 3]], np.float16)
    found = run(
        "kernel c(M, N) { in x: f16[M, N]; out y: f16[M, N]; y[i, j] = x[i, j]; schedule s { vector 2 } }",
        {"M": 1, "N": 2},
        {"x": base[:, 1:3].copy()},
        misalign={"x": 2},
    )
    assert found.outputs["y"].tolist() == [[2, 3]]


@pytest.mark.parametrize("elements", [0, 1, 2, 3])
@pytest.mark.parametrize("which", ["x", "y", "both"])
def test_d1_any_base_with_vectors(run: Run, values: Values, elements: int, which: str) -> None:
    moved = {"x": 4 * elements, "y": 4 * elements} if which == "both" else {which: 4 * elements}
    x = values((100,))
    found = run(copy("f32", "schedule s { vector 4 }"), {"N": 100}, {"x": x}, misalign=moved)
    np.testing.assert_array_equal(found.outputs["y"], x)


def test_d5_more_threads_than_elements(run: Run, values: Values) -> None:
    text = """kernel c(M, N) { in x: i8[M, N]; out y: i8[M, N]; y[i, j] = x[i, j]
        schedule s { tile i = 1, j = 16; threads j = 128; vector 16 } }"""
    x = values((1, 16), np.int8)
    np.testing.assert_array_equal(run(text, {"M": 1, "N": 16}, {"x": x}).outputs["y"], x)
    text = "kernel c(M, N) { in x: f32[M, N]; out y: f32[M, N]; y[i, j] = x[i, j]; schedule s { vector 4 } }"
    x = values((5, 3))
    np.testing.assert_array_equal(run(text, {"M": 5, "N": 3}, {"x": x}).outputs["y"], x)


# E: strides


def test_e3_negative_strides(run: Run, values: Values) -> None:
    """The pointer is that of element 0, which lies last in memory."""
    x = np.arange(4, dtype=np.int64)[::-1].copy()
    text = "kernel c(N) { in x: i64[N] strides(*); out y: i64[N]; y[i] = x[i] }"
    assert run(text, {"N": 4}, {"x": x}, strides={"x": (-1,)}).outputs["y"].tolist() == [3, 2, 1, 0]
    a = values((3, 3))
    text = "kernel t(M, N) { in a: f32[M, N] strides(*, *); out b: f32[N, M]; b[j, i] = a[i, j] }"
    for strides in ((-3, 1), (3, -1), (-3, -1), (-1, -3)):
        found = run(text, {"M": 3, "N": 3}, {"a": a}, strides={"a": strides})
        np.testing.assert_array_equal(found.outputs["b"], a.T)


def test_e3_negative_strides_of_outputs(run: Run, values: Values) -> None:
    a = values((5, 7))
    text = "kernel t(M, N) { in a: f32[M, N]; out b: f32[N, M] strides(*, *); b[j, i] = a[i, j] }"
    for strides in ((-5, -1), (5, -1), (1, -7)):
        found = run(text, {"M": 5, "N": 7}, {"a": a}, strides={"b": strides})
        np.testing.assert_array_equal(found.outputs["b"], a.T)


def test_e4_stride_zero(run: Run, program: Callable[..., Program]) -> None:
    bias = np.full((4, 8), 2.0, np.float32)
    text = """kernel add(M, N) { in x: f32[M, N]; in bias: f32[M, N] strides(0, *); out y: f32[M, N]
        y[i, j] = x[i, j] + bias[i, j] }"""
    bias[:] = np.arange(8)
    x = np.ones((4, 8), np.float32)
    found = run(text, {"M": 4, "N": 8}, {"x": x, "bias": bias}, strides={"bias": (0, 1)})
    np.testing.assert_array_equal(found.outputs["y"], x + bias)
    with pytest.raises(SpecError) as caught:
        program("kernel c(M, N) { in x: f32[M, N]; out y: f32[M, N] strides(0, 1); y[i, j] = x[i, j] }")
    assert all(
        d.code.startswith("TG02") or d.code.startswith("TG05") or d.code.startswith("TG03")
        for d in caught.value.diagnostics
    )
    assert "0" in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((63, 1, 3, 3), (9, 1, 3, 1)),
        ((4, 8, 1, 1), (8, 1, 8, 8)),
        ((1, 1, 1, 1), (1, 1, 1, 1)),
        ((2, 1, 5, 1), (5, 12345, 1, 12345)),
        ((1, 3, 1, 4), (12345, 4, -12345, 1)),
    ],
)
def test_e5_strides_of_axes_of_one_do_not_matter(
    run: Run, values: Values, shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    x = values(shape)
    text = """kernel t(N, C, H, W) { in x: f32[N, C, H, W] strides(*, *, *, *); out y: f32[N, H, W, C]
        y[n, h, w, c] = x[n, c, h, w] }"""
    found = run(text, dict(zip("NCHW", shape, strict=True)), {"x": x}, strides={"x": strides})
    np.testing.assert_array_equal(found.outputs["y"], x.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("shape", [(2, 2), (7, 13)])
@pytest.mark.parametrize("read", ["order(0, 1)", "order(1, 0)"])
@pytest.mark.parametrize("write", ["order(0, 1)", "order(1, 0)"])
@pytest.mark.parametrize("transposed", [False, True])
def test_e6_column_major(
    run: Run, values: Values, shape: tuple[int, int], read: str, write: str, transposed: bool
) -> None:
    x = values(shape, np.float64)
    extents, index = ("N, M", "j, i") if transposed else ("M, N", "i, j")
    text = f"""kernel c(M, N) {{ in x: f64[M, N] {read}; out y: f64[{extents}] {write}; y[{index}] = x[i, j] }}"""
    found = run(text, {"M": shape[0], "N": shape[1]}, {"x": x})
    np.testing.assert_array_equal(found.outputs["y"], x.T if transposed else x)
    rows = found.arguments.layouts["y"].strides
    assert rows == (
        (1, found.outputs["y"].shape[0]) if write == "order(1, 0)" else (found.outputs["y"].shape[1], 1)
    )


# F: shared memory


@pytest.mark.parametrize(
    ("dtype", "tile", "pad", "wanted"), [("f32", 80, 1, 25920), ("f64", 80, 1, 51840), ("c128", 64, 0, 65536)]
)
def test_f1_tiles_past_48_kib(
    run: Run, program: Callable[..., Program], values: Values, dtype: str, tile: int, pad: int, wanted: int
) -> None:
    text = f"""kernel t(M, N) {{ in a: {dtype}[M, N]; out b: {dtype}[N, M]; b[j, i] = a[i, j]
        schedule s {{ tile i = {tile}, j = {tile}; stage a pad {pad} }} }}"""
    made = program(text)
    assert made.plans[0].shared_bytes == wanted
    assert made.plans[0].dynamic_shared == (wanted > 49152)
    assert ("cudaFuncAttributeMaxDynamicSharedMemorySize" in made.source) == (wanted > 49152)
    a = values((81, 79), {"f32": np.float32, "f64": np.float64, "c128": np.complex128}[dtype])
    found = run(text, {"M": 81, "N": 79}, {"a": a})
    np.testing.assert_array_equal(found.outputs["b"], a.T)
    assert found.shape.dynamic_shared == (wanted if wanted > 49152 else 0)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [(96, 49152), (97, 49664), (454, 232448)],
)
def test_f2_exactly_the_limits(
    run: Run, program: Callable[..., Program], values: Values, rows: int, wanted: int
) -> None:
    text = f"""kernel t(M, N) {{ in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]
        schedule s {{ tile i = {rows}, j = 128; stage a }} }}"""
    plan = program(text).plans[0]
    assert (plan.shared_bytes, plan.dynamic_shared) == (wanted, wanted > 49152)
    a = values((rows + 1, 129))
    np.testing.assert_array_equal(run(text, {"M": rows + 1, "N": 129}, {"a": a}).outputs["b"], a.T)


def test_f2_one_row_past_the_limit_quotes_both_numbers(program: Callable[..., Program]) -> None:
    text = """kernel t(M, N) { in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]
        schedule s { tile i = 455, j = 128; stage a } }"""
    with pytest.raises(SpecError, match=r"232960 bytes.*\n(.*\n)*.*at most 232448 bytes"):
        program(text)


# Ways of a column read: rows of `32 + pad` elements, seen by a warp, half a warp (8 bytes) or a quarter (16).
WAYS = {0: {"f32": 32, "c64": 16, "c128": 8}, 1: dict.fromkeys(("f32", "c64", "c128"), 1)}
WAYS[2] = dict.fromkeys(("f32", "c64", "c128"), 2)
GROUPS = {"f32": 1, "c64": 2, "c128": 4}


@pytest.mark.parametrize("pad", WAYS)
@pytest.mark.parametrize("dtype", GROUPS)
def test_f5_conflicts_by_element_size(run: Run, values: Values, dtype: str, pad: int) -> None:
    text = f"""kernel t(M, N) {{ in a: {dtype}[M, N]; out b: {dtype}[N, M]; b[j, i] = a[i, j]
        schedule s {{ tile i = 32, j = 32; stage a pad {pad} }} }}"""
    a = values((32, 32), {"f32": np.float32, "c64": np.complex64, "c128": np.complex128}[dtype])
    found = run(text, {"M": 32, "N": 32}, {"a": a})
    np.testing.assert_array_equal(found.outputs["b"], a.T)
    counters = found.report.counters
    assert counters.shared_load_requests == 32
    assert counters.shared_load_bank_conflicts == 32 * GROUPS[dtype] * (WAYS[pad][dtype] - 1)
    assert counters.shared_store_bank_conflicts == 0, "a row at a time"


# G: barriers


@pytest.mark.parametrize("bounds", ["guard", "split"])
@pytest.mark.parametrize("shape", [(33, 33), (1, 65), (31, 1)])
def test_g1_no_thread_leaves_before_the_barrier(
    run: Run, program: Callable[..., Program], values: Values, bounds: str, shape: tuple[int, int]
) -> None:
    text = f"""kernel t(M, N) {{ in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]
        schedule s {{ tile i = 32, j = 32; stage a pad 1; bounds {bounds} }} }}"""
    source = program(text).source
    for kernel in source.split("__global__")[1:]:
        body = kernel.split("\n}\n")[0]
        assert "return" not in body
        assert [line for line in body.split("\n") if "__syncthreads" in line] == ["    __syncthreads();"], (
            "at top level"
        )
    a = values(shape)
    found = run(text, {"M": shape[0], "N": shape[1]}, {"a": a})
    np.testing.assert_array_equal(found.outputs["b"], a.T)
    assert found.report.counters.barriers > 0
