"""Kernels with reductions run on the simulator, several per compilation, and compared with the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

import tilegen.run.simulated as simulated
from tilegen.core.schedule.variants import expand
from tilegen.lang.check import call_problems, check
from tilegen.lang.parse import parse, source_from_text
from tilegen.numpy_types import Array
from tilegen.program import LaunchShape, Program, build
from tilegen.reference import expected
from tilegen.run.layout import layout, through_memory
from tilegen.run.outcome import Number, Options, Run
from tilegen.target import target
from tilegen.toolchain import Compiled, compile_source
from tilegen.verify.compare import compare
from tilegen.verify.inputs import default_fill, make_inputs, scalar_values

TARGET = target("sm_90")


@dataclass(frozen=True)
class Trial:
    """One call of the first kernel of `text` (of type `types` among its choices) under its first schedule, or `auto`.

    `inputs`: arrays; those not given are made up. `fitted`: a program made for these sizes, as a call gets it."""

    text: str
    sizes: Mapping[str, int]
    inputs: Mapping[str, Array] = field(default_factory=dict)
    scalars: Mapping[str, Number] = field(default_factory=dict)
    strides: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    misalign: Mapping[str, int] = field(default_factory=dict)
    fitted: bool = False
    types: int = 0

    def __str__(self) -> str:
        how = {"strides": self.strides, "misaligned": self.misalign, "scalars": self.scalars}
        words = ", ".join(f"{k} {dict(v)}" for k, v in how.items() if v)
        return f"{self.text}\n  at {dict(self.sizes)}{' fitted' if self.fitted else ''} {words}"


@dataclass(frozen=True)
class Ready:
    trial: Trial
    program: Program
    arrays: Mapping[str, Array]
    shape: LaunchShape | None


def program_of(trial: Trial, name: str) -> Program:
    """Raises SpecError."""
    family = check(parse(source_from_text(trial.text, "trial.tile"))).kernels[0]
    schedule = expand(family.schedules[0])[0] if family.schedules else None
    kernel = family.kernels[trial.types]
    return build(kernel, schedule, TARGET, name=name, sizes=trial.sizes if trial.fitted else None)


def prepare(trial: Trial, program: Program) -> Ready:
    kernel = program.kernel
    sizes = {**program.nest.constants, **trial.sizes}
    assert not call_problems(kernel, sizes), f"the trial is no legal call\n{trial}"
    made = make_inputs(kernel, sizes, default_fill(kernel), 1)
    arrays = {n: trial.inputs.get(n, a) for n, a in made.items()}
    for name, strides in trial.strides.items():
        if name in arrays:
            arrays[name] = _repeated(arrays[name], strides)
    arrays = {n: through_memory(kernel.tensor(n), sizes, a) for n, a in arrays.items()}
    pointers = {p.name: (1 << 33) + trial.misalign.get(p.name, 0) for p in program.nest.pointers}
    steps = {}
    for tensor, dimension in program.nest.dynamic_strides:
        placed = layout(kernel.tensor(tensor), sizes, strides=trial.strides.get(tensor))
        steps[f"{tensor}_stride{dimension}"] = placed.strides[dimension]
    integers = {n: int(v) for n, v in trial.scalars.items() if isinstance(v, int)}
    return Ready(trial, program, arrays, program.shape(sizes, steps, pointers, integers))


def run(*trials: Trial) -> list[dict[str, Array]]:
    """The outputs of every trial, each compared with the reference; fails on any fault. One compilation for all."""
    programs: dict[tuple[object, ...], Program] = {}
    ready = []
    for trial in trials:
        key = (trial.text, trial.types, tuple(trial.sizes.items()) if trial.fitted else None)
        if key not in programs:
            programs[key] = program_of(trial, f"k{len(programs)}")
        ready.append(prepare(trial, programs[key]))
    return execute(ready)


def execute(ready: Sequence[Ready]) -> list[dict[str, Array]]:
    entries = tuple(dict.fromkeys(r.shape.entry for r in ready if r.shape is not None))
    sources = dict.fromkeys(r.program.source for r in ready)
    compiled = (
        compile_source("\n".join(sources), target=TARGET, entries=entries, want_cubin=False)
        if entries
        else None
    )
    with pytest.MonkeyPatch.context() as patch:
        # No cubin, so nothing is known of registers; the trials do not ask.
        patch.setattr(Compiled, "resources_of", lambda *_: None)
        patch.setattr(simulated, "compile_program", lambda *_, **__: compiled)
        return [judge(one) for one in ready]


def judge(one: Ready) -> dict[str, Array]:
    run = simulate(one)
    trial, kernel = one.trial, one.program.kernel
    sizes = {**one.program.nest.constants, **trial.sizes}
    wanted = expected(kernel, sizes, one.arrays, scalar_values(kernel, dict(trial.scalars)))
    wrong = [*run.faults, *map(str, compare(one.program, run, wanted, one.arrays))]
    assert not wrong, "\n".join([*wrong, str(trial), one.program.source])
    return dict(run.outputs)


def simulate(one: Ready, index: str | None = None) -> Run:
    """`index`: the index type, whatever the launcher would choose."""
    trial, kernel = one.trial, one.program.kernel
    sizes = {**one.program.nest.constants, **trial.sizes}
    options = Options(strides=dict(trial.strides), misalign=dict(trial.misalign), index=index)
    scalars = scalar_values(kernel, dict(trial.scalars))
    return simulated.simulate_program(one.program, sizes, one.arrays, scalars, options=options)


def _repeated(array: Array, strides: Sequence[int]) -> Array:
    """The logical content of an array that repeats along its axes of stride 0."""
    for axis, stride in enumerate(strides):
        if stride == 0 and array.shape[axis]:
            array = array.take([0], axis=axis).repeat(array.shape[axis], axis=axis)
    return np.asarray(array)
