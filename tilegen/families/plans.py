"""From a checked kernel and a schedule to its plans: the same steps for every family.

A schedule has alternatives, in order of preference. Those of `auto` for sizes that are known come first, with the short
ones as constants of the code; those for any size follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tilegen.algebra import sym
from tilegen.core.nest.model import Nest, Same
from tilegen.core.plan.conditions import always
from tilegen.core.plan.model import Equals, Plan
from tilegen.core.schedule.axes import with_names
from tilegen.core.schedule.directives import alternatives, named_axes, schedule_of
from tilegen.core.schedule.known_sizes import short_sizes, with_cache_hints
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import most_resident, promised_apart, too_many_resident
from tilegen.core.schedule.rules import read_schedule
from tilegen.families.registry import Family, family_of
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import Bounds, Kernel, ScheduleSpec
from tilegen.target import Target

# A plan, and the alternative it was made of.
Made = tuple[Plan, Schedule]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be planned. `schedule`: single values; None for `auto`. `sizes`: actual ones that `auto` may fit its
    choice to. `constants`: values of compile-time sizes over their defaults. `stem`: of the kernels' names."""

    kernel: Kernel
    schedule: ScheduleSpec | None
    target: Target
    sizes: Mapping[str, int] | None
    constants: Mapping[str, int] | None
    stem: str

    @property
    def name(self) -> str:
        """Of the kernels made for this schedule."""
        written = "auto" if self.schedule is None else self.schedule.name
        return f"{self.stem}_{''.join(c if c.isalnum() else '_' for c in written).strip('_')}"


@dataclass(frozen=True, slots=True)
class Planned:
    """`plans` in order of preference; `schedules`: the alternatives that they are made of."""

    plans: tuple[Plan, ...]
    schedules: tuple[Schedule, ...]


def plans_of(request: Request) -> Planned:
    """Plans that some launch takes, in order of preference. Raises SpecError."""
    made = tuple(_reachable(_every_plan(request)))
    schedules = dict.fromkeys(Same(schedule) for _, schedule in made)
    return Planned(tuple(plan for plan, _ in made), tuple(s.value for s in schedules))


def require_legal(request: Request) -> None:
    """Whether a nest can be made of the kernel, and a plan for each alternative of its schedule, where one is written:
    no directive is refused later. Raises SpecError."""
    family = family_of(request.kernel)
    if request.schedule is None:
        family.nest(request.kernel, request.constants, frozenset())
        return
    for nest, schedule in _written(request, family, request.schedule):
        next(_plans(family, nest, schedule, request.target, request.name, request.name, last=True))


def _reachable(made: Iterator[Made]) -> Iterator[Made]:
    """Constants decide conditions, and behind a plan without any there is nothing."""
    for plan, schedule in made:
        decided = [(c, always(c)) for c in plan.conditions]
        if any(holds is False for _, holds in decided):
            continue
        undecided = tuple(c for c, holds in decided if holds is None)
        yield replace(plan, conditions=undecided), schedule
        if not undecided:
            return


def _every_plan(request: Request) -> Iterator[Made]:
    family, kernel, target = family_of(request.kernel), request.kernel, request.target
    if request.schedule is not None:
        chosen = _written(request, family, request.schedule)
        yield from _of_alternatives(family, chosen, target, request.name)
        if not chosen[-1][1].at:
            return
    elif request.sizes is not None:
        nest, schedule = _fitted(family, request, request.sizes)
        alone = not schedule.at and not family.for_any
        yield from _plans(family, nest, schedule, target, request.name, request.name, last=alone)
        if alone:
            return
    fitted = request.schedule is not None or request.sizes is not None
    name = f"{request.name}_any" if fitted else request.name
    yield from _for_any_size(Same(kernel), tuple((request.constants or {}).items()), target, name)


@lru_cache(maxsize=64)
def _for_any_size(
    kernel: Same[Kernel], constants: tuple[tuple[str, int], ...], target: Target, name: str
) -> tuple[Made, ...]:
    """What `auto` makes for sizes that nobody knows: the same plans whatever sizes a call has."""
    family = family_of(kernel.value)
    nest = family.nest(kernel.value, dict(constants), frozenset())
    chosen = [(nest, with_names(nest, s)) for s in family.auto(nest, target, None)]
    return tuple(_of_alternatives(family, chosen, target, name))


def _fitted(family: Family, request: Request, sizes: Mapping[str, int]) -> tuple[Nest, Schedule]:
    """What `auto` chooses for these sizes, and the nest in which some of them are constants."""
    kernel, constants = request.kernel, request.constants or {}
    fixed = short_sizes(kernel, sizes) if family.fixes_short else {}
    nest = family.nest(kernel, {**constants, **fixed}, frozenset())
    known = {**nest.constants, **sizes}
    (chosen,) = family.auto(nest, request.target, known)
    more = family.also_fixed(nest, chosen, sizes)
    if more:
        fixed |= more
        nest = family.nest(kernel, {**constants, **fixed}, frozenset())
    chosen = with_cache_hints(chosen, nest, request.target, known)
    return nest, with_names(nest, replace(chosen, at=tuple(fixed.items())))


def _written(request: Request, family: Family, spec: ScheduleSpec) -> list[tuple[Nest, Schedule]]:
    """Every alternative complete, with its nest. Raises SpecError."""
    found: list[tuple[Nest, Schedule]] = []
    for part in alternatives(spec):
        constants = {**(request.constants or {}), **dict(schedule_of(part).at)}
        nest = family.nest(request.kernel, constants, named_axes(part))
        written = read_schedule(nest, part, family.rules, request.target)
        found += [(nest, with_names(nest, s)) for s in family.complete(nest, written, request.target)]
    if len({s.index for _, s in found}) > 1:
        raise SpecError([promised_apart(spec, "index")])
    if len({s.bounds is Bounds.EXACT for _, s in found}) > 1:
        raise SpecError([promised_apart(spec, "bounds")])
    return found


def _of_alternatives(
    family: Family, chosen: Sequence[tuple[Nest, Schedule]], target: Target, name: str
) -> Iterator[Made]:
    """The plans of schedules in order of preference; where there are several, names tell them apart."""
    taken: set[str] = set()
    for number, (nest, schedule) in enumerate(chosen, 1):
        own = name
        if len(chosen) > 1:
            label = family.label(nest, schedule) or str(number)
            own = f"{name}_{label}" if label not in taken else f"{name}_{label}_{number}"
            taken.add(label)
        yield from _plans(family, nest, schedule, target, own, name, last=number == len(chosen))


def _plans(
    family: Family, nest: Nest, schedule: Schedule, target: Target, name: str, stem: str, last: bool
) -> Iterator[Made]:
    """The plans of one schedule, for launches with the sizes that it has as constants."""
    equal = tuple(Equals(sym(s), n) for s, n in schedule.at)
    for number, plan in enumerate(family.plans(nest, schedule, target, name, f"{stem}_scalar", last)):
        if not number:
            _require_room(plan)
        yield replace(plan, conditions=(*equal, *plan.conditions)), schedule


def _require_room(plan: Plan) -> None:
    """TG0621: `min_blocks` as written, where there is no room for so many."""
    asked = plan.schedule.min_blocks or 1
    written = plan.schedule.writes("min_blocks")
    if written and asked > most_resident(plan.schedule, plan.threads, plan.target):
        raise SpecError([too_many_resident(plan.schedule, plan.threads, plan.target)])
