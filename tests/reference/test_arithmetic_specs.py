"""Statements that compute, from spec text, against NumPy in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilegen.lang.spec import Kernel
from tilegen.reference import EmptyReductionError, reduce

Run = Callable[..., Any]
Load = Callable[..., Kernel]
RNG = np.random.default_rng(7)
X = RNG.standard_normal((4, 9)).astype(np.float32)
D = X.astype(np.float64)
NAN, INF = np.nan, np.inf


def test_softmax(run: Run) -> None:
    """Report J1: rows of -inf, inf and NaN, and values that overflow exp."""
    text = """kernel softmax(R, C) { in x: f32[R, C]; out y: f32[R, C]
        let e[i, j] = exp(x[i, j] - max[k](x[i, k]))
        y[i, j] = e[i, j] / sum[k](e[i, k]) }"""
    e = np.exp(D - D.max(axis=1, keepdims=True))
    np.testing.assert_allclose(run(text, {"x": X}), e / e.sum(axis=1, keepdims=True), rtol=1e-15)
    rows = [[-INF] * 4, [1, 2, -INF, 0], [INF, 1, 1, 1], [1000, 1001, 999, -1000], [0, NAN, 1, 2]]
    want = [[NAN] * 4, [0.244728, 0.665241, 0, 0.090031], None, [0.244728, 0.665241, 0.090031, 0], [NAN] * 4]
    got = run(text, {"x": np.array(rows, np.float32)})
    assert np.isnan(got[2, 0])
    for row, expected in zip(got, want, strict=True):
        if expected is not None:
            np.testing.assert_allclose(row, expected, atol=1e-6)


def test_layernorm_with_scalar(run: Run) -> None:
    text = """kernel ln(R, C, eps: f32 = 1e-5) { in x: f32[R, C]; in g, b: f32[C]; out y: f32[R, C]
        let mu[i] = mean[j](x[i, j])
        let var[i] = mean[j]((x[i, j] - mu[i]) ** 2)
        y[i, j] = (x[i, j] - mu[i]) * rsqrt(var[i] + eps) * g[j] + b[j] }"""
    g, b = np.float32(RNG.standard_normal((2, 9)))
    for eps, scalars in ((np.float32(1e-5), None), (np.float32(0.1), {"eps": 0.1})):
        want = (D - D.mean(1, keepdims=True)) / np.sqrt(D.var(1, keepdims=True) + float(eps)) * g + b
        np.testing.assert_allclose(run(text, {"x": X, "g": g, "b": b}, scalars=scalars), want, rtol=1e-13)


def test_matmul_batched_with_broadcast(run: Run) -> None:
    """Report E4."""
    text = """kernel m(B, M, N, K) { in a: f32[B, M, K]; in b: f32[B, K, N]; out c: f32[B, M, N]
        c[t, i, j] = sum[k](a[t, i, k] * b[t, k, j]) }"""
    a = np.broadcast_to(np.ones((1, 32, 32), np.float32), (32, 32, 32))
    np.testing.assert_array_equal(run(text, {"a": a, "b": np.ones((32, 32, 32), np.float32)}), 32)


def test_matmul_over_nothing(run: Run) -> None:
    """Report L1: K = 0 gives zeros, and keeps beta * c."""
    plain = """kernel m(M, N, K) { in a: f32[M, K]; in b: f32[K, N]; out c: f32[M, N]
        c[i, j] = sum[k](a[i, k] * b[k, j]) }"""
    a, b = np.zeros((3, 0), np.float32), np.zeros((0, 4), np.float32)
    np.testing.assert_array_equal(run(plain, {"a": a, "b": b}), np.zeros((3, 4)))
    added = plain.replace("out c", "inout c").replace("= sum", "= c[i, j] + sum")
    np.testing.assert_array_equal(run(added, {"a": a, "b": b, "c": np.full((3, 4), 7, np.float32)}), 7)


@pytest.mark.parametrize(("op", "value"), [("sum", 0), ("prod", 1)])
def test_reduction_of_nothing_is_the_identity(run: Run, op: str, value: int) -> None:
    """Report H2."""
    text = f"kernel r(M, N) {{ in x: f32[M, N]; out y: f32[M]; y[i] = {op}[j](x[i, j]) }}"
    np.testing.assert_array_equal(run(text, {"x": X[:, :0]}), [value] * 4)


@pytest.mark.parametrize(("op", "value"), [("any", False), ("all", True), ("count", 0)])
def test_logical_reduction_of_nothing(run: Run, op: str, value: int) -> None:
    kind = "i32" if op == "count" else "bool"
    text = f"kernel r(M, N) {{ in x: f32[M, N]; out y: {kind}[M]; y[i] = {op}[j](x[i, j] > 0) }}"
    np.testing.assert_array_equal(run(text, {"x": X[:, :0]}), [value] * 4)


@pytest.mark.parametrize("op", ["max", "min", "mean", "argmax", "argmin"])
def test_reduction_that_needs_elements(run: Run, op: str) -> None:
    """Report H2: an error over nothing, but not where there is no result either."""
    kind = "i64" if op.startswith("arg") else "f32"
    text = f"kernel r(M, N) {{ in x: f32[M, N]; out y: {kind}[M]; y[i] = {op}[j](x[i, j]) }}"
    with pytest.raises(EmptyReductionError, match=rf"{op}\[j\] over no elements"):
        run(text, {"x": X[:, :0]})
    assert run(text, {"x": X[:0, :0]}).shape == (0,)
    np.testing.assert_allclose(run(text, {"x": X}), getattr(np, op)(D, axis=1), rtol=1e-15)


def test_extremes_propagate_nan_and_argmax_takes_the_first(run: Run) -> None:
    x = np.array([[1, 3, 3, 2], [1, NAN, 5, NAN], [-INF, -INF, -INF, -INF], [INF, NAN, INF, 0]], np.float32)
    for op in ("max", "min", "argmax", "argmin"):
        kind = "i64" if op.startswith("arg") else "f32"
        text = f"kernel r(M, N) {{ in x: f32[M, N]; out y: {kind}[M]; y[i] = {op}[j](x[i, j]) }}"
        np.testing.assert_array_equal(run(text, {"x": x}), getattr(np, op)(x, axis=1))


def test_argument_is_the_axis_value(run: Run) -> None:
    text = "kernel r(N) { in x: f32[N]; out y: i64[]; y[] = argmax[k in 2..N](x[k]) }"
    assert run(text, {"x": np.array([9, 8, 1, 5, 3], np.float32)}) == 3


def test_integer_reductions(run: Run) -> None:
    x = RNG.integers(-128, 128, (3, 50)).astype(np.int8)
    for op in ("sum", "prod"):
        text = f"kernel r(M, N) {{ in x: i8[M, N]; out y: i32[M]; y[i] = {op}[j](x[i, j]) }}"
        want = getattr(np, op)(x, axis=1, dtype=np.int32)
        np.testing.assert_array_equal(run(text, {"x": x}), want)
    for op in ("max", "min"):
        text = f"kernel r(M, N) {{ in x: i8[M, N]; out y: i8[M]; y[i] = {op}[j](x[i, j]) }}"
        np.testing.assert_array_equal(run(text, {"x": x}), getattr(x, op)(axis=1))
    wrap = "kernel r(N) { in x: i32[N]; out y: i32[]; y[] = sum[j](x[j]) }"
    assert run(wrap, {"x": np.full(2, 2**31 - 1, np.int32)}) == -2


def test_half_precision_sums_do_not_overflow(run: Run) -> None:
    """Report H3: only the store to f16 rounds, which is not part of the result here."""
    total = "kernel r(N) { in x: f16[N]; out y: f16[]; y[] = sum[i](x[i]) }"
    mean = total.replace("sum", "mean")
    assert run(total, {"x": np.array([32000] * 4 + [-32000] * 4, np.float16)}) == 0
    assert run(mean, {"x": np.array([40000] * 3, np.float16)}) == 40000
    assert run(mean, {"x": np.ones(100000, np.float16)}) == 1
    assert run(total, {"x": np.ones(65520, np.float16)}) == 65520


def test_double_sums_are_compensated(run: Run) -> None:
    text = "kernel r(N) { in x: f64[N]; out y: f64[]; y[] = sum[i](x[i]) }"
    x = np.tile([1e16, 1.0, -1e16, 1e-3], 5001)
    assert run(text, {"x": x}) == pytest.approx(5001 * 1.001, rel=1e-15)
    assert np.isinf(run(text, {"x": np.array([INF, 1, 2])}))
    assert np.isnan(run(text, {"x": np.array([INF, 1, -INF])}))

    # Rounding errors of the odd one out count as well.
    assert run(text, {"x": np.array([1e16, 1, 1])}) == 1e16 + 2


def test_computed_where_reads_only_the_side_chosen(run: Run) -> None:
    text = """kernel c(M, N) { in a: f32[M]; in b: f32[N]; out y: f32[M + N]
        y[i] = where(i >= M, b[i - M] * 2, a[i] * 3) }"""
    got = run(text, {"a": X[0], "b": X[1, :4]})
    np.testing.assert_array_equal(got, np.concatenate([D[0] * 3, D[1, :4] * 2]))


@pytest.mark.parametrize("general", [False, True])
def test_scan_behind_a_condition(run: Run, general: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if general:
        monkeypatch.setattr(reduce, "_is_running", lambda *_: False)
    first = """kernel s(N) { in x: f32[3]; out y: f32[N]
        y[i] = where(i < 3, sum[k in 0..=i](x[k]), 0.0) }"""
    np.testing.assert_allclose(run(first, {"x": X[0, :3]}, N=6), [*np.cumsum(D[0, :3]), 0, 0, 0], rtol=1e-15)
    last = """kernel s(N) { in x: f32[3]; out y: f32[N]
        y[i] = where(i >= N - 3, sum[k in i..N](x[k - N + 3]), 0.0) }"""
    want = [0, 0, 0, *np.cumsum(D[0, 2::-1])[::-1]]
    np.testing.assert_allclose(run(last, {"x": X[0, :3]}, N=6), want, rtol=1e-15)


def test_argmax_of_a_moving_range(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "kernel r(N) { in x: f32[N]; out y: i64[N]; y[i] = argmax[k in i..N](x[k]) }"
    x = np.array([-INF, 3, NAN, -INF, -INF, 2], np.float32)
    for piece in (1, 14, 10**6):
        monkeypatch.setattr(reduce, "PIECE", piece)
        np.testing.assert_array_equal(run(text, {"x": x}), [i + np.argmax(x[i:]) for i in range(6)])


def test_reduction_over_two_axes_and_triangle(run: Run) -> None:
    both = "kernel r(M, N) { in x: f32[M, N]; out y: f32[]; y[] = sum[i, j](x[i, j]) }"
    np.testing.assert_allclose(run(both, {"x": X}), D.sum(), rtol=1e-14)
    constant = "kernel r(N) { in x: f32[N]; out y: f32[]; y[] = sum[i, j in 0..5](x[i]) }"
    np.testing.assert_allclose(run(constant, {"x": X[0]}), 5 * D[0].sum(), rtol=1e-14)
    lower = "kernel r(N) { in x: f32[N, N]; out y: f32[]; y[] = sum[i](sum[j in 0..=i](x[i, j])) }"
    np.testing.assert_allclose(run(lower, {"x": X[:, :4]}), np.tril(D[:, :4]).sum(), rtol=1e-14)
    rows = "kernel r(M, N) { in x: f32[M, N]; out y: f32[M]; y[i] = max[j in i..N](x[i, j]) }"
    want = [D[i, i:].max() for i in range(4)]
    np.testing.assert_array_equal(run(rows, {"x": X}), want)


RANGES = {
    "0..=i": lambda a: np.cumsum(a),
    "0..i": lambda a: np.cumsum(a) - a,
    "i..N": lambda a: np.cumsum(a[::-1])[::-1],
    "i + 1..N": lambda a: np.cumsum(a[::-1])[::-1] - a,
}


@pytest.mark.parametrize("bounds", RANGES)
@pytest.mark.parametrize(
    ("dtype", "numpy_dtype"), [("f32", "f4"), ("i32", "i4"), ("f64", "f8"), ("u64", "u8")]
)
@pytest.mark.parametrize("general", [False, True])
def test_scans(
    run: Run, bounds: str, dtype: str, numpy_dtype: str, general: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports I2: prefix and suffix sums, inclusive and exclusive; as running totals, and term by term."""
    if general:
        monkeypatch.setattr(reduce, "_is_running", lambda *_: False)
        monkeypatch.setattr(reduce, "PIECE", 1 << 10)
    text = f"kernel s(N) {{ in x: {dtype}[N]; out y: {dtype}[N]; y[i] = sum[k in {bounds}](x[k]) }}"
    for length in (0, 1, 2, 7, 31, 33, 200):
        x = RNG.integers(0, 100, length).astype(numpy_dtype)
        np.testing.assert_array_equal(run(text, {"x": x}), RANGES[bounds](x))


