"""The barrier of a cluster: who waits at it, and when it completes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.context import Context
from tilegen.sim.faults import FaultKind
from tilegen.sim.phases import Phases

Array = npt.NDArray[Any]
Go = Callable[[int, Array], None]


def is_cluster_barrier(parts: tuple[str, ...]) -> bool:
    """Whether an instruction is `barrier.cluster.arrive` or `barrier.cluster.wait`, in a form that is known."""
    if parts[:2] != ("barrier", "cluster") or len(parts) < 3:
        return False
    known = {"arrive": {"aligned", "release", "relaxed"}, "wait": {"aligned", "acquire"}}
    return set(parts[3:]) <= known.get(parts[2], set()) and parts[2] in known


class ClusterBarriers:
    """Threads that wait at `barrier.cluster.wait`, by position; `go` and `end` as in `BlockBarriers`."""

    def __init__(self, context: Context) -> None:
        self.context, self.state = context, context.state
        self.waiting: dict[int, Array] = {}

    @property
    def _phases(self) -> Phases:
        assert self.context.phases is not None
        return self.context.phases

    def execute(self, pc: int, mask: Array, go: Go) -> None:
        """An arrival or a wait by these lanes."""
        program, phases = self.state.program, self._phases
        parts = program.instructions[pc].parts
        if parts[2] == "arrive":
            mask = self._allowed(
                pc, mask, phases.arrived == phases.passed, "arrives twice without a wait at", go
            )
            phases.arrive(np.flatnonzero(mask), self.context.barrier_key(pc), "relaxed" in parts)
            go(program.follows[pc], mask)
            return
        mask = self._allowed(pc, mask, phases.arrived > phases.passed, "waits without having arrived at", go)
        if mask.any():
            there = self.waiting.get(pc)
            self.waiting[pc] = mask if there is None else there | mask

    def _allowed(self, pc: int, mask: Array, allowed: Array, what: str, go: Go) -> Array:
        """The lanes that may do what they do; others are reported and go on."""
        wrong = mask & ~allowed
        if wrong.any():
            lanes = np.flatnonzero(wrong)
            thread = self.state.thread(int(self.state.thread_number[lanes[0]]))
            self.context.report(
                FaultKind.BARRIER_DIVERGED, pc, lanes, lanes, f"{thread} {what} the barrier of its cluster"
            )
            go(self.state.program.follows[pc], wrong)
        return mask & allowed

    def release(self, go: Go) -> bool:
        """Lets go the waiting threads of every cluster whose live threads have all arrived."""
        if not self.waiting:
            return False
        phases, released = self._phases, np.zeros(self.state.lanes, dtype=np.bool_)
        least = phases.least_arrived()
        for pc in sorted(self.waiting):
            mask = self.waiting.pop(pc)
            ready = mask & (least >= phases.arrived)
            if (mask & ~ready).any():
                self.waiting[pc] = mask & ~ready
            if ready.any():
                released |= ready
                go(self.state.program.follows[pc], ready)
        if not released.any():
            return False
        phases.passed[released] += 1
        if self.context.checks:
            self.context.order.cluster_barrier(np.flatnonzero(released), phases)
        return True

    def abandon(self, end: Callable[[Array], None]) -> None:
        """Nobody else can run: the waits never end."""
        for pc, mask in sorted(self.waiting.items()):
            lanes = np.flatnonzero(mask)
            message = "not all threads of the cluster ever arrive at its barrier"
            self.context.report(FaultKind.DEADLOCK, pc, lanes, lanes, message)
            end(mask)
        self.waiting = {}
