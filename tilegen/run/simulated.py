"""Run a program on the simulator: compile, lay out, execute, read back, and say what it must not have done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tilegen.numpy_types import Array
from tilegen.program import LaunchShape, Program
from tilegen.run.layout import Bytes, owned
from tilegen.run.outcome import (
    PLAIN,
    Arguments,
    Finding,
    LineMap,
    Number,
    Options,
    Run,
    compile_program,
    gather,
    parameter_value,
    place,
)
from tilegen.sim import Fault, Launch, Memory, Report, load_module, simulate
from tilegen.toolchain import Compiled

SimulatedRun = Run
_NOISE = 0xA5


@dataclass(frozen=True, slots=True)
class BufferRun:
    """A simulated launch on placed buffers: contents and marks of written bytes by pointer."""

    shape: LaunchShape | None
    report: Report | None
    compiled: Compiled | None
    contents: Mapping[str, Bytes]
    written: Mapping[str, npt.NDArray[np.bool_]]
    addresses: Mapping[str, int]


def simulate_program(
    program: Program,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, Number] | None = None,
    *,
    options: Options = PLAIN,
    source: str | None = None,
) -> SimulatedRun:
    """Run `program` once on logical arrays. `source`: text to compile instead of the program's own (same entries).

    Raises LaunchRefused for arguments that the schedule or the spec forbids, CompileError, SimulationError.
    """
    arguments = place(program, sizes, arrays, scalars, options)
    run = simulate_buffers(
        program,
        arguments,
        index=options.index,
        source=source,
        checks=options.checks,
        alone=options.alone,
    )
    lines = LineMap(program, source)
    outputs, written = gather(program, arguments, run.contents, run.written)
    faults = run.report.faults if run.report is not None else ()
    findings = [explain_fault(f, lines) for f in faults] + stray_writes(program, arguments, run.written)
    resources = None
    if run.compiled is not None and run.shape is not None:
        resources = run.compiled.resources_of(run.shape.entry)
    return Run(
        outputs=outputs,
        previous=arguments.previous,
        written=written,
        shape=run.shape,
        report=run.report,
        resources=resources,
        findings=tuple(findings),
        arguments=arguments,
        addresses=run.addresses,
        lines=lines.marks,
    )


def simulate_buffers(
    program: Program,
    arguments: Arguments,
    *,
    index: str | None = None,
    source: str | None = None,
    checks: bool = True,
    max_instructions: int | None = None,
    alone: bool = False,
) -> BufferRun:
    """Run `program` once on buffers of bytes. `index`: the index type, whatever the launcher would choose.

    `alone`: compile the one kernel that is launched.
    """
    memory = Memory()
    addresses = {}
    for pointer, buffer in arguments.buffers.items():
        start = memory.allocate(
            pointer, buffer.data, initialised=buffer.initialised, misalign=_lead(buffer.base, buffer.misalign)
        )
        addresses[pointer] = start + buffer.base
    shape = program.shape(arguments.sizes, arguments.strides, addresses, arguments.scalars)
    report = compiled = None
    if shape is not None:
        if index is not None and index != shape.index:
            shape = replace(shape, index=index, entry=program.rendered.entry(shape.plan, index))
        compiled = compile_program(program, source, (shape.entry,) if alone else None)
        scratch = allocate_scratch(memory, shape)
        values = [parameter_value(p, program, arguments, addresses, scratch) for p in shape.parameters]
        limit = {} if max_instructions is None else {"max_instructions": max_instructions}
        report = simulate(
            load_module(compiled.ptx),
            compiled.entries[shape.entry],
            Launch((shape.blocks, 1, 1), (shape.threads, 1, 1), shape.dynamic_shared),
            values,
            memory,
            checks=checks,
            **limit,
        )
    contents = {pointer: memory.read(pointer) for pointer in arguments.buffers}
    written = {pointer: memory.written(pointer) for pointer in arguments.buffers}
    return BufferRun(shape, report, compiled, contents, written, addresses)


def allocate_scratch(memory: Memory, shape: LaunchShape) -> dict[str, int]:
    """Scratch memory of a launch, each part between guard zones of its own. What is not zeroed holds noise that the
    kernel must not read before it has written it."""
    return {
        s.name: memory.allocate(
            f"scratch {s.name}",
            np.full(s.bytes, 0 if s.zeroed else _NOISE, np.uint8),
            initialised=s.zeroed,
        )
        for s in shape.scratch
    }


def _lead(base: int, misalign: int) -> int:
    """Bytes past 256-byte alignment that a buffer starts at, so that its pointer lies `misalign` bytes past it."""
    return (misalign - base) % 256


def explain_fault(fault: Fault, lines: LineMap) -> Finding:
    """A fault with the text of its lines in the kernel and in the spec."""
    detail = fault.message
    if fault.thread is not None and str(fault.thread) not in detail:
        detail += f" ({fault.thread}" + (f" and {fault.other})" if fault.other is not None else ")")
    if fault.count > 1:
        detail += f"; {fault.count} times in all"
    others = [n for n in dict.fromkeys(fault.lines) if n != fault.line]
    detail += "".join(f"; the other access is on line {n}: {lines.text(n)}" for n in others)
    return lines.finding(fault.kind.value, detail, fault.line)


def stray_writes(
    program: Program, arguments: Arguments, written: Mapping[str, npt.NDArray[np.bool_]]
) -> list[Finding]:
    """Writes inside a buffer but to no element, and writes to inputs."""
    found = []
    for pointer in program.nest.pointers:
        touched = written[pointer.name]
        if not touched.any():
            continue
        if not pointer.written:
            found.append(Finding("write to an input", f"`{pointer.name}` at byte {int(np.argmax(touched))}"))
            continue
        gaps = touched & ~owned(arguments.layouts[pointer.tensor], pointer.name)
        if gaps.any():
            first = int(np.argmax(gaps)) - arguments.buffers[pointer.name].base
            count = int(np.count_nonzero(gaps))
            found.append(
                Finding(
                    "write to padding",
                    f"{count} bytes of `{pointer.name}` that no element owns were written, "
                    f"the first {first} bytes past the pointer",
                )
            )
    return found
