"""Writing a value to the elements that a left-hand side names."""

from __future__ import annotations

import numpy as np

from tilegen.algebra import Expr
from tilegen.numpy_types import Array
from tilegen.reference.access import Readable, check_inside, view
from tilegen.reference.errors import EvaluationError
from tilegen.reference.frame import Frame


def store(name: str, target: Array, indices: tuple[Expr, ...], value: Array, frame: Frame) -> None:
    """Set `target[indices] = value` for every point of `frame`, in place.

    Raises OutOfBoundsError for an element outside, EvaluationError where two points write one element.
    """
    if 0 in frame.shape:
        return
    window = view(Readable(name, target, (0,) * target.ndim), indices, frame)
    if window is not None and _squeezed(window.shape) == _squeezed(frame.shape):
        window[...] = np.broadcast_to(value, frame.shape).reshape(window.shape)
        return
    resolved = []
    for dimension, (index, extent) in enumerate(zip(indices, target.shape, strict=True)):
        exact = frame.index(index)
        beyond = (exact < 0) | (exact >= extent)
        if beyond.any():
            check_inside(name, dimension, exact, beyond, extent, frame)
        resolved.append(np.broadcast_to(exact, frame.shape))
    flat = np.ravel_multi_index(resolved, target.shape) if resolved else np.zeros(frame.shape, np.int64)
    if np.unique(flat).size != flat.size:
        raise EvaluationError(f"two points write one element of {name}")
    target[tuple(resolved)] = np.broadcast_to(value, frame.shape)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)
