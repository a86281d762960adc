"""The operators of reductions as data: what they start from, and which of them pair a value with its index."""

from __future__ import annotations

import math

from tilegen.dtypes import DType, Kind
from tilegen.lang.spec import Reduce, Reduction

ARGUMENTS = (Reduction.ARGMAX, Reduction.ARGMIN)


def combining(op: Reduction) -> Reduction:
    """The operator by which partial results are combined: a mean is a sum until it is divided."""
    return Reduction.SUM if op in (Reduction.MEAN, Reduction.COUNT) else op


def accumulator_type(node: Reduce) -> DType:
    """The type of partial results; of the value, for arg-reductions."""
    return node.body.dtype if node.op in ARGUMENTS else node.dtype


def accumulator_bytes(node: Reduce) -> int:
    """Of a partial result in memory; arg-reductions have an index of up to 64 bits beside it."""
    return 16 if node.op in ARGUMENTS else node.dtype.size


def identity(op: Reduction, dtype: DType) -> int | float | bool:
    """What leaves any other operand as it is, in an accumulator of `dtype`: for lanes without an element."""
    match op:
        case Reduction.SUM | Reduction.MEAN | Reduction.COUNT:
            return 0
        case Reduction.PROD:
            return 1
        case Reduction.ANY:
            return False
        case Reduction.ALL:
            return True
        case Reduction.MAX | Reduction.ARGMAX:
            return _least(dtype)
        case Reduction.MIN | Reduction.ARGMIN:
            return _greatest(dtype)


def _least(dtype: DType) -> int | float | bool:
    match dtype.kind:
        case Kind.INT:
            return -(1 << (8 * dtype.size - 1))
        case Kind.UINT:
            return 0
        case Kind.BOOL:
            return False
        case _:
            return -math.inf


def _greatest(dtype: DType) -> int | float | bool:
    match dtype.kind:
        case Kind.INT:
            return (1 << (8 * dtype.size - 1)) - 1
        case Kind.UINT:
            return (1 << (8 * dtype.size)) - 1
        case Kind.BOOL:
            return True
        case _:
            return math.inf
