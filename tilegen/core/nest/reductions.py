"""The reductions in values, and which of them follow the point: scans."""

from __future__ import annotations

from collections.abc import Iterable

from tilegen.algebra import symbols
from tilegen.lang.spec import Kernel, Reduce, Value, walk


def reductions_of(values: Iterable[Value]) -> tuple[Reduce, ...]:
    """The distinct reductions in `values`, in order, outer ones first."""
    return tuple(dict.fromkeys(node for v in values for node in walk(v) if isinstance(node, Reduce)))


def level_of(node: Reduce) -> int:
    """How many reductions deep the terms of a reduction are."""
    inner = reductions_of([node.body])
    return 1 + max(map(level_of, inner)) if inner else 0


def is_scan(kernel: Kernel, node: Reduce) -> bool:
    """Whether a bound of the reduction follows an axis of the point it is evaluated at."""
    sizes = {s.name for s in kernel.sizes}
    return any(symbols(bound) - sizes for axis in node.axes for bound in (axis.lower, axis.upper))
