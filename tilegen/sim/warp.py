"""Warp-wide instructions: shuffles, votes, matches, reductions.

Each gets a group whose named lanes have all arrived (the machine sees to that) and touches its lanes only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.alu import DTYPES
from tilegen.sim.context import Context
from tilegen.sim.faults import FaultKind
from tilegen.sim.form import refuse
from tilegen.sim.ptx import Immediate, Instruction, Negated, Operand, Pair
from tilegen.sim.state import Group, State

Array = npt.NDArray[Any]
Step = Callable[[Group], None]
_U32 = DTYPES["u32"]
_BOOL = DTYPES["pred"]


def lane_bits(mask: Array) -> Array:
    """One uint32 per warp, bit i for lane i."""
    packed = np.packbits(mask.reshape(-1, 32), axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u4")[:, 0]


def member_mask(state: State, instruction: Instruction) -> Any:
    """The membermask operand (the last one) of a `.sync` instruction: a scalar, or one per lane."""
    return state.source(instruction.operands[-1], _U32)


def predicate(state: State, operand: Operand) -> Callable[[], Any]:
    """Reads a predicate operand that may be negated."""
    if isinstance(operand, Negated):
        register = state.source(operand.register, _BOOL)
        return lambda: ~register
    if isinstance(operand, Immediate):
        value = np.bool_(operand.value)
        return lambda: value
    source = state.source(operand, _BOOL)
    return lambda: source


def bind(context: Context, instruction: Instruction, pc: int) -> Step:
    """Binds `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`, `elect.sync`, `activemask` or `bar.warp.sync`."""
    if instruction.parts[0] == "activemask":
        return _active(context, instruction)
    step = _bind(context, instruction, pc)
    members = member_mask(context.state, instruction)
    if not np.ndim(members) and int(members) == 0xFFFFFFFF:
        return step

    def checked(group: Group) -> None:
        _check_masks(context, pc, members, group)
        step(group)

    return checked


def _check_masks(context: Context, pc: int, members: Any, group: Group) -> None:
    """Each lane's mask must name the lane itself, and all that it names must give the same mask."""
    index = group.index
    named = np.broadcast_to(np.asarray(_pick(members, group)), index.shape)
    least = int(named.min())
    if least == 0xFFFFFFFF:
        return
    unnamed = (named >> (index & 31).astype(np.uint32)) & 1 == 0
    why = "is executed by lane {lane}, which its mask {mask:#010x} leaves out"
    if not unnamed.any() and least != int(named.max()):
        _, party = np.unique((index >> 5 << 32) | named, return_inverse=True)
        together = np.zeros(int(party.max()) + 1, dtype=np.uint32)
        np.bitwise_or.at(together, party, np.uint32(1) << (index & 31).astype(np.uint32))
        there = lane_bits(group.mask)[index >> 5]
        unnamed = (named & there & ~together[party]) != 0
        why = "is executed by lane {lane} with the mask {mask:#010x}, which names lanes that give another one"
    if unnamed.any():
        lanes = index[unnamed]
        lane, mask = int(lanes[0]) & 31, int(named[unnamed][0])
        text = context.state.program.instructions[pc].text
        context.report(
            FaultKind.WARP_SYNC_UNNAMED, pc, lanes, lanes, f"`{text}` {why.format(lane=lane, mask=mask)}"
        )


def _bind(context: Context, instruction: Instruction, pc: int) -> Step:
    match instruction.parts[0]:
        case "shfl":
            return _shuffle(context, instruction, pc)
        case "vote":
            return _vote(context, instruction)
        case "match":
            return _match(context, instruction)
        case "redux":
            return _reduce(context, instruction)
        case "elect":
            return _elect(context, instruction)
        case _:
            return _synchronise(context, instruction, pc)


def _put(target: Array | None, group: Group, values: Any) -> None:
    if target is not None:
        target[group.index] = values


def _pick(source: Any, group: Group) -> Any:
    return source[group.index] if isinstance(source, np.ndarray) and source.ndim else source


def _shuffle(context: Context, instruction: Instruction, pc: int) -> Step:
    state = context.state
    parts, operands = instruction.parts, instruction.operands
    if len(parts) != 4 or parts[1] != "sync" or parts[3] != "b32":
        raise refuse(instruction, "form of shfl")
    mode = parts[2]
    target = operands[0]
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    value_target = state.destination(first, _U32)
    valid_target = state.destination(second, _BOOL) if second is not None else None
    values, amounts, clamps = (state.source(one, _U32) for one in operands[1:4])

    def step(group: Group) -> None:
        index = group.index
        lane = index & 31
        amount = np.asarray(_pick(amounts, group)).astype(np.int64) & 31
        control = np.asarray(_pick(clamps, group)).astype(np.int64)
        clamp, segment = control & 31, (control >> 8) & 31
        most, least = (lane & segment) | (clamp & ~segment), lane & segment
        match mode:
            case "up":
                source = lane - amount
                valid = source >= most
            case "down":
                source = lane + amount
                valid = source <= most
            case "bfly":
                source = lane ^ amount
                valid = source <= most
            case _:
                source = least | (amount & ~segment & 31)
                valid = source <= most
        source = np.where(valid, source, lane)
        from_lane = (index & ~31) + source
        inactive = ~group.mask[from_lane]
        if inactive.any():
            lanes = index[inactive]
            context.report(
                FaultKind.INACTIVE_LANE_READ, pc, lanes, lanes,
                f"lane {int(lanes[0]) & 31} takes the value of lane {int(source[inactive][0])}, which takes no part",
            )  # fmt: skip
        _put(value_target, group, values[from_lane] if np.ndim(values) else values)
        _put(valid_target, group, valid)

    return step


