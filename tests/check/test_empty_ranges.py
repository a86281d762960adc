"""Where a range is empty at one end of another axis, the help says which points to leave out; then it works."""

from __future__ import annotations

import pytest

from tilegen.check import check
from tilegen.diagnostics import SpecError
from tilegen.parse import parse, source_from_text


@pytest.mark.parametrize(
    ("reduction", "instead"),
    [
        ("max[k in 0..j](x[i, k])", "for j in 1..C"),
        ("min[k in j+1..C](x[i, k])", "for j in 0..C - 1"),
        ("mean[k in 3..j](x[i, k])", "for j in 4..C"),
    ],
)
def test_exclusive_scans_of_what_has_no_identity(reduction: str, instead: str) -> None:
    text = "kernel k(R, C) {{ in x: f32[R, C]; out y: f32[R, C]; y[i, j] = {0}; test R = 4, C = 33 }}"
    with pytest.raises(SpecError) as caught:
        check(parse(source_from_text(text.format(reduction))))
    (found,) = caught.value.diagnostics
    assert found.code == "TG0543" and f"`{instead}`" in found.helps[0]
    check(parse(source_from_text(text.format(f"{reduction} {instead}"))))
