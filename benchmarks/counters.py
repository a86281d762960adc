"""Memory counters of generated kernels: what the hardware counts against what tilegen says without it.

    python benchmarks/counters.py                              profile, compare, write docs/performance/counters.md
    python benchmarks/counters.py --profile counters.json.xz   needs a GPU and Nsight Compute (`ncu`)
    python benchmarks/counters.py --compare counters.json.xz   needs neither; exit code 1 if a number
                                                               differs without a known reason

Every case of `counters_cases.py` is launched once, all in one process under one `ncu`. The file keeps the PTX of each
kernel that ran and how its arrays lay, so that the comparison simulates that launch, whatever specs, tilegen and NVRTC
have become since. Compared per launch: requests and sectors of global loads and stores, wavefronts of shared loads and
stores, registers, theoretical occupancy.

The driver may reserve the hardware counters for root: see NVIDIA's ERR_NVGPUCTRPERM.
"""

from __future__ import annotations

import argparse
import base64
import csv
import datetime
import hashlib
import json
import lzma
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from counters_cases import Launch, families, launches, named

import tilegen
from tilegen.analysis.occupancy import occupancy
from tilegen.runtime.outcome import Arguments, compile_program, parameter_value
from tilegen.sim import Launch as SimulatedLaunch
from tilegen.sim import Memory, Module, load_module, simulate
from tilegen.sim.ptx import Instruction
from tilegen.spec import Role
from tilegen.target import Target, target
from tilegen.verify.inputs import index_tensors, moves_only

TABLE = Path(__file__).parents[1] / "docs" / "performance" / "counters.md"


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


# On the GPU ------------------------------------------------------------------------------------------------------


def device_target() -> Target:
    import cupy

    return target(f"sm_{cupy.cuda.Device().compute_capability}")


def compile_family(name: str, architecture: str, only: str) -> None:
    """In a process of its own, to fill the disk cache: the profiled process then only loads."""
    for launch in launches(target(architecture), only, name):
        compile_program(launch.program)


def launch_all(out: Path, only: str) -> None:
    """Launch every case once and write what was launched; run under `ncu`, which sees no other kernel."""
    import cupy

    from tilegen.runtime.gpu import prepare
    from tilegen.toolchain.nvrtc import nvrtc_version

    # Arrays without a byte to spare, so that compute-sanitizer (tests/gpu/sanitize.sh) sees an access past the end.
    cupy.cuda.set_allocator(None)

    architecture = device_target()
    cases: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    contents: dict[str, str] = {}
    for one in launches(architecture, only):
        arguments = one.place()
        # Like the simulator's: buffers begin at multiples of 256 bytes, and so many bytes further on.
        memories, addresses = {}, {}
        for pointer, buffer in arguments.buffers.items():
            lead = (buffer.misalign - buffer.base) % 256
            memories[pointer] = cupy.cuda.alloc(lead + max(buffer.data.size, 1))
            start = memories[pointer].ptr + lead
            cupy.cuda.runtime.memcpy(start, buffer.data.ctypes.data, buffer.data.size, 1)
            addresses[pointer] = start + buffer.base
        index = one.case.variation.index
        prepared = prepare(one.program, arguments, addresses, index)
        if prepared is None:
            raise RuntimeError(f"{one.name}: nothing to launch")
        shape, run = prepared
        run()
        cupy.cuda.runtime.deviceSynchronize()
        compiled = compile_program(one.program)
        used = compiled.resources_of(shape.entry)
        key = hashlib.sha256(compiled.ptx.encode()).hexdigest()[:16]
        texts[key] = compiled.ptx
        values = [
            {p.kind: p.key}
            if p.kind in ("pointer", "scratch")
            else _plain(parameter_value(p, one.program, arguments, addresses))
            for p in shape.parameters
        ]
        cases.append(
            {
                "name": one.name,
                "kernel": compiled.entries[shape.entry],
                "ptx": key,
                "grid": shape.blocks,
                "block": shape.threads,
                "dynamic_shared": shape.dynamic_shared,
                "static_shared": used.static_shared_bytes,
                "registers": used.registers,
                "parameters": values,
                "buffers": _described(one, arguments, contents),
                "scratch": {part.name: part.bytes for part in shape.scratch},
            }
        )
    runtime = cupy.cuda.runtime
    document = {
        "gpu": runtime.getDeviceProperties(0)["name"].decode(),
        "driver_cuda": runtime.driverGetVersion(),
        "nvrtc": list(nvrtc_version()),
        "target": architecture.name,
        "tilegen": tilegen.__version__,
        "date": datetime.date.today().isoformat(),
        "cases": cases,
        "ptx": texts,
        "contents": contents,
    }
    out.write_text(json.dumps(document))


