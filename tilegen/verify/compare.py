"""Compare what a run gave with what the kernel means, and say what is wrong in words that lead to the cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilegen.dtypes import DType
from tilegen.lang.spec import Role
from tilegen.numpy_types import Array
from tilegen.program import Program
from tilegen.reference import Expected, agrees
from tilegen.run.outcome import Run
from tilegen.verify.locate import locate

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
