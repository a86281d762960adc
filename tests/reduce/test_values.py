"""Numbers that reductions go wrong on: NaN, infinities, denormals, sums beyond a type, offsets, nothing at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tilegen.lang.check import call_problems, check
from tilegen.lang.diagnostics import told
from tilegen.lang.parse import parse, source_from_text
from tilegen.numpy_types import Array

from .harness import Trial, prepare, program_of, run, simulate

SOFTMAX = """kernel softmax(R, C) {
    in x: f32[R, C]; out y: f32[R, C]
    let e[i, j] = exp(x[i, j] - max[k](x[i, k]))
    y[i, j] = e[i, j] / sum[k](e[i, k])
}"""
EXTREMES = """kernel extremes[T: f32 | f16 | bf16 | f64](R, C) {
    in x: T[R, C]; out high, low: T[R]; out at_high, at_low: i64[R]; out nans: i64[R]
    high[i] = max[j](x[i, j]); low[i] = min[j](x[i, j])
    at_high[i] = argmax[j](x[i, j]); at_low[i] = argmin[j](x[i, j])
    nans[i] = count[j](isnan(x[i, j]))
}"""
COLUMNS = (
    EXTREMES.replace("[R];", "[C];").replace("i64[R]", "i64[C]").replace("[i]", "[j]").replace("[j](", "[i](")
)
POSITIONS = (0, 1, 15, 16, 31, 32, 63, 100, 127, 128, 254)


def rows(values: Sequence[Sequence[float]]) -> Array:
    return np.array(values, np.float32)


def test_nan_anywhere_wins_in_max_and_min_and_is_where_it_is_first() -> None:
    x = np.random.default_rng(0).normal(size=(len(POSITIONS), 255)).astype(np.float32)
    for row, position in enumerate(POSITIONS):
        x[row, position] = np.nan
        x[row, -1] = np.nan
    sizes, turned = {"R": x.shape[0], "C": x.shape[1]}, {"R": x.shape[1], "C": x.shape[0]}
    found = run(
        Trial(EXTREMES, sizes, {"x": x}),
        Trial(EXTREMES, sizes, {"x": x}, fitted=True),
        Trial(COLUMNS, turned, {"x": x.T.copy()}),
        Trial(COLUMNS, turned, {"x": x.T.copy()}, fitted=True),
    )
    for outputs in found:
        assert np.isnan(outputs["high"]).all() and np.isnan(outputs["low"]).all()
        np.testing.assert_array_equal(outputs["at_high"], POSITIONS)
        np.testing.assert_array_equal(outputs["at_low"], POSITIONS)
        np.testing.assert_array_equal(outputs["nans"], [1 if p == 254 else 2 for p in POSITIONS])


@pytest.mark.parametrize("types, dtype", [(0, "float32"), (1, "float16"), (2, "bfloat16"), (3, "float64")])
def test_of_equal_elements_the_first_whatever_their_type(types: int, dtype: str) -> None:
    import ml_dtypes

    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = np.random.default_rng(1).integers(-3, 4, (9, 131)).astype(kind)
    x[3] = -np.inf
    x[4] = np.inf
    x[5, 7:] = -np.inf
    sizes = {"R": 9, "C": 131}
    for outputs in run(
        Trial(EXTREMES, sizes, {"x": x}, types=types),
        Trial(EXTREMES, sizes, {"x": x}, types=types, fitted=True),
    ):
        np.testing.assert_array_equal(outputs["at_high"], np.argmax(x.astype(np.float64), 1))
        np.testing.assert_array_equal(outputs["at_low"], np.argmin(x.astype(np.float64), 1))
        np.testing.assert_array_equal(outputs["high"].astype(np.float64), np.max(x.astype(np.float64), 1))


ALONE = """kernel alone[T: f16 | bf16 | u8 | i64](R, C) {
    in x: T[R, C]; out at: i32[R]
    at[i] = i32(argmax[j](x[i, j]))
}"""


@pytest.mark.parametrize("types", range(4))
def test_an_argmax_alone_compares_values_not_bits(types: int) -> None:
    """Negative floats have the greater bits: nothing else in this kernel makes it know the type."""
    import ml_dtypes

    kinds = (np.float16, ml_dtypes.bfloat16, np.uint8, np.int64)
    x = np.random.default_rng(2).integers(-9, 9, (5, 70))
    if types == 2:
        x = np.abs(x)
    for outputs in run(Trial(ALONE, {"R": 5, "C": 70}, {"x": x.astype(kinds[types])}, types=types)):
        np.testing.assert_array_equal(outputs["at"], np.argmax(x, 1))


def test_softmax_of_rows_with_infinities() -> None:
    inf, nan = np.inf, np.nan
    x = rows(
        [
            [-inf] * 4,
            [1, 2, -inf, 0],
            [inf, 1, 1, 1],
            [1000, 1001, 999, -1000],
            [0, nan, 1, 2],
            [-inf, -inf, 3, -inf],
        ]
    )
    wanted = rows(
        [
            [nan] * 4,
            [0.244728, 0.665241, 0, 0.090031],
            [nan] * 4,
            [0.244728, 0.665241, 0.090031, 0],
            [nan] * 4,
            [0, 0, 1, 0],
        ]
    )
    for outputs in run(
        Trial(SOFTMAX, {"R": 6, "C": 4}, {"x": x}), Trial(SOFTMAX, {"R": 6, "C": 4}, {"x": x}, fitted=True)
    ):
        np.testing.assert_allclose(outputs["y"], wanted, atol=1e-6)


def test_a_row_of_one_column_and_one_of_a_hundred_thousand() -> None:
    x = np.random.default_rng(3).normal(size=(1, 100_000)).astype(np.float32)
    found = run(
        Trial(SOFTMAX, {"R": 3, "C": 1}),
        Trial(SOFTMAX, {"R": 1, "C": 100_000}, {"x": x}),
        Trial(SOFTMAX, {"R": 1, "C": 100_000}, {"x": x}, fitted=True),
    )
    assert (found[0]["y"] == 1).all()
    exact = np.exp(x.astype(np.float64) - x.max())
    for outputs in found[1:]:
        np.testing.assert_allclose(outputs["y"], exact / exact.sum(), rtol=1e-5)


def test_denormals_are_not_flushed() -> None:
    tiny = np.float32(1e-45)
    text = """kernel tiny(R, C) {
        in x: f32[R, C]; out s, m: f32[R]; out k: i64[R]
        s[i] = sum[j](x[i, j]); m[i] = max[j](x[i, j]); k[i] = count[j](x[i, j] > 0.0)
    }"""
    x = np.full((2, 100), tiny, np.float32)
    (outputs,) = run(Trial(text, {"R": 2, "C": 100}, {"x": x}))
    assert (outputs["s"] == np.float32(100 * np.float64(tiny))).all() and (outputs["s"] > 0).all()
    assert (outputs["m"] == tiny).all() and (outputs["k"] == 100).all()


NARROW = """kernel narrow[T: f16 | bf16](N) {
    in x: T[N]; out s: f32[]; out r: T[]; out m: f32[]; out q: T[]
    s[] = f32(sum[i](x[i])); r[] = sum[i](x[i]); m[] = f32(mean[i](x[i])); q[] = mean[i](x[i])
}"""


@pytest.mark.parametrize("types", [0, 1])
@pytest.mark.parametrize("fitted", [False, True])
def test_narrow_floats_are_summed_in_f32(types: int, fitted: bool) -> None:
    import ml_dtypes

    kind = (np.float16, ml_dtypes.bfloat16)[types]
    ones = np.ones(100_000, kind)
    ends = np.array([32000] * 4 + [-32000] * 4, kind)
    large = np.array([40000] * 3, kind)
    found = run(
        *(Trial(NARROW, {"N": x.size}, {"x": x}, types=types, fitted=fitted) for x in (ones, ends, large))
    )
    assert float(found[0]["s"]) == 100_000 and float(found[0]["m"]) == 1.0
    assert float(found[0]["r"]) == (np.inf if types == 0 else float(ml_dtypes.bfloat16(100_000)))
    assert float(found[1]["s"]) == 0 and float(found[1]["r"]) == 0
    assert float(found[2]["q"]) == float(kind(40000)) and float(found[2]["s"]) == 3 * float(kind(40000))


def test_sums_of_bytes() -> None:
    text = """kernel bytes(N) {
        in x: u8[N]; in y: i8[N]; out s: u32[]; out w: u64[]; out t: i32[]; out p: i64[]; out b: u8[]
        s[] = sum[i](x[i]); w[] = sum[i](u64(x[i]) * u64(1 << 0) * u64(4294967295)); t[] = sum[i](y[i])
        p[] = sum[i](i64(y[i]) * i64(x[i])); b[] = u8(sum[i](x[i]))
    }""".replace("u64(1 << 0) * ", "")
    n = 70_000
    x = np.full(n, 255, np.uint8)
    y = np.full(n, -128, np.int8)
    for outputs in run(
        Trial(text, {"N": n}, {"x": x, "y": y}), Trial(text, {"N": n}, {"x": x, "y": y}, fitted=True)
    ):
        assert int(outputs["s"]) == 255 * n
        assert int(outputs["w"]) == 255 * n * 4294967295
        assert int(outputs["t"]) == -128 * n
        assert int(outputs["p"]) == -128 * 255 * n
        assert int(outputs["b"]) == 255 * n % 256


def test_integers_wrap_in_the_type_they_accumulate_in() -> None:
    text = """kernel wrap(R, C) {
        in x: i32[R, C]; in y: u32[R, C]; in z: i64[R, C]; out s, p: i32[R]; out u: u32[R]; out q: i64[R]
        s[i] = sum[j](x[i, j]); p[i] = prod[j](x[i, j]); u[i] = sum[j](y[i, j]); q[i] = prod[j](z[i, j])
    }"""
    draw = np.random.default_rng(4)
    x = draw.integers(-(2**31), 2**31, (3, 100)).astype(np.int32)
    y = draw.integers(0, 2**32, (3, 100)).astype(np.uint32)
    z = draw.integers(-(2**62), 2**62, (3, 100)) | 1
    (outputs,) = run(Trial(text, {"R": 3, "C": 100}, {"x": x, "y": y, "z": z}))
    np.testing.assert_array_equal(outputs["s"], x.sum(1, dtype=np.int32))
    np.testing.assert_array_equal(outputs["p"], x.prod(1, dtype=np.int32))
    np.testing.assert_array_equal(outputs["u"], y.sum(1, dtype=np.uint32))
    np.testing.assert_array_equal(outputs["q"], z.prod(1))


def test_layer_norm_far_from_zero() -> None:
    """10^4 + i 10^-3 in f32 is 10^4 + k / 1024 with a mean of 10^4 + 7.5 / 1024, which f32 does not have: a mean in two
    parts has it, as have differences to the first element and a mean in f64."""
    text = """kernel norm(R, C, eps: f32 = 1e-5) {
        in x: f32[R, C]; out y: f32[R, C]
        let h[i, j] = {h}
        let mu[i] = mean[j](h[i, j])
        let var[i] = mean[j]((h[i, j] - mu[i]) ** 2)
        y[i, j] = f32((h[i, j] - mu[i]) * rsqrt(var[i] + eps))
    }"""
    texts = {h: text.replace("{h}", h) for h in ("x[i, j] - x[i, 0]", "f64(x[i, j])", "x[i, j]")}
    x = (1e4 + np.arange(16) * 1e-3).astype(np.float32)[None]
    sizes = {"R": 1, "C": 16}
    trials = [Trial(t, sizes, {"x": x}, fitted=f) for t in texts.values() for f in (False, True)]
    first = [float(outputs["y"][0, 0]) for outputs in run(*trials)]
    assert all(abs(y - -1.33133) < 0.001 for y in first)


def test_differences_to_a_mean_of_what_is_not_finite() -> None:
    """What rounding took from an infinite mean is no number, and must not spread to where NumPy has an infinity."""
    text = """kernel centre(R, C) {
        in x: f32[R, C]; out y, z: f32[R, C]
        y[i, j] = x[i, j] - mean[k](x[i, k])
        z[i, j] = sqrt(mean[k]((x[i, k] - mean[l](x[i, l])) ** 2)) + x[i, j] * 0.0
    }"""
    x = np.full((4, 37), 1e4 + 0.3, np.float32)
    x[1, 7], x[2, 36], x[3, 0] = np.inf, -np.inf, np.nan
    for fitted in (False, True):
        (outputs,) = run(Trial(text, {"R": 4, "C": 37}, {"x": x}, fitted=fitted))
        with np.errstate(invalid="ignore", over="ignore"):
            wide = x.astype(np.float64)
            y = wide - wide.mean(1, keepdims=True)
        np.testing.assert_allclose(outputs["y"], y, rtol=1e-5, atol=1e-3)
        assert np.abs(outputs["z"][0]).max() < 1e-3


def test_the_spread_of_a_long_row_of_equal_elements_has_a_root() -> None:
    """Its two parts, each rounded, differ by -0.0018 here: below 0 there is no root."""
    text = """kernel spread(R, C) {
        in x: f32[R, C]; out s: f32[R]
        s[i] = sqrt(mean[k]((x[i, k] - mean[l](x[i, l])) ** 2))
    }"""
    x = np.full((1, 600_011), 777777.3, np.float32)
    (outputs,) = run(Trial(text, {"R": 1, "C": 600_011}, {"x": x}, fitted=True))
    assert outputs["s"][0] == 0


IDENTITIES = """kernel nothing(R, C) {
    in x: f32[R, C]; in z: bool[R, C]; in n: i16[R, C]
    out s, p: f32[R]; out a, b: bool[R]; out c: i64[R]; out t: i32[R]
    s[i] = sum[j](x[i, j]); p[i] = prod[j](x[i, j]); a[i] = any[j](z[i, j]); b[i] = all[j](z[i, j])
    c[i] = count[j](z[i, j]); t[i] = prod[j](n[i, j])
}"""


def test_nothing_reduces_to_the_identity() -> None:
    down = IDENTITIES.replace("[R];", "[C];").replace("out s, p: f32[R]", "out s, p: f32[C]")
    down = down.replace("[i] =", "[j] =").replace("[j](", "[i](").replace("i32[R]", "i32[C]")
    whole = "kernel all(N) { in x: f32[N]; out s, p: f32[]; s[] = sum[i](x[i]); p[] = prod[i](x[i]) }"
    found = run(
        *(Trial(IDENTITIES, {"R": 5, "C": 0}, fitted=f) for f in (False, True)),
        *(Trial(down, {"R": 0, "C": 5}, fitted=f) for f in (False, True)),
        *(Trial(whole, {"N": 0}, fitted=f) for f in (False, True)),
    )
    for outputs in found[:4]:
        for name, value in (("s", 0), ("p", 1), ("a", False), ("b", True), ("c", 0), ("t", 1)):
            np.testing.assert_array_equal(outputs[name], np.full(5, value))
    for outputs in found[4:]:
        assert float(outputs["s"]) == 0 and float(outputs["p"]) == 1


@pytest.mark.parametrize("operator", ["max", "min", "mean", "argmax", "argmin"])
def test_nothing_has_no_extreme_and_no_mean(operator: str) -> None:
    kind = "i64" if operator.startswith("arg") else "f32"
    text = f"kernel k(R, C) {{ in x: f32[R, C]; out y: {kind}[R]; y[i] = {operator}[j](x[i, j]) }}"
    kernel = check(parse(source_from_text(text))).kernels[0].kernels[0]
    assert not call_problems(kernel, {"R": 2, "C": 1})
    (problem,) = call_problems(kernel, {"R": 2, "C": 0})
    assert operator in told(problem).message
    # No rows: nothing to reduce, and no problem.
    (outputs,) = run(Trial(text, {"R": 0, "C": 3}))
    assert outputs["y"].shape == (0,)


def test_a_division_by_a_result_rounds_as_a_division() -> None:
    """The inverse of what a whole row is divided by may be shared only where one rounding more does not show."""
    by_max = """kernel scaled(R, C) {
        in x: f32[R, C]; out y: f32[R, C]
        y[i, j] = x[i, j] / max[k](x[i, k])
    }"""
    other = "kernel ratio(R, C) { in x, d: f32[R, C]; out y: f32[R, C]; y[i, j] = x[i, j] / max[k](d[i, k]) }"
    draw = np.random.default_rng(5)
    x = (draw.uniform(1, 4, (100, 500)) * 2.0 ** draw.integers(-140, 120, (100, 1))).astype(np.float32)
    special = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, 1e-38, 3e38, 1e-20, 1e20, -7, 2e30, 5e-8]
    d, n = np.meshgrid(np.array(special, np.float32), np.array(special, np.float32), indexing="ij")
    first, second = run(
        Trial(by_max, {"R": 100, "C": 500}, {"x": x}),
        Trial(other, {"R": len(special), "C": len(special)}, {"x": n.copy(), "d": d.copy()}),
    )
    np.testing.assert_array_equal(first["y"], x / x.max(1, keepdims=True))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(second["y"], n / d)


WIDE = {
    "parts": "kernel s(N) { in x: f32[N]; out y: f32[]; out at: i64[]; y[] = sum[i](x[i]); at[] = argmax[i](x[i]) }",
    "rows": EXTREMES,
    "softmax": SOFTMAX,
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_indices_give_the_same_bits(name: str) -> None:
    sizes = {"N": 5000} if name == "parts" else {"R": 3, "C": 77}
    trial = Trial(WIDE[name], sizes)
    program = program_of(trial, "wide")
    ready = prepare(trial, program)
    kinds = [simulate(ready, index=index) for index in ("int", "long long")]
    assert [run.shape.index for run in kinds if run.shape is not None] == ["int", "long long"]
    assert not kinds[0].faults and not kinds[1].faults
    for output, values in kinds[0].outputs.items():
        assert values.tobytes() == kinds[1].outputs[output].tobytes()


@pytest.mark.parametrize("text", [SOFTMAX, EXTREMES, WIDE["parts"]], ids=["softmax", "extremes", "parts"])
def test_the_same_bits_on_two_runs_and_from_any_address(text: str) -> None:
    sizes = {"N": 20_000} if "(N)" in text else {"R": 5, "C": 300}
    found = run(
        Trial(text, sizes),
        Trial(text, sizes),
        Trial(text, sizes, fitted=True),
        Trial(text, sizes, fitted=True),
    )
    for one, two in (found[:2], found[2:]):
        assert all(one[name].tobytes() == two[name].tobytes() for name in one)


@pytest.mark.parametrize("types", [0, 1, 2])
def test_gelu_of_every_number_of_16_bits_and_of_floats_between(types: int) -> None:
    """By the tolerance of a float, 14 units of 2^-24: the result is not rounded to 16 bits."""
    import ml_dtypes

    text = "kernel g[T: f32 | f16 | bf16](N) { in x: T[N]; out y: f32[N]; y[i] = gelu(f32(x[i])) }"
    if types == 0:
        size = np.concatenate([np.logspace(-38, 1.2, 20_000), np.linspace(0, 15, 20_000)])
        x = np.concatenate([size, -size, [np.inf, -np.inf, np.nan]]).astype(np.float32)
    else:
        kind = np.dtype(np.float16 if types == 1 else ml_dtypes.bfloat16)
        x = np.arange(1 << 16, dtype=np.uint16).view(kind)
    (found,) = run(Trial(text, {"N": len(x)}, {"x": x}, types=types))
    assert np.isfinite(found["y"]).sum() > 60_000


@pytest.mark.parametrize("value", [0.1, 0.7])
def test_chains_of_additions_are_sixteen_times_shorter_than_what_a_thread_adds(value: float) -> None:
    """A bound that one chain of all 62,500 elements of a thread passes: 10,000 units of 2^-24 for either value."""
    text = "kernel s(N) { in x: f32[N]; out y: f32[]; y[] = sum[i](x[i]); schedule s { threads i = 32; vector 4 } }"
    x = np.full(2_000_000, value, np.float32)
    (found,) = run(Trial(text, {"N": x.size}, {"x": x}))
    exact = x.astype(np.float64).sum()
    per_thread, chunk = x.size / 32, 16
    assert abs(float(found["y"]) - exact) / exact * 2**24 <= per_thread / chunk + chunk + 5
