"""From a checked kernel to its plans, one function per family.

With sizes, `auto` makes plans for them first, in which the short ones are constants; those for any size follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tilegen.algebra import evaluate, sym, symbols
from tilegen.core.nest.lets import inline_lets
from tilegen.core.nest.merge import simplified_nest
from tilegen.core.nest.model import Nest
from tilegen.core.plan.conditions import always
from tilegen.core.plan.model import Equals, Plan
from tilegen.core.plan.problems import Refusal, no_whole_sectors
from tilegen.core.schedule.cache_hints import with_cache_hints
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.problems import most_resident, too_many_resident
from tilegen.core.schedule.written import named_axes
from tilegen.families.histogram.candidates import auto_histogram, complete_histogram
from tilegen.families.histogram.nest import histogram_nest
from tilegen.families.histogram.plan import histogram_variants
from tilegen.families.match import Family, family_of
from tilegen.families.rows.axes import row_length
from tilegen.families.rows.candidates import reduce_schedules
from tilegen.families.rows.complete import complete_rows
from tilegen.families.rows.nest import reduce_nest
from tilegen.families.rows.plan import plan_reduce
from tilegen.families.rows.variants import reduce_variants
from tilegen.families.scan.candidates import auto_scan, complete_scan
from tilegen.families.scan.nest import scan_nest
from tilegen.families.scan.plan import plan_scan
from tilegen.families.tiles.candidates import auto_schedule, short_sizes
from tilegen.families.tiles.complete import complete
from tilegen.families.tiles.plan import plan_map
from tilegen.families.tiles.variants import plan_variants
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import Hint, HintDirective, Kernel, ScheduleSpec
from tilegen.target import Target

Planned = tuple[tuple[Plan, ...], Schedule]


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
    def keep(self) -> frozenset[str]:
        """Axes that stay as they are, because directives name them."""
        return named_axes(self.schedule)

    @property
    def name(self) -> str:
        """Of the kernels made for this schedule."""
        written = "auto" if self.schedule is None else self.schedule.name
        return f"{self.stem}_{''.join(c if c.isalnum() else '_' for c in written).strip('_')}"

    @property
    def name_of_any(self) -> str:
        """Of those for sizes that nobody knows."""
        return f"{self.stem}_auto_any"

    def short(self) -> dict[str, int]:
        """Sizes that become constants of the code made for this launch."""
        return short_sizes(self.kernel, self.sizes) if self.sizes is not None else {}

    def known(self, nest: Nest) -> dict[str, int] | None:
        """All that is known of the sizes of `nest`."""
        return None if self.sizes is None else {**nest.constants, **self.sizes}

    def hinted(self, nest: Nest, chosen: Schedule) -> Schedule:
        """A schedule of `auto` with cache hints for these sizes."""
        return with_cache_hints(chosen, nest, self.target, self.known(nest))

    def only_here(self, plans: Iterable[Plan], fixed: Mapping[str, int]) -> tuple[Plan, ...]:
        """`plans` for launches with these sizes, which are constants of the code."""
        equal = tuple(Equals(sym(s), n) for s, n in fixed.items())
        return tuple(replace(p, conditions=(*equal, *p.conditions)) for p in plans)


def plans_of(request: Request) -> Planned:
    """Plans in order of preference, whatever the family, and the schedule of the first. Raises SpecError."""
    plans, chosen = _planned(request)
    _require_room(plans[0])
    reachable = tuple(_reachable(plans))
    return reachable, chosen if reachable[0].name == plans[0].name else reachable[0].schedule


def _require_no_sectors(request: Request) -> None:
    """TG0622: `hint … sectors` where no tile is staged."""
    for directive in request.schedule.directives if request.schedule is not None else ():
        if isinstance(directive, HintDirective) and Hint.SECTORS in directive.hints:
            refusal = Refusal("a kernel with reductions stages no tile: threads walk rows")
            raise SpecError([no_whole_sectors(directive.tensor, refusal, directive.span)])


def _require_room(plan: Plan) -> None:
    """TG0621: `min_blocks` as written, where there is no room for so many."""
    asked = plan.schedule.min_blocks or 1
    written = plan.schedule.writes("min_blocks")
    if written and asked > most_resident(plan.schedule, plan.threads, plan.target):
        raise SpecError([too_many_resident(plan.schedule, plan.threads, plan.target)])


def _reachable(plans: Sequence[Plan]) -> Iterator[Plan]:
    """Plans that some launch takes: constants decide conditions, and behind a plan without any there is nothing."""
    for plan in plans:
        decided = [(c, always(c)) for c in plan.conditions]
        if any(holds is False for _, holds in decided):
            continue
        undecided = tuple(c for c, holds in decided if holds is None)
        yield replace(plan, conditions=undecided)
        if not undecided:
            return


def _planned(request: Request) -> Planned:
    _, closed = inline_lets(request.kernel)
    family = family_of(request.kernel, closed)
    if family is not Family.MAP:
        _require_no_sectors(request)
    match family:
        case Family.MAP:
            return _tiles(request)
        case Family.REDUCE:
            return _rows(request)
        case Family.SCAN:
            return _scans(request)
        case Family.HISTOGRAM:
            return _counts(request)


def require_legal(request: Request) -> None:
    """Whether a nest can be made of the kernel, and one plan for its schedule, where one is written: no directive is
    refused later. Raises SpecError."""
    _, closed = inline_lets(request.kernel)
    family, schedule = family_of(request.kernel, closed), request.schedule
    if family is Family.MAP:
        nest = simplified_nest(request.kernel, request.constants, request.keep)
        if schedule is not None:
            chosen = complete(nest, schedule, request.target)
            _require_room(plan_map(nest, chosen, request.target, request.name))
    elif schedule is not None:
        plans_of(request)
    else:
        make = {Family.REDUCE: reduce_nest, Family.SCAN: scan_nest, Family.HISTOGRAM: histogram_nest}[family]
        make(request.kernel, request.constants, request.keep)


def _tiles(request: Request) -> Planned:
    nest = simplified_nest(request.kernel, request.constants, request.keep)
    if request.schedule is not None:
        chosen = complete(nest, request.schedule, request.target)
        return plan_variants(nest, chosen, request.target, request.name), chosen
    fixed = request.short()
    if not fixed:
        chosen = request.hinted(nest, auto_schedule(nest, request.target, request.known(nest)))
        return plan_variants(nest, chosen, request.target, request.name), chosen
    special = simplified_nest(request.kernel, {**nest.constants, **fixed}, frozenset())
    chosen = request.hinted(special, auto_schedule(special, request.target, request.known(special)))
    plan = plan_map(special, chosen, request.target, request.name)
    general = _general_tiles(
        request.kernel, tuple(nest.constants.items()), request.target, request.name_of_any
    )
    return (*request.only_here([plan], fixed), *general), chosen


@lru_cache(maxsize=64)
def _general_tiles(
    kernel: Kernel, constants: tuple[tuple[str, int], ...], target: Target, name: str
) -> tuple[Plan, ...]:
    """The plans for sizes nobody knows: the same ones whatever sizes a call has."""
    nest = simplified_nest(kernel, dict(constants), frozenset())
    return plan_variants(nest, auto_schedule(nest, target), target, name)


def _rows(request: Request) -> Planned:
    nest = reduce_nest(request.kernel, request.constants, request.keep)
    if request.schedule is not None:
        schedules = complete_rows(nest, request.schedule, request.target)
        return reduce_variants(nest, schedules, request.target, request.name), schedules[0]
    general = reduce_schedules(nest, request.target)
    if request.sizes is None:
        return reduce_variants(nest, general, request.target, request.name), general[0]
    fixed = request.short()
    special = reduce_nest(request.kernel, {**nest.constants, **fixed})
    (chosen,) = reduce_schedules(special, request.target, request.known(special))
    full = _full_rows(special, chosen, request.sizes)
    if full:
        fixed |= full
        special = reduce_nest(request.kernel, {**nest.constants, **fixed})
    chosen = request.hinted(special, chosen)
    plans = request.only_here([plan_reduce(special, chosen, request.target, request.name)], fixed)
    if not plans[0].conditions:
        return plans, chosen
    return (*plans, *reduce_variants(nest, general, request.target, request.name_of_any)), chosen


def _full_rows(nest: Nest, chosen: Schedule, sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes whose row is as long as its threads can take: as constants they leave no element to be guarded."""
    rows, length = chosen.rows, row_length(nest, 0) if nest.rows else None
    if rows is None or length is None or not rows.whole or rows.across:
        return {}
    known = {**nest.constants, **sizes}
    if evaluate(length, known) != rows.along * rows.cluster * rows.items * chosen.item_width:
        return {}
    return {s: sizes[s] for s in symbols(length)}


def _scans(request: Request) -> Planned:
    nest = scan_nest(request.kernel, request.constants, request.keep)
    if request.schedule is None:
        chosen = request.hinted(nest, auto_scan(nest, request.target, request.known(nest)))
    else:
        chosen = complete_scan(nest, request.schedule, request.target)
    return plan_scan(nest, chosen, request.target, request.name), chosen


def _counts(request: Request) -> Planned:
    nest = histogram_nest(request.kernel, request.constants, request.keep)
    if request.schedule is not None:
        chosen = complete_histogram(nest, request.schedule, request.target)
        return histogram_variants(nest, chosen, request.target, request.name), chosen
    if request.sizes is None:
        chosen = auto_histogram(nest, request.target)
        return histogram_variants(nest, chosen, request.target, request.name), chosen
    fixed = request.short()
    special = histogram_nest(request.kernel, {**nest.constants, **fixed})
    chosen = request.hinted(special, auto_histogram(special, request.target, request.known(special)))
    plans = request.only_here(histogram_variants(special, chosen, request.target, request.name), fixed)
    if not fixed:
        return plans, chosen
    general = auto_histogram(nest, request.target)
    return (*plans, *histogram_variants(nest, general, request.target, request.name_of_any)), chosen
