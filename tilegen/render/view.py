"""What the templates print: text in named slots, nothing left to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class LoopView:
    variable: str
    trip: int
    pragma: str


@dataclass(frozen=True, slots=True)
class SweepView:
    """A loop nest of one phase: `before` and `inside` are definitions, `guard` a condition or empty."""

    before: tuple[str, ...]
    loops: tuple[LoopView, ...]
    inside: tuple[str, ...]
    guard: str
    body: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """All code of it, to see what names it uses."""
        return (*self.before, *self.inside, self.guard, *self.body)


@dataclass(frozen=True, slots=True)
class BarrierView:
    """All threads of the block wait for each other."""

    kind: ClassVar[str] = "barrier"
    texts: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class SweepPhaseView:
    """A phase that is one sweep. `interior`: the same without guards, for `bounds split` where `condition` holds, or
    None."""

    kind: ClassVar[str] = "sweep"
    comment: tuple[str, ...]
    sweep: SweepView
    interior: SweepView | None
    condition: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        free = () if self.interior is None else (*self.interior.texts, self.condition)
        return (*self.sweep.texts, *free)


# `kind` names the macro of templates/kernel.cu.j2 that prints the phase.
PhaseView = BarrierView | SweepPhaseView


@dataclass(frozen=True, slots=True)
class ParameterView:
    """A kernel parameter. `kind`: `pointer`, `scratch`, `size`, `stride` or `scalar`; `key` names what is passed."""

    kind: str
    key: str
    name: str
    declaration: str


@dataclass(frozen=True, slots=True)
class ConstantView:
    name: str
    value: int


@dataclass(frozen=True, slots=True)
class SharedView:
    """A staged tile: its comment and declaration."""

    comment: str
    declaration: str


@dataclass(frozen=True, slots=True)
class KernelView:
    name: str
    comment: tuple[str, ...]
    attributes: str
    parameters: tuple[ParameterView, ...]
    constants: tuple[ConstantView, ...]
    shared: tuple[SharedView, ...]
    setup: tuple[str, ...]
    phases: tuple[PhaseView, ...]


@dataclass(frozen=True, slots=True)
class VectorView:
    """A struct of lanes that travels in one memory instruction."""

    name: str
    ctype: str
    width: int
    size: int
    alignment: int

    @property
    def pieces(self) -> bool:
        """Whether it takes several accesses of `alignment` bytes each."""
        return self.size > self.alignment


@dataclass(frozen=True, slots=True)
class StructView:
    """A struct element: its name, members as C declarations, and what the layout must come to (`places`: only where the
    host compiler is there to know `offsetof`)."""

    name: str
    members: tuple[str, ...]
    checks: tuple[str, ...]
    places: tuple[str, ...]
    alignment: int
