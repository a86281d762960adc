"""`build`: the whole way from a checked kernel to source code, in order, and what a launch of it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tilegen.algebra import evaluate
from tilegen.core.nest import Nest
from tilegen.core.plan.conditions import holds
from tilegen.core.plan.model import Plan
from tilegen.core.schedule.directives import spec_of
from tilegen.core.schedule.model import Schedule
from tilegen.cuda.names import identifier
from tilegen.cuda.tree import Parameter
from tilegen.families.plans import Request, plans_of
from tilegen.lang.spec import Bounds, IndexType, Kernel, ScheduleSpec
from tilegen.render import Rendered, render
from tilegen.render.launcher import mapped_extents
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
    parameters: tuple[Parameter, ...]
    scratch: tuple[ScratchShape, ...] = ()


class LaunchRefused(ValueError):
    """The arguments break a promise of the spec or of the schedule (`bounds exact`, `index i32`, `align`, the grid)."""


@dataclass(frozen=True)
class Program:
    """A kernel under one schedule: its plans (variants, in order of preference) and the source of all of them.
    `schedules`: the alternatives that the plans are made of."""

    kernel: Kernel
    schedules: tuple[Schedule, ...]
    target: Target
    plans: tuple[Plan, ...]
    rendered: Rendered

    @property
    def source(self) -> str:
        return self.rendered.source

    @property
    def schedule(self) -> Schedule:
        """The first alternative."""
        return self.schedules[0]

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


def build(
    kernel: Kernel,
    schedule: ScheduleSpec | Schedule | tuple[Schedule, ...] | None,
    target: Target,
    *,
    sizes: Mapping[str, int] | None = None,
    constants: Mapping[str, int] | None = None,
    name: str | None = None,
    provenance: tuple[str, ...] = (),
) -> Program:
    """Lower and render `kernel` under `schedule`: as it was written (single values), a value or several alternatives,
    the best first; None is `auto`.

    `sizes`: actual sizes that `auto` may fit its choice to; the code stays right for all others. `constants`: values of
    compile-time sizes over their defaults. `name`: stem of the launcher's name, the kernel's own by default.
    Raises SpecError for what cannot be generated or a directive that cannot be honoured.
    """
    stem = identifier(name or kernel.name)
    if isinstance(schedule, Schedule | tuple):
        schedule = spec_of((schedule,) if isinstance(schedule, Schedule) else schedule)
    made = plans_of(Request(kernel, schedule, target, sizes, constants, stem))
    return Program(kernel, made.schedules, target, made.plans, render(made.plans, stem, provenance))
