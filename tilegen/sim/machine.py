"""Runs a program over chunks of blocks: threads with the least position go next, barriers hold a block's threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import warp
from tilegen.sim.alu import DTYPES
from tilegen.sim.barriers import BlockBarriers, barrier_kind
from tilegen.sim.bind import Step, bind, is_control, is_warp_sync
from tilegen.sim.cluster import ClusterBarriers, is_cluster_barrier
from tilegen.sim.context import Context
from tilegen.sim.faults import FaultKind, RunawayLimit, UnsupportedInstruction
from tilegen.sim.prepare import Prepared, Stretch
from tilegen.sim.ptx import Instruction
from tilegen.sim.state import Group
from tilegen.sim.waits import Waits

Array = npt.NDArray[Any]

# A step costs about as much as this many threads, however few run it: what the instruction limit is counted in.
_STEP_COST = 256
# After so many turns with other threads waiting, they get a turn too: a spin loop that does not look like one waits.
_PATIENCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Segment:
    """Straight code from a position up to a control instruction or the end of its block."""

    steps: tuple[Step, ...]
    end: int
    control: Instruction | None
    follow: int


class Machine:
    """Runs a program over any number of chunks; code is bound to the launch when it is first reached."""

    def __init__(self, context: Context, prepared: Prepared, max_instructions: int) -> None:
        self.context, self.state, self.prepared = context, context.state, prepared
        self.program = context.state.program
        self.budget = max_instructions
        self.thread_instructions = 0
        self.warp_instructions = 0
        self.segments: dict[int, Segment] = {}
        self.pending: dict[int, Array] = {}
        self.parked: dict[int, Array] = {}
        self.steps: dict[int, Step] = {}
        self.guards: dict[int, Callable[[], Any]] = {}
        self.turns = 0
        self.waits = Waits(context, prepared)
        self.barriers = BlockBarriers(context)
        self.clusters = ClusterBarriers(context)
        # Times that a barrier or a warp-wide instruction has let threads go.
        self.releases = 0

    def bind_all(self) -> None:
        """Binds all code at once. Raises UnsupportedInstruction for what no launch of the program can run."""
        for pc, instruction in enumerate(self.program.instructions):
            if is_control(instruction) and instruction.guard is not None:
                self._guard(pc)
            if is_control(instruction) and not is_warp_sync(instruction):
                self._validate(instruction)
            else:
                self._step(pc)

    def _step(self, pc: int) -> Step:
        found = self.steps.get(pc)
        if found is None:
            found = self.steps[pc] = bind(self.context, self.prepared, pc)
        return found

    def _guard(self, pc: int) -> Callable[[], Any]:
        found = self.guards.get(pc)
        if found is None:
            guard = self.program.instructions[pc].guard
            assert guard is not None
            found = self.guards[pc] = warp.predicate(self.state, guard)
        return found

    def _validate(self, instruction: Instruction) -> None:
        opcode, parts = instruction.parts[0], instruction.parts
        known = opcode not in ("bar", "barrier") or barrier_kind(parts) in ("sync", "red")
        if "cluster" in parts:
            known = is_cluster_barrier(parts)
        if not known:
            raise UnsupportedInstruction(
                instruction.text, instruction.ptx_line, instruction.line, "kind of barrier"
            )

    def run(self, first_block: int, count: int) -> None:
        """Runs blocks first_block … first_block + count - 1 to their end."""
        self.state.begin(first_block, count)
        self.context.begin()
        self.pending = {0: self.state.valid.copy()}
        self.parked = {}
        self.waits.begin(count)
        self.turns = 0
        while True:
            while self.pending:
                self._turn()
            if not (
                self.barriers.waiting or self.clusters.waiting or self.parked or self.waits.aside.spinning
            ):
                return
            if (
                self._release_warps()
                or self.barriers.release(self._continue)
                or self.clusters.release(self._continue)
            ):
                self.releases += 1
            elif self.waits.aside.spinning:
                self.pending = self.waits.next_round(self.releases)
            elif self.parked:
                self._force_warp()
            else:
                self.barriers.abandon(self._exit)
                self.clusters.abandon(self._exit)

    def _turn(self) -> None:
        self.turns += 1
        if (
            self.turns > _PATIENCE
            and (len(self.pending) > 1 or self.barriers.waiting)
            and self.turns % 64 == 0
        ):
            self.barriers.release(self._continue)
            pc = max(self.pending)
        else:
            pc = min(self.pending)
        mask = self.waits.aside.hold(pc, self.pending.pop(pc))
        count = int(np.count_nonzero(mask))
        if count:
            self._run_segment(pc, Group(mask, count, self.state.live))

    def _segment(self, pc: int) -> Segment:
        found = self.segments.get(pc)
        if found is not None:
            return found
        stretch = self.prepared.stretches.get(pc)
        if stretch is None:
            stretch = self.prepared.stretches[pc] = self._stretch(pc)
        steps = tuple(self._step(at) for at in range(pc, pc + stretch.steps))
        found = self.segments[pc] = Segment(
            steps, stretch.end, stretch.control, self.program.follows[stretch.end]
        )
        return found

    def _stretch(self, pc: int) -> Stretch:
        at = pc
        while True:
            instruction = self.program.instructions[at]
            if is_control(instruction):
                return Stretch(at - pc, at, instruction)
            if self.program.follows[at] != at + 1 or at + 1 in self.program.starts:
                return Stretch(at + 1 - pc, at, None)
            at += 1

    def _run_segment(self, pc: int, group: Group) -> None:
        segment = self._segment(pc)
        length = len(segment.steps) + (segment.control is not None)
        self._charge(length, group)
        for step in segment.steps:
            step(group)
        control = segment.control
        if control is None:
            self._continue(segment.follow, group.mask)
        elif is_warp_sync(control):
            self._warp_sync(segment.end, control, group)
        else:
            self._control(segment.end, control, group)

    def _charge(self, instructions: int, group: Group) -> None:
        self.thread_instructions += instructions * group.count
        self.warp_instructions += instructions * len(group.rows)
        self.budget -= instructions * max(group.count, _STEP_COST)
        if self.budget < 0:
            raise RunawayLimit

    def _continue(self, pc: int, mask: Array) -> None:
        if pc < 0:
            self._exit(mask)
            return
        waiting = self.pending.get(pc)
        self.pending[pc] = mask if waiting is None else waiting | mask

    def _exit(self, mask: Array) -> None:
        self.state.alive &= ~mask
        self.state.live = int(np.count_nonzero(self.state.alive))
        if self.context.phases is not None:
            self.context.exit(np.flatnonzero(mask))

    def _control(self, pc: int, instruction: Instruction, group: Group) -> None:
        mask = group.mask
        follow = self.program.follows[pc]
        if instruction.guard is not None:
            taken = mask & self._guard(pc)()
            rest = mask & ~taken
            if rest.any():
                self._continue(follow, rest)
            if not taken.any():
                return
            mask = taken
        match instruction.parts[0]:
            case "bra":
                target = self.program.targets[pc][0]
                if target > pc or not self.waits.close(pc, target, mask, self.turns):
                    self._continue(target, mask)
            case "brx":
                self._indirect(pc, instruction, mask)
            case "ret" | "exit":
                self._exit(mask)
            case "trap":
                lanes = np.flatnonzero(mask)
                self.context.report(FaultKind.TRAP, pc, lanes, lanes, f"{len(lanes)} threads trapped")
                self._exit(mask)
            case _ if "cluster" in instruction.parts:
                self.clusters.execute(pc, mask, self._continue)
            case _:
                self.barriers.arrive(pc, mask, self._continue)

    def _indirect(self, pc: int, instruction: Instruction, mask: Array) -> None:
        selector = np.broadcast_to(self.state.source(instruction.operands[0], DTYPES["u32"]), mask.shape)
        targets = self.program.targets[pc]
        for value, target in enumerate(targets):
            chosen = mask & (selector == value)
            if chosen.any():
                self._continue(target, chosen)
        lost = mask & (selector >= len(targets))
        if lost.any():
            lanes = np.flatnonzero(lost)
            self.context.report(FaultKind.TRAP, pc, lanes, lanes, "indirect branch outside its table")
            self._exit(lost)

    # Warp-wide instructions

    def _warp_sync(self, pc: int, instruction: Instruction, group: Group) -> None:
        mask = group.mask
        if instruction.guard is not None:
            taken = mask & self._guard(pc)()
            if (mask & ~taken).any():
                self._continue(self.program.follows[pc], mask & ~taken)
            mask = taken
        if pc in self.parked:
            mask = mask | self.parked.pop(pc)
        if int(np.count_nonzero(mask)) < self.state.live:
            short = self._short(instruction, mask)
            if short.any():
                self.parked[pc] = short
                mask = mask & ~short
        self._finish_sync(pc, mask)

    def _short(self, instruction: Instruction, mask: Array) -> Array:
        """Lanes of the mask whose membermask names a live lane that is not there."""
        named = np.broadcast_to(warp.member_mask(self.state, instruction), mask.shape)
        missing = warp.lane_bits(self.state.alive) & ~warp.lane_bits(mask)
        lanes: Array = mask & ((np.repeat(missing, 32) & named) != 0)
        # A warp goes on as a whole: its other lanes wait too.
        return mask & np.repeat(lanes.reshape(-1, 32).any(axis=1), 32)

    def _finish_sync(self, pc: int, mask: Array) -> None:
        count = int(np.count_nonzero(mask))
        if count:
            self._step(pc)(Group(mask, count, self.state.live))
            self._continue(self.program.follows[pc], mask)

    def _release_warps(self) -> bool:
        """Lanes that wait at several `bar.warp.sync` and complete each other's masks go on."""
        released = False
        waits = [pc for pc in self.parked if self.program.instructions[pc].parts[0] == "bar"]
        everywhere = np.zeros_like(self.state.alive)
        for pc in waits:
            everywhere |= self.parked[pc]
        for pc in sorted(waits):
            mask = self.parked[pc]
            short = mask & self._short(self.program.instructions[pc], everywhere)
            ready = mask & ~short
            if ready.any():
                released = True
                del self.parked[pc]
                if short.any():
                    self.parked[pc] = short
                self._finish_sync(pc, ready)
        return released

    def _force_warp(self) -> None:
        """Nobody else can run: the named lanes never arrive. Reported, then done with the lanes there are."""
        pc = min(self.parked)
        mask = self.parked.pop(pc)
        lanes = np.flatnonzero(mask)
        there = int(warp.lane_bits(mask)[lanes[0] >> 5])
        instruction = self.program.instructions[pc]
        named = int(np.broadcast_to(warp.member_mask(self.state, instruction), mask.shape)[lanes[0]])
        self.context.report(
            FaultKind.WARP_SYNC_MISSING_LANES,
            pc,
            lanes,
            lanes,
            f"`{instruction.text}` names lanes {named:#010x}, but only {there:#010x} ever reach it",
        )
        self._finish_sync(pc, mask)
