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
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from counters_cases import Launch, families, launches
from counters_compare import CONTEXT, QUANTITIES, compare, read, save, show, table, without_idle_content

import tilegen
from tilegen.lang.spec import Role
from tilegen.run.outcome import Arguments, compile_program, parameter_value
from tilegen.target import Target, target
from tilegen.verify.inputs import index_tensors, moves_only

TABLE = Path(__file__).parents[1] / "docs" / "performance" / "counters.md"


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

    from tilegen.run.gpu import prepare
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
            ours, theirs = show(row.predicted[n]), show(row.measured[n])
            print(f"{row.name}: {QUANTITIES[n].name}: {ours}, hardware {theirs}{why}")
    print(f"{len(rows)} launches, {len(different)} differ; {options.table}")
    return 1 if any(not row.note for row in different) else 0


if __name__ == "__main__":
    sys.exit(main())
