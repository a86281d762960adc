"""Figures that need no GPU, against their budgets: the way to source code, the simulator, verification.

    python benchmarks/figures.py

`startup.py` has those of whole processes. Exits with 1 where a figure is over its budget.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from tilegen.lang.check import check
from tilegen.lang.parse import parse, read_source
from tilegen.program import build
from tilegen.run.simulated import simulate_program
from tilegen.target import DEFAULT_TARGET, target

SPEC = Path(__file__).parent.parent / "specs" / "transpose.tile"
TARGET = target(DEFAULT_TARGET)


def source_of_every_schedule() -> None:
    """Parse, check, lower and render the first kernel under each of its schedules, default type."""
    family = check(parse(read_source(SPEC))).kernels[0]
    for schedule in family.schedules:
        build(family.kernels[0], schedule, TARGET)


def milliseconds(work: Callable[[], object], repetitions: int = 15) -> float:
    """Median of warm runs."""
    work()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - start))
    return median(times)


def instructions_per_second(size: int = 512) -> float:
    """Thread-instructions per second of the padded transpose, counters and all checks on; the best of five."""
    family = check(parse(read_source(SPEC))).kernels[0]
    padded = next(s for s in family.schedules if s.name == "padded")
    program = build(family.kernels[0], padded, TARGET)
    array = np.arange(size * size, dtype=np.float32).reshape(size, size)
    best = 0.0
    for _ in range(6):
        start = time.perf_counter()
        run = simulate_program(program, {"M": size, "N": size}, {"a": array})
        assert run.report is not None and not run.findings
        assert np.array_equal(run.outputs["b"], array.T)
        best = max(best, run.report.thread_instructions / (time.perf_counter() - start))
    return best


def verification() -> float:
    """Seconds of `tilegen verify specs/transpose.tile` as a process: all schedules, types and shapes."""
    command = [sys.executable, "-m", "tilegen", "verify", str(SPEC)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    warm, speed, seconds = milliseconds(source_of_every_schedule), instructions_per_second(), verification()
    rows = [
        ("parse, check, lower and render, all schedules, warm", f"{warm:.1f} ms", "30 ms", warm < 30),
        ("simulator, padded 512 x 512, whole call", f"{speed / 1e6:.0f} M/s", "20 M/s", speed > 20e6),
        ("verify specs/transpose.tile", f"{seconds:.1f} s", "10 s", seconds < 10),
    ]
    for what, figure, budget, met in rows:
        print(f"{what:52} {figure:>10}  budget {budget:>7}  {'met' if met else 'NOT MET'}")
    sys.exit(0 if all(met for *_, met in rows) else 1)


if __name__ == "__main__":
    main()
