"""What tilegen says of the launches that `counters.py` profiled, beside what the hardware counted.

Needs no GPU: a profile keeps the PTX of each kernel that ran and how its arrays lay.
"""

from __future__ import annotations

import base64
import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from counters_cases import named

from tilegen.analysis.metrics import occupancy
from tilegen.sim import Launch as SimulatedLaunch
from tilegen.sim import Memory, Module, load_module, simulate
from tilegen.sim.ptx import Instruction
from tilegen.target import target


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of the table. `metric`: Nsight Compute's name."""

    name: str
    short: str
    metric: str


# What the instructions take. The unit's own count, `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}`, has those
# more that are repeated because lines of global loads arrive at the same banks at that moment (its part of
# `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld`), which differ from run to run.
_SHARED = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_LSU = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
QUANTITIES = (
    Quantity("load requests", "ld req", _LSU.format("requests", "ld")),
    Quantity("load sectors", "ld sec", _LSU.format("sectors", "ld")),
    Quantity("store requests", "st req", _LSU.format("requests", "st")),
    Quantity("store sectors", "st sec", _LSU.format("sectors", "st")),
    Quantity("shared load wavefronts", "sh ld", _SHARED.format("ld")),
    Quantity("shared store wavefronts", "sh st", _SHARED.format("st")),
    Quantity("registers", "regs", "launch__registers_per_thread"),
    Quantity("occupancy, % of warps", "occ %", "sm__maximum_warps_per_active_cycle_pct"),
)
# A launch gets no fewer registers a thread than this, whatever the compiler says it uses (every case below 16 was
# launched with 16 on an H200); the compiler's own number is compared above it.
LEAST_REGISTERS = 16
# Beside the columns: to explain a difference, and to make sure that a row belongs to the launch.
CONTEXT = (
    "launch__grid_size",
    "launch__block_size",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
)


def predict(document: dict[str, Any], case: dict[str, Any]) -> tuple[list[float], str]:
    """The quantities as tilegen has them: a simulation of the PTX that ran, ptxas's registers, the occupancy rules.

    And what makes the hardware's numbers others: where ptxas joined memory instructions of the PTX, which no simulation
    of PTX can see, and where the number of loads depends on when other blocks come.
    """
    memory, addresses = Memory(), {}
    for pointer, buffer in case["buffers"].items():
        data = np.zeros(buffer["size"], np.uint8)
        if "content" in buffer:
            data[:] = np.frombuffer(base64.b64decode(document["contents"][buffer["content"]]), np.uint8)
        lead = (buffer["misalign"] - buffer["base"]) % 256
        addresses[pointer] = memory.allocate(pointer, data, misalign=lead) + buffer["base"]
    for name, size in case.get("scratch", {}).items():
        addresses[f"scratch {name}"] = memory.allocate(f"scratch {name}", np.zeros(max(size, 1), np.uint8))
    values: list[Any] = []
    for value in case["parameters"]:
        match value:
            case {"pointer": pointer}:
                value = addresses[pointer]
            case {"scratch": name}:
                value = addresses[f"scratch {name}"]
            case {"bytes": text}:
                value = bytes.fromhex(text)
        values.append(value)
    shape = SimulatedLaunch((case["grid"], 1, 1), (case["block"], 1, 1), case["dynamic_shared"])
    module = load_module(document["ptx"][case["ptx"]])
    report = simulate(module, case["kernel"], shape, values, memory, checks=False)
    counted = report.counters
    resident = occupancy(
        target(document["target"]),
        threads=case["block"],
        registers=case["registers"],
        shared_bytes=case["static_shared"] + case["dynamic_shared"],
    )
    # More may be executed than have an active lane; fewer only if ptxas joined some.
    executed = (
        ("shared loads", counted.shared_load_requests, "smsp__inst_executed_op_shared_ld.sum"),
        ("shared stores", counted.shared_store_requests, "smsp__inst_executed_op_shared_st.sum"),
    )
    notes = [
        f"{case['hardware'][metric]} {what} executed, {count} in the PTX"
        for what, count, metric in executed
        if case["hardware"].get(metric, count) < count
    ]
    if _polls(module, case["kernel"]):
        notes.append("blocks look at what others have published until it is there")
    return [
        counted.global_load_requests,
        counted.global_load_sectors,
        counted.global_store_requests,
        counted.global_store_sectors,
        counted.shared_load_wavefronts,
        counted.shared_store_wavefronts,
        max(case["registers"], LEAST_REGISTERS),
        round(100 * resident.fraction, 2),
    ], "; ".join(notes)


