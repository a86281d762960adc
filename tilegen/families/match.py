"""Which family a kernel belongs to: how its points depend on each other. Inferred from its values, never named."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from tilegen.core.nest.reductions import is_scan, reductions_of
from tilegen.families.histogram.nest import histogram_of
from tilegen.lang.spec import Kernel, Value


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
