"""The plan of one kernel variant. It is what rendering, launching, analysis and pictures read.

A plan says for each access which thread touches which element, as `algebra.Expr` over these symbols:

- an axis of the nest by its own name: the global coordinate of a point;
- `@origin_AXIS`: first coordinate of the block's tile;   `@tile_AXIS`: coordinate inside the tile;
- `@tid`: linear thread number in the block;              `@thread_AXIS`: a digit of it;
- `@item_AXIS`: number of the item in a linear walk whose fastest axis is AXIS;
- `@step_AXIS`: a serial step of a thread;
- sizes and strides by the names of the spec.

It holds no C: names and types of variables are the renderer's. It is not a schedule (that is what was asked for).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tilegen.algebra import ZERO, Expr, product, sym, xor
from tilegen.core.nest.affine import Run
from tilegen.core.nest.model import Access, Nest, Store
from tilegen.core.plan.sector_row import SectorRow
from tilegen.core.schedule.model import Schedule
from tilegen.dtypes import DType
from tilegen.target import Target


def origin(axis: str) -> Expr:
    return sym(f"@origin_{axis}")


def thread_digit(axis: str) -> Expr:
    return sym(f"@thread_{axis}")


def step(axis: str) -> Expr:
    return sym(f"@step_{axis}")


def linear_item(axis: str) -> Expr:
    return sym(f"@item_{axis}")


TID = sym("@tid")
# Pseudo axes of the tiles of a nest with reductions: its rows, and the parts of a row that blocks share.
ROWS, PARTS = "@rows", "@parts"
FIELD = "@field"  # the pseudo axis of a staged struct: its members, side by side


@dataclass(frozen=True, slots=True)
class TileAxis:
    """One axis of the iteration space: `count` tiles of `tile` points; `ragged`: the last tile may be partial."""

    axis: str
    extent: Expr
    tile: int
    count: Expr
    ragged: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """A serial loop of a thread, `trip` steps; `unroll` None for full unrolling."""

    axis: str
    trip: int
    unroll: int | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """A thread has a point where `value < bound`, as it is in the first `sure` steps along `axis`. `further`: (first,
    count, bound): where `first < count`, this bound holds instead, a larger one."""

    value: Expr
    bound: Expr
    axis: str
    sure: int = 0
    further: tuple[Expr, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """The points of a box spread over the threads of a block.

    `digits`: values of `@thread_AXIS` as expressions of `@tid`. `coordinates`: in-tile coordinate of each axis of the
    box, over digits and steps. `limits`: must all hold for a thread to have a point (where the box does not divide
    among the threads). `linear`: values of `@item_AXIS`. `run`: the neighbours that one item covers, from `position` on
    along the run; coordinates are those of the first, `lanes` those of neighbour `@lane`. `sectors`: the row that
    begins and ends at sectors, `@item_AXIS` its places. `by_rows`: a warp takes a row at a time.
    """

    digits: tuple[tuple[str, Expr], ...]
    loops: tuple[Loop, ...]
    coordinates: tuple[tuple[str, Expr], ...]
    limits: tuple[Limit, ...]
    linear: tuple[tuple[str, Expr], ...] = ()
    run: Run | None = None
    position: Expr = ZERO
    lanes: tuple[tuple[str, Expr], ...] = ()
    sectors: SectorRow | None = None
    by_rows: bool = False

    def coordinate(self, axis: str) -> Expr:
        return dict(self.coordinates)[axis]

    @property
    def steps(self) -> int:
        return prod(loop.trip for loop in self.loops)


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Chunk `c` of row `r` lies at chunk `c ^ ((r >> shift) & mask)`; one-to-one because `mask + 1` chunks, a power of
    two, divide the chunks of a row."""

    shift: int
    mask: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A staged tile in shared memory. The one place that knows its layout.

    `axes`: (axis, extent) from slowest to fastest; the last one is the row. `pad`: unused elements after each row.
    `chunk`: elements that stay together (the widest access). `flat`: declared without rows, for a tile
    that is walked as one linear run. `sectors`: the row is that of an output, with its margin.
    """

    name: str
    tensor: str
    dtype: DType
    axes: tuple[tuple[str, int], ...]
    pad: int
    chunk: int
    swizzle: Swizzle | None
    flat: bool = False
    sectors: SectorRow | None = None

    @property
    def pitch(self) -> int:
        """Elements from one row to the next."""
        return self.axes[-1][1] + self.pad

    @property
    def rows(self) -> int:
        return prod(extent for _, extent in self.axes[:-1])

    @property
    def bytes(self) -> int:
        return self.rows * self.pitch * self.dtype.size

    @property
    def coordinates(self) -> tuple[tuple[str, int], ...]:
        """(axis, extent) of each axis that tells where an element lies."""
        return self.axes if self.sectors is None else (*self.axes[:-1], *self.sectors.axes)

    def row(self, at: Mapping[str, Expr]) -> Expr:
        """Row number of the element at in-tile coordinates `at`."""
        number = Expr(())
        for axis, extent in self.axes[:-1]:
            number = number * extent + at[axis]
        return number

    def column(self, at: Mapping[str, Expr], whole: bool = False) -> Expr:
        """Place within the row, after the swizzle. `whole`: `at` is known to be the first element of a chunk."""
        column = at[self.axes[-1][0]] if self.sectors is None else self.sectors.place(at)
        if self.swizzle is None:
            return column
        key = self.row(at) // (1 << self.swizzle.shift) % (self.swizzle.mask + 1)
        if self.chunk == 1:
            return xor(column, key)
        chunk = xor(column // self.chunk, key) * self.chunk
        return chunk if whole else chunk + column % self.chunk

    def linear(self, at: Mapping[str, Expr]) -> Expr:
        """Element number within the buffer."""
        return self.row(at) * self.pitch + self.column(at)


class Phase:
    """A part of a kernel that all threads of a block go through together; families derive their own from it."""

    __slots__ = ()

    def lines(self) -> Iterator[str]:
        """Stable text: what the phase is called, and below it what it does, indented."""
        raise NotImplementedError(type(self).__name__)


@dataclass(frozen=True, slots=True)
class Load(Phase):
    """Copy a tile of `tensor` into `buffer`, `width` elements per global access along the sweep's run.

    `access`: the element at a point, of the first member where the box has the axis `@field`.
    `across`: (axis, count) of the register micro-transpose: the item covers `count` neighbours along the buffer's row
    axis, and each shared access stores that many. `guards`: ragged axes.
    """

    buffer: Buffer
    access: Access
    sweep: Sweep
    width: int
    across: tuple[str, int] | None
    guards: tuple[str, ...]

    @property
    def address(self) -> Expr:
        """Element read, over global coordinates and, for a staged struct, the member number `@field`."""
        members = any(axis == FIELD for axis, _ in self.sweep.coordinates)
        return self.access.address + sym(FIELD) if members else self.access.address


@dataclass(frozen=True, slots=True)
class Barrier(Phase):
    """All threads of the block wait for each other."""


@dataclass(frozen=True, slots=True)
class Compute(Phase):
    """Evaluate every store of the nest at every point of the tile.

    `widths`: elements per global access of each access that follows the sweep's run (absent: one at a time).
    `tail`: the run's axis need not hold whole items: the last one is done element by element.
    `staged`: buffer per pointer read from shared memory. `shared_widths`: elements per shared access, per pointer.
    """

    sweep: Sweep
    stores: tuple[Store, ...]
    widths: tuple[tuple[Access, int], ...]
    staged: tuple[tuple[str, Buffer], ...]
    shared_widths: tuple[tuple[str, int], ...]
    guards: tuple[str, ...]
    tail: bool = False

    def width_of(self, access: Access) -> int:
        return dict(self.widths).get(access, 1)


@dataclass(frozen=True, slots=True)
class Multiple:
    """Launch condition: `value` is a multiple of `factor`."""

    value: Expr
    factor: int


@dataclass(frozen=True, slots=True)
class Aligned:
    """Launch condition: pointer `pointer` is a multiple of `bytes`."""

    pointer: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Equals:
    """Launch condition: `value` is `number`, which the code has as a constant."""

    value: Expr
    number: int


@dataclass(frozen=True, slots=True)
class AtMost:
    """Launch condition: `value <= limit`."""

    value: Expr
    limit: int


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Launch condition: `value >= limit`."""

    value: Expr
    limit: int


