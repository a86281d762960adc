"""What a block's barrier checks and computes when its threads have arrived."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import warp
from tilegen.sim.alu import DTYPES
from tilegen.sim.context import Context
from tilegen.sim.faults import Fault, FaultKind

Array = npt.NDArray[Any]


def barrier_kind(parts: tuple[str, ...]) -> str:
    """`sync`, `red`, `arrive`, or nothing known."""
    return next((part for part in parts[1:] if part in ("sync", "red", "arrive")), "")


def judge(context: Context, parts: dict[int, Array], lanes: Array, live: Array) -> None:
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
            report_diverged(context, pcs[0], pc, parts, int(both[0]), len(both))


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


def report_diverged(
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


def reduce(context: Context, pc: int, mask: Array, lanes: Array) -> None:
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
