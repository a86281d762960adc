"""All cases and expectations of one kernel with one choice of types: what there is to try, and trying it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from tilegen.algebra import evaluate
from tilegen.analysis.metrics import Metrics, metrics
from tilegen.core.schedule.variants import expand
from tilegen.lang.check import call_problems
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Bounds, Fill, IndexType, Kernel, KernelFamily, ScheduleSpec, Test
from tilegen.numpy_types import Array
from tilegen.program import LaunchRefused, Program, build
from tilegen.reference import EvaluationError, Expected, expected
from tilegen.run.layout import layout, through_memory
from tilegen.run.outcome import Options, Run
from tilegen.sim import SimulationError
from tilegen.target import Target
from tilegen.toolchain import CompileError
from tilegen.verify.compare import compare
from tilegen.verify.inputs import default_fill, make_inputs, scalar_values
from tilegen.verify.movement import moves_of, run_moves
from tilegen.verify.report import Case, CaseResult, Variation, Verdict
from tilegen.verify.shapes import LAYOUTS, derived_sizes, strides_for

Where = Literal["sim", "gpu"]
Shapes = Literal["spec", "all"]
AUTO = "auto"
# Elements of references that are kept for the next schedule; each takes some 20 bytes.
_MOST_KEPT = 1 << 26
# Kernels, and types of them, that the language has and this version cannot generate.
NOT_YET = frozenset({"TG0701", "TG0704", "TG0705"})


class Suite:
    """`schedules`: names of schedules or variants, None for all of them and `auto`. `shapes`: `spec` for the tests of
    the spec alone, `all` for the awkward sizes and layouts as well."""

    def __init__(
        self,
        family: KernelFamily,
        kernel: Kernel,
        target: Target,
        *,
        schedules: Sequence[str] | None = None,
        where: Where = "sim",
        shapes: Shapes = "all",
    ) -> None:
        self.family, self.kernel, self.target = family, kernel, target
        self.where, self.shapes = where, shapes
        self._names = None if schedules is None else frozenset(schedules)
        self._programs: dict[object, Program] = {}
        self._wanted: dict[object, tuple[dict[str, Array], dict[str, Expected]]] = {}
        self._kept = 0
        self._metrics: dict[tuple[str, tuple[tuple[str, int], ...]], Metrics] = {}

    # What there is -------------------------------------------------------------------------------------------------

    @cached_property
    def variants(self) -> dict[str, ScheduleSpec | None]:
        """Every schedule variant by name, `auto` last."""
        found: dict[str, ScheduleSpec | None] = {}
        for schedule in self.family.schedules:
            for variant in expand(schedule):
                if self._names is None or self._names & {variant.name, schedule.name}:
                    found[variant.name] = variant
        if self._names is None or AUTO in self._names:
            found[AUTO] = None
        return found

    @cached_property
    def problems(self) -> dict[str, tuple[Diagnostic, ...]]:
        """Schedules that cannot be honoured, with the reasons."""
        found = {}
        for name in self.variants:
            try:
                self.program(name)
            except SpecError as error:
                found[name] = error.diagnostics
        return found

    @property
    def generated(self) -> bool:
        """False where the kernel is of a kind that cannot be generated yet, whatever the schedule."""
        codes = {d.code for diagnostics in self.problems.values() for d in diagnostics}
        return not (self.problems and set(self.problems) == set(self.variants) and codes <= NOT_YET)

    def program(
        self,
        schedule: str,
        overrides: Mapping[str, int] | None = None,
        fitted: Mapping[str, int] | None = None,
    ) -> Program:
        """The program of a variant. `fitted`: sizes that `auto` fits its choice to. Raises SpecError."""
        key = (
            schedule,
            tuple(sorted((overrides or {}).items())),
            None if fitted is None else tuple(sorted(fitted.items())),
        )
        if key not in self._programs:
            self._programs[key] = build(
                self.kernel, self.variants[schedule], self.target, sizes=fitted, constants=overrides or None
            )
        return self._programs[key]

    def program_of(self, case: Case) -> Program:
        """The program that a case runs. Raises SpecError."""
        fitted = self._sizes(case) if case.variation.fitted else None
        return self.program(case.schedule, self.overrides(case), fitted)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """In the order of the schedules; tests of the spec first."""
        found: dict[Case, None] = {}
        for schedule in self.variants:
            if schedule not in self.problems:
                written = dict.fromkeys(self._written(schedule))
                taken = {(c.sizes, c.fill, c.variation) for c in written}
                derived = self._derived(schedule) if self.shapes == "all" else ()
                found |= written
                found |= {c: None for c in derived if (c.sizes, c.fill, c.variation) not in taken}
        return tuple(found)

    def _written(self, schedule: str) -> Iterator[Case]:
        types = dict(self.kernel.types)
        tests = [
            test for test in self.family.tests if all(types.get(name) == dtype for name, dtype in test.types)
        ]
        for test in tests:
            yield self._case(schedule, dict(test.sizes), test)
        if schedule == AUTO:
            # A call knows its sizes, and gets a program made for them.
            for test in tests:
                if not test.on_gpu:
                    case = self._case(schedule, dict(test.sizes), test)
                    yield replace(case, variation=Variation(fitted=True))

    def _case(self, schedule: str, sizes: Mapping[str, int], test: Test | None = None) -> Case:
        scalars = scalar_values(self.kernel, dict(test.scalars) if test is not None else self._usual_scalars)
        case = Case(
            kernel=self.kernel.name,
            schedule=schedule,
            types=self.kernel.types,
            sizes=tuple(sizes.items()),
            scalars=tuple(scalars.items()),
            fill=default_fill(self.kernel),
        )
        if test is None:
            return case
        fill = test.fill or case.fill
        return replace(
            case, fill=fill, seed=test.seed, rtol=test.rtol, atol=test.atol, written=True, on_gpu=test.on_gpu
        )

    @cached_property
    def _usual_scalars(self) -> dict[str, int | float | bool]:
        """Values for scalars without a default, from the first test that has some."""
        return next((dict(t.scalars) for t in self.family.tests if t.scalars), {})

    def _derived(self, schedule: str) -> Iterator[Case]:
        program = self.program(schedule)
        fixed = program.nest.constants
        scalars = scalar_values(self.kernel, self._usual_scalars)
        integers = {n: int(v) for n, v in scalars.items() if isinstance(v, int)}
        shapes = [
            s for s in derived_sizes(program, fixed, integers) if self._has_value(self._case(schedule, s))
        ]
        if not shapes:
            return
        for sizes in shapes:
            yield self._case(schedule, sizes)
        # A shape with ragged ends, and the one that wide accesses serve best.
        filled = [s for s in shapes if all(v > 1 for v in s.values())] or shapes
        ragged = self._case(schedule, filled[0])
        even = self._case(
            schedule, next((s for s in filled if all(v % 4 == 0 for v in s.values())), filled[0])
        )
        pointers = [p.name for p in program.nest.pointers]
        chosen_pointers = [tuple(pointers)]
        if len(program.plans) > 1 and 1 < len(pointers) <= 4:
            # One at a time, so that no condition on another pointer hides a missing one.
            chosen_pointers += [(p,) for p in pointers]
        for chosen in chosen_pointers:
            yield replace(even, variation=Variation(misaligned=chosen))
        if program.schedule.index is not IndexType.I32:
            for case in (ragged, even):
                yield replace(case, variation=Variation(index="long long"))
        yield replace(ragged, fill=Fill.NAN)
        if program.nest.dynamic_strides:
            for way in LAYOUTS[1:]:
                yield replace(ragged, variation=Variation(strides=way))
                yield replace(even, variation=Variation(strides=way))
            yield replace(ragged, variation=Variation(strides="negative", index="long long"))

    def _has_value(self, case: Case) -> bool:
        """Whether the kernel means something there: reading the edge of an empty tensor does not."""
        if all(value for _, value in case.sizes) or not any(t.boundary for t in self.kernel.tensors):
            return True
        try:
            self._reference(case)
        except (EvaluationError, SpecError):
            return False
        return True

    # Trying it -----------------------------------------------------------------------------------------------------

    def run(self, case: Case) -> CaseResult:
        """Run one case and judge it; never raises for what the kernel, its compilation or its launch does wrong."""
        if case.on_gpu and self.where == "sim":
            return CaseResult(case, Verdict.NEEDS_GPU, "the spec asks for this shape on a GPU")
        try:
            return self._on_device(case) or self._judge(case, *self._launch(case))
        except LaunchRefused as refusal:
            if promise := self._promise(case):
                return CaseResult(case, Verdict.PASS, f"refused, as {promise}: {refusal}")
            return CaseResult(case, Verdict.FAIL, f"the launch was refused: {refusal}")
        except (SimulationError, CompileError, EvaluationError) as error:
            return CaseResult(case, Verdict.FAIL, f"{type(error).__name__}: {error}")
        except SpecError as error:
            return CaseResult(case, Verdict.FAIL, str(error))

    def _on_device(self, case: Case) -> CaseResult | None:
        """A large shape of pure movement, compared where it was made; None for anything else."""
        moves = moves_of(self.kernel) if case.on_gpu and case.fill is Fill.INDEX else None
        if moves is None or case.variation != Variation():
            return None
        wrong = run_moves(self.program_of(case), self._sizes(case), moves)
        if wrong is None:
            return None
        return CaseResult(case, Verdict.FAIL if wrong else Verdict.PASS, "\n".join(wrong))

    def overrides(self, case: Case) -> dict[str, int]:
        """Compile-time sizes to which the case gives another value."""
        defaults = {s.name: s.default for s in self.kernel.sizes if s.default is not None}
        return {n: v for n, v in case.sizes if n in defaults and defaults[n] != v}

    def _sizes(self, case: Case) -> dict[str, int]:
        return {s.name: s.default for s in self.kernel.sizes if s.default is not None} | dict(case.sizes)

    def _launch(self, case: Case) -> tuple[Program, Run, dict[str, Array], dict[str, Expected]]:
        program = self.program_of(case)
        inputs, wanted = self._reference(case)
        options = self._options(program, case)
        if self.where == "gpu":
            from tilegen.run.gpu import launch_program

            run = launch_program(program, self._sizes(case), inputs, dict(case.scalars), options=options)
        else:
            from tilegen.run.simulated import simulate_program

            run = simulate_program(program, self._sizes(case), inputs, dict(case.scalars), options=options)
        return program, run, inputs, wanted

    def _options(self, program: Program, case: Case) -> Options:
        variation = case.variation
        strides = {}
        if variation.strides is not None:
            strides = strides_for(program, {**program.nest.constants, **self._sizes(case)}, variation.strides)
        misalign = {}
        for tensor in program.kernel.tensors:
            for buffer in layout(tensor, {**program.nest.constants, **self._sizes(case)}).buffers:
                if buffer.pointer in variation.misaligned:
                    misalign[buffer.pointer] = buffer.granule
        return Options(strides=strides, misalign=misalign, index=variation.index, alone=variation.fitted)

    def _reference(self, case: Case) -> tuple[dict[str, Array], dict[str, Expected]]:
        """Inputs and what must come out; shared by all schedules."""
        repeated = case.variation.strides == "broadcast"
        key = (case.sizes, case.scalars, case.fill, case.seed, case.rtol, case.atol, repeated)
        if key not in self._wanted:
            sizes = self._sizes(case)
            integers = {n: int(v) for n, v in case.scalars if isinstance(v, int)}
            problems = call_problems(self.kernel, {**sizes, **integers})
            if problems:
                raise SpecError(problems)
            inputs = make_inputs(self.kernel, sizes, case.fill, case.seed)
            if repeated:
                inputs = self._broadcast(inputs)
            inputs = {n: through_memory(self.kernel.tensor(n), sizes, a) for n, a in inputs.items()}
            wanted = expected(self.kernel, sizes, inputs, dict(case.scalars), rtol=case.rtol, atol=case.atol)
            elements = sum(e.value.size for e in wanted.values())
            while self._wanted and (self._kept + elements > _MOST_KEPT or len(self._wanted) >= 64):
                _, forgotten = self._wanted.pop(next(iter(self._wanted)))
                self._kept -= sum(e.value.size for e in forgotten.values())
            self._wanted[key] = inputs, wanted
            self._kept += elements
        return self._wanted[key]

    def _broadcast(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Inputs that repeat along the axis to which `strides_for` gives the stride 0."""
        found = dict(inputs)
        for tensor in self.kernel.tensors:
            free = [axis for axis, stride in enumerate(tensor.strides) if stride is None]
            if free and tensor.name in found and tensor.role.value == "in" and found[tensor.name].size:
                first = found[tensor.name].take([0], axis=free[0])
                found[tensor.name] = first.repeat(found[tensor.name].shape[free[0]], axis=free[0])
        return found

    def _judge(
        self,
        case: Case,
        program: Program,
        run: Run,
        inputs: Mapping[str, Array],
        wanted: Mapping[str, Expected],
    ) -> CaseResult:
        mismatches = compare(program, run, wanted, inputs)
        wrong = [*run.faults, *map(str, mismatches)]
        if (
            case.variation.index is not None
            and run.shape is not None
            and run.shape.index != case.variation.index
        ):
            wrong.append(f"ran with `{run.shape.index}` indices, not `{case.variation.index}`")
        measured = None
        if case.written and not case.variation.fitted and self.where == "sim" and not wrong:
            measured = metrics(program, run, inputs)
        if wrong:
            return CaseResult(case, Verdict.FAIL, "\n".join(wrong), run.findings, mismatches)
        return CaseResult(
            case, Verdict.PASS, "" if run.shape is not None else "nothing to launch", metrics=measured
        )

    def _promise(self, case: Case) -> str:
        """What allows the launch of this case to be refused; empty if nothing does."""
        program = self.program_of(case)
        sizes = {**program.nest.constants, **self._sizes(case)}
        if program.schedule.bounds is Bounds.EXACT:
            for tile in program.plans[-1].tiles:
                if int(evaluate(tile.extent, sizes)) % tile.tile:
                    return "`bounds exact` promises"
        misalign = self._options(program, case).misalign
        for pointer in program.nest.pointers:
            if pointer.align is not None and misalign.get(pointer.name, 0) % pointer.align:
                return f"`align {pointer.align}B` promises"
        return ""

    def metrics_at(self, schedule: str, sizes: tuple[tuple[str, int], ...]) -> Metrics:
        """Metrics of a variant on given sizes, simulated whatever `where` is. Raises what a launch may raise."""
        key = (schedule, sizes)
        if key not in self._metrics:
            from tilegen.run.simulated import simulate_program

            case = self._case(schedule, dict(sizes))
            program = self.program(schedule, self.overrides(case))
            inputs, _ = self._reference(case)
            options = Options(checks=False)
            run = simulate_program(program, self._sizes(case), inputs, dict(case.scalars), options=options)
            self._metrics[key] = metrics(program, run, inputs)
        return self._metrics[key]
