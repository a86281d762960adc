"""Faults that a simulated launch can commit, and the error for PTX that the simulator does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

Index3 = tuple[int, int, int]


class FaultKind(Enum):
    """What went wrong; the value is a short title."""

    OUT_OF_BOUNDS_READ = "read outside every allocation"
    OUT_OF_BOUNDS_WRITE = "write outside every allocation"
    NULL_POINTER = "access through a null pointer"
    MISALIGNED = "misaligned access"
    UNINITIALISED_SHARED_READ = "read of shared memory never written"
    UNINITIALISED_GLOBAL_READ = "read of global memory never written"
    SHARED_RACE = "race on shared memory"
    WARP_RACE = "race between lanes of a warp on shared memory"
    GLOBAL_RACE = "race on global memory"
    BARRIER_EXITED = "barrier that part of the block never reaches"
    BARRIER_DIVERGED = "threads of a block wait at different barriers"
    REMOTE_SHARED = "access to the shared memory of a block that is not there"
    WARP_SYNC_MISSING_LANES = "warp-wide instruction that named lanes never reach"
    WARP_SYNC_UNNAMED = "warp-wide instruction by a lane that its mask leaves out"
    INACTIVE_LANE_READ = "shuffle reads a lane that takes no part"
    READ_ONLY_WRITE = "write to constant or parameter memory"
    TRAP = "trap executed"
    RUNAWAY = "instruction limit reached"
    DEADLOCK = "threads wait for each other for ever"


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of the launch: `block` is blockIdx (x, y, z), `thread` is threadIdx (x, y, z)."""

    block: Index3
    thread: Index3

    def __str__(self) -> str:
        return f"block {self.block} thread {self.thread}"


@dataclass(frozen=True, slots=True)
class Fault:
    """The first occurrence of one kind of fault at one line (or pair of lines).

    `line` is the line of the CUDA source; `lines` holds both lines of a pair, the later access first.
    `count` is how many thread-level accesses (or threads) did the same. `offset` is in bytes from the
    start of `allocation` and may be negative or past its end.
    """

    kind: FaultKind
    message: str
    line: int | None
    lines: tuple[int, ...] = ()
    thread: Thread | None = None
    other: Thread | None = None
    address: int | None = None
    allocation: str | None = None
    offset: int | None = None
    ptx_line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        where = f"line {self.line}" if self.line is not None else "unknown line"
        return f"{where}: {self.kind.value}: {self.message}"


class FaultLog:
    """Collects faults, one per kind and line pair."""

    def __init__(self) -> None:
        self._faults: dict[tuple[FaultKind, int | None, tuple[int, ...]], Fault] = {}

    def add(self, fault: Fault) -> None:
        key = (fault.kind, fault.line, fault.lines)
        seen = self._faults.get(key)
        if seen is None:
            self._faults[key] = fault
        else:
            self._faults[key] = replace(seen, count=seen.count + fault.count)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._faults.values())


class SimulationError(Exception):
    """The PTX or the launch cannot be simulated."""


class UnsupportedInstruction(SimulationError):
    """An instruction outside the simulator's repertoire; never executed as a guess."""

    def __init__(self, text: str, ptx_line: int, line: int | None, reason: str = "") -> None:
        self.text, self.ptx_line, self.line, self.reason = text, ptx_line, line, reason
        where = f"PTX line {ptx_line}" + (f", kernel line {line}" if line is not None else "")
        super().__init__(f"{where}: unsupported instruction `{text}`" + (f" ({reason})" if reason else ""))


class LaunchOver(Exception):
    """Raised inside the machine when nobody can run any more; what led there is in the faults."""


class RunawayLimit(Exception):
    """Raised inside the machine when the instruction limit is reached; reported as a fault."""
