"""What the templates print: text in named slots, nothing left to decide."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class PhaseView:
    """One phase. `interior`: the same without guards, for `bounds split` where `condition` holds, or None. A barrier
    has no sweep."""

    comment: tuple[str, ...]
    sweep: SweepView | None
    interior: SweepView | None
    condition: str = ""


@dataclass(frozen=True, slots=True)
class ParameterView:
    """A kernel parameter. `kind`: `pointer`, `size`, `stride` or `scalar`; `key` names what is passed."""

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
