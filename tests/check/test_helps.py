"""Helps that say what to type where a first guess would lead nowhere."""

from __future__ import annotations

import pytest

from tilegen.lang.check import check
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.parse import parse, source_from_text


@pytest.mark.parametrize(
    ("reduction", "instead"),
    [
        ("max[k in 0..j](x[i, k])", "for j in 1..C"),
        ("min[k in j+1..C](x[i, k])", "for j in 0..C - 1"),
        ("mean[k in 3..j](x[i, k])", "for j in 4..C"),
    ],
)
def test_exclusive_scans_of_what_has_no_identity(reduction: str, instead: str) -> None:
    text = "kernel k(R, C) {{ in x: f32[R, C]; out y: f32[R, C]; y[i, j] = {0} }}"
    with pytest.raises(SpecError) as caught:
        check(parse(source_from_text(text.format(reduction))))
    (found,) = caught.value.diagnostics
    assert found.code == "TG0326" and f"`{instead}`" in found.helps[0]
    check(parse(source_from_text(text.format(f"{reduction} {instead}"))))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("let s[i] = s[i] + 1.0; y[i] = s[i]", "`s` is read in its own definition"),
        (
            "let s[i] = t[i]; let t[i] = x[i]; y[i] = s[i] + t[i]",
            "`t` is a local that is defined further down",
        ),
        ("y[i] = t[i]; let t[i] = x[i]", "`t` is a local that is defined further down"),
    ],
)
def test_locals_that_are_not_there_yet(body: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        check(parse(source_from_text(f"kernel k(N) {{ in x: f32[N]; out y: f32[N]; {body} }}")))
    assert message in [d.message for d in caught.value.diagnostics]


def test_a_where_may_leave_the_empty_end_out() -> None:
    check(
        parse(
            source_from_text(
                "kernel k(N) { in x: f32[N]; out y: f32[N]; y[i] = where(i > 0, max[k in 0..i](x[k]), -1.0) }"
            )
        )
    )
