"""Cases and their results, as values: what was tried, what came out, what was expected of the memory system."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tilegen.analysis.metrics import Metrics
from tilegen.dtypes import DType
from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.spec import Fill
from tilegen.run.outcome import Finding
from tilegen.verify.compare import Mismatch


class Verdict(Enum):
    PASS = "pass"
    FAIL = "fail"
    NEEDS_GPU = "needs a GPU"


@dataclass(frozen=True, slots=True)
class Variation:
    """What a case does besides running on dense, aligned arrays. `strides`: the name of a way to lay out tensors whose
    strides the caller chooses; `misaligned`: pointers moved by one element; `index`: a forced index type; `fitted`: on
    the program that a call gets whose `auto` knows the sizes."""

    misaligned: tuple[str, ...] = ()
    index: str | None = None
    strides: str | None = None
    fitted: bool = False

    def __str__(self) -> str:
        parts = []
        if self.misaligned:
            parts.append("misaligned=" + "+".join(self.misaligned))
        if self.index is not None:
            parts.append("index=" + ("i64" if self.index == "long long" else "i32"))
        if self.strides is not None:
            parts.append(f"strides={self.strides}")
        if self.fitted:
            parts.append("fitted")
        return "-".join(parts)


@dataclass(frozen=True, slots=True)
class Case:
    """One launch to check. `sizes`: the run-time sizes and compile-time sizes that are overridden. `written`: whether a
    `test` of the spec asks for it (the others are derived)."""

    kernel: str
    schedule: str
    types: tuple[tuple[str, DType], ...]
    sizes: tuple[tuple[str, int], ...]
    scalars: tuple[tuple[str, int | float | bool], ...]
    fill: Fill
    seed: int = 0
    rtol: float | None = None
    atol: float | None = None
    variation: Variation = Variation()
    written: bool = False
    on_gpu: bool = False

    @property
    def label(self) -> str:
        """What tells the case from the others of its kernel: `padded-f16-M=33-N=65`."""
        parts = [self.schedule, *(str(d) for _, d in self.types), *(f"{n}={v}" for n, v in self.sizes)]
        parts += [f"{n}={v}" for n, v in self.scalars] if self.written else []
        parts += [self.fill.value] if self.fill not in (Fill.INDEX, Fill.NORMAL) else []
        parts += [str(self.variation)] if str(self.variation) else []
        parts += ["gpu"] if self.on_gpu else []
        return "-".join(parts)

    def __str__(self) -> str:
        return f"{self.kernel}[{self.label}]"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """`reason`: for a failure everything that is wrong; for a pass why nothing ran (an empty grid, a refusal that the
    spec promises). `metrics`: of tests of the spec, on the simulator."""

    case: Case
    verdict: Verdict
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    metrics: Metrics | None = None

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(str(f) for f in self.findings)


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """`condition` as written. `measured` None where it is not known; `wanted` with `ideal` or `copy` multiplied in."""

    kernel: str
    schedule: str
    types: tuple[tuple[str, DType], ...]
    sizes: tuple[tuple[str, int], ...]
    condition: str
    expectation: str
    measured: float | None
    wanted: float | None
    verdict: Verdict
    reason: str = ""

    @property
    def label(self) -> str:
        return f"expect {self.schedule}: {self.condition}"


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Of one kernel with one choice of types. `problems`: why a schedule, or all of them, could not be generated.

    `generated` is False where tilegen cannot generate this kernel yet; then there are no cases.
    """

    kernel: str
    types: tuple[tuple[str, DType], ...]
    where: str
    target: str
    cases: tuple[CaseResult, ...] = ()
    expectations: tuple[ExpectationResult, ...] = ()
    problems: tuple[tuple[str, tuple[Diagnostic, ...]], ...] = field(default=())
    generated: bool = True

    @property
    def passed(self) -> bool:
        """Nothing failed, and something was tried. What needs a GPU does not count, unless this ran on one."""
        verdicts = [r.verdict for r in self.results]
        if self.where == "gpu" and Verdict.NEEDS_GPU in verdicts:
            return False
        ran = any(c.verdict is Verdict.PASS for c in self.cases)
        return ran and not self.problems and Verdict.FAIL not in verdicts

    @property
    def results(self) -> tuple[CaseResult | ExpectationResult, ...]:
        """Cases, then expectations."""
        return (*self.cases, *self.expectations)

    @property
    def failures(self) -> tuple[CaseResult | ExpectationResult, ...]:
        return tuple(r for r in self.results if r.verdict is Verdict.FAIL)

    def count(self, verdict: Verdict) -> int:
        return sum(r.verdict is verdict for r in self.results)

    def to_json(self) -> dict[str, Any]:
        """The same as values of JSON."""
        from tilegen.lang.diagnostics import to_json

        return {
            "kernel": self.kernel,
            "types": {name: str(dtype) for name, dtype in self.types},
            "where": self.where,
            "target": self.target,
            "generated": self.generated,
            "passed": self.passed,
            "problems": [
                {"schedule": schedule, "diagnostics": [to_json(d) for d in diagnostics]}
                for schedule, diagnostics in self.problems
            ],
            "cases": [
                {
                    "name": str(r.case),
                    "schedule": r.case.schedule,
                    "sizes": dict(r.case.sizes),
                    "verdict": r.verdict.value,
                    "reason": r.reason,
                    "faults": list(r.faults),
                    "mismatches": [str(m) for m in r.mismatches],
                    "metrics": None if r.metrics is None else r.metrics.as_dict(),
                }
                for r in self.cases
            ],
            "expectations": [
                {
                    "schedule": e.schedule,
                    "sizes": dict(e.sizes),
                    "condition": e.condition,
                    "measured": e.measured,
                    "wanted": e.wanted,
                    "verdict": e.verdict.value,
                    "reason": e.reason,
                }
                for e in self.expectations
            ],
        }