def _vote(context: Context, instruction: Instruction) -> Step:
    state = context.state
    parts, operands = instruction.parts, instruction.operands
    if parts[1] != "sync":
        raise refuse(instruction, "form of vote")
    mode = parts[2]
    target = state.destination(operands[0], _U32 if mode == "ballot" else _BOOL)
    value = predicate(state, operands[1])
    members = member_mask(state, instruction)

    def step(group: Group) -> None:
        named = np.asarray(_pick(members, group))
        votes = lane_bits(group.mask & value())[group.index >> 5] & named
        active = lane_bits(group.mask)[group.index >> 5] & named
        match mode:
            case "ballot":
                _put(target, group, votes)
            case "any":
                _put(target, group, votes != 0)
            case "all":
                _put(target, group, votes == active)
            case _:
                _put(target, group, (votes == active) | (votes == 0))

    if mode not in ("ballot", "any", "all", "uni"):
        raise refuse(instruction, "form of vote")
    return step


def _match(context: Context, instruction: Instruction) -> Step:
    state = context.state
    mode, kind = instruction.parts[1], DTYPES[instruction.parts[-1]]
    target = instruction.operands[0]
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    bits_target = state.destination(first, _U32)
    all_target = state.destination(second, _BOOL) if second is not None else None
    values = state.source(instruction.operands[1], kind)
    members = member_mask(state, instruction)

    def step(group: Group) -> None:
        rows = group.rows
        wide = np.broadcast_to(values, group.mask.shape).reshape(-1, 32)[rows]
        active = group.mask.reshape(-1, 32)[rows]
        equal = (wide[:, :, None] == wide[:, None, :]) & active[:, None, :]
        bits = (equal.astype(np.uint32) << np.arange(32, dtype=np.uint32)).sum(axis=2, dtype=np.uint32)
        named = np.asarray(_pick(members, group))
        mine = bits.reshape(-1)[group.compact] & named
        if mode == "any":
            _put(bits_target, group, mine)
            return
        everyone = mine == (lane_bits(group.mask)[group.index >> 5] & named)
        _put(bits_target, group, np.where(everyone, mine, np.uint32(0)))
        _put(all_target, group, everyone)

    return step


_REDUCTIONS: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def _reduce(context: Context, instruction: Instruction) -> Step:
    state = context.state
    if len(instruction.parts) != 4 or instruction.parts[2] not in _REDUCTIONS:
        raise refuse(instruction, "form of redux")
    ufunc, kind = _REDUCTIONS[instruction.parts[2]], DTYPES[instruction.parts[3]]
    target = state.destination(instruction.operands[0], kind)
    values = state.source(instruction.operands[1], kind)
    members = member_mask(state, instruction)

    def step(group: Group) -> None:
        index = group.index
        named = np.broadcast_to(np.asarray(_pick(members, group)), index.shape)
        given = np.broadcast_to(np.asarray(_pick(values, group)), index.shape)
        parties = (index >> 5) * (1 << 32) + named.astype(np.int64)
        order = np.argsort(parties, kind="stable")
        starts = np.flatnonzero(np.diff(parties[order], prepend=-1))
        totals = ufunc.reduceat(given[order], starts)
        result = np.empty(len(index), dtype=kind)
        result[order] = np.repeat(totals, np.diff(np.append(starts, len(index))))
        _put(target, group, result)

    return step


def _active(context: Context, instruction: Instruction) -> Step:
    target = context.state.destination(instruction.operands[0], _U32)

    def step(group: Group) -> None:
        _put(target, group, lane_bits(group.mask)[group.index >> 5])

    return step


def _elect(context: Context, instruction: Instruction) -> Step:
    """The lowest lane of the mask leads."""
    target = instruction.operands[0]
    if instruction.parts != ("elect", "sync") or not isinstance(target, Pair):
        raise refuse(instruction, "form of elect")
    leader_target = context.state.destination(target.first, _U32)
    is_leader_target = context.state.destination(target.second, _BOOL)
    members = member_mask(context.state, instruction)

    def step(group: Group) -> None:
        named = np.broadcast_to(np.asarray(_pick(members, group)), group.index.shape)
        lowest = (named & -named.astype(np.int64)).astype(np.float64)
        leader = np.log2(np.maximum(lowest, 1)).astype(np.uint32)
        _put(leader_target, group, leader)
        _put(is_leader_target, group, leader == (group.index & 31))

    return step


def _synchronise(context: Context, instruction: Instruction, pc: int) -> Step:
    state = context.state
    members = member_mask(state, instruction)

    def step(group: Group) -> None:
        index, key = group.index, context.barrier_key(pc)
        named = np.broadcast_to(np.asarray(_pick(members, group)), index.shape)
        partial = (lane_bits(state.alive)[index >> 5] & ~named) != 0
        state.warp_last[index] = key
        if not partial.any():
            state.warp_key[index] = key
            if context.checks:
                context.order.barrier(index, index >> 5)
            return
        state.warp_key[index[~partial]] = key
        _, parties = np.unique((index >> 5 << 32) | named, return_inverse=True)
        state.synchronise_some(index[partial], parties[partial], named[partial], key)
        if context.checks:
            context.order.barrier(index, parties)

    return step
