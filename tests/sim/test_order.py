"""Happens-before by the graph of releases against clocks kept thread by thread."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tilegen.sim import Access, Space
from tilegen.sim.alu import DTYPES
from tilegen.sim.form import Form, Scope
from tilegen.sim.order import Order
from tilegen.sim.program import build
from tilegen.sim.releases import Releases
from tilegen.sim.shadow import STEP_SHIFT
from tilegen.sim.simulate import load_module
from tilegen.sim.state import State

PTX = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\nret;\n}"
# Lanes that act, of two blocks of two warps; the four blocks are two clusters.
THREADS = 64
ACTORS = [0, 1, 33, 64, 65, 100, 128, 129, 200]
WORDS = 3
Clock = dict[int, int]


def joined(*clocks: Clock) -> Clock:
    result: Clock = {}
    for clock in clocks:
        for thread, time in clock.items():
            result[thread] = max(result.get(thread, 0), time)
    return result


@dataclass
class Lane:
    known: Clock = field(default_factory=dict)
    seen: list[Clock] = field(default_factory=lambda: [{}, {}, {}])
    fenced: list[Clock] = field(default_factory=lambda: [{}, {}, {}])


class Model:
    """What `Order` says, from the definitions, without a graph."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.lanes = {lane: Lane() for lane in ACTORS}
        self.words: list[list[Clock]] = [[{}, {}, {}] for _ in range(WORDS)]
        self.writers = [0] * WORDS

    def own(self, lane: int, time: int) -> Clock:
        state, clock = self.state, dict(self.lanes[lane].known)
        for other in ACTORS:
            if other // THREADS == lane // THREADS:
                clock = joined(clock, {other: int(state.barrier_key[lane]) + 1})
            if other // 32 == lane // 32:
                clock = joined(clock, {other: int(state.warp_last[lane]) + 1})
        return joined(clock, {lane: time})

    def fence(self, lane: int, scope: int, step: int) -> None:
        me = self.lanes[lane]
        for place in range(scope):
            me.known = joined(me.known, me.seen[place])
            me.seen[place] = {}
        for place in range(scope):
            me.fenced[place] = self.own(lane, step << STEP_SHIFT)

    def access(self, word: int, lane: int, form: Form, step: int) -> None:
        me, block = self.lanes[lane], lane // THREADS
        left: list[Clock] = [me.fenced[place] if place < form.scope else {} for place in range(3)]
        if form.releases:
            for place in range(form.scope):
                left[place] = self.own(lane, (step + 1) << STEP_SHIFT)
        near = (self.writers[word] == block, self.writers[word] // 2 == block // 2, True)
        if form.access is not Access.STORE:
            for place in range(form.scope):
                if near[place]:
                    found = self.words[word][place]
                    if form.acquires:
                        me.known = joined(me.known, found)
                    else:
                        me.seen[place] = joined(me.seen[place], found)
        if form.access is not Access.LOAD:
            for place in range(3):
                lying = self.words[word][place] if form.access is Access.ATOMIC and near[place] else {}
                self.words[word][place] = joined(lying, left[place])
            self.writers[word] = block

    def barrier(self, lanes: list[int]) -> None:
        parties = [self.lanes[lane] for lane in lanes]
        known = joined(*(one.known for one in parties))
        seen = [joined(*(one.seen[place] for one in parties)) for place in range(3)]
        fenced = [joined(*(one.fenced[place] for one in parties)) for place in range(3)]
        for one in parties:
            one.known, one.seen, one.fenced = known, list(seen), list(fenced)


LOAD = Form(Access.LOAD, Space.GLOBAL, "u32", DTYPES["u32"], 1, Scope.GPU, True, False, False, True, True)
FORMS = [
    replace(LOAD, access=access, releases=releases, acquires=acquires)
    for access, releases, acquires in [
        (Access.LOAD, False, False),
        (Access.LOAD, False, True),
        (Access.STORE, False, False),
        (Access.STORE, True, False),
        (Access.ATOMIC, False, False),
        (Access.ATOMIC, True, True),
    ]
]
SCOPES = st.sampled_from([Scope.CTA, Scope.CLUSTER, Scope.GPU, Scope.GPU])
# Lanes of one instruction, each at a word.
GROUPS = st.dictionaries(st.sampled_from(ACTORS), st.integers(0, WORDS - 1), min_size=1, max_size=4)
OPERATIONS = st.one_of(
    st.tuples(st.just("fence"), st.sets(st.sampled_from(ACTORS), min_size=1), SCOPES),
    st.tuples(st.just("access"), GROUPS, SCOPES, st.sampled_from(FORMS)),
    st.tuples(st.just("access"), GROUPS, SCOPES, st.sampled_from(FORMS)),
    st.tuples(st.just("block"), st.integers(0, 3)),
    st.tuples(st.just("warp"), st.integers(0, 7)),
)


def new_state() -> State:
    program = build(load_module(PTX).ptx, "k")
    state = State(program, (4, 1, 1), (THREADS, 1, 1), 4, 0, b"", lambda name: 0, (2, 1, 1))
    state.begin(0, 4)
    return state


# What another block left in its own scope does not outlast an atomic of this one.
ENDED = [
    ("fence", {0}, Scope.CTA),
    ("access", {64: 0}, Scope.CTA, FORMS[3]),
    ("access", {1: 0}, Scope.CTA, FORMS[4]),
    ("access", {0: 0}, Scope.CTA, FORMS[1]),
]


@example(operations=ENDED)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(operations=st.lists(OPERATIONS, max_size=40))
def test_the_graph_says_what_the_clocks_say(operations: list[tuple[Any, ...]]) -> None:
    state = new_state()
    order, model = Order(state, WORDS, 1), Model(state)
    for step, (kind, *rest) in enumerate(operations, 1):
        key = step << STEP_SHIFT
        if kind == "fence":
            lanes = sorted(rest[0])
            order.fence(np.array(lanes), rest[1], step)
            for lane in lanes:
                model.fence(lane, rest[1], step)
        elif kind == "access":
            form = replace(rest[2], scope=rest[1])
            lanes = sorted(rest[0])
            words = [rest[0][lane] for lane in lanes]
            order.access(False, np.array(words), np.array(lanes), form, step)
            if order.active:
                for lane, word in zip(lanes, words, strict=True):
                    model.access(word, lane, form, step)
        else:
            size = THREADS if kind == "block" else 32
            lanes = list(range(rest[0] * size, (rest[0] + 1) * size))
            (state.barrier_key if kind == "block" else state.warp_last)[lanes] = key
            if order.active:
                order.barrier(np.array(lanes), np.array(lanes) // size)
                model.barrier([lane for lane in lanes if lane in model.lanes])
    times = [step << STEP_SHIFT for step in range(1, len(operations) + 1)]
    asked = [
        (mine, other, time | other) for mine in ACTORS for other in ACTORS for time in times if mine != other
    ]
    if asked:
        lanes, others, keys = (np.array(one, dtype=np.int64) for one in zip(*asked, strict=True))
        expected = [key < model.lanes[mine].known.get(other, 0) for mine, other, key in asked]
        assert order.covers(lanes, others, keys).tolist() == expected


@pytest.mark.parametrize("same", [True, False])
def test_a_fence_of_a_whole_block_is_one_node(same: bool) -> None:
    state = new_state()
    order = Order(state, 1, 1)
    lanes = np.arange(THREADS)
    for step, part in enumerate((lanes,) if same else (lanes[:5], lanes[5:]), 1):
        order.fence(part, Scope.GPU, step)
    before = order.releases.count
    state.barrier_key[lanes] = 5 << STEP_SHIFT
    order.barrier(lanes, lanes * 0)
    assert (order.releases.count - before == 1) == same


def test_long_chains_are_followed_to_their_end() -> None:
    graph = Releases(32)
    nodes = graph.own(np.arange(3000) * 32, 7 << STEP_SHIFT, np.zeros(3000), np.zeros(3000), np.zeros(3000))
    last = graph.chain(nodes, np.arange(3000) == 0)[-1:]
    others = np.arange(0, 96000, 3200)
    found = graph.covers(np.repeat(last, len(others)), others, np.full(len(others), 6 << STEP_SHIFT))
    assert found.all()
    assert not graph.covers(last, np.array([31]), np.array([6 << STEP_SHIFT])).any()
    assert not graph.covers(last, np.array([64]), np.array([7 << STEP_SHIFT])).any()
