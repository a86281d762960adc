"""Run a program on a GPU as the simulator runs it: the same arguments, poison, guard zones and results.

A GPU keeps no marks of what was written, so each launch is made twice, over two poisons that differ in every bit: a
byte that holds both of them was never written. CuPy is imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.cuda.tree import Parameter
from tilegen.dtypes import DType
from tilegen.numpy_types import Array
from tilegen.program import LaunchShape, Program
from tilegen.run.config import launch_config
from tilegen.run.launch import Kernel, gpu
from tilegen.run.layout import Bytes
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
from tilegen.run.packing import FORMATS, POINTER
from tilegen.run.simulated import stray_writes

GUARD = 1 << 16


def launch_program(
    program: Program,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, Number] | None = None,
    *,
    options: Options = PLAIN,
    source: str | None = None,
) -> Run:
    """Run `program` on logical arrays on the current device. `source`: text to compile instead of the program's own.

    Raises LaunchRefused, LaunchError, CompileError, and ToolchainMissing without a GPU.
    """
    lines = LineMap(program, source)
    first = _Trial(program, sizes, arrays, scalars, options, source)
    second = _Trial(program, sizes, arrays, scalars, replace(options, poison=options.poison ^ 0xFF), source)
    written = {pointer: _written(first, second, pointer) for pointer in first.contents}
    outputs, marks = gather(program, first.arguments, first.contents, written)
    findings = first.findings + stray_writes(program, first.arguments, written)
    again, _ = gather(program, second.arguments, second.contents, written)
    findings += [
        Finding("different result", f"`{name}` differs between two launches on the same input")
        for name, array in outputs.items()
        if _differs(array, again[name], marks[name])
    ]
    resources = None
    if first.shape is not None:
        resources = compile_program(program, source).resources_of(first.shape.entry)
    return Run(
        outputs=outputs,
        previous=first.arguments.previous,
        written=marks,
        shape=first.shape,
        report=None,
        resources=resources,
        findings=tuple(dict.fromkeys(findings)),
        arguments=first.arguments,
        addresses=first.addresses,
        lines=lines.marks,
    )


class _Trial:
    """One launch over one poison; `contents` are the bytes of each buffer afterwards."""

    def __init__(
        self,
        program: Program,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Array],
        scalars: Mapping[str, Number] | None,
        options: Options,
        source: str | None,
    ) -> None:
        self.arguments = place(program, sizes, arrays, scalars, options)
        # Guards of two buffers differ, so that copying one's to another's shows.
        zones = {
            name: _Zone(b.data, b.base, b.misalign, 0x31 + 37 * number & 0xFF)
            for number, (name, b) in enumerate(self.arguments.buffers.items())
        }
        self.addresses = {name: zone.pointer for name, zone in zones.items()}
        self.shape = launch(program, self.arguments, self.addresses, options.index, source)
        gpu().cuda.get_current_stream().synchronize()
        self.contents: dict[str, Bytes] = {}
        self.findings: list[Finding] = []
        for name, zone in zones.items():
            self.contents[name], spoilt = zone.read()
            if spoilt is not None:
                self.findings.append(Finding("write outside", f"{spoilt} bytes from the start of `{name}`"))


class _Zone:
    """A buffer on the device between two guard zones."""

    def __init__(self, data: Bytes, base: int, misalign: int, guard: int) -> None:
        cupy = gpu()
        self._guard = guard
        self._lead = GUARD + (misalign - base) % 256
        self._size = data.size
        host = np.full(self._lead + data.size + GUARD, guard, np.uint8)
        host[self._lead : self._lead + data.size] = data
        # CuPy's allocations are aligned to 512 bytes.
        self._memory = cupy.asarray(host)
        self.pointer = int(self._memory.data.ptr) + self._lead + base

    def read(self) -> tuple[Bytes, int | None]:
        """The buffer's bytes, and the offset of the first guard byte that changed."""
        host: Bytes = gpu().asnumpy(self._memory)
        guards = host != self._guard
        guards[self._lead : self._lead + self._size] = False
        spoilt = int(np.argmax(guards)) - self._lead if guards.any() else None
        return host[self._lead : self._lead + self._size].copy(), spoilt


def launch(
    program: Program,
    arguments: Arguments,
    addresses: Mapping[str, int],
    index: str | None = None,
    source: str | None = None,
) -> LaunchShape | None:
    """Launch on CuPy's current stream, without waiting; None where there is nothing to do."""
    prepared = prepare(program, arguments, addresses, index, source)
    if prepared is None:
        return None
    shape, run = prepared
    run()
    return shape


def prepare(
    program: Program,
    arguments: Arguments,
    addresses: Mapping[str, int],
    index: str | None = None,
    source: str | None = None,
) -> tuple[LaunchShape, Callable[[], None]] | None:
    """The variant that fits and a function that launches it on CuPy's current stream."""
    cupy = gpu()
    shape = program.shape(arguments.sizes, arguments.strides, addresses)
    if shape is None:
        return None
    if index is not None and index != shape.index:
        shape = replace(shape, index=index, entry=program.rendered.entry(shape.plan, index))
    compiled = compile_program(program, source)
    formats = [_format(p, shape, program) for p in shape.parameters]
    kernel = Kernel(compiled, shape.entry, formats)
    values = [
        0 if p.kind == "scratch" else _value(parameter_value(p, program, arguments, addresses), f)
        for p, f in zip(shape.parameters, formats, strict=True)
    ]
    config = launch_config(shape)
    device = int(cupy.cuda.Device().id)
    return shape, lambda: kernel(config, values, device=device)


