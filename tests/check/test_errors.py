"""One bad spec per code, its text pinned. `errors/TG0201.tile` has the problem, `errors/TG0201.txt` what is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilegen.lang.check import check
from tilegen.lang.codes import CODES as ALL
from tilegen.lang.diagnostics import SpecError, render_all
from tilegen.lang.parse import parse
from tilegen.lang.source import Source

FOLDER = Path(__file__).parent / "errors"
# Codes of calls (test_calls.py); a `.tile` file alone cannot have them.
CODES = [c for c in ALL if c.code[3] in "2345"]
OF_CALLS = {f"TG032{n}" for n in range(7)}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.tile")), ids=lambda p: p.stem)
def test_text_of_every_code(path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        check(parse(Source(path.name, path.read_text())))
    assert {d.code for d in caught.value.diagnostics} == {path.stem}
    assert render_all(caught.value.diagnostics) + "\n" == path.with_suffix(".txt").read_text()


def test_every_code_has_a_spec() -> None:
    assert {c.code for c in CODES} == {p.stem for p in FOLDER.glob("*.tile")} | OF_CALLS


@pytest.mark.parametrize("code", [c for c in CODES if c.code not in OF_CALLS], ids=lambda c: c.code)
def test_the_example_of_a_code_has_the_problem(code: object) -> None:
    with pytest.raises(SpecError) as caught:
        check(parse(Source("example", code.example)))  # type: ignore[attr-defined]
    assert code.code in {d.code for d in caught.value.diagnostics}  # type: ignore[attr-defined]


def test_several_problems_in_one_run_and_no_cascade() -> None:
    text = """kernel k[T: f32 | u8](N) {
    in a: T[N]
    in b: nope[N]
    out y: T[N]
    y[i] = aa[i] + b[i] + aa[i]
    schedule s { tile q = 32 }
}"""
    with pytest.raises(SpecError) as caught:
        check(parse(Source("t", text)))
    assert [d.code for d in caught.value.diagnostics] == ["TG0202", "TG0207", "TG0521"]


def test_a_problem_of_one_type_says_which() -> None:
    text = "kernel k[T: f32 | u8](N) { in x: T[N]; out y: T[N]; y[i] = x[i] * 300 }"
    with pytest.raises(SpecError) as caught:
        check(parse(Source("t", text)))
    (problem,) = caught.value.diagnostics
    assert problem.code == "TG0401" and problem.notes[-1] == "with T = u8"


@pytest.mark.parametrize("value", ["1e6", "-65520.0", "70000"])
@pytest.mark.parametrize("place", ["(N, s: f16 = {}) {{", "(N, s: f16) {{ test N = 3, s = {}; "])
def test_a_scalar_that_would_become_infinite(place: str, value: str) -> None:
    text = f"kernel k{place.format(value)} in x: f16[N]; out y: f16[N]; y[i] = x[i] * s }}"
    with pytest.raises(SpecError) as caught:
        check(parse(Source("t", text)))
    (problem,) = caught.value.diagnostics
    assert problem.code == "TG0401" and "65504" in problem.notes[0] and problem.helps
    check(parse(Source("t", text.replace(value, "65519.0"))))