Condition = Multiple | Aligned | Equals | AtMost | AtLeast


@dataclass(frozen=True, slots=True)
class Scratch:
    """Global memory of one launch, a pointer parameter `name`: `count` elements, all zero at the start if `zeroed`.

    The launcher allocates it on the stream; results in it are gone when the kernel ends."""

    name: str
    dtype: DType
    count: Expr
    zeroed: bool

    @property
    def bytes(self) -> Expr:
        return self.count * self.dtype.size


@dataclass(frozen=True, slots=True)
class Plan:
    """One kernel variant: grid, block, phases, and what a launch must satisfy to use it.

    `raster`: tiled axes from the slowest to the fastest in block order; `group`: see `spec.RasterDirective`.
    `conditions`: must hold, else another variant is used. `fits_i32`: hold when 32-bit indices are enough.
    """

    name: str
    nest: Nest
    schedule: Schedule
    target: Target
    tiles: tuple[TileAxis, ...]
    threads: int
    phases: tuple[Phase, ...]
    conditions: tuple[Condition, ...]
    fits_i32: tuple[AtMost, ...]
    raster: tuple[str, ...] = ()
    group: int = 1
    buffers: tuple[Buffer, ...] = ()
    scratch: tuple[Scratch, ...] = ()

    @property
    def cluster(self) -> int:
        """Blocks of a cluster."""
        return prod(n for _, n in self.schedule.cluster)

    def tile(self, axis: str) -> TileAxis:
        return next(t for t in self.tiles if t.axis == axis)

    @property
    def scratch_in_order(self) -> tuple[Scratch, ...]:
        """As it lies in memory: what is zeroed comes first, so that one call clears it."""
        return tuple(sorted(self.scratch, key=lambda s: not s.zeroed))

    @property
    def sectors(self) -> SectorRow | None:
        """The row whose tiles begin and end at sectors."""
        return next((p.sweep.sectors for p in self.phases if isinstance(p, Compute)), None)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory per block, buffers one after another, each aligned to 16 bytes."""
        total = 0
        for buffer in self.buffers:
            total = -(-total // 16) * 16 + buffer.bytes
        return total

    @property
    def dynamic_shared(self) -> bool:
        """Whether the buffers need the opt-in past the static limit."""
        return self.shared_bytes > self.target.shared_bytes_default

    @property
    def blocks(self) -> Expr:
        """Number of thread blocks."""
        return product(tile.count for tile in self.tiles)