def _polls(module: Module, kernel: str) -> bool:
    instructions = (i for i in module.ptx.functions[kernel].body if isinstance(i, Instruction))
    return any(i.parts[:2] == ("ld", "volatile") for i in instructions)


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    predicted: list[float]
    measured: list[float | None]
    note: str = ""

    @property
    def differs(self) -> list[int]:
        pairs = zip(self.predicted, self.measured, strict=True)
        return [n for n, (a, b) in enumerate(pairs) if b is None or abs(a - b) > 0.01]


def without_idle_content(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what arrays held only where a count depends on it: most of its bytes are random numbers."""
    cases = []
    for case in document["cases"]:
        bare = {n: {k: v for k, v in b.items() if k != "content"} for n, b in case["buffers"].items()}
        slim = {**case, "buffers": bare}
        cases.append(slim if predict(document, slim) == predict(document, case) else case)
    used = {b["content"] for c in cases for b in c["buffers"].values() if "content" in b}
    contents = {key: text for key, text in document["contents"].items() if key in used}
    return {**document, "cases": cases, "contents": contents}


def compare(document: dict[str, Any], only: str = "") -> list[Row]:
    rows = []
    for case in document["cases"]:
        if not named(case["name"], only):
            continue
        predicted, note = predict(document, case)
        measured = [case["hardware"].get(q.metric) for q in QUANTITIES]
        rows.append(Row(case["name"], predicted, measured, note))
    return rows


def table(document: dict[str, Any], rows: list[Row]) -> str:
    """Markdown: one number where both agree, `tilegen → hardware` where they do not."""
    different = [row for row in rows if row.differs]
    nvrtc = ".".join(map(str, document["nvrtc"]))
    lines = [
        "# Counters: simulator and hardware",
        "",
        "Written by `python benchmarks/counters.py`. One number where tilegen and Nsight Compute agree,",
        "**tilegen → hardware** where they do not.",
        "",
        f"- {document['date']}, tilegen {document['tilegen']}, {document['gpu']} ({document['target']}), "
        f"driver {document['driver']}, NVRTC {nvrtc}, Nsight Compute {document['ncu']}",
        f"- {len(rows)} launches; {len(rows) - len(different)} agree in all {len(QUANTITIES)} quantities",
        "",
        "| quantity | metric | launches that differ |",
        "|---|---|---|",
    ]
    for n, quantity in enumerate(QUANTITIES):
        lines.append(f"| {quantity.name} | `{quantity.metric}` | {sum(n in r.differs for r in rows)} |")
    lines += [
        "",
        f"Registers: of those the compiler uses and {LEAST_REGISTERS}, the larger; a launch gets no fewer.",
    ]
    noted = [row for row in different if row.note]
    if noted:
        lines += [
            "",
            "Why they differ: ptxas joined accesses to neighbouring words, which the PTX that is simulated has apart,",
            "or loads are repeated until other blocks have come so far:",
            "",
        ]
        lines += [f"- {row.name}: {row.note}" for row in noted]
    lines += [
        "",
        f"| launch | {' | '.join(q.short for q in QUANTITIES)} |",
        "|---" * (len(QUANTITIES) + 1) + "|",
    ]
    for row in rows:
        cells = [
            f"**{show(a)} → {show(b)}**" if n in row.differs else show(a)
            for n, (a, b) in enumerate(zip(row.predicted, row.measured, strict=True))
        ]
        lines.append(f"| {row.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def show(value: float | None) -> str:
    return "?" if value is None else f"{value:g}" if value < 1e5 else f"{value:.0f}"


def save(path: Path, document: dict[str, Any]) -> None:
    data = json.dumps(document).encode()
    path.write_bytes(lzma.compress(data) if path.suffix == ".xz" else data)


def read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    document: dict[str, Any] = json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    return document
