"""Shadow memory: who touched each granule last, which finds races and reads of what was never written.

A granule is the smallest element that any instruction of the kernel moves in that space. Each granule remembers a
key of its last write and of two reads by different threads. A key holds when (the step of the machine) and who:

    step << 34 | scope << 32 | thread        thread = block number * padded block size + thread number

The scope is 0 for a plain access, else that within which it is atomic (`form.Scope`). Two accesses of one block are
ordered where a barrier lies between them, which is one comparison of keys: the earlier key is not above the key
of the block's last barrier. What orders accesses of different blocks is in `order.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

STEP_SHIFT = 34
SCOPE_SHIFT = 32
THREAD_MASK = np.int64((1 << 32) - 1)
FIRST = np.int64(1 << STEP_SHIFT)
# Written by an earlier launch: initialised, and no party to a race.
PRIOR = np.int64(1)


@dataclass(frozen=True, slots=True)
class Actors:
    """Who makes an access: per lane its thread number and the key of its block's last barrier."""

    threads: Array
    barriers: Array
    step: int
    scope: int

    @property
    def keys(self) -> Array:
        base = np.int64((self.step << STEP_SHIFT) + (self.scope << SCOPE_SHIFT))
        keys: Array = self.threads + base
        return keys


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Positions (into the lanes given) that conflict with an earlier access, and that access's key."""

    positions: Array
    keys: Array


class Shadow:
    """Shadow of `granules` granules. `block_threads` is 0 where memory belongs to one block (shared memory).

    `cluster` is the number of blocks that the scope of a cluster holds.
    """

    def __init__(self, granules: int, block_threads: int, cluster: int = 1) -> None:
        self.cluster = cluster
        self.writes: Array = np.zeros(granules, dtype=np.int64)
        self.reads: Array = np.zeros(granules, dtype=np.int64)
        self.other_reads: Array = np.zeros(granules, dtype=np.int64)
        self.block_threads = block_threads

    def clear(self) -> None:
        self.writes[:] = 0
        self.reads[:] = 0
        self.other_reads[:] = 0

    def read(self, granules: Array, actors: Actors, track: bool) -> tuple[Conflicts | None, Array | None]:
        """Notes a read; returns conflicts with earlier writes, and positions never written (None: all were)."""
        previous = self.writes.take(granules)
        unwritten = None
        if not previous.all():
            unwritten = np.flatnonzero(previous == 0)
        conflicts = self._conflicts(previous, actors)
        if track:
            self._note_read(granules, actors)
        return conflicts, unwritten

    def _note_read(self, granules: Array, actors: Actors) -> None:
        before = self.reads.take(granules)
        keys = actors.keys
        fresh = not before.any()
        if not fresh:
            foreign = (before != 0) & ((before ^ keys) & THREAD_MASK != 0)
            if foreign.all():
                self.other_reads[granules] = before
            elif foreign.any():
                self.other_reads[granules[foreign]] = before[foreign]
        self.reads[granules] = keys
        lost = self.reads.take(granules) != keys
        if lost.any():
            # Several lanes read one granule at once: the winner is kept as the reader, one of the others too.
            self.other_reads[granules[lost]] = keys[lost]

    def write(self, granules: Array, actors: Actors, track: bool) -> tuple[list[Conflicts], Conflicts | None]:
        """Notes a write; returns conflicts with earlier accesses, and with other lanes of this instruction."""
        found = []
        sources = (self.writes, self.reads, self.other_reads) if track else (self.writes,)
        for source in sources:
            conflicts = self._conflicts(source.take(granules), actors)
            if conflicts is not None:
                found.append(conflicts)
        keys = actors.keys
        self.writes[granules] = keys
        if actors.scope:
            return found, None
        winners = self.writes.take(granules)
        lost = np.flatnonzero(winners != keys)
        return found, Conflicts(lost, winners[lost]) if len(lost) else None

    def _conflicts(self, previous: Array, actors: Actors) -> Conflicts | None:
        if self.block_threads == 0:
            recent = previous > actors.barriers
            if not recent.any():
                return None
        else:
            recent = previous >= FIRST
            if not recent.any():
                return None
            same_block = (
                previous & THREAD_MASK
            ) // self.block_threads == actors.threads // self.block_threads
            recent &= ~same_block | (previous > actors.barriers)
        recent &= (previous ^ actors.threads) & THREAD_MASK != 0
        if actors.scope:
            recent &= ~self._atomic_together(previous, actors)
        positions = np.flatnonzero(recent)
        return Conflicts(positions, previous[positions]) if len(positions) else None

    def _atomic_together(self, previous: Array, actors: Actors) -> Array:
        """Whether both accesses are atomic within a scope that holds both threads."""
        scopes = np.minimum((previous >> SCOPE_SHIFT) & 3, actors.scope)
        if self.block_threads == 0:
            return np.asarray(scopes > 0)
        mine, other = actors.threads // self.block_threads, (previous & THREAD_MASK) // self.block_threads
        needed = np.where(mine == other, 1, np.where(mine // self.cluster == other // self.cluster, 2, 3))
        return np.asarray(scopes >= needed)
