"""Which family a kernel belongs to: how its points depend on each other. Inferred from its values, never named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from tilegen.algebra import symbols
from tilegen.nest.histogram import histogram_of
from tilegen.spec import Kernel, Reduce, Value, walk


class Family(Enum):
    """`MAP`: every element of the output by itself. `REDUCE`: reductions over a row, and what is made of them.
    `SCAN`: prefixes or suffixes along a row. `HISTOGRAM`: elements counted, or summed, by a key they hold."""

    MAP = "map"
    REDUCE = "reduce"
    SCAN = "scan"
    HISTOGRAM = "histogram"


def family_of(kernel: Kernel, closed: Mapping[str, Value]) -> Family:
    """The family of a kernel whose assignments have the values `closed` (lets replaced)."""
    reductions = reductions_of(closed.values())
    if not reductions:
        return Family.MAP
    if any(is_scan(kernel, r) for r in reductions):
        return Family.SCAN
    if histogram_of(kernel, closed) is not None:
        return Family.HISTOGRAM
    return Family.REDUCE


def reductions_of(values: Iterable[Value]) -> tuple[Reduce, ...]:
    """The distinct reductions in `values`, in order, outer ones first."""
    return tuple(dict.fromkeys(node for v in values for node in walk(v) if isinstance(node, Reduce)))


def is_scan(kernel: Kernel, node: Reduce) -> bool:
    """Whether a bound of the reduction follows an axis of the point it is evaluated at."""
    sizes = {s.name for s in kernel.sizes}
    return any(symbols(bound) - sizes for axis in node.axes for bound in (axis.lower, axis.upper))
