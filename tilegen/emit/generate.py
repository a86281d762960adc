"""Which files a spec becomes, and their text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tilegen.api.selection import AUTO, all_schedules, find_constants, find_kernel, find_schedule, find_sizes
from tilegen.core.schedule.directives import schedule_lines
from tilegen.cuda.names import identifier
from tilegen.emit.provenance import provenance
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Kernel, KernelFamily, ScheduleSpec, Spec
from tilegen.program import build
from tilegen.render import render
from tilegen.target import Target

_LONGEST_STEM = 200


@dataclass(frozen=True, slots=True)
class Request:
    """One kernel to emit as `stem`.cu and `stem`.h; `schedule` None is `auto`."""

    stem: str
    kernel: Kernel
    schedule: ScheduleSpec | None


@dataclass(frozen=True, slots=True)
class Emitted:
    """The text of one kernel's two files."""

    stem: str
    kernel: str
    types: tuple[tuple[str, str], ...]
    schedule: str
    directives: str
    target: str
    source: str = field(repr=False)
    header: str = field(repr=False)


def requests(
    spec: Spec,
    families: Sequence[KernelFamily],
    *,
    schedule: str | None = None,
    types: Mapping[str, str] | None = None,
    everything: bool = False,
) -> tuple[Request, ...]:
    """What to emit for `families` of `spec`: one choice each, or with `everything` all types and all schedules.

    Stems differ even where case is ignored, and a kernel's stem does not depend on which kernels are asked for.
    Raises SpecError for a name that does not exist.
    """
    stems = _Stems(spec)
    found: list[Request] = []
    for family in families:
        if not everything:
            kernel = find_kernel(family, types or {})
            found.append(Request(stems.of(family, kernel), kernel, find_schedule(family, schedule)))
            continue
        first = find_schedule(family, None)
        for kernel in family.kernels:
            stem = stems.of(family, kernel)
            for choice in all_schedules(family, schedule):
                name = stem if choice == first else stems.claim(f"{stem}_{_label(choice)}")
                found.append(Request(name, kernel, choice))
    return tuple(found)


class _Stems:
    """Stems of one file's kernels, each given once."""

    def __init__(self, spec: Spec) -> None:
        self._taken: set[str] = set()
        self._of: dict[tuple[str, tuple[object, ...]], str] = {}
        for family in spec.kernels:
            self._of[family.name, family.kernels[0].types] = self.claim(identifier(family.name))
        for family in spec.kernels:
            for kernel in family.kernels[1:]:
                suffix = "_".join(str(dtype) for _, dtype in kernel.types)
                self._of[family.name, kernel.types] = self.claim(f"{identifier(family.name)}_{suffix}")

    def of(self, family: KernelFamily, kernel: Kernel) -> str:
        return self._of[family.name, kernel.types]

    def claim(self, wanted: str) -> str:
        """`wanted`, or with a number appended where another file has it; shortened where no file system takes it."""
        if len(wanted) > _LONGEST_STEM:
            digest = hashlib.sha256(wanted.encode()).hexdigest()[:8]
            wanted = f"{wanted[: _LONGEST_STEM - 9]}_{digest}"
        stem, number = wanted, 2
        while stem.lower() in self._taken:
            stem, number = f"{wanted}_{number}", number + 1
        self._taken.add(stem.lower())
        return stem


def _label(schedule: ScheduleSpec | None) -> str:
    name = AUTO if schedule is None else schedule.name
    words = "".join(c if c.isalnum() else " " for c in name).split()
    return "_".join(words)


def generate(
    spec: Spec,
    wanted: Iterable[Request],
    target: Target,
    *,
    constants: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> tuple[Emitted, ...]:
    """The text of every request. Raises SpecError with the problems of all of them."""
    problems: list[Diagnostic] = []
    emitted: list[Emitted] = []
    for request in wanted:
        try:
            emitted.append(_generate(spec, request, target, constants or {}, sizes or {}))
        except SpecError as error:
            problems += [d for d in error.diagnostics if d not in problems]
    if problems:
        raise SpecError(problems)
    return tuple(emitted)


def _generate(
    spec: Spec, request: Request, target: Target, constants: Mapping[str, int], sizes: Mapping[str, int]
) -> Emitted:
    kernel = request.kernel
    constants, sizes = find_constants(kernel, constants), find_sizes(kernel, sizes)
    program = build(
        kernel, request.schedule, target, sizes=sizes or None, constants=constants or None, name=request.stem
    )
    # The lines at the top tell the directives, which are known only now.
    rendered = render(program.plans, request.stem, provenance(spec.source, program, constants, sizes))
    return Emitted(
        stem=request.stem,
        kernel=kernel.name,
        types=tuple((name, str(dtype)) for name, dtype in kernel.types),
        schedule=program.schedule.name,
        directives="; ".join(schedule_lines(program.schedules)),
        target=target.name,
        source=rendered.source,
        header=rendered.header,
    )
