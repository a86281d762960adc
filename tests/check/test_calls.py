"""What only a call can decide."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tilegen.lang.check import call_problems
from tilegen.lang.diagnostics import told
from tilegen.lang.spec import Kernel

Check = Callable[[str], Kernel]

GAP = "kernel g(N, S) { in x: f32[S * N]; out y: f32[N]; y[i] = x[S * i] }"
SCATTER = "kernel g(N, S) { in x: f32[N]; inout y: f32[S * N + 1]; y[S * i] = x[i] }"
MAX = "kernel m(R, C) { in x: f32[R, C]; out y: f32[R]; y[i] = max[j](x[i, j]) }"
SUM = MAX.replace("max", "sum")
TAPS = "kernel t(N, K = 3) { in x: f32[N + 2]; out y: f32[N]; y[i] = sum[k in 0..K](x[i + k]) }"
SHIFT = "kernel s(N, s: i32 = 0) { in x: f32[N]; out y: f32[N]; y[i] = x[i + s] }"


@pytest.mark.parametrize(
    ("text", "sizes", "codes"),
    [
        (GAP, {"N": 3, "S": 2}, []),
        (GAP, {"N": 0, "S": 0}, []),
        (GAP, {"N": 3, "S": 0}, ["TG0324"]),
        (GAP, {"N": 3}, ["TG0320"]),
        (GAP, {"N": 3, "S": -1}, ["TG0320"]),
        (SCATTER, {"N": 3, "S": 1}, []),
        (SCATTER, {"N": 3, "S": 0}, ["TG0325"]),
        (SCATTER, {"N": 1, "S": 0}, []),
        (MAX, {"R": 2, "C": 0}, ["TG0326"]),
        (MAX, {"R": 0, "C": 0}, []),
        (SUM, {"R": 2, "C": 0}, []),
        (TAPS, {"N": 5}, []),
        (TAPS, {"N": 5, "K": 2}, []),
        (TAPS, {"N": 5, "K": 4}, ["TG0324"]),
        (SHIFT, {"N": 5}, []),
        (SHIFT, {"N": 5, "s": -1}, ["TG0324"]),
        (
            "kernel b(M, N) { in x: f32[M]; in z: f32[N]; out y: f32[N]; y[i] = x[i] + z[i] }",
            {"M": 3, "N": 4},
            ["TG0321"],
        ),
        ("kernel e(N) { in x: f32[N]; out y: f32[N - 2]; y[i] = x[i + 1] }", {"N": 1}, ["TG0322"]),
        ("kernel w(N) { in x: f32[N] constant; out y: f32[N]; y[i] = x[i] }", {"N": 20000}, ["TG0323"]),
        ("kernel z(N) { in x: f32[N]; out y: f32[]; y[] = x[0] }", {"N": 0}, ["TG0324"]),
        ("kernel z(N) { in x: f32[N]; out y: f32[]; y[] = x[0] }", {"N": 1}, []),
        (
            "kernel p(N, M) { in x: f32[N]; out y: f32[N]; y[i] = max[k in M..=i](x[k]) }",
            {"N": 3, "M": 1},
            ["TG0326"],
        ),
        (
            "kernel p(N, M) { in x: f32[N]; out y: f32[N]; y[i] = max[k in M..=i](x[k]) }",
            {"N": 3, "M": 0},
            [],
        ),
        ("kernel p(N) { in x: f32[N]; out y: f32[N]; y[i] = max[k in 0..=i](x[k]) }", {"N": 3}, []),
    ],
)
def test_problems_of_a_call(kernel: Check, text: str, sizes: dict[str, int], codes: list[str]) -> None:
    assert [p.code for p in call_problems(kernel(text), sizes)] == codes


def test_a_bound_names_index_and_extent(kernel: Check) -> None:
    (problem,) = call_problems(kernel(SHIFT), {"N": 5, "s": 2})
    assert told(problem).message == "the index i + s of `x` reaches 6, and axis 0 has the extent 5"


@pytest.mark.parametrize(
    ("strides", "sizes", "fits"),
    [
        ("strides(ld, 1)", {"M": 3, "N": 4, "ld": 3}, False),
        ("strides(ld, 1)", {"M": 3, "N": 4, "ld": 4}, True),
        ("strides(ld, 1)", {"M": 1, "N": 4, "ld": 0}, True),
        ("strides(ld, 1)", {"M": 3, "N": 0, "ld": 0}, True),
        ("strides(1, ld)", {"M": 3, "N": 4, "ld": 2}, False),
        ("strides(1, ld)", {"M": 3, "N": 4, "ld": 3}, True),
        ("strides(1, 1)", {"M": 3, "N": 4, "ld": 3}, False),
        ("strides(*, ld)", {"M": 3, "N": 4, "ld": 0}, False),
    ],
)
@pytest.mark.parametrize("role", ["out", "inout"])
def test_written_elements_lie_apart(role, strides, sizes, fits, kernel) -> None:
    text = "kernel k(M, N, ld) {{ in a: f32[M, N]{}; {} b: f32[M, N]{}; b[i, j] = a[i, j] }}"
    found = call_problems(kernel(text.format("", role, f" {strides}")), sizes)
    assert [d.code for d in found] == ([] if fits else ["TG0322"])
    if strides.find("*") < 0:
        assert not call_problems(kernel(text.format(f" {strides}", role, "")), sizes)


@pytest.mark.parametrize(
    ("axes", "index", "names"),
    [
        ("i, j", "i * S + j", "M, N, S"),
        ("i, j", "i + j * S", "M, N, S"),
        ("i, j", "2 * i + j * S + 1", "M, N, S"),
        ("i, j", "i * S + j * T", "M, N, S, T"),
        ("i, j, k", "i * S + j * T + k", "M, N, K, S, T"),
    ],
)
def test_a_target_that_a_call_finds_one_to_one(axes, index, names, kernel) -> None:
    """Refused wherever an element is written twice; taken where the digits are apart."""
    extents = {"i": "M", "j": "N", "k": "K"}
    shape = ", ".join(extents[a] for a in axes.split(", "))
    found = kernel(f"kernel k({names}) {{ in x: f32[{shape}]; out q: f32[400]; q[{index}] = x[{axes}] }}")
    taken = refused = 0
    for values in product(
        (1, 2, 3), *[(0, 1, 2, 3, 4, 6, 9) if n in "ST" else (1, 2, 3) for n in names.split(", ")[1:]]
    ):
        sizes = dict(zip(names.split(", "), values, strict=True))
        points = product(*(range(sizes[extents[a]]) for a in axes.split(", ")))
        written = [eval(index, dict(zip(axes.split(", "), p, strict=True)) | sizes) for p in points]
        problems = call_problems(found, sizes)
        if len(set(written)) < len(written):
            assert [d.code for d in problems] == ["TG0325"]
            refused += 1
        taken += not problems
    assert taken > 10 and refused > 10
