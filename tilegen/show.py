"""`show`: what the stages between a spec and its code hold, as stable text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilegen.core.nest.model import Nest
from tilegen.core.nest.text import nest_text
from tilegen.core.plan.model import Plan
from tilegen.core.plan.text import plan_text
from tilegen.core.schedule.directives import spec_of
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.text import schedule_text
from tilegen.lang.spec import ScheduleSpec

if TYPE_CHECKING:
    from tilegen.program import Program


def show(value: Nest | Schedule | ScheduleSpec | Plan | Program) -> str:
    """A nest, a schedule or a plan, one concept a line; of a program the schedule that it was made for.

    A schedule is text of the language: put into the kernel's braces it parses back to the same schedule.
    """
    match value:
        case Nest():
            return nest_text(value)
        case Plan():
            return plan_text(value)
        case ScheduleSpec():
            return schedule_text(value)
        case Schedule():
            return schedule_text(spec_of([value]))
        case _:
            return schedule_text(spec_of(value.schedules))
