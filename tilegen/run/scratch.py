"""Scratch memory of a launch on a GPU: from CuPy's pool, ordered on the stream of the launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.program import LaunchShape

_ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class ScratchMemory:
    """One allocation of `bytes` bytes, the first `zeroed` of them cleared before every launch.

    `places`: (number of a kernel parameter, offset of what it points to)."""

    bytes: int
    zeroed: int
    places: tuple[tuple[int, int], ...]

    def allocate(
        self, cupy: Any, stream: int, values: Sequence[int | float]
    ) -> tuple[object, list[int | float]]:
        """The memory, which must live until the launch is made, and `values` with the pointers into it.

        The pool gives a block back only to the stream it was allocated for. So memory that is dropped while a kernel
        still uses it is not handed to another stream, and the current one must be that of the launch here.
        """
        if cupy.cuda.get_current_stream().ptr == stream:
            memory = cupy.cuda.alloc(self.bytes)
        else:
            with cupy.cuda.ExternalStream(stream):
                memory = cupy.cuda.alloc(self.bytes)
        base = int(memory.ptr)
        if self.zeroed:
            cupy.cuda.runtime.memsetAsync(base, 0, self.zeroed, stream)
        filled = list(values)
        for number, offset in self.places:
            filled[number] = base + offset
        return memory, filled


def scratch_memory(shape: LaunchShape) -> ScratchMemory | None:
    """Where the scratch memory of a launch lies: each part at a multiple of 256 bytes, as the C launcher has it."""
    if not shape.scratch:
        return None
    offsets, end, zeroed = {}, 0, 0
    for part in shape.scratch:
        offsets[part.name] = end
        end += part.bytes // _ALIGNMENT * _ALIGNMENT + _ALIGNMENT
        zeroed = end if part.zeroed else zeroed
    places = tuple((n, offsets[p.key]) for n, p in enumerate(shape.parameters) if p.kind == "scratch")
    return ScratchMemory(end, zeroed, places)
