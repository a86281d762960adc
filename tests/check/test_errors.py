"""One bad spec for every case of a code, and the text that a person reads. `TILEGEN_UPDATE=1` rewrites the texts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tilegen.lang import codes
from tilegen.lang.check import call_problems, check
from tilegen.lang.diagnostics import Problem, SpecError, render_all, told
from tilegen.lang.parse import parse
from tilegen.lang.source import Source

from .bad_specs import BAD, CALLS

TEXTS = Path(__file__).parent / "errors"
CODES = [code for code in codes.CODES if code.code[3] in "2345"]
OF_CALLS = {case[:6] for case in CALLS} - {"TG0316"}


def problems(text: str, name: str = "t") -> tuple[Problem, ...]:
    if name in CALLS:
        return call_problems(check(parse(Source(name, text))).kernels[0].kernels[0], CALLS[name][1])
    with pytest.raises(SpecError) as caught:
        check(parse(Source(name, text)))
    return caught.value.problems


SPECS = BAD | {case: text for case, (text, _) in CALLS.items()}


@pytest.mark.parametrize("code", sorted({case[:6] for case in SPECS}))
def test_texts(code: str) -> None:
    found = [problems(text, case) for case, text in SPECS.items() if case.startswith(code)]
    text = "\n\n".join(render_all(told(p) for p in of_spec) for of_spec in found) + "\n"
    expected = TEXTS / f"{code}.txt"
    if os.environ.get("TILEGEN_UPDATE"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


def test_every_case_has_a_spec() -> None:
    assert set(SPECS) == {case for case in codes.CASES if case[3] in "2345"}
    assert {path.stem for path in TEXTS.iterdir()} == {case[:6] for case in SPECS}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_has_the_problem_of_its_case(case: str) -> None:
    assert [p.case for p in problems(CALLS[case][0], case)] == [case]


@pytest.mark.parametrize("code", [c for c in CODES if c.code not in OF_CALLS], ids=lambda c: c.code)
def test_the_example_of_a_code_has_the_problem_and_no_other(code: codes.Code) -> None:
    assert {p.code for p in problems(code.example)} == {code.code}


def test_several_problems_in_one_run_and_no_cascade() -> None:
    text = """kernel k[T: f32 | u8](N) {
    in a: T[N]
    in b: nope[N]
    out y: T[N]
    y[i] = aa[i] + b[i] + aa[i]
    schedule s { tile q = 32 }
}"""
    assert [p.code for p in problems(text)] == ["TG0202", "TG0207", "TG0521"]


def test_a_problem_of_one_type_says_which() -> None:
    text = "kernel k[T: f32 | u8](N) { in x: T[N]; out y: T[N]; y[i] = x[i] * 300 }"
    (problem,) = problems(text)
    assert problem.code == "TG0401" and told(problem).notes[-1] == "with T = u8"


@pytest.mark.parametrize("value", ["1e6", "-65520.0", "70000"])
@pytest.mark.parametrize("place", ["(N, s: f16 = {}) {{", "(N, s: f16) {{ test N = 3, s = {}; "])
def test_a_scalar_that_would_become_infinite(place: str, value: str) -> None:
    text = f"kernel k{place.format(value)} in x: f16[N]; out y: f16[N]; y[i] = x[i] * s }}"
    (problem,) = map(told, problems(text))
    assert problem.code == "TG0401" and "65504" in problem.notes[0] and problem.helps
    check(parse(Source("t", text.replace(value, "65519.0"))))
