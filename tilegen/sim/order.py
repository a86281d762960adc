"""Happens-before across threads: fences, releases, acquires and barriers of a launch, as decision 13 describes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.form import MEMORY_OPCODES, Form, Scope
from tilegen.sim.phases import Phases
from tilegen.sim.ptx import Instruction
from tilegen.sim.releases import Releases
from tilegen.sim.report import Access
from tilegen.sim.shadow import STEP_SHIFT
from tilegen.sim.state import State

Array = npt.NDArray[Any]

_SCOPES = (Scope.CTA, Scope.CLUSTER, Scope.GPU)


def _orders(instruction: Instruction) -> bool:
    parts = instruction.parts
    if parts[0] in MEMORY_OPCODES:
        return bool({"acquire", "release", "acq_rel"} & set(parts))
    return parts[0] in ("fence", "membar")


class Words:
    """What lies at the granules of a memory, for each scope: the node that a reader in that scope finds."""

    def __init__(self, granules: int) -> None:
        self.nodes = np.zeros((len(_SCOPES), granules), dtype=np.int64)
        # The block that wrote last.
        self.writers = np.zeros(granules, dtype=np.int64)


class Order:
    """Per lane of the chunk what it knows, what it has seen, and what its fences make visible.

    `active` is false until the first fence, release or acquire: until then nothing can be ordered but by barriers.
    `expected` says that the program holds one.
    """

    def __init__(self, state: State, global_granules: int, shared_granules: int) -> None:
        self.state = state
        self.active = False
        self.expected = any(_orders(one) for one in state.program.instructions)
        self.releases = Releases(state.padded)
        self._granules = {True: shared_granules, False: global_granules}
        self._words: dict[bool, Words] = {}
        self._known: Array = np.zeros(0, dtype=np.int64)
        self._seen: Array = np.zeros((len(_SCOPES), 0), dtype=np.int64)
        self._fenced: Array = np.zeros((len(_SCOPES), 0), dtype=np.int64)

    def _activate(self) -> None:
        if not self.active:
            lanes = self.state.lanes
            self._known = np.zeros(lanes, dtype=np.int64)
            self._seen = np.zeros((len(_SCOPES), lanes), dtype=np.int64)
            self._fenced = np.zeros((len(_SCOPES), lanes), dtype=np.int64)
            self.active = True

    def begin(self) -> None:
        """Other blocks take the lanes; what earlier ones released stays at its words."""
        if self.active:
            self._known[:] = 0
            self._seen[:] = 0
            self._fenced[:] = 0
            self._words.pop(True, None)

    def fence(self, lanes: Array, scope: Scope, step: int) -> None:
        """A fence by each of the lanes."""
        self._activate()
        for place in range(scope):
            seen = self._seen[place]
            self._known[lanes] = self.releases.join(self._known[lanes], seen[lanes])
            seen[lanes] = 0
        self._fenced[:scope, lanes] = self._own(lanes, step << STEP_SHIFT)

    def _own(self, lanes: Array, time: int) -> Array:
        state = self.state
        return self.releases.own(
            state.thread_number[lanes],
            time,
            state.barrier_key[lanes],
            state.warp_last[lanes],
            self._known[lanes],
        )

    def overwrite(self, shared: bool, granules: Array) -> None:
        """A plain store: nothing lies at these words any more."""
        words = self._words.get(shared)
        if words is not None:
            words.nodes[:, granules] = 0

    def access(self, shared: bool, granules: Array, lanes: Array, form: Form, step: int) -> None:
        """A volatile, relaxed, acquire or release access, or an atomic, by each of the lanes to one granule each."""
        if form.releases or form.acquires:
            self._activate()
        if not self.active:
            return
        words = self._words.get(shared)
        if words is None:
            if form.access is Access.LOAD:
                return
            words = self._words[shared] = Words(self._granules[shared])
        blocks = self.state.thread_number[lanes] // self.state.padded
        if form.access is Access.LOAD:
            self._observe(words, granules, lanes, blocks, form)
            return
        left = self._fenced[:, lanes].copy()
        left[form.scope :] = 0
        if form.releases:
            left[: form.scope] = self._own(lanes, (step + 1) << STEP_SHIFT)
        if form.access is Access.STORE:
            words.nodes[:, granules] = left
            words.writers[granules] = blocks
            return
        self._exchange(words, granules, lanes, blocks, left, form)

    def _exchange(
        self, words: Words, granules: Array, lanes: Array, blocks: Array, left: Array, form: Form
    ) -> None:
        """Atomics: each lane finds what lay there and adds its own; lanes that meet at a word do so in order."""
        if not (left.any() or words.nodes[:, granules].any()):
            return
        order = np.argsort(granules, kind="stable")
        granules, lanes, blocks, left = granules[order], lanes[order], blocks[order], left[:, order]
        first = np.append(True, granules[1:] != granules[:-1])
        before = np.append(words.writers[granules[:1]], blocks[:-1])
        before[first] = words.writers[granules[first]]
        found = np.zeros_like(left)
        near = [self._near(scope, before, blocks) for scope in _SCOPES]
        for place in range(len(_SCOPES)):
            # What another block left in a scope that does not hold this one ends there.
            fresh = first | ~near[place]
            lying = np.where(first & near[place], words.nodes[place][granules], 0)
            if not (left[place].any() or lying.any()):
                words.nodes[place][granules] = 0
                continue
            joined = self.releases.join(lying, left[place])
            after = self.releases.chain(joined, fresh)
            found[place] = np.where(fresh, lying, np.append(0, after[:-1]))
            words.nodes[place][granules] = after
        words.writers[granules] = blocks
        self._take(found, lanes, form)

    def _near(self, scope: Scope, writers: Array, blocks: Array) -> Array:
        """Whether a block is in the scope of a writing one."""
        match scope:
            case Scope.CTA:
                return np.asarray(writers == blocks)
            case Scope.CLUSTER:
                size = self.state.cluster
                return np.asarray(writers // size == blocks // size)
            case _:
                return np.ones(len(blocks), dtype=np.bool_)

    def _observe(self, words: Words, granules: Array, lanes: Array, blocks: Array, form: Form) -> None:
        found = words.nodes[:, granules]
        if not found.any():
            return
        writers = words.writers[granules]
        for place, scope in enumerate(_SCOPES):
            found[place][~self._near(scope, writers, blocks)] = 0
        self._take(found, lanes, form)

    def _take(self, found: Array, lanes: Array, form: Form) -> None:
        for place in range(form.scope):
            if not found[place].any():
                continue
            held = self._known if form.acquires else self._seen[place]
            held[lanes] = self.releases.join(held[lanes], found[place])

    def barrier(self, lanes: Array, parties: Array) -> None:
        """The lanes of one party each know, have seen and make visible what all of it do."""
        if not self.active:
            return
        self._merge(self._known, lanes, parties)
        for held in self._seen:
            self._merge(held, lanes, parties)
        done: list[tuple[Array, Array]] = []
        for held in self._fenced:
            values = held[lanes]
            same = next((after for before, after in done if np.array_equal(before, values)), None)
            if same is None:
                self._condense(held, lanes)
                self._merge(held, lanes, parties)
                done.append((values, held[lanes]))
            else:
                held[lanes] = same

    def _condense(self, held: Array, lanes: Array) -> None:
        """Where all threads of a block made one fence, one node says so for all of them."""
        values, graph, state = held[lanes], self.releases, self.state
        if not values.any() or (values == values[0]).all():
            return
        blocks = state.lane_block[lanes]
        order = np.argsort(blocks, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(blocks[order]) != 0))
        sizes = np.diff(np.append(starts, len(order)))
        sorted_values = values[order]
        alike = sizes == state.threads
        for field in (graph.time[sorted_values], graph.parents[0][sorted_values]):
            alike &= np.minimum.reduceat(field, starts) == np.maximum.reduceat(field, starts)
        alike &= np.minimum.reduceat(graph.thread[sorted_values], starts) >= 0
        alike &= (
            np.maximum.reduceat(graph.thread[sorted_values], starts)
            - np.minimum.reduceat(graph.thread[sorted_values], starts)
            == state.threads - 1
        )
        if not alike.any():
            return
        heads = sorted_values[starts[alike]]
        made = graph.of_block(graph.thread[heads] // state.padded, graph.time[heads], graph.parents[0][heads])
        every = np.repeat(alike, sizes)
        held[lanes[order[every]]] = np.repeat(made, sizes[alike])

    def _merge(self, held: Array, lanes: Array, parties: Array) -> None:
        values = held[lanes]
        if not values.any():
            return
        pairs = np.unique((parties[values != 0] << 32) | values[values != 0])
        party = pairs >> 32
        first = np.append(True, party[1:] != party[:-1])
        joined = self.releases.chain(pairs & 0xFFFFFFFF, first)
        last = np.append(party[1:] != party[:-1], True)
        table = np.zeros(int(parties.max()) + 1, dtype=np.int64)
        table[party[last]] = joined[last]
        held[lanes] = table[parties]

    def cluster_barrier(self, lanes: Array, phases: Phases) -> None:
        """The lanes know and have seen what all of their clusters do, and what those did before they arrived."""
        if not (self.active or self.expected):
            return
        self._activate()
        state = self.state
        size = state.cluster * state.padded
        clusters = np.unique(lanes // size)
        every = np.flatnonzero(state.alive & np.isin(np.arange(state.lanes) // size, clusters))
        leaders = lanes[np.searchsorted(lanes // size, every // size)]
        arrivals = phases.arrivals(leaders, every, phases.passed)
        heads = np.flatnonzero(np.append(True, np.diff(state.lane_block[every]) != 0))
        known = self._known.copy()
        nodes = self.releases.of_block(
            state.thread_number[every[heads]] // state.padded, np.minimum.reduceat(arrivals, heads), 0
        )
        known[every[heads]] = self.releases.join(known[every[heads]], nodes)
        for held, values in (
            (self._known, known),
            *((one, one.copy()) for one in (*self._seen, *self._fenced)),
        ):
            self._merge(values, every, every // size)
            held[lanes] = values[lanes]

    def covers(self, lanes: Array, others: Array, keys: Array) -> Array:
        """Whether the accesses with these keys by other threads have happened before what the lanes do now."""
        if not self.active:
            return np.zeros(len(lanes), dtype=np.bool_)
        return self.releases.covers(self._known[lanes], others, keys)

    def covers_but_for_a_fence(self, lane: int, other: int, key: int) -> bool:
        """Whether the lane has read a word that says so, but no acquire or fence of its own makes it count."""
        if not self.active:
            return False
        nodes = self._seen[:, lane]
        return bool(self.releases.covers(nodes, np.full(len(nodes), other), np.full(len(nodes), key)).any())

    def covers_for_any(self, lanes: Array, others: Array, keys: Array) -> Array:
        """The same where it is enough that one of the lanes knows."""
        found = np.zeros(len(others), dtype=np.bool_)
        if not self.active:
            return found
        for node in np.unique(self._known[lanes]).tolist():
            found |= self.releases.covers(np.full(len(others), node), others, keys)
        return found
