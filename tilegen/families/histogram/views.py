"""What the templates print of a histogram."""

from __future__ import annotations

from typing import ClassVar

from tilegen.frozen import dataclass


@dataclass(frozen=True, slots=True)
class ClearView:
    """Counters set to zero, `count` of them."""

    kind: ClassVar[str] = "clear"
    comment: tuple[str, ...]
    number: str
    thread: str
    count: str
    threads: str
    counters: str

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.thread, self.count, self.threads, self.counters)


@dataclass(frozen=True, slots=True)
class TailView:
    """Elements that fill no whole item. `head`: a condition where threads have at most one, after the `definition` of
    which, else a loop."""

    comment: tuple[str, ...]
    definition: str
    head: str
    body: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.definition, self.head, *self.body)


@dataclass(frozen=True, slots=True)
class CountView:
    """A walk over elements. `head`: of the loop over strides; a thread has `trip` items per stride, by number `step`
    (empty: one); `arrays` hold what `loads` fill before `inside` counts the first."""

    kind: ClassVar[str] = "count"
    comment: tuple[str, ...]
    head: str
    arrays: tuple[str, ...]
    step: str
    trip: str
    item: str
    guard: str
    loads: tuple[str, ...]
    inside: tuple[str, ...]
    tail: TailView | None

    @property
    def texts(self) -> tuple[str, ...]:
        rest = () if self.tail is None else self.tail.texts
        trip = (self.trip,) if self.step else ()
        return (
            self.head,
            *self.arrays,
            *trip,
            self.item,
            self.guard,
            *self.loads,
            *self.inside,
            *rest,
        )


@dataclass(frozen=True, slots=True)
class TotalView:
    """The copies of each bin added up (`copies` empty: there is one); `add` where `share` holds (empty: nowhere)."""

    kind: ClassVar[str] = "total"
    comment: tuple[str, ...]
    number: str
    thread: str
    count: str
    threads: str
    counter: str
    counters: str
    turn: str
    sum: str
    copies: str
    copy: str
    unroll: bool
    share: str
    add: str

    @property
    def texts(self) -> tuple[str, ...]:
        shared = (self.share, self.add) if self.share else ()
        return (self.thread, self.count, self.threads, self.counters, self.turn, self.copies, *shared)


@dataclass(frozen=True, slots=True)
class WriteView:
    """Stores of all bins, by the block that takes the last ticket where blocks share them. `alone`: the condition that
    there are others (empty: always)."""

    kind: ClassVar[str] = "write"
    comment: tuple[str, ...]
    shares: bool
    alone: str
    thread: str
    last: str
    ticket: str
    number: str
    number_type: str
    count: str
    threads: str
    body: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        shared = (self.alone, self.last, self.ticket) if self.shares else ()
        return (self.thread, self.count, self.threads, *shared, *self.body)
