"""One rejected spec per mistake, with the text that a person reads. `TILEGEN_UPDATE=1` rewrites the texts."""

import os
from pathlib import Path

import pytest

from tilegen.lang.diagnostics import SpecError, render_all
from tilegen.lang.parse import parse
from tilegen.lang.source import Source

REJECTED = sorted((Path(__file__).parent / "rejected").glob("*.tile"))


@pytest.mark.parametrize("path", REJECTED, ids=lambda path: path.stem)
def test_message(path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        parse(Source(path.name, path.read_text(encoding="utf-8")))
    text = render_all(caught.value.diagnostics) + "\n"
    expected = path.with_suffix(".txt")
    if os.environ.get("TILEGEN_UPDATE"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", REJECTED, ids=lambda path: path.stem)
def test_every_message_says_what_to_do(path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        parse(Source(path.name, path.read_text(encoding="utf-8")))
    assert all(diagnostic.helps for diagnostic in caught.value.diagnostics)


@pytest.mark.parametrize("path", REJECTED, ids=lambda path: path.stem)
def test_terminal_names_are_not_shown(path: Path) -> None:
    text = path.with_suffix(".txt").read_text(encoding="utf-8")
    for internal in (
        "__ANON",
        "LPAR",
        "RPAR",
        "LSQB",
        "RSQB",
        "LBRACE",
        "RBRACE",
        "_NL",
        "$END",
        "NEWLINE",
        "WORD",
    ):
        assert internal not in text
