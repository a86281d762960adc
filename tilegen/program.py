"""`build`: the whole way from a checked kernel to source code, in order, and what a launch of it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from tilegen.algebra import evaluate, sym
from tilegen.nest import Nest
from tilegen.nest.family import Family, family_of
from tilegen.nest.histogram import histogram_nest
from tilegen.nest.lets import inline_lets
from tilegen.nest.merge import simplified_nest
from tilegen.nest.reduce import reduce_nest
from tilegen.nest.scan import scan_nest
from tilegen.plan.histogram import histogram_variants
from tilegen.plan.lower import plan_map
from tilegen.plan.model import Aligned, AtLeast, AtMost, Condition, Equals, Multiple, Plan
from tilegen.plan.reduce import plan_reduce
from tilegen.plan.scan import plan_scan
from tilegen.plan.variants import plan_variants, reduce_variants
from tilegen.render import Rendered, render
from tilegen.render.launcher import mapped_extents
from tilegen.render.names import kernel_identifier
from tilegen.render.view import ParameterView
from tilegen.schedule.auto import auto_schedule, short_sizes
from tilegen.schedule.complete import complete, named_axes
from tilegen.schedule.complete_rows import complete_rows
from tilegen.schedule.histogram import auto_histogram, complete_histogram
from tilegen.schedule.model import Schedule
from tilegen.schedule.reduce import reduce_schedules
from tilegen.schedule.scan import auto_scan, complete_scan
from tilegen.spec import Bounds, IndexType, Kernel, ScheduleSpec
from tilegen.target import Target


@dataclass(frozen=True, slots=True)
class ScratchShape:
    """Scratch memory of one launch: a pointer parameter of this name to `bytes` bytes, zeroed before or not."""

    name: str
    bytes: int
    zeroed: bool


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """How to launch one variant for given sizes. `entry`: the C++ name expression to compile; `plan`: its number among
    the program's plans; `blocks` thread blocks of `threads` threads; `dynamic_shared` in bytes; `scratch` in the order
    in which it lies in memory."""

    plan: int
    index: str
    entry: str
    blocks: int
    threads: int
    dynamic_shared: int
    parameters: tuple[ParameterView, ...]
    scratch: tuple[ScratchShape, ...] = ()


class LaunchRefused(ValueError):
    """The arguments break a promise of the spec or of the schedule (`bounds exact`, `index i32`, `align`, the grid)."""


@dataclass(frozen=True)
class Program:
    """A kernel under one schedule: its plans (variants, in order of preference) and the source of all of them."""

    kernel: Kernel
    schedule: Schedule
    target: Target
    plans: tuple[Plan, ...]
    rendered: Rendered

    @property
    def source(self) -> str:
        return self.rendered.source

    @cached_property
    def nest(self) -> Nest:
        return self.plans[-1].nest

    def shape(
        self,
        sizes: Mapping[str, int],
        strides: Mapping[str, int],
        pointers: Mapping[str, int],
        scalars: Mapping[str, int] | None = None,
    ) -> LaunchShape | None:
        """The variant to launch: what the C launcher would choose.

        `sizes`: every size (compile-time ones too); `strides`: those taken from arrays, by parameter name, in elements;
        `pointers`: addresses by pointer name; `scalars`: integer scalars that indices may use. None where there is
        nothing to compute. Raises LaunchRefused.
        """
        values = {**self.nest.constants, **sizes, **strides, **(scalars or {})}
        if any(evaluate(a.extent, values) <= 0 for a in self.nest.parallel):
            return None
        for pointer in self.nest.pointers:
            natural, address = pointer.dtype.align, pointers[pointer.name]
            if pointer.align is not None and address % pointer.align:
                raise LaunchRefused(
                    f"`{pointer.name}` is not aligned to {pointer.align} bytes, as the spec promises"
                )
            if address % natural:
                raise LaunchRefused(
                    f"`{pointer.name}` is not aligned to {natural} bytes, as {pointer.dtype} needs on a device"
                )
        for extent in mapped_extents(self.nest):
            if evaluate(extent, values) <= 0:
                raise LaunchRefused("a boundary mode has nothing to map to: the tensor read is empty")
        if self.schedule.bounds is Bounds.EXACT:
            for tile in self.plans[-1].tiles:
                extent = evaluate(tile.extent, values)
                if extent % tile.tile:
                    raise LaunchRefused(
                        f"`bounds exact` needs `{tile.axis}` to be a multiple of its tile: "
                        f"{extent} is not one of {tile.tile}"
                    )
        for number, plan in enumerate(self.plans):
            if all(holds(c, values, pointers) for c in plan.conditions):
                return self._shape(number, plan, values, pointers)
        raise LaunchRefused("no variant of the kernel fits these arguments")

    def _shape(
        self, number: int, plan: Plan, values: Mapping[str, int], pointers: Mapping[str, int]
    ) -> LaunchShape:
        narrow = all(holds(c, values, pointers) for c in plan.fits_i32)
        wanted = self.schedule.index
        if wanted is IndexType.I32 and not narrow:
            raise LaunchRefused(
                "`index i32` does not reach the last element of these arrays; use `index auto`"
            )
        index = "int" if narrow and wanted is not IndexType.I64 else "long long"
        blocks = evaluate(plan.blocks, values)
        if blocks > self.target.max_grid[0]:
            raise LaunchRefused(
                f"{blocks} blocks are more than a grid may have ({self.target.max_grid[0]}); use a larger tile"
            )
        return LaunchShape(
            plan=number,
            index=index,
            entry=self.rendered.entry(number, index),
            blocks=blocks,
            threads=plan.threads,
            dynamic_shared=plan.shared_bytes if plan.dynamic_shared else 0,
            parameters=self.rendered.parameters(number),
            scratch=tuple(
                ScratchShape(s.name, evaluate(s.bytes, values), s.zeroed) for s in plan.scratch_in_order
            ),
        )


def holds(condition: Condition, values: Mapping[str, int], pointers: Mapping[str, int]) -> bool:
    """Whether a launch condition is met."""
    match condition:
        case Multiple():
            return bool(evaluate(condition.value, values) % condition.factor == 0)
        case Aligned():
            return pointers[condition.pointer] % condition.bytes == 0
        case Equals():
            return bool(evaluate(condition.value, values) == condition.number)
        case AtMost():
            return bool(evaluate(condition.value, values) <= condition.limit)
        case AtLeast():
            return bool(evaluate(condition.value, values) >= condition.limit)


def build(
    kernel: Kernel,
    schedule: ScheduleSpec | None,
    target: Target,
    *,
    sizes: Mapping[str, int] | None = None,
    constants: Mapping[str, int] | None = None,
    name: str | None = None,
    provenance: tuple[str, ...] = (),
) -> Program:
    """Lower and render `kernel` under `schedule` (single values; None: `auto`).

    `sizes`: actual sizes that `auto` may fit its choice to; the code stays right for all others. `constants`: values of
    compile-time sizes over their defaults. `name`: stem of the launcher's name, the kernel's own by default.
    Raises SpecError for what cannot be generated or a directive that cannot be honoured.
    """
    stem = kernel_identifier(name or kernel.name)
    plans, chosen = plans_of(kernel, schedule, target, sizes, constants, stem)
    return Program(kernel, chosen, target, plans, render(plans, stem, provenance))


def plans_of(
    kernel: Kernel,
    schedule: ScheduleSpec | None,
    target: Target,
    sizes: Mapping[str, int] | None,
    constants: Mapping[str, int] | None,
    stem: str,
) -> tuple[tuple[Plan, ...], Schedule]:
    """Plans in order of preference, whatever the family, and the schedule of the first. Raises SpecError."""
    _, closed = inline_lets(kernel)
    match family_of(kernel, closed):
        case Family.MAP:
            plans, chosen = plan_tiles(kernel, schedule, target, sizes, constants, stem)
        case Family.REDUCE:
            plans, chosen = plan_rows(kernel, schedule, target, sizes, constants, stem)
        case Family.SCAN:
            plans, chosen = plan_scans(kernel, schedule, target, sizes, constants, stem)
        case Family.HISTOGRAM:
            plans, chosen = plan_counts(kernel, schedule, target, sizes, constants, stem)
    return plans, chosen


def plan_tiles(
    kernel: Kernel,
    schedule: ScheduleSpec | None,
    target: Target,
    sizes: Mapping[str, int] | None,
    constants: Mapping[str, int] | None,
    stem: str,
) -> tuple[tuple[Plan, ...], Schedule]:
    """Plans of a kernel of the map family."""
    nest = simplified_nest(kernel, constants, named_axes(schedule))
    if schedule is None:
        return plan_auto(nest, target, sizes, stem)
    chosen = complete(nest, schedule, target)
    return plan_variants(nest, chosen, target, f"{stem}_{_label(chosen.name)}"), chosen


def _label(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name).strip("_")


def plan_rows(
    kernel: Kernel,
    schedule: ScheduleSpec | None,
    target: Target,
    sizes: Mapping[str, int] | None,
    constants: Mapping[str, int] | None,
    stem: str,
) -> tuple[tuple[Plan, ...], Schedule]:
    """Plans of a kernel of the reduce family: with `sizes`, first one made for them."""
    general = reduce_nest(kernel, constants)
    if schedule is not None:
        nest = reduce_nest(kernel, constants, named_axes(schedule))
        written = complete_rows(nest, schedule, target)
        return reduce_variants(nest, written, target, f"{stem}_{_label(schedule.name)}"), written[0]
    if sizes is None:
        schedules = reduce_schedules(general, target)
        return reduce_variants(general, schedules, target, f"{stem}_auto"), schedules[0]
    fixed = short_sizes(kernel, sizes)
    special = reduce_nest(kernel, {**general.constants, **fixed})
    (chosen,) = reduce_schedules(special, target, {**special.constants, **sizes})
    plan = plan_reduce(special, chosen, target, f"{stem}_auto")
    equal = tuple(Equals(sym(s), n) for s, n in fixed.items())
    conditions = (*equal, *plan.conditions)
    if not conditions:
        return (plan,), chosen
    rest = reduce_variants(general, reduce_schedules(general, target), target, f"{stem}_auto_any")
    return (replace(plan, conditions=conditions), *rest), chosen


def plan_counts(
    kernel: Kernel,
    schedule: ScheduleSpec | None,
    target: Target,
    sizes: Mapping[str, int] | None,
    constants: Mapping[str, int] | None,
    stem: str,
) -> tuple[tuple[Plan, ...], Schedule]:
    """Plans of a histogram: with `sizes`, first those in which the short ones are constants."""
    nest = histogram_nest(kernel, constants, named_axes(schedule))
    if schedule is not None:
        chosen = complete_histogram(nest, schedule, target)
        return histogram_variants(nest, chosen, target, f"{stem}_{_label(chosen.name)}"), chosen
    if sizes is None:
        chosen = auto_histogram(nest, target)
        return histogram_variants(nest, chosen, target, f"{stem}_auto"), chosen
    fixed = short_sizes(kernel, sizes)
    special = histogram_nest(kernel, {**nest.constants, **fixed})
    chosen = auto_histogram(special, target, {**special.constants, **sizes})
    plans = histogram_variants(special, chosen, target, f"{stem}_auto")
    if not fixed:
        return plans, chosen
    equal = tuple(Equals(sym(s), n) for s, n in fixed.items())
    plans = tuple(replace(p, conditions=(*equal, *p.conditions)) for p in plans)
    return (
        *plans,
        *histogram_variants(nest, auto_histogram(nest, target), target, f"{stem}_auto_any"),
    ), chosen


def plan_scans(
    kernel: Kernel,
    schedule: ScheduleSpec | None,
    target: Target,
    sizes: Mapping[str, int] | None,
    constants: Mapping[str, int] | None,
    stem: str,
) -> tuple[tuple[Plan, ...], Schedule]:
    """Plans of a kernel of the scan family, for many rows and for few."""
    nest = scan_nest(kernel, constants, named_axes(schedule))
    if schedule is None:
        chosen = auto_scan(nest, target, None if sizes is None else {**nest.constants, **sizes})
    else:
        chosen = complete_scan(nest, schedule, target)
    return plan_scan(nest, chosen, target, f"{stem}_{_label(chosen.name)}"), chosen


def plan_auto(
    nest: Nest, target: Target, sizes: Mapping[str, int] | None, stem: str
) -> tuple[tuple[Plan, ...], Schedule]:
    """Plans for the schedule of tilegen's own choice. With `sizes`, first one in which the short ones are constants."""
    fixed = short_sizes(nest.kernel, sizes) if sizes is not None else {}
    if not fixed or sizes is None:
        chosen = auto_schedule(nest, target, None if sizes is None else {**nest.constants, **sizes})
        return plan_variants(nest, chosen, target, f"{stem}_auto"), chosen
    general = _general_plans(nest.kernel, tuple(nest.constants.items()), target, f"{stem}_auto_any")
    special = simplified_nest(nest.kernel, {**nest.constants, **fixed}, frozenset())
    chosen = auto_schedule(special, target, {**special.constants, **sizes})
    plan = plan_map(special, chosen, target, f"{stem}_auto")
    equal = tuple(Equals(sym(s), n) for s, n in fixed.items())
    return (replace(plan, conditions=(*equal, *plan.conditions)), *general), chosen


@lru_cache(maxsize=64)
def _general_plans(
    kernel: Kernel, constants: tuple[tuple[str, int], ...], target: Target, name: str
) -> tuple[Plan, ...]:
    """The plans for sizes nobody knows: the same ones whatever sizes a call has."""
    nest = simplified_nest(kernel, dict(constants), frozenset())
    return plan_variants(nest, auto_schedule(nest, target), target, name)
