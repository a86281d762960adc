"""What the templates print: text in named slots, nothing left to decide."""

from __future__ import annotations

from typing import ClassVar, Protocol

from tilegen.frozen import dataclass


@dataclass(frozen=True, slots=True)
class LoopView:
    """A serial loop. `inside`: definitions that change with it, and with no loop inside it."""

    variable: str
    trip: int
    pragma: str
    inside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SweepView:
    """A loop nest of one phase: `before` are definitions, `guard` is a condition or empty."""

    before: tuple[str, ...]
    loops: tuple[LoopView, ...]
    guard: str
    body: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """All code of it, to see what names it uses."""
        return (*self.before, *(line for loop in self.loops for line in loop.inside), self.guard, *self.body)


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


@dataclass(frozen=True, slots=True)
class ItemsView:
    """The items of one thread: `inside` are definitions per item, `guard` a condition or empty. `together`: a condition
    that always holds, around all of them; empty if there is none."""

    variable: str
    trip: int
    inside: tuple[str, ...]
    guard: str
    body: tuple[str, ...]
    together: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.together, *self.inside, self.guard, *self.body)


@dataclass(frozen=True, slots=True)
class WalkView:
    """A walk along a row. `before`: definitions; `chunks`: the head of the loop over pieces of the row, empty where it
    is one piece; `pieces`: what is done with each, `after`: at its end."""

    kind: ClassVar[str] = "walk"
    comment: tuple[str, ...]
    before: tuple[str, ...]
    chunks: str
    arrays: tuple[str, ...]
    pieces: tuple[ItemsView, ...]
    after: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        inside = (*self.arrays, *(t for p in self.pieces for t in p.texts), *self.after)
        return (*self.before, self.chunks, *inside)


@dataclass(frozen=True, slots=True)
class CombineView:
    """Threads put their partial results together: `stages` of lines, a barrier between them."""

    kind: ClassVar[str] = "combine"
    comment: tuple[str, ...]
    stages: tuple[tuple[str, ...], ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(line for stage in self.stages for line in stage)


@dataclass(frozen=True, slots=True)
class OnceView:
    """Statements of the threads for which `guard` holds (empty: all)."""

    kind: ClassVar[str] = "once"
    comment: tuple[str, ...]
    guard: str
    body: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.guard, *self.body)


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of a phase: why, and what."""

    comment: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScanView:
    """A scan. `carry`: definitions of what goes from tile to tile; `walk`: the head of the loop over tiles, empty where
    a block has one."""

    kind: ClassVar[str] = "scan"
    comment: tuple[str, ...]
    carry: tuple[str, ...]
    walk: str
    parts: tuple[PartView, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self.carry, self.walk, *(line for p in self.parts for line in p.lines))


class PhaseView(Protocol):
    """A phase as templates print it; `kind` names the macro of templates/kernel.cu.j2 that does."""

    kind: ClassVar[str]

    @property
    def texts(self) -> tuple[str, ...]: ...


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
class BodyView:
    """What a family decides of a kernel. `extent`: completes "a block computes …"; `setup`: (name, definition) pairs,
    of which those are printed that are used."""

    extent: str
    constants: tuple[ConstantView, ...]
    shared: tuple[SharedView, ...]
    setup: tuple[tuple[str, str], ...]
    phases: tuple[PhaseView, ...]


@dataclass(frozen=True, slots=True)
class KernelView:
    name: str
    comment: tuple[str, ...]
    attributes: str
    parameters: tuple[ParameterView, ...]
    constants: tuple[ConstantView, ...]
    shared: tuple[SharedView, ...]
    evicted_last: tuple[str, ...]
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
