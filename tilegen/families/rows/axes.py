"""Rows of a nest with reductions: how long and how many they are, and how their axes lie in memory."""

from __future__ import annotations

from tilegen.algebra import ONE, Expr
from tilegen.core.nest.affine import memory_order
from tilegen.core.nest.model import Access, Nest


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
    total = ONE
    for axis in nest.parallel:
        total = total * axis.extent
    return total


def row_length(nest: Nest, row: int) -> Expr:
    """Points of a row."""
    total = ONE
    for axis in nest.rows[row]:
        total = total * nest.axis(axis).extent
    return total


def base_of_digit(nest: Nest, axis: str) -> Expr:
    """The extent of an axis as a divisor: where there is nothing along it, nothing is divided, but it is printed."""
    extent = nest.axis(axis).extent
    return ONE if extent.constant == 0 else extent
