"""Compare what a run gave with what the kernel means, and say what is wrong in words that lead to the cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilegen.algebra import evaluate, substitute, sym
from tilegen.core.nest.model import Nest, Store
from tilegen.core.plan.model import Compute, Plan
from tilegen.dtypes import DType
from tilegen.families.scan.phase import Scan
from tilegen.lang.spec import Role
from tilegen.numpy_types import Array
from tilegen.program import Program
from tilegen.reference import Expected, agrees
from tilegen.run.outcome import Run

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Wrong elements of one output (or of one member of a struct output)."""

    tensor: str
    field: str | None
    wrong: int
    total: int
    text: str

    def __str__(self) -> str:
        return self.text


def compare(
    program: Program, run: Run, wanted: Mapping[str, Expected], inputs: Mapping[str, Array]
) -> tuple[Mismatch, ...]:
    """All outputs that differ. Elements that the kernel does not assign must keep their bytes and not be written."""
    found = []
    for name, expected in wanted.items():
        tensor = program.kernel.tensor(name)
        element = tensor.element
        actual, written, previous = run.outputs[name], run.written[name], run.previous[name]
        if isinstance(element, DType):
            part = _Part(program, run, name, None, element, actual, written, previous, expected, inputs)
            found += part.mismatches()
            continue
        for f in element.fields:
            moved = isinstance(expected.moved, frozenset) and f.name in expected.moved
            member = Expected(
                expected.value[f.name], expected.tolerance[f.name], expected.written[f.name], moved
            )
            part = _Part(
                program,
                run,
                name,
                f.name,
                f.dtype,
                np.ascontiguousarray(actual[f.name]),
                written[f.name],
                np.ascontiguousarray(previous[f.name]),
                member,
                inputs,
            )
            found += part.mismatches()
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Part:
    program: Program
    run: Run
    tensor: str
    field: str | None
    dtype: DType
    actual: Array
    written: Array
    previous: Array
    expected: Expected
    inputs: Mapping[str, Array]

    @property
    def name(self) -> str:
        return self.tensor if self.field is None else f"{self.tensor}.{self.field}"

    def mismatches(self) -> list[Mismatch]:
        assigned = np.broadcast_to(self.expected.written, self.actual.shape)
        right = np.asarray(agrees(np.ascontiguousarray(self.actual), self.expected, self.dtype))
        # On a GPU an `inout` element that was written with its own value has no mark.
        certain = (
            self.run.report is not None or self.program.kernel.tensor(self.tensor).role is not Role.INOUT
        )
        done = self.written if certain else np.ones_like(assigned)
        wrong = assigned & ~(right.reshape(assigned.shape) & done)
        found = []
        if wrong.any():
            found.append(self._mismatch(wrong, assigned))
        kept = _same_bytes(self.actual, self.previous) & ~self.written
        spoilt = ~assigned & ~kept
        if spoilt.any():
            count = int(np.count_nonzero(spoilt))
            first = tuple(int(i) for i in np.argwhere(spoilt)[0])
            text = f"`{self.name}`: {count} elements that the kernel does not assign were written, "
            text += f"the first {self._at(first)}"
            found.append(Mismatch(self.tensor, self.field, count, int(spoilt.size), text))
        return found

    def _mismatch(self, wrong: Array, assigned: Array) -> Mismatch:
        count, total = int(np.count_nonzero(wrong)), int(np.count_nonzero(assigned))
        never = int(np.count_nonzero(wrong & ~self.written))
        lines = [f"`{self.name}`: {count} of {total} elements are wrong"]
        if never == count:
            lines[0] = f"`{self.name}`: {count} of {total} elements were never written"
        elif never:
            lines[0] += f", {never} of them never written"
        where = _where(wrong)
        if where:
            lines.append(f"  where: {where}")
        points = np.argwhere(wrong)
        chosen = points[np.unique(np.linspace(0, len(points) - 1, min(_SHOWN, len(points))).astype(int))]
        for row in chosen:
            lines.append("  " + self._element(tuple(int(i) for i in row)))
        return Mismatch(self.tensor, self.field, count, total, "\n".join(lines))

    def _element(self, index: tuple[int, ...]) -> str:
        wanted = self.expected.value[index]
        text = f"{self._at(index)}: expected {_shown(wanted)}{self._from(wanted)}"
        tolerance = float(np.real(self.expected.tolerance[index]))
        if tolerance:
            text += f" ± {tolerance:.3g}"
        if not self.written[index]:
            text += ", never written"
        else:
            text += f", got {_shown(self.actual[index])}{self._from(self.actual[index])}"
        shape = self.run.shape
        if shape is not None:
            place = locate(self.program.plans[shape.plan], self.run, self.tensor, self.field, index)
            if place is not None:
                text += f"; computed by {place}"
        return text

    def _at(self, index: tuple[int, ...]) -> str:
        subscript = f"[{', '.join(map(str, index))}]"
        return f"{self.tensor}{subscript}" + (f".{self.field}" if self.field else "")

    def _from(self, value: Array) -> str:
        """The input elements that hold exactly this value, in brackets; empty where none or too many do."""
        if value.dtype != self.actual.dtype or self.dtype.name == "bool":
            return ""
        found = []
        for name, array in self.inputs.items():
            fields = array.dtype.names or (None,)
            for member in fields:
                values = array if member is None else array[member]
                if values.dtype != value.dtype or values.size == 0:
                    continue
                same = _same_bytes(np.ascontiguousarray(values), np.broadcast_to(value, values.shape))
                for at in np.argwhere(same)[: _SHOWN + 1]:
                    suffix = f".{member}" if member is not None else ""
                    found.append(f"{name}[{', '.join(str(int(i)) for i in at)}]{suffix}")
        if not found or len(found) > _SHOWN:
            return ""
        return f" ({' or '.join(found)})"


