"""pytest plugin: every `*.tile` file is a test module.

One test per kernel, schedule, type and shape, `transpose[padded-f16-M=33-N=65]`, and one per expectation. Loaded by
pytest in every project where tilegen is installed, so nothing but pytest is imported before a spec is met.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tilegen.lang.diagnostics import Diagnostic
    from tilegen.lang.spec import Condition, Expectation, KernelFamily
    from tilegen.target import Target
    from tilegen.verify import Case, Suite

_ON = "--tilegen-on"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tilegen", "CUDA kernels from .tile files")
    group.addoption(
        _ON,
        choices=("sim", "gpu"),
        default=None,
        help="run the tests of .tile files on the simulator (sim, the default) or on a GPU; a skip there is a failure",
    )
    group.addoption("--tilegen-target", default=None, metavar="ARCH", help="architecture, such as sm_90")
    group.addoption(
        "--tilegen-shapes",
        choices=("spec", "all"),
        default=None,
        help="shapes of the spec's own tests alone, or the awkward ones as well (all, the default)",
    )
    parser.addini("tilegen_on", "where tests of .tile files run: sim or gpu", default="sim")
    parser.addini("tilegen_target", "architecture that .tile files are compiled for", default="")
    parser.addini("tilegen_shapes", "shapes of .tile files to test: spec or all", default="all")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".tile":
        return TileFile.from_parent(parent, path=file_path)
    return None


def _setting(config: pytest.Config, name: str) -> str:
    value = config.getoption(f"--tilegen-{name}") or config.getini(f"tilegen_{name}")
    return str(value)


class TileProblem(Exception):
    """What a test of a spec says when it fails, without a traceback."""


class TileFile(pytest.File):
    """A `.tile` file. One that does not check is a collection error with its diagnostics."""

    def collect(self) -> Iterator[pytest.Item]:
        from tilegen.lang.check import check
        from tilegen.lang.diagnostics import SpecError, render_all
        from tilegen.lang.parse import parse, read_source

        try:
            spec = check(parse(read_source(str(self.path))))
        except SpecError as error:
            raise self.CollectError(render_all(error.diagnostics)) from None
        target = self._target()
        for family in spec.kernels:
            yield from self._tests(family, target)

    def _target(self) -> Target:
        from tilegen.target import target
        from tilegen.toolchain import default_target

        name = _setting(self.config, "target")
        return target(name) if name else default_target()

    def _tests(self, family: KernelFamily, target: Target) -> Iterator[pytest.Item]:
        from tilegen.verify import Suite

        where: Any = _setting(self.config, "on")
        shapes: Any = _setting(self.config, "shapes")
        suites = [Suite(family, k, target, where=where, shapes=shapes) for k in family.kernels]
        for suite in suites:
            if not suite.generated:
                problems = next(iter(suite.problems.values()))
                types = "".join(f"{d} " for _, d in suite.kernel.types)
                name = f"{family.name}[{types}not generated yet]"
                yield UngeneratedItem.from_parent(self, name=name, problems=problems)
        suites = [s for s in suites if s.generated]
        for suite in suites:
            for schedule, problems in suite.problems.items():
                types = "".join(f"-{d}" for _, d in suite.kernel.types)
                name = f"{family.name}[{schedule}{types}]"
                yield ProblemItem.from_parent(self, name=name, problems=problems)
            for case in suite.cases:
                yield CaseItem.from_parent(self, name=str(case), suite=suite, case=case)
        if not suites:
            return
        names: dict[str, int] = {}
        for expectation in family.expectations:
            for condition in expectation.conditions:
                yield ExpectationItem.from_parent(
                    self,
                    name=_once(f"{family.name}[{_expectation_text(expectation, condition)}]", names),
                    suites=suites,
                    expectation=expectation,
                    condition=condition,
                )


def _expectation_text(expectation: Expectation, condition: Condition) -> str:
    schedule = f" {expectation.schedule}:" if expectation.schedule is not None else ""
    at = ", ".join(f"{n} = {v}" for n, v in (*expectation.at, *expectation.at_types))
    return f"expect{schedule} {condition.span.text}" + (f" at {at}" if at else "")


def _once(name: str, seen: dict[str, int]) -> str:
    seen[name] = seen.get(name, 0) + 1
    return name if seen[name] == 1 else f"{name} #{seen[name]}"


class TileItem(pytest.Item):
    """A test of a spec; its failure is text for a person, with the lines of kernel and spec."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, TileProblem):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def needs_gpu(self, reason: str) -> None:
        """A skip; on a GPU, where nothing may be left out, a failure."""
        if _setting(self.config, "on") == "gpu":
            raise TileProblem(f"skipped on a GPU: {reason}")
        pytest.skip(reason)


class CaseItem(TileItem):
    def __init__(self, *, suite: Suite, case: Case, **rest: Any) -> None:
        super().__init__(**rest)
        self.suite, self.case = suite, case

    def runtest(self) -> None:
        from tilegen.toolchain import ToolchainMissing
        from tilegen.verify import Verdict

        try:
            result = self.suite.run(self.case)
        except ToolchainMissing as error:
            raise TileProblem(str(error)) from None
        if result.verdict is Verdict.NEEDS_GPU:
            self.needs_gpu(result.reason)
        if result.verdict is Verdict.FAIL:
            raise TileProblem(f"{self.case}\n{result.reason}")

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.suite.family.span.line - 1, self.name


class ExpectationItem(TileItem):
    def __init__(
        self, *, suites: list[Suite], expectation: Expectation, condition: Condition, **rest: Any
    ) -> None:
        super().__init__(**rest)
        self.suites, self.expectation, self.condition = suites, expectation, condition

    def runtest(self) -> None:
        from tilegen.toolchain import ToolchainMissing
        from tilegen.verify import Verdict
        from tilegen.verify.verify import applies, evaluate_condition

        try:
            results = [
                result
                for suite in self.suites
                if applies(suite, self.expectation)
                for result in evaluate_condition(suite, self.expectation, self.condition)
            ]
        except ToolchainMissing as error:
            raise TileProblem(str(error)) from None
        failed = [r for r in results if r.verdict is Verdict.FAIL]
        if failed or not results:
            raise TileProblem("\n".join(r.reason for r in failed) or "no schedule to evaluate it on")
        waiting = [r for r in results if r.verdict is Verdict.NEEDS_GPU]
        if waiting:
            self.needs_gpu(waiting[0].reason)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.condition.span.line - 1, self.name


class ProblemItem(TileItem):
    """A schedule that cannot be honoured."""

    def __init__(self, *, problems: tuple[Diagnostic, ...], **rest: Any) -> None:
        super().__init__(**rest)
        self.problems = problems

    def runtest(self) -> None:
        from tilegen.lang.diagnostics import render_all

        raise TileProblem(render_all(self.problems))

    def reportinfo(self) -> tuple[Path, int, str]:
        span = self.problems[0].span
        return self.path, span.line - 1 if span is not None else 0, self.name


class UngeneratedItem(ProblemItem):
    """A kernel of a kind that tilegen checks but cannot generate yet."""

    def runtest(self) -> None:
        self.needs_gpu(self.problems[0].message)
