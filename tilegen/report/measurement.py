"""What every schedule of a kernel costs at given sizes, by simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.analysis.metrics import Metrics
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import Kernel, KernelFamily
from tilegen.reference import infer_sizes
from tilegen.report.table import Column, Table, number, percent
from tilegen.target import Target
from tilegen.verify import Suite

_COLUMNS = (
    Column("schedule", right=False),
    Column("load sectors"),
    Column("per request"),
    Column("efficiency"),
    Column("store sectors"),
    Column("per request"),
    Column("efficiency"),
    Column("conflicts"),
    Column("shared B"),
    Column("registers"),
    Column("occupancy"),
)


@dataclass(frozen=True)
class MetricsTable:
    """Metrics by schedule; those that cannot be generated are in `problems`. Prints as a table."""

    kernel: str
    types: tuple[tuple[str, str], ...]
    sizes: tuple[tuple[str, int], ...]
    target: str
    metrics: Mapping[str, Metrics]
    problems: Mapping[str, SpecError]

    def __getitem__(self, schedule: str) -> Metrics:
        return self.metrics[schedule]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        rows = tuple(
            (
                name,
                number(m.load_sectors),
                number(m.load_sectors_per_request),
                percent(m.load_efficiency),
                number(m.store_sectors),
                number(m.store_sectors_per_request),
                percent(m.store_efficiency),
                number(m.bank_conflicts),
                str(m.shared_bytes),
                f"{m.registers}" + (f"+{m.spills}B" if m.spills else ""),
                percent(m.occupancy),
            )
            for name, m in self.metrics.items()
        )
        facts = ", ".join(f"{n} = {v}" for n, v in (*self.types, *self.sizes))
        ideal = next(iter(self.metrics.values()), None)
        lines = [f"{self.kernel} at {facts}, {self.target}" if facts else f"{self.kernel}, {self.target}"]
        if ideal is not None:
            lines.append(
                f"ideal: {ideal.ideal_load_sectors} load and {ideal.ideal_store_sectors} store sectors of 32 B"
            )
        lines.append(Table(_COLUMNS, rows).text())
        lines += [f"{name}: {error.diagnostics[0].message}" for name, error in self.problems.items()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The same as values of JSON."""
        return {
            "kernel": self.kernel,
            "types": dict(self.types),
            "sizes": dict(self.sizes),
            "target": self.target,
            "schedules": {name: m.as_dict() for name, m in self.metrics.items()},
        }


def measure_schedules(
    family: KernelFamily,
    kernel: Kernel,
    target: Target,
    sizes: Mapping[str, int],
    schedules: Sequence[str] | None = None,
) -> MetricsTable:
    """Simulate every schedule (of those named) once at `sizes`. Raises SizeError where a size is missing or wrong."""
    known = infer_sizes(kernel, {}, sizes)
    suite = Suite(family, kernel, target, schedules=schedules)
    problems, found = {}, {}
    for name in suite.variants:
        if name in suite.problems:
            problems[name] = SpecError(suite.problems[name])
        else:
            found[name] = suite.metrics_at(name, tuple(known.items()))
    types = tuple((name, str(dtype)) for name, dtype in kernel.types)
    return MetricsTable(kernel.name, types, tuple(known.items()), target.name, found, problems)
