"""The meaning of a kernel in NumPy: the oracle that generated code is compared with."""

from tilegen.reference.errors import EmptyReductionError, EvaluationError, OutOfBoundsError, SizeError
from tilegen.reference.evaluate import evaluate, serial
from tilegen.reference.sizes import infer_sizes
from tilegen.reference.tolerance import Expected, agrees, expected, tolerance, tree
from tilegen.reference.uses import is_movement

__all__ = [
    "EmptyReductionError",
    "EvaluationError",
    "Expected",
    "OutOfBoundsError",
    "SizeError",
    "agrees",
    "evaluate",
    "expected",
    "infer_sizes",
    "is_movement",
    "serial",
    "tolerance",
    "tree",
]
