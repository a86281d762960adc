"""The kernels one schedule needs: the one asked for and, where it relies on alignment, one that does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilegen.nest.model import Nest
from tilegen.plan.lower import plan_map
from tilegen.plan.model import Plan
from tilegen.plan.reduce import plan_reduce
from tilegen.schedule.model import Placement, Schedule
from tilegen.target import Target


def plan_variants(nest: Nest, schedule: Schedule, target: Target, name: str) -> tuple[Plan, ...]:
    """Plans in order of preference; the last one has no conditions."""
    plan = plan_map(nest, schedule, target, name)
    if not plan.conditions:
        return (plan,)
    return plan, plan_map(nest, without_vectors(schedule), target, f"{name}_scalar")


def without_vectors(schedule: Schedule) -> Schedule:
    """The same tile, one element at a time; a pad or swizzle made for vectors gives way to one made for elements."""
    plain = Placement.PLAIN
    stages = tuple(
        s if s.placement is plain else replace(s, placement=Placement.BEST) for s in schedule.stages
    )
    return replace(schedule, vector=1, vector_of=(), stages=stages)


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
