"""Tables of fixed width, the same text on a terminal and in a file but for colours; and metrics by schedule as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.analysis.metrics import Metrics
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import Kernel, KernelFamily
from tilegen.reference import infer_sizes
from tilegen.target import Target
from tilegen.verify import Suite

_COLOURS = {"good": "\x1b[32m", "bad": "\x1b[1;31m", "odd": "\x1b[33m", "dim": "\x1b[2m"}
_END = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Column:
    """`right`: numbers stand flush right."""

    heading: str
    right: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """`styles`: per row `good`, `bad`, `odd` or empty; colours its last cell."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    styles: tuple[str, ...] = ()

    def text(self, colour: bool = False) -> str:
        """Heading, rule and rows; no line ends with a space."""
        if not self.rows:
            return ""
        widths = [
            max(len(column.heading), *(len(row[n]) for row in self.rows))
            for n, column in enumerate(self.columns)
        ]
        lines = [self._line([c.heading for c in self.columns], widths), "  ".join("-" * w for w in widths)]
        for number, row in enumerate(self.rows):
            style = self.styles[number] if number < len(self.styles) else ""
            lines.append(self._line(row, widths, style if colour else ""))
        return "\n".join(lines)

    def _line(self, cells: Sequence[str], widths: Sequence[int], style: str = "") -> str:
        placed = [
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(cells, widths, self.columns, strict=True)
        ]
        placed[-1] = placed[-1].rstrip()
        if style:
            placed[-1] = f"{_COLOURS[style]}{placed[-1]}{_END}"
        return "  ".join(placed).rstrip()

    def __str__(self) -> str:
        return self.text()


def number(value: float, digits: int = 2) -> str:
    """A number for a cell: whole where it is whole, else with `digits` after the point."""
    return f"{int(value)}" if value == int(value) else f"{value:.{digits}f}"


def percent(value: float) -> str:
    return f"{100 * value:.0f}%"


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
