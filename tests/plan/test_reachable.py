"""No kernel that no launch takes: lengths that are constants decide conditions when the plan is made."""

from __future__ import annotations

import re

import pytest

from tilegen.core.plan.conditions import always
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.target import target

SCHEDULES = ("", "schedule s { threads i = 4, j = 64; tile j = 256 }", "schedule s { threads i = 4, j = 64 }")
LENGTHS = (1, 5, 31, 128, 1024, 1025, 5000, 8192, 9000, 70_000)


def program(text: str) -> Program:
    family = check(parse(source_from_text(text))).kernels[0]
    schedule = family.schedules[0] if family.schedules else None
    return build(family.kernels[0], schedule, target("sm_90"))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("length", LENGTHS)
def test_rows_of_a_fixed_length(length: int, schedule: str) -> None:
    found = program(
        f"""kernel k(R) {{
        in x: f32[R, {length}]; out y: f32[R, {length}]
        y[i, j] = x[i, j] - max[k](x[i, k])
        {schedule}
    }}"""
    )
    *others, last = found.plans
    assert all(p.conditions for p in others) and not last.conditions
    assert all(always(c) is None for p in found.plans for c in p.conditions)
    assert found.schedule == found.plans[0].schedule
    # In the C launcher, what one variant declares is out of sight of the next.
    launcher = found.source[found.source.index("k_launch(") :]
    depths = [len(m[1]) // 4 for m in re.finditer(r"^( +)const int64_t blocks =", launcher, re.MULTILINE)]
    assert depths.count(1) == 1


def test_ranges_of_constants_too() -> None:
    found = program("kernel k(C) { in x: f32[C]; out y: f32[C]; y[i] = sum[k in 0..5](x[i] * f32(k)) }")
    assert [bool(p.conditions) for p in found.plans] == [False]
