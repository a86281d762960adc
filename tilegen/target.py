"""The GPU architectures a kernel can be made for, and their limits. Imports nothing of CUDA.

Sources: CUDA Programming Guide, section "Compute Capabilities", tables "Technical Specifications" and
"Shared Memory Capacity"; the same numbers as code in libcu++ `cuda/__device/arch_traits.h`; allocation
units, blocks per SM and sub-partitions from `cuda_occupancy.h` of CUDA 13. Capabilities whose numbers
NVIDIA has not published in full (10.7) are left out rather than guessed.
"""

from __future__ import annotations

import re

from tilegen.frozen import dataclass

KIB = 1024


class TargetError(ValueError):
    """The name of a target is malformed, or no such target is known."""


@dataclass(frozen=True, slots=True)
class Target:
    """One GPU architecture. Sizes in bytes, registers of 32 bits; `per_sm` is per multiprocessor."""

    name: str
    """As NVRTC takes it after `-arch=`: `sm_90`, `sm_90a`."""
    major: int
    minor: int
    warps_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    registers_per_block: int
    shared_bytes_per_sm: int
    shared_bytes_opt_in: int
    """The most one block may have, static and dynamic together, once the kernel's attribute is set."""
    reserved_shared_bytes: int
    """Taken by the system from each resident block (1 KiB from capability 8.0 on)."""
    shared_allocation_bytes: int
    """Shared memory of a block is rounded up to a multiple of this."""
    sub_partitions: int
    """Schedulers of an SM, each with an equal share of the registers and the warps."""
    parameter_bytes: int
    """The most a kernel's parameters may take: 32764 from 7.0 with CUDA 12.1 or later, else 4096."""
    sm_count: int | None = None
    """Multiprocessors of the part usually met with this capability; None where none is typical."""
    bytes_in_flight: int | None = None
    """Bytes per SM that must be on their way to saturate memory, as reported for that part; a hint."""
    l2_bytes: int | None = None
    """L2 of that part, where `auto` has rules that were measured on it."""
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    registers_per_thread: int = 255
    least_register_cap: int = 24
    """ptxas of CUDA 13 raises a cap below to this, for every architecture it knows, with a warning."""
    register_allocation_unit: int = 256
    """Registers of a warp are rounded up to a multiple of this."""
    shared_bytes_default: int = 48 * KIB
    """What one block may have without the attribute, and the limit of static shared memory."""
    constant_bytes: int = 64 * KIB

    @property
    def capability(self) -> tuple[int, int]:
        return self.major, self.minor

    @property
    def virtual(self) -> str:
        """The virtual architecture, `compute_90`."""
        return self.name.replace("sm_", "compute_", 1)

    @property
    def max_threads_per_sm(self) -> int:
        return self.warps_per_sm * self.warp_size

    def __str__(self) -> str:
        return self.name


# capability: warps/SM, blocks/SM, shared KiB/SM, opt-in KiB, typical SMs (and part), KiB in flight
_TABLE: dict[int, tuple[int, int, int, int, int | None, int | None]] = {
    50: (64, 32, 64, 48, None, None),
    52: (64, 32, 96, 48, None, None),
    53: (64, 32, 64, 48, None, None),
    60: (64, 32, 64, 48, 56, None),  # P100
    61: (64, 32, 96, 48, None, None),
    62: (64, 32, 64, 48, None, None),
    70: (64, 32, 96, 96, 80, 12),  # V100
    72: (64, 32, 96, 96, None, None),
    75: (32, 16, 64, 64, 40, None),  # T4
    80: (64, 32, 164, 163, 108, 16),  # A100
    86: (48, 16, 100, 99, None, None),
    87: (48, 16, 164, 163, None, None),
    88: (48, 16, 100, 99, None, None),
    89: (48, 24, 100, 99, None, None),
    90: (64, 32, 228, 227, 132, 48),  # H200; an H100 is reported to need 32 KiB
    100: (64, 32, 228, 227, 148, 64),  # B200
    103: (64, 32, 228, 227, None, None),
    110: (48, 24, 228, 227, None, None),
    120: (48, 24, 100, 99, None, None),
    121: (48, 24, 100, 99, None, None),
}

_L2_BYTES = {90: 50 * KIB * KIB}

# Architecture-specific (a) and family-specific (f) variants and the first capability that has each.
_SUFFIX_FROM = {"": 0, "a": 90, "f": 100}

_NAME = re.compile(r"(?:sm_|compute_)?(\d{2,3}|\d{1,2}\.\d)([af]?)", re.ASCII)


# What code is made for where no GPU says otherwise.
DEFAULT_TARGET = "sm_90"


def known_targets() -> tuple[Target, ...]:
    """Every target without a suffix, by rising capability."""
    return tuple(_target(number, "") for number in _TABLE)


def target(name: str) -> Target:
    """The target called `name`: `sm_90`, `90`, `9.0`, `compute_90`, `sm_90a`.

    Raises TargetError, which lists the targets there are and the nearest one below.
    """
    match = _NAME.fullmatch(name.strip().lower())
    names = ", ".join(f"sm_{number}" for number in _TABLE)
    if match is None:
        raise TargetError(f"'{name}' is not the name of a target; write one of {names}")
    number, suffix = int(match[1].replace(".", "")), match[2]
    if number not in _TABLE:
        raise TargetError(f"unknown target '{name}'; nearest is sm_{_nearest(number)}; known are {names}")
    if number < _SUFFIX_FROM[suffix]:
        raise TargetError(
            f"unknown target '{name}': variants with '{suffix}' begin at sm_{_SUFFIX_FROM[suffix]}; write sm_{number}"
        )
    return _target(number, suffix)


def _nearest(number: int) -> int:
    """The highest known capability not above `number`: its code is what a newer device can still run."""
    return max((known for known in _TABLE if known <= number), default=min(_TABLE))


def _target(number: int, suffix: str) -> Target:
    warps, blocks, shared, opt_in, sm_count, in_flight = _TABLE[number]
    ampere_on = number >= 80
    return Target(
        name=f"sm_{number}{suffix}",
        major=number // 10,
        minor=number % 10,
        warps_per_sm=warps,
        blocks_per_sm=blocks,
        registers_per_sm=64 * KIB,
        # Half the register file on the two embedded parts (Jetson TX1 and TX2).
        registers_per_block=32 * KIB if number in (53, 62) else 64 * KIB,
        shared_bytes_per_sm=shared * KIB,
        shared_bytes_opt_in=opt_in * KIB,
        reserved_shared_bytes=1 * KIB if ampere_on else 0,
        shared_allocation_bytes=128 if ampere_on else 256,
        sub_partitions=2 if number == 60 else 4,
        parameter_bytes=32764 if number >= 70 else 4096,
        sm_count=sm_count,
        bytes_in_flight=None if in_flight is None else in_flight * KIB,
        l2_bytes=_L2_BYTES.get(number),
    )
