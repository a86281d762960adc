"""Pure movement at sizes that a host has no time for: run and compared on the device, piece by piece.

Inputs are index-coded, so what an element must be follows from its place: the reference is worked out from the indices
of the spec and needs no arrays. It is the same on NumPy's arrays and on a device's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from tilegen.algebra import ZERO, Expr, evaluate, sym
from tilegen.dtypes import DType, Kind
from tilegen.lang.spec import Kernel, Read, Role
from tilegen.program import Program
from tilegen.run.layout import DeviceLayout, dense_strides
from tilegen.verify.inputs import index_bits

_PIECE = 1 << 25
_POISONS = (0xA5, 0x5A)
_GUARD = 1 << 16


@dataclass(frozen=True, slots=True)
class Move:
    """`output[axes] = source[indices]`, each output element once."""

    output: str
    source: str
    dtype: DType
    axes: tuple[str, ...]
    indices: tuple[Expr, ...]


def moves_of(kernel: Kernel) -> tuple[Move, ...] | None:
    """The assignments of a kernel that sends whole `in` tensors to whole `out` tensors; None for any other kernel."""
    found = []
    for assign in kernel.assigns:
        target, value = kernel.tensor(assign.tensor), assign.value
        axes = tuple(a.name for a in assign.axes)
        whole = assign.indices == tuple(map(sym, axes)) and all(
            a.lower == ZERO and a.upper == e for a, e in zip(assign.axes, target.extents, strict=False)
        )
        if not whole or target.role is not Role.OUT or not isinstance(value, Read) or value.field is not None:
            return None
        indices = tuple(i for i in value.indices if isinstance(i, Expr))
        element, source = target.element, kernel.tensor(value.tensor)
        if len(indices) < len(value.indices) or any(value.needs_boundary) or source.role is not Role.IN:
            return None
        if not isinstance(element, DType) or element.kind not in (Kind.INT, Kind.UINT, Kind.FLOAT):
            return None
        found.append(Move(assign.tensor, value.tensor, element, axes, indices))
    outputs = [move.output for move in found]
    return tuple(found) if len(set(outputs)) == len(outputs) and not kernel.scalars else None


def first_codes(layouts: Mapping[str, DeviceLayout], kernel: Kernel) -> dict[str, int]:
    """The code of the first element of each input, as `verify.inputs.make_inputs` counts them."""
    found, start = {}, 0
    for tensor in kernel.tensors:
        if tensor.role is not Role.OUT:
            found[tensor.name] = start
            start += layouts[tensor.name].count
    return found


def wanted_bits(
    move: Move, sizes: Mapping[str, int], layouts: Mapping[str, DeviceLayout], first: int, numbers: Any
) -> Any:
    """The bits of the output's elements with these numbers, in row-major order. `first`: code of the source's first."""
    extents = layouts[move.output].extents
    steps = dense_strides(extents)
    values = {a: numbers // s % e for a, s, e in zip(move.axes, steps, extents, strict=True)}
    places = [evaluate(index, {**sizes, **values}) for index in move.indices]
    source = dense_strides(layouts[move.source].extents)
    code = first + sum(p * s for p, s in zip(places, source, strict=True)) + 0 * numbers
    return index_bits(move.dtype, code)


def run_moves(program: Program, sizes: Mapping[str, int], moves: tuple[Move, ...]) -> list[str] | None:
    """What is wrong after two launches on the current device, over two poisons; None for layouts with gaps."""
    from tilegen.run.gpu import launch, place_empty
    from tilegen.run.launch import gpu

    cupy = gpu()
    known = {**program.nest.constants, **sizes}
    arguments = place_empty(program, known, None)
    layouts = arguments.layouts
    if any(p.strides != dense_strides(p.extents) or p.offset for p in layouts.values()):
        return None
    kernel, codes = program.kernel, first_codes(layouts, program.kernel)
    zones = {t.name: _Zone(cupy, layouts[t.name], 0x31 + 37 * n) for n, t in enumerate(kernel.tensors)}
    for name, first in codes.items():
        zones[name].fill(first)
    wrong: list[str] = []
    for poison in _POISONS:
        for move in moves:
            zones[move.output].poison(poison)
        launch(program, arguments, {zone.pointer: zone.address for zone in zones.values()})
        cupy.cuda.get_current_stream().synchronize()
        for move in moves:
            wrong += zones[move.output].differences(move, known, layouts, codes[move.source])
    for name, first in codes.items():
        wrong += zones[name].changes(first)
    return wrong + [text for zone in zones.values() for text in zone.spoilt()]


class _Zone:
    """A tensor on the device between two guard zones."""

    def __init__(self, cupy: Any, layout: DeviceLayout, guard: int) -> None:
        self.cupy, self.layout, self.guard = cupy, layout, guard & 0xFF
        element = layout.tensor.element
        assert isinstance(element, DType)
        self.dtype, self.count = element, prod(layout.extents)
        size = self.count * element.size
        self.memory = cupy.full(2 * _GUARD + size, self.guard, cupy.uint8)
        self.data = self.memory[_GUARD : _GUARD + size].view(f"u{element.size}")
        (buffer,) = layout.buffers
        self.pointer, self.address = buffer.pointer, int(self.memory.data.ptr) + _GUARD

    def pieces(self) -> Iterator[tuple[Any, Any]]:
        """(numbers, elements) of a piece after another."""
        for start in range(0, self.count, _PIECE):
            end = min(start + _PIECE, self.count)
            yield self.cupy.arange(start, end, dtype=self.cupy.int64), self.data[start:end]

    def fill(self, first: int) -> None:
        for numbers, elements in self.pieces():
            elements[:] = index_bits(self.dtype, numbers + first)

    def poison(self, byte: int) -> None:
        self.data.view(self.cupy.uint8).fill(byte)

    def changes(self, first: int) -> list[str]:
        """Whether an input is still what it was."""
        name = self.layout.tensor.name
        for numbers, elements in self.pieces():
            if bool((elements != index_bits(self.dtype, numbers + first)).any()):
                return [f"the input `{name}` was written"]
        return []

    def differences(
        self, move: Move, sizes: Mapping[str, int], layouts: Mapping[str, DeviceLayout], first: int
    ) -> list[str]:
        wrong, place = 0, None
        for numbers, elements in self.pieces():
            bad = elements != wanted_bits(move, sizes, layouts, first, numbers)
            count = int(bad.sum())
            if count and place is None:
                place = int(numbers[int(bad.argmax())])
            wrong += count
        if place is None:
            return []
        steps = dense_strides(self.layout.extents)
        at = ", ".join(str(place // s % e) for s, e in zip(steps, self.layout.extents, strict=True))
        return [f"`{move.output}`: {wrong} of {self.count} elements are wrong, the first at [{at}]"]

    def spoilt(self) -> list[str]:
        ends = (self.memory[:_GUARD], self.memory[self.memory.size - _GUARD :])
        name = self.layout.tensor.name
        return [f"write outside `{name}`" for end in ends if bool((end != self.guard).any())]
