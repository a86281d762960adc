"""Kernel parameters as the driver wants them: one buffer and a table of pointers into it."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence

from tilegen.run.errors import ArgumentTypeError

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
