"""The results of verification: a row per schedule and choice of types, what failed, what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilegen.analysis.metrics import Metrics
from tilegen.dtypes import DType
from tilegen.lang.diagnostics import Diagnostic, SpecError, render_all
from tilegen.lang.spec import KernelFamily
from tilegen.program import LaunchRefused
from tilegen.reference import EvaluationError
from tilegen.report.tables import Column, Table, number, percent
from tilegen.sim import SimulationError
from tilegen.target import Target
from tilegen.toolchain import CompileError
from tilegen.verify import CaseResult, ExpectationResult, Suite, Verdict, VerifyReport
from tilegen.verify.verify import largest_sizes

Types = tuple[tuple[str, DType], ...]

_COLUMNS = (
    Column("schedule", right=False),
    Column("type", right=False),
    Column("shapes"),
    Column("load sect/req"),
    Column("store sect/req"),
    Column("conflicts"),
    Column("registers"),
    Column("occupancy"),
    Column("verdict", right=False),
)
_MOST_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One schedule with one choice of types. `metrics` on the largest shape simulated, `at`; None if there is none."""

    kernel: str
    schedule: str
    types: Types
    passed: int
    tried: int
    skipped: int
    metrics: Metrics | None
    at: tuple[tuple[str, int], ...]
    verdict: str

    @property
    def style(self) -> str:
        return {"pass": "good", "needs a GPU": "odd"}.get(self.verdict, "bad")

    def cells(self) -> tuple[str, ...]:
        m = self.metrics
        shown = ["-"] * 5
        if m is not None:
            shown = [
                number(m.load_sectors_per_request),
                number(m.store_sectors_per_request),
                number(m.bank_conflicts),
                f"{m.registers}" + (f"+{m.spills}B" if m.spills else ""),
                percent(m.occupancy),
            ]
        types = ", ".join(str(dtype) for _, dtype in self.types) or "-"
        return (self.schedule, types, f"{self.passed}/{self.tried}", *shown, self.verdict)


Measured = Mapping[tuple[str, Types, str], tuple[tuple[tuple[str, int], ...], Metrics]]


@dataclass(frozen=True)
class VerifyReports:
    """Reports of one kernel or of several. True if all passed; prints as a table with what failed below it.

    `measured`: metrics by kernel, types and schedule, where the cases have none of their own.
    """

    reports: tuple[VerifyReport, ...]
    measured: Measured = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return bool(self.reports) and all(report.passed for report in self.reports)

    def __bool__(self) -> bool:
        return self.passed

    def __iter__(self) -> Iterator[VerifyReport]:
        return iter(self.reports)

    def __str__(self) -> str:
        return self.text()

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for report in self.reports for row in self._rows(report))

    def _rows(self, report: VerifyReport) -> Iterator[Row]:
        problems = dict(report.problems)
        names = dict.fromkeys([r.case.schedule for r in report.cases])
        for name in (*names, *(n for n in problems if n not in names)):
            cases = [r for r in report.cases if r.case.schedule == name]
            expected = [e for e in report.expectations if e.schedule == name]
            at, metrics = self._metrics(report, name, cases)
            tried = [r for r in cases if r.verdict is not Verdict.NEEDS_GPU]
            passed = sum(r.verdict is Verdict.PASS for r in tried)
            if name in problems:
                verdict = "not generated"
            elif passed < len(tried) or any(e.verdict is Verdict.FAIL for e in expected):
                verdict = "FAIL"
            else:
                verdict = "pass" if tried else "needs a GPU"
            yield Row(
                report.kernel,
                name,
                report.types,
                passed,
                len(tried),
                len(cases) - len(tried),
                metrics,
                at,
                verdict,
            )

    def _metrics(
        self, report: VerifyReport, schedule: str, cases: list[CaseResult]
    ) -> tuple[tuple[tuple[str, int], ...], Metrics | None]:
        known = [r for r in cases if r.metrics is not None]
        if known:
            largest = max(known, key=lambda r: r.metrics.bytes_moved if r.metrics else 0)
            return largest.case.sizes, largest.metrics
        found = self.measured.get((report.kernel, report.types, schedule))
        return found if found is not None else ((), None)

    def text(self, colour: bool = False) -> str:
        """A table per kernel; below it failures, schedules that cannot be generated and expectations."""
        kernels = dict.fromkeys(report.kernel for report in self.reports)
        return "\n\n".join(self._of_kernel(kernel, colour) for kernel in kernels)

    def _of_kernel(self, kernel: str, colour: bool) -> str:
        reports = [r for r in self.reports if r.kernel == kernel]
        rows = [row for r in reports for row in self._rows(r)]
        where = "on the simulator" if reports[0].where == "sim" else "on a GPU"
        parts = [f"{kernel} {where}, {reports[0].target}{_shape(rows)}"]
        table = Table(_COLUMNS, tuple(row.cells() for row in rows), tuple(row.style for row in rows))
        parts.append(table.text(colour))
        text = "\n".join(p for p in parts if p)
        below = [*_failures(reports), *_problems(reports, colour), *_expectations(reports)]
        skipped = sum(row.skipped for row in rows)
        if skipped:
            below.append(f"{_count(skipped, 'case')} of the spec {_need(skipped)} a GPU: `--on gpu`")
        return "\n".join([text, *(("", *below) if below else ())])

    def to_json(self) -> list[dict[str, Any]]:
        """The reports as values of JSON, each with its rows."""
        found = []
        for report in self.reports:
            rows = [
                {
                    "schedule": row.schedule,
                    "passed": row.passed,
                    "tried": row.tried,
                    "needs_gpu": row.skipped,
                    "at": dict(row.at),
                    "metrics": None if row.metrics is None else row.metrics.as_dict(),
                    "verdict": row.verdict,
                }
                for row in self._rows(report)
            ]
            found.append({**report.to_json(), "schedules": rows})
        return found


