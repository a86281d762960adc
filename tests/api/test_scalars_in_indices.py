"""Integer scalars in indices: exact for every type, checked at the call where no boundary catches them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilegen
from tilegen.dtypes import DTYPES

from ..integers import limits
from .fakes import Machine, machine

__all__ = ["machine"]

X = np.arange(1, 9, dtype="f4")
N = len(X)
ROLL = "kernel k(N, s: i32 = 3) { in x: f32[N] boundary wrap; out y: f32[N]; y[i] = x[i - s] }"

MODES: dict[str, Callable[[int], float]] = {
    "wrap": lambda n: float(X[n % N]),
    "edge": lambda n: float(X[min(max(n, 0), N - 1)]),
    "constant 0": lambda n: float(X[n]) if 0 <= n < N else 0.0,
}
FORMS: dict[str, Callable[[int, int], int]] = {
    "i - s": lambda i, s: i - s,
    "i + 2 * s": lambda i, s: i + 2 * s,
    "s * i": lambda i, s: s * i,
    "(i - s) // 2": lambda i, s: (i - s) // 2,
    "(s - i) % N": lambda i, s: (s - i) % N,
    "minimum(i, s)": lambda i, s: min(i, s),
}


def test_a_roll_by_a_scalar() -> None:
    kernel = tilegen.loads(ROLL).kernel()
    np.testing.assert_array_equal(kernel(X, s=2), np.roll(X, 2))
    np.testing.assert_array_equal(kernel(X), np.roll(X, 3))
    np.testing.assert_array_equal(kernel(X, s=-11), np.roll(X, -11))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["i8", "u8", "i32", "u32", "i64", "u64"])
def test_every_type_of_scalar(dtype: str, mode: str) -> None:
    """At the ends of the type, as far as the index stays below 2 ** 63."""
    outputs = [f"y{n}" for n in range(len(FORMS))]
    text = f"kernel k(N, s: {dtype}) {{ in x: f32[N] boundary {mode}; out {', '.join(outputs)}: f32[N]\n"
    text += "\n".join(f"{y}[i] = x[{form}]" for y, form in zip(outputs, FORMS, strict=True)) + " }"
    kernel = tilegen.loads(text).kernel()
    low, high = (max(min(end, 2**59), -(2**59)) for end in limits(DTYPES[dtype]))
    for s in sorted({low, -3, 0, 5, high} - ({-3} if dtype[0] == "u" else set())):
        got = kernel(X, s=s)
        for y, index in zip(outputs, FORMS.values(), strict=True):
            assert got[y].tolist() == [MODES[mode](index(i, s)) for i in range(N)], (y, s)


@pytest.mark.parametrize("s", [2**62, -(2**62) - 1, 2**63 - 1, -(2**63)])
def test_what_leaves_64_bits_is_refused(s: int) -> None:
    kernel = tilegen.loads(ROLL.replace("i32 = 3", "i64").replace("i - s", "i + 2 * s")).kernel()
    with pytest.raises(tilegen.CallError, match=rf"i \+ 2\*s leaves 64 bits(.|\n)*s = {s}") as caught:
        kernel(X, s=s)
    assert caught.value.code == "TG0327"


GUARDED: dict[str, Callable[[int, int], int | float]] = {
    # What is computed: an index, or a float where nothing is read.
    "x[i + s]": lambda i, s: i + s,
    "where(i >= s, x[i - s], 0.0)": lambda i, s: i - s if i >= s else 0.0,
    "where(i < N - s, x[i + s], 0.5)": lambda i, s: i + s if i < N - s else 0.5,
    "where(i - s >= 0 and i - s < N, x[i - s], 0.0)": lambda i, s: i - s if 0 <= i - s < N else 0.0,
    "where(i < s, x[s - 1 - i], x[i])": lambda i, s: s - 1 - i if i < s else i,
    "where(s < N and s >= 0, x[s], 5.0)": lambda i, s: s if 0 <= s < N else 5.0,
    "where(not (s < 0 or i + s >= N), x[i + s], 5.0)": lambda i, s: i + s if s >= 0 and i + s < N else 5.0,
}


@pytest.mark.parametrize("value", GUARDED)
def test_bounds_are_checked_at_the_call(value: str) -> None:
    """Read inside, or refused: exactly where some point would read outside."""
    text = f"kernel k(N, s: i32) {{ in x: f32[N]; out y: f32[N]; y[i] = {value} }}"
    kernel = tilegen.loads(text).kernel()
    for s in (-(2**31), -3, -1, 0, 2, N - 1, N, N + 1, 2**31 - 1):
        wanted = [GUARDED[value](i, s) for i in range(N)]
        if all(isinstance(w, float) or 0 <= w < N for w in wanted):
            want = [w if isinstance(w, float) else float(X[w]) for w in wanted]
            assert kernel(X, s=s).tolist() == want, s
        else:
            with pytest.raises(tilegen.CallError) as caught:
                kernel(X, s=s)
            assert caught.value.code == "TG0324", s


def test_writing_at_a_scalar() -> None:
    kernel = tilegen.loads("kernel k(N, s: i32) { in x: f32[2]; inout y: f32[N]; y[i + s] = x[i] }").kernel()
    y = np.zeros(8, "f4")
    assert kernel(X[:2], y, s=6).tolist() == [0, 0, 0, 0, 0, 0, 1, 2]
    for s in (7, -1):
        with pytest.raises(tilegen.CallError, match="TG0324"):
            kernel(X[:2], y, s=s)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("y[i] = sum[k](x[k] * x[k + i + s])", lambda s: [float(X @ np.roll(X, -i - s)) for i in range(N)]),
        ("y[i] = sum[k in 0..=i](x[k + s])", lambda s: np.cumsum(np.roll(X, -s)).tolist()),
        (
            "y[b] = f32(count[i in 0..N](i32(x[i + s]) + i32(x[i]) == b))",
            lambda s: np.bincount((np.roll(X, -s) + X).astype(int))[:N].tolist(),
        ),
    ],
)
def test_in_every_family(text: str, want: Callable[[int], Any]) -> None:
    kernel = tilegen.loads(
        f"kernel k(N, s: i32) {{ in x: f32[N] boundary wrap; out y: f32[N]; {text} }}"
    ).kernel()
    for s in (0, 3, -9):
        assert kernel(X, s=s).tolist() == want(s), s


def test_verification_passes_scalars_on() -> None:
    text = ROLL.replace(" }", "\ntest N = 5, s = 2\ntest N = 33, s = -40 }")
    report = tilegen.loads(text).kernel().verify(shapes="all")
    assert report, str(report)


def test_a_launch_looks_at_the_scalars_too(machine: Machine) -> None:
    """On a GPU, an index that takes 64 bits because of a scalar; each scalar has a launch of its own."""
    kernel = tilegen.loads(ROLL.replace("i32 = 3", "i64"), target="sm_90")
    x = machine.array(np.zeros(8, "f4"))
    for s in (3, 2**33, 3):
        kernel(x, s=s)
    assert [entry[entry.index("<") :] for entry in machine.entries] == ["<int>", "<long long>"]
    assert [values[-1] for _, values, _ in machine.launches] == [3, 2**33, 3]
