"""In which order the elements of a histogram are walked, and which reads follow it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tilegen.algebra import ONE, Expr, linear_parts, product, substitute, sym
from tilegen.core.nest.affine import memory_order, neighbours
from tilegen.core.nest.model import Access, Nest
from tilegen.core.nest.value_range import value_range
from tilegen.core.schedule.model import Schedule
from tilegen.families.histogram.nest import Histogram, Match, element_accesses
from tilegen.families.rows.axes import base_of_digit


@dataclass(frozen=True, slots=True)
class ElementWalk:
    """`axes`, fastest first: those reduced, and the batch axes that are walked with them. `outer`: the other batch
    axes, slowest first. `flat`: neighbours along the whole walk are neighbours in memory, not along its first axis
    only."""

    axes: tuple[str, ...]
    outer: tuple[str, ...]
    flat: bool

    def coordinates(self, nest: Nest, position: Expr) -> dict[str, Expr]:
        """Of each axis at a position along the walk."""
        found = {}
        for axis in self.axes[:-1]:
            extent = base_of_digit(nest, axis)
            found[axis], position = position % extent, position // extent
        return found | ({self.axes[-1]: position} if self.axes else {})

    def length(self, nest: Nest) -> Expr:
        return product(nest.axis(a).extent for a in self.axes)


@dataclass(frozen=True, slots=True)
class Counting:
    """How the elements of a histogram are counted. `items`: accesses of a thread and tensor that are under way at
    once. `blocks` per multiprocessor. `inside`: batch axes that are walked with the elements, so that a block has bins
    for all of their points."""

    threads: int
    items: int
    blocks: int
    inside: tuple[str, ...]


def counting_of(schedule: Schedule) -> Counting:
    """What a complete schedule says of counting."""
    threads, items, blocks = schedule.block_threads, schedule.in_flight, schedule.min_blocks
    assert threads and items and blocks, "a complete schedule of a histogram"
    return Counting(threads, items, blocks, tuple(a for a, _ in schedule.blocks))


def element_walk(nest: Nest, found: Histogram, inside: Collection[str]) -> ElementWalk:
    """The walk in the order of the first read that moves along it. `inside`: batch axes that belong to it."""
    mine = {*nest.reduced, *inside}
    main = main_access(nest, found)
    order = memory_order(nest, main) if main is not None else ()
    axes = (*(a for a in order if a in mine), *(a.name for a in reversed(nest.axes) if a.name in mine))
    axes = tuple(dict.fromkeys(axes))
    bins = {a.name for a in found.bins}
    outer = tuple(a.name for a in nest.parallel if a.name not in mine and a.name not in bins)
    flat = main is None or _dense(nest, main, axes)
    return ElementWalk(axes, outer, flat)


def main_access(nest: Nest, found: Histogram) -> Access | None:
    """The read that gives the walk its order."""
    accesses = [a for a in element_accesses(nest, found) if set(memory_order(nest, a)) & set(nest.reduced)]
    return next((a for a in accesses if not a.checked), next(iter(accesses), None))


def faster_batch_axes(nest: Nest, found: Histogram) -> tuple[str, ...]:
    """Batch axes that move faster in memory than some axis of the elements."""
    main = main_access(nest, found)
    order = memory_order(nest, main) if main is not None else ()
    last = max((n for n, a in enumerate(order) if a in nest.reduced), default=0)
    bins = {a.name for a in found.bins}
    return tuple(a for a in order[:last] if a not in nest.reduced and a not in bins)


def _dense(nest: Nest, access: Access, axes: tuple[str, ...]) -> bool:
    """Whether the address is the position along `axes`, but for what does not change along them."""
    parts = linear_parts(access.address, axes)
    if parts is None:
        return False
    step = ONE
    for axis in axes:
        if parts[0].get(axis) != step:
            return False
        step = step * nest.axis(axis).extent
    return True


def vector_needs(nest: Nest, walk: ElementWalk, access: Access, width: int) -> tuple[Expr, ...] | None:
    """What must be multiples of `width` for `access` to be a vector at every multiple of `width` along the walk; None
    where it cannot be one. That the first axis holds whole vectors, where the walk is not flat, is not among them."""
    if not walk.axes:
        return None
    fast = walk.axes[0]
    if walk.flat:
        if not _dense(nest, access, walk.axes):
            return None
        still = substitute(access.address, dict.fromkeys(walk.axes, 0))
        access = replace(access, address=still + sym(fast))
    step = neighbours(nest, access, fast, width)
    return step.divisible if step is not None else None


def first_bin(nest: Nest, match: Match) -> Expr:
    """The key of bin 0 along the axis: bin `n` has the key `first_bin + sign * n`."""
    first = substitute(nest.axis_values[match.axis.name], {match.axis.name: 0})
    shift = substitute(substitute(match.shift, nest.constants), nest.axis_values)
    return first * match.sign + shift


def always_in_bins(nest: Nest, match: Match) -> bool:
    """Whether every value that the key can have names a bin."""
    first, extent = first_bin(nest, match).constant, nest.axis(match.axis.name).extent.constant
    limits = value_range(match.key)
    if first is None or extent is None or limits is None:
        return False
    return all(0 <= match.sign * (key - first) < extent for key in limits)
