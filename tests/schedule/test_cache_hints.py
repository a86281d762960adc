"""Where `auto` marks inputs to leave the L2 last, and what becomes of it in the kernel."""

from __future__ import annotations

import re

import pytest

from tilegen.core.schedule.directives import schedule_lines
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import Hint
from tilegen.program import Program, build
from tilegen.target import target
from tilegen.toolchain import compile_source

SCALED = "kernel scaled(M, N) { in x: f32[M, N]; in g: f32[N]; out y: f32[M, N]; y[i, j] = x[i, j] * g[j] }"
ROWS = "kernel norm(R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = x[i, j] / sum[k](x[i, k]) }"
RUNNING = "kernel run(R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](x[i, k]) }"
IN_PLACE = "kernel twice(N) { inout x: f32[N]; in g: f32[N]; x[i] = x[i] + g[i] }"


def program(text: str, sizes: dict[str, int] | None, architecture: str = "sm_90") -> Program:
    family = check(parse(source_from_text(text))).kernels[0]
    schedule = family.schedules[0] if family.schedules else None
    return build(family.kernels[0], schedule, target(architecture), sizes=sizes)


def hinted(found: Program) -> set[str]:
    assert {h for _, h in found.schedule.hints} <= {Hint.EVICT_LAST}
    return {t for t, _ in found.schedule.hints}


def test_inputs_of_work_that_is_larger_than_the_l2() -> None:
    assert hinted(program(SCALED, {"M": 16384, "N": 4096})) == {"x", "g"}
    assert hinted(program(ROWS, {"R": 16384, "C": 4096})) == {"x"}
    assert hinted(program(RUNNING, {"R": 16384, "C": 4096})) == {"x"}


def test_twice_the_l2_is_the_limit() -> None:
    # 50 MiB of L2: 12,800 rows of 1024 floats are read and as many written, and a row of `g`.
    assert hinted(program(SCALED, {"M": 12_800, "N": 1024})) == {"x", "g"}
    assert hinted(program(SCALED, {"M": 12_799, "N": 1024})) == set()


def test_not_what_is_written_too() -> None:
    assert hinted(program(IN_PLACE, {"N": 1 << 28})) == {"g"}


@pytest.mark.parametrize("text", [SCALED, ROWS, RUNNING])
def test_nothing_where_sizes_or_target_are_not_known(text: str) -> None:
    assert hinted(program(text, None)) == set()
    large = {"M": 16384, "N": 4096} if text is SCALED else {"R": 16384, "C": 4096}
    assert hinted(program(text, large, "sm_80")) == set()
    assert "hint x evict_last" in "; ".join(schedule_lines(program(text, large).schedules))


def written(architecture: str) -> list[str]:
    """The global loads of a kernel that asks for it for `x` alone."""
    text = SCALED.removesuffix("}") + "; schedule s { tile i = 4, j = 128; vector 4; hint x evict_last } }"
    found = program(text, None, architecture)
    chosen = found.shape({"M": 64, "N": 512}, {}, dict.fromkeys("xgy", 1 << 20))
    assert chosen is not None
    ptx = compile_source(found.source, target=target(architecture), entries=(chosen.entry,)).ptx
    return re.findall(r"ld\.global\S*", ptx)


def test_the_loads_of_that_tensor_and_no_others_have_a_policy() -> None:
    loads = written("sm_90")
    assert {load for load in loads if "cache_hint" in load} == {"ld.global.nc.L2::cache_hint.v4.f32"}
    assert {load for load in loads if "cache_hint" not in load} == {"ld.global.nc.v4.f32"}


def test_targets_without_policies_load_plainly() -> None:
    assert set(written("sm_75")) == {"ld.global.nc.v4.f32"}
