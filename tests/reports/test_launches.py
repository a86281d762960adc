"""Reports A and B: grids, blocks, empty and large arrays, 32-bit indices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilegen.lang.check import check
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.program import Program, build
from tilegen.sim import Launch, Memory, load_module, simulate
from tilegen.target import target
from tilegen.toolchain import compile_source

LIMIT = 2**31 - 1


@pytest.mark.parametrize("shape", [(65535, 2), (65536, 2), (65537, 2), (2, 65536, 2)], ids=str)
def test_a1_reflect_over_many_rows(
    run: Callable[..., Any], values: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    """A grid's y and z end at 65535; tilegen's grids have x alone."""
    names = ["A", "B", "C"][: len(shape)]
    outer, axes = names[:-1], ["i", "j", "k"][: len(shape)]
    last = names[-1]
    head = "".join(f"{a}, " for a in axes[:-1])
    text = f"""kernel pad({", ".join(names)}) {{
        in  x: f32[{", ".join(names)}] boundary reflect
        out y: f32[{", ".join(outer)}, {last} + 2]
        y[{head}{axes[-1]}] = x[{head}{axes[-1]} - 1] for {axes[-1]} in 0..{last} + 2
    }}"""
    x = values(shape)
    found = run(text, dict(zip(names, shape, strict=True)), {"x": x})
    np.testing.assert_array_equal(found.outputs["y"], x[..., [1, 0, 1, 0]])
    assert found.shape.blocks <= LIMIT


def test_a1_no_other_grid_dimension_is_used(program: Callable[..., Program]) -> None:
    text = "kernel t(A, B, C, D) { in x: f32[A, B, C, D]; out y: f32[D, C, B, A]; y[l, k, j, i] = x[i, j, k, l] }"
    source = program(text).source
    assert "blockIdx.x" in source and not re.search(r"(block|thread|grid)\w+\.[yz]", source)


def test_a6_rank_zero(run: Callable[..., Any]) -> None:
    for body in ("y[] = x[]", "y[] = x[] * 1.0"):
        found = run(
            f"kernel one() {{ in x: f32[]; out y: f32[]; {body} }}", {}, {"x": np.float32(3.0).reshape(())}
        )
        assert found.outputs["y"].shape == () and found.outputs["y"] == 3.0


def test_a7_a_tile_of_more_points_than_threads(run: Callable[..., Any], values: Callable[..., Any]) -> None:
    text = "kernel c(M, N) { in x: f32[M, N]; out y: f32[M, N]; y[i, j] = x[i, j]; schedule s { tile i = 64, j = 64 } }"
    x = values((100, 100))
    found = run(text, {"M": 100, "N": 100}, {"x": x})
    np.testing.assert_array_equal(found.outputs["y"], x)
    assert found.shape.threads <= 1024 and found.shape.blocks == 4


@pytest.mark.parametrize(
    ("threads", "code", "words"),
    [
        ("i = 8, j = 8, k = 128", "TG0602", "8192 threads are more than a block may have"),
        ("i = 1, j = 0, k = 32", "TG0524", "positive integers"),
    ],
)
def test_a7_blocks_that_cannot_be(
    program: Callable[..., Program], threads: str, code: str, words: str
) -> None:
    text = f"""kernel c(A, B, C) {{
        in x: f32[A, B, C]; out y: f32[A, B, C]; y[i, j, k] = x[i, j, k]
        schedule s {{ threads {threads} }}
    }}"""
    with pytest.raises(SpecError, match=words) as caught:
        program(text)
    assert [d.code for d in caught.value.diagnostics] == [code]


# B1: index types

COPY = "kernel copy(N) { in x: i8[N]; out y: i8[N]; y[i] = x[i] %s }"
TRANSPOSE = "kernel t(M, N) { in a: i8[M, N]; out b: i8[N, M]; b[j, i] = a[i, j] %s }"
ALIGNED = {"x": 1 << 30, "y": 1 << 40, "a": 1 << 30, "b": 1 << 40}


def index(program: Program, sizes: dict[str, int], pointers: dict[str, int] = ALIGNED) -> str:
    shape = program.shape(sizes, {}, {p.name: pointers[p.name] for p in program.nest.pointers})
    assert shape is not None
    return shape.index


@pytest.mark.parametrize(
    "schedule", ["", "schedule s { threads i = 256 }", "schedule s { tile i = 4096; vector 16 }"]
)
@pytest.mark.parametrize("count", [2**31, 2**31 + 512, 2**32 + 5])
def test_b1_copies_past_32_bits(program: Callable[..., Program], schedule: str, count: int) -> None:
    made = program(COPY % (f"\n {schedule}" if schedule else ""))
    assert index(made, {"N": count}) == "long long"
    assert index(made, {"N": count}, {"x": 1, "y": 1}) == "long long"


def test_b1_a_transpose_past_32_bits(program: Callable[..., Program]) -> None:
    for schedule in (
        "",
        "\n schedule s { tile i = 32, j = 32; stage a pad 1 }",
        "\n schedule s { threads i = 8, j = 32 }",
    ):
        made = program(TRANSPOSE % schedule)
        assert index(made, {"M": 46341, "N": 46341}) == "long long"
        assert index(made, {"M": 46000, "N": 46000}) == "int"


def threshold(program: Program) -> int:
    """The largest N with 32-bit indices, by bisection."""
    low, high = 1, 2**33
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if index(program, {"N": middle}) == "int" else (low, middle)
    return low


def test_b1_the_exact_threshold(program: Callable[..., Program]) -> None:
    """32-bit indices end a little before 2**31: coordinates of the last tile run past the extent before their guard."""
    made = program(COPY % "")
    limit = threshold(made)
    largest = max(t.tile for plan in made.plans for t in plan.tiles)
    assert limit == 2**31 - 1 - 2**16
    assert limit + largest <= LIMIT, "the last coordinate that a thread computes"
    assert f"N <= {limit}" in made.source, "the C launcher decides by the same number"
    for number in range(len(made.plans)):
        for kind in ("int", "long long"):
            assert f"{made.rendered.entry(number, kind)}<<<" in made.source


def test_b1_the_number_of_points_is_counted_in_64_bits_by_the_launcher(
    program: Callable[..., Program],
) -> None:
    source = program(TRANSPOSE % "").source
    assert "int64_t M" in source and "const int64_t blocks" in source
    assert not re.search(r"static_cast<int>\([^)]*\*", source), "a product narrowed after it was taken"


@pytest.mark.parametrize("text", [COPY % "", TRANSPOSE % ""])
def test_b1_the_wide_variant_computes_the_same(
    run: Callable[..., Any], values: Callable[..., Any], text: str
) -> None:
    one_axis = text.startswith("kernel copy")
    x = values((1000,) if one_axis else (37, 41), np.int8)
    sizes = {"N": 1000} if one_axis else {"M": 37, "N": 41}
    found = run(text, sizes, {"x" if one_axis else "a": x}, index="long long")
    assert found.shape.index == "long long"
    np.testing.assert_array_equal(found.outputs["y" if one_axis else "b"], x if one_axis else x.T)


def test_b1_strides_count_not_elements(program: Callable[..., Program]) -> None:
    """Few elements far apart need 64 bits, many close together do not."""
    made = program("kernel s(N) { in x: u8[N] strides(*); out y: u8[N]; y[i] = x[i] }")
    for stride, wanted in (
        (1, "int"),
        (2**29, "int"),
        (2**30, "long long"),
        (-(2**30), "long long"),
        (-(2**29), "int"),
    ):
        shape = made.shape({"N": 3}, {"x_stride0": stride}, {"x": 1 << 40, "y": 1 << 30})
        assert shape is not None and shape.index == wanted, stride


def test_b1_index_i32_says_what_it_cannot_reach(program: Callable[..., Program]) -> None:
    made = program(COPY % "\n schedule s { threads i = 256; index i32 }")
    assert index(made, {"N": 1000}) == "int"
    with pytest.raises(ValueError, match="index i32"):
        index(made, {"N": 2**31})
    assert (
        "long long" not in made.source.split("}  // namespace")[1] and "cudaErrorInvalidValue" in made.source
    )


# B3: bytes


def test_b3_the_permutation_of_the_report_takes_32_bit_element_indices(
    program: Callable[..., Program],
) -> None:
    made = program("kernel p(A, B, C) { in a: f32[A, B, C]; out b: f32[A, C, B]; b[i, k, j] = a[i, j, k] }")
    assert index(made, {"A": 600, "B": 1000, "C": 1000}) == "int"


@pytest.mark.parametrize("schedule", ["", "schedule s { tile i = 32; stage x }", "schedule s { vector 4 }"])
def test_b3_byte_offsets_are_64_bits_where_element_indices_are_32(schedule: str) -> None:
    """Executed: every element lies more than 2**31 bytes past the pointer, its index is below 2**30."""
    offset, count = 2**29 + 16, 33
    text = f"kernel far(N) {{ in x: f32[N] offset {offset}; out y: f32[N]; y[i] = x[i]; {schedule} }}"
    family = check(parse(Source("far.tile", text))).kernels[0]
    made = build(family.kernels[0], family.schedules[0] if schedule else None, target("sm_90"))
    data = np.arange(1, count + 1, dtype=np.float32)
    memory = Memory()
    x = memory.allocate("x", data) - 4 * offset
    y = memory.allocate("y", 4 * count, initialised=False)
    shape = made.shape({"N": count}, {}, {"x": x, "y": y})
    assert shape is not None and shape.index == "int"
    compiled = compile_source(made.source, target=target("sm_90"), entries=(shape.entry,), want_cubin=False)
    report = simulate(
        load_module(compiled.ptx),
        compiled.entries[shape.entry],
        Launch((shape.blocks, 1, 1), (shape.threads, 1, 1), shape.dynamic_shared),
        [{"x": x, "y": y, "N": np.int32(count)}[p.key] for p in shape.parameters],
        memory,
    )
    assert not report.faults
    np.testing.assert_array_equal(memory.read("y").view(np.float32), data)
