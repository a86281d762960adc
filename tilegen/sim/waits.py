"""Threads that wait for others: when they look again, and when nobody is left to wait for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.context import Context
from tilegen.sim.faults import FaultKind, LaunchOver
from tilegen.sim.prepare import Prepared
from tilegen.sim.spin import Aside, WaitLoop

Array = npt.NDArray[Any]
Registers = dict[str, Array]

# Rounds of waiting warps in which nothing changes but their registers, such as those that count the tries.
_MOST_ROUNDS = 1 << 14
# After so many turns, and every so many, a loop that does not look like a wait is watched going round once.
_PROBE_AFTER, _PROBE_EVERY = 1 << 12, 1 << 10


class Waits:
    """The waiting warps of a launch. `loops` are those that may be waits, by the branch that closes them."""

    def __init__(self, context: Context, prepared: Prepared) -> None:
        self.context, self.state = context, context.state
        self.loops = dict(prepared.wait_loops)
        self.aside = Aside()
        self.started = 0
        context.watched = bool(self.loops)
        self._last_writes: dict[int, int] = {}
        self._idle_rounds = 0
        self._progress: tuple[int, ...] = ()
        self._snapshot: Registers = {}
        self._probe: tuple[int, int, Array, Registers] | None = None
        self._next_probe = _PROBE_AFTER

    def begin(self, count: int) -> None:
        """So many more blocks start, in the place of the others."""
        self.started += count
        self.aside = Aside()
        self._idle_rounds = 0
        self._probe, self._next_probe = None, _PROBE_AFTER

    def close(self, pc: int, target: int, mask: Array, turn: int) -> bool:
        """Lanes close a loop with the branch at `pc`; whether they wait and have been put aside."""
        if pc not in self.loops and not (turn >= self._next_probe and self._goes_round(pc, mask, turn)):
            return False
        loop = self.loops.setdefault(pc, WaitLoop(target, True))
        if loop.changes:
            before, self._last_writes[pc] = self._last_writes.get(pc), self.context.writes
            if before != self.context.writes:
                return False
        self.aside.put(target, loop.poll, mask)
        return True

    def _goes_round(self, pc: int, mask: Array, turn: int) -> bool:
        """Whether lanes close a loop twice with the same registers and the same memory: only others can end it."""
        probe = self._probe
        if probe is None:
            self._probe = (pc, self.context.writes, mask, self._registers())
            return False
        if probe[0] != pc:
            if turn >= self._next_probe + _PROBE_EVERY:
                self._probe, self._next_probe = None, turn
            return False
        self._probe, self._next_probe = None, turn + _PROBE_EVERY
        same = (
            probe[1] == self.context.writes and np.array_equal(probe[2], mask) and self._unchanged(probe[3])
        )
        if same:
            self._last_writes[pc] = self.context.writes
        return same

    def next_round(self, releases: int) -> dict[int, Array]:
        """Everybody else has come to a stop: the lanes that go on now, by position.

        `releases` counts the barriers that have let threads go. Raises LaunchOver, with a fault for each loop,
        where nothing can change any more.
        """
        progress = (self.context.writes, self.context.local_writes, releases, self.state.live)
        self._idle_rounds = self._idle_rounds + 1 if progress == self._progress else 0
        self._progress = progress
        rounds = self._idle_rounds
        if rounds % 2 and self.aside.held:
            return self.aside.release_held()
        if rounds >= 4:
            if rounds & (rounds - 1) == 0:
                self._snapshot = self._registers()
            elif (
                (rounds - 1) & (rounds - 2) == 0 and self._unchanged(self._snapshot)
            ) or rounds > _MOST_ROUNDS:
                self._deadlock()
        return self.aside.release()

    def _registers(self) -> Registers:
        return {name: one.copy() for name, one in self.state.registers.items()}

    def _unchanged(self, before: Registers) -> bool:
        now = self.state.registers
        return now.keys() == before.keys() and all(
            np.array_equal(now[name], one) for name, one in before.items()
        )

    def _deadlock(self) -> None:
        state = self.state
        later = state.grid[0] * state.grid[1] * state.grid[2] - self.started
        note = "no thread that has started will change what they look at"
        if later:
            note += f"; {later} blocks have not started, and none may count on their starting"
        for target, mask in sorted(self.aside.spinning.items()):
            lanes = np.flatnonzero(mask)
            blocks = len(np.unique(state.lane_block[lanes]))
            thread = state.thread(int(state.thread_number[lanes[0]]))
            message = f"{len(lanes)} threads of {blocks} blocks wait for ever, {thread} for one: {note}"
            self.context.report(FaultKind.DEADLOCK, self.aside.polls[target], lanes, lanes, message)
        raise LaunchOver
