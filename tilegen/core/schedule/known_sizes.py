"""What sizes that are known change in a choice of `auto`, whatever the family: constants, and hints for the L2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod

from tilegen.algebra import Expr, evaluate, symbols
from tilegen.core.nest.model import Access, Nest
from tilegen.core.schedule.model import Schedule
from tilegen.lang.spec import Hint, Kernel, Role, Tensor
from tilegen.target import Target

# The longest axis that is worth a kernel of its own: known extents make index arithmetic and short rows cheap.
SHORT = 128


@dataclass(frozen=True)
class Choosing:
    """What a choice is made from: a nest, a machine, and the sizes that are known."""

    nest: Nest
    target: Target
    sizes: Mapping[str, int]

    def known(self, value: Expr) -> int | None:
        return int(evaluate(value, self.sizes)) if symbols(value) <= self.sizes.keys() else None

    def extent(self, axis: str) -> int | None:
        return self.known(self.nest.axis(axis).extent)

    def size(self, access: Access) -> int:
        """Bytes of what the access moves."""
        return self.nest.pointer(access.pointer).dtype.size

    def tensor(self, access: Access) -> str:
        return self.nest.pointer(access.pointer).tensor

    def tensors_of(self, accesses: Iterable[Access]) -> tuple[str, ...]:
        """In the order of the parameters."""
        pointers = {a.pointer for a in accesses}
        return tuple(dict.fromkeys(p.tensor for p in self.nest.pointers if p.name in pointers))

    def divides(self, width: int, values: Iterable[Expr]) -> bool:
        """Whether all values can be multiples of `width`, by what is known."""
        return all(v is None or v % width == 0 for v in map(self.known, values))


def widest(width: int, fits: Callable[[int], bool]) -> int:
    """The widest vector up to `width`, a power of two, that fits."""
    while width > 1 and not fits(width):
        width //= 2
    return width


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
