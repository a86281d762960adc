"""Whether the schedules of a spec can be honoured: what `tilegen check` tells beyond the rules of the language."""

from __future__ import annotations

from collections.abc import Iterator

from tilegen.diagnostics import Diagnostic, SpecError
from tilegen.nest import build_nest
from tilegen.nest.family import Family, family_of
from tilegen.nest.histogram import histogram_nest
from tilegen.nest.lets import inline_lets
from tilegen.nest.merge import simplified_nest
from tilegen.plan.histogram import histogram_variants
from tilegen.plan.lower import plan_map
from tilegen.schedule.complete import complete, named_axes
from tilegen.schedule.histogram import complete_histogram
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
        match family_of(kernel, closed):
            case Family.HISTOGRAM:
                _try_histogram(kernel, schedule, target)
            case _:
                _try_tiles(kernel, schedule, target)
    except SpecError as error:
        yield from (d for d in error.diagnostics if d.code not in _NOT_YET)


def _try_tiles(kernel: Kernel, schedule: ScheduleSpec | None, target: Target) -> None:
    if schedule is None:
        build_nest(kernel)
        return
    for variant in expand(schedule):
        nest = simplified_nest(kernel, None, named_axes(variant))
        plan_map(nest, complete(nest, variant, target), target, kernel.name)


def _try_histogram(kernel: Kernel, schedule: ScheduleSpec | None, target: Target) -> None:
    if schedule is None:
        histogram_nest(kernel)
        return
    for variant in expand(schedule):
        nest = histogram_nest(kernel, None, named_axes(variant))
        histogram_variants(nest, complete_histogram(nest, variant, target), target, kernel.name)
