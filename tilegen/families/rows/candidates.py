"""`auto` for nests with reductions: how many threads walk a row, how many rows a block takes, what stays in registers.

The choice follows from where neighbouring elements lie, how long a row is and how many there are; nothing is keyed by
a shape. See docs/decisions/0014-reductions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tilegen.algebra import evaluate, symbols
from tilegen.core.nest.affine import memory_order, neighbours
from tilegen.core.nest.model import Nest
from tilegen.core.schedule.known_sizes import Choosing, widest
from tilegen.core.schedule.model import Counts, Keep, Schedule
from tilegen.families.rows.axes import (
    Rows,
    fast_axis,
    main_access,
    parallel_order,
    row_count,
    row_length,
    row_order,
    rows_of,
)
from tilegen.families.rows.costs import RowCosts, row_costs, shared_bytes
from tilegen.families.rows.passes import passes, row_stores, walked_again
from tilegen.lang.spec import Memory
from tilegen.target import Target

_VECTOR_BYTES = 16
_THREADS = 256
# Registers of a thread whose part of several columns stays in them.
_COLUMN_REGISTERS = 64
# Bytes that a thread reads and writes of a row at least: with 2048 threads, 64 KiB per multiprocessor are under way.
_BYTES_PER_THREAD = 32
# Threads of a multiprocessor that should fit at least.
_LEAST_THREADS = 1024
# Instructions that a multiprocessor of an H200 can issue while memory moves a byte for it: 128 lanes at 1.75 GHz, and
# 4.2 TB/s over 132 of them.
_INSTRUCTIONS_PER_BYTE = 7.0
# Accesses under way per thread and tensor where nothing has to stay.
_IN_FLIGHT = 4
_BLOCKS_PER_SM = 8
_LONGEST_TEAM = 1024
# Rows of sizes nobody knows: kernels for rows up to so many elements, and one for all.
_LENGTHS = (1024, 8192, 65536)


def reduce_schedules(
    nest: Nest, target: Target, sizes: Mapping[str, int] | None = None
) -> tuple[Schedule, ...]:
    """The schedules a launcher chooses from, in order of preference; one where `sizes` are known, and then one that
    takes any."""
    chooser = _Chooser(nest, target, dict(sizes or {}), row_costs(nest))
    if sizes is not None:
        return (chooser.fitted(),)
    return tuple(chooser.general())


@dataclass(frozen=True)
class _Chooser(Choosing):
    costs: RowCosts

    @property
    def multiprocessors(self) -> int:
        return self.target.sm_count or 1

    def beside(self, along: int) -> int:
        """Rows of a block: as few as let a multiprocessor have all its threads. A block holds its place until its last
        row is done, and rows of whole warps wait for each other at its barriers."""
        least = -(-self.target.max_threads_per_sm // self.target.blocks_per_sm)
        return max(1, -(-least // along))

    @property
    def across(self) -> bool:
        """Whether neighbouring elements belong to neighbouring rows."""
        access = main_access(self.nest, 0)
        order = memory_order(self.nest, access) if access is not None else ()
        return bool(order) and order[0] not in self.nest.reduced

    def width(self, across: bool) -> int:
        """The widest vector along the fast axis that known sizes allow."""
        axis = fast_axis(self.nest, across)
        if axis is None:
            return 1
        moving = [a for a in self.nest.accesses() if neighbours(self.nest, a, axis, 2) is not None]
        if not moving:
            return 1

        def fits(width: int) -> bool:
            steps = {a: neighbours(self.nest, a, axis, width) for a in moving}
            values = [d for s in steps.values() if s is not None for d in s.divisible]
            return self.divides(width, [self.nest.axis(axis).extent, *values]) and any(
                s is not None and self.size(a) * width <= _VECTOR_BYTES for a, s in steps.items()
            )

        return widest(_VECTOR_BYTES // min(_VECTOR_BYTES, min(map(self.size, moving))), fits)

    # Rows that lie along memory

    @property
    def revisits(self) -> bool:
        """Whether a row is walked more than once."""
        return walked_again(self.nest)

    def whole(self, length: int, width: int) -> Rows | None:
        """The row in registers, by the fewest elements per thread that keep memory and the arithmetic units busy; None
        where it does not fit into one block, or a cluster of them."""
        vectors = -(-length // width)
        found = [
            (self._unfit(along, cluster, -(-vectors // (along * cluster)), width, vectors), along, cluster)
            for cluster in (1, 2, 4, 8)
            if cluster == 1 or self.clusters
            for along in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
        ]
        unfit, along, cluster = min(found)
        if unfit[0]:
            return None
        items = -(-vectors // (along * cluster))
        return Rows(along, self.beside(along), False, items, whole=True, cluster=cluster)

    @property
    def clusters(self) -> bool:
        return self.target.major >= 9

    def _unfit(self, along: int, cluster: int, items: int, width: int, vectors: int) -> tuple[float, ...]:
        """What speaks against so many threads, most important first."""
        threads = along * self.beside(along)
        wanted = self.costs.registers(width, items)
        room = min(255, self.target.registers_per_sm // threads)
        idle = along * cluster * items / vectors - 1
        few = max(0, _BYTES_PER_THREAD - items * width * self.costs.bytes // 2)
        busy = (self.costs.per_element + self.costs.per_thread / (items * width)) / (
            _INSTRUCTIONS_PER_BYTE * self.costs.bytes
        )
        crowd = wanted * _LEAST_THREADS / self.target.registers_per_sm
        return (
            float(wanted > room),
            float(cluster > 1),
            round(
                max(0.0, idle - 0.13) + max(0.0, busy - 1.0) + max(0.0, crowd - 1.0) + (along > 512) * 0.2, 3
            ),
            few,
            cluster,
            wanted,
            -along,
        )

    def _resident(self, rows: Rows, width: int) -> int | None:
        """Blocks per multiprocessor that the registers are to leave room for."""
        wanted = -(-self.costs.registers(width, rows.items) // 8) * 8
        blocks = self.target.registers_per_sm // (wanted * rows.threads)
        return max(1, min(blocks, self.target.warps_per_sm * 32 // rows.threads))

    def team(self, length: int, width: int, items: int) -> int:
        """Threads for a row of `length` elements: the fewest that take it in `items` steps."""
        along = 1
        while along < _LONGEST_TEAM and along * width * items < length:
            along *= 2
        return along

    def streamed(self, length: int | None, width: int, count: int | None) -> Rows:
        """Rows read from memory at every walk; several blocks to a row where there are few rows, walked once."""
        along = _THREADS if length is None else min(2 * _THREADS, self.team(length, width, _IN_FLIGHT))
        if self.revisits and (length is None or length > 8 * _THREADS * width):
            along = 512
        rows = Rows(along, self.beside(along), False, _IN_FLIGHT, whole=False)
        return self.shared_among_blocks(rows, width, length, count)

    def shared_among_blocks(self, rows: Rows, width: int, length: int | None, count: int | None) -> Rows:
        """Blocks enough for the whole machine, where rows are read once and nothing is written along them; each with a
        whole chunk of its row to walk."""
        if not may_share(self.nest):
            return rows
        blocks = 2 * _BLOCKS_PER_SM if rows.across else self.target.max_threads_per_sm // rows.threads
        wanted = self.multiprocessors * blocks
        have = 1
        if self.nest.parallel:
            if count is None:
                return rows
            have = max(1, -(-count // (rows.beside * (width if rows.across else 1))))
        parts = -(-wanted // have)
        if length is not None:
            parts = min(parts, length // rows.chunk(width))
        return rows if parts < 2 else replace(rows, parts=parts)

    # Rows side by side in memory

    def columns(self, width: int, length: int | None, count: int | None) -> Rows:
        beside = 32
        if count is not None:
            while beside > 8 and beside * width > count * 2:
                beside //= 2
        along = _THREADS // beside
        if length is not None:
            while along > 1 and along * 2 > length:
                along //= 2
                beside *= 2
        held = None if length is None else max(1, -(-length // along))
        items, whole = 8 if held is None else min(8, held), False
        if self.revisits and held is not None and self.costs.registers(width, held) <= _COLUMN_REGISTERS:
            items, whole = held, True
        rows = Rows(along, beside, True, items, whole)
        while shared_bytes(self.nest, rows, width) > self.target.shared_bytes_default:
            rows = replace(rows, beside=rows.beside // 2)
        return self.shared_among_blocks(rows, width, length, count)

    def fitted(self) -> Schedule:
        across = self.across
        width = self.width(across)
        length, count = self.known(row_length(self.nest, 0)), self.known(row_count(self.nest))
        if across:
            return self.schedule(self.columns(width, length, count), width)
        if length is not None and (self.revisits or length <= 4096) and len(self.nest.rows) == 1:
            rows = self.whole(max(1, length), width)
            blocks = None if rows is None or count is None else count // rows.beside
            if rows is not None and (self.revisits or blocks is None or blocks >= self.multiprocessors):
                return self.schedule(rows, width)
        return self.schedule(self.streamed(length, width, count), width)

    def general(self) -> Iterator[Schedule]:
        across = self.across
        width = self.width(across)
        if across:
            yield self.schedule(self.columns(width, None, None), width)
            return
        if len(self.nest.rows) == 1 and (self.revisits or self.nest.parallel):
            for length in _LENGTHS if self.revisits else _LENGTHS[:1]:
                rows = self.whole(length, width)
                if rows is not None:
                    yield self.schedule(rows, width)
        yield self.schedule(self.streamed(None, width, None), width)

    def schedule(self, rows: Rows, width: int) -> Schedule:
        """`rows` in the words of the language."""
        along = row_order(self.nest, 0)[0]
        threads, total = teams(self.nest, rows.along, rows.beside, rows.across)
        return Schedule(
            "auto",
            threads=threads,
            thread_count=total,
            keep=Keep(tensors_along(self.nest), Memory.REGISTERS) if rows.whole else None,
            vector_of=tuple((t, width) for t in self.vectors(rows.across, width)),
            in_flight=rows.items,
            blocks=((along, rows.parts),) if rows.parts > 1 else (),
            cluster=((along, rows.cluster),) if rows.cluster > 1 else (),
            min_blocks=self._resident(rows, width) if rows.whole and not rows.across else None,
        )

    def vectors(self, across: bool, width: int) -> tuple[str, ...]:
        """Tensors that have neighbours along an item of some row."""
        if width == 1:
            return ()
        axes = {fast_axis(self.nest, across, row) for row in range(len(self.nest.rows))}
        return self.tensors_of(
            a
            for a in self.nest.accesses()
            if any(axis and neighbours(self.nest, a, axis, width) is not None for axis in axes)
        )


def teams(nest: Nest, along: int, beside: int, across: bool) -> tuple[Counts, int | None]:
    """`threads` for `beside` teams of `along`: along axes, and of a block where there is one row alone, and teams that
    have none make up the warps."""
    row, other = row_order(nest, 0)[0], next(iter(parallel_order(nest)), None)
    if other is None:
        return ((row, along),), along * beside if beside > 1 else None
    return (((row, along), (other, beside)) if across else ((other, beside), (row, along))), None


def sizes_of_full_rows(nest: Nest, chosen: Schedule, sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes whose row is as long as its threads can take: as constants they leave no element to be guarded."""
    rows, length = rows_of(nest, chosen), row_length(nest, 0)
    full = rows.along * rows.cluster * rows.items * chosen.item_width
    if not rows.whole or rows.across or evaluate(length, {**nest.constants, **sizes}) != full:
        return {}
    return {s: sizes[s] for s in symbols(length)}


def may_share(nest: Nest) -> bool:
    """Whether several blocks can share a row: it is walked once, and nothing is written along it."""
    return not (walked_again(nest) or row_stores(nest) or len(nest.rows) > 1)


def tensors_along(nest: Nest) -> tuple[str, ...]:
    """Tensors that are read along rows, in the order of the parameters."""
    read = {r.tensor for step in passes(nest, False) for r in step.reads}
    return tuple(t.name for t in nest.kernel.tensors if t.name in read)
