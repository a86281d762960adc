"""Kernels run on the simulator, several per compilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

import tilegen.run.simulated as simulated
from tilegen.core.schedule.variants import expand
from tilegen.lang.check import call_problems, check
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.lang.spec import Bounds
from tilegen.numpy_types import Array
from tilegen.program import LaunchRefused, LaunchShape, Program, build
from tilegen.reference import expected
from tilegen.run.layout import layout
from tilegen.run.outcome import Options
from tilegen.target import target
from tilegen.toolchain import compile_source
from tilegen.verify.compare import compare
from tilegen.verify.inputs import default_fill, make_inputs, scalar_values

TARGET = target("sm_90")


@dataclass(frozen=True)
class Trial:
    """One kernel, the schedule to use (`auto` if it has none), and one call of it."""

    text: str
    sizes: Mapping[str, int]
    strides: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    misalign: Mapping[str, int] = field(default_factory=dict)
    fitted: bool = False

    def __str__(self) -> str:
        return f"{self.text}\n  at {dict(self.sizes)}, strides {dict(self.strides)}, misaligned {dict(self.misalign)}"


@dataclass(frozen=True)
class Ready:
    """A trial with its program, and what the launcher would choose: None where it refuses."""

    trial: Trial
    program: Program
    shape: LaunchShape | None


def prepare(trial: Trial, name: str) -> Ready | None:
    """Raises SpecError. None where the launcher rightly refuses the call."""
    family = check(parse(Source("trial.tile", trial.text))).kernels[0]
    kernel = family.kernels[0]
    schedule = expand(family.schedules[0])[0] if family.schedules else None
    assert not call_problems(kernel, dict(trial.sizes)), f"the trial is no legal call\n{trial}"
    program = build(kernel, schedule, TARGET, name=name, sizes=trial.sizes if trial.fitted else None)
    sizes = {**program.nest.constants, **trial.sizes}
    pointers = {p.name: (1 << 33) + trial.misalign.get(p.name, 0) for p in program.nest.pointers}
    steps = {}
    for tensor, dimension in program.nest.dynamic_strides:
        placed = layout(kernel.tensor(tensor), sizes, strides=trial.strides.get(tensor))
        steps[f"{tensor}_stride{dimension}"] = placed.strides[dimension]
    try:
        shape = program.shape(sizes, steps, pointers)
    except LaunchRefused as refusal:
        promised = program.schedule.bounds is Bounds.EXACT or "align " in trial.text
        assert promised, f"nothing allows the launcher to refuse: {refusal}\n{trial}"
        return None
    return Ready(trial, program, shape)


def execute(ready: Sequence[Ready], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile the chosen variants of all trials together, run each, and compare with the reference."""
    entries = tuple(r.shape.entry for r in ready if r.shape is not None)
    sources = "\n".join(r.program.source for r in ready)
    compiled = compile_source(sources, target=TARGET, entries=entries, want_cubin=False) if entries else None
    if compiled is not None:
        # No cubin, so nothing is known of registers; the trials do not ask.
        monkeypatch.setattr(type(compiled), "resources_of", lambda self, entry: None)
    monkeypatch.setattr(simulated, "compile_program", lambda *_, **__: compiled)
    for one in ready:
        judge(one)


def judge(one: Ready) -> None:
    trial, program = one.trial, one.program
    kernel = program.kernel
    sizes = {**program.nest.constants, **trial.sizes}
    inputs = make_inputs(kernel, sizes, default_fill(kernel), 1)
    for name, strides in trial.strides.items():
        if name in inputs and inputs[name].size:
            inputs[name] = repeated(inputs[name], strides)
    scalars = scalar_values(kernel, {})
    wanted = expected(kernel, sizes, inputs, scalars)
    options = Options(strides=dict(trial.strides), misalign=dict(trial.misalign))
    run = simulated.simulate_program(program, sizes, inputs, scalars, options=options)
    wrong = [*run.faults, *map(str, compare(program, run, wanted, inputs))]
    if (run.shape is None) != (one.shape is None) or (one.shape and run.shape.entry != one.shape.entry):  # type: ignore[union-attr]
        wrong.append(f"ran {run.shape}, expected {one.shape}")
    assert not wrong, "\n".join([*wrong, str(trial), program.source])


def repeated(array: Array, strides: Sequence[int]) -> Array:
    """The logical content of an array that repeats along its axes of stride 0."""
    for axis, stride in enumerate(strides):
        if stride == 0:
            array = array.take([0], axis=axis).repeat(array.shape[axis], axis=axis)
    return array


@pytest.fixture
def run_trials(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[Ready]], None]:
    def run(ready: Sequence[Ready]) -> None:
        with monkeypatch.context() as patch:
            execute(ready, patch)

    return run


@pytest.fixture
def trial() -> type[Trial]:
    return Trial


@pytest.fixture
def ready() -> Callable[[Trial, str], Ready | None]:
    return prepare
