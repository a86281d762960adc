"""What a kernel asks for, from its meaning alone: the elements it must read and write, the 32-byte sectors that hold
them, and its floating-point operations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tilegen.algebra import Expr, evaluate
from tilegen.dtypes import Kind, Struct
from tilegen.lang.spec import (
    Axis,
    Binary,
    BinaryOp,
    Call,
    Cast,
    IndexValue,
    Kernel,
    Literal,
    LocalRead,
    Read,
    Reduce,
    Reduction,
    ScalarRead,
    Soa,
    Unary,
    Value,
    Where,
)
from tilegen.numpy_types import Array
from tilegen.reference.access import Readable, read
from tilegen.reference.evaluate import PythonNumber, _Evaluator, serial
from tilegen.reference.frame import Frame
from tilegen.run.layout import DeviceLayout, positions

SECTOR = 32
Mask = npt.NDArray[np.bool_]
# (tensor, member or None) -> which elements.
Footprint = Mapping[tuple[str, str | None], Mask]


class _Recorder(_Evaluator):
    """The reference, taking note of every element read at a point that counts."""

    def __init__(
        self,
        kernel: Kernel,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Array],
        scalars: Mapping[str, PythonNumber],
    ) -> None:
        super().__init__(kernel, sizes, arrays, scalars, False, serial)
        self.reads: dict[tuple[str, str | None], Mask] = {}

    def _read(self, node: Read, frame: Frame) -> Array:
        tensor, array = self._tensors[node.tensor], self._arrays[node.tensor]
        mask = self.reads.setdefault((node.tensor, node.field), np.zeros(array.shape, np.bool_))
        if frame.counts_any() and array.size:
            numbers = np.arange(array.size, dtype=np.int64).reshape(array.shape)
            indices = tuple(i if isinstance(i, Expr) else self._number(i, frame).value for i in node.indices)
            found = read(
                Readable(tensor.name, numbers, (0,) * tensor.rank, tensor.boundary, -1), indices, frame
            )
            active = frame.active()
            if active is not None:
                found, active = np.broadcast_arrays(found, active)
                found = found[active]
            mask.reshape(-1)[found[found >= 0]] = True
        return super()._read(node, frame)


def elements_read(
    kernel: Kernel,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, PythonNumber] | None = None,
) -> Footprint:
    """The elements whose value the result depends on (a boundary's constant is none; only the chosen side of a
    `where` counts). `arrays` matter where an index or a condition depends on data."""
    with np.errstate(all="ignore"):
        recorder = _Recorder(kernel, sizes, arrays, scalars or {})
        recorder.run()
    return recorder.reads


def elements_written(written: Mapping[str, Array]) -> Footprint:
    """The masks of outputs as a footprint, one per member for structs."""
    found: dict[tuple[str, str | None], Mask] = {}
    for name, mask in written.items():
        if mask.dtype.names is None:
            found[name, None] = mask
        for member in mask.dtype.names or ():
            found[name, member] = mask[member]
    return found


def distinct_sectors(
    footprint: Footprint, layouts: Mapping[str, DeviceLayout], addresses: Mapping[str, int]
) -> int:
    """Distinct 32-byte sectors that hold the elements; `addresses` of the pointers decide where sectors begin."""
    sectors: dict[str, list[npt.NDArray[np.int64]]] = {}
    for (name, member), mask in footprint.items():
        placed = layouts[name]
        element, placement = placed.tensor.element, placed.tensor.placement
        for buffer in placed.buffers:
            if isinstance(placement, Soa) and isinstance(element, Struct) and buffer.field != member:
                continue
            whole = isinstance(element, Struct) and isinstance(placement, Soa)
            at, size = positions(placed, buffer.pointer, None if whole else member)
            bytes_ = at[mask] + (addresses[buffer.pointer] - buffer.base)
            found = sectors.setdefault(buffer.pointer, [])
            found.append(bytes_ // SECTOR)
            found.append((bytes_ + size - 1) // SECTOR)
    return sum(np.unique(np.concatenate(parts)).size for parts in sectors.values())


__all__ = ["SECTOR", "Footprint", "distinct_sectors", "elements_read", "elements_written"]


_ARITHMETIC = {BinaryOp.ADD, BinaryOp.SUBTRACT, BinaryOp.MULTIPLY, BinaryOp.DIVIDE, BinaryOp.POWER}
# Selection, sign and rounding: no arithmetic unit is counted for them.
_SELECTION = "abs floor ceil round trunc sign clip maximum minimum fmax fmin isnan isinf conj real imag relu"
_FREE = frozenset(_SELECTION.split(" "))
_COMPLEX = {
    BinaryOp.ADD: 2,
    BinaryOp.SUBTRACT: 2,
    BinaryOp.MULTIPLY: 6,
    BinaryOp.DIVIDE: 11,
    BinaryOp.POWER: 11,
}
_COMBINES = (Reduction.SUM, Reduction.PROD, Reduction.MEAN)


def flops(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """FLOP of one launch: + − * / ** on floats count 1 (complex: 2, 2, 6, 11, 11), a named function 1, a step of a sum,
    product or mean 1; comparisons, casts, selection and integers count 0. Of a `where` the dearer side counts."""
    return sum(round(_points(s.axes, sizes, s.value)) for s in kernel.statements)


def _points(axes: tuple[Axis, ...], sizes: Mapping[str, int], value: Value, own: int = 0) -> float:
    """Cost of `value` plus `own` at every point of `axes`; ends that use outer axes are taken at their mean."""
    points, middle = 1.0, dict(sizes)
    for axis in axes:
        low, high = evaluate(axis.lower, middle), evaluate(axis.upper, middle)
        if high <= low:
            return 0
        points *= high - low
        middle[axis.name] = (low + high - 1) // 2
    return points * (own + _cost(value, middle))


def _cost(value: Value, sizes: Mapping[str, int]) -> float:
    rounds = value.dtype.kind in (Kind.FLOAT, Kind.COMPLEX)
    match value:
        case Literal() | ScalarRead() | IndexValue() | Read() | LocalRead():
            return 0
        case Unary() | Cast():
            return _cost(value.operand, sizes)
        case Binary():
            own = 0
            if rounds and value.op in _ARITHMETIC:
                own = _COMPLEX[value.op] if value.dtype.kind is Kind.COMPLEX else 1
            return own + _cost(value.left, sizes) + _cost(value.right, sizes)
        case Where():
            sides = max(_cost(value.then, sizes), _cost(value.otherwise, sizes))
            return _cost(value.condition, sizes) + sides
        case Call():
            own = 1 if rounds and value.function not in _FREE else 0
            return own + sum(_cost(a, sizes) for a in value.arguments)
        case Reduce():
            return _points(value.axes, sizes, value.body, 1 if rounds and value.op in _COMBINES else 0)
