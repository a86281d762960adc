"""What a thread keeps of a tile while what came before it is on its way."""

from __future__ import annotations

from tilegen.core.nest.combine import ARGUMENTS, accumulator_bytes
from tilegen.core.nest.model import Nest
from tilegen.core.nest.reductions import reductions_of
from tilegen.core.nest.values import reads_outside
from tilegen.lang.spec import Reduce


def words_held(nest: Nest, width: int) -> int:
    """Registers that an item of `width` points takes from its load to its store: the terms of its scans, a total of
    each scan, and what the stores themselves read."""
    values = [s.value for s in nest.stores]
    # An inclusive and an exclusive scan of the same terms have them once.
    scans = {(r.op, r.body): r for r in reductions_of(values)}.values()
    totals = sum(_words(_total_bytes(r)) for r in scans)
    reads = dict.fromkeys(r for v in values for r in reads_outside(v))
    return (totals + sum(_words(r.dtype.size) for r in reads)) * width + totals


def _total_bytes(scan: Reduce) -> int:
    """Of a total: a value, with its index for arg-reductions."""
    if scan.op in ARGUMENTS:
        return scan.body.dtype.size + 4
    return scan.dtype.size


def _words(size: int) -> int:
    return -(-size // 4)


def bytes_across(nest: Nest, along: int, columns: int) -> int:
    """Shared memory of a block in which `along` threads share each of `columns` columns: their totals, of two tiles."""
    totals = reductions_of(s.value for s in nest.stores)
    return 2 * along * columns * sum(accumulator_bytes(r) for r in totals)
