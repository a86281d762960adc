"""Input that is deep, long or large: a clear error, quickly, whatever Python's limits are."""

import sys
import time

import pytest

from tilegen.lang.diagnostics import SpecError, render_all
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.parse.depth import MAX_DEPTH
from tilegen.lang.parse.machine import MAX_ERRORS, MAX_NESTING
from tilegen.lang.parse.scanner import MAX_TOKENS


def spec(value: str) -> str:
    return f"kernel f(N) {{ in x: f32[N]; out y: f32[N]; y[i] = {value} }}"


def first_code(text: str) -> str:
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        parse(source_from_text(text))
    assert len(render_all(caught.value.diagnostics)) < 40_000
    assert time.process_time() - start < 2
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (spec("(" * 10_000 + "x[i]" + ")" * 10_000), "TG0140"),
        (spec("x[" * 10_000), "TG0140"),
        (spec("f(" * 10_000), "TG0140"),
        (spec("-" * 20_000 + "x[i]"), "TG0141"),
        (spec("not " * 20_000 + "x[i]"), "TG0141"),
        (spec("+".join(["x[i]"] * 5_000)), "TG0141"),
        (spec("+".join(["N"] * 20_000)), "TG0141"),
        (spec("**".join(["N"] * 20_000)), "TG0141"),
        (spec(" and ".join(["N"] * 20_000)), "TG0141"),
        (f"kernel f(N, K = {'-' * 1000}1) {{ }}", "TG0141"),
        (f"kernel f(N) {{ in x: f32[{'+'.join('N' * 1000)}] }}", "TG0141"),
        (f"kernel f(N) {{ schedule s {{ vector {'+'.join('1' * 1000)} }} }}", "TG0141"),
        (spec("1" * 10_000), "TG0112"),
        (spec("1" * 10_000 + "KiB"), "TG0112"),
        (spec("1" * 10_000 + ".5"), "TG0112"),
        (spec("1e" + "9" * 10_000), "TG0112"),
        (spec("1." * 10_000), "TG0111"),
        (spec("a" * 100_000), "TG0113"),
        (spec("ä" * 100_000), "TG0113"),
        (spec("N + " * 250_000), "TG0142"),
        (spec("N +" + " " * 900_000), "TG0121"),
        ("×" * 900_000, "TG0110"),
        (";" * (MAX_TOKENS - 1), "TG0105"),
        ("\n" * 900_000, "TG0105"),
        ("#" * 900_000, "TG0105"),
        ("'" * 900_000, "TG0114"),
        ("a" * (10 << 20), "TG0104"),
        ("{" * 10_000, "TG0124"),
        ("kernel f(N) { " * 5_000, "TG0123"),
        ("= \n" * 29_000, "TG0124"),
        ("kernel f(N) {\n" + "y[i = (\n" * 9_000, "TG0128"),
        (spec("(\n" * 90 + "N\n" * 20_000), "TG0122"),
    ],
    ids=range(32),
)
def test_limit(text: str, code: str) -> None:
    assert first_code(text) == code


def test_the_deepest_expression_is_parsed() -> None:
    parse(source_from_text(spec("+".join(["N"] * (MAX_DEPTH + 1)))))
    assert first_code(spec("+".join(["N"] * (MAX_DEPTH + 2)))) == "TG0141"


def test_the_deepest_nesting_is_parsed() -> None:
    inside = MAX_NESTING - 1  # the kernel's brace is open as well
    parse(source_from_text(spec("(" * inside + "N" + ")" * inside)))
    assert first_code(spec("(" * (inside + 1) + "N" + ")" * (inside + 1))) == "TG0140"


def test_errors_are_limited() -> None:
    with pytest.raises(SpecError) as caught:
        parse(source_from_text("kernel f(N) {\n" + "x y z\n" * 1000 + "}"))
    assert len(caught.value.diagnostics) == MAX_ERRORS


def test_a_low_recursion_limit_does_not_matter() -> None:
    limit = sys.getrecursionlimit()
    depth = len(__import__("inspect").stack(0))
    sys.setrecursionlimit(depth + 60)
    try:
        assert first_code(spec("-(" * 40 + "-" * 5_000 + "N" + ")" * 40)) == "TG0141"
    finally:
        sys.setrecursionlimit(limit)


def test_text_of_limits() -> None:
    with pytest.raises(SpecError) as caught:
        parse(source_from_text("kernel f(N) {\n    y = " + "-" * 200 + "N\n}"))
    assert str(caught.value).splitlines()[0] == (
        "error[TG0141]: this expression is 200 operations deep; at most 150 are allowed"
    )
    with pytest.raises(SpecError) as caught:
        parse(source_from_text("kernel f(N) {\n    y = " + "(" * 200))
    assert str(caught.value).splitlines()[0] == "error[TG0140]: more than 100 brackets are open here"
    with pytest.raises(SpecError) as caught:
        parse(source_from_text("kernel f(N) {\n    y = " + "a" * 201 + " }"))
    assert str(caught.value).splitlines()[0] == (
        "error[TG0113]: this name has 201 characters; at most 200 are allowed"
    )
    with pytest.raises(SpecError) as caught:
        parse(source_from_text("1 " * MAX_TOKENS))
    assert str(caught.value).splitlines()[0] == (
        "error[TG0142]: the spec is too long: more than 60000 names, numbers and operators"
    )