def _same_bytes(a: Array, b: Array) -> Array:
    size = a.dtype.itemsize
    left = np.ascontiguousarray(a).reshape(a.shape).view(np.dtype((np.void, size)))
    right = np.ascontiguousarray(b).reshape(a.shape).view(np.dtype((np.void, size)))
    return np.asarray(left == right)


def _shown(value: Array) -> str:
    if value.dtype.kind == "f" or value.dtype.kind == "c":
        return f"{value:.9g}" if value.dtype.itemsize <= 4 or value.dtype.kind == "f" else str(value)
    return str(value)


def _where(wrong: Array) -> str:
    """The pattern along each axis in which the wrong elements differ from all elements."""
    parts = []
    for axis in range(wrong.ndim):
        others = tuple(a for a in range(wrong.ndim) if a != axis)
        hit = np.flatnonzero(wrong.any(axis=others))
        extent = wrong.shape[axis]
        if extent > 1:
            parts.append(f"axis {axis}: {_pattern(hit, extent)}")
    return "; ".join(parts)


def _pattern(hit: Array, extent: int) -> str:
    if len(hit) == extent:
        return "everywhere"
    if len(hit) == 1:
        return f"only {hit[0]}" + (" (the last)" if hit[0] == extent - 1 else "")
    steps = np.unique(np.diff(hit))
    first, last = int(hit[0]), int(hit[-1])
    if len(steps) == 1 and steps[0] == 1:
        return f"from {first} to the end ({extent - 1})" if last == extent - 1 else f"{first} to {last}"
    if len(steps) == 1:
        return f"every {steps[0]}th from {first} to {last}"
    return f"{len(hit)} of {extent} indices between {first} and {last}"


# Which block and thread of a plan compute an element of an output

MOST_POINTS = 4_000_000


@dataclass(frozen=True, slots=True)
class ComputedBy:
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


def locate(plan: Plan, run: Run, tensor: str, field: str | None, index: tuple[int, ...]) -> ComputedBy | None:
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
    return ComputedBy(tuple(point.items()), tuple(tiles), _thread(plan, inside))


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
