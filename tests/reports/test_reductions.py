"""Reports A, B, D, E, G, H, J, K, L where they are about reductions and fused rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tilegen.lang.check import call_problems, check
from tilegen.lang.diagnostics import SpecError, told
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.target import target

Run = Callable[..., Any]
Values = Callable[..., Any]

SOFTMAX = """kernel softmax[T: f32 | f16 | bf16](R, C) {{
    in x: T[R, C]; out y: T[R, C]
    let e[i, j] = exp(f32(x[i, j]) - max[k](f32(x[i, k])))
    y[i, j] = e[i, j] / sum[k](e[i, k])
    {schedule}
}}"""
FUSED = """kernel fused[T: f32 | f16](R, C, eps: f32 = 1e-5) {
    in x, r: T[R, C]; in gamma, beta: T[C]; out y: T[R, C]
    let h[i, j] = gelu(f32(x[i, j])) + f32(r[i, j])
    let mu[i] = mean[j](h[i, j])
    let var[i] = mean[j]((h[i, j] - mu[i]) ** 2)
    y[i, j] = (h[i, j] - mu[i]) * rsqrt(var[i] + eps) * f32(gamma[j]) + f32(beta[j])
}"""


def of_type(text: str, dtype: str) -> str:
    """The text for one of its types."""
    head, _, tail = text.partition("[T: ")
    return head + f"[T: {dtype}]" + tail.partition("]")[2]


def softmax(x: Any) -> Any:
    wide = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    return wide / wide.sum(1, keepdims=True)


def normal(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# A, B: launches


def test_a2_a_tall_image_is_one_grid_dimension(program: Callable[..., Program]) -> None:
    made = program("""kernel rows(H, W) {
        in a: f32[H, W] boundary constant 0; in w: f32[3]; out b: f32[H, W]
        b[y, x] = sum[u in 0..3](w[u] * a[y, x + u - 1])
    }""")
    shape = made.shape({"H": 524281, "W": 3}, {}, dict.fromkeys("awb", 1 << 33))
    assert shape is not None and 1 <= shape.blocks < 2**31
    with pytest.raises(ValueError, match="more than a grid may have"):
        made.shape({"H": 2**45, "W": 3}, {}, dict.fromkeys("awb", 1 << 33))


def test_a8_every_kernel_declares_how_many_threads_it_is_launched_with(
    program: Callable[..., Program],
) -> None:
    made = program(of_type(FUSED, "f64").replace("f32(", "f64(")[:-1] + "schedule s { threads j = 1024 }\n}")
    for number, plan in enumerate(made.plans):
        kernel = made.rendered.entry(number, "int").split("::")[1].split("<")[0]
        assert plan.threads == 1024
        assert f"__launch_bounds__(1024, 1) {kernel}(" in made.source


@pytest.mark.parametrize("count", [2**31 - 1, 2**31, 2**31 + 512, 2**32 + 1])
@pytest.mark.parametrize("schedule", ["", "schedule s { threads i = 256; vector 16 }"])
def test_b1_sums_past_32_bits(program: Callable[..., Program], schedule: str, count: int) -> None:
    made = program(f"kernel s(N) {{ in x: i8[N]; out y: i64[]; y[] = sum[i](i64(x[i])); {schedule} }}")
    shape = made.shape({"N": count}, {}, {"x": 1 << 34, "y": 1 << 33})
    assert shape is not None and shape.index == "long long"


def test_b1_rows_whose_elements_are_too_many_but_whose_length_is_not(program: Callable[..., Program]) -> None:
    made = program("kernel s(R, C) { in x: f32[R, C]; out y: f32[R]; y[i] = sum[j](x[i, j]) }")
    for rows, index in ((1000, "int"), (1_000_000, "long long")):
        shape = made.shape({"R": rows, "C": 4096}, {}, {"x": 1 << 34, "y": 1 << 33})
        assert shape is not None and shape.index == index


# D, E, K, L: products, strides, windows


@pytest.mark.parametrize("m, n, k", [(1, 105, 107), (31, 32, 32)])
def test_d4_products_with_odd_extents(run: Run, m: int, n: int, k: int) -> None:
    a, b = normal((m, k), np.float16), normal((k, n), np.float16, 1)
    text = """kernel matmul(M, N, K) {
        in a: f16[M, K]; in b: f16[K, N]; out c: f32[M, N]
        c[i, j] = sum[k](f32(a[i, k]) * f32(b[k, j]))
    }"""
    found = run(text, {"M": m, "N": n, "K": k}, {"a": a, "b": b}).outputs["c"]
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    bound = k * 2.0**-24 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)))
    assert (np.abs(found - wanted) <= bound).all()


def test_e3_a_flipped_row_under_a_long_window(run: Run) -> None:
    x = np.arange(31, dtype=np.float32)
    text = """kernel conv(N, K) {
        in x: f32[N] boundary constant 0 strides(*); in w: f32[K] strides(*); out y: f32[N]
        y[i] = sum[k](w[k] * x[i + k - K // 2]) for i in 0..N
    }"""
    w = np.arange(31, dtype=np.float32)
    found = run(text, {"N": 31, "K": 31}, {"x": x, "w": w}, strides={"x": (-1,), "w": (-1,)})
    np.testing.assert_array_equal(found.outputs["y"], np.correlate(x, w, "same"))


def test_e4_matrices_that_are_one_matrix(run: Run) -> None:
    text = """kernel batched(B, N) {
        in a: f32[B, N, N] strides(*, *, 1); in b: f32[B, N, N]; out c: f32[B, N, N]
        c[n, i, j] = sum[k](a[n, i, k] * b[n, k, j])
    }"""
    ones = np.ones((4, 32, 32), np.float32)
    found = run(text, {"B": 4, "N": 32}, {"a": ones, "b": ones}, strides={"a": (0, 32, 1)})
    assert (found.outputs["c"] == 32).all()


def test_e4_a_bias_of_stride_zero(run: Run) -> None:
    text = """kernel shifted(R, C) {
        in x: f32[R, C]; in bias: f32[C] strides(*); out y: f32[R, C]
        y[i, j] = x[i, j] - max[k](x[i, k]) + bias[j]
    }"""
    x = normal((5, 64))
    found = run(
        text, {"R": 5, "C": 64}, {"x": x, "bias": np.full(64, 2.5, np.float32)}, strides={"bias": (0,)}
    )
    np.testing.assert_allclose(found.outputs["y"], x - x.max(1, keepdims=True) + 2.5, rtol=1e-6, atol=1e-6)


def test_k7_a_window_larger_than_the_image_is_refused_at_the_call() -> None:
    text = """kernel conv(H, W) {
        in x: f32[H, W]; in w: f32[3, 3]; out y: f32[H - 2, W - 2]
        y[p, q] = sum[r, s](x[p + r, q + s] * w[r, s])
    }"""
    kernel = check(parse(source_from_text(text))).kernels[0].kernels[0]
    assert not call_problems(kernel, {"H": 3, "W": 3})
    (problem, *_) = call_problems(kernel, {"H": 1, "W": 3})
    assert "-1" in told(problem).message


def test_l1_a_product_over_nothing(run: Run) -> None:
    text = "kernel matmul(M, N, K) {{ in a: f32[M, K]; in b: f32[K, N]; {role} c: f32[M, N]; c[i, j] = {value} }}"
    a, b = np.zeros((3, 0), np.float32), np.zeros((0, 4), np.float32)
    sizes = {"M": 3, "N": 4, "K": 0}
    zero = run(text.format(role="out", value="sum[k](a[i, k] * b[k, j])"), sizes, {"a": a, "b": b})
    assert (zero.outputs["c"] == 0).all()
    c = np.full((3, 4), 7, np.float32)
    added = run(
        text.format(role="inout", value="sum[k](a[i, k] * b[k, j]) + c[i, j]"),
        sizes,
        {"a": a, "b": b, "c": c},
    )
    assert (added.outputs["c"] == 7).all()


# G: barriers and shuffles


@pytest.mark.parametrize("n", [1, 31, 33, 100, 255, 257])
def test_g1_a_block_larger_than_what_it_reduces(run: Run, n: int) -> None:
    x = np.arange(n, dtype=np.float32)
    found = run(
        "kernel s(N) { in x: f32[N]; out y: f32[]; y[] = sum[i](x[i]); schedule s { threads i = 256 } }",
        {"N": n},
        {"x": x},
    )
    assert float(found.outputs["y"]) == n * (n - 1) / 2


def test_g3_several_reductions_of_one_block_do_not_share_what_they_leave(run: Run) -> None:
    text = """kernel many(R, C) {
        in x: i32[R, C]; out a, b, c, d: i32[R]
        let top[i] = max[j](x[i, j])
        a[i] = top[i]; b[i] = sum[j](x[i, j])
        c[i] = sum[j](x[i, j] * top[i]); d[i] = min[j](x[i, j] - top[i])
        schedule s { threads i = 2, j = 128 }
    }"""
    x = np.random.default_rng(0).integers(-50, 50, (5, 1000)).astype(np.int32)
    found = run(text, {"R": 5, "C": 1000}, {"x": x}).outputs
    top = x.max(1)
    for name, wanted in (("a", top), ("b", x.sum(1)), ("c", x.sum(1) * top), ("d", x.min(1) - top)):
        np.testing.assert_array_equal(found[name], wanted)


@pytest.mark.parametrize("threads", ["8", "32", "96", "256"])
def test_g5_any_width_with_any_number_of_threads(run: Run, threads: str) -> None:
    schedule = f"schedule s {{ threads j = {threads} }}"
    for dtype in ("f32", "f16"):
        text = of_type(SOFTMAX.format(schedule=schedule), dtype)
        if threads in ("8", "96"):
            with pytest.raises(SpecError) as caught:
                run(text, {"R": 2, "C": 3}, {"x": normal((2, 3))})
            (problem,) = caught.value.diagnostics
            assert problem.code in ("TG0618", "TG0619") and problem.helps
            continue
        for width in (1, 2, 3, 17, 31, 32, 33):
            x = normal((3, width), np.float32 if dtype == "f32" else np.float16)
            found = run(text, {"R": 3, "C": width}, {"x": x}).outputs["y"]
            np.testing.assert_allclose(found, softmax(x), rtol=4e-6 if dtype == "f32" else 6e-4, atol=1e-7)


# H: what is added up


def test_h2_reductions_over_nothing(run: Run) -> None:
    empty = {"x": np.zeros((2, 0), np.float32)}
    text = "kernel k(R, C) {{ in x: f32[R, C]; out y: f32[{size}]; y[{left}] = {op}[{axis}](x[i, j]) }}"

    def made(op: str, axis: str = "j") -> str:
        left, size = ("i", "R") if axis == "j" else ("j", "C")
        return text.format(op=op, axis=axis, left=left, size=size)

    for op, value in (("sum", 0.0), ("prod", 1.0)):
        assert run(made(op), {"R": 2, "C": 0}, empty).outputs["y"].tolist() == [value, value]
    for op in ("max", "mean"):
        kernel = check(parse(source_from_text(made(op)))).kernels[0].kernels[0]
        assert call_problems(kernel, {"R": 2, "C": 0})
    none = run(made("max"), {"R": 0, "C": 2}, {"x": np.zeros((0, 2), np.float32)})
    assert none.shape is None and none.outputs["y"].shape == (0,)


def test_h6_truth_values_are_counted_not_added(run: Run) -> None:
    x = np.array([0, 1, 2, 255, 3, 0], np.uint8).view(np.bool_)
    text = """kernel c(N) { in x: bool[N]; out n: i32[]; out a, b: bool[]; out m: i32[]
        n[] = i32(count[i](x[i])); a[] = any[i](x[i]); b[] = all[i](x[i]); m[] = max[i](i32(x[i])) }"""
    found = run(text, {"N": 6}, {"x": x}).outputs
    assert (int(found["n"]), bool(found["a"]), bool(found["b"]), int(found["m"])) == (4, True, False, 1)
    assert found["a"].view(np.uint8) == 1 and found["b"].view(np.uint8) == 0


def test_h7_the_same_bits_on_every_run(run: Run) -> None:
    text = "kernel s(N) { in x: f32[N]; out y: f32[]; y[] = sum[i](x[i]) }"
    x = normal((2**17 + 3,))
    results = {run(text, {"N": x.size}, {"x": x}).outputs["y"].tobytes() for _ in range(3)}
    assert len(results) == 1
    assert abs(float(np.frombuffer(results.pop(), np.float32)[0]) - x.sum(dtype=np.float64)) < 1e-2


def test_h7_blocks_leave_their_parts_in_places_of_their_own(program: Callable[..., Program]) -> None:
    """No float is added by an atomic instruction: which block comes first would change the sum."""
    made = program("kernel s(N) { in x: f32[N]; out y: f32[]; y[] = sum[i](x[i]) }")
    assert made.source.count("atomicAdd(") == len(made.plans)
    assert all(
        f"atomicAdd({scratch.name}" in made.source
        for p in made.plans
        for scratch in p.scratch
        if scratch.zeroed
    )


# J: rows


@pytest.mark.parametrize(
    "dtype, shape", [("bf16", (4, 32768)), ("f16", (4, 32768)), ("f32", (2, 16384)), ("f32", (1, 102400))]
)
def test_j3_long_rows(run: Run, dtype: str, shape: tuple[int, int]) -> None:
    kind = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}[dtype]
    x = normal(shape).astype(kind)
    found = run(of_type(SOFTMAX.format(schedule=""), dtype), {"R": shape[0], "C": shape[1]}, {"x": x})
    y = found.outputs["y"].astype(np.float64)
    half = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-24}[dtype]
    # exp in f32, a sum of C positive terms, a division, the rounding of the store, and f16's spacing below 2^-14.
    bound = softmax(x) * (half + (16 + math.log2(shape[1]) * 4) * 2.0**-23) + (
        2.0**-25 if dtype == "f16" else 0
    )
    assert (np.abs(y - softmax(x)) <= bound).all()


@pytest.mark.parametrize("shape", [(2, 320), (3, 1), (3, 33), (2, 1023)])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_j5_fused_rows_of_any_length(run: Run, dtype: str, shape: tuple[int, int]) -> None:
    """The simulator's buffers end with the last element: a vector past it would be a fault."""
    kind = np.float32 if dtype == "f32" else np.float16
    x, r = normal(shape, kind), normal(shape, kind, 1)
    gamma, beta = normal(shape[1:], kind, 2), normal(shape[1:], kind, 3)
    arrays = {"x": x, "r": r, "gamma": gamma, "beta": beta}
    y = run(of_type(FUSED, dtype), {"R": shape[0], "C": shape[1]}, arrays, {"eps": 1e-5}).outputs["y"]
    if shape[1] == 1:
        np.testing.assert_array_equal(y, np.broadcast_to(beta, shape))
    wide = [v.astype(np.float64) for v in (x, r, gamma, beta)]
    h = 0.5 * wide[0] * (1 + np.vectorize(math.erf)(wide[0] / math.sqrt(2))) + wide[1]
    centred = h - h.mean(1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * wide[2] + wide[3]
    np.testing.assert_allclose(y, wanted, atol=2e-5 if dtype == "f32" else 8e-3)


def test_j5_vectors_are_chosen_only_where_rows_hold_whole_ones() -> None:
    family = check(parse(source_from_text(of_type(FUSED, "f16")))).kernels[0]
    made = build(family.kernels[0], None, target("sm_90"))
    for columns in (1023, 33, 1, 320, 1024):
        shape = made.shape(
            {"R": 2, "C": columns}, {}, dict.fromkeys(("x", "r", "gamma", "beta", "y"), 1 << 33)
        )
        assert shape is not None
        width = made.plans[shape.plan].schedule.item_width
        assert columns % width == 0 and (width > 1) == (columns % 8 == 0)


GELU = {
    "gelu_tanh": [(-13.24, 0.0), (-6, -8.44e-11), (-5, -2.29e-7), (15.5, 15.5), (40, 40)],
    "gelu": [(-13.24, 0.0), (-6, -5.92e-9), (-5, -1.433e-6), (15.5, 15.5), (40, 40)],
}


@pytest.mark.parametrize("form", GELU)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_j7_gelu_far_from_zero_under_a_reduction(run: Run, dtype: str, form: str) -> None:
    kind = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}[dtype]
    x = np.array([[v for v, _ in GELU[form]]] * 2, np.float32).astype(kind)
    text = f"""kernel g(R, C) {{
        in x: {dtype}[R, C]; out y: f32[R, C]; out m: f32[R]
        y[i, j] = {form}(f32(x[i, j])) - 0.0 * max[k](f32(x[i, k])); m[i] = max[k]({form}(f32(x[i, k])))
    }}"""
    found = run(text, {"R": 2, "C": 5}, {"x": x}).outputs
    assert np.isfinite(found["y"]).all() and (found["m"] == 40).all()
    if dtype == "f32":
        wanted = [v for _, v in GELU[form]]
        # 1 + tanh and erfc round near 2^-24 of 1: the tail keeps an absolute error of |x| 2^-24.
        np.testing.assert_allclose(found["y"][0], wanted, rtol=2e-3, atol=6 * 2.0**-24)
