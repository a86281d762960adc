"""The shape of a launch and its limits, checked before the driver sees it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilegen.program import LaunchShape
from tilegen.run.errors import LaunchError
from tilegen.run.scratch import ScratchMemory, scratch_memory
from tilegen.target import Target

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
