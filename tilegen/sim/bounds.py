"""Whether addresses lie within allocations, and faults that name where they lie."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.faults import Fault, FaultKind, FaultLog
from tilegen.sim.memory import Memory
from tilegen.sim.report import Space
from tilegen.sim.state import State

Array = npt.NDArray[Any]

_PAGE = 4096


class Bounds:
    """The address ranges of a launch; collects the faults of accesses in `log`."""

    def __init__(self, state: State, memory: Memory, constants: Array, parameters: Array) -> None:
        self.state, self.memory = state, memory
        self.constants, self.parameter_bytes = constants, parameters
        self.log = FaultLog()
        self.starts, self.ends = memory.limits()
        # From an address in an allocation to the byte of the arena behind it.
        self.leads = self.starts - np.array([one.start for one in memory.allocations], dtype=np.int64)
        # The allocation that all lanes of the latest global access share, or -1.
        self.allocation = -1

    def line(self, pc: int) -> int | None:
        return self.state.program.instructions[pc].line

    def outside(self, space: Space, addresses: Array, bytes: int, variable: str | None) -> Array | None:
        """Lanes whose access leaves its allocation, or None; notes the allocation where all lanes share one.

        `variable` is the shared variable that the address comes from, where that is known.
        """
        if len(addresses) == 0:
            return None
        low, high = int(addresses.min()), int(addresses.max()) + bytes
        if space is not Space.GLOBAL:
            start, end = 0, self._space_size(space)
            if variable is not None:
                start, end = self._variable_span(variable)
            if low >= start and high <= end:
                return None
            return np.asarray((addresses < start) | (addresses + bytes > end))
        self.allocation = int(np.searchsorted(self.starts, low, side="right")) - 1
        if self.allocation >= 0 and high <= self.ends[self.allocation]:
            return None
        which = np.searchsorted(self.starts, addresses, side="right") - 1
        self.allocation = -1
        wrong = (which < 0) | (addresses + bytes > (self.ends[which] if len(self.ends) else 0))
        return np.asarray(wrong) if wrong.any() else None

    def backing(self, addresses: Array) -> Array:
        """The bytes of the arena behind global addresses, which `outside` has found to lie in allocations."""
        if self.allocation >= 0:
            return np.asarray(addresses - self.leads[self.allocation])
        return np.asarray(addresses - self.leads[np.searchsorted(self.starts, addresses, side="right") - 1])

    def _variable_span(self, name: str) -> tuple[int, int]:
        """Start and end of a shared variable; one that the launch sizes reaches to the end."""
        program = self.state.program
        start, size = program.shared[name], program.shared_sizes[name]
        return start, start + size if size else self.state.shared_bytes

    def _space_size(self, space: Space) -> int:
        match space:
            case Space.SHARED:
                return self.state.shared_bytes
            case Space.LOCAL:
                return self.state.program.local_bytes
            case Space.CONST:
                return len(self.constants) - 64
            case _:
                return len(self.parameter_bytes) - 64

    def report(self, kind: FaultKind, pc: int, index: Array | None, addresses: Array, message: str) -> None:
        """One fault for all the lanes given; the first is named."""
        lane = 0 if index is None else int(index[0])
        self.log.add(
            Fault(
                kind,
                message,
                self.line(pc),
                thread=self.state.thread(int(self.state.thread_number[lane])),
                address=int(addresses[0]),
                ptx_line=self.state.program.instructions[pc].ptx_line,
                count=len(addresses),
            )
        )

    def misaligned(
        self, pc: int, index: Array | None, wrong: Array, addresses: Array, space: Space, bytes: int
    ) -> None:
        lanes = np.flatnonzero(wrong)
        address = int(addresses[lanes[0]])
        where, name, offset = self._place(space, address, bytes)
        self._located(
            FaultKind.MISALIGNED,
            pc,
            lanes if index is None else index[lanes],
            address,
            f"a {bytes}-byte access needs an address that is a multiple of {bytes}: {where}",
            name,
            offset,
        )

    def out_of_bounds(
        self,
        pc: int,
        index: Array | None,
        wrong: Array,
        addresses: Array,
        space: Space,
        bytes: int,
        writes: bool,
        variable: str | None,
    ) -> None:
        lanes = np.flatnonzero(wrong)
        null = (addresses[lanes] >= 0) & (addresses[lanes] < _PAGE) & (space is Space.GLOBAL)
        kind = FaultKind.OUT_OF_BOUNDS_WRITE if writes else FaultKind.OUT_OF_BOUNDS_READ
        for chosen, found in ((lanes[null], FaultKind.NULL_POINTER), (lanes[~null], kind)):
            if len(chosen) == 0:
                continue
            address = int(addresses[chosen[0]])
            where, name, offset = self._place(space, address, bytes, variable)
            verb = "writes" if writes else "reads"
            if found is FaultKind.NULL_POINTER:
                where, name, offset = f"address {address:#x}", None, None
            self._located(
                found,
                pc,
                chosen if index is None else index[chosen],
                address,
                f"{verb} {bytes} bytes at {where}",
                name,
                offset,
            )

    def _located(
        self,
        kind: FaultKind,
        pc: int,
        lanes: Array,
        address: int,
        message: str,
        name: str | None,
        offset: int | None,
    ) -> None:
        thread = self.state.thread(int(self.state.thread_number[lanes[0]]))
        self.log.add(
            Fault(
                kind,
                f"{thread} {message}",
                self.line(pc),
                thread=thread,
                address=address,
                allocation=name,
                offset=offset,
                ptx_line=self.state.program.instructions[pc].ptx_line,
                count=len(lanes),
            )
        )

    def _place(
        self, space: Space, address: int, bytes: int, variable: str | None = None
    ) -> tuple[str, str | None, int | None]:
        """Where an address lies, in words; the variable or allocation, and the byte offset in it."""
        if space is Space.GLOBAL:
            name, offset, text = self.memory.describe(address, bytes)
            return text, name, offset
        if space is Space.SHARED:
            if variable is not None:
                start, end = self._variable_span(variable)
                name, offset = demangle(variable), address - start
                past = address + bytes - end
                text = f"{past} bytes past the end" if past > 0 else f"{-offset} bytes before the start"
                return f"{text} of shared `{name}` ({end - start} bytes)", name, offset
            name, offset = self._shared_variable(address)
            size = self.state.shared_bytes
            past = address + bytes - size
            text = f"byte {address} of shared memory"
            if past > 0:
                text += f", {past} bytes past the end of its {size} bytes"
            if name is not None:
                text += f" (byte {offset} from the start of `{name}`)"
            return text, name, offset
        return (
            f"byte {address} of {space.value} memory ({self._space_size(space)} bytes)",
            space.value,
            address,
        )

    def _shared_variable(self, address: int) -> tuple[str | None, int | None]:
        shared = self.state.program.shared
        below = [(start, name) for name, start in shared.items() if start <= address]
        if not below:
            return None, None
        start, name = max(below)
        return demangle(name), address - start


def demangle(name: str) -> str:
    """`_ZZ2trE4tile` (a static of a function) as `tile`; other names as they are."""
    if not name.startswith("_ZZ"):
        return name
    for match in re.finditer(r"E(\d+)", name):
        if match.end() + int(match.group(1)) == len(name):
            return name[match.end() :]
    # A name met twice in a function carries a discriminator: `…E1s_0`.
    match_again = re.search(r"E(\d+)(\w+)_\d+$", name)
    return match_again.group(2)[: int(match_again.group(1))] if match_again else name
