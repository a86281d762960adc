"""Generated CUDA, whole: `NAME.tile` beside `NAME.cu`. Golden files are reviewed as code.

`pytest tests/golden --update-golden` rewrites them; nothing else does.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.program import Program, build
from tilegen.target import target

FOLDER = Path(__file__).parent
SPECS = sorted(FOLDER.glob("*.tile"))


def generated(path: Path) -> Program:
    """The first schedule, or `auto`; under a name with which nothing of the path comes in."""
    family = check(parse(Source(path.name, path.read_text()))).kernels[0]
    return build(family.kernels[0], family.schedules[0] if family.schedules else None, target("sm_90"))


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_golden(path: Path, request: pytest.FixtureRequest) -> None:
    source, golden = generated(path).source, path.with_suffix(".cu")
    if request.config.getoption("--update-golden"):
        golden.write_text(source)
    wanted = golden.read_text()
    difference = difflib.unified_diff(
        wanted.splitlines(), source.splitlines(), golden.name, "generated now", lineterm=""
    )
    assert source == wanted, "\n".join(difference)


def test_every_golden_file_has_a_spec() -> None:
    assert {p.stem for p in FOLDER.glob("*.cu")} == {p.stem for p in SPECS}
