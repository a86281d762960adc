"""Theoretical occupancy: how many blocks of a kernel an SM can hold at once, and what stops one more.

Formula: `cudaOccMaxActiveBlocksPerMultiprocessor` in NVIDIA's `cuda_occupancy.h` (CUDA 13), with the
shared-memory carve-out at its largest, which is what the driver picks when blocks need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

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
