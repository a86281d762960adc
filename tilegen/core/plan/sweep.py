"""Spread the points of a box over the threads of a block."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilegen.algebra import ZERO, Expr, Range, expr, simplify, substitute, sym
from tilegen.core.nest.affine import Run
from tilegen.core.plan.model import TID, Limit, Loop, Sweep, linear_item, step, thread_digit

# A step that divides by constants takes many registers: longer loops of vectors are unrolled in part. Those of single
# elements have to be written out: only then are the loads of many steps on their way together.
_UNROLL, _UNROLL_SINGLE = 8, 20
# Longer loops gain nothing from being written out in full.
_UNROLL_MOST = 32


def distribute(box: Sequence[tuple[str, int]], threads: int, run: Run | None = None) -> Sweep:
    """Give each thread its points of `box` ((axis, points) from the fastest axis on) so that neighbouring threads
    take neighbouring points.

    `run`: what one item covers; its axes come first in the box. Axes that divide among the threads get a digit of the
    thread number each; from the first one that does not, the rest of the box is walked as one linear run with
    divisions by constants.
    """
    items = _items(box, run)
    digits: list[tuple[str, Expr]] = []
    loops: list[Loop] = []
    coordinates: dict[str, Expr] = {}
    limits: list[Limit] = []
    linear: list[tuple[str, Expr]] = []
    left, stride = threads, 1
    for position, (axis, count) in enumerate(items):
        digit = simplify(TID // stride % left, {"@tid": Range(0, threads - 1)}) if left > 1 else expr(0)
        if left == 1:
            coordinates[axis] = _serial(axis, count, loops)
        elif left % count == 0:
            digit = simplify(TID // stride % count, {"@tid": Range(0, threads - 1)})
            if count > 1:
                digits.append((axis, digit))
            coordinates[axis] = _digit(axis, digit) if count > 1 else expr(0)
            left, stride = left // count, stride * count
        elif count % left == 0:
            digits.append((axis, digit))
            coordinates[axis] = _digit(axis, digit) + _serial(axis, count // left, loops) * left
            left = 1
        else:
            most = _UNROLL if run is not None else _UNROLL_SINGLE
            _linear(items[position:], left, digit, digits, loops, coordinates, limits, linear, most)
            left = 1
            break
    if left > 1:
        limits.append(Limit(TID, expr(stride), box[0][0]))
    return _sweep(digits, loops, coordinates, limits, run, linear)


def distribute_as_written(
    box: Sequence[tuple[str, int]], threads: Sequence[tuple[str, int]], run: Run | None = None
) -> Sweep:
    """Give each thread its points as a `threads` directive says: the last axis named is the fastest in a warp, and a
    thread's points along an axis are as far apart as there are threads along it. `run` has one axis."""
    digits: list[tuple[str, Expr]] = []
    loops: list[Loop] = []
    coordinates: dict[str, Expr] = {}
    limits: list[Limit] = []
    total, stride = prod(count for _, count in threads), 1
    along = dict(threads)
    for axis, count in reversed(threads):
        if count > 1:
            digits.append((axis, simplify(TID // stride % count, {"@tid": Range(0, total - 1)})))
        stride *= count
    for axis, count in _items(box, run):
        width = along.get(axis, 1)
        base = thread_digit(axis) if width > 1 else expr(0)
        coordinates[axis] = base + _serial(axis, -(-count // width), loops) * width
        if count % width:
            limits.append(Limit(coordinates[axis], expr(count), axis, sure=count // width))
    limits += [
        Limit(thread_digit(axis), expr(1), axis)
        for axis, count in threads
        if count > 1 and axis not in coordinates
    ]
    return _sweep(digits, loops, coordinates, limits, run)


def _items(box: Sequence[tuple[str, int]], run: Run | None) -> list[tuple[str, int]]:
    """The box counted in items: the axes of the run are one, by the name of the fastest."""
    if run is None:
        return list(box)
    inside = {a for a, _ in run.axes}
    return [
        (a, run.points // run.width if a == run.fast else n)
        for a, n in box
        if a == run.fast or a not in inside
    ]


def _digit(axis: str, value: Expr) -> Expr:
    """A digit by its own name, unless it is the thread number itself."""
    return TID if value == TID else thread_digit(axis)


def _serial(axis: str, trip: int, loops: list[Loop], most: int | None = None) -> Expr:
    """The serial step along an axis; loops of more than `most` steps are unrolled by half of that."""
    if trip == 1:
        return expr(0)
    if most is not None:
        unroll = most // 2 if trip > most else None
    else:
        unroll = _UNROLL_MOST // 2 if trip > _UNROLL_MOST else None
    loops.append(Loop(axis, trip, unroll))
    return step(axis)


def _linear(
    items: Sequence[tuple[str, int]],
    threads: int,
    digit: Expr,
    digits: list[tuple[str, Expr]],
    loops: list[Loop],
    coordinates: dict[str, Expr],
    limits: list[Limit],
    items_: list[tuple[str, Expr]],
    most: int,
) -> None:
    total = prod(count for _, count in items)
    name = items[0][0]
    digits.append((name, digit))
    items_.append((name, _digit(name, digit) + _serial(name, -(-total // threads), loops, most) * threads))
    item = linear_item(name)
    if total % threads:
        limits.append(Limit(item, expr(total), name, sure=total // threads))
    coordinates |= Run(tuple(items), 1).coordinates(item)


def _sweep(
    digits: list[tuple[str, Expr]],
    loops: list[Loop],
    coordinates: dict[str, Expr],
    limits: list[Limit],
    run: Run | None,
    linear: Sequence[tuple[str, Expr]] = (),
) -> Sweep:
    lanes: dict[str, Expr] = {}
    position = ZERO
    if run is not None:
        ranges = {"@lane": Range(0, run.width - 1)}
        position = coordinates[run.fast] * run.width
        lanes = {a: simplify(e, ranges) for a, e in run.coordinates(position + sym("@lane")).items()}
        first = {a: simplify(substitute(e, {"@lane": 0}), {}) for a, e in lanes.items()}
        coordinates = first | {a: e for a, e in coordinates.items() if a not in first}
    return Sweep(
        digits=tuple(digits),
        loops=tuple(reversed(loops)),
        coordinates=tuple(coordinates.items()),
        limits=tuple(limits),
        linear=tuple(linear),
        run=run,
        position=position,
        lanes=tuple(lanes.items()),
    )
