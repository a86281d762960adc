"""Statements that move data, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilegen.lang.spec import Kernel
from tilegen.reference import OutOfBoundsError, is_movement

Run = Callable[..., Any]
Load = Callable[..., Kernel]
A = np.arange(35, dtype=np.float32).reshape(5, 7)


def test_transpose(run: Run) -> None:
    text = "kernel t(M, N) { in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j] }"
    np.testing.assert_array_equal(run(text, {"a": A}), A.T)
    assert run(text, {"a": A[:0]}).shape == (7, 0)


def test_permute_and_broadcast(run: Run) -> None:
    x = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    text = "kernel p(A, B, C, D) { in x: u8[A, B, C]; out y: u8[C, D, A, B]; y[c, d, a, b] = x[a, b, c] }"
    want = np.broadcast_to(x.transpose(2, 0, 1)[:, None], (4, 5, 2, 3))
    np.testing.assert_array_equal(run(text, {"x": x}, D=5), want)


def test_flip_stride_and_division(run: Run) -> None:
    x = np.arange(12, dtype=np.int32)
    flip = "kernel f(N) { in x: i32[N]; out y: i32[N]; y[i] = x[N - 1 - i] }"
    np.testing.assert_array_equal(run(flip, {"x": x}), x[::-1])
    every = "kernel g(N, S) { in x: i32[S * N]; out y: i32[N]; y[i] = x[S * i] }"
    np.testing.assert_array_equal(run(every, {"x": x}, S=3), x[::3])
    twice = "kernel r(N) { in x: i32[N]; out y: i32[2*N]; y[i] = x[i // 2] }"
    np.testing.assert_array_equal(run(twice, {"x": x}), np.repeat(x, 2))
    tiled = "kernel m(N) { in x: i32[4]; out y: i32[N]; y[i] = x[i % 4] }"
    np.testing.assert_array_equal(run(tiled, {"x": x[:4]}, N=10), np.tile(x[:4], 3)[:10])


def test_diagonal(run: Run) -> None:
    text = "kernel d(N) { in a: f32[N, N]; out y: f32[N]; y[i] = a[i, i] }"
    np.testing.assert_array_equal(run(text, {"a": A[:, :5]}), np.diagonal(A[:, :5]))


def test_reshape(run: Run) -> None:
    text = "kernel r(M, N) { in a: f32[M, N]; out y: f32[M * N]; y[i * N + j] = a[i, j] for i in 0..M, j in 0..N }"
    np.testing.assert_array_equal(run(text, {"a": A}), A.ravel())


def test_ranges_keep_what_is_not_written(run: Run) -> None:
    text = "kernel c(M, N) { in a: f32[M, N]; out b: f32[M, N]; b[i, j] = a[i, j] for i in 1..M - 1, j in 2..N - 3 }"
    before = np.full((5, 7), -1, np.float32)
    want = before.copy()
    want[1:-1, 2:4] = A[1:-1, 2:4]
    np.testing.assert_array_equal(run(text, {"a": A, "b": before}), want)
    np.testing.assert_array_equal(before, -1)


def test_affine_left_hand_side(run: Run) -> None:
    text = "kernel u(N) { in a: i32[N]; out b: i32[2*N]; b[2*i + 1] = a[i] }"
    a, before = np.arange(4, dtype=np.int32), np.full(8, 9, np.int32)
    np.testing.assert_array_equal(run(text, {"a": a, "b": before}), [9, 0, 9, 1, 9, 2, 9, 3])


def test_inout_reads_the_value_from_before(run: Run) -> None:
    text = "kernel r(N) { inout x: i32[N]; x[i] = x[N - 1 - i] }"
    np.testing.assert_array_equal(run(text, {"x": np.arange(5, dtype=np.int32)}), [4, 3, 2, 1, 0])


def test_local_that_moves(run: Run, load: Load) -> None:
    text = "kernel l(M, N) { in a: f32[M, N]; out b: f32[N, M]; let t[i, j] = a[i, j]; b[j, i] = t[M - 1 - i, j] }"
    np.testing.assert_array_equal(run(text, {"a": A}), A[::-1].T)
    kernel = load(text)
    assert is_movement(kernel.assigns[0], kernel) and not is_movement(kernel.assigns[0])


def test_concatenation_reads_the_side_chosen(run: Run) -> None:
    text = """kernel c(M, N) { in a: f32[M]; in b: f32[N]; out y: f32[M + N]
        y[i] = where(i < M, a[i], b[i - M]) }"""
    np.testing.assert_array_equal(run(text, {"a": A[0], "b": A[1, :3]}), np.concatenate([A[0], A[1, :3]]))
    np.testing.assert_array_equal(run(text, {"a": A[0, :0], "b": A[1]}), A[1])
    np.testing.assert_array_equal(run(text, {"a": A[0], "b": A[1, :0]}), A[0])


def test_nan_payloads_and_subnormals_survive(run: Run) -> None:
    """Report O5: a copy is exact to the bit."""
    bits = np.array([0x7FC12345, 0xFFC00001, 0x7F800001, 1, 0x80000000], np.uint32)
    text = "kernel c(N) { in x: f32[N]; out y: f32[N]; y[i] = where(i < 3, x[i], x[i]) }"
    np.testing.assert_array_equal(run(text, {"x": bits.view(np.float32)}).view(np.uint32), bits)


MODES = {
    "edge": "edge",
    "reflect": "reflect",
    "symmetric": "symmetric",
    "wrap": "wrap",
    "constant 7": "constant",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_boundaries_are_those_of_numpy_pad(run: Run, mode: str, length: int) -> None:
    """Reports K1, K3, C3: NumPy's names, length 1, any distance, the fill that was asked for."""
    text = f"kernel p(N) {{ in x: f32[N] boundary {mode}; out y: f32[N + 40]; y[i] = x[i - 20] for i in 0..N + 40 }}"
    x = np.arange(1, length + 1, dtype=np.float32)
    options = {"constant_values": 7} if MODES[mode] == "constant" else {}
    np.testing.assert_array_equal(run(text, {"x": x}), np.pad(x, 20, mode=MODES[mode], **options))  # type: ignore[call-overload]


