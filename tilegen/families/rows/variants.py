"""The kernels that rows need: one per range of lengths and, where one relies on alignment, one that does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilegen.core.nest.model import Nest
from tilegen.core.plan.model import Plan
from tilegen.core.schedule.model import Schedule
from tilegen.families.rows.plan import plan_reduce
from tilegen.target import Target


def reduce_variants(nest: Nest, schedules: Sequence[Schedule], target: Target, name: str) -> tuple[Plan, ...]:
    """Plans for rows in order of preference, each with vectors before those without; the last has no conditions."""
    plans: list[Plan] = []
    for number, schedule in enumerate(schedules):
        label = name if len(schedules) == 1 else f"{name}_{_row_label(schedule)}"
        plan = plan_reduce(nest, schedule, target, label)
        plans.append(plan)
        last = number == len(schedules) - 1
        if last and plan.conditions:
            plans.append(plan_reduce(nest, _any_row(schedule), target, f"{name}_scalar"))
    return tuple(plans)


def _row_label(schedule: Schedule) -> str:
    rows = schedule.rows
    assert rows is not None
    if rows.whole:
        return f"upto{rows.chunk(schedule.item_width)}"
    return "long"


def _any_row(schedule: Schedule) -> Schedule:
    """The same teams, one element at a time, for rows of any length."""
    assert schedule.rows is not None
    return replace(schedule, vector=1, vector_of=(), rows=replace(schedule.rows, whole=False))
