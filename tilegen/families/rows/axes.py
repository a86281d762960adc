"""Rows of a nest with reductions: how long and how many they are, how their axes lie in memory, and how threads share
them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilegen.algebra import ONE, Expr, product
from tilegen.core.nest.affine import memory_order
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.model import Schedule


@dataclass(frozen=True, slots=True)
class Rows:
    """How the threads of a block share the rows of a nest with reductions.

    `along` threads, a power of two, walk a row together; `beside` such teams work side by side. `across`: neighbouring
    threads take neighbouring rows, because those lie next to each other in memory, else neighbouring points of a row.
    `items`: accesses of a thread and tensor that are under way together. `whole`: a row is at most one such step, and
    stays in registers. `parts`: blocks that share a row at most; the last one to finish adds what they found.
    `cluster`: blocks that hold one row together and reach each other's shared memory.
    """

    along: int
    beside: int
    across: bool
    items: int
    whole: bool
    parts: int = 1
    cluster: int = 1

    @property
    def threads(self) -> int:
        return self.along * self.beside

    def chunk(self, vector: int) -> int:
        """Points of a row that a team takes at once."""
        return self.along * self.cluster * self.items * (1 if self.across else vector)


def rows_of(nest: Nest, schedule: Schedule) -> Rows:
    """What a complete schedule says of rows."""
    threads = schedule.threads
    along = prod(n for a, n in threads if a in nest.reduced)
    beside = prod(n for a, n in threads if a not in nest.reduced)
    assert threads and schedule.in_flight is not None, "a complete schedule of rows"
    return Rows(
        along=along,
        beside=beside if schedule.thread_count is None else schedule.thread_count // along,
        across=threads[-1][0] not in nest.reduced,
        items=schedule.in_flight,
        whole=schedule.keep is not None,
        parts=prod(n for _, n in schedule.blocks),
        cluster=prod(n for _, n in schedule.cluster),
    )


def parallel_order(nest: Nest) -> tuple[str, ...]:
    """Parallel axes from the fastest on, as the outputs lie in memory."""
    order = tuple(dict.fromkeys(a for s in nest.stores for a in memory_order(nest, s.access)))
    names = [a.name for a in nest.parallel]
    return (*(a for a in order if a in names), *(a for a in reversed(names) if a not in order))


def row_order(nest: Nest, row: int) -> tuple[str, ...]:
    """The axes of a row from the fastest on, as most of what is read along it lies in memory."""
    names = nest.rows[row]
    access = main_access(nest, row)
    order = memory_order(nest, access) if access is not None else ()
    return (*(a for a in order if a in names), *(a for a in reversed(names) if a not in order))


def main_access(nest: Nest, row: int) -> Access | None:
    """The read that moves along most axes, among those along a row; an output, where nothing is read."""
    accesses = (*nest.load_accesses(), *(s.access for s in nest.stores))
    along = [a for a in accesses if set(memory_order(nest, a)) & set(nest.rows[row])]
    return max(along, key=lambda a: len(memory_order(nest, a)), default=None)


def fast_axis(nest: Nest, across: bool, row: int = 0) -> str | None:
    """The axis along which a thread's neighbouring elements lie: a parallel one where it works `across` rows."""
    if across:
        order = parallel_order(nest)
        return order[0] if order else None
    return row_order(nest, row)[0]


def row_count(nest: Nest) -> Expr:
    return product(axis.extent for axis in nest.parallel)


def row_length(nest: Nest, row: int) -> Expr:
    """Points of a row."""
    return product(nest.axis(axis).extent for axis in nest.rows[row])


def base_of_digit(nest: Nest, axis: str) -> Expr:
    """The extent of an axis as a divisor: where there is nothing along it, nothing is divided, but it is printed."""
    extent = nest.axis(axis).extent
    return ONE if extent.constant == 0 else extent