def with_metrics(
    reports: tuple[VerifyReport, ...], families: Mapping[str, KernelFamily], target: Target
) -> VerifyReports:
    """Reports, with metrics simulated on a usual shape for schedules whose cases (a spec without tests) have none."""
    plain = VerifyReports(reports)
    measured = {}
    for report in reports:
        family = families[report.kernel]
        kernel = next(k for k in family.kernels if k.types == report.types)
        suite = Suite(family, kernel, target)
        for row in plain._rows(report):
            if row.metrics is not None or row.verdict == "not generated":
                continue
            try:
                sizes = largest_sizes(suite, row.schedule, on_gpu=False)
                if sizes is not None:
                    found = suite.metrics_at(row.schedule, sizes)
                    measured[report.kernel, report.types, row.schedule] = sizes, found
            except (LaunchRefused, SimulationError, CompileError, EvaluationError, SpecError):
                continue  # the cases say it already
    return VerifyReports(reports, measured)


def _shape(rows: list[Row]) -> str:
    """Where the metrics were taken, if at one shape."""
    shapes = {row.at for row in rows if row.metrics is not None}
    if len(shapes) != 1:
        return ""
    (sizes,) = shapes
    return "; memory at " + ", ".join(f"{n} = {v}" for n, v in sizes) if sizes else ""


def _failures(reports: list[VerifyReport]) -> list[str]:
    lines: list[str] = []
    for report in reports:
        failed = [r for r in report.cases if r.verdict is Verdict.FAIL]
        for result in failed[:_MOST_FAILURES]:
            lines.append(f"FAIL {result.case}")
            lines += [f"     {line}" for line in result.reason.splitlines()]
        if len(failed) > _MOST_FAILURES:
            lines.append(
                f"     … and {_count(len(failed) - _MOST_FAILURES, 'more failure')} (`--json` lists all)"
            )
    return lines


def _problems(reports: list[VerifyReport], colour: bool) -> list[str]:
    """Diagnostics of schedules that cannot be generated, each once."""
    found: dict[Diagnostic, None] = {}
    for report in reports:
        for _, diagnostics in report.problems:
            found |= dict.fromkeys(diagnostics)
    return [render_all(found, colour)] if found else []


def _expectations(reports: list[VerifyReport]) -> list[str]:
    results: list[ExpectationResult] = [e for r in reports for e in r.expectations]
    if not results:
        return []
    holds = sum(e.verdict is Verdict.PASS for e in results)
    gpu = sum(e.verdict is Verdict.NEEDS_GPU for e in results)
    lines = [
        f"{holds} of {len(results) - gpu} expectations hold" + (f", {gpu} {_need(gpu)} a GPU" if gpu else "")
    ]
    for e in results:
        if e.verdict is Verdict.FAIL:
            types = "".join(f", {n} = {t}" for n, t in e.types)
            lines += [f"FAIL {e.label}{types}", f"     {e.reason}"]
    return lines


def _count(many: int, what: str) -> str:
    return f"{many} {what}{'' if many == 1 else 's'}"


def _need(many: int) -> str:
    return "needs" if many == 1 else "need"
