"""Loads, stores and atomics: addresses to spaces, checks, counters, data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import atomics
from tilegen.sim.context import Context
from tilegen.sim.faults import FaultKind
from tilegen.sim.form import Form, refuse
from tilegen.sim.memory import RANK_SHIFT, WINDOW_BITS
from tilegen.sim.prepare import Prepared
from tilegen.sim.ptx import Address, Discard, Instruction, Operand, Register, Symbol, Vector
from tilegen.sim.report import Access, AccessCounters, Space
from tilegen.sim.state import Group
from tilegen.sim.tally import Tally

Array = npt.NDArray[Any]

_WINDOW_SPACE = {1: Space.SHARED, 2: Space.LOCAL, 3: Space.CONST, 4: Space.PARAM}


@dataclass(slots=True)
class MemoryOperation:
    """One memory instruction bound to a launch; calling it with a group executes it."""

    context: Context
    instruction: Instruction
    pc: int
    form: Form
    base: Any
    offset: int
    targets: tuple[Array | None, ...]
    values: tuple[Any, ...]
    need_old: bool
    variable: str | None
    tallies: dict[Space, Tally] = field(default_factory=dict)

    def __call__(self, group: Group) -> None:
        if group.count == 0:
            return
        index = None if group.every else group.index
        addresses = self._addresses(index, group.count)
        space = self.form.space
        if space is not Space.GENERIC:
            self._access(space, addresses, group, index)
            return
        windows = addresses >> WINDOW_BITS
        first = int(windows[0])
        if (windows == first).all():
            space = _WINDOW_SPACE.get(first, Space.GLOBAL)
            local = addresses - (first << WINDOW_BITS) if first in _WINDOW_SPACE else addresses
            self._access(space, local, group, index)
            return
        for window in np.unique(windows).tolist():
            mask = np.zeros(len(group.mask), dtype=np.bool_)
            mask[group.index[windows == window]] = True
            part = Group(mask, int(np.count_nonzero(mask)), self.context.state.live)
            space = _WINDOW_SPACE.get(window, Space.GLOBAL)
            local = addresses[windows == window]
            if window in _WINDOW_SPACE:
                local = local - (window << WINDOW_BITS)
            self._access(space, local, part, part.index)

    def _addresses(self, index: Array | None, count: int) -> Array:
        if self.base is None:
            return np.full(count, self.offset, dtype=np.int64)
        base = self.base if index is None else self.base[index]
        if base.dtype.itemsize == 8:
            return np.asarray(base + np.int64(self.offset))
        # An address of 32 bits wraps: `[%r+896]` is inside where `%r` alone lies before the start.
        return np.asarray((base.astype(np.int64) + self.offset) & 0xFFFFFFFF)

    def _access(self, space: Space, addresses: Array, group: Group, index: Array | None) -> None:
        if space is not Space.SHARED:
            self._reach(space, addresses, group, index, None)
            return
        state = self.context.state
        bases = state.shared_base if index is None else state.shared_base[index]
        ranks = addresses >> RANK_SHIFT if self.form.window else None
        if ranks is None or not ranks.any():
            self._reach(space, addresses, group, index, bases)
            return
        lanes = group.index
        for mapped in (False, True):
            chosen = np.flatnonzero((ranks != 0) == mapped)
            if len(chosen) == 0:
                continue
            mask = np.zeros(len(group.mask), dtype=np.bool_)
            mask[lanes[chosen]] = True
            part = Group(mask, len(chosen), state.live)
            if mapped:
                self._remote(addresses[chosen], ranks[chosen] - 1, part)
            else:
                self._reach(space, addresses[chosen], part, part.index, bases[chosen])

    def _remote(self, addresses: Array, ranks: Array, group: Group) -> None:
        """Accesses through `mapa`; the hardware's wavefronts for them are not known, and not counted."""
        context, state, lanes = self.context, self.context.state, group.index
        wrong = ranks >= state.cluster
        if wrong.any():
            context.out_of_bounds(
                self.pc,
                lanes,
                wrong,
                addresses,
                Space.SHARED,
                self.form.bytes,
                self.form.access is not Access.LOAD,
                None,
            )
            addresses, lanes = self._without(addresses, lanes, wrong)
            ranks = ranks[~wrong]
        addresses = addresses & ((1 << RANK_SHIFT) - 1)
        blocks = state.lane_block[lanes] // state.cluster * state.cluster + ranks
        other = blocks != state.lane_block[lanes]
        allowed = np.ones(len(lanes), dtype=np.bool_)
        signals = self.form.access is not Access.LOAD and self.form.explicit
        if other.any():
            allowed[other] = context.remote(lanes[other], blocks[other], addresses[other], self.pc, signals)
        addresses, lanes = self._without(addresses, lanes, ~allowed)
        if len(lanes):
            self._reach(Space.SHARED, addresses, None, lanes, blocks[allowed] * state.shared_stride)

    def _reach(
        self, space: Space, addresses: Array, group: Group | None, index: Array | None, bases: Array | None
    ) -> None:
        """`bases` are where the shared memory that each lane reaches lies; accesses without a group are not counted."""
        context, form = self.context, self.form
        if group is not None and space in (Space.GLOBAL, Space.SHARED, Space.LOCAL):
            tally = self.tallies.setdefault(space, Tally())
            tally.add(space, addresses, group, index, form)
        writes = form.access is not Access.LOAD
        if space in (Space.CONST, Space.PARAM) and writes:
            context.report(
                FaultKind.READ_ONLY_WRITE, self.pc, index, addresses, f"store to {space.value} memory"
            )
            return
        if (addresses & (form.bytes - 1)).any():
            wrong = (addresses & (form.bytes - 1)) != 0
            context.misaligned(self.pc, index, wrong, addresses, space, form.bytes)
            addresses, index, bases = self._keep(addresses, index, bases, wrong)
        outside = context.outside(space, addresses, form.bytes, self.variable)
        if outside is not None:
            context.out_of_bounds(
                self.pc, index, outside, addresses, space, form.bytes, writes, self.variable
            )
            addresses, index, bases = self._keep(addresses, index, bases, outside)
        if len(addresses) == 0:
            return
        if space in (Space.GLOBAL, Space.SHARED):
            context.check(space, addresses, index, form, self.pc, bases)
        memory, flat = self._flat(space, addresses, index, bases)
        if form.access is Access.LOAD:
            self._load(memory, flat, index)
        elif form.access is Access.STORE:
            if space is Space.LOCAL:
                context.local_writes += 1
            self._store(memory, flat, index)
        else:
            self._atomic(memory, flat, index)

    def _keep(
        self, addresses: Array, index: Array | None, bases: Array | None, wrong: Array
    ) -> tuple[Array, Array, Array | None]:
        addresses, lanes = self._without(addresses, index, wrong)
        return addresses, lanes, bases[~wrong] if bases is not None else None

    def _without(self, addresses: Array, index: Array | None, wrong: Array) -> tuple[Array, Array]:
        """Drops faulty lanes; what they load is zero."""
        lanes = np.arange(len(addresses)) if index is None else index
        for target in self.targets:
            if target is not None:
                target[lanes[wrong]] = 0
        return addresses[~wrong], lanes[~wrong]

    def _flat(
        self, space: Space, addresses: Array, index: Array | None, bases: Array | None
    ) -> tuple[Array, Array]:
        """The bytes of a space and the byte offset of each lane within them."""
        state = self.context.state
        match space:
            case Space.GLOBAL | Space.GENERIC:
                return self.context.memory.arena, self.context.backing(addresses)
            case Space.SHARED:
                assert bases is not None
                return state.shared, addresses + bases
            case Space.LOCAL:
                base = state.local_base if index is None else state.local_base[index]
                return state.local, addresses + base
            case Space.CONST:
                return self.context.constants, addresses
            case Space.PARAM:
                return self.context.parameter_bytes, addresses

    def _load(self, memory: Array, flat: Array, index: Array | None) -> None:
        form = self.form
        if form.vector == 1:
            values = memory.view(form.element).take(flat >> _log2(form.element.itemsize))
            self._put(self.targets[0], values, index)
            return
        rows = memory[: len(memory) // form.bytes * form.bytes].view(form.element).reshape(-1, form.vector)
        taken = rows[flat >> _log2(form.bytes)]
        for column, target in enumerate(self.targets):
            self._put(target, taken[:, column], index)

    @staticmethod
    def _put(target: Array | None, values: Array, index: Array | None) -> None:
        if target is None:
            return
        if index is None:
            np.copyto(target, values, casting="unsafe")
        else:
            target[index] = values

    def _store(self, memory: Array, flat: Array, index: Array | None) -> None:
        form = self.form
        if form.vector == 1:
            target, at = memory.view(form.element), flat >> _log2(form.element.itemsize)
            before = target[at] if self.context.watched else None
            target[at] = self._value(0, index)
            self._changed(target, at, before)
            return
        rows = memory[: len(memory) // form.bytes * form.bytes].view(form.element).reshape(-1, form.vector)
        packed = np.empty((len(flat), form.vector), dtype=form.element)
        for column in range(form.vector):
            packed[:, column] = self._value(column, index)
        at = flat >> _log2(form.bytes)
        before = rows[at] if self.context.watched else None
        rows[at] = packed
        self._changed(rows, at, before)

    def _changed(self, target: Array, at: Array, before: Array | None) -> None:
        """Notes a change of memory; without `before` any write is one."""
        if before is None or target[at].tobytes() != before.tobytes():
            self.context.writes += 1

    def _value(self, position: int, index: Array | None) -> Any:
        value = self.values[position]
        return (
            value if index is None or not isinstance(value, np.ndarray) or value.ndim == 0 else value[index]
        )

    def _atomic(self, memory: Array, flat: Array, index: Array | None) -> None:
        form = self.form
        target, first = memory.view(form.element), flat >> _log2(form.element.itemsize)
        for column in range(form.vector):
            at = first + column
            before = target[at] if self.context.watched else None
            b = np.broadcast_to(self._value(column, index), flat.shape)
            c = np.broadcast_to(self._value(1, index), flat.shape) if form.operation == "cas" else b
            old = atomics.apply(target, at, form.operation, form.kind, b, c, self.need_old)
            if old is not None:
                self._put(self.targets[column], old, index)
            self._changed(target, at, before)

    def counts(self) -> list[AccessCounters]:
        """What was counted, one entry per space that was met."""
        return [
            AccessCounters(
                line=self.instruction.line,
                ptx_line=self.instruction.ptx_line,
                space=space,
                access=self.form.access,
                bytes=self.form.bytes,
                requests=t.requests,
                lanes=t.lanes,
                sectors=t.sectors,
                ideal=t.ideal,
                wavefronts=t.wavefronts,
                groups=t.groups,
                bank_conflicts=t.bank_conflicts,
            )
            for space, t in self.tallies.items()
        ]


def _log2(size: int) -> int:
    return size.bit_length() - 1


def bind(context: Context, prepared: Prepared, instruction: Instruction, pc: int) -> Callable[[Group], None]:
    """Binds a memory instruction to the launch's registers."""
    form = prepared.form(pc)
    operands = list(instruction.operands)
    target: Operand = Discard()
    if form.access is Access.LOAD or instruction.parts[0] == "atom":
        target = operands.pop(0)
    address = operands.pop(0)
    if not isinstance(address, Address):
        raise refuse(instruction, "address")
    state = context.state
    if (
        form.space is Space.PARAM
        and isinstance(address.base, Symbol)
        and address.base.name in state.call_storage
    ):
        return _call_parameter(context, form, target, operands, address)
    targets = target.items if isinstance(target, Vector) else (target,)
    need_old = any(isinstance(one, Register) and one.name in prepared.read for one in targets)
    values: tuple[Any, ...] = ()
    if form.access is not Access.LOAD:
        given = operands[0].items if isinstance(operands[0], Vector) else (operands[0],)
        if form.operation == "cas":
            given = tuple(operands[:2])
        values = tuple(context.state.source(one, form.element) for one in given)
    base: Any = None
    offset = address.offset
    match address.base:
        case Register():
            register = state.register(address.base.name)
            base = register.view(np.int64) if register.dtype.itemsize == 8 else register
        case Symbol(name, extra):
            offset += state.symbol(name) + extra
        case None:
            pass
    operation = MemoryOperation(
        context=context,
        instruction=instruction,
        pc=pc,
        form=form,
        base=base,
        offset=offset,
        targets=tuple(state.destination(one, form.element) for one in targets),
        values=values,
        need_old=need_old,
        variable=context.provenance.shared.get(pc),
    )
    context.counted[pc] = operation.counts
    return operation


def _call_parameter(
    context: Context, form: Form, target: Operand, operands: list[Operand], address: Address
) -> Callable[[Group], None]:
    """`ld.param`/`st.param` of an inlined call: a move between registers and the lane's parameter bytes."""
    assert isinstance(address.base, Symbol)
    storage = context.state.call_storage[address.base.name]
    start = address.offset + address.base.offset
    size = form.element.itemsize
    columns = [
        storage[:, start + size * i : start + size * (i + 1)].view(form.element)[:, 0]
        for i in range(form.vector)
    ]
    if form.access is Access.LOAD:
        items = target.items if isinstance(target, Vector) else (target,)
        destinations = [context.state.destination(one, form.element) for one in items]
        pairs = [(d, s) for d, s in zip(destinations, columns, strict=True) if d is not None]
    else:
        items = operands[0].items if isinstance(operands[0], Vector) else (operands[0],)
        sources = [context.state.source(one, form.element) for one in items]
        pairs = list(zip(columns, sources, strict=True))

    def move(group: Group) -> None:
        for destination, source in pairs:
            if group.whole:
                np.copyto(destination, source, casting="unsafe")
            else:
                np.copyto(destination, source, where=group.mask, casting="unsafe")

    return move
