"""Kernels with scans on the simulator, compared with the NumPy reference under its error bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.numpy_types import Array
from tilegen.program import Program, build
from tilegen.reference import expected
from tilegen.run.outcome import Options, Run
from tilegen.run.simulated import simulate_program
from tilegen.target import target
from tilegen.verify import Mismatch, compare
from tilegen.verify.inputs import default_fill, make_inputs

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Judgement:
    """What was found in one run."""

    program: Program
    run: Run
    mismatches: tuple[Mismatch, ...]

    @property
    def text(self) -> str:
        return "\n".join((*self.run.faults, *map(str, self.mismatches)))

    @property
    def titles(self) -> set[str]:
        return {f.title for f in self.run.findings}

    @property
    def plan(self) -> str:
        """The name of the variant that was launched."""
        assert self.run.shape is not None
        return self.program.plans[self.run.shape.plan].name


def program_of(text: str, sizes: Sizes | None = None) -> Program:
    """The first schedule of the first kernel, or `auto`."""
    family = check(parse(source_from_text(text, "spec.tile"))).kernels[0]
    schedule = expand(family.schedules[0])[0] if family.schedules else None
    return build(family.kernels[0], schedule, target("sm_90"), sizes=sizes)


def judge(
    program: Program,
    sizes: Sizes,
    arrays: Mapping[str, Array] | None = None,
    source: str | None = None,
    options: Options | None = None,
) -> Judgement:
    """Run the program, or an altered `source` of it."""
    kernel = program.kernel
    inputs = dict(make_inputs(kernel, sizes, default_fill(kernel), 0)) | dict(arrays or {})
    run = simulate_program(program, sizes, inputs, options=options or Options(), source=source)
    return Judgement(program, run, compare(program, run, expected(kernel, sizes, inputs), inputs))


@pytest.fixture
def right() -> Callable[..., Judgement]:
    """Runs a kernel and asserts that nothing is wrong."""

    def run(
        text: str, sizes: Sizes, arrays: Mapping[str, Array] | None = None, fitted: bool = False
    ) -> Judgement:
        found = judge(program_of(text, sizes if fitted else None), sizes, arrays)
        assert found.text == "", f"{text}\nat {dict(sizes)}\n{found.text}"
        return found

    return run
