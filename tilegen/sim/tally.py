"""Running counts of one memory instruction, by the rules of `sim/counters.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import counters
from tilegen.sim.form import Form
from tilegen.sim.report import Access, Space
from tilegen.sim.state import Group

Array = npt.NDArray[Any]

# Lanes of an access whose counts are kept.
_FEW = 1 << 11


@dataclass(slots=True)
class Tally:
    """Running counts of one static instruction in one space."""

    requests: int = 0
    lanes: int = 0
    sectors: int = 0
    ideal: int = 0
    wavefronts: int = 0
    groups: int = 0
    bank_conflicts: int = 0

    def add(self, space: Space, addresses: Array, group: Group, index: Array | None, form: Form) -> None:
        """Counts one execution by a group of lanes."""
        if index is None:
            rows, active = addresses.reshape(-1, 32), group.mask.reshape(-1, 32)
        else:
            active = group.mask.reshape(-1, 32)[group.rows]
            placed = np.zeros(active.size, dtype=np.int64)
            placed[group.compact] = addresses
            rows = placed.reshape(-1, 32)
        self.requests += len(rows)
        self.lanes += group.count
        if space is Space.LOCAL or form.access is Access.ATOMIC:
            # The hardware interleaves local memory by lane. What atomics cost has not been measured.
            return
        if rows.size <= _FEW:
            # Only distances count, past whole wavefronts: the like is met again and again in unrolled code.
            near = (rows - (rows[0, 0] & ~127)).tobytes()
            counts = _few_counts(space is Space.SHARED, near, active.tobytes(), form.bytes, form.access)
        else:
            counts = _counts(space is Space.SHARED, rows, active, form.bytes, form.access)
        sectors, ideal, wavefronts, groups, bank_conflicts = counts
        self.sectors += sectors
        self.ideal += ideal
        self.wavefronts += wavefronts
        self.groups += groups
        self.bank_conflicts += bank_conflicts


def _counts(
    shared: bool, rows: Array, active: Array, bytes: int, access: Access
) -> tuple[int, int, int, int, int]:
    """Sectors, ideal, wavefronts, groups and bank conflicts of one access by these warps."""
    if not shared:
        sectors = int(counters.global_sectors(rows, active, bytes).sum())
        return sectors, int(counters.global_ideal(active, bytes).sum()), 0, 0, 0
    wavefronts = counters.shared_wavefronts(rows, active, bytes, access is Access.LOAD)
    groups = counters.access_groups(active, bytes)
    ideal = int(counters.shared_ideal(active, bytes, wavefronts).sum())
    conflicts = int(np.maximum(wavefronts - groups, 0).sum())
    return 0, ideal, int(wavefronts.sum()), int(groups.sum()), conflicts


@lru_cache(maxsize=1 << 11)
def _few_counts(
    shared: bool, rows: bytes, active: bytes, width: int, access: Access
) -> tuple[int, int, int, int, int]:
    addresses = np.frombuffer(rows, dtype=np.int64).reshape(-1, 32)
    return _counts(shared, addresses, np.frombuffer(active, dtype=np.bool_).reshape(-1, 32), width, access)
