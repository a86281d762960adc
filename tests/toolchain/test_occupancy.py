"""Values as NVIDIA's occupancy calculator shows them, each derived by hand beside it."""

import pytest

from tilegen.analysis.metrics import Limit, occupancy
from tilegen.target import target


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "blocks", "fraction", "limits"),
    [
        # 8 warps a block, 64 a SM; 32 registers x 32 lanes = 1024 a warp, 16384 a partition: 16 warps x 4 = 64.
        ("sm_90", 256, 32, 0, 8, 1.0, (Limit.WARPS, Limit.REGISTERS)),
        # 64 x 32 = 2048 a warp: 8 a partition, 32 warps, 4 blocks.
        ("sm_90", 256, 64, 0, 4, 0.5, (Limit.REGISTERS,)),
        # 33 registers round up to 40 (1056 -> 1280): 12 a partition, 48 warps, 6 blocks.
        ("sm_90", 256, 33, 0, 6, 0.75, (Limit.REGISTERS,)),
        # 72 registers: 2304 a warp; 16384 // 2304 = 7 a partition, 28 warps, 3 blocks (65536 // 2304 = 28 too).
        ("sm_90", 256, 72, 0, 3, 0.375, (Limit.REGISTERS,)),
        # 96 registers: 3072; 5 a partition, 20 warps; one block of 20 warps fits (65536 // 3072 = 21 would mislead).
        ("sm_90", 672, 96, 0, 0, 0.0, (Limit.REGISTERS,)),
        # 32 threads: at most 32 blocks of one warp each.
        ("sm_90", 32, 16, 0, 32, 0.5, (Limit.BLOCKS,)),
        # 64 x 64 floats = 16384 + 1024 reserved = 17408; 233472 // 17408 = 13 blocks, but 8 by warps.
        ("sm_90", 256, 32, 16384, 8, 1.0, (Limit.WARPS, Limit.REGISTERS)),
        # 49152 + 1024 = 50176; 233472 // 50176 = 4.
        ("sm_90", 256, 32, 49152, 4, 0.5, (Limit.SHARED,)),
        # The most that a block may have fills the SM.
        ("sm_90", 256, 32, 232448, 1, 0.125, (Limit.SHARED,)),
        ("sm_90", 256, 32, 232449, 0, 0.0, (Limit.SHARED,)),
        # 1024 threads with 65 registers: rounds to 72, 2304 x 32 = 73728 > 65536, refused at launch.
        ("sm_90", 1024, 65, 0, 0, 0.0, (Limit.REGISTERS,)),
        ("sm_90", 1024, 64, 0, 1, 0.5, (Limit.REGISTERS,)),
        # Turing holds 32 warps: 256 threads give 4 blocks.
        ("sm_75", 256, 32, 0, 4, 1.0, (Limit.WARPS,)),
        # 8.6 holds 48 warps and 16 blocks: 64 threads give 16 blocks, 32 warps.
        ("sm_86", 64, 32, 0, 16, 32 / 48, (Limit.BLOCKS,)),
        # Ampere, 48 KiB: 164 KiB // 49 KiB = 3.
        ("sm_80", 256, 32, 49152, 3, 0.375, (Limit.SHARED,)),
        # Volta reserves nothing: 96 KiB // 48 KiB = 2.
        ("sm_70", 256, 32, 49152, 2, 0.25, (Limit.SHARED,)),
        # 33 threads are two warps.
        ("sm_90", 33, 32, 0, 32, 1.0, (Limit.WARPS, Limit.BLOCKS, Limit.REGISTERS)),
    ],
)
def test_known_values(
    name: str,
    threads: int,
    registers: int,
    shared: int,
    blocks: int,
    fraction: float,
    limits: tuple[Limit, ...],
) -> None:
    got = occupancy(target(name), threads=threads, registers=registers, shared_bytes=shared)
    assert (got.blocks_per_sm, got.fraction, got.limits) == (blocks, pytest.approx(fraction), limits)


def test_block_sizes_no_launch_may_have() -> None:
    with pytest.raises(ValueError, match="1025 threads per block; sm_90 allows 1 to 1024"):
        occupancy(target("sm_90"), threads=1025, registers=32)
    with pytest.raises(ValueError, match="0 threads"):
        occupancy(target("sm_90"), threads=0, registers=32)
    with pytest.raises(ValueError, match="cannot be negative"):
        occupancy(target("sm_90"), threads=32, registers=-1)