def _format(parameter: Parameter, shape: LaunchShape, program: Program) -> str:
    match parameter.kind:
        case "pointer" | "scratch":
            return POINTER
        case "scalar":
            dtype = next(s.dtype for s in program.kernel.scalars if s.name == parameter.key)
            return (
                {1: "B", 2: "H", 4: "I", 8: "Q"}[dtype.size] if FORMATS.get(dtype.name) else _no_format(dtype)
            )
        case _:
            return "i" if shape.index == "int" else "q"


def _no_format(dtype: DType) -> str:
    raise ValueError(f"a scalar parameter of type {dtype} cannot be passed")


def _value(value: int | bytes, format: str) -> int:
    """Scalars travel as their bits, so that no conversion on the way rounds them."""
    return value if isinstance(value, int) else int.from_bytes(value, "little")


def _written(first: _Trial, second: _Trial, pointer: str) -> npt.NDArray[np.bool_]:
    """Bytes that do not hold what each launch found there. An `inout` one written with its own value is not told
    from one that was not written."""
    before, after = first.arguments.buffers[pointer].data, first.contents[pointer]
    changed = (after != before) | (second.contents[pointer] != second.arguments.buffers[pointer].data)
    return np.asarray(changed)


def _differs(a: Array, b: Array, written: Array) -> bool:
    names = a.dtype.names or (None,)
    for name in names:
        x, y, mask = (a, b, written) if name is None else (a[name], b[name], written[name])
        size = x.dtype.itemsize
        left = np.ascontiguousarray(x[mask]).view(np.uint8).reshape(-1, size)
        right = np.ascontiguousarray(y[mask]).view(np.uint8).reshape(-1, size)
        if not np.array_equal(left, right):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per launch and bytes per second, of the kernel and of a device-to-device copy that moves as many bytes.

    `bytes`: that the kernel must read and write once. `copy_time`: of a copy that reads half of them and writes half.
    """

    time: float
    copy_time: float
    bytes: int

    @property
    def bandwidth(self) -> float:
        return self.bytes / self.time

    @property
    def copy_bandwidth(self) -> float:
        return self.bytes / self.copy_time


def measure_program(
    program: Program,
    sizes: Mapping[str, int],
    scalars: Mapping[str, Number] | None = None,
    *,
    repeats: int = 20,
) -> Timing:
    """Median times of launches on dense, aligned arrays, kernel and copy taking turns in one run.

    Inputs hold ones (indices and conditions on data included); every tensor counts once for each time it is read or
    written. Between launches a buffer larger than the L2 cache is overwritten, so that all bytes come from memory.
    """
    cupy = gpu()
    kernel = program.kernel
    known = {**program.nest.constants, **sizes}
    arguments = place_empty(program, known, scalars)
    memories: dict[str, Any] = {}
    moved = 0
    for pointer in program.nest.pointers:
        placed = arguments.layouts[pointer.tensor]
        buffer = placed.buffer(pointer.name)
        memories[pointer.name] = cupy.ones(max(buffer.size, 1), cupy.uint8)
        moved += buffer.size * (pointer.read + pointer.written)
    addresses = {
        name: int(memory.data.ptr) + arguments.layouts[program.nest.pointer(name).tensor].buffer(name).base
        for name, memory in memories.items()
    }
    prepared = prepare(program, arguments, addresses)
    if prepared is None:
        raise ValueError(f"`{kernel.name}` has nothing to do at these sizes, so there is nothing to measure")
    _, run = prepared
    source, target = (cupy.empty(max(moved // 2, 1), cupy.uint8) for _ in range(2))
    flush = cupy.empty(2 * int(cupy.cuda.Device().attributes["L2CacheSize"]) + 1, cupy.uint8)

    def copy() -> None:
        cupy.cuda.runtime.memcpyAsync(
            target.data.ptr, source.data.ptr, source.nbytes, 3, cupy.cuda.get_current_stream().ptr
        )

    times: dict[str, list[float]] = {"kernel": [], "copy": []}
    for trial in range(repeats + 3):
        for name, function in (("kernel", run), ("copy", copy)):
            flush.fill(trial & 0xFF)
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            function()
            end.record()
            end.synchronize()
            if trial >= 3:
                times[name].append(float(cupy.cuda.get_elapsed_time(start, end)) * 1e-3)
    return Timing(float(np.median(times["kernel"])), float(np.median(times["copy"])), moved)


def place_empty(
    program: Program, sizes: Mapping[str, int], scalars: Mapping[str, Number] | None
) -> Arguments:
    """Arguments with layouts but without content in host memory, for arrays too large to fill there."""
    from tilegen.core.nest.model import stride_symbol
    from tilegen.run.layout import layout

    layouts = {t.name: layout(t, sizes) for t in program.kernel.tensors}
    strides = {stride_symbol(t, d): layouts[t].strides[d] for t, d in program.nest.dynamic_strides}
    defaults = {s.name: 1 if s.default is None else s.default for s in program.kernel.scalars}
    given = {name: (scalars or {}).get(name, default) for name, default in defaults.items()}
    return Arguments(sizes, strides, layouts, {}, {}, given)


__all__ = ["Timing", "launch", "launch_program", "measure_program", "place_empty", "prepare"]
