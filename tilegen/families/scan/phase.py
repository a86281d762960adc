"""`Scan`: the one phase of a kernel with scans. It says which thread has which points, and how totals are carried on.

A tile is `tile` points of the scanned axis; a thread has `steps` items of `width` neighbours in it.

- *Along*: neighbours lie along the scanned axis. `along` threads share a row; up to 32 of them are lanes side by side,
  so that each step of a warp is one run in memory. `beside` rows are computed by one block at a time.
- *Across*: neighbours lie along another axis, `across`. `beside` threads lie along that one, each with `width` columns;
  `along` threads take `steps` consecutive points of every column each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tilegen.algebra import ZERO, Expr
from tilegen.core.nest.affine import Run
from tilegen.core.nest.model import Access, Store
from tilegen.core.nest.text import access_text, value_text
from tilegen.core.plan.model import Phase
from tilegen.dtypes import DType
from tilegen.lang.spec import Read, Reduce, Reduction, Value

WARP = 32
# Tiles of a chunk, and chunks that a block looks back at: one word for every lane of a warp.
CHUNK = 32


class Carry(Enum):
    """How the total of everything before a tile gets to it."""

    WALK = "walk"
    LOOK_BACK = "look-back"


@dataclass(frozen=True, slots=True)
class Carrier:
    """A running total: `op` over `term` at the points `first <= … < limit` of the walk.

    `inclusive`, `exclusive`: the reductions in values that are this total after, and before, the term of the point.
    `level`: its terms use totals of lower levels. `name` is for variables.
    """

    name: str
    op: Reduction
    term: Value
    dtype: DType
    first: Expr
    limit: Expr
    level: int
    inclusive: Reduce | None
    exclusive: Reduce | None

    @property
    def node(self) -> Reduce:
        """One of the reductions it is for: operator and types are the same."""
        found = self.inclusive or self.exclusive
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Spread:
    """Threads and points of a tile, see above."""

    axis: str
    across: str | None
    along: int
    beside: int
    steps: int
    width: int

    @property
    def tile(self) -> int:
        """Points of the scanned axis in a tile."""
        return self.along * self.steps * (1 if self.across is not None else self.width)

    @property
    def threads(self) -> int:
        return self.along * self.beside

    @property
    def lanes(self) -> int:
        """Threads of a row that are in one warp."""
        return min(self.along, WARP)

    @property
    def warps(self) -> int:
        """Groups of threads whose totals meet in shared memory: warps of a row or, across, threads of a column."""
        return self.along if self.across is not None else self.along // self.lanes

    @property
    def run(self) -> Run:
        fast = self.across if self.across is not None else self.axis
        return Run(((fast, self.width),), self.width)

    def position(self, part: Expr, lane: Expr, step: Expr) -> Expr:
        """In-tile coordinate of the scanned axis, of the first neighbour of an item. `part`: number of the warp within
        the row (of the thread within the column); `lane`: of the thread within the warp."""
        if self.across is not None:
            return part * self.steps + step
        return (part * self.steps + step) * (self.lanes * self.width) + lane * self.width

    def coordinates(self, thread: Expr, step: Expr, lane: Expr) -> tuple[tuple[str | None, Expr], ...]:
        """In-tile coordinates of a neighbour, and (None) the number of the row within the block."""
        if self.across is not None:
            part, column = thread // self.beside, thread % self.beside
            return ((self.axis, self.position(part, ZERO, step)), (self.across, column * self.width + lane))
        inside = thread % self.along
        at = self.position(inside // self.lanes, inside % self.lanes, step) + lane
        return ((self.axis, at), (None, thread // self.along))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A read that a thread has in registers for its whole part of the tile: at the points `first <= … < limit`.

    `width`: elements per access; 1 for elements that do not lie side by side."""

    read: Read
    access: Access
    width: int
    first: Expr
    limit: Expr


@dataclass(frozen=True, slots=True)
class Scan(Phase):
    """Load a tile, scan it, take on what came before, store.

    `store_first`: the first point of the walk at which something is stored. `widths`: elements per access of stores
    that move several at once. `row`: the parallel axis along which a block has `spread.beside` rows. `guards`: axes
    whose tile may be partial. `tail`: a row need not hold whole items.
    """

    spread: Spread
    carry: Carry
    carriers: tuple[Carrier, ...]
    loads: tuple[Loaded, ...]
    stores: tuple[Store, ...]
    store_first: Expr
    widths: tuple[tuple[Access, int], ...]
    row: str | None
    guards: tuple[str, ...]
    tail: bool

    @property
    def levels(self) -> int:
        return 1 + max(c.level for c in self.carriers)

    def width_of(self, access: Access) -> int:
        return dict(self.widths).get(access, 1)

    def lines(self) -> Iterator[str]:
        s = self.spread
        where = f"along {s.axis}" if s.across is None else f"down {s.axis}, lanes along {s.across}"
        yield f"scan {where}, {self.carry.value}"
        yield f"    {s.along} threads a row, {s.beside} beside; {s.steps} steps of {s.width}, tile {s.tile}"
        if self.row is not None:
            yield f"    rows along {self.row}"
        if self.guards:
            yield f"    guarded along {', '.join(self.guards)}"
        for load in self.loads:
            yield f"    load {access_text(load.access)} by {load.width}, at {load.first}..{load.limit}"
        for c in self.carriers:
            kinds = [
                w for w, node in (("inclusive", c.inclusive), ("exclusive", c.exclusive)) if node is not None
            ]
            yield f"    carry {c.name} in {c.dtype}: {c.op.value} of {value_text(c.term)}"
            yield f"        at {c.first}..{c.limit}, {' and '.join(kinds)}, level {c.level}"
        for store in self.stores:
            by = self.width_of(store.access)
            yield f"    store to {access_text(store.access)} by {by}: {value_text(store.value)}"
        if self.store_first != ZERO:
            yield f"    stored from {self.store_first} on"
        if self.tail:
            yield "    the last item of a row may be a part"
