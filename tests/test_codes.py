"""Codes are declared once, and declared codes are the ones used."""

import re
from pathlib import Path

import pytest

from tilegen.lang import codes

PACKAGE = Path(codes.__file__).parents[2]


def used() -> set[str]:
    files = (p for p in PACKAGE.rglob("*.py") if p.parent.name != "codes")
    return {code for p in files for code in re.findall(r"\bTG\d{4}\b", p.read_text(encoding="utf-8"))}


def test_codes_used_are_those_declared() -> None:
    assert used() == {entry.code for entry in codes.CODES}


def test_entries() -> None:
    names = [entry.code for entry in codes.CODES]
    assert len(names) == len(set(names))
    for entry in codes.CODES:
        assert re.fullmatch(r"TG\d{4}", entry.code)
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
