"""A call on arrays in host memory: the generated code runs on the simulator, on copies laid out as on a device."""

from __future__ import annotations

from tilegen.api.bind import Call
from tilegen.api.errors import CallError, SimulatedFault
from tilegen.api.outputs import writes_all
from tilegen.api.tensors import Form, from_logical, to_logical
from tilegen.lang.spec import Aosoa, Role
from tilegen.program import LaunchRefused, Program
from tilegen.run.outcome import Options
from tilegen.run.simulated import simulate_program

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
