"""The body of a kernel, by the family of its plan."""

from __future__ import annotations

from collections.abc import Callable

from tilegen.core.plan.model import Plan
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import Body
from tilegen.families.scan.phase import Scan
from tilegen.families.tiles.body import tiles_body


def body_of(plan: Plan) -> Callable[[KernelScope], Body]:
    """What makes the body of the plan's kernel."""
    if isinstance(plan.phases[0], Scan):
        from tilegen.families.scan.body import scan_body

        return scan_body
    if plan.schedule.counting is not None:
        from tilegen.families.histogram.body import histogram_body

        return histogram_body
    if plan.schedule.rows is not None:
        from tilegen.families.rows.body import rows_body

        return rows_body
    return tiles_body
