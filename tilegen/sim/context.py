"""What a launch's instructions share: memory, checks, and the faults they find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.bounds import Bounds
from tilegen.sim.faults import Fault, FaultKind
from tilegen.sim.form import Form, Scope
from tilegen.sim.memory import Allocation, Memory
from tilegen.sim.order import Order
from tilegen.sim.phases import Phases
from tilegen.sim.provenance import Provenance
from tilegen.sim.report import Access, AccessCounters, Space
from tilegen.sim.shadow import FIRST, PRIOR, STEP_SHIFT, THREAD_MASK, Actors, Conflicts, Shadow
from tilegen.sim.state import State

Array = npt.NDArray[Any]


class Context(Bounds):
    """Checks every access of a launch and keeps the shadow memories.

    `writable` are the allocations (by position) that the kernel may store to: reads of the others need not be
    remembered.
    """

    def __init__(
        self,
        state: State,
        memory: Memory,
        constants: Array,
        parameters: Array,
        provenance: Provenance,
        writable: set[int],
        checks: bool,
    ) -> None:
        super().__init__(state, memory, constants, parameters)
        # What the memory instruction at each position has counted, asked for at the end.
        self.counted: dict[int, Callable[[], list[AccessCounters]]] = {}
        self.checks = checks
        # Stores and atomics, where `watched` only those that changed something: a wait goes on until there is one more.
        self.writes = self.local_writes = 0
        self.watched = False
        self.step = 0
        self.step_pc: list[int] = [0]
        self.shared_shift, self.global_shift = provenance.granules
        self.provenance = provenance
        self.writable = writable
        uses_clusters = state.cluster > 1 or any("cluster" in one.parts for one in state.program.instructions)
        self.phases = Phases(state) if uses_clusters else None
        if checks:
            granules = (
                max(1, len(state.shared) >> self.shared_shift),
                (len(memory.arena) >> self.global_shift) + 1,
            )
            self.shared_shadow = Shadow(granules[0], state.padded if state.cluster > 1 else 0, state.cluster)
            self.global_shadow = Shadow(granules[1], state.padded, state.cluster)
            self.order = Order(state, granules[1], granules[0])
            self._recall()

    def begin(self) -> None:
        """Other blocks take the lanes: shared memory is theirs and holds nothing."""
        if self.checks:
            self.shared_shadow.clear()
            self.order.begin()
        if self.phases is not None:
            self.phases.begin()

    def _recall(self) -> None:
        """What earlier launches have stored counts as initialised."""
        size = 1 << self.global_shift
        for one in self.memory.allocations:
            if not one.initialised and one.size:
                first, last = self._granules(one)
                stored = self.memory.stored[first * size : last * size].reshape(-1, size).any(axis=1)
                self.global_shadow.writes[first:last][stored] = PRIOR

    def _granules(self, one: Allocation) -> tuple[int, int]:
        return one.start >> self.global_shift, -(-(one.start + one.size) >> self.global_shift)

    def finish(self) -> None:
        """Tells the memory which bytes were stored."""
        if not self.checks:
            return
        size = 1 << self.global_shift
        for one in self.memory.allocations:
            if one.size:
                first, last = self._granules(one)
                touched = np.repeat(self.global_shadow.writes[first:last] >= FIRST, size)
                offset = one.start - first * size
                self.memory.stored[one.start : one.start + one.size] |= touched[offset : offset + one.size]

    def next_step(self, pc: int) -> int:
        self.step += 1
        self.step_pc.append(pc)
        return self.step

    def barrier_key(self, pc: int) -> int:
        """The key that every access so far is not above, and every later one is."""
        return self.next_step(pc) << STEP_SHIFT

    def check(
        self, space: Space, addresses: Array, index: Array | None, form: Form, pc: int, bases: Array | None
    ) -> None:
        """Races and reads of what was never written; addresses are in bounds and aligned.

        `bases` are where the shared memory of each lane's block lies, or of the other block that it reaches.
        """
        state = self.state
        writes = form.access is not Access.LOAD
        if not self.checks:
            if space is Space.GLOBAL and writes:
                flat = self.backing(addresses)
                for byte in range(form.bytes):
                    self.memory.stored[flat + byte] = True
            return
        threads = state.thread_number if index is None else state.thread_number[index]
        step = self.next_step(pc)
        if space is Space.GLOBAL:
            known = self.allocation >= 0
            written_to = not known or self.allocation in self.writable
            fresh = not known or not self.memory.allocations[self.allocation].initialised
            if not writes and not written_to and not fresh:
                return
            if writes and known:
                self.writable.add(self.allocation)
            shadow, shift = self.global_shadow, self.global_shift
            granules = self.backing(addresses) >> shift
        else:
            written_to = fresh = True
            shadow, shift = self.shared_shadow, self.shared_shift
            assert bases is not None
            granules = (addresses + bases) >> shift
        barriers = state.barrier_key if index is None else state.barrier_key[index]
        # Volatile shared memory is what code before __syncwarp() used in its place: no order, and no atomic.
        atomic = form.scope if space is Space.GLOBAL or form.relaxed else 0
        actors = Actors(threads, barriers, step, atomic)
        for part in range(max(1, form.bytes >> shift)):
            at = granules if part == 0 else granules + part
            if writes:
                if form.access is Access.ATOMIC and fresh:
                    self._unwritten(space, np.flatnonzero(shadow.writes.take(at) == 0), addresses, index, pc)
                found, same = shadow.write(at, actors, written_to)
                for conflicts in found:
                    self._race(space, conflicts, addresses, index, pc)
                if same is not None:
                    self._race(space, same, addresses, index, pc)
            else:
                conflict, unwritten = shadow.read(at, actors, written_to)
                if conflict is not None:
                    self._race(space, conflict, addresses, index, pc)
                if unwritten is not None and fresh:
                    self._unwritten(space, unwritten, addresses, index, pc)
            if atomic or (writes and self.order.active):
                lanes = state.lane_number if index is None else index
                if atomic:
                    self.order.access(space is Space.SHARED, at, lanes, form, step)
                else:
                    self.order.overwrite(space is Space.SHARED, at)

    def fence(self, lanes: Array, scope: Scope, pc: int) -> None:
        """A memory fence by these lanes."""
        if self.checks:
            step = self.next_step(pc)
            self.order.fence(lanes, scope, step)
            if self.phases is not None and scope >= Scope.CLUSTER:
                self.phases.fenced[lanes] = step << STEP_SHIFT

    def remote(self, lanes: Array, blocks: Array, addresses: Array, pc: int, signals: bool) -> Array:
        """Which lanes may reach the shared memory of these blocks of the chunk, by `addresses` within it.

        A write that `signals` may be what the other block waits for before it ends, and is not asked to precede that.
        """
        state, phases = self.state, self.phases
        assert phases is not None
        ended = ~np.any(state.alive.reshape(-1, state.padded)[blocks], axis=1)
        early = phases.passed[lanes] == 0
        for wrong, why in (
            (ended, "has ended"),
            (early & ~ended, "may not have started: no barrier of the cluster lies before"),
        ):
            if wrong.any():
                self._remote_fault(pc, lanes[wrong], int(blocks[wrong][0]), addresses[wrong], why)
        if not signals:
            phases.remote[blocks % state.cluster, lanes] = self.barrier_key(pc)
        return np.asarray(~ended)

    def exit(self, lanes: Array) -> None:
        """Threads of a cluster end: nobody may still reach for the memory of a block that ends."""
        state, phases = self.state, self.phases
        assert phases is not None
        for block in np.unique(state.lane_block[lanes]).tolist() if phases.remote.any() else ():
            if not state.alive[block * state.padded : (block + 1) * state.padded].any():
                late = phases.unfinished(block)
                keys = phases.remote[block % state.cluster, late]
                if self.checks and len(late):
                    ends = lanes[state.lane_block[lanes] == block]
                    left = ~self.order.covers_for_any(ends, state.thread_number[late], keys)
                    late, keys = late[left], keys[left]
                for pc in np.unique(np.array(self.step_pc)[keys >> STEP_SHIFT]).tolist():
                    of_pc = late[np.array(self.step_pc)[keys >> STEP_SHIFT] == pc]
                    why = "may have ended: no barrier of the cluster lies between this and its end"
                    self._remote_fault(pc, of_pc, block, of_pc * 0, why)

    def _remote_fault(self, pc: int, lanes: Array, block: int, addresses: Array, why: str) -> None:
        state = self.state
        me = state.thread(int(state.thread_number[lanes[0]]))
        other = state.thread(int(state.thread_number[block * state.padded]))
        message = f"{me} reaches for the shared memory of block {other.block}, which {why}"
        self.report(FaultKind.REMOTE_SHARED, pc, lanes, addresses, message)

    def _unwritten(
        self, space: Space, positions: Array, addresses: Array, index: Array | None, pc: int
    ) -> None:
        if space is Space.GLOBAL and len(positions):
            which = np.searchsorted(self.starts, addresses[positions], side="right") - 1
            initialised = np.array([one.initialised for one in self.memory.allocations])
            positions = positions[~initialised[which]]
        if len(positions) == 0:
            return
        kind = FaultKind.UNINITIALISED_GLOBAL_READ
        if space is Space.SHARED:
            kind = FaultKind.UNINITIALISED_SHARED_READ
        address = int(addresses[positions[0]])
        where, name, offset = self._place(space, address, 1)
        lanes = positions if index is None else index[positions]
        self._located(kind, pc, lanes, address, f"reads {where}, which no thread has written", name, offset)

    def _race(
        self, space: Space, conflicts: Conflicts, addresses: Array, index: Array | None, pc: int
    ) -> None:
        state = self.state
        positions, keys = conflicts.positions, conflicts.keys
        lanes = positions if index is None else index[positions]
        mine, other = state.thread_number[lanes], keys & THREAD_MASK
        steps = keys >> STEP_SHIFT
        same_warp = mine >> 5 == other >> 5
        keep = ~(same_warp & state.warp_ordered(lanes, other, keys))
        if self.phases is not None:
            keep &= ~self.phases.ordered(lanes, other, keys)
        if self.order.active and keep.any():
            rest = np.flatnonzero(keep)
            keep[rest] = ~self.order.covers(lanes[rest], other[rest], keys[rest])
        if not keep.any():
            return
        positions, lanes, mine, other, steps, same_warp, kept = (
            one[keep] for one in (positions, lanes, mine, other, steps, same_warp, keys)
        )
        pcs = np.array(self.step_pc)[steps]
        for other_pc in np.unique(pcs).tolist():
            for together in (False, True):
                chosen = np.flatnonzero((pcs == other_pc) & (same_warp == together))
                if len(chosen):
                    at = int(chosen[0])
                    unfenced = self.order.covers_but_for_a_fence(
                        int(lanes[at]), int(other[at]), int(kept[at])
                    )
                    self._add_race(
                        space, together, pc, other_pc, chosen, positions, mine, other, addresses, unfenced
                    )

    def _add_race(
        self,
        space: Space,
        same_warp: bool,
        pc: int,
        other_pc: int,
        chosen: Array,
        positions: Array,
        mine: Array,
        other: Array,
        addresses: Array,
        unfenced: bool,
    ) -> None:
        first = int(chosen[0])
        me, them = self.state.thread(int(mine[first])), self.state.thread(int(other[first]))
        address = int(addresses[positions[first]])
        where, name, offset = self._place(space, address, 1)
        line, other_line = self.line(pc), self.line(other_pc)
        kind = FaultKind.GLOBAL_RACE
        hint = "no barrier lies between"
        if me.block != them.block:
            hint = "no release that the first has acquired orders the two blocks"
        if unfenced:
            hint = (
                "the first has read a word written after a fence, but no fence or acquire of its own follows"
            )
        if space is Space.SHARED:
            kind = FaultKind.SHARED_RACE
            if same_warp and pc != other_pc:
                kind = FaultKind.WARP_RACE
                hint = "no __syncwarp() or __syncthreads() lies between"
        if pc == other_pc:
            hint = "one instruction, two threads" if me.block == them.block else hint
        self.log.add(
            Fault(
                kind,
                f"{me} {self._verb(pc)} (line {line}) and {them} {self._verb(other_pc)} (line {other_line}) "
                f"{where}; {hint}",
                line,
                tuple(one for one in (line, other_line) if one is not None),
                thread=me,
                other=them,
                address=address,
                allocation=name,
                offset=offset,
                ptx_line=self.state.program.instructions[pc].ptx_line,
                count=len(chosen),
            )
        )

    def _verb(self, pc: int) -> str:
        return {"ld": "reads", "st": "writes"}.get(self.state.program.instructions[pc].parts[0], "updates")
