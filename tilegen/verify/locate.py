"""Which block and thread of a plan compute an element of an output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilegen.algebra import evaluate, substitute, sym
from tilegen.core.nest.model import Nest, Store
from tilegen.core.plan.model import Compute, Plan
from tilegen.families.scan.phase import Scan
from tilegen.numpy_types import Array
from tilegen.run.outcome import Run

MOST_POINTS = 4_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """`tiles`: per tiled axis (axis, tile number, number of tiles). `thread`: linear number, None if not found."""

    point: tuple[tuple[str, int], ...]
    tiles: tuple[tuple[str, int, int], ...]
    thread: int | None

    def __str__(self) -> str:
        tiles = ", ".join(
            f"{axis} = {number} of {count}" + (" (the last)" if number == count - 1 else "")
            for axis, number, count in self.tiles
        )
        thread = f", thread {self.thread}" if self.thread is not None else ""
        return f"tile {tiles}{thread}" if tiles else f"block 0{thread}"


def locate(plan: Plan, run: Run, tensor: str, field: str | None, index: tuple[int, ...]) -> Place | None:
    """Where `tensor[index].field` is computed; None where no point writes it."""
    nest = plan.nest
    scalars = {name: number for name, number in run.arguments.scalars.items() if isinstance(number, int)}
    sizes = {**run.arguments.sizes, **scalars}
    store = next((s for s in nest.stores if s.assign.tensor == tensor and s.assign.field == field), None)
    if store is None:
        return None
    point = _point(nest, store, sizes, index)
    if point is None:
        return None
    values = {**sizes, **run.arguments.strides}
    tiles = []
    for tile in plan.tiles:
        if tile.axis not in point:
            continue
        count = int(evaluate(tile.count, values))
        if count > 1:
            tiles.append((tile.axis, point[tile.axis] // tile.tile, count))
    inside = {t.axis: point[t.axis] % t.tile for t in plan.tiles if t.axis in point}
    return Place(tuple(point.items()), tuple(tiles), _thread(plan, inside))


def _point(
    nest: Nest, store: Store, sizes: Mapping[str, int], index: tuple[int, ...]
) -> dict[str, int] | None:
    """The point of the nest at which the left-hand side is `index`, by trying all."""
    extents = {a.name: int(evaluate(a.extent, sizes)) for a in nest.axes}
    shape = tuple(extents.values())
    if np.prod(shape, dtype=np.int64) > MOST_POINTS:
        return None
    values: dict[str, Any] = dict(sizes)
    for position, (name, extent) in enumerate(extents.items()):
        shaped = [1] * len(shape)
        shaped[position] = extent
        values[name] = np.arange(extent).reshape(shaped)
    match = np.ones(shape, np.bool_)
    for expression, wanted in zip(store.assign.indices, index, strict=True):
        match &= evaluate(substitute(expression, nest.axis_values), values) == wanted
    found = np.argwhere(match)
    return {n: int(c) for n, c in zip(extents, found[0], strict=True)} if len(found) else None


def _thread(plan: Plan, inside: dict[str, int]) -> int | None:
    """The thread that covers the in-tile coordinates."""
    scan = next((p for p in plan.phases if isinstance(p, Scan)), None)
    return _swept(plan, inside) if scan is None else _scanning(scan, inside)


def _scanning(scan: Scan, inside: dict[str, int]) -> int | None:
    spread = scan.spread
    thread, step, lane = np.ogrid[: spread.threads, : spread.steps, : spread.width]
    values: dict[str, Any] = {"thread": thread, "step": step, "lane": lane}
    covered: Any = True
    for axis, coordinate in spread.coordinates(sym("thread"), sym("step"), sym("lane")):
        name = scan.row if axis is None else axis
        covered = covered & (evaluate(coordinate, values) == (0 if name is None else inside[name]))
    found = np.argwhere(covered)
    return int(found[0][0]) if len(found) else None


def _swept(plan: Plan, inside: dict[str, int]) -> int | None:
    """By the sweep of the compute phase."""
    compute = next((p for p in plan.phases if isinstance(p, Compute)), None)
    if compute is None or compute.sweep.sectors is not None:  # where a sector begins, only a launch knows
        return None
    sweep = compute.sweep
    shape = [
        plan.threads,
        *(loop.trip for loop in sweep.loops),
        sweep.run.width if sweep.run is not None else 1,
    ]

    def along(position: int) -> Array:
        ones = [1] * len(shape)
        ones[position] = shape[position]
        return np.arange(shape[position]).reshape(ones)

    values: dict[str, Any] = {"@tid": along(0), "@lane": along(len(shape) - 1)}
    for axis, digit in sweep.digits:
        values[f"@thread_{axis}"] = evaluate(digit, values)
    for position, loop in enumerate(sweep.loops):
        values[f"@step_{loop.axis}"] = along(position + 1)
    for axis, item in sweep.linear:
        values[f"@item_{axis}"] = evaluate(item, values)
    covered: Any = True
    for axis, coordinate in {**dict(sweep.coordinates), **dict(sweep.lanes)}.items():
        covered = covered & (evaluate(coordinate, values) == inside.get(axis, 0))
    for limit in sweep.limits:
        covered = covered & (evaluate(limit.value, values) < evaluate(limit.bound, values))
    found = np.argwhere(np.broadcast_to(np.asarray(covered), shape))
    return int(found[0][0]) if len(found) else None
