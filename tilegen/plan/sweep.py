"""Spread the points of a box over the threads of a block."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.algebra import Expr, Range, expr, simplify
from tilegen.plan.model import TID, Loop, Sweep, step, thread_digit


def distribute(box: Sequence[tuple[str, int]], threads: int, vector: tuple[str, int] | None = None) -> Sweep:
    """Give each thread its points of `box` ((axis, points) from the fastest axis on) so that neighbouring threads
    take neighbouring points.

    `vector`: axis and width of an item. Axes that divide among the threads get a digit of the thread number each; from
    the first one that does not, the rest of the box is walked as one linear run with divisions by constants.
    """
    items = [(a, _items(a, n, vector)) for a, n in box]
    digits: list[tuple[str, Expr]] = []
    loops: list[Loop] = []
    coordinates: dict[str, Expr] = {}
    limits: list[tuple[Expr, int]] = []
    left, stride = threads, 1
    for position, (axis, count) in enumerate(items):
        digit = simplify(TID // stride % left, {"@tid": Range(0, threads - 1)}) if left > 1 else expr(0)
        if left == 1:
            coordinates[axis] = _serial(axis, count, loops)
        elif left % count == 0:
            if count > 1:
                digits.append((axis, simplify(TID // stride % count, {"@tid": Range(0, threads - 1)})))
            coordinates[axis] = thread_digit(axis) if count > 1 else expr(0)
            left, stride = left // count, stride * count
        elif count % left == 0:
            digits.append((axis, digit))
            coordinates[axis] = thread_digit(axis) + _serial(axis, count // left, loops) * left
            left = 1
        else:
            _linear(items[position:], left, digit, digits, loops, coordinates, limits)
            left = 1
            break
    if left > 1:
        limits.append((TID, stride))
    return _sweep(digits, loops, coordinates, limits, vector)


def distribute_as_written(
    box: Sequence[tuple[str, int]], threads: Sequence[tuple[str, int]], vector: tuple[str, int] | None = None
) -> Sweep:
    """Give each thread its points as a `threads` directive says: the last axis named is the fastest in a warp, and a
    thread's points along an axis are as far apart as there are threads along it."""
    digits: list[tuple[str, Expr]] = []
    loops: list[Loop] = []
    coordinates: dict[str, Expr] = {}
    limits: list[tuple[Expr, int]] = []
    total, stride = 1, 1
    for _, count in threads:
        total *= count
    along = dict(threads)
    for axis, count in reversed(threads):
        if count > 1:
            digits.append((axis, simplify(TID // stride % count, {"@tid": Range(0, total - 1)})))
        stride *= count
    for axis, points in box:
        count, width = _items(axis, points, vector), along.get(axis, 1)
        base = thread_digit(axis) if width > 1 else expr(0)
        coordinates[axis] = base + _serial(axis, -(-count // width), loops) * width
        if count % width:
            limits.append((coordinates[axis], count))
    return _sweep(digits, loops, coordinates, limits, vector)


def _items(axis: str, points: int, vector: tuple[str, int] | None) -> int:
    return points // vector[1] if vector is not None and vector[0] == axis else points


def _serial(axis: str, trip: int, loops: list[Loop]) -> Expr:
    if trip == 1:
        return expr(0)
    loops.append(Loop(axis, trip))
    return step(axis)


def _linear(
    items: Sequence[tuple[str, int]],
    threads: int,
    digit: Expr,
    digits: list[tuple[str, Expr]],
    loops: list[Loop],
    coordinates: dict[str, Expr],
    limits: list[tuple[Expr, int]],
) -> None:
    total = 1
    for _, count in items:
        total *= count
    name = items[0][0]
    digits.append((name, digit))
    item = thread_digit(name) + _serial(name, -(-total // threads), loops) * threads
    if total % threads:
        limits.append((item, total))
    stride = 1
    for position, (axis, count) in enumerate(items):
        last = position == len(items) - 1
        coordinates[axis] = item // stride if last else item // stride % count
        stride *= count


def _sweep(
    digits: list[tuple[str, Expr]],
    loops: list[Loop],
    coordinates: dict[str, Expr],
    limits: list[tuple[Expr, int]],
    vector: tuple[str, int] | None,
) -> Sweep:
    if vector is not None:
        coordinates = {a: c * vector[1] if a == vector[0] else c for a, c in coordinates.items()}
    return Sweep(tuple(digits), tuple(reversed(loops)), tuple(coordinates.items()), tuple(limits), vector)
