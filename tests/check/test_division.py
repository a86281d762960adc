"""A divisor that is 0 is told wherever sizes are divided by: in a spec, for another value, in a call, in tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilegen.lang.check import call_problems
from tilegen.lang.diagnostics import SpecError, told
from tilegen.lang.spec import Kernel, Spec
from tilegen.reference import SizeError, infer_sizes

A, B = "in a: f32[M]", "out b: f32[M]"
PLACES = {
    "remainder": f"{A}; {B}; b[i] = a[i % Z]",
    "quotient": f"{A}; {B}; b[i] = a[i // Z]",
    "product": f"{A}; {B}; b[i] = a[i % (2 * Z)]",
    "extent": f"in a: f32[M // Z]; {B}; b[i] = 1.0",
    "extent of constants": f"in a: f32[8 // Z]; {B}; b[i] = 1.0",
    "range": f"{A} boundary edge; {B}; b[i] = sum[u in 0..M // Z](a[i + u])",
    "range of the target": f"{A}; {B}; b[i] = a[i] for i in 0..M // Z",
    "stride": f"{A} strides(M // Z); {B}; b[i] = a[i]",
    "offset": f"{A} offset M // Z; {B}; b[i] = a[i]",
    "value": "out b: i64[M]; b[i] = i // Z",
    "condition": f"{A}; {B}; b[i] = where(i % Z == 0, a[i], 0.0)",
    "behind a condition": f"{A}; {B}; b[i] = where(i > 0, a[i % Z], 0.0)",
    "target": f"{A}; out b: f32[M, M]; b[i // Z, i % Z] = a[i]",
    "boundary": f"{A} boundary wrap; {B}; b[i] = a[i % Z]",
    "local": f"{A}; {B}; let t[i] = a[i] * (i % Z) for i in 0..M; b[i] = t[i]",
}
SCHEDULES = {"tile": "tile i = 8 // Z", "vector": "vector 4 // Z", "pad": "tile i = 8; stage a pad 4 % Z"}


@pytest.mark.parametrize("place", PLACES)
def test_of_a_compile_time_size(place: str, checked: Callable[[str], Spec]) -> None:
    with pytest.raises(SpecError) as caught:
        checked(f"kernel k(M, Z = 0) {{ {PLACES[place]} }}")
    assert {d.code for d in caught.value.diagnostics} == {"TG0316"}
    assert all("Z" in d.helps[0] for d in caught.value.diagnostics)


@pytest.mark.parametrize("directive", SCHEDULES)
def test_in_a_schedule(directive: str, checked: Callable[[str], Spec]) -> None:
    with pytest.raises(SpecError) as caught:
        checked(f"kernel k(M, Z = 0) {{ {A}; {B}; b[i] = a[i]; schedule s {{ {SCHEDULES[directive]} }} }}")
    assert {d.code for d in caught.value.diagnostics} == {"TG0316"}


def test_in_a_compile_time_size(checked: Callable[[str], Spec]) -> None:
    with pytest.raises(SpecError, match="TG0316"):
        checked(f"kernel k(M, Z = 0, Y = 8 // Z) {{ {A}; {B}; b[i] = a[i] }}")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", ["Z", "Z = 4"])
def test_in_a_call(place: str, size: str, kernel: Callable[[str], Kernel]) -> None:
    found = kernel(f"kernel k(M, {size}) {{ {PLACES[place]} }}")
    problems = call_problems(found, {"M": 8, "Z": 0})
    hidden = place == "behind a condition" and size == "Z"  # only its points tell
    assert [p.code for p in problems][:1] == ([] if hidden else ["TG0316"])
    assert all(told(p).helps for p in problems)
    assert not call_problems(found, {"M": 8, "Z": 1})


def test_nothing_is_divided_where_there_is_no_point(kernel: Callable[[str], Kernel]) -> None:
    rotated = kernel(f"kernel k(M) {{ {A}; {B}; b[i] = a[(i + 1) % M] }}")
    assert not call_problems(rotated, {"M": 0})


def test_sizes_from_shapes(kernel: Callable[[str], Kernel]) -> None:
    found = kernel(f"kernel k(M, Z = 4) {{ {PLACES['extent']} }}")
    with pytest.raises(SizeError, match=r"M // Z.*divides by 0.*Z = 0 \(given\)"):
        infer_sizes(found, {"a": (2,)}, {"M": 8, "Z": 0})


@pytest.mark.parametrize("line", ["test M = 8, Z = 0", "expect auto: bank_conflicts == 0 at M = 8, Z = 0"])
def test_shapes_of_tests_and_expectations(line: str, checked: Callable[[str], Spec]) -> None:
    with pytest.raises(SpecError, match="divides by 0") as caught:
        checked(f"kernel k(M, Z = 4) {{ {PLACES['remainder']}; {line} }}")
    assert [d.code for d in caught.value.diagnostics] == ["TG0543"]
