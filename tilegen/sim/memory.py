"""Simulated global memory: named allocations in one address range, with guard zones between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WINDOW_BITS = 40
# Generic addresses: the window number is the address shifted right by WINDOW_BITS; global memory is its own window.
# Shared memory of another block of the cluster: its rank + 1 stands above the address within it.
RANK_SHIFT = 24
WINDOWS = {"global": 0, "shared": 1 << WINDOW_BITS, "shared_cta": 1 << WINDOW_BITS,
           "shared_cluster": 1 << WINDOW_BITS, "local": 2 << WINDOW_BITS, "const": 3 << WINDOW_BITS,
           "param": 4 << WINDOW_BITS}  # fmt: skip
GLOBAL_BASE = 0x7F << WINDOW_BITS
GUARD = 1 << 20
_ALIGN = 256


@dataclass(frozen=True, slots=True)
class Allocation:
    """`address` is virtual; `size` in bytes; `start` is where its bytes lie in the arena.

    Bytes of one that is not initialised must be written before read.
    """

    name: str
    address: int
    size: int
    initialised: bool
    start: int


class Memory:
    """A set of named global allocations with guard zones of 1 MiB around each.

    The arena holds the bytes of the allocations alone, not the guards.
    """

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.arena: Array = np.zeros(0, dtype=np.uint8)
        self.stored: Array = np.zeros(0, dtype=np.bool_)
        # Addresses of the `.global` variables of modules; the module object itself is the key, and kept alive.
        self.variables: dict[tuple[object, str], int] = {}
        self._end = GUARD
        self._used = 0

    def allocate(
        self, name: str, data: npt.NDArray[Any] | int, *, initialised: bool = True, misalign: int = 0
    ) -> int:
        """Adds an allocation and returns its address, 256-byte aligned plus `misalign`.

        `data` is an array whose bytes are copied in C order, or a byte count (zeros). With `initialised=False` a
        kernel that reads a byte which no kernel has written commits a fault.
        """
        if any(one.name == name for one in self.allocations):
            raise ValueError(f"an allocation named `{name}` exists already")
        content = None if isinstance(data, int | np.integer) else np.ascontiguousarray(data)
        size = int(data) if content is None else content.nbytes
        if size < 0 or misalign < 0:
            raise ValueError("size and misalign must not be negative")
        offset = -(-self._end // _ALIGN) * _ALIGN + misalign
        self._end = offset + size + GUARD
        # As misaligned in the arena as its address is.
        start = -(-self._used // _ALIGN) * _ALIGN + misalign
        self._used = start + size
        self._grow(self._used)
        if content is not None and size:
            self.arena[start : start + size] = content.reshape(-1).view(np.uint8)
        self.allocations.append(Allocation(name, GLOBAL_BASE + offset, size, initialised, start))
        return GLOBAL_BASE + offset

    def _grow(self, needed: int) -> None:
        if needed <= len(self.arena):
            return
        capacity = -(-max(needed, 2 * len(self.arena)) // 4096) * 4096
        arena, stored = np.zeros(capacity, dtype=np.uint8), np.zeros(capacity, dtype=np.bool_)
        for one in self.allocations:
            span = self._span(one)
            arena[span], stored[span] = self.arena[span], self.stored[span]
        self.arena, self.stored = arena, stored

    def _span(self, one: Allocation) -> slice:
        return slice(one.start, one.start + one.size)

    def find(self, name: str) -> Allocation:
        for one in self.allocations:
            if one.name == name:
                return one
        raise KeyError(name)

    def read(self, name: str) -> npt.NDArray[np.uint8]:
        """A copy of the bytes of an allocation."""
        return np.array(self.arena[self._span(self.find(name))])

    def written(self, name: str) -> npt.NDArray[np.bool_]:
        """For each byte of an allocation, whether a kernel has stored to it."""
        return np.array(self.stored[self._span(self.find(name))])

    def limits(self) -> tuple[Array, Array]:
        """Start and end addresses of the allocations, ascending."""
        starts = np.array([one.address for one in self.allocations], dtype=np.int64)
        return starts, starts + np.array([one.size for one in self.allocations], dtype=np.int64)

    def describe(self, address: int, size: int) -> tuple[str | None, int | None, str]:
        """The allocation nearest to an address, the byte offset from its start, and the distance in words."""
        best: Allocation | None = None
        distance = 0
        for one in self.allocations:
            gap = max(one.address - address, address + size - (one.address + one.size), 0)
            if best is None or gap < distance:
                best, distance = one, gap
        if best is None or distance > 64 * GUARD:
            return None, None, f"address {address:#x} is far from every allocation"
        offset = address - best.address
        if offset < 0:
            return best.name, offset, f"{-offset} bytes before the start of `{best.name}` ({best.size} bytes)"
        past = offset + size - best.size
        if past > 0:
            return best.name, offset, f"{past} bytes past the end of `{best.name}` ({best.size} bytes)"
        return best.name, offset, f"byte {offset} of `{best.name}` ({best.size} bytes)"
