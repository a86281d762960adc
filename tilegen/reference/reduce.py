"""A `Reduce` node: its ranges, pieces of bounded size, and running totals where a bound follows an outer axis."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

import numpy as np

from tilegen.algebra import symbols
from tilegen.dtypes import Kind
from tilegen.lang.spec import Reduce, Reduction
from tilegen.numpy_types import Array
from tilegen.reference.errors import EmptyReductionError
from tilegen.reference.frame import Frame
from tilegen.reference.number import Number, exact, unless_wrapped
from tilegen.reference.reductions import (
    UFUNCS,
    Depth,
    accumulator,
    finish_sum,
    identity,
    signs,
    sum_spread,
    two_sum,
)
from tilegen.reference.uses import axes_used

# Elements evaluated at once: 8 MiB per float64 temporary.
PIECE = 1 << 20
_NEEDS_ELEMENTS = (Reduction.MAX, Reduction.MIN, Reduction.MEAN, Reduction.ARGMAX, Reduction.ARGMIN)
_RUNNING = (Reduction.SUM, Reduction.MEAN, Reduction.MAX, Reduction.MIN, Reduction.COUNT, Reduction.PROD,
            Reduction.ANY, Reduction.ALL)  # fmt: skip

# Evaluates the (converted) body in a frame.
Body = Callable[[Frame], Number]


def reduce(node: Reduce, body: Body, frame: Frame, depth: Depth, track: bool) -> Number:
    """The reduction at every point of `frame`."""
    bounds = [(frame.index(axis.lower), frame.index(axis.upper)) for axis in node.axes]
    ranges = [
        (int(low.min()), max(int(low.min()), int(high.max()))) if low.size and high.size else (0, 0)
        for low, high in bounds
    ]
    if node.op in _NEEDS_ELEMENTS:
        _require_elements(node, bounds, frame)
    if _is_running(node, frame, track):
        return _running(node, body, frame, ranges[0], depth, track)
    total = accumulator(node.op, node.dtype, depth, track)
    count: Array = np.zeros((), np.int64)
    used = [i.length for n, i in frame.axes.items() if n in axes_used(node)]
    for piece in _pieces(ranges, int(np.prod(used, dtype=np.int64))):
        inner = frame
        for axis, (low, high) in zip(node.axes, piece, strict=True):
            inner = inner.with_axis(axis.name, low, high)
        valid = _valid(node, inner)
        value = body(inner if valid is None else inner.where(valid))
        lengths = tuple(high - low for low, high in piece)
        flat_valid = None if valid is None else _flat(valid, lengths, frame.rank)
        error = None if value.error is None else _flat(value.error, lengths, frame.rank)
        total.add(Number(_flat(value.value, lengths, frame.rank), error), flat_valid)
        terms = int(np.prod(lengths, dtype=np.int64))
        count = count + (terms if flat_valid is None else flat_valid.sum(axis=0, dtype=np.int64))
    result = total.result(count)
    if node.op in (Reduction.ARGMAX, Reduction.ARGMIN) and len(node.axes) == 1:
        # The argument is the axis' own value: `argmax[k in 1..N]` counts from 1.
        return Number(result.value + ranges[0][0], result.error)
    return result


def _valid(node: Reduce, inner: Frame) -> Array | None:
    """Where the ranges of the axes hold, if they are not simply the axes' own."""
    mask: Array | None = None
    for axis in node.axes:
        k = inner.values[axis.name]
        for bound, holds in ((axis.lower, np.greater_equal), (axis.upper, np.less)):
            if symbols(bound) & inner.axes.keys():
                part = np.asarray(holds(k, inner.index(bound)))
                mask = part if mask is None else mask & part
    return mask


def _require_elements(node: Reduce, bounds: list[tuple[Array, Array]], frame: Frame) -> None:
    if not frame.counts_any():
        return
    empty: Array = np.zeros((), np.bool_)
    for low, high in bounds:
        empty = np.asarray(empty | (high <= low))
    active = frame.active()
    if bool((empty if active is None else empty & active).any()):
        names = ", ".join(a.name for a in node.axes)
        raise EmptyReductionError(f"{node.op.value}[{names}] over no elements")


