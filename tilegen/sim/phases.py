"""How far each thread has come with the barriers of its cluster, and what that orders.

Phases follow each other in step: no thread arrives for one before all others of its cluster have passed the phase
before the last. So three phases of arrival times say what a thread that has passed one may count on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.state import State

Array = npt.NDArray[Any]


class Phases:
    """Per lane: phases arrived for and passed, and keys (`shadow.py`) of its last arrivals and of its last fence.

    `remote[r]` holds the key of each lane's last access to the shared memory of the block of rank r.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.arrived = np.zeros(state.lanes, dtype=np.int64)
        self.passed = np.zeros(state.lanes, dtype=np.int64)
        self.fenced = np.zeros(state.lanes, dtype=np.int64)
        self._arrivals = np.zeros((3, state.lanes), dtype=np.int64)
        self.remote = np.zeros((state.cluster, state.lanes), dtype=np.int64)

    def begin(self) -> None:
        for one in (self.arrived, self.passed, self.fenced, self._arrivals, self.remote):
            one[:] = 0

    def arrive(self, lanes: Array, key: int, relaxed: bool) -> None:
        """A relaxed arrival orders only what a fence before it has made visible, and what earlier phases did."""
        before = self.arrivals(lanes, lanes, self.arrived)
        self.arrived[lanes] += 1
        released = np.maximum(before, self.fenced[lanes]) if relaxed else key
        self._arrivals[self.arrived[lanes] % 3, lanes] = released

    def arrivals(self, lanes: Array, others: Array, phases: Array) -> Array:
        """Keys that the arrivals of other lanes cover, in the phases of the lanes."""
        # A thread that has ended arrives no more.
        keys: Array = self._arrivals[np.minimum(phases[lanes], self.arrived[others]) % 3, others]
        return keys

    def least_arrived(self) -> Array:
        """For each lane the phase that all live threads of its cluster have arrived for."""
        size = self.state.cluster * self.state.padded
        live = np.where(self.state.alive, self.arrived, np.int64(1 << 40)).reshape(-1, size)
        return np.repeat(live.min(axis=1), size)

    def ordered(self, lanes: Array, others: Array, keys: Array) -> Array:
        """Whether accesses by other threads of the launch lie before a phase that the lanes have passed."""
        state = self.state
        others = others - state.first_block * state.padded
        size = state.cluster * state.padded
        near = (others >= 0) & (others // size == lanes // size)
        found = np.zeros(len(lanes), dtype=np.bool_)
        found[near] = keys[near] < self.arrivals(lanes[near], others[near], self.passed)
        return found

    def unfinished(self, block: int) -> Array:
        """Lanes of other blocks whose last access to the memory of a block that ends is not before its end."""
        state = self.state
        first = block - block % state.cluster
        lanes = np.arange(first * state.padded, (first + state.cluster) * state.padded)
        lanes = lanes[state.lane_block[lanes] != block]
        keys = self.remote[block % state.cluster, lanes]
        own = np.arange(block * state.padded, block * state.padded + state.threads)
        # The memory lasts as long as the block's last thread.
        latest = own[np.argmax(self.passed[own])]
        covered = self.arrivals(np.full(len(lanes), latest), lanes, self.passed)
        late: Array = lanes[(keys > 0) & (keys >= covered)]
        return late
