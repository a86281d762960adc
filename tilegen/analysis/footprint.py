"""Which elements a kernel must read and write, from its meaning alone, and how many 32-byte sectors hold them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tilegen.algebra import Expr
from tilegen.dtypes import Struct
from tilegen.lang.spec import Kernel, Read, Soa
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
