"""What a simulated launch reports: faults and the counters that Nsight Compute would show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tilegen.sim.faults import Fault


class Space(Enum):
    """State space of a memory access."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONST = "const"
    PARAM = "param"
    GENERIC = "generic"


class Access(Enum):
    """What an instruction does to memory."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class AccessCounters:
    """Counts of one static memory instruction in one space.

    `bytes` is per lane. `requests` are warp-wide executions with an active lane. For global memory
    `sectors` counts 32-byte sectors and `ideal` = sum of ceil(active lanes * bytes / 32). For shared memory
    `wavefronts` is what the hardware spends, `ideal` = sum of ceil(active lanes * bytes / 128), `groups` are the
    warps (halves, quarters for 8 and 16 bytes) with an active lane, and `bank_conflicts` = max(0, wavefronts - groups).
    Atomics count requests and lanes alone; what is reached through `mapa` in other blocks is not counted.
    """

    line: int | None
    ptx_line: int
    space: Space
    access: Access
    bytes: int
    requests: int
    lanes: int
    sectors: int
    ideal: int
    wavefronts: int
    groups: int
    bank_conflicts: int


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals of a launch; units as in `AccessCounters`."""

    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_ideal: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_ideal: int = 0
    global_atomic_requests: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_ideal: int = 0
    shared_load_bank_conflicts: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_ideal: int = 0
    shared_store_bank_conflicts: int = 0
    shared_atomic_requests: int = 0
    local_load_requests: int = 0
    local_store_requests: int = 0
    barriers: int = 0
    warp_instructions: int = 0
    thread_instructions: int = 0

    @property
    def bank_conflicts(self) -> int:
        """Extra wavefronts of shared loads and stores together."""
        return self.shared_load_bank_conflicts + self.shared_store_bank_conflicts

    @property
    def shared_wavefronts(self) -> int:
        return self.shared_load_wavefronts + self.shared_store_wavefronts


@dataclass(frozen=True, slots=True)
class Report:
    """Result of `simulate`; memory contents are read from the `Memory`."""

    faults: tuple[Fault, ...]
    counters: Counters
    accesses: tuple[AccessCounters, ...]
    thread_instructions: int


def total(accesses: tuple[AccessCounters, ...], barriers: int, warps: int, threads: int) -> Counters:
    """Sums the per-instruction counts into `Counters`."""
    sums: dict[str, int] = {}
    fields = ("requests", "sectors", "ideal", "wavefronts", "bank_conflicts")
    known = set(Counters.__dataclass_fields__)
    for one in accesses:
        for field in fields:
            name = f"{one.space.value}_{one.access.value}_{field}"
            if name in known:
                sums[name] = sums.get(name, 0) + int(getattr(one, field))
    return Counters(**sums, barriers=barriers, warp_instructions=warps, thread_instructions=threads)
