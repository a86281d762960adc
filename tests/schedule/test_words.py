"""What the directives that `auto` needs do when a person writes them: the code computes what NumPy says."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilegen
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.target import target

SUMS = "kernel t(R, C) {{ in x: f32[R, C]; out s: f32[R]; s[i] = sum[k](x[i, k]); schedule s {{ {0} }} }}"
SOFTMAX = """kernel t(R, C) {{ in x: f32[R, C]; out y: f32[R, C]; let m[i] = max[k](x[i, k])
    y[i, j] = exp(x[i, j] - m[i]) / sum[k](exp(x[i, k] - m[i])); schedule s {{ {0} }} }}"""
COPY = "kernel t(R, C) {{ in x: f32[R, C]; out y: f32[R, C]; y[i, j] = 2 * x[i, j]; schedule s {{ {0} }} }}"
TURNED = "kernel t(R, C) {{ in x: f32[R, C]; out y: f32[C, R]; y[j, i] = x[i, j]; schedule s {{ {0} }} }}"
COUNTS = """kernel t(N) {{ in x: u8[N, 3]; out h: i32[3, 16]; h[c, b] = count[i](x[i, c] == b)
    schedule s {{ {0} }} }}"""
SHAPES = ((1, 1), (3, 70), (8, 256), (5, 1000))


def values(shape: tuple[int, ...]) -> np.ndarray:
    """Small whole numbers: their sums are exact in any order."""
    return np.random.default_rng(3).integers(-9, 9, shape).astype(np.float32)


def written(text: str, directives: str) -> Program:
    family = check(parse(source_from_text(text.format(directives)))).kernels[0]
    return build(family.kernels[0], family.schedules[0], target("sm_90"))


def call(text: str, directives: str, *arrays: np.ndarray) -> np.ndarray:
    return tilegen.loads(text.format(directives)).kernel("t").schedule("s")(*arrays)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "directives",
    [
        "blocks k = 4",
        "threads i = 2, k = 32; blocks k = 3; in_flight 2",
        "threads k = 8, i = 32; blocks k = 4",
        "keep registers; threads k = 64; in_flight 4",
        "keep x registers; threads i = 4, k = 32; vector x = 4; in_flight 2",
        "threads 128, k = 32",
        "threads 64",
        "in_flight 3",
    ],
)
def test_sums_of_rows(directives: str, shape: tuple[int, int]) -> None:
    x = values(shape)
    np.testing.assert_array_equal(call(SUMS, directives, x), x.sum(axis=1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "directives",
    [
        "keep x registers; threads j = 64; in_flight 4",
        "threads j = 32; keep registers; cluster j = 4; in_flight 2",
        "threads j = 128; keep registers; cluster j = 8; vector 4; in_flight 1",
        "at C = 70; threads 64, j = 32; keep registers; in_flight 3; otherwise; threads j = 256; in_flight 4",
        "tile j = 64; threads j = 32; keep registers; otherwise; tile j = 256; threads j = 64; keep registers",
    ],
)
def test_rows_that_are_kept(directives: str, shape: tuple[int, int]) -> None:
    x = values(shape)
    power = np.exp(x - x.max(axis=1, keepdims=True))
    wanted = power / power.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(call(SOFTMAX, directives, x), wanted, rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "directives",
    [
        "tile i*j = 512; vector 4",
        "threads i*j = 64",
        "threads 96; tile j = 96",
        "at R = 5; tile i = 5, j = 32; otherwise; tile i*j = 100",
        "at R = 3, C = 70; tile j = 64",
    ],
)
def test_copies(directives: str, shape: tuple[int, int]) -> None:
    x = values(shape)
    np.testing.assert_array_equal(call(COPY, directives, x), 2 * x)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tile_staged_as_tilegen_likes(shape: tuple[int, int]) -> None:
    x = values(shape)
    np.testing.assert_array_equal(call(TURNED, "tile i = 32, j = 32; stage x auto", x), x.T)


@pytest.mark.parametrize(
    "directives", ["blocks c = 1", "threads 256; in_flight 4", "in_flight 16; vector x = 4"]
)
def test_counts(directives: str) -> None:
    x = np.random.default_rng(3).integers(0, 20, (1000, 3)).astype(np.uint8)
    wanted = np.array([[(x[:, c] == b).sum() for b in range(16)] for c in range(3)], np.int32)
    np.testing.assert_array_equal(call(COUNTS, directives, x), wanted)


def test_blocks_share_a_row_that_is_long_enough() -> None:
    shape = written(SUMS, "threads k = 32; in_flight 1; blocks k = 4").shape(
        {"R": 7, "C": 4096}, {}, {"x": 1 << 20, "s": 1 << 20}
    )
    assert shape is not None and shape.blocks == 7 * 4


def test_a_cluster_is_that_many_blocks_of_a_row() -> None:
    program = written(SOFTMAX, "threads j = 32; keep registers; cluster j = 4; in_flight 2")
    assert program.plans[0].cluster == 4 and "__cluster_dims__(4, 1, 1)" in program.source
    shape = program.shape({"R": 7, "C": 256}, {}, {"x": 1 << 20, "y": 1 << 20})
    assert shape is not None and (shape.plan, shape.blocks) == (0, 7 * 4)
    longer = program.shape({"R": 7, "C": 257}, {}, {"x": 1 << 20, "y": 1 << 20})
    assert longer is not None and longer.plan == 1


def test_axes_that_are_one_are_tiled_as_one() -> None:
    (plan,) = written(COPY, "tile i*j = 512").plans
    assert [(t.axis, t.tile) for t in plan.tiles] == [("ij", 512)]


def test_sizes_of_a_schedule_are_constants_of_its_kernel_alone() -> None:
    """For other sizes there is what `auto` makes for any."""
    program = written(COPY, "at R = 3, C = 70; tile j = 64")
    first, second = program.plans[0], program.plans[-1]
    assert [a.extent.constant for a in first.nest.axes] == [3, 70]
    assert [a.called for a in second.nest.axes] == ["i*j"] and second.nest.axes[0].extent.constant is None
    pointers = {"x": 1 << 20, "y": 1 << 20}
    fits, other = ({"R": r, "C": 70} for r in (3, 4))
    assert program.shape(fits, {}, pointers).plan == 0  # type: ignore[union-attr]
    assert program.shape(other, {}, pointers).plan > 0  # type: ignore[union-attr]
    assert program.schedules[0].at == (("R", 3), ("C", 70)) and not program.schedules[-1].at


def test_alternatives_are_tried_in_order() -> None:
    program = written(
        SOFTMAX,
        "threads j = 32; keep registers; in_flight 2; otherwise; threads j = 128; keep registers; in_flight 2",
    )
    pointers = {"x": 1 << 20, "y": 1 << 20}
    chosen = [program.shape({"R": 4, "C": c}, {}, pointers).plan for c in (64, 65, 256, 257)]  # type: ignore[union-attr]
    assert chosen == [0, 1, 1, 2]


@pytest.mark.parametrize(("architecture", "known"), [("sm_80", False), ("sm_90", True)])
def test_clusters_are_there_from_sm_90_on(architecture: str, known: bool) -> None:
    text = SOFTMAX.format("threads j = 32; keep registers; cluster j = 4")
    family = check(parse(source_from_text(text))).kernels[0]
    if known:
        assert build(family.kernels[0], family.schedules[0], target(architecture)).plans[0].cluster == 4
        return
    with pytest.raises(tilegen.SpecError, match=re.escape("sm_80 has no clusters")):
        build(family.kernels[0], family.schedules[0], target(architecture))
