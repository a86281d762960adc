"""Whether the schedules of a spec can be honoured: what `tilegen check` tells beyond the rules of the language."""

from __future__ import annotations

from collections.abc import Iterator

from tilegen.core.schedule.variants import expand
from tilegen.families.plans import Request, require_legal
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Kernel, ScheduleSpec, Spec
from tilegen.target import Target

# A kernel or an operation that cannot be generated yet is not wrong.
_NOT_YET = ("TG0701", "TG0704", "TG0705")


def schedule_problems(spec: Spec, target: Target) -> tuple[Diagnostic, ...]:
    """Directives that no machine or no nest allows, each told once, in the order of the text."""
    found: dict[tuple[str, int, str], Diagnostic] = {}
    for family in spec.kernels:
        for schedule in (None, *family.schedules):
            for kernel in family.kernels:
                for problem in _problems(kernel, schedule, target):
                    start = problem.span.start if problem.span is not None else 0
                    found.setdefault((problem.code, start, problem.message), problem)
    return tuple(sorted(found.values(), key=lambda p: p.span.start if p.span is not None else 0))


def _problems(kernel: Kernel, schedule: ScheduleSpec | None, target: Target) -> Iterator[Diagnostic]:
    """What stands against one schedule; without one, against the kernel itself."""
    try:
        for variant in expand(schedule) if schedule is not None else (None,):
            require_legal(Request(kernel, variant, target, None, None, kernel.name))
    except SpecError as error:
        yield from (d for d in error.diagnostics if d.code not in _NOT_YET)
