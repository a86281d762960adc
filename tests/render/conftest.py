"""Every program that the specs of the project make."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.program import Program, build
from tilegen.target import target

TESTS = Path(__file__).parent.parent
FILES = [
    *sorted((TESTS.parent / "specs").glob("*.tile")),
    *sorted((TESTS / "golden").glob("*.tile")),
    *sorted((TESTS / "data/language").glob("*.tile")),
]
# What this version cannot generate: kernels, and tiles of reductions (the products of matrices of the language's page).
NOT_GENERATED = {"TG0701", "TG0617"}


@cache
def programs_of(path: Path) -> tuple[tuple[str, Program], ...]:
    """(name, program) of every kernel and schedule that can be generated, its first two types, with `auto`."""
    found = []
    for family in check(parse(Source(path.name, path.read_text(encoding="utf-8")))).kernels:
        for kernel in family.kernels[:2]:
            for schedule in (None, *(v for s in family.schedules for v in expand(s))):
                name = f"{kernel.name} {schedule.name if schedule else 'auto'} {dict(kernel.types)}"
                try:
                    found.append((name, build(kernel, schedule, target("sm_90"))))
                except SpecError as error:
                    assert {d.code for d in error.diagnostics} <= NOT_GENERATED, f"{name}: {error}"
    return tuple(found)


@pytest.fixture(params=FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def programs(request: pytest.FixtureRequest) -> tuple[tuple[str, Program], ...]:
    return programs_of(request.param)
