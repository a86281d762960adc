"""The counting rules against what Nsight Compute counted on an H200, as functions and through the simulator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilegen.sim import Access, Launch, Memory, Module, Space, simulate
from tilegen.sim.counters import access_groups, global_sectors, shared_ideal, shared_wavefronts

PATTERNS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200_counters.json").read_text()
)["patterns"]
SHARING: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "h200_shared_addresses.json").read_text()
)["patterns"]
WIDTHS = (1, 2, 4, 8, 16)
TYPES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "uint2", 16: "uint4"}


def test_all_patterns_are_there() -> None:
    assert len(PATTERNS) == 430
    assert {p["bytes"] for p in PATTERNS} == set(WIDTHS)


def test_patterns_match_the_hardware_one_by_one() -> None:
    wrong = []
    for p in PATTERNS:
        offsets = np.array([p["offsets"]])
        active = offsets >= 0
        if p["space"] == "shared":
            got = int(shared_wavefronts(offsets, active, p["bytes"], p["op"] == "load")[0])
            ideal = int(shared_ideal(active, p["bytes"], np.array([got]))[0])
            if (got, ideal) != (p["wavefronts"], p["ideal"]):
                wrong.append((p["space"], p["op"], p["bytes"], p["pattern"], got, ideal))
        elif int(global_sectors(offsets, active, p["bytes"])[0]) != p["sectors"]:
            wrong.append((p["space"], p["op"], p["bytes"], p["pattern"]))
    assert wrong == []


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("op", ["load", "store"])
@pytest.mark.parametrize("bytes", WIDTHS)
def test_patterns_match_the_hardware_as_one_batch(space: str, op: str, bytes: int) -> None:
    chosen = [p for p in PATTERNS if (p["space"], p["op"], p["bytes"]) == (space, op, bytes)]
    offsets = np.array([p["offsets"] for p in chosen])
    if space == "shared":
        got = shared_wavefronts(offsets, offsets >= 0, bytes, op == "load").tolist()
        assert got == [p["wavefronts"] for p in chosen]
    else:
        assert global_sectors(offsets, offsets >= 0, bytes).tolist() == [p["sectors"] for p in chosen]


def test_wide_loads_of_shared_addresses_match_the_hardware() -> None:
    assert len(SHARING) == 88
    for p in SHARING:
        offsets = np.array([p["offsets"]])
        got = int(shared_wavefronts(offsets, offsets >= 0, p["bytes"], True)[0])
        assert got == p["wavefronts"], (p["bytes"], p["pattern"])


def _kernel(space: str, op: str, bytes: int) -> str:
    kind = TYPES[bytes]
    shared = space == "shared"
    declare = f"extern __shared__ uint4 raw[]; {kind}* p = ({kind}*)raw;" if shared else f"{kind}* p = data;"
    fill = (
        "for (int i = threadIdx.x; i < 1024; i += 32) raw[i] = make_uint4(i, i, i, i); __syncthreads();"
        if shared
        else ""
    )
    access = "sink[threadIdx.x] = p[o / sizeof(*p)];" if op == "load" else "p[o / sizeof(*p)] = value[0];"
    return f"""extern "C" __global__ void k(const int* table, {kind}* data, {kind}* sink, const {kind}* value) {{
        {declare}
        int o = table[threadIdx.x];
        {fill}
        if (o >= 0)
            {access}
    }}"""


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("op", ["load", "store"])
@pytest.mark.parametrize("bytes", WIDTHS)
def test_patterns_match_the_hardware_when_simulated(
    cuda: Callable[..., Module], space: str, op: str, bytes: int
) -> None:
    source = _kernel(space, op, bytes)
    module = cuda(source)
    line = next(i for i, text in enumerate(source.split("\n"), 1) if "if (o >= 0)" in text) + 1
    for p in (p for p in PATTERNS if (p["space"], p["op"], p["bytes"]) == (space, op, bytes)):
        memory = Memory()
        arguments = [
            memory.allocate("table", np.array(p["offsets"], dtype=np.int32)),
            memory.allocate("data", 16384),
            memory.allocate("sink", 32 * bytes),
            memory.allocate("value", 16),
        ]
        report = simulate(module, "k", Launch((1, 1, 1), (32, 1, 1), 16384), arguments, memory)
        wanted = Access.LOAD if op == "load" else Access.STORE
        found = [
            a
            for a in report.accesses
            if a.line == line
            and a.access is wanted
            and a.space is Space(space)
            and a.bytes == bytes
            and a.requests
        ]
        if space == "global" and op == "load":
            assert found and found[0].sectors == p["sectors"], p["pattern"]
            continue
        assert len(found) == 1
        if space == "shared":
            assert (found[0].wavefronts, found[0].ideal) == (p["wavefronts"], p["ideal"]), p["pattern"]
            active = np.array([p["offsets"]]) >= 0
            assert found[0].groups == int(access_groups(active, bytes)[0])
        else:
            assert found[0].sectors == p["sectors"], p["pattern"]


def test_bank_conflicts_are_those_of_a_column_read() -> None:
    active = np.ones((1, 32), dtype=bool)
    column = np.arange(32)[None] * 32 * 4
    padded = np.arange(32)[None] * 33 * 4
    assert shared_wavefronts(column, active, 4, True).tolist() == [32]
    assert shared_wavefronts(padded, active, 4, True).tolist() == [1]


def test_inactive_warps_cost_nothing() -> None:
    none = np.zeros((2, 32), dtype=bool)
    addresses = np.zeros((2, 32), dtype=np.int64)
    assert shared_wavefronts(addresses, none, 16, True).tolist() == [0, 0]
    assert global_sectors(addresses, none, 4).tolist() == [0, 0]
    assert access_groups(none, 8).tolist() == [0, 0]


def test_misaligned_rows_touch_a_fifth_sector() -> None:
    addresses = np.arange(32)[None] * 4 + 4
    assert global_sectors(addresses, np.ones((1, 32), dtype=bool), 4).tolist() == [5]
