"""Instructions without control effects, bound to a launch's registers as functions of a group of lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import access, warp
from tilegen.sim.alu import Alu, copy
from tilegen.sim.context import Context
from tilegen.sim.faults import SimulationError, UnsupportedInstruction
from tilegen.sim.form import MEMORY_OPCODES, refuse, scope_of
from tilegen.sim.memory import RANK_SHIFT, WINDOW_BITS, WINDOWS
from tilegen.sim.prepare import Prepared
from tilegen.sim.ptx import Instruction, Negated, Register
from tilegen.sim.state import Group, State

Array = npt.NDArray[Any]
Step = Callable[[Group], None]

# Hints and waits that change neither values nor order.
_NOTHING = {"createpolicy", "prefetch", "prefetchu", "applypriority", "discard", "nanosleep", "pmevent"}
_FENCES = {"sc", "acq_rel", "cta", "cluster", "gpu", "gl", "sys"}
CONTROL = {"bra", "brx", "ret", "exit", "trap", "bar", "barrier"}
WARP_SYNC = {"shfl", "vote", "match", "redux", "elect"}


def is_warp_sync(instruction: Instruction) -> bool:
    """Whether the instruction waits for the lanes that its membermask names."""
    return instruction.parts[0] in WARP_SYNC or instruction.parts[:3] == ("bar", "warp", "sync")


def is_control(instruction: Instruction) -> bool:
    """Whether the machine itself, and not a step, must execute the instruction."""
    return instruction.parts[0] in CONTROL or is_warp_sync(instruction)


def bind(context: Context, prepared: Prepared, pc: int) -> Step:
    """A function that executes the instruction at a position for a group; raises `UnsupportedInstruction`."""
    instruction = prepared.program.instructions[pc]
    try:
        step = _bind(context, prepared, instruction, pc)
    except UnsupportedInstruction:
        raise
    except (SimulationError, KeyError, IndexError, ValueError) as error:
        raise refuse(instruction, str(error)) from error
    if instruction.guard is None or is_warp_sync(instruction):
        return step
    return _guarded(context, step, instruction.guard)


def _bind(context: Context, prepared: Prepared, instruction: Instruction, pc: int) -> Step:
    opcode = instruction.parts[0]
    if opcode in MEMORY_OPCODES:
        return access.bind(context, prepared, instruction, pc)
    if opcode == "activemask" or is_warp_sync(instruction):
        return warp.bind(context, instruction, pc)
    if opcode in _NOTHING:
        return lambda group: None
    if opcode in ("membar", "fence"):
        if set(instruction.parts[1:]) - _FENCES:
            raise refuse(instruction, "kind of fence")
        scope = scope_of(instruction.parts)
        return lambda group: context.fence(group.index, scope, pc)
    if opcode == "isspacep":
        return _is_space(context.state, instruction)
    return bind_alu(context.state, prepared.decoded(pc))


def _is_space(state: State, instruction: Instruction) -> Step:
    space = instruction.parts[1]
    window = WINDOWS[space] >> WINDOW_BITS

    def test(address: Array) -> Array:
        number = address >> np.uint64(WINDOW_BITS)
        if space in ("shared", "shared_cta"):
            # Not the window of another block.
            return np.asarray(address >> np.uint64(RANK_SHIFT) == window << (WINDOW_BITS - RANK_SHIFT))
        return np.asarray(number == window if window else (number == 0) | (number > 4))

    kind, truth = np.dtype(np.uint64), np.dtype(np.bool_)
    return bind_alu(state, Alu(test, ((instruction.operands[1], kind),), ((instruction.operands[0], truth),)))


def _guarded(context: Context, step: Step, guard: Register | Negated) -> Step:
    take = warp.predicate(context.state, guard)

    def guarded(group: Group) -> None:
        mask = group.mask & take()
        count = int(np.count_nonzero(mask))
        if count:
            step(Group(mask, count, context.state.live))

    return guarded


def bind_alu(state: State, alu: Alu) -> Step:
    """Three ways to run: all lanes in place, most lanes through a mask, few lanes gathered. No source is negated."""
    function = alu.function
    sources = [state.source(one, kind) for one, kind in alu.sources]
    targets = [state.destination(one, kind) for one, kind in alu.destinations]
    if len(targets) == 1:
        target = targets[0]
        if target is None:
            return lambda group: None
        if function is copy:
            return _copy_step(target, sources[0])
        if alu.direct and target.dtype == alu.destinations[0][1] and any(one.ndim for one in sources):
            return _direct_step(function, target, sources)
    return _general_step(function, targets, sources)


def _gather(sources: list[Any], index: Array) -> list[Any]:
    return [one[index] if np.ndim(one) else one for one in sources]


def _copy_step(target: Array, source: Any) -> Step:
    is_array = bool(np.ndim(source))

    def step(group: Group) -> None:
        if group.whole:
            np.copyto(target, source, casting="unsafe")
        elif group.count * 4 >= len(group.mask):
            np.copyto(target, source, where=group.mask, casting="unsafe")
        else:
            index = group.index
            target[index] = source[index] if is_array else source

    return step


def _direct_step(function: Any, target: Array, sources: list[Any]) -> Step:
    def step(group: Group) -> None:
        if group.whole:
            function(*sources, out=target)
        elif group.count * 4 >= len(group.mask):
            np.copyto(target, function(*sources), where=group.mask)
        else:
            target[group.index] = function(*_gather(sources, group.index))

    return step


def _general_step(function: Any, targets: list[Array | None], sources: list[Any]) -> Step:
    single = len(targets) == 1

    def step(group: Group) -> None:
        sparse = not group.whole and group.count * 4 < len(group.mask)
        given = function(*_gather(sources, group.index)) if sparse else function(*sources)
        for target, result in zip(targets, (given,) if single else given, strict=True):
            if target is None:
                continue
            if group.whole:
                np.copyto(target, result, casting="unsafe")
            elif sparse:
                target[group.index] = result
            else:
                np.copyto(target, result, where=group.mask, casting="unsafe")

    return step
