"""Programs of one kernel, made once each, and calls of them: simulated for host memory, launched for a GPU's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilegen.api.bind import Call
from tilegen.api.outputs import writes_all
from tilegen.api.tensors import Form, from_logical, to_logical
from tilegen.errors import CallError, SimulatedFault
from tilegen.lang.spec import Aosoa, Kernel, KernelFamily, Role, ScheduleSpec
from tilegen.program import LaunchRefused, Program, build
from tilegen.run.outcome import Options
from tilegen.run.simulated import simulate_program
from tilegen.target import Target

if TYPE_CHECKING:
    from tilegen.api.bind import Call
    from tilegen.api.prepared import Prepared
    from tilegen.run.launch import Kernel as Loaded


_MOST = 1024


class Programs:
    """Everything that calls of one kernel share. Safe to use from several threads: at worst something is made twice."""

    def __init__(self, target: Target | None) -> None:
        self._target = target
        self._programs: dict[object, Program] = {}
        self._loaded: dict[tuple[str, str], Loaded] = {}
        self._prepared: dict[object, Prepared] = {}
        self._last: Prepared | None = None

    @property
    def target(self) -> Target:
        """The one asked for, else that of the current GPU, else what NVRTC takes without one (`sm_90`)."""
        if self._target is None:
            from tilegen.toolchain import default_target

            self._target = default_target()
        return self._target

    def program(
        self,
        kernel: Kernel,
        schedule: ScheduleSpec | None,
        constants: Mapping[str, int],
        sizes: Mapping[str, int] | None = None,
    ) -> Program:
        """The program of `kernel` under `schedule` (None: `auto`, which fits its choice to `sizes`)."""
        known = tuple(sorted(sizes.items())) if sizes is not None and schedule is None else None
        key = (kernel.types, schedule and schedule.name, tuple(sorted(constants.items())), known)
        if key not in self._programs:
            _make_room(self._programs)
            self._programs[key] = build(
                kernel,
                schedule,
                self.target,
                sizes=sizes if schedule is None else None,
                constants=dict(constants) or None,
            )
        return self._programs[key]

    def call(
        self,
        family: KernelFamily,
        types: Mapping[str, str],
        schedule: ScheduleSpec | None,
        positional: Sequence[Any],
        named: Mapping[str, Any],
        out: Any,
    ) -> Any:
        """One call of the kernel: returns its outputs. A call like an earlier one on a GPU is launched at once."""
        last = self._last
        if last is not None and last.again(types, schedule, positional, named, out):
            return out
        if self._prepared:
            from tilegen.api.prepared import scan

            scanned = scan(types, schedule, positional, named, out)
            prepared = self._prepared.get(scanned[0]) if scanned is not None else None
            if scanned is not None and prepared is not None and prepared.fits(scanned[1]):
                self._last = prepared
                return prepared.launch(scanned[1], positional, named, out)
        from tilegen.api.bind import bind

        call = bind(family, types, positional, named, out)
        if call.device is None:
            if not _is_empty(call):
                self._simulate(call, schedule)
            return call.result()
        return self._launch(call, types, schedule, positional, named, out)

    def _simulate(self, call: Call, schedule: ScheduleSpec | None) -> None:
        from tilegen.api.execute import run_simulated

        run_simulated(self.program(call.kernel, schedule, call.constants, call.sizes), call)

    def _launch(
        self,
        call: Call,
        types: Mapping[str, str],
        schedule: ScheduleSpec | None,
        positional: Sequence[Any],
        named: Mapping[str, Any],
        out: Any,
    ) -> Any:
        from tilegen.api.prepared import launch, prepare, register, scan

        if _is_empty(call):
            return call.result()
        program = self.program(call.kernel, schedule, call.constants, call.sizes)
        ready = launch(program, call, self._load)
        if ready is not None:
            scanned = scan(types, schedule, positional, named, out) if register(call) else None
            if scanned is not None:
                prepared = prepare(ready, call, types, schedule, scanned[1], positional, named, out)
                if prepared is not None:
                    _make_room(self._prepared)
                    self._prepared[scanned[0]] = prepared
        return call.result()

    def _load(self, program: Program, entry: str, formats: Sequence[str]) -> Loaded:
        """The compiled kernel called `entry`; programs of the same text share it."""
        key = (program.source, entry)
        if key not in self._loaded:
            from tilegen.run.launch import Kernel as LaunchableKernel
            from tilegen.toolchain import compile_source

            _make_room(self._loaded)
            compiled = compile_source(
                program.source,
                target=program.target,
                entries=(entry,),
                name=f"{program.kernel.name}.cu",
                spec=program.kernel.span.source.name,
            )
            self._loaded[key] = LaunchableKernel(compiled, entry, formats)
        return self._loaded[key]


def _make_room(kept: dict[Any, Any]) -> None:
    """Forget the oldest entry of a full cache; what is forgotten is made again."""
    while len(kept) >= _MOST:
        kept.pop(next(iter(kept)), None)


def _is_empty(call: Call) -> bool:
    """Whether no output has an element, so that there is nothing to compile either."""
    return all(call.layouts[p.tensor.name].count == 0 for p in call.written)


_ALIGNMENT = 256  # of what cudaMalloc returns: addresses that differ by less than this are told apart


def run_simulated(program: Program, call: Call) -> None:
    """Run and write the outputs. Raises CallError TG0819 and, where generated code does wrong, SimulatedFault."""
    arrays, initial, strides, misalign = {}, {}, {}, {}
    for tensor in program.kernel.tensors:
        passed, placed = call.passed[tensor.name], call.layouts[tensor.name]
        if tensor.role is not Role.OUT:
            arrays[tensor.name] = to_logical(passed, placed.extents)
        elif not writes_all(program.kernel, tensor):
            initial[tensor.name] = to_logical(passed, placed.extents)
        if None in tensor.strides:
            strides[tensor.name] = placed.strides
        if isinstance(tensor.placement, Aosoa) and passed.form is Form.PLAIN:
            continue  # the array is logical: where its blocks would lie, nothing says
        for pointer, array in passed.views.items():
            size = tensor.element.size if passed.form is Form.LAST_AXIS else array.itemsize
            misalign[pointer] = (array.pointer - placed.offset * size) % _ALIGNMENT if array.size else 0
    options = Options(strides=strides, misalign=misalign, initial=initial)
    try:
        run = simulate_program(program, call.sizes, arrays, call.scalars, options=options)
    except LaunchRefused as error:
        raise CallError(
            "TG0819", str(error), helps=("pass arrays and sizes that keep it, or choose another schedule",)
        ) from None
    if run.faults:
        raise SimulatedFault(
            f"kernel '{program.kernel.name}' under schedule '{program.schedule.name}' does what no kernel may; "
            "please report it with the spec:\n" + "\n".join(run.faults)
        )
    for passed in call.written:
        from_logical(passed, run.outputs[passed.tensor.name])
