"""What a launch is made of: its shape and limits, the parameters as the driver wants them, and scratch memory."""

from __future__ import annotations

import ctypes
import re
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.errors import ArgumentTypeError, LaunchError
from tilegen.program import LaunchShape
from tilegen.target import Target

POINTER = "Q"
# Element type -> format of `struct`. The narrow floats without one travel as their bits.
FORMATS = {
    "bool": "?",
    **{"i8": "b", "i16": "h", "i32": "i", "i64": "q"},
    **{"u8": "B", "u16": "H", "u32": "I", "u64": "Q"},
    **{"f16": "e", "f32": "f", "f64": "d", "bf16": "H", "f8e4m3": "B", "f8e5m2": "B"},
}


class Packer:
    """Packs parameters of fixed types, given as formats of `struct`: `("Q", "Q", "i")` for two pointers and an int.

    Each thread has a buffer of its own, reused: the driver copies it during the launch.
    """

    def __init__(self, formats: Sequence[str]) -> None:
        offsets, offset = [], 0
        for format in formats:
            size = struct.calcsize(format)
            offset = -(-offset // size) * size
            offsets.append(offset)
            offset += size
        self.formats = tuple(formats)
        self.offsets = tuple(offsets)
        self.size = offset
        # Native order with native alignment pads as C does, which is what the offsets say.
        self.struct = struct.Struct("@" + "".join(formats))
        assert self.struct.size == offset
        self._local = threading.local()

    def slot(self) -> tuple[ctypes.Array[ctypes.c_char], int]:
        """This thread's buffer for `struct` to pack into, and the address of the table of pointers into it."""
        local = self._local
        try:
            slot: tuple[ctypes.Array[ctypes.c_char], int] = local.slot
        except AttributeError:
            buffer = ctypes.create_string_buffer(max(self.size, 1))
            base = ctypes.addressof(buffer)
            local.table = (ctypes.c_void_p * max(len(self.offsets), 1))(*(base + at for at in self.offsets))
            local.slot = slot = buffer, ctypes.addressof(local.table)
        return slot

    def pack(self, values: Sequence[int | float]) -> int:
        """Address of the table for `values`, good until this thread packs again."""
        buffer, address = self.slot()
        try:
            self.struct.pack_into(buffer, 0, *values)
        except (struct.error, OverflowError) as error:
            raise ArgumentTypeError(
                f"parameters {tuple(values)} do not fit {self.formats}: {error}"
            ) from error
        return address


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


Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """Blocks in the grid and threads in a block along x, y, z; dynamic shared memory of a block in bytes; the scratch
    memory that every launch is given."""

    grid: Triple
    block: Triple
    dynamic_shared_bytes: int = 0
    scratch: ScratchMemory | None = None

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z

    @property
    def is_empty(self) -> bool:
        """Whether there is no block to launch, as for empty arrays. The driver refuses such a launch (report A5)."""
        return 0 in self.grid


def launch_config(shape: LaunchShape) -> LaunchConfig:
    """The launch of one variant of a program."""
    return LaunchConfig(
        (shape.blocks, 1, 1), (shape.threads, 1, 1), shape.dynamic_shared, scratch_memory(shape)
    )


def check_config(
    config: LaunchConfig, target: Target, *, static_shared_bytes: int = 0, max_threads: int | None = None
) -> None:
    """Raise LaunchError, which quotes number and limit, unless `target` can launch `config`.

    `max_threads` is the kernel's `__launch_bounds__` (see `launch_bounds`). An empty grid is fine.
    """
    for axis, extent, limit in zip("xyz", config.block, target.max_block, strict=True):
        if not 1 <= extent <= limit:
            raise LaunchError(
                f"block {config.block} has {extent} threads along {axis}; {target} allows 1 to {limit}"
            )
    if config.threads > target.max_threads_per_block:
        limit = target.max_threads_per_block
        raise LaunchError(f"block {config.block} has {config.threads} threads; {target} allows {limit}")
    if max_threads is not None and config.threads > max_threads:
        raise LaunchError(
            f"block {config.block} has {config.threads} threads; the kernel's __launch_bounds__ allow {max_threads}"
        )
    for axis, extent, limit in zip("xyz", config.grid, target.max_grid, strict=True):
        if not 0 <= extent <= limit:
            raise LaunchError(
                f"grid {config.grid} has {extent} blocks along {axis}; {target} allows up to {limit}"
            )
    total = static_shared_bytes + config.dynamic_shared_bytes
    if config.dynamic_shared_bytes < 0 or total > target.shared_bytes_opt_in:
        raise LaunchError(
            f"shared memory of {static_shared_bytes} static + {config.dynamic_shared_bytes} dynamic = {total} bytes "
            f"a block; {target} allows {target.shared_bytes_opt_in}"
        )


def needs_opt_in(config: LaunchConfig, target: Target, static_shared_bytes: int) -> bool:
    """Whether the kernel's attribute must be raised: the default limit holds for static and dynamic together."""
    return static_shared_bytes + config.dynamic_shared_bytes > target.shared_bytes_default


def launch_bounds(ptx: str, lowered: str) -> int | None:
    """The threads that `__launch_bounds__` of the kernel called `lowered` in `ptx` allows; None without bounds."""
    body = ptx.partition(f".entry {lowered}(")[2].partition("\n{")[0]
    match = re.search(r"\.maxntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", body)
    if match is None:
        return None
    return int(match[1]) * int(match[2] or 1) * int(match[3] or 1)
