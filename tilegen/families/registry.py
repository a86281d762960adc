"""The families of kernels, in the order in which they are tried. Which one a kernel belongs to follows from how its
points depend on each other; it is inferred from the kernel's values, never named.

A family is a room of its own and one record here; `core/` knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from tilegen.core.nest.lets import inline_lets
from tilegen.core.nest.merge import simplified_nest
from tilegen.core.nest.model import Nest, Same
from tilegen.core.nest.reductions import is_scan, reductions_of
from tilegen.core.plan.model import Plan
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.rules import Rules
from tilegen.families.directives import HISTOGRAM, ROWS, SCAN, TILES
from tilegen.families.histogram.candidates import auto_histogram, complete_histogram
from tilegen.families.histogram.nest import histogram_nest, histogram_of
from tilegen.families.histogram.plan import plans_of_histogram
from tilegen.families.rows.candidates import reduce_schedules, sizes_of_full_rows
from tilegen.families.rows.complete import complete_rows
from tilegen.families.rows.nest import reduce_nest
from tilegen.families.rows.plan import label_of_rows, plans_of_rows
from tilegen.families.scan.candidates import auto_scan, complete_scan
from tilegen.families.scan.nest import scan_nest
from tilegen.families.scan.plan import plans_of_scan
from tilegen.families.tiles.candidates import auto_tiles
from tilegen.families.tiles.complete import complete_tiles
from tilegen.families.tiles.plan import plans_of_tiles
from tilegen.lang.spec import Kernel, Value
from tilegen.target import Target

if TYPE_CHECKING:
    from tilegen.cuda.scope import KernelScope
    from tilegen.cuda.tree import Body

Closed = Mapping[str, Value]


def _nothing(nest: Nest, chosen: Schedule, sizes: Mapping[str, int]) -> Mapping[str, int]:
    return {}


def _no_label(nest: Nest, schedule: Schedule) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Family:
    """`matches`: whether a kernel whose assignments have these values (lets replaced) belongs to it. `nest`: its nest;
    `keep` names axes that schedules speak of. `auto`: the schedules that tilegen chooses, in order of preference; one
    where sizes are known. `complete`: what was written (axes by the nest's names, refusals of `rules` already told)
    with what it leaves open. `plans`: the kernels of one schedule, in order of preference; the one of the `last`
    schedule of a program leave no launch out.

    `fixes_short`: sizes that are short are constants where they are known; `also_fixed`: those that are constants for
    the sake of a schedule. `for_any`: a schedule for known sizes is not for all, so those for any follow it. `label`:
    tells kernels of several schedules from each other. `body`: what the kernel of a plan consists of."""

    name: str
    matches: Callable[[Kernel, Closed], bool]
    rules: Rules
    nest: Callable[[Kernel, Mapping[str, int] | None, frozenset[str]], Nest]
    auto: Callable[[Nest, Target, Mapping[str, int] | None], tuple[Schedule, ...]]
    complete: Callable[[Nest, Schedule, Target], tuple[Schedule, ...]]
    plans: Callable[[Nest, Schedule, Target, str, str, bool], Iterator[Plan]]
    body: Callable[[KernelScope], Body] = field(compare=False)
    fixes_short: bool = True
    also_fixed: Callable[[Nest, Schedule, Mapping[str, int]], Mapping[str, int]] = _nothing
    for_any: bool = False
    label: Callable[[Nest, Schedule], str] = _no_label


def _body(room: str) -> Callable[[KernelScope], Body]:
    """The printing side of a room, which nothing loads that only checks or plans."""

    def body(scope: KernelScope) -> Body:
        made: Body = import_module(f"tilegen.families.{room}.body").body(scope)
        return made

    return body


FAMILIES = (
    # Prefixes or suffixes along a row.
    Family(
        "scan",
        lambda kernel, closed: any(is_scan(kernel, r) for r in reductions_of(closed.values())),
        SCAN,
        scan_nest,
        auto_scan,
        complete_scan,
        plans_of_scan,
        _body("scan"),
        fixes_short=False,
    ),
    # Elements counted, or summed, by a key that they hold.
    Family(
        "histogram",
        lambda kernel, closed: histogram_of(kernel, closed) is not None,
        HISTOGRAM,
        histogram_nest,
        auto_histogram,
        complete_histogram,
        plans_of_histogram,
        _body("histogram"),
    ),
    # Reductions over a row, and what is made of them.
    Family(
        "rows",
        lambda kernel, closed: bool(reductions_of(closed.values())),
        ROWS,
        reduce_nest,
        reduce_schedules,
        complete_rows,
        plans_of_rows,
        _body("rows"),
        also_fixed=sizes_of_full_rows,
        for_any=True,
        label=label_of_rows,
    ),
    # Every element of the output by itself.
    Family(
        "tiles",
        lambda kernel, closed: True,
        TILES,
        simplified_nest,
        auto_tiles,
        complete_tiles,
        plans_of_tiles,
        _body("tiles"),
    ),
)


def family_of(kernel: Kernel) -> Family:
    """The family that a kernel belongs to."""
    return _family_of(Same(kernel))


@lru_cache(maxsize=64)
def _family_of(kernel: Same[Kernel]) -> Family:
    _, closed = inline_lets(kernel.value)
    return next(f for f in FAMILIES if f.matches(kernel.value, closed))