@pytest.mark.parametrize("general", [False, True])
def test_other_scans(run: Run, general: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if general:
        monkeypatch.setattr(reduce, "_is_running", lambda *_: False)
    rows = "kernel s(M, N) {{ in x: f32[M, N]; out y: f32[M, N]; y[i, j] = {}[k in 0..=j](x[i, k]) }}"
    running = np.cumsum(D, axis=1)
    np.testing.assert_allclose(run(rows.format("sum"), {"x": X}), running, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(run(rows.format("max"), {"x": X}), np.maximum.accumulate(D, axis=1))
    np.testing.assert_array_equal(run(rows.format("min"), {"x": X}), np.minimum.accumulate(D, axis=1))
    np.testing.assert_allclose(run(rows.format("prod"), {"x": X}), np.cumprod(D, axis=1), rtol=1e-13)
    np.testing.assert_allclose(run(rows.format("mean"), {"x": X}), running / np.arange(1, 10), rtol=1e-12)
    window = (
        "kernel w(N) { in x: f32[N] boundary constant 1; out y: f32[N]; y[i] = sum[k in i..i + 3](x[k]) }"
    )
    want = np.lib.stride_tricks.sliding_window_view([*D[0], 1, 1], 3).sum(axis=1)
    np.testing.assert_allclose(run(window, {"x": X[0]}), want, rtol=1e-14)
    between = "kernel s(N) { in x: f32[N]; out y: f32[N, N]; y[i, j] = max[k in i..j](x[k]) }"
    with pytest.raises(EmptyReductionError):
        run(between, {"x": X[0]})
    guarded = """kernel s(N) { in x: f32[N]; out y: f32[N]
        y[i] = where(i > 0, max[k in 0..i](x[k]), -1.0) }"""
    np.testing.assert_array_equal(run(guarded, {"x": X[0]}), [-1, *np.maximum.accumulate(D[0])[:-1]])
    count = "kernel s(N) { in x: f32[N]; out y: i32[N]; y[i] = count[k in 0..=i](x[k] > 0) }"
    np.testing.assert_array_equal(run(count, {"x": X[0]}), np.cumsum(X[0] > 0))


def test_long_scan_is_linear(run: Run) -> None:
    x = RNG.standard_normal(300_000)
    text = "kernel s(N) { in x: f64[N]; out y: f64[N]; y[i] = sum[k in 0..=i](x[k]) }"
    want = np.cumsum(x.astype(np.longdouble)).astype(np.float64)
    np.testing.assert_allclose(run(text, {"x": x}), want, rtol=0, atol=1e-10)


def test_histograms(run: Run) -> None:
    x = RNG.integers(0, 256, 5000).astype(np.uint8)
    w = RNG.standard_normal(5000).astype(np.float32)
    plain = "kernel h(N) { in x: u8[N]; out h: i32[256]; h[b] = count[i](x[i] == b) }"
    np.testing.assert_array_equal(run(plain, {"x": x}), np.bincount(x, minlength=256))
    weighted = """kernel h(N) { in x: u8[N]; in w: f32[N]; out h: f32[256]
        h[b] = sum[i](where(x[i] == b, w[i], 0.0)) }"""
    want = np.bincount(x, weights=w, minlength=256)
    np.testing.assert_allclose(run(weighted, {"x": x, "w": w}), want, rtol=1e-12, atol=1e-12)


def test_stencil_with_each_boundary(run: Run) -> None:
    """Report K1."""
    text = """kernel c(A, B, C, D) {{ in x: i32[A, B, C, D] boundary {}; out y: i32[A, B, C, D]
        y[a, b, c, d] = sum[u in 0..3](x[a + u - 1, b, c, d]) }}"""
    x = np.arange(24, dtype=np.int32).reshape(1, 2, 3, 4)
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        np.testing.assert_array_equal(run(text.format(mode), {"x": x}), 3 * x)
    np.testing.assert_array_equal(run(text.format("constant 0"), {"x": x}), x)


def test_conv2d_in_pieces(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """kernel conv(N, C, H, W, K, R = 3, S = 3) {
        in x: f32[N, C, H, W] boundary constant 0; in w: f32[K, C, R, S]; out y: f32[N, K, H, W]
        y[n, k, p, q] = sum[c, r, s](x[n, c, p + r - 1, q + s - 1] * w[k, c, r, s]) }"""
    x, w = RNG.standard_normal((2, 3, 5, 6)), RNG.standard_normal((4, 3, 3, 3))
    padded = np.pad(x.astype("f4").astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    want = np.einsum("nchwrs,kcrs->nkhw", windows, w.astype("f4").astype(float))
    for piece in (1, 500, 1 << 20):
        monkeypatch.setattr(reduce, "PIECE", piece)
        got = run(text, {"x": x.astype("f4"), "w": w.astype("f4")})
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_argmax_in_pieces(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "kernel r(M, N) { in x: f32[M, N]; out y: i64[M]; y[i] = argmax[j](x[i, j]) }"
    x = RNG.integers(0, 4, (5, 40)).astype(np.float32)
    x[1, [5, 30]], x[2] = NAN, -INF
    for piece in (1, 15, 10**6):
        monkeypatch.setattr(reduce, "PIECE", piece)
        np.testing.assert_array_equal(run(text, {"x": x}), np.argmax(x, axis=1))


def test_integer_expressions_wrap_and_floor(run: Run) -> None:
    a = np.array([-7, 7, 2**31 - 1], np.int32)
    text = "kernel e(N) {{ in a: i32[N]; out y: i32[N]; y[i] = {} }}"
    assert run(text.format("a[i] // 2"), {"a": a}).tolist() == [-4, 3, 2**30 - 1]
    assert run(text.format("a[i] % 4"), {"a": a}).tolist() == [1, 3, 3]
    assert run(text.format("a[i] + 1"), {"a": a}).tolist() == [-6, 8, -(2**31)]
    assert run(text.format("a[i] ** 2"), {"a": a}).tolist() == [49, 49, 1]
    assert run(text.format("abs(a[i]) * i32(i)"), {"a": a}).tolist() == [0, 7, -2]
    guarded = text.format("where(a[i] != 7 and not (a[i] < 0), a[i] // (a[i] - 7), -1)")
    assert run(guarded, {"a": a}).tolist() == [-1, -1, 1]


def test_casts(run: Run) -> None:
    x = np.array([2.9, -2.9, 300.7], np.float32)
    assert run("kernel c(N) { in x: f32[N]; out y: i32[N]; y[i] = i32(x[i]) }", {"x": x}).tolist() == [
        2,
        -2,
        300,
    ]
    wrap = "kernel c(N) { in x: f32[N]; out y: u8[N]; y[i] = u8(i32(x[i])) }"
    assert run(wrap, {"x": x}).tolist() == [2, 254, 44]
    through = "kernel c(N) { in x: f32[N]; out y: f32[N]; y[i] = f32(bf16(x[i])) * 2 }"
    assert run(through, {"x": x}).tolist() == [5.8125, -5.8125, 600.0]


def test_narrow_float_is_not_rounded_before_the_store(run: Run) -> None:
    x = np.array([1.0, 2.0], np.float16)
    result = run("kernel c(N) { in x: f16[N]; out y: f16[N]; y[i] = x[i] / 3 }", {"x": x})
    np.testing.assert_array_equal(result, np.array([1, 2]) / 3)


def test_gather_with_computed_index(run: Run) -> None:
    text = """kernel g(N) { in x: f32[N] boundary edge; in k: i32[N]; out y: f32[N]
        y[i] = x[k[i] * 2 - 1] + 1 }"""
    k = np.array([-5, 1, 2, 9], np.int32)
    np.testing.assert_array_equal(run(text, {"x": X[0, :4], "k": k}), X[0, [0, 1, 3, 3]].astype(float) + 1)


def test_struct_members_in_expressions(run: Run) -> None:
    text = """kernel p(N) { in p: struct { x: f32, v: f32 }[N]; out q: struct { x: f32, v: f32 }[N]
        q[i].x = p[i].x + 0.5 * p[i].v
        q[i].v = p[i].v }"""
    p = np.zeros(3, np.dtype([("x", "f4"), ("v", "f4")]))
    p["x"], p["v"] = [1, 2, 3], [0.1, 0.2, 0.3]
    q = run(text, {"p": p})
    assert (q["x"].dtype, q["v"].dtype) == (np.float64, np.float32)
    np.testing.assert_array_equal(q["x"], p["x"].astype(float) + 0.5 * p["v"].astype(float))
    np.testing.assert_array_equal(q["v"], p["v"])


def test_complex(run: Run) -> None:
    text = "kernel z(N) { in a, b: c64[N]; out y: c64[N]; y[i] = a[i] * conj(b[i]) + sum[k](a[k]) }"
    a, b = (RNG.standard_normal(6).view(np.complex128).astype(np.complex64) for _ in range(2))
    wide = a.astype(complex)
    np.testing.assert_allclose(
        run(text, {"a": a, "b": b}), wide * b.conj().astype(complex) + wide.sum(), rtol=1e-14
    )


def test_several_outputs(run: Run) -> None:
    text = """kernel s(N) { in x: f32[N]; out y, z: f32[N]
        y[i] = x[i] + 1
        z[i] = x[i] }"""
    result = run(text, {"x": X[0]})
    assert set(result) == {"y", "z"} and result["z"].dtype == np.float32
    np.testing.assert_array_equal(result["y"], D[0] + 1)


@pytest.mark.parametrize("choice", [0, 1, 2])
def test_type_parameters(run: Run, load: Load, choice: int) -> None:
    text = "kernel t[T: f32 | bf16 | f8e5m2](N) { in x: T[N]; out y: T[N]; y[i] = x[i] * 2 }"
    from tilegen.numpy_types import numpy_dtype

    dtype = numpy_dtype(load(text, choice).types[0][1])
    x = np.array([1.0, -0.5, 3], np.float32).astype(dtype)
    assert run(text, {"x": x}, choice=choice).tolist() == [2, -1, 6]