def _pieces(ranges: list[tuple[int, int]], outer: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Blocks of the index space, of at most about PIECE elements with `outer` points each."""
    room = max(1, PIECE // max(1, outer))
    blocks: list[list[tuple[int, int]]] = []
    for low, high in reversed(ranges):
        step = max(1, min(high - low, room))
        blocks.append([(start, min(start + step, high)) for start in range(low, high, step)])
        room = max(1, room // step)
    yield from itertools.product(*reversed(blocks))


def _flat(array: Array, lengths: tuple[int, ...], outer: int) -> Array:
    """Reduction axes as one leading dimension."""
    padded = array.reshape((1,) * (outer + len(lengths) - array.ndim) + array.shape)
    full = np.broadcast_to(padded, lengths[::-1] + padded.shape[len(lengths) :])
    return full.reshape(prod(full.shape[: len(lengths)]), *padded.shape[len(lengths) :])


def _is_running(node: Reduce, frame: Frame, track: bool) -> bool:
    """Whether one bound follows outer axes that the body does not use: then every result is a running total."""
    if len(node.axes) != 1 or node.op not in _RUNNING:
        return False
    if track and node.op in (Reduction.PROD, Reduction.ANY, Reduction.ALL):
        return False
    axis = node.axes[0]
    moving = [symbols(b) & frame.axes.keys() for b in (axis.lower, axis.upper)]
    if bool(moving[0]) == bool(moving[1]):
        return False
    return not ((moving[0] | moving[1]) & axes_used(node.body))


def _running(
    node: Reduce, body: Body, frame: Frame, limits: tuple[int, int], depth: Depth, track: bool
) -> Number:
    """Running totals along the axis, and of those the one that each point asks for."""
    axis, (low, high) = node.axes[0], limits
    backward = bool(symbols(axis.lower) & frame.axes.keys())
    # Which of the totals over 0, 1, … terms: from the start, or from the end.
    terms = (high - frame.index(axis.lower)) if backward else (frame.index(axis.upper) - low)
    terms = np.clip(terms, 0, high - low)
    value = body(_terms_frame(node, frame, terms, limits, backward))
    length = (high - low,)
    flat = _flat(value.value, length, frame.rank)
    error = _flat(value.error_or_zero(), length, frame.rank) if track else np.zeros((1,) * (frame.rank + 1))
    if backward:
        flat, error = flat[::-1], error[::-1] if track else error
    op = Reduction.SUM if node.op is Reduction.MEAN else node.op
    is_sum = op is Reduction.SUM and node.dtype.kind in (Kind.FLOAT, Kind.COMPLEX)
    neutral = identity(op, node.dtype)
    totals = _totals(flat, node) if is_sum else UFUNCS[op].accumulate(flat.astype(neutral.dtype), axis=0)
    picked = _pick(totals, neutral, terms)
    if not track:
        return Number(picked / np.maximum(terms, 1) if node.op is Reduction.MEAN else picked)
    zero = np.zeros((), np.float64)
    spreading = np.maximum if op in (Reduction.MAX, Reduction.MIN) else np.add
    spread = _pick(spreading.accumulate(error, axis=0), zero, terms)
    if not is_sum:
        return Number(picked, unless_wrapped(picked, exact(spread)))
    magnitude = _pick(np.add.accumulate(np.abs(flat), axis=0), zero, terms)
    seen = _pick(np.bitwise_or.accumulate(signs(flat), axis=0), np.zeros((), np.uint8), terms)
    whole = bool((flat == np.rint(flat)).all())
    spread = sum_spread(magnitude, seen, spread, terms, node.dtype, depth, whole)
    return finish_sum(picked, spread, terms, node.dtype, node.op is Reduction.MEAN)


def _terms_frame(node: Reduce, frame: Frame, terms: Array, limits: tuple[int, int], backward: bool) -> Frame:
    """The frame of the terms; one counts where some total that counts has it."""
    axis, (low, high) = node.axes[0], limits
    inner = replace(frame.with_axis(axis.name, low, high), masks=())
    active = frame.active()
    needed = terms if active is None else np.where(active, terms, 0)
    for name in sorted((symbols(axis.lower) | symbols(axis.upper)) & frame.axes.keys()):
        dimension = needed.ndim - 1 - frame.axes[name].depth
        if dimension >= 0 and needed.size:
            needed = needed.max(axis=dimension, keepdims=True)
    if needed.size == 0 or int(needed.min()) == high - low:
        return inner
    position = inner.values[axis.name] - low
    return inner.where(np.asarray((high - low - 1 - position if backward else position) < needed))


def _totals(flat: Array, node: Reduce) -> Array:
    """Running sums along dimension 0, compensated for 64-bit accumulators (Hillis and Steele's doubling steps)."""
    if node.dtype.size < 8:
        return np.add.accumulate(flat, axis=0)
    high, low, step = flat.copy(), np.zeros_like(flat), 1
    while step < high.shape[0]:
        total, error = two_sum(high[:-step], high[step:])
        error = error + low[:-step] + low[step:]
        high = np.concatenate([high[:step], total])
        low = np.concatenate([low[:step], error])
        step *= 2
    result: Array = high + low
    return result


def _pick(totals: Array, neutral: Array, terms: Array) -> Array:
    """The total over `terms` terms at each point; `totals[t]` has t + 1 of them."""
    if totals.shape[0] == 0:
        return np.broadcast_to(neutral, terms.shape)
    outer = totals.shape[1:]
    grid = [np.arange(n).reshape(-1, *[1] * (len(outer) - 1 - d)) for d, n in enumerate(outer)]
    position = np.maximum(terms - 1, 0)
    return np.where(terms > 0, totals[(position, *grid)], neutral)
