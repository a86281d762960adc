"""Barriers of a block: who waits at them, when they complete, what they check and compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import warp
from tilegen.sim.alu import DTYPES
from tilegen.sim.context import Context
from tilegen.sim.faults import Fault, FaultKind, UnsupportedInstruction
from tilegen.sim.ptx import Immediate, Operand

Array = npt.NDArray[Any]
Go = Callable[[int, Array], None]


def barrier_kind(parts: tuple[str, ...]) -> str:
    """`sync`, `red`, `arrive`, or nothing known."""
    return next((part for part in parts[1:] if part in ("sync", "red", "arrive")), "")


class BlockBarriers:
    """Threads that wait at `bar.sync` and `bar.red`, by position.

    `go` lets lanes go on at a position, `end` ends them; the machine gives both.
    """

    def __init__(self, context: Context) -> None:
        self.context, self.state = context, context.state
        self.waiting: dict[int, Array] = {}
        # Barriers completed, one for each block.
        self.count = 0

    def arrive(self, pc: int, mask: Array, go: Go) -> None:
        everyone = int(np.count_nonzero(mask)) == self.state.live
        untouched = self.state.live == int(np.count_nonzero(self.state.valid))
        if everyone and untouched and not self.waiting and self._count_operand(pc) is None:
            self._pass({pc: mask}, mask, go)
            return
        waiting = self.waiting.get(pc)
        self.waiting[pc] = mask if waiting is None else waiting | mask

    def release(self, go: Go) -> bool:
        """Lets go every block all of whose live threads wait at one barrier (or as many as it asks for)."""
        if not self.waiting:
            return False
        released = False
        blocks = self.state.blocks
        for number in sorted({self._number(pc) for pc in self.waiting}):
            here = {pc: mask for pc, mask in self.waiting.items() if self._number(pc) == number}
            arrived = np.logical_or.reduce(list(here.values()))
            counts = np.bincount(self.state.lane_block[arrived], minlength=blocks)
            live = np.bincount(self.state.lane_block[self.state.alive], minlength=blocks)
            needed = self._count_operand(next(iter(here)))
            complete = (counts >= needed) if needed is not None else (counts == live) & (counts > 0)
            if not complete.any():
                continue
            released = True
            lanes = arrived & complete[self.state.lane_block]
            parts = {pc: mask & lanes for pc, mask in here.items() if (mask & lanes).any()}
            if needed is None:
                _judge(self.context, parts, lanes, live)
            for pc in here:
                rest = self.waiting.pop(pc) & ~lanes
                if rest.any():
                    self.waiting[pc] = rest
            self._pass(parts, lanes, go)
        return released

    def _pass(self, parts: dict[int, Array], lanes: Array, go: Go) -> None:
        key = self.context.barrier_key(next(iter(parts)))
        self.state.barrier_key[lanes] = key
        if self.context.checks and self.context.order.active:
            self.context.order.barrier(np.flatnonzero(lanes), self.state.lane_block[lanes])
        self.count += len(np.unique(self.state.lane_block[lanes]))
        for pc, mask in parts.items():
            if barrier_kind(self.state.program.instructions[pc].parts) == "red":
                _reduce(self.context, pc, mask, lanes)
        for pc, mask in parts.items():
            go(self.state.program.follows[pc], mask)

    def _operands(self, pc: int) -> tuple[Operand, ...]:
        instruction = self.state.program.instructions[pc]
        is_red = barrier_kind(instruction.parts) == "red"
        return instruction.operands[1:-1] if is_red else instruction.operands

    def _number(self, pc: int) -> int:
        operands = self._operands(pc)
        return self._uniform(pc, operands[0]) if operands else 0

    def _count_operand(self, pc: int) -> int | None:
        operands = self._operands(pc)
        return self._uniform(pc, operands[1]) if len(operands) > 1 else None

    def _uniform(self, pc: int, operand: Operand) -> int:
        if isinstance(operand, Immediate):
            return int(operand.value)
        values = np.unique(self.state.source(operand, DTYPES["u32"])[self.waiting.get(pc, self.state.alive)])
        if len(values) != 1:
            instruction = self.state.program.instructions[pc]
            raise UnsupportedInstruction(
                instruction.text,
                instruction.ptx_line,
                instruction.line,
                "barrier number that differs by thread",
            )
        return int(values[0])

    def abandon(self, end: Callable[[Array], None]) -> None:
        """Threads wait at barriers that can never complete: reported, and the threads end."""
        pcs = sorted(self.waiting)
        for pc in pcs:
            lanes = np.flatnonzero(self.waiting[pc])
            blocks = np.unique(self.state.lane_block[lanes])
            elsewhere = [
                one
                for one in pcs
                if one != pc and np.isin(self.state.lane_block[self.waiting[one]], blocks).any()
            ]
            if elsewhere and elsewhere[0] > pc:
                _report_diverged(
                    self.context,
                    pc,
                    elsewhere[0],
                    self.waiting,
                    int(np.intersect1d(blocks, self.state.lane_block[self.waiting[elsewhere[0]]])[0]),
                    len(blocks),
                )
            elif not elsewhere:
                self.context.report(FaultKind.DEADLOCK, pc, lanes, lanes, "barrier that can never complete")
        for mask in self.waiting.values():
            end(mask)
        self.waiting = {}


def _judge(context: Context, parts: dict[int, Array], lanes: Array, live: Array) -> None:
    """Faults of a barrier that is about to complete: exited threads, and threads at different barriers."""
    pcs = sorted(parts)
    absent = lanes & (live[context.state.lane_block] < context.state.threads)
    for pc in pcs:
        short = parts[pc] & absent
        if short.any():
            _report_exited(context, pc, short, live)
    for pc in pcs[1:]:
        both = np.intersect1d(context.state.lane_block[parts[pcs[0]]], context.state.lane_block[parts[pc]])
        if len(both):
            _report_diverged(context, pcs[0], pc, parts, int(both[0]), len(both))


def _report_exited(context: Context, pc: int, short: Array, live: Array) -> None:
    state = context.state
    lane = int(np.flatnonzero(short)[0])
    block = int(state.lane_block[lane])
    gone = np.flatnonzero(state.valid & ~state.alive & (state.lane_block == block))
    me, other = (state.thread(int(state.thread_number[one])) for one in (lane, gone[0]))
    left = state.threads - int(live[block])
    context.log.add(
        Fault(
            FaultKind.BARRIER_EXITED,
            f"{left} of {state.threads} threads of block {me.block} had returned before the barrier, "
            f"thread {other.thread} for one",
            context.line(pc),
            thread=me,
            other=other,
            ptx_line=context.state.program.instructions[pc].ptx_line,
            count=len(np.unique(state.lane_block[short])),
        )
    )


def _report_diverged(
    context: Context, first: int, second: int, parts: dict[int, Array], block: int, count: int
) -> None:
    state = context.state
    lanes = [int(np.flatnonzero(parts[one] & (state.lane_block == block))[0]) for one in (first, second)]
    me, other = (state.thread(int(state.thread_number[one])) for one in lanes)
    line, other_line = context.line(first), context.line(second)
    context.log.add(
        Fault(
            FaultKind.BARRIER_DIVERGED,
            f"{me} waits at line {line} while thread {other.thread} of the same block waits at line {other_line}",
            line,
            tuple(one for one in (line, other_line) if one is not None),
            thread=me,
            other=other,
            ptx_line=context.state.program.instructions[first].ptx_line,
            count=count,
        )
    )


def _reduce(context: Context, pc: int, mask: Array, lanes: Array) -> None:
    """`bar.red`: the count, conjunction or disjunction of a predicate over the block."""
    instruction = context.state.program.instructions[pc]
    operation = instruction.parts[instruction.parts.index("red") + 1]
    value = np.broadcast_to(warp.predicate(context.state, instruction.operands[-1])(), mask.shape)
    blocks = context.state.blocks
    votes = np.bincount(context.state.lane_block[lanes & value], minlength=blocks)[context.state.lane_block]
    total = np.bincount(context.state.lane_block[lanes], minlength=blocks)[context.state.lane_block]
    result: Array = votes if operation == "popc" else votes == total if operation == "and" else votes > 0
    kind = DTYPES["u32"] if operation == "popc" else DTYPES["pred"]
    target = context.state.destination(instruction.operands[0], kind)
    if target is not None:
        target[mask] = result[mask]
