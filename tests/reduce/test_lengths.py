"""Every length about the sizes of warps, blocks and chunks, by rows, by columns and of everything, exact against NumPy.

The elements are small integers, so that a sum is exact in any order and one element lost or taken twice shows.
"""

from __future__ import annotations

import numpy as np
import pytest

from tilegen.numpy_types import Array
from tilegen.program import Program

from .harness import Trial, execute, prepare, program_of, run

LENGTHS = (0, 1, 2, 3, 31, 32, 33, 255, 1000, 1023, 1024, 1025, 4097)
COUNTS = (0, 1, 7)
BY_ROW = """kernel rows[T: f32 | f16 | i32 | u8](R, C) {
    in x: T[R, C]; out s: f64[R]; out n: i32[R]; out odd: bool[R]
    s[i] = f64(sum[j](i32(x[i, j])))
    n[i] = i32(count[j](x[i, j] > T(3)))
    odd[i] = any[j](x[i, j] == T(7))
}""".replace("T(3)", "3").replace("T(7)", "7")
ROW_EXTREMES = """kernel rows(R, C) {
    in x: f32[R, C]; out m: f32[R]; out at: i64[R]; out mu: f32[R]
    m[i] = max[j](x[i, j])
    at[i] = argmin[j](x[i, j])
    mu[i] = mean[j](x[i, j])
}"""
OF_ALL = """kernel total(N) {
    in x: f32[N]; out s: f32[]; out n: i64[]
    s[] = sum[i](x[i])
    n[] = count[i](x[i] > 3.0)
}"""
SCHEDULES = (
    "",
    "schedule s { threads i = 4, j = 64; vector 4 }",
    "schedule s { threads j = 32 }",
    "schedule s { threads i = 8, j = 4; tile j = 16 }",
    "schedule s { threads j = 1024; unroll j = 2 }",
    "schedule s { threads j = 4, i = 32 }",
)


def numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(0, 8, shape)


def by_column(text: str) -> str:
    """The same over the other axis: `i` runs down a column, `j` across them."""
    swapped = (
        text.replace("[i, j]", "[@]").replace("[i]", "[?]").replace("[j](", "[i](").replace("[?]", "[j]")
    )
    return (
        swapped.replace("[@]", "[i, j]")
        .replace(": f64[R]", ": f64[C]")
        .replace("[R];", "[C];")
        .replace("bool[R]", "bool[C]")
        .replace("f32[R]\n", "f32[C]\n")
    )


@pytest.mark.parametrize("types", range(4))
@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_sums_and_counts(types: int, turned: bool) -> None:
    kind = (np.float32, np.float16, np.int32, np.uint8)[types]
    text = by_column(BY_ROW) if turned else BY_ROW
    arrays = [numbers(*((c, r) if turned else (r, c))) for r in COUNTS for c in LENGTHS]
    trials = [
        Trial(text, {"R": x.shape[0], "C": x.shape[1]}, {"x": x.astype(kind)}, types=types) for x in arrays
    ]
    for x, outputs in zip(arrays, run(*trials), strict=True):
        axis = 0 if turned else 1
        np.testing.assert_array_equal(outputs["s"], x.sum(axis))
        np.testing.assert_array_equal(outputs["n"], (x > 3).sum(axis))
        np.testing.assert_array_equal(outputs["odd"], (x == 7).any(axis))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda s: s[s.find("{") + 2 : -2] or "auto")
def test_extremes_and_means_of_rows(schedule: str) -> None:
    text = ROW_EXTREMES[:-1] + f"    {schedule}\n}}"
    arrays = [numbers(r, c) for r in (0, 1, 7) for c in LENGTHS if c and (r != 1 or c > 1000)]
    trials = [Trial(text, {"R": x.shape[0], "C": x.shape[1]}, {"x": x.astype(np.float32)}) for x in arrays]
    for x, outputs in zip(arrays, run(*trials), strict=True):
        np.testing.assert_array_equal(outputs["m"], x.max(1))
        np.testing.assert_array_equal(outputs["at"], x.argmin(1))
        np.testing.assert_array_equal(outputs["mu"], (x.sum(1) / np.float32(x.shape[1])).astype(np.float32))


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_programs_made_for_a_length(turned: bool) -> None:
    text = by_column(ROW_EXTREMES) if turned else ROW_EXTREMES
    shapes = ((7, 1), (1, 3), (7, 32), (1, 33), (7, 1000), (1, 1023), (7, 1024), (1, 4097))
    arrays = [numbers(*((c, r) if turned else (r, c))) for r, c in shapes]
    trials = [
        Trial(text, {"R": x.shape[0], "C": x.shape[1]}, {"x": x.astype(np.float32)}, fitted=True)
        for x in arrays
    ]
    for x, outputs in zip(arrays, run(*trials), strict=True):
        axis = 0 if turned else 1
        np.testing.assert_array_equal(outputs["m"], x.max(axis))
        np.testing.assert_array_equal(outputs["at"], x.argmin(axis))


@pytest.mark.parametrize("schedule", ["", "threads i = 256; vector 4", "threads i = 32", "threads i = 1024"])
def test_everything(schedule: str) -> None:
    text = OF_ALL[:-1] + (f"    schedule s {{ {schedule} }}\n}}" if schedule else "}")
    arrays = [numbers(n) for n in (*LENGTHS, 100_000)]
    trials = [Trial(text, {"N": x.size}, {"x": x.astype(np.float32)}) for x in arrays]
    if not schedule:
        trials += [Trial(text, {"N": x.size}, {"x": x.astype(np.float32)}, fitted=True) for x in arrays[-3:]]
    for trial, outputs in zip(trials, run(*trials), strict=True):
        x = trial.inputs["x"]
        assert float(outputs["s"]) == x.sum(dtype=np.float64) and int(outputs["n"]) == np.count_nonzero(x > 3)


@pytest.mark.parametrize("cluster", [False, True])
def test_a_row_that_fills_its_threads_is_a_constant_without_guards(cluster: bool) -> None:
    full, less = (65536, 65532) if cluster else (1024, 1020)
    text = "kernel k(R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = x[i, j] - max[k](x[i, k]) }"
    trials = [Trial(text, {"R": 3, "C": c}, fitted=True) for c in (full, less)]
    constant, guarded = (program_of(t, "k") for t in trials)
    assert "j <" not in kernel_text(constant) and "index_t C" not in kernel_text(constant)
    assert "j < C" in kernel_text(guarded)
    for trial in trials:
        run(trial)
    # What was made for one length serves others, by its other kernels.
    other = Trial(text, {"R": 3, "C": 1000})
    execute([prepare(other, constant)])


def kernel_text(program: Program) -> str:
    """The first kernel of the file."""
    return program.source.split("static __global__", 2)[1]
