"""`verify_kernel`: every schedule, shape and layout of a kernel against the reference, and its expectations.

An expectation without `at T = …` speaks of the default types, the first choice of each parameter: bank conflicts of one
element size say nothing of another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence

from tilegen.analysis.metrics import MEASURED
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import BinaryOp, Condition, Expectation, Kernel, KernelFamily, Unit
from tilegen.program import LaunchRefused
from tilegen.reference import EvaluationError
from tilegen.sim import SimulationError
from tilegen.target import Target
from tilegen.toolchain import CompileError
from tilegen.verify.report import CaseResult, ExpectationResult, Verdict, VerifyReport
from tilegen.verify.shapes import derived_sizes, total_elements
from tilegen.verify.suite import AUTO, Shapes, Suite, Where


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


# Expectations

_COMPARE: dict[BinaryOp, Callable[[float, float], bool]] = {
    BinaryOp.LESS: operator.lt,
    BinaryOp.LESS_EQUAL: operator.le,
    BinaryOp.GREATER: operator.gt,
    BinaryOp.GREATER_EQUAL: operator.ge,
    BinaryOp.EQUAL: operator.eq,
    BinaryOp.NOT_EQUAL: operator.ne,
}


def applies(suite: Suite, expectation: Expectation) -> bool:
    """Whether the expectation speaks of the types of the suite's kernel."""
    wanted = {p.name: p.choices[0] for p in suite.family.type_params} | dict(expectation.at_types)
    return all(wanted.get(name) == dtype for name, dtype in suite.kernel.types)


def evaluate_expectations(suite: Suite) -> tuple[ExpectationResult, ...]:
    """One result per condition and schedule variant, in the order of the spec."""
    return tuple(
        result
        for expectation in suite.family.expectations
        if applies(suite, expectation)
        for condition in expectation.conditions
        for result in evaluate_condition(suite, expectation, condition)
    )


def evaluate_condition(
    suite: Suite, expectation: Expectation, condition: Condition
) -> Iterator[ExpectationResult]:
    for schedule in _schedules(suite, expectation):
        yield _evaluate(suite, expectation, condition, schedule)


def _schedules(suite: Suite, expectation: Expectation) -> list[str]:
    """All variants of the schedule named; without a name those written, or `auto` where none is."""
    names = [n for n in suite.variants if n not in suite.problems]
    if expectation.schedule is not None:
        return [n for n in names if n == expectation.schedule or n.startswith(f"{expectation.schedule}[")]
    return [n for n in names if n != AUTO] or names


def _evaluate(
    suite: Suite, expectation: Expectation, condition: Condition, schedule: str
) -> ExpectationResult:
    text = condition.span.text
    base = {
        "kernel": suite.kernel.name,
        "schedule": schedule,
        "types": suite.kernel.types,
        "condition": text,
        "expectation": f"expect {expectation.schedule + ': ' if expectation.schedule else ''}{text}",
    }

    def result(
        verdict: Verdict,
        reason: str = "",
        sizes: tuple[tuple[str, int], ...] = (),
        measured: float | None = None,
        wanted: float | None = None,
    ) -> ExpectationResult:
        return ExpectationResult(
            **base,  # type: ignore[arg-type]
            sizes=sizes,
            measured=measured,
            wanted=wanted,
            verdict=verdict,
            reason=reason,
        )

    if condition.metric in MEASURED or condition.unit is Unit.COPY:
        if suite.where == "sim":
            return result(Verdict.NEEDS_GPU, f"`{condition.metric}` is measured on a GPU")
        return _measured(suite, expectation, condition, schedule, result)
    sizes = expectation.at or largest_sizes(suite, schedule, on_gpu=False)
    if sizes is None:
        return result(Verdict.FAIL, "no test gives a shape to evaluate it on; write `at …`")
    try:
        known = suite.metrics_at(schedule, sizes)
    except (LaunchRefused, SimulationError, CompileError, EvaluationError, SpecError) as error:
        return result(Verdict.FAIL, f"{type(error).__name__}: {error}", sizes)
    measured = known.value(condition.metric)
    wanted = condition.value * (known.ideal(condition.metric) if condition.unit is Unit.IDEAL else 1.0)
    if _COMPARE[condition.comparison](measured, wanted):
        return result(Verdict.PASS, "", sizes, measured, wanted)
    shape = ", ".join(f"{n} = {v}" for n, v in sizes)
    reason = f"`{condition.metric}` of `{schedule}` is {measured:g} at {shape}; expected {text}"
    if condition.unit is Unit.IDEAL:
        reason += f" = {wanted:g}"
    return result(Verdict.FAIL, reason, sizes, measured, wanted)


def largest_sizes(suite: Suite, schedule: str, *, on_gpu: bool) -> tuple[tuple[str, int], ...] | None:
    """The test shape with the most elements, among those for this lane and these types; without tests a derived one."""
    types = dict(suite.kernel.types)
    defaults = {s.name: s.default for s in suite.kernel.sizes if s.default is not None}
    shapes = [
        t.sizes
        for t in suite.family.tests
        if t.on_gpu is on_gpu and all(types.get(n) == d for n, d in t.types)
    ]
    if not shapes and not on_gpu:
        program = suite.program(schedule)
        shapes = [tuple(s.items()) for s in derived_sizes(program, program.nest.constants, {})]
    return max(shapes, key=lambda s: total_elements(suite.kernel, {**defaults, **dict(s)}), default=None)


def _measured(
    suite: Suite,
    expectation: Expectation,
    condition: Condition,
    schedule: str,
    result: Callable[..., ExpectationResult],
) -> ExpectationResult:
    """A condition on a measured metric, on the largest shape that is `on gpu`."""
    from tilegen.run.gpu import measure_program

    sizes = expectation.at or largest_sizes(suite, schedule, on_gpu=True)
    sizes = sizes or largest_sizes(suite, schedule, on_gpu=False)
    if sizes is None:
        return result(Verdict.FAIL, "no test gives a shape to measure it on; write `at …`")
    defaults = {s.name: s.default for s in suite.kernel.sizes if s.default is not None}
    known = {**defaults, **dict(sizes)}
    constants = {n: v for n, v in known.items() if n in defaults and v != defaults[n]}
    # `auto` is timed as a call would run it, fitted to the sizes.
    program = suite.program(schedule, constants, known if schedule == AUTO else None)
    timing = measure_program(program, known)
    measured = timing.bandwidth if condition.metric == "bandwidth" else timing.time
    copy = timing.copy_bandwidth if condition.metric == "bandwidth" else timing.copy_time
    wanted = condition.value * (copy if condition.unit is Unit.COPY else 1.0)
    if _COMPARE[condition.comparison](measured, wanted):
        return result(Verdict.PASS, "", sizes, measured, wanted)
    reason = f"`{condition.metric}` of `{schedule}` is {measured:.4g}; expected {condition.span.text} ({wanted:.4g})"
    return result(Verdict.FAIL, reason, sizes, measured, wanted)
