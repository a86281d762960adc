"""Speed of generated kernels on this GPU against a copy, torch and CuPy, in one process.

    python benchmarks/speed.py [--rows WORD]… [--schedule 'tile i = 64, j = 64; stage a swizzle; vector 4'] [--compile]
                               [--out speed.json] [--samples 30]

Method: every launch is timed by CUDA events; kernel, copy and rivals alternate; medians with p20 and p80; the share is
the median time of an equal-size device-to-device copy over the kernel's. All arrays have copies, which all of the work
uses in turn, and before each launch something else is read. Outputs are poisoned first and compared with torch's
afterwards, the rivals' too. A row whose result is wrong has no time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

try:
    import cupy
    import torch
except ImportError as error:
    sys.exit(
        f"this needs a GPU, CuPy and torch ({error}): pip install torch, and tilegen with its extra cuda13"
    )
from speed_rows import ROWS, Row
from speed_work import (
    TARGET,
    Work,
    as_graph,
    copy_of,
    data_of,
    family_of,
    kernel_of,
    rivals_of,
    summary,
    timed,
)

import tilegen
from tilegen.core.schedule.directives import schedule_lines
from tilegen.families.tiles.candidates import expected_share
from tilegen.program import build

RIVALS = ("torch", "torch.compile", "cupy", "geam", "cuTENSOR")


def measure(
    row: Row, directives: str | None, samples: int, rivals: bool, compiled_rival: bool
) -> dict[str, Any]:
    family = family_of(row, directives)
    kernel = family.kernels[0]
    program = build(kernel, family.schedules[0] if directives is not None else None, TARGET, sizes=row.sizes)
    data = data_of(row, kernel)
    launch = kernel_of(program, data)
    plan = program.plans[launch.shape.plan]
    result: dict[str, Any] = {
        "row": row.name,
        "schedule": "; ".join(schedule_lines(program.schedules)),
        "right": data.right(launch.run),
        "registers": launch.resources.registers,
        "spills": launch.resources.spill_load_bytes,
        "blocks": launch.shape.blocks,
        "threads": launch.shape.threads,
        "index": launch.shape.index,
        "entry": launch.shape.entry,
        "copies": data.copies,
        "bytes": row.bytes,
        "predicted": expected_share(plan.nest, plan.schedule, TARGET, {**plan.nest.constants, **row.sizes}),
        "goal": row.goal,
    }
    if not result["right"]:
        return result
    work = {"copy": copy_of(data), "tilegen": launch.run}
    if rivals:
        work |= {n: run for n, run in rivals_of(data, compiled_rival).items() if agrees(row, data, n, run)}
    calls = max(20, data.copies) if row.graph else 1
    if row.graph:
        work = {n: graph for n, run in work.items() if (graph := captured(row, n, run, calls)) is not None}
    for name, values in timed(work, samples).items():
        result[name] = summary([v / calls for v in values])
    result["share"] = result["copy"]["ms"] / result["tilegen"]["ms"]
    result["copy_tbs"] = row.bytes / result["copy"]["ms"] / 1e9
    return result


def captured(row: Row, name: str, run: Work, calls: int) -> Work | None:
    """`calls` calls as a graph; None for a rival that cannot be captured."""
    try:
        return as_graph(run, calls)
    except (NotImplementedError, RuntimeError) as error:
        if name not in RIVALS:
            raise
        print(f"{row.name}: {name}: {str(error).splitlines()[0][:150]}", flush=True)
        return None


def agrees(row: Row, data: Any, name: str, run: Any) -> bool:
    """Whether a rival can do the row, and does it right; else it has no time."""
    try:
        right = bool(data.right(run))
    except Exception as error:  # whatever a library raises where it cannot
        print(f"{row.name}: {name}: {str(error).splitlines()[0][:150]}", flush=True)
        return False
    if not right:
        print(f"{row.name}: {name}: wrong result", flush=True)
    return right


def table(results: list[dict[str, Any]]) -> str:
    """The results as Markdown, with what they were measured on."""
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    driver = cupy.cuda.runtime.driverGetVersion()
    rivals = [n for n in RIVALS if any(n in r for r in results)]
    columns = [
        "work",
        "tilegen `auto`",
        "p20–p80",
        "goal",
        *rivals,
        "predicted ms",
        "measured ms",
        "copy TB/s",
    ]
    columns += ["copies", "registers", "schedule"]
    lines = [
        "# Speed",
        "",
        f"Measured {time.strftime('%Y-%m-%d')} with tilegen {tilegen.__version__} on one "
        f"{properties['name'].decode()} "
        f"(CUDA driver {driver}, torch {torch.__version__}, CuPy {cupy.__version__}) by `python benchmarks/speed.py`.",
        "",
        "Each number is the time of an equal-size device-to-device copy in the same process over that of the kernel",
        "(medians; 1 is as fast as a copy). `goal` is what the project set itself. `predicted ms`: the bytes that must",
        "move over the rate of the fastest copy of the run, over the share that the cost model of `auto` expects.",
        "`copies`: of the arrays, which all of the work uses in turn; before each launch something else is read.",
        "Rivals that are not there: " + (", ".join(n for n in RIVALS if n not in rivals) or "none") + ".",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + " --- |" * len(columns),
    ]
    rate = max(r.get("copy_tbs", 0.0) for r in results)
    return "\n".join([*lines, *(line(r, rivals, rate) for r in results)]) + "\n"


def line(r: dict[str, Any], rivals: list[str], rate: float) -> str:
    goal = f"{r['goal']:.2f}" if r["goal"] else "-"
    if not r["right"]:
        return f"| {r['row']} | wrong result | | {goal} |" + " |" * (len(rivals) + 6)
    copy, own = r["copy"]["ms"], r["tilegen"]
    cells = [r["row"], f"{r['share']:.3f}", f"{copy / own['p80']:.3f}–{copy / own['p20']:.3f}", goal]
    cells += [f"{copy / r[n]['ms']:.3f}" if n in r else "-" for n in rivals]
    cells += [f"{predicted(r, rate):.4f}", f"{own['ms']:.4f}", f"{r['copy_tbs']:.2f}", str(r["copies"])]
    return f"| {' | '.join([*cells, str(r['registers'])])} | `{r['schedule']}` |"


def predicted(r: dict[str, Any], rate: float) -> float:
    """Milliseconds by the cost model, where the copy moves `rate` TB/s."""
    return float(r["bytes"] / rate / 1e9 / r["predicted"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", action="append", default=[], metavar="WORD")
    parser.add_argument("--schedule", action="append", default=[])
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="write a Markdown table")
    options = parser.parse_args()
    results = []
    for row in ROWS:
        if not row.named(options.rows):
            continue
        for directives in [None, *options.schedule]:
            begun = time.time()
            try:
                result = measure(
                    row,
                    directives,
                    options.samples,
                    not options.no_rivals and directives is None,
                    options.compile,
                )
            except Exception as error:
                if directives is None:
                    raise
                print(f"{row.name}: {directives}: {str(error).splitlines()[0]}", flush=True)
                continue
            torch.cuda.empty_cache()
            results.append(result)
            if options.table:
                options.table.write_text(table(results))
            if options.out:
                options.out.write_text(json.dumps(results, indent=1) + "\n")
            if not result["right"]:
                print(f"{row.name:44} WRONG  [{result['schedule']}]", flush=True)
                continue
            rivals = " ".join(
                f"{n} {result['copy']['ms'] / result[n]['ms']:.2f}" for n in RIVALS if n in result
            )
            goal = f"goal {row.goal}" if row.goal else ""
            print(
                f"{row.name:44} {result['share']:.3f} of copy ({result['copy_tbs']:.2f} TB/s) {goal} {rivals}"
                f" | {result['registers']} regs {result['index']} | {result['schedule']} | {time.time() - begun:.1f}s",
                flush=True,
            )
    sys.exit(0 if all(r["right"] for r in results) else 1)


if __name__ == "__main__":
    main()
