"""Walks that do not divide among the threads: which of their steps have a condition."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilegen
from tilegen.algebra import evaluate
from tilegen.core.plan.model import Sweep
from tilegen.core.plan.sweep import distribute, distribute_as_written
from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import build
from tilegen.target import target

BOXES = [
    ((("e", 65), ("d", 2), ("b", 33)), 256),
    ((("i", 7),), 4),
    ((("i", 33), ("j", 5)), 32),
    ((("i", 3), ("j", 50)), 96),
    ((("i", 4), ("j", 13)), 64),
]


def holding(sweep: Sweep, threads: int) -> list[tuple[int, set[int]]]:
    """Per limit: how many steps are sure, and the steps in which some thread has no point."""
    shape = [threads, *(loop.trip for loop in sweep.loops)]
    grid = np.ogrid[tuple(slice(n) for n in shape)]
    values = {"@tid": grid[0]} | {
        f"@step_{loop.axis}": at for loop, at in zip(sweep.loops, grid[1:], strict=True)
    }
    values |= {f"@thread_{axis}": evaluate(e, values) for axis, e in sweep.digits}
    values |= {f"@item_{axis}": evaluate(e, values) for axis, e in sweep.linear}
    found = []
    for limit in sweep.limits:
        fails = np.broadcast_to(evaluate(limit.value, values) >= evaluate(limit.bound, values), shape)
        position = next((n for n, loop in enumerate(sweep.loops, 1) if loop.axis == limit.axis), None)
        steps = {int(at[position]) for at in np.argwhere(fails)} if position is not None else set()
        found.append((limit.sure, steps))
    return found


@pytest.mark.parametrize(("box", "threads"), BOXES)
def test_only_the_last_step_of_a_linear_walk_can_fail(box: tuple[tuple[str, int], ...], threads: int) -> None:
    sweep = distribute(box, threads)
    assert sweep.linear
    for sure, failing in holding(sweep, threads):
        assert failing == ({sure} if sweep.loops else set())


def test_only_the_last_step_of_threads_as_written_can_fail() -> None:
    sweep = distribute_as_written((("i", 33), ("j", 12)), (("j", 8), ("i", 32)))
    assert [(sure, failing) for sure, failing in holding(sweep, 256)] == [(1, {1}), (1, {1})]


@pytest.mark.parametrize(
    ("unroll", "condition"), [("", r"step_a < 5 \|\| item < 2145"), ("; unroll a = 2", "item < 2145")]
)
def test_a_condition_stands_only_where_it_can_fail(unroll: str, condition: str) -> None:
    """A loop written out has the condition of its last step; one unrolled in part keeps it plain."""
    text = (
        "kernel p(A, B, C) { in x: f32[A, B, C]; out y: f32[C, B, A]; y[c, b, a] = x[a, b, c]; "
        f"schedule s {{ tile a = 33, c = 65; stage x{unroll}; bounds exact }} }}"
    )
    family = check(parse(source_from_text(text))).kernels[0]
    program = build(family.kernels[0], expand(family.schedules[0])[0], target("sm_90"))
    assert "if (step_c < 5 || item < 2145) {" in program.source
    assert re.search(rf"if \({condition}\) \{{", program.source)
    x = np.arange(66 * 3 * 130, dtype=np.float32).reshape(66, 3, 130)
    np.testing.assert_array_equal(tilegen.loads(text)(x), x.transpose(2, 1, 0))
