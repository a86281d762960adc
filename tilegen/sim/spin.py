"""Loops that may wait for another thread, and the warps that wait in one.

A warp that closes such a loop without having changed memory is put aside as a whole until nobody else can run: its
lanes that have left the loop stay with those that have not, as the hardware's reconvergence keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.form import MEMORY_OPCODES, Form
from tilegen.sim.program import Program
from tilegen.sim.report import Access, Space

Array = npt.NDArray[Any]

_OWN = (Space.LOCAL, Space.PARAM, Space.CONST)


@dataclass(frozen=True, slots=True)
class WaitLoop:
    """`poll` is the position of the first instruction that looks for a change; `changes`: it may write as it looks."""

    poll: int
    changes: bool


def wait_loops(program: Program, form: Callable[[int], Form]) -> dict[int, WaitLoop]:
    """By the position of the branch that closes it, every loop that may be a wait.

    It holds a volatile, relaxed or acquire load, an atomic whose result is used, or `nanosleep`.
    """
    found = {}
    for pc, targets in enumerate(program.targets):
        head = min(targets, default=pc + 1)
        if head <= pc:
            loop = _wait_loop(program, form, head, pc)
            if loop is not None:
                found[pc] = loop
    return found


def _wait_loop(program: Program, form_at: Callable[[int], Form], head: int, end: int) -> WaitLoop | None:
    polls: list[int] = []
    changes = False
    for pc in range(head, end + 1):
        instruction = program.instructions[pc]
        opcode = instruction.parts[0]
        if opcode == "nanosleep":
            polls.append(pc)
        if opcode not in MEMORY_OPCODES:
            continue
        form = form_at(pc)
        if form.space in _OWN:
            continue
        if form.scope and form.access is not Access.STORE and opcode != "red":
            polls.append(pc)
        changes = changes or form.access is not Access.LOAD
    memory = [pc for pc in polls if program.instructions[pc].parts[0] != "nanosleep"]
    return WaitLoop((memory or polls)[0], changes) if polls else None


@dataclass(slots=True)
class Aside:
    """Lanes that wait in loops, by where they go on, and other lanes of their warps (`held`)."""

    spinning: dict[int, Array] = field(default_factory=dict)
    held: dict[int, Array] = field(default_factory=dict)
    polls: dict[int, int] = field(default_factory=dict)
    stalled: Array | None = None

    def put(self, target: int, poll: int, mask: Array) -> None:
        """Puts lanes aside that go on at `target`, with their warps."""
        _add(self.spinning, target, mask)
        self.polls[target] = poll
        warps = np.repeat(mask.reshape(-1, 32).any(axis=1), 32)
        self.stalled = warps if self.stalled is None else self.stalled | warps

    def hold(self, pc: int, mask: Array) -> Array:
        """The lanes that may run at a position; the others are kept."""
        if self.stalled is None:
            return mask
        kept = mask & self.stalled
        if kept.any():
            _add(self.held, pc, kept)
            mask = mask & ~self.stalled
        return mask

    def release(self) -> dict[int, Array]:
        """Everybody tries again."""
        pending = dict(self.spinning)
        for pc, mask in self.held.items():
            _add(pending, pc, mask)
        self.spinning, self.held, self.stalled = {}, {}, None
        return pending

    def release_held(self) -> dict[int, Array]:
        """Only the lanes that have left their loops go on."""
        pending, self.held = self.held, {}
        self.stalled = np.logical_or.reduce(list(self.spinning.values()))
        return pending


def _add(places: dict[int, Array], pc: int, mask: Array) -> None:
    there = places.get(pc)
    places[pc] = mask if there is None else there | mask
