"""Whatever the text, `parse` returns a file or raises `SpecError`, soon, and what it raises can be shown."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilegen.lang.codes import find
from tilegen.lang.diagnostics import SpecError, render_diagnostic, to_json
from tilegen.lang.parse import parse, source_from_text

SPECS = [
    p.read_text(encoding="utf-8")
    for p in sorted((Path(__file__).parent.parent / "data/language").glob("*.tile"))
]
PIECES = [re.findall(r"\w+|\s+|[^\w\s]+", spec) for spec in SPECS]
VOCABULARY = sorted({piece for pieces in PIECES for piece in pieces})
VOCABULARY += [
    *"()[]{},;:=.|'\"$×“αß\ud800\0\r\n",
    "**",
    "..",
    "..=",
    "//",
    "->",
    "&&",
    "1e999",
    "007",
    "\u202e",
]


def check(text: str) -> None:
    start = time.process_time()
    try:
        parse(source_from_text(text))
    except SpecError as error:
        assert error.diagnostics
        assert len({(d.code, d.span) for d in error.diagnostics}) == len(error.diagnostics), "said twice"
        for diagnostic in error.diagnostics:
            assert find(diagnostic.code) and diagnostic.helps
            assert render_diagnostic(diagnostic).encode()
            assert json.dumps(to_json(diagnostic))
            if diagnostic.span is not None:
                assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(diagnostic.span.source.text)
    assert time.process_time() - start < 2


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(VOCABULARY), max_size=60))
def test_any_order_of_words(pieces: list[str]) -> None:
    check("".join(pieces))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(VOCABULARY), max_size=30))
def test_any_order_of_words_in_a_kernel(pieces: list[str]) -> None:
    check("kernel f(N) {\nin x: f32[N]\n" + " ".join(pieces) + "\n}")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SPECS), st.data())
def test_any_prefix(spec: str, data: st.DataObject) -> None:
    check(spec[: data.draw(st.integers(0, len(spec)))])


@pytest.mark.parametrize("seed", range(20))
def test_mutations(seed: int) -> None:
    """Pieces deleted, inserted, replaced and swapped: the mistakes that people make."""
    draw = random.Random(seed)
    for _ in range(100):
        pieces = list(draw.choice(PIECES))
        for _ in range(draw.choice((1, 1, 1, 2, 5, 20))):
            at = draw.randrange(len(pieces))
            match draw.randrange(5):
                case 0:
                    del pieces[at]
                case 1:
                    pieces.insert(at, draw.choice(VOCABULARY))
                case 2:
                    pieces[at] = draw.choice(VOCABULARY)
                case 3:
                    other = draw.randrange(len(pieces))
                    pieces[at], pieces[other] = pieces[other], pieces[at]
                case _:
                    del pieces[at : at + draw.randrange(20)]
            if not pieces:
                break
        check("".join(pieces))


@pytest.mark.parametrize("spec", SPECS)
def test_a_missing_token_is_reported_near_its_place(spec: str) -> None:
    """Without any one bracket, separator or assignment a spec does not parse, or means something else that parses;
    the first problem is never before the statement that lacks it."""
    for match in re.finditer(r"[][(){}=:,]", spec):
        text = spec[: match.start()] + spec[match.end() :]
        try:
            parse(source_from_text(text))
        except SpecError as error:
            first = error.diagnostics[0]
            assert first.span is not None
            line_start = spec.rfind("\n", 0, match.start()) + 1
            assert first.span.start >= min(line_start, match.start()) or "}" in match.group()
