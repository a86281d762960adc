"""What a help says to type exactly is accepted: no rule refuses it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.codes import CASES
from tilegen.lang.diagnostics import Problem, SpecError, told
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.program import build
from tilegen.target import target

from .check.bad_specs import BAD, RICH, k, y

HERE = Path(__file__).parent
REJECTED = {path.stem: path.read_text() for path in sorted((HERE / "parse" / "rejected").glob("*.tile"))}
SCHEDULES = {path.stem: path.read_text() for path in sorted((HERE / "schedule" / "errors").glob("*.tile"))}
# Names of several letters, for which a help knows a nearer one.
MISSPELT = {
    "size": y("x[i] for i in 0..Nn // 2", head="(Nn_)").replace("[N]", "[Nn_]"),
    "target": k("in x: f32[N]", "out first, second: f32[N]", "first[i] = x[i]", "secnd[i] = x[i]"),
    "axis": k("in x: f32[N, N]", "out y: f32[N]", "y[row] = x[row, rows]"),
    "range": k("in x: f32[N]", "out y: f32[N]", "y[row] = x[row] for rwo in 0..N"),
    "reduction": k("in x: f32[N]", "out y: f32[]", "y[] = smu[i](x[i])"),
    "mode": k("in x: f32[N] texture(nearest, egde)", "out y: f32[N]", "y[i] = x[i]"),
    "boundary": k("in x: f32[N] boundary warp", "out y: f32[N]", "y[i] = x[i]"),
    "parameter": y("x[i]", "test Size = 3", head="(size)").replace("[N]", "[size]"),
    "axis of a directive": k(
        "in x: f32[N]", "out y: f32[N]", "y[row] = x[row]", "schedule s { tile roww = 32 }"
    ),
    "size of a directive": y("x[i]", "schedule s { at siz = 3 }", head="(size)").replace("[N]", "[size]"),
}
SPECS = REJECTED | BAD | SCHEDULES | MISSPELT


def problems(text: str, built: bool) -> tuple[Problem, ...]:
    """Of the spec, and if it is `built` of its first schedule (or of `auto`)."""
    try:
        family = check(parse(Source("t", text))).kernels[0]
        if built:
            schedule = expand(family.schedules[0])[0] if family.schedules else None
            build(family.kernels[0], schedule, target("sm_90"))
    except SpecError as error:
        return error.problems
    return ()


def edits(name: str) -> list[tuple[Problem, str]]:
    """Each problem of a spec with each text that its helps say to write instead."""
    text = SPECS[name]
    return [
        (problem, text[: edit.span.start] + edit.text + text[edit.span.end :])
        for problem in problems(text, name in SCHEDULES)
        for edit in told(problem).edits
    ]


@pytest.mark.parametrize("name", SPECS)
def test_what_a_help_says_to_type_is_accepted(name: str) -> None:
    before = Counter(p.code for p in problems(SPECS[name], name in SCHEDULES))
    for problem, text in edits(name):
        left = Counter(p.code for p in problems(text, name in SCHEDULES))
        assert left <= before - Counter([problem.code]), f"{problem.case}\n{text}"


def test_a_name_with_a_letter_twice_is_put_right() -> None:
    """Every name of a spec in turn: what is proposed for it is no other mistake there."""
    tried = 0
    for token in re.finditer(r"[A-Za-z_]\w*", RICH):
        text = RICH[: token.end()] + token[0][-1] + RICH[token.end() :]
        for problem in problems(text, False):
            for edit in told(problem).edits:
                again = text[: edit.span.start] + edit.text + text[edit.span.end :]
                end = edit.span.start + len(edit.text)
                here = [
                    p
                    for p in problems(again, False)
                    if p.span and p.span.start < end and p.span.end > edit.span.start
                ]
                assert not here, f"{token[0]}: {told(problem).message}: {edit.text}"
                tried += 1
    assert tried > 40


def test_every_edit_of_a_case_is_tried() -> None:
    with_edits = {key for key, case in CASES.items() if any(h.edits for hs in case.helps for h in hs)}
    tried = {problem.case for name in SPECS for problem, _ in edits(name)}
    assert sorted(with_edits - tried) == []
