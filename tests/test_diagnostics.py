"""The one renderer, and the same facts as JSON."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from tilegen.lang.diagnostics import (
    Diagnostic,
    Label,
    Severity,
    SpecError,
    render_all,
    render_diagnostic,
    to_json,
)
from tilegen.lang.source import Source, Span

SOURCE = Source(
    "f.tile", "kernel f(N) {\n\tin x: f32[N]\n    y[i] = x[j]\n}\n" + "\n" * 5 + "kernel g() {}\n"
)


def span(text: str, start: int = 0) -> Span:
    at = SOURCE.text.index(text, start)
    return Span(SOURCE, at, at + len(text))


def shown(*lines: str) -> str:
    return "\n".join(lines)


def test_no_place() -> None:
    assert render_diagnostic(Diagnostic("TG0001", "no", None)) == "error[TG0001]: no"


def test_notes_and_helps() -> None:
    diagnostic = Diagnostic(
        "TG0001",
        "unknown axis",
        span("j"),
        notes=("the axes are i",),
        helps=("write `i`",),
        severity=Severity.WARNING,
    )
    assert render_diagnostic(diagnostic) == shown(
        "warning[TG0001]: unknown axis",
        " --> f.tile:3:14",
        "  |",
        "3 |     y[i] = x[j]",
        "  |              ^",
        "  note: the axes are i",
        "  help: write `i`",
    )


def test_tab_is_one_column() -> None:
    assert render_diagnostic(Diagnostic("TG0001", "m", span("f32"))) == shown(
        "error[TG0001]: m", " --> f.tile:2:8", "  |", "2 |  in x: f32[N]", "  |        ^^^"
    )


def test_labels_are_in_one_excerpt_in_the_order_of_the_lines() -> None:
    diagnostic = Diagnostic(
        "TG0001",
        "m",
        span("x[j]"),
        labels=(
            Label(span("f32"), "declared here"),
            Label(span("y"), "and written here"),
            Label(span("g()"), "far"),
        ),
    )
    assert render_diagnostic(diagnostic) == shown(
        "error[TG0001]: m",
        "  --> f.tile:3:12",
        "   |",
        " 2 |  in x: f32[N]",
        "   |        --- declared here",
        " 3 |     y[i] = x[j]",
        "   |            ^^^^",
        "   |     - and written here",
        "   | ...",
        "10 | kernel g() {}",
        "   |        --- far",
    )


def test_label_in_another_source() -> None:
    other = Source("g.tile", "kernel g() {}")
    diagnostic = Diagnostic("TG0001", "m", span("f(N)"), labels=(Label(Span(other, 7, 8), "there"),))
    assert render_diagnostic(diagnostic) == shown(
        "error[TG0001]: m",
        " --> f.tile:1:8",
        "  |",
        "1 | kernel f(N) {",
        "  |        ^^^^",
        " --> g.tile:1:8",
        "  |",
        "1 | kernel g() {}",
        "  |        - there",
    )


def test_span_over_several_lines_is_marked_on_the_first() -> None:
    whole = Span(SOURCE, 0, SOURCE.text.index("}"))
    assert render_diagnostic(Diagnostic("TG0001", "m", whole)) == shown(
        "error[TG0001]: m", " --> f.tile:1:1", "  |", "1 | kernel f(N) {", "  | ^^^^^^^^^^^^^"
    )


def test_end_of_the_text() -> None:
    end = len(SOURCE.text)
    assert render_diagnostic(Diagnostic("TG0001", "m", Span(SOURCE, end, end))).endswith("11 |\n   | ^")


def test_long_line_is_cut_around_the_place() -> None:
    source = Source("f.tile", "a" * 1000 + "b" + "c" * 1000)
    lines = render_diagnostic(Diagnostic("TG0001", "m", Span(source, 1000, 1001))).splitlines()
    assert lines[3].startswith("1 | …aaa") and lines[3].endswith("ccc…") and len(lines[3]) < 180
    assert lines[3][lines[4].index("^")] == "b"


def test_wide_characters_take_two_columns() -> None:
    source = Source("f.tile", "# 行列 x")
    assert render_diagnostic(Diagnostic("TG0001", "m", Span(source, 5, 6))).endswith(
        "1 | # 行列 x\n  |        ^"
    )
    assert render_diagnostic(Diagnostic("TG0001", "m", Span(source, 2, 4))).endswith("  |   ^^^^")


def test_control_characters_do_not_reach_the_terminal() -> None:
    source = Source("f\x1b.tile", "a\x1b[31m \ud800 b\u202e\x00")
    text = render_diagnostic(Diagnostic("TG0001", "a\nb\x07", Span(source, 0, 1)))
    assert re.fullmatch(r"[^\x00-\x09\x0b-\x1f\u202e]*", text)
    assert text.encode() and text.splitlines()[0] == "error[TG0001]: a b\ufffd"


def test_colour_adds_escapes_and_nothing_else() -> None:
    diagnostic = Diagnostic("TG0001", "m", span("f32"), ("n",), ("h",), (Label(span("y"), "l"),))
    coloured = render_diagnostic(diagnostic, colour=True)
    assert coloured.startswith("\x1b[1;31merror[TG0001]\x1b[0m: m")
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render_diagnostic(diagnostic)


def test_json() -> None:
    diagnostic = Diagnostic("TG0001", "m", span("x[j]"), ("n",), ("h",), (Label(span("y"), "l"),))
    assert json.loads(json.dumps(to_json(diagnostic))) == {
        "edits": [],
        "code": "TG0001",
        "severity": "error",
        "message": "m",
        "place": {
            "file": "f.tile",
            "start": 39,
            "end": 43,
            "line": 3,
            "column": 12,
            "end_line": 3,
            "end_column": 16,
        },
        "notes": ["n"],
        "helps": ["h"],
        "labels": [
            {
                "place": {
                    "file": "f.tile",
                    "start": 32,
                    "end": 33,
                    "line": 3,
                    "column": 5,
                    "end_line": 3,
                    "end_column": 6,
                },
                "text": "l",
            }
        ],
    }
    assert to_json(Diagnostic("TG0001", "m", None))["place"] is None


def test_all_and_the_error() -> None:
    two = (Diagnostic("TG0001", "a", None), Diagnostic("TG0002", "b", None))
    assert render_all(two) == "error[TG0001]: a\n\nerror[TG0002]: b"
    assert SpecError(two).diagnostics == two


@given(st.text(), st.data())
def test_any_place_in_any_text_can_be_shown(text: str, data: st.DataObject) -> None:
    source = Source("f.tile", text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert "^" in render_diagnostic(Diagnostic("TG0001", "m", Span(source, start, end)))
