"""`verify_kernel`: every schedule, shape and layout of a kernel against the reference, and its expectations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilegen.lang.spec import Kernel, KernelFamily
from tilegen.target import Target
from tilegen.verify.expectations import evaluate_expectations
from tilegen.verify.report import CaseResult, VerifyReport
from tilegen.verify.suite import Shapes, Suite, Where


def verify_kernel(
    family: KernelFamily,
    kernel: Kernel,
    *,
    schedules: Sequence[str] | None = None,
    where: Where = "sim",
    target: Target,
    shapes: Shapes = "all",
    progress: Callable[[CaseResult], None] | None = None,
) -> VerifyReport:
    """Verify one choice of types of a kernel. `schedules`: names of schedules or of variants, None for all and `auto`.

    `shapes`: `spec` for the spec's own tests, `all` for the awkward sizes, layouts and alignments as well.
    `progress` is called with each result as it comes. Raises ToolchainMissing where there is no compiler (or no GPU).
    """
    suite = Suite(family, kernel, target, schedules=schedules, where=where, shapes=shapes)
    problems = tuple(suite.problems.items())
    if not suite.generated:
        return VerifyReport(kernel.name, kernel.types, where, target.name, problems=problems, generated=False)
    results = []
    for case in suite.cases:
        results.append(suite.run(case))
        if progress is not None:
            progress(results[-1])
    return VerifyReport(
        kernel.name, kernel.types, where, target.name, tuple(results), evaluate_expectations(suite), problems
    )


def verify_family(
    family: KernelFamily,
    *,
    schedules: Sequence[str] | None = None,
    where: Where = "sim",
    target: Target,
    shapes: Shapes = "all",
    progress: Callable[[CaseResult], None] | None = None,
) -> tuple[VerifyReport, ...]:
    """`verify_kernel` for every choice of types."""
    return tuple(
        verify_kernel(
            family, k, schedules=schedules, where=where, target=target, shapes=shapes, progress=progress
        )
        for k in family.kernels
    )
