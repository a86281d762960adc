"""What every spec in specs/ must be, and what no expectation can say. The pytest plugin collects their own tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.parse import parse, read_source
from tilegen.lang.spec import KernelFamily
from tilegen.program import build
from tilegen.run.outcome import compile_program
from tilegen.target import target

SPECS = sorted((Path(__file__).resolve().parent.parent / "specs").glob("*.tile"))


def families(path: Path) -> tuple[KernelFamily, ...]:
    return check(parse(read_source(str(path)))).kernels


def spec(stem: str) -> Path:
    return next(p for p in SPECS if p.stem == stem)


def test_there_are_specs() -> None:
    assert len(SPECS) >= 24
    assert {"transpose", "nchw_to_nhwc"} <= {p.stem for p in SPECS}


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_a_spec_is_a_page_to_learn_from(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# "), "it says what the pattern is"
    assert max(map(len, text.splitlines())) <= 120
    for family in families(path):
        assert family.schedules, f"{family.name}: a schedule to look at"
        assert family.expectations, f"{family.name}: what the memory system must show"
        tests = [dict(t.sizes) for t in family.tests if not t.on_gpu]
        assert len(tests) >= 2, family.name
        exact = any("exact" in str(d) for s in family.schedules for d in s.directives)
        if not exact:
            assert any(1 in sizes.values() for sizes in tests), f"{family.name}: a shape with 1"
            assert any(n % 2 for sizes in tests for n in sizes.values() if n > 1), (
                f"{family.name}: an odd shape"
            )


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_schedules_that_a_spec_writes_are_expected_of_something(path: Path) -> None:
    for family in families(path):
        known = {s.name for s in family.schedules} | {"auto"}
        named = {e.schedule for e in family.expectations}
        assert named - {None} <= known


def ptx(stem: str, schedule: str) -> str:
    family = families(spec(stem))[0]
    written = next(v for s in family.schedules for v in expand(s) if v.name == schedule)
    return compile_program(build(family.kernels[0], written, target("sm_90"))).ptx


def test_a_readonly_hint_reads_through_the_read_only_path() -> None:
    loads = re.findall(r"ld\.global\S*", ptx("readonly", "hints[hint = readonly]"))
    assert loads and all(".nc" in load for load in loads)


def test_a_streaming_hint_is_in_the_ptx() -> None:
    text = ptx("readonly", "streaming_both")
    assert re.search(r"ld\.global\S*\.cs\S*", text) and re.search(r"st\.global\S*\.cs\S*", text)


def test_the_vector_transpose_moves_16_bytes_at_a_time() -> None:
    text = ptx("transpose", "vector")
    assert re.search(r"ld\.global\S*\.v4\.\w32", text) and re.search(r"st\.global\S*\.v4\.\w32", text)
    assert re.search(r"ld\.shared\S*\.v4\.\w32", text) and re.search(r"st\.shared\S*\.v4\.\w32", text)


def test_a_big_tile_is_dynamic_and_raises_the_limit() -> None:
    family = families(spec("big_shared"))[0]
    for written in family.schedules:
        source = build(family.kernels[0], written, target("sm_90")).source
        assert "cudaFuncAttributeMaxDynamicSharedMemorySize" in source
