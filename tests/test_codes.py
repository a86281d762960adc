"""Codes are declared once, and declared codes are the ones used."""

import re
from pathlib import Path

import pytest

from tilegen.lang import codes

PACKAGE = Path(codes.__file__).parents[2]
STAGES = {
    "parse": codes.parse,
    "check": codes.check,
    "schedule": codes.schedule,
    "call": codes.call,
    "environment": codes.environment,
}
RANGES = {"parse": "1", "check": "2345", "schedule": "67", "call": "8", "environment": "9"}


def used() -> set[str]:
    files = (p for p in PACKAGE.rglob("*.py") if p.parent.name != "codes")
    return {code for p in files for code in re.findall(r"\bTG\d{4}\b", p.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("stage", STAGES)
def test_codes_used_are_those_declared(stage: str) -> None:
    declared = {entry.code for entry in STAGES[stage].CODES}
    assert {code for code in used() if code[3] in RANGES[stage]} == declared


@pytest.mark.parametrize("stage", STAGES)
def test_entries(stage: str) -> None:
    entries = STAGES[stage].CODES
    names = [entry.code for entry in entries]
    assert names == sorted(set(names))
    for entry in entries:
        assert re.fullmatch(r"TG\d{4}", entry.code) and entry.code[3] in RANGES[stage]
        assert entry.title and entry.title[-1] not in ".!"
        assert entry.explanation.endswith(".")
        assert entry.example.strip()


def test_explain() -> None:
    assert codes.explain("tg0131") == (
        "TG0131: a second pair of brackets\n\n"
        "All indices of a tensor stand in one pair of brackets.\n\n"
        "For example:\n\n"
        "    b[i][j] = a[j][i]\n"
    )
    assert codes.explain("131") == codes.explain("TG0131")
    with pytest.raises(KeyError):
        codes.explain("TG9999")
