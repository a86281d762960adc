"""Specs as objects whose kernels can be called: arguments in, arrays out, on a GPU or on the simulator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tilegen.api.selection import (
    AUTO,
    find_family,
    find_kernel,
    find_schedule,
    matching_kernels,
    schedule_names,
)
from tilegen.lang.check import check
from tilegen.lang.parse import parse, read_source, source_from_text
from tilegen.lang.source import Source
from tilegen.lang.spec import KernelFamily, Role, Spec
from tilegen.target import Target
from tilegen.target import target as target_named

if TYPE_CHECKING:
    from tilegen.api.execute import Programs
    from tilegen.program import Program
    from tilegen.report.tables import MetricsTable
    from tilegen.report.verification import VerifyReports


class Kernel:
    """One kernel of a file, with a schedule and types chosen or left open. Made by `tilegen.load`.

    Calling it takes the inputs in the order of their declaration or by name, sizes that no array determines and scalars
    by name, and outputs as `out` (one array, or a dictionary by name); outputs that are not passed are allocated. It
    returns the output, or a dictionary where there are several.

    CuPy arrays, CUDA tensors of torch and everything with `__cuda_array_interface__` or DLPack on a GPU are launched on
    that GPU, on the caller's stream and without waiting. NumPy arrays, and others in host memory, run on the simulator:
    right to the bit and checked for races and stray accesses, but thousands of times slower than a GPU.
    """

    def __init__(
        self,
        spec: Spec,
        family: KernelFamily,
        *,
        target: Target | str | None = None,
        schedule: str | None = None,
        types: Mapping[str, str] | None = None,
        programs: Programs | None = None,
    ) -> None:
        self._spec, self._family = spec, family
        self._target = target_named(target) if isinstance(target, str) else target
        self._schedule, self._types = schedule, dict(types or {})
        self._chosen = find_schedule(family, schedule)
        self._shared = programs

    # What it is ----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._family.name

    @property
    def schedules(self) -> tuple[str, ...]:
        """Names of the schedules, as declared, and `auto`."""
        return schedule_names(self._family)

    @property
    def signature(self) -> str:
        """Types, inputs and outputs on one line."""
        family, kernel = self._family, self._family.kernels[0]
        types = ", ".join(f"{p.name}: {' | '.join(map(str, p.choices))}" for p in family.type_params)
        shown = {t.name: f"{t.name}[{', '.join(map(str, t.extents))}]" for t in kernel.tensors}
        inputs = [shown[t.name] for t in kernel.tensors if t.role is not Role.OUT]
        inputs += [f"{s.name}: {s.dtype}" for s in kernel.scalars]
        outputs = [shown[t.name] for t in kernel.tensors if t.role is not Role.IN]
        return f"{family.name}{f'[{types}]' if types else ''}({', '.join(inputs)}) -> {', '.join(outputs)}"

    def __repr__(self) -> str:
        chosen = "".join(f", {n}={t}" for n, t in self._types.items())
        return f"<tilegen kernel {self.signature}; schedule {self._schedule_name}{chosen}>"

    @property
    def _schedule_name(self) -> str:
        return AUTO if self._chosen is None else self._chosen.name

    # Choosing ------------------------------------------------------------------------------------------------------

    def schedule(self, name: str) -> Kernel:
        """The same kernel under another schedule; the result is the same by definition. Raises SpecError TG0803."""
        return self._with(schedule=name)

    def types(self, **types: Any) -> Kernel:
        """The same kernel with types fixed (`T="f16"`), which otherwise follow the arrays. Raises SpecError TG0804."""
        chosen = {**self._types, **{name: str(value) for name, value in types.items()}}
        matching_kernels(self._family, chosen)
        return self._with(types=chosen)

    def _with(self, **changes: Any) -> Kernel:
        kept = {
            "target": self._target,
            "schedule": self._schedule,
            "types": self._types,
            "programs": self._programs,
        }
        return Kernel(self._spec, self._family, **{**kept, **changes})

    @property
    def _programs(self) -> Programs:
        if self._shared is None:
            from tilegen.api.execute import Programs

            self._shared = Programs(self._target)
        return self._shared

    # Text ----------------------------------------------------------------------------------------------------------

    def program(self, sizes: Mapping[str, int] | None = None, **constants: int) -> Program:
        """The generated program for the chosen types and schedule; `constants` are compile-time sizes (`K=64`).

        `sizes` are what `auto` may fit its choice to. Raises SpecError.
        """
        from tilegen.api.selection import find_constants

        kernel = find_kernel(self._family, self._types)
        return self._programs.program(kernel, self._chosen, find_constants(kernel, constants), sizes)

    @property
    def source(self) -> str:
        """The CUDA C, kernel and launcher, as `tilegen emit` writes it but for the lines on where it comes from."""
        return self.program().source

    @property
    def header(self) -> str:
        """The C header of the launcher."""
        return self.program().rendered.header

    # Running -------------------------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, out: Any = None, schedule: str | None = None, **named: Any) -> Any:
        """Run the kernel; see the class. Raises ArgumentError, SpecError, LaunchError, ToolchainMissing."""
        if schedule is not None:
            return self.schedule(schedule)(*args, out=out, **named)
        return self._programs.call(self._family, self._types, self._chosen, args, named, out)

    # Judging -------------------------------------------------------------------------------------------------------

    def verify(
        self,
        *,
        schedules: Sequence[str] | None = None,
        on: Literal["sim", "gpu"] = "sim",
        shapes: Literal["spec", "all"] = "all",
    ) -> VerifyReports:
        """Run the spec's tests and expectations, and with `shapes="all"` the awkward sizes too, on every schedule and
        type (on those chosen by `.schedule` and `.types`). The result prints as a table and is true if all passed."""
        from tilegen.report.verification import VerifyReports
        from tilegen.verify import verify_kernel

        names = schedules if schedules is not None else None if self._schedule is None else [self._schedule]
        for name in names or ():
            find_schedule(self._family, name)
        target = self._programs.target
        return VerifyReports(
            tuple(
                verify_kernel(self._family, kernel, schedules=names, where=on, target=target, shapes=shapes)
                for kernel in matching_kernels(self._family, self._types)
            )
        )

    def report(self, **sizes: int) -> MetricsTable:
        """What every schedule costs at `sizes` (`M=4096, N=4096`), by simulation: sectors, bank conflicts, registers,
        occupancy. Prints as a table. The sizes should be small: every thread is simulated."""
        from tilegen.errors import CallError
        from tilegen.reference import SizeError
        from tilegen.report.tables import measure_schedules

        names = None if self._schedule is None else [self._schedule]
        kernel = find_kernel(self._family, self._types)
        try:
            return measure_schedules(self._family, kernel, self._programs.target, sizes, names)
        except SizeError as error:
            raise CallError("TG0812", str(error), helps=("give every size a value that fits",)) from None


class File:
    """The kernels of one spec. With one kernel it acts as that kernel: it can be called and has all of its methods."""

    def __init__(self, spec: Spec, target: Target | str | None = None) -> None:
        self._spec = spec
        self._target = target_named(target) if isinstance(target, str) else target
        self.kernels: dict[str, Kernel] = {
            family.name: Kernel(spec, family, target=self._target) for family in spec.kernels
        }
        """By name, in the order of the file."""

    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel called `name`, or the only one. Raises SpecError TG0801, TG0802."""
        return self.kernels[find_family(self._spec, name).name]

    def __repr__(self) -> str:
        return f"<tilegen file {self._spec.source.name}: {', '.join(self.kernels)}>"

    @property
    def name(self) -> str:
        return self.kernel().name

    @property
    def schedules(self) -> tuple[str, ...]:
        return self.kernel().schedules

    @property
    def signature(self) -> str:
        return self.kernel().signature

    @property
    def source(self) -> str:
        return self.kernel().source

    @property
    def header(self) -> str:
        return self.kernel().header

    def schedule(self, name: str) -> Kernel:
        return self.kernel().schedule(name)

    def types(self, **types: Any) -> Kernel:
        return self.kernel().types(**types)

    def __call__(self, /, *args: Any, out: Any = None, schedule: str | None = None, **named: Any) -> Any:
        return self.kernel()(*args, out=out, schedule=schedule, **named)

    def verify(
        self,
        *,
        schedules: Sequence[str] | None = None,
        on: Literal["sim", "gpu"] = "sim",
        shapes: Literal["spec", "all"] = "all",
    ) -> VerifyReports:
        return self.kernel().verify(schedules=schedules, on=on, shapes=shapes)

    def report(self, **sizes: int) -> MetricsTable:
        return self.kernel().report(**sizes)


def load(path: str | os.PathLike[str], target: Target | str | None = None) -> File:
    """The checked spec in the file at `path`. `target`: a GPU architecture (`sm_90`), by default the GPU's own.

    Raises SpecError with every problem of the spec.
    """
    return _file(read_source(os.fspath(path)), target)


def loads(text: str, name: str = "<text>", target: Target | str | None = None) -> File:
    """As `load`, from `text`; messages call it `name`."""
    return _file(source_from_text(text, name), target)


def _file(source: Source, target: Target | str | None) -> File:
    return File(check(parse(source)), target)
