"""`load` and `loads`: specs as objects whose kernels can be called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from tilegen.api.kernel import Kernel
from tilegen.api.selection import find_family
from tilegen.lang.check import check
from tilegen.lang.parse import parse, read_source, source_from_text
from tilegen.lang.source import Source
from tilegen.lang.spec import Spec
from tilegen.target import Target
from tilegen.target import target as target_named

if TYPE_CHECKING:
    from tilegen.report import MetricsTable, VerifyReports


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
