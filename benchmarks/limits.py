"""What bounds a row of the speed table: the counters of its kernel, as Nsight Compute reads them.

    python benchmarks/limits.py [--rows WORD]… [--schedule DIRECTIVES] [--out limits.json] [--table limits.md]

Needs a GPU and `ncu`. Each row is launched once, alone, with the caches flushed; nothing here is a time. What the work
needs is every element read once and written once.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from speed_rows import ROWS, Row

_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_REASONS = (
    "long_scoreboard",
    "short_scoreboard",
    "lg_throttle",
    "mio_throttle",
    "barrier",
    "membar",
    "wait",
    "math_pipe_throttle",
    "not_selected",
    "drain",
    "no_instruction",
)
_PERCENT = "{}.avg.pct_of_peak_sustained_elapsed"
METRICS = {
    "DRAM %": _PERCENT.format("dram__throughput"),
    "L2 %": _PERCENT.format("lts__throughput"),
    "L1 %": _PERCENT.format("l1tex__throughput"),
    "issue %": "smsp__issue_active.avg.pct_of_peak_sustained_elapsed",
    "occupancy %": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "read": "dram__bytes_read.sum",
    "written": "dram__bytes_write.sum",
    "instructions": "smsp__inst_executed.sum",
    "load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared loads": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared stores": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "L2 read sectors": "lts__t_sectors_op_read.sum",
    "L2 write sectors": "lts__t_sectors_op_write.sum",
    "registers": "launch__registers_per_thread",
    **{reason: _STALL.format(reason) for reason in _REASONS},
}
_KERNEL = "regex:^(transpose|permute|copy|split)_(auto|chosen)"


def launch(rows: list[Row], directives: str | None) -> None:
    """Launch every row once; `ncu` looks on."""
    import torch
    from speed_work import TARGET, data_of, family_of, kernel_of

    from tilegen.program import build

    for row in rows:
        family = family_of(row, directives)
        schedule = family.schedules[0] if directives is not None else None
        program = build(family.kernels[0], schedule, TARGET, sizes=row.sizes)
        kernel_of(program, data_of(row, family.kernels[0])).run()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def profile(rows: list[Row], directives: str | None) -> list[dict[str, float]]:
    """The counters of every row, by the names of `METRICS`; a metric this `ncu` does not know is left out."""
    metrics = dict(METRICS)
    asked = ["--launch", ",".join(str(ROWS.index(r)) for r in rows)]
    asked += ["--schedule", directives] if directives else []
    while True:
        command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        command += ["--kernel-name", _KERNEL, "--metrics", ",".join(metrics.values())]
        command += [sys.executable, __file__, *asked]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        unknown = re.search(r"Failed to find metric (?:regex:)?\W*([\w.]+)", done.stdout + done.stderr)
        if unknown is None:
            break
        metrics = {n: m for n, m in metrics.items() if unknown[1] not in m}
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    table = list(csv.DictReader(lines))[1:]  # the first row holds units
    if len(table) != len(rows):
        sys.exit(
            f"{len(rows)} rows, {len(table)} kernels seen by ncu:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return [{n: float(line[m].replace(",", "")) for n, m in metrics.items()} for line in table]


def described(row: Row, counters: dict[str, float]) -> dict[str, Any]:
    """The counters of a row, with its own amounts beside what the work needs."""
    elements, size = row.elements, row.element_size
    sectors = elements * size / 32
    stalls = {reason: counters[reason] for reason in _REASONS if reason in counters}
    total = sum(stalls.values()) or 1.0
    return {
        "row": row.name,
        "counters": counters,
        "read": counters["read"] / (elements * size),
        "written": counters["written"] / (elements * size),
        "load sectors": counters["load sectors"] / sectors,
        "store sectors": counters["store sectors"] / sectors,
        "L2 sectors": (counters["L2 read sectors"] + counters["L2 write sectors"]) / (2 * sectors),
        "shared": (counters["shared loads"] + counters["shared stores"]) / (2 * elements * size / 128),
        "instructions": counters["instructions"] * 32 / elements,
        "stalls": {r: s / total for r, s in sorted(stalls.items(), key=lambda x: -x[1])[:4]},
    }


def table(results: list[dict[str, Any]]) -> str:
    columns = (
        "work, DRAM %, read, written, L2 %, L2 sectors, L1 %, issue %, instructions, occupancy %, registers"
    )
    columns += ", sectors ld / st, shared, stalls"
    lines = [
        "# What bounds the rows",
        "",
        f"By `python benchmarks/limits.py`, {time.strftime('%Y-%m-%d')}. Shares of the peak, and amounts over what the",
        "work needs: 1 is each element read once and written once (`L2 sectors`: both together; `shared`: wavefronts",
        "over 128 bytes each way). Instructions per element are those of a thread. `stalls`: shares of the warps'",
        "waiting, the four longest.",
        "",
        "| " + " | ".join(columns.split(", ")) + " |",
        "|" + " --- |" * len(columns.split(", ")),
    ]
    return "\n".join([*lines, *map(line, results)]) + "\n"


def line(r: dict[str, Any]) -> str:
    c = r["counters"]
    stalls = ", ".join(f"{n.replace('_', ' ')} {share:.2f}" for n, share in r["stalls"].items())
    cells = [r["row"], f"{c['DRAM %']:.1f}", f"{r['read']:.2f}", f"{r['written']:.2f}", f"{c['L2 %']:.1f}"]
    cells += [f"{r['L2 sectors']:.2f}", f"{c['L1 %']:.1f}", f"{c['issue %']:.1f}", f"{r['instructions']:.1f}"]
    cells += [f"{c['occupancy %']:.1f}", f"{c['registers']:.0f}"]
    cells += [f"{r['load sectors']:.2f} / {r['store sectors']:.2f}", f"{r['shared']:.2f}", stalls]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", action="append", default=[], metavar="WORD")
    parser.add_argument("--schedule")
    parser.add_argument("--launch", metavar="NUMBERS", help="what `ncu` looks on: launch these rows")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.launch:
        launch([ROWS[int(n)] for n in options.launch.split(",")], options.schedule)
        return
    rows = [r for r in ROWS if r.named(options.rows)]
    results = [described(r, c) for r, c in zip(rows, profile(rows, options.schedule), strict=True)]
    print(table(results))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")
    if options.table:
        options.table.write_text(table(results))


if __name__ == "__main__":
    main()
