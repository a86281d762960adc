"""The metrics of an expectation that are known without a GPU, from one simulated run; and theoretical occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tilegen.analysis.demand import (
    SECTOR,
    distinct_sectors,
    elements_read,
    elements_written,
    flops,
)
from tilegen.numpy_types import Array
from tilegen.program import Program
from tilegen.run.outcome import Run
from tilegen.target import Target


class Limit(Enum):
    """What keeps another block from being resident."""

    WARPS = "warps per SM"
    BLOCKS = "blocks per SM"
    REGISTERS = "registers"
    SHARED = "shared memory"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks and warps resident on one SM; `fraction` is of the warps the SM could hold."""

    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    limits: tuple[Limit, ...]
    """All that bind equally, in the order of `Limit`. With 0 blocks: what the launch would be refused for."""


def occupancy(target: Target, *, threads: int, registers: int, shared_bytes: int = 0) -> Occupancy:
    """Occupancy of blocks of `threads` threads with `registers` registers each.

    `shared_bytes` is static and dynamic together, without what the system reserves. A kernel that
    cannot run at all (too many registers or bytes for one block) has 0 blocks; a block size that no
    launch may have raises ValueError, as do negative numbers.
    """
    if not 1 <= threads <= target.max_threads_per_block:
        raise ValueError(f"{threads} threads per block; {target} allows 1 to {target.max_threads_per_block}")
    if registers < 0 or shared_bytes < 0:
        raise ValueError(f"registers ({registers}) and shared bytes ({shared_bytes}) cannot be negative")
    warps = -(-threads // target.warp_size)
    by_limit = {
        Limit.WARPS: target.warps_per_sm // warps,
        Limit.BLOCKS: target.blocks_per_sm,
        Limit.REGISTERS: _blocks_by_registers(target, warps, registers),
        Limit.SHARED: _blocks_by_shared(target, shared_bytes),
    }
    blocks = min(by_limit.values())
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_sm=blocks * warps,
        fraction=blocks * warps / target.warps_per_sm,
        limits=tuple(limit for limit, count in by_limit.items() if count == blocks),
    )


def _blocks_by_registers(target: Target, warps: int, registers: int) -> int:
    if registers == 0:
        return target.blocks_per_sm
    per_warp = _round_up(registers * target.warp_size, target.register_allocation_unit)
    # The launch check assumes that each of four sub-partitions holds as many warps as the fullest
    # (also on capability 6.0, which has two: what 6.1 refuses, all of Pascal refuses).
    checked = per_warp * _round_up(warps, 4)
    if registers > target.registers_per_thread or checked > target.registers_per_block:
        return 0
    # A warp's registers all lie in one sub-partition, so what is left over in each is lost.
    warps_per_partition = target.registers_per_sm // target.sub_partitions // per_warp
    return warps_per_partition * target.sub_partitions // warps


def _blocks_by_shared(target: Target, shared_bytes: int) -> int:
    if shared_bytes > target.shared_bytes_opt_in:
        return 0
    allocated = _round_up(shared_bytes + target.reserved_shared_bytes, target.shared_allocation_bytes)
    return target.shared_bytes_per_sm // allocated if allocated else target.blocks_per_sm


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


MEASURED = frozenset({"bandwidth", "time"})


@dataclass(frozen=True, slots=True)
class Metrics:
    """Of one launch. `ideal_*`: distinct sectors that hold the elements which must be read or written. `spills`,
    `shared_bytes`, `bytes_moved` in bytes; `occupancy` a fraction; `arithmetic_intensity` in FLOP per byte moved.

    Efficiencies and ratios of nothing (no sector, no request) are 1 and 0. A kernel that was not launched has zeros.
    """

    load_sectors: int = 0
    store_sectors: int = 0
    ideal_load_sectors: int = 0
    ideal_store_sectors: int = 0
    load_requests: int = 0
    store_requests: int = 0
    bank_conflicts: int = 0
    registers: int = 0
    spills: int = 0
    shared_bytes: int = 0
    occupancy: float = 0.0
    flops: int = 0

    @property
    def load_efficiency(self) -> float:
        return self.ideal_load_sectors / self.load_sectors if self.load_sectors else 1.0

    @property
    def store_efficiency(self) -> float:
        return self.ideal_store_sectors / self.store_sectors if self.store_sectors else 1.0

    @property
    def load_sectors_per_request(self) -> float:
        return self.load_sectors / self.load_requests if self.load_requests else 0.0

    @property
    def store_sectors_per_request(self) -> float:
        return self.store_sectors / self.store_requests if self.store_requests else 0.0

    @property
    def bytes_moved(self) -> int:
        return (self.load_sectors + self.store_sectors) * SECTOR

    @property
    def arithmetic_intensity(self) -> float:
        return self.flops / self.bytes_moved if self.bytes_moved else 0.0

    def value(self, metric: str) -> float:
        """By the language's name. KeyError for one that is measured or does not exist."""
        if metric not in METRICS:
            raise KeyError(metric)
        return float(getattr(self, metric))

    def ideal(self, metric: str) -> float:
        """What `ideal` stands for beside this metric."""
        return float(
            {"load_sectors": self.ideal_load_sectors, "store_sectors": self.ideal_store_sectors}[metric]
        )

    def as_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in METRICS}


METRICS = (
    "load_sectors",
    "store_sectors",
    "load_efficiency",
    "store_efficiency",
    "load_sectors_per_request",
    "store_sectors_per_request",
    "bank_conflicts",
    "registers",
    "spills",
    "shared_bytes",
    "occupancy",
    "bytes_moved",
    "arithmetic_intensity",
)


def metrics(program: Program, run: Run, arrays: Mapping[str, Array]) -> Metrics:
    """All metrics of a simulated run on the logical `arrays`."""
    if run.shape is None or run.report is None or run.resources is None:
        return Metrics()
    arguments, counters = run.arguments, run.report.counters
    reads = elements_read(program.kernel, arguments.sizes, arrays, arguments.scalars)
    shared = run.resources.static_shared_bytes + run.shape.dynamic_shared
    resident = occupancy(
        program.target, threads=run.shape.threads, registers=run.resources.registers, shared_bytes=shared
    )
    return Metrics(
        load_sectors=counters.global_load_sectors,
        store_sectors=counters.global_store_sectors,
        ideal_load_sectors=distinct_sectors(reads, arguments.layouts, run.addresses),
        ideal_store_sectors=distinct_sectors(elements_written(run.written), arguments.layouts, run.addresses),
        load_requests=counters.global_load_requests,
        store_requests=counters.global_store_requests,
        bank_conflicts=counters.bank_conflicts,
        registers=run.resources.registers,
        spills=run.resources.spill_store_bytes + run.resources.spill_load_bytes,
        shared_bytes=shared,
        occupancy=resident.fraction,
        flops=flops(program.kernel, arguments.sizes),
    )
