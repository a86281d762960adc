"""What sizes that are known change in a choice of `auto`, whatever the family: constants, and hints for the L2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from tilegen.algebra import evaluate, symbols
from tilegen.core.nest.model import Nest
from tilegen.core.schedule.model import Schedule
from tilegen.lang.spec import Hint, Kernel, Role, Tensor
from tilegen.target import Target

# The longest axis that is worth a kernel of its own: known extents make index arithmetic and short rows cheap.
SHORT = 128


def short_sizes(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, int]:
    """Run-time sizes small enough to be constants of the code made for these sizes."""
    return {
        s.name: sizes[s.name] for s in kernel.sizes if s.default is None and 0 < sizes.get(s.name, 0) <= SHORT
    }


def with_cache_hints(
    schedule: Schedule, nest: Nest, target: Target, sizes: Mapping[str, int] | None
) -> Schedule:
    """`schedule` with `evict_last` for every input, where work is known to be too large for the L2 to hold until
    somebody reads the results. Measured on an H200 (docs/decisions/0012-auto.md); other targets have no hints."""
    if target.l2_bytes is None or sizes is None:
        return schedule
    tensors = nest.kernel.tensors
    known = all(symbols(e) <= sizes.keys() for t in tensors for e in t.extents)
    if not known or sum(_bytes(t, sizes) for t in tensors) < 2 * target.l2_bytes:
        return schedule
    inputs = (t.name for t in tensors if t.role is Role.IN)
    return replace(schedule, hints=(*schedule.hints, *((name, Hint.EVICT_LAST) for name in inputs)))


def _bytes(tensor: Tensor, sizes: Mapping[str, int]) -> int:
    return prod(int(evaluate(e, sizes)) for e in tensor.extents) * tensor.element.size