@pytest.mark.parametrize("mode", MODES)
def test_boundaries_in_two_dimensions(run: Run, mode: str) -> None:
    text = f"""kernel p(M, N) {{ in x: i16[M, N] boundary {mode}; out y: i16[M + 4, N + 6]
        y[i, j] = x[i - 2, j - 3] }}"""
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    options = {"constant_values": 7} if MODES[mode] == "constant" else {}
    want = np.pad(x, ((2, 2), (3, 3)), mode=MODES[mode], **options)  # type: ignore[call-overload]
    np.testing.assert_array_equal(run(text, {"x": x}), want)


def test_report_k3_by_hand(run: Run) -> None:
    text = "kernel p(N) {{ in x: f32[N] boundary {}; out y: f32[N + 10]; y[i] = x[i - 5] }}"
    x = np.arange(3, dtype=np.float32)
    assert run(text.format("reflect"), {"x": x}).tolist() == [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1]
    assert run(text.format("symmetric"), {"x": x}).tolist() == [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]


def test_gather(run: Run) -> None:
    text = """kernel g(M, N, K) { in a: f32[M, N] boundary constant -1; in idx: i32[K]; out b: f32[K, N]
        b[i, j] = a[idx[i], j] }"""
    idx = np.array([4, 0, -1, 5, 2, 2_000_000_000], np.int32)
    want = np.stack([A[k] if 0 <= k < 5 else np.full(7, -1, np.float32) for k in idx])
    np.testing.assert_array_equal(run(text, {"a": A, "idx": idx}), want)


def test_gather_with_huge_unsigned_index(run: Run) -> None:
    text = "kernel g(N) { in a: u8[N] boundary constant 9; in idx: u64[1]; out b: u8[1]; b[i] = a[idx[i]] }"
    idx = np.array([2**64 - 1], np.uint64)
    assert run(text, {"a": np.zeros(3, np.uint8), "idx": idx}).tolist() == [9]


def test_boundary_of_an_empty_tensor(run: Run) -> None:
    fill = (
        "kernel p(N) { in x: f32[N] boundary constant 3; out y: f32[N + 2]; y[i] = x[i] for i in 0..N + 2 }"
    )
    np.testing.assert_array_equal(run(fill, {"x": A[0, :0]}), [3, 3])
    with pytest.raises(OutOfBoundsError, match="extent 0"):
        run(fill.replace("constant 3", "edge"), {"x": A[0, :0]})


