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


GUARD = "kernel g(N, s: {type}) {{ in x: f32[N]; out y: f32[N]; y[i] = where({condition}, x[{index}], 0.0) }}"


@pytest.mark.parametrize(
    ("type_", "condition", "index", "sizes", "codes"),
    [
        ("i32", "i >= s", "i - s", {"N": 9, "s": 5}, []),
        ("i32", "i >= s", "i - s", {"N": 9, "s": -1}, ["TG0324"]),
        ("u8", "i + s < N", "i + s", {"N": 9, "s": 5}, []),
        ("i64", "i >= s", "i - s", {"N": 9, "s": 5}, []),
        # In f32, 2 ** 24 + 1 is 2 ** 24.
        ("i32", "f32(i) >= f32(s)", "i - s", {"N": 2**24 + 2, "s": 2**24 + 1}, ["TG0324"]),
        # In i8, -128 - 1 is 127.
        ("i8", "s - 1 > 100", "i + s", {"N": 300, "s": -128}, ["TG0324"]),
        # An i64 may wrap.
        ("i64", "s - i > 0", "s", {"N": 9, "s": -(2**63) + 1}, ["TG0324"]),
        # A product of an axis and a scalar may wrap, a difference of what is small may not.
        ("i32", "i - s >= 0", "i - s", {"N": 9, "s": 5}, []),
        ("i32", "i * s >= 0", "i * s", {"N": 9, "s": -1}, ["TG0324"]),
    ],
)
def test_conditions_on_scalars_guard(
    kernel: Check, type_: str, condition: str, index: str, sizes: dict[str, int], codes: list[str]
) -> None:
    text = GUARD.format(type=type_, condition=condition, index=index)
    assert [p.code for p in call_problems(kernel(text), sizes)] == codes


WIDE = "kernel w(N, M, s: i64 = 0) {{ in x: f32[N] boundary wrap; out y: f32[N]; {} }}"


@pytest.mark.parametrize(
    ("body", "sizes", "fits"),
    [
        ("y[i] = x[M * i]", {"N": 3, "M": 2**61}, True),
        ("y[i] = x[M * i]", {"N": 3, "M": 2**62}, False),
        ("y[i] = x[M * i]", {"N": 0, "M": 2**62}, True),
        ("y[i] = x[M * i - M * i]", {"N": 3, "M": 2**62}, True),
        ("y[i] = x[4 * (M * i // 4)]", {"N": 3, "M": 2**62}, False),
        ("y[i] = x[minimum(M * i, 7)]", {"N": 3, "M": 2**62}, False),
        ("y[i] = x[i] + f32(M * i)", {"N": 3, "M": 2**62}, False),
        ("y[i] = where(x[i] > 0, x[i], f32(M + i))", {"N": 3, "M": 2**63 - 1}, False),
        ("y[i] = x[i + s]", {"N": 3, "M": 1, "s": 2**63 - 1}, False),
        ("y[i] = x[i + s]", {"N": 3, "M": 1, "s": 2**62}, True),
        ("y[i] = sum[k in 0..3](x[M * k])", {"N": 3, "M": 2**62}, False),
        ("y[i] = sum[k in 0..0](x[M * k + M])", {"N": 3, "M": 2**62}, True),
        ("y[i] = sum[k in 3..=i](x[M * k])", {"N": 3, "M": 2**61}, True),
    ],
)
def test_an_index_beyond_64_bits(kernel: Check, body: str, sizes: dict[str, int], fits: bool) -> None:
    assert [p.code for p in call_problems(kernel(WIDE.format(body)), sizes)] == ([] if fits else ["TG0327"])


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
