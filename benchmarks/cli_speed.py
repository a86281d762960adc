"""Wall time of whole processes: `import tilegen`, `tilegen check`, `tilegen emit`, against their budgets.

    python benchmarks/cli_speed.py [repetitions]

Prints the median and the best wall time and the least CPU time of each, and exits with 1 where the best is over its
budget (the best, because other processes on the machine only ever add time; on a busy one look at the CPU time).
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = """
kernel transpose[T: f32 | f16 | u8](M, N) {
    in  a: T[M, N]
    out b: T[N, M]
    b[j, i] = a[i, j]
    schedule naive  { threads i = 8, j = 32 }
    schedule padded { tile i = 32, j = 32; stage a pad 1 }
    schedule vector { tile i = 64, j = 64; stage a swizzle; vector 4 }
    test M = 33, N = 65
    expect padded: bank_conflicts == 0
}
"""


def measure(command: list[str], repetitions: int) -> tuple[list[float], float]:
    """Seconds of each run and the least CPU seconds, after one run that fills the caches."""
    times, cpu = [], []
    for _ in range(repetitions + 1):
        start, before = time.perf_counter(), _children()
        # From elsewhere, so that it is the installed package and not a folder without bytecode.
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=tempfile.gettempdir())
        times.append(time.perf_counter() - start)
        cpu.append(_children() - before)
    return times[1:], min(cpu[1:])


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "transpose.tile"
        spec.write_text(SPEC)
        tilegen = [sys.executable, "-m", "tilegen"]
        start = min(measure([sys.executable, "-c", "pass"], repetitions)[0])
        cases = (
            ("import tilegen", [sys.executable, "-c", "import tilegen"], start + 0.060),
            ("tilegen check", [*tilegen, "check", str(spec)], 0.250),
            ("tilegen emit", [*tilegen, "emit", str(spec), "-o", str(Path(folder) / "out")], 0.400),
        )
        print(f"{'python -c pass':<16} {1000 * start:6.0f} ms")
        late = 0
        for name, command, budget in cases:
            times, cpu = measure(command, repetitions)
            best = min(times)
            late += best > budget
            verdict = "over budget" if best > budget else "ok"
            print(
                f"{name:<16} {1000 * best:6.0f} ms best, {1000 * statistics.median(times):6.0f} ms median, "
                f"{1000 * cpu:4.0f} ms of CPU, "
                f"budget {1000 * budget:4.0f} ms: {verdict}"
            )
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
