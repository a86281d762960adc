"""The kernels one schedule needs: the one asked for and, where it relies on alignment, one that does not."""

from __future__ import annotations

from dataclasses import replace

from tilegen.core.nest.model import Nest
from tilegen.core.plan.model import Plan
from tilegen.core.schedule.model import Placement, Schedule
from tilegen.families.tiles.plan import plan_map
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
