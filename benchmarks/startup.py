"""Time of whole processes as a multiple of `python -c 'import numpy'`, run in turn with it.

    python benchmarks/startup.py [runs] [--spec specs/transpose.tile]

A busy machine slows both sides of a pair, so the median of the ratios says more than seconds do. The limits are on wall
time: importing numpy starts threads of its linear algebra, whose CPU time would flatter the ratio. Exits with 1
where a median is over its limit.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = Path(__file__).parents[1] / "specs" / "transpose.tile"
NUMPY = (sys.executable, "-c", "import numpy")


def seconds(command: tuple[str, ...]) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    before, start = _children(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=int, default=15)
    parser.add_argument("--spec", default=str(SPEC))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tilegen = (sys.executable, "-m", "tilegen")
        commands = {
            "python -c pass": ((sys.executable, "-c", "pass"), None),
            "import tilegen": ((sys.executable, "-c", "import tilegen"), None),
            "tilegen check": ((*tilegen, "check", options.spec), 1.8),
            "tilegen emit": ((*tilegen, "emit", options.spec, "-o", folder), 2.1),
        }
        for command, _ in commands.values():
            seconds(command)  # fills the caches
        print(f"{'':<16} {'wall':>6} {'CPU':>6}   wall / numpy           CPU / numpy   limit")
        late = False
        for name, (command, limit) in commands.items():
            pairs = [(seconds(command), seconds(NUMPY)) for _ in range(options.runs)]
            wall, cpu = (1000 * statistics.median(run[n] for run, _ in pairs) for n in (0, 1))
            ratios = sorted(run[0] / numpy[0] for run, numpy in pairs)
            ratio = statistics.median(ratios)
            of_cpu = statistics.median(run[1] / numpy[1] for run, numpy in pairs)
            over = limit is not None and ratio > limit
            late |= over
            print(
                f"{name:<16} {wall:4.0f}ms {cpu:4.0f}ms   {ratio:4.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
                f"   {of_cpu:11.2f}" + (f"   {limit}{': over' if over else ''}" if limit is not None else "")
            )
    return int(late)


if __name__ == "__main__":
    sys.exit(main())
