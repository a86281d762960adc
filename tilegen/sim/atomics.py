"""Atomic read-modify-write on an array, in lane order where lanes meet at one address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import conversion, floating

Array = npt.NDArray[Any]
Combine = Callable[[Array, Array, Array], Array]

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def combiner(operation: str, kind: str) -> Combine:
    """new = f(old, b, c) for an atomic operation on PTX type `kind`; raises KeyError for an unknown one."""
    match operation:
        case "exch":
            return lambda old, b, c: b
        case "cas":
            return lambda old, b, c: np.where(old == b, c, old)
        case "inc":
            return lambda old, b, c: np.where(old >= b, old.dtype.type(0), old + old.dtype.type(1))
        case "dec":
            return lambda old, b, c: np.where((old == 0) | (old > b), b, old - old.dtype.type(1))
    if kind in ("f16", "bf16", "f16x2", "bf16x2"):
        if operation != "add":
            raise KeyError(operation)
        return _half_add(kind)
    ufunc = _UFUNCS[operation]
    if kind[0] == "f" and operation in ("min", "max"):
        raise KeyError(operation)
    return lambda old, b, c: ufunc(old, b)


def _half_add(kind: str) -> Combine:
    scalar = kind.removesuffix("x2")
    part = np.dtype("f2") if scalar == "f16" else np.dtype("u2")

    def add(old: Array, b: Array, c: Array) -> Array:
        x, y = (np.ascontiguousarray(np.asarray(one)[..., None]).view(part) for one in (old, b))
        if scalar == "f16":
            total = conversion.narrow(x.astype(np.float32) + y.astype(np.float32), "f16")
        else:
            total = floating.f32_to_bf16(floating.bf16_to_f32(x) + floating.bf16_to_f32(y))
        return np.asarray(np.ascontiguousarray(total).view(old.dtype)[..., 0])

    return add


def apply(
    memory: Array, index: Array, operation: str, kind: str, b: Array, c: Array, need_old: bool
) -> Array | None:
    """Applies one atomic for every lane; returns what each lane saw before its own turn (or None)."""
    combine = combiner(operation, kind)
    ufunc = _UFUNCS.get(operation)
    plain = ufunc is not None and kind not in ("f16", "bf16", "f16x2", "bf16x2")
    if not need_old and plain and ufunc is not None:
        ufunc.at(memory, index, b)
        return None
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    if len(starts) == len(order):
        old = memory[index]
        memory[index] = combine(old, b, c)
        return old
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    if operation == "add" and memory.dtype.kind in "iu":
        return _integer_add(memory, index, order, starts, rank, b)
    old = np.empty(len(index), dtype=memory.dtype)
    by_rank = np.argsort(rank, kind="stable")
    bounds = np.searchsorted(rank[by_rank], np.arange(int(rank.max()) + 2))
    for turn in range(len(bounds) - 1):
        lanes = order[by_rank[bounds[turn] : bounds[turn + 1]]]
        seen = memory[index[lanes]]
        old[lanes] = seen
        memory[index[lanes]] = combine(seen, b[lanes], c[lanes])
    return old


def _integer_add(memory: Array, index: Array, order: Array, starts: Array, rank: Array, b: Array) -> Array:
    """Wrapping add through one prefix sum over the lanes sorted by address."""
    given = b[order]
    before = np.cumsum(given, dtype=memory.dtype) - given
    base = np.repeat(before[starts], np.diff(np.append(starts, len(order))))
    old = np.empty(len(index), dtype=memory.dtype)
    old[order] = memory[index[order]] + (before - base)
    np.add.at(memory, index, b)
    return old
