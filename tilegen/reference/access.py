"""Elements of an array at index expressions: by view where the indices allow it, else by gathering with boundaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilegen.algebra import Expr
from tilegen.lang.spec import Boundary
from tilegen.numpy_types import Array
from tilegen.reference.errors import OutOfBoundsError
from tilegen.reference.frame import Frame


@dataclass(frozen=True, slots=True)
class Readable:
    """An array that index expressions read. Element [0, …] of `array` has the index `origin`."""

    name: str
    array: Array
    origin: tuple[int, ...]
    boundary: Boundary | None = None
    fill: Any = 0


def read(source: Readable, indices: tuple[Expr | Array, ...], frame: Frame) -> Array:
    """The elements at `indices` for every point of `frame`, broadcastable to it.

    A gathered index comes as the array of its values. Raises OutOfBoundsError where a point that counts reads outside
    a source without a boundary.
    """
    found = view(source, indices, frame)
    return _gather(source, indices, frame) if found is None else found


def view(source: Readable, indices: tuple[Expr | Array, ...], frame: Frame) -> Array | None:
    """A strided view, where each index is a multiple of an axis of its own, plus a constant, and stays inside."""
    slices: list[slice | int] = []
    depths: list[int] = []
    for index, extent, origin in zip(indices, source.array.shape, source.origin, strict=True):
        form = frame.linear(index) if isinstance(index, Expr) else None
        if form is None:
            return None
        axis, step, start = form[0], form[1], form[2] - origin
        if axis is None:
            if not 0 <= start < extent:
                return None
            slices.append(start)
            continue
        interval = frame.axes[axis]
        first, last = step * interval.lower + start, step * (interval.upper - 1) + start
        if interval.depth in depths:
            return None
        if interval.length == 0:
            slices.append(slice(0, 0))
        elif not (0 <= first < extent and 0 <= last < extent):
            return None
        else:
            end = last + (1 if step > 0 else -1)
            slices.append(slice(first, None if end < 0 else end, step))
        depths.append(interval.depth)
    # The Ellipsis keeps a view of a single element a view.
    part = source.array[(*slices, ...)].transpose(np.argsort(depths)[::-1] if depths else ())
    expand = [slice(None) if d in depths else None for d in range(max(depths, default=-1), -1, -1)]
    return part[(*expand, ...)]


def _gather(source: Readable, indices: tuple[Expr | Array, ...], frame: Frame) -> Array:
    outside: Array | None = None
    resolved: list[Array] = []
    for dimension, (index, extent, origin) in enumerate(
        zip(indices, source.array.shape, source.origin, strict=True)
    ):
        exact = (
            frame.index(index) if isinstance(index, Expr) else signed(index, extent, source.boundary)
        ) - origin
        beyond = (exact < 0) | (exact >= extent)
        if source.boundary is Boundary.CONSTANT:
            outside = beyond if outside is None else outside | beyond
        elif beyond.any() and (source.boundary is None or extent == 0):
            check_inside(source.name, dimension, exact + origin, beyond, extent + origin, frame)
        resolved.append(resolve(exact, extent, source.boundary))
    if source.array.size == 0:
        shape = np.broadcast_shapes(*(r.shape for r in resolved))
        return np.broadcast_to(np.asarray(source.fill).astype(source.array.dtype), shape)
    values = np.asarray(source.array[tuple(resolved)])
    if outside is None or not outside.any():
        return values
    return np.where(outside, np.asarray(source.fill).astype(source.array.dtype), values)


def signed(index: Array, extent: int, boundary: Boundary | None) -> Array:
    """A data-dependent index as int64. One past int64 stands for an equal remainder, or for the farthest index."""
    if index.dtype != np.uint64:
        return index.astype(np.int64)
    period = {Boundary.WRAP: extent, Boundary.SYMMETRIC: 2 * extent, Boundary.REFLECT: 2 * extent - 2}
    length = period.get(boundary, 0) if boundary is not None else 0
    near = index % np.uint64(length) if length > 0 else np.minimum(index, np.uint64(np.iinfo(np.int64).max))
    return near.astype(np.int64)


def resolve(index: Array, extent: int, boundary: Boundary | None) -> Array:
    """The index inside `0 ≤ index < extent` that a boundary maps to, as numpy.pad's modes do, from any distance."""
    last = max(extent - 1, 0)
    match boundary:
        case Boundary.REFLECT if extent > 1:
            folded = index % (2 * last)
            return np.asarray(np.minimum(folded, 2 * last - folded))
        case Boundary.SYMMETRIC if extent > 0:
            folded = index % (2 * extent)
            return np.asarray(np.minimum(folded, 2 * extent - 1 - folded))
        case Boundary.WRAP if extent > 0:
            return index % extent
        case _:
            return np.clip(index, 0, last)


def check_inside(name: str, dimension: int, index: Array, beyond: Array, extent: int, frame: Frame) -> None:
    """Raise OutOfBoundsError for the first point that counts and is beyond."""
    active = frame.active()
    wrong = beyond if active is None else beyond & active
    if 0 in frame.shape or not wrong.any():
        return
    point = np.argwhere(wrong)[0]
    value = int(np.broadcast_to(index, wrong.shape)[tuple(point)])
    names = [n for n, interval in frame.axes.items() if interval.depth < wrong.ndim]
    where = ", ".join(
        f"{n} = {frame.axes[n].lower + int(point[wrong.ndim - 1 - frame.axes[n].depth])}"
        for n in names
        if wrong.shape[wrong.ndim - 1 - frame.axes[n].depth] == frame.axes[n].length
    )
    raise OutOfBoundsError(
        f"index {value} of dimension {dimension} of {name} is outside its extent {extent}"
        + (f" at {where}" if where else "")
    )
