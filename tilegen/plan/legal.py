"""Whether the schedules of a spec can be honoured: what `tilegen check` tells beyond the rules of the language."""

from __future__ import annotations

from collections.abc import Iterator

from tilegen.diagnostics import Diagnostic, SpecError
from tilegen.nest import build_nest
from tilegen.nest.family import Family, family_of
from tilegen.nest.lets import inline_lets
from tilegen.nest.merge import simplified_nest
from tilegen.nest.scan import scan_nest
from tilegen.plan.lower import plan_map
from tilegen.plan.scan import plan_scan
from tilegen.schedule.complete import complete, named_axes
from tilegen.schedule.scan import complete_scan
from tilegen.schedule.variants import expand
from tilegen.spec import Kernel, ScheduleSpec, Spec
from tilegen.target import Target

# A kernel or an operation that cannot be generated yet is not wrong.
_NOT_YET = ("TG0701", "TG0704")


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
        _, closed = inline_lets(kernel)
        family = family_of(kernel, closed)
        if schedule is None:
            _ = scan_nest(kernel) if family is Family.SCAN else build_nest(kernel)
            return
        for variant in expand(schedule):
            if family is Family.SCAN:
                nest = scan_nest(kernel, None, named_axes(variant))
                plan_scan(nest, complete_scan(nest, variant, target), target, kernel.name)
            else:
                nest = simplified_nest(kernel, None, named_axes(variant))
                plan_map(nest, complete(nest, variant, target), target, kernel.name)
    except SpecError as error:
        yield from (d for d in error.diagnostics if d.code not in _NOT_YET)