def _described(launch: Launch, arguments: Arguments, contents: dict[str, str]) -> dict[str, Any]:
    """What a simulation needs of the buffers: size and place, and the content where addresses may depend on it
    (gathered indices, tables behind `sin`), kept once in `contents`."""
    kernel = launch.suite.kernel
    written = {t.name for t in kernel.tensors if t.role is Role.OUT}
    depends = bool(index_tensors(kernel)) or not moves_only(kernel)
    found: dict[str, dict[str, Any]] = {}
    for name, buffer in arguments.buffers.items():
        found[name] = {"size": buffer.data.size, "base": buffer.base, "misalign": buffer.misalign}
        if depends and launch.program.nest.pointer(name).tensor not in written:
            data = buffer.data.tobytes()
            key = hashlib.sha256(data).hexdigest()[:16]
            contents[key] = base64.b64encode(data).decode()
            found[name]["content"] = key
    return found


def _plain(value: int | bytes) -> Any:
    return value if isinstance(value, int) else {"bytes": value.hex()}


def profile(ncu: str, only: str) -> dict[str, Any]:
    """Launch under Nsight Compute; the document with `hardware` in every case."""
    architecture = device_target().name
    started = time.perf_counter()
    names = sorted({family.name for _, family in families()})
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_family, names, [architecture] * len(names), [only] * len(names)))
    print(f"compiled {len(names)} kernels in {time.perf_counter() - started:.0f} s", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        launched, log = Path(folder, "launched.json"), Path(folder, "ncu.csv")
        metrics = [q.metric for q in QUANTITIES] + list(CONTEXT)
        started = time.perf_counter()
        command = [
            *(ncu, "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw"),
            *("--print-units", "base", "--metrics", ",".join(metrics), "--log-file", str(log)),
            *(sys.executable, __file__, "--launch", str(launched), "--only", only),
        ]
        done = subprocess.run(command, check=False)
        if done.returncode or not launched.exists():
            text = log.read_text() if log.exists() else ""
            raise SystemExit(f"ncu ended with {done.returncode}\n{text[-4000:]}")
        print(f"profiled in {time.perf_counter() - started:.0f} s", file=sys.stderr)
        document: dict[str, Any] = json.loads(launched.read_text())
        rows = read_csv(log.read_text())
    document["driver"] = _driver()
    document["ncu"] = subprocess.run([ncu, "--version"], capture_output=True, text=True).stdout.split("\n")[
        -2:
    ][0]
    if len(rows) != len(document["cases"]):
        raise SystemExit(f"{len(document['cases'])} launches, and ncu saw {len(rows)}")
    for case, row in zip(document["cases"], rows, strict=True):
        seen = {m: _number(row[m]) for m in metrics if m in row}
        if (seen["launch__grid_size"], seen["launch__block_size"]) != (case["grid"], case["block"]):
            raise SystemExit(f"{case['name']}: ncu saw another launch here: {row}")
        case["hardware"] = seen
    return document


def read_csv(text: str) -> list[dict[str, str]]:
    """The rows of ncu's raw page, in the order of the launches; its first row is the units'."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    return list(csv.DictReader(lines))[1:]


def _number(text: str) -> float:
    value = float(text.replace(",", ""))
    return int(value) if value == int(value) else value


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# Anywhere --------------------------------------------------------------------------------------------------------


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
            f"**{_show(a)} → {_show(b)}**" if n in row.differs else _show(a)
            for n, (a, b) in enumerate(zip(row.predicted, row.measured, strict=True))
        ]
        lines.append(f"| {row.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _show(value: float | None) -> str:
    return "?" if value is None else f"{value:g}" if value < 1e5 else f"{value:.0f}"


def save(path: Path, document: dict[str, Any]) -> None:
    data = json.dumps(document).encode()
    path.write_bytes(lzma.compress(data) if path.suffix == ".xz" else data)


def read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    document: dict[str, Any] = json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    return document


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile", type=Path, metavar="FILE", help="profile only, and keep the counters")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="compare what --profile kept")
    parser.add_argument("--table", type=Path, default=TABLE, help="where the table goes")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="also write what a comparison needs")
    parser.add_argument(
        "--only", default="", metavar="WORD,…", help="cases whose name contains one of the words"
    )
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line")
    parser.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.launch is not None:
        launch_all(options.launch, options.only)
        return 0
    document = read(options.compare) if options.compare else profile(options.ncu, options.only)
    if options.profile is not None:
        save(options.profile, document)
        return 0
    if options.keep is not None:
        save(options.keep, without_idle_content(document))
    rows = compare(document, options.only)
    options.table.parent.mkdir(parents=True, exist_ok=True)
    options.table.write_text(table(document, rows))
    different = [row for row in rows if row.differs]
    for row in different:
        why = f" ({row.note})" if row.note else ""
        for n in row.differs:
            ours, theirs = _show(row.predicted[n]), _show(row.measured[n])
            print(f"{row.name}: {QUANTITIES[n].name}: {ours}, hardware {theirs}{why}")
    print(f"{len(rows)} launches, {len(different)} differ; {options.table}")
    return 1 if any(not row.note for row in different) else 0


if __name__ == "__main__":
    sys.exit(main())