def test_layout_does_not_matter(run: Run) -> None:
    """Reports E3–E6 and K5: broadcast, reversed, column-major and sliced views are logical arrays."""
    text = "kernel t(M, N) { in a: f64[M, N]; out b: f64[N, M]; b[j, i] = a[i, j] }"
    base = np.arange(26.0).reshape(2, 13)
    for view in (np.asfortranarray(base), base[::-1], base[:, ::2], np.broadcast_to(base[0], (4, 13))):
        np.testing.assert_array_equal(run(text, {"a": view}), view.T)
    rows = """kernel s(M, N) { in a: f32[M, N] boundary constant 0; out b: f32[M, N]
        b[i, j] = sum[u in 0..3](a[i, j + u - 1]) }"""
    np.testing.assert_array_equal(run(rows, {"a": np.ones((3, 4), np.float32)[:, 1:4]}), [[2, 3, 2]] * 3)


def test_structs_move_member_by_member(run: Run) -> None:
    text = """kernel p(N) { in p: struct { x: f32, n: i8 }[N]; out q: struct { x: f32, n: i8 }[N] soa
        q[i] = p[N - 1 - i] }"""
    p = np.zeros(3, np.dtype([("x", "f4"), ("n", "i1")], align=True))
    p["x"], p["n"] = [1.5, np.nan, -0.0], [1, 2, 3]
    q = run(text, {"p": p})
    assert q.dtype.names == ("x", "n") and q.dtype["x"] == np.float32
    np.testing.assert_array_equal(q["x"], p["x"][::-1])
    np.testing.assert_array_equal(q["n"], [3, 2, 1])


def test_bool_bytes_are_truth_values(run: Run) -> None:
    """Report H6."""
    x = np.array([0, 1, 2, 255, 3, 0], np.uint8).view(np.bool_)
    copy = run("kernel c(N) { in x: bool[N]; out y: bool[N]; y[i] = x[i] }", {"x": x})
    assert copy.view(np.uint8).tolist() == [0, 1, 1, 1, 1, 0]
    floats = run("kernel c(N) { in x: bool[N]; out y: f32[N]; y[i] = f32(x[i]) }", {"x": x})
    assert floats.tolist() == [0, 1, 1, 1, 1, 0]
    total = run("kernel c(N) { in x: bool[N]; out y: i32[]; y[] = sum[i](x[i]) }", {"x": x})
    assert total == 4
    assert run("kernel c(N) { in x: bool[N]; out y: bool[]; y[] = all[i](x[i]) }", {"x": x[1:5]})


def test_constant_index(run: Run) -> None:
    text = "kernel c(N) { in a: f32[5, N]; out y: f32[N]; y[i] = a[2, i] }"
    np.testing.assert_array_equal(run(text, {"a": A}), A[2])
    last = "kernel c(M, N) { in a: f32[M, N]; out y: f32[N]; y[i] = where(M > 0, a[M - 1, i], 0.0) }"
    np.testing.assert_array_equal(run(last, {"a": A}), A[-1])
    np.testing.assert_array_equal(run(last, {"a": A[:0]}), np.zeros(7))


def test_local_over_a_range(run: Run) -> None:
    text = """kernel l(N) { in a: i32[N]; out y: i32[N]
        let t[i] = a[i] for i in 2..N
        y[i] = t[i] for i in 3..N }"""
    assert run(text, {"a": np.arange(5, dtype=np.int32) * 10}).tolist() == [0, 0, 0, 30, 40]


def test_choice_by_a_sum_is_not_movement(load: Load) -> None:
    text = "kernel c(N) {{ in a: f32[N]; out y: f32[N]; y[i] = where({}, a[i], 0.0) }}"
    assert not is_movement(load(text.format("sum[k](a[k]) > 1.0")).assigns[0])
    assert not is_movement(load(text.format("a[i] * a[i] > 1.0")).assigns[0])
    assert not is_movement(load(text.format("exp(a[i]) > 1.0")).assigns[0])
    assert is_movement(load(text.format("max[k](a[k]) > 1.0")).assigns[0])
    assert is_movement(load(text.format("i % 3 == 1 and abs(a[i]) < 2")).assigns[0])


def test_rank_0(run: Run) -> None:
    """Report A6."""
    assert run("kernel c() { in x: f32[]; out y: f32[]; y[] = x[] }", {"x": np.float32(3)}) == 3


def test_run_time_bound(run: Run) -> None:
    text = "kernel g(N, S, L) { in x: f32[L]; out y: f32[N]; y[i] = x[S * i] }"
    np.testing.assert_array_equal(run(text, {"x": A[0]}, S=3, N=3), A[0, ::3])
    with pytest.raises(
        OutOfBoundsError, match="index 8 of dimension 0 of x is outside its extent 7 at i = 2"
    ):
        run(text, {"x": A[0]}, S=4, N=3)
