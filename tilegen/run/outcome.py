"""What a trial run of a program is given and gives back, on the simulator and on a GPU alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.core.nest.model import stride_symbol
from tilegen.cuda.tree import Parameter
from tilegen.dtypes import DType
from tilegen.lang.spec import IndexType, Role
from tilegen.numpy_types import Array, numpy_dtype
from tilegen.program import LaunchShape, Program
from tilegen.run.layout import Bytes, DeviceLayout, element_mask, layout, pack, unpack
from tilegen.sim.report import Report
from tilegen.toolchain import Compiled, CompileOptions, Resources, compile_source

Number = int | float | complex | bool


@dataclass(frozen=True, slots=True)
class Options:
    """How arguments are laid out and launched.

    `strides`: tensor to strides in elements, where the spec says `*`. `misalign`: pointer to bytes past its alignment.
    `poison`: byte that outputs and gaps hold before the launch. `index`: `int` or `long long` whatever would be chosen.
    `checks`: look for races and reads of what was never written (simulator). `initial`: content of an output before.
    `alone`: compile no other kernel of the program than the one launched (simulator).
    """

    strides: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    misalign: Mapping[str, int] = field(default_factory=dict)
    poison: int = 0xA5
    index: str | None = None
    checks: bool = True
    initial: Mapping[str, Array] = field(default_factory=dict)
    alone: bool = False


PLAIN = Options()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a run must not do. `line` of the kernel source and `spec_line`, where they are known."""

    title: str
    detail: str
    line: int | None = None
    line_text: str = ""
    spec_line: int | None = None
    spec_text: str = ""

    def __str__(self) -> str:
        text = f"{self.title}: {self.detail}"
        if self.line is not None:
            text += f"\n  kernel line {self.line}: {self.line_text}"
        if self.spec_line is not None:
            text += f"\n  spec line {self.spec_line}: {self.spec_text}"
        return text


@dataclass(frozen=True, slots=True)
class PlacedBuffer:
    """Bytes behind one pointer; the pointer is `base` bytes past their start."""

    data: Bytes
    base: int
    initialised: bool
    misalign: int = 0


@dataclass(frozen=True, slots=True)
class Arguments:
    """Everything a launch of a program takes, placed in host memory.

    `strides`: by parameter name. `previous`: logical content of every written tensor before the launch.
    """

    sizes: Mapping[str, int]
    strides: Mapping[str, int]
    layouts: Mapping[str, DeviceLayout]
    buffers: Mapping[str, PlacedBuffer]
    previous: Mapping[str, Array]
    scalars: Mapping[str, Number]


@dataclass(frozen=True, slots=True)
class Run:
    """One launch. `outputs`, `previous`: logical arrays. `written`: per output a mask over its elements (per member for
    structs). `shape` is None where there was nothing to launch. `report`: the simulator's; None on a GPU.

    `addresses`: per pointer. `lines`: line of the kernel source to line of the spec.
    """

    outputs: Mapping[str, Array]
    previous: Mapping[str, Array]
    written: Mapping[str, Array]
    shape: LaunchShape | None
    report: Report | None
    resources: Resources | None
    findings: tuple[Finding, ...]
    arguments: Arguments
    addresses: Mapping[str, int]
    lines: Mapping[int, int]

    @property
    def faults(self) -> tuple[str, ...]:
        """Every finding as text with its lines."""
        return tuple(str(f) for f in self.findings)


def place(
    program: Program,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, Number] | None,
    options: Options,
) -> Arguments:
    """Lay all tensors of the program's kernel out. `arrays`: logical, one per `in` and `inout` tensor."""
    kernel = program.kernel
    known = {**program.nest.constants, **sizes}
    layouts, buffers, previous = {}, {}, {}
    for tensor in kernel.tensors:
        placed = layout(tensor, known, strides=options.strides.get(tensor.name))
        layouts[tensor.name] = placed
        if tensor.role is Role.OUT and tensor.name not in options.initial:
            content = {b.pointer: np.full(b.size, options.poison, np.uint8) for b in placed.buffers}
        else:
            logical = options.initial[tensor.name] if tensor.role is Role.OUT else arrays[tensor.name]
            content = pack(placed, logical, fill=options.poison)
        if tensor.role is not Role.IN:
            previous[tensor.name] = unpack(placed, content)
        for buffer in placed.buffers:
            buffers[buffer.pointer] = PlacedBuffer(
                content[buffer.pointer],
                buffer.base,
                initialised=tensor.role is not Role.OUT,
                misalign=options.misalign.get(buffer.pointer, 0),
            )
    strides = {stride_symbol(t, d): layouts[t].strides[d] for t, d in program.nest.dynamic_strides}
    given = {s.name: (scalars or {}).get(s.name, s.default) for s in kernel.scalars}
    missing = [name for name, value in given.items() if value is None]
    if missing:
        raise ValueError(f"scalar {missing[0]} has no default and is not given")
    return Arguments(
        known, strides, layouts, buffers, previous, {n: v for n, v in given.items() if v is not None}
    )


def parameter_value(
    parameter: Parameter,
    program: Program,
    arguments: Arguments,
    addresses: Mapping[str, int],
    scratch: Mapping[str, int] = MappingProxyType({}),
) -> int | bytes:
    """What is passed for one kernel parameter: a number, or a scalar's bytes. `scratch`: addresses by name."""
    match parameter.kind:
        case "pointer":
            return addresses[parameter.key]
        case "scratch":
            return scratch[parameter.key]
        case "size":
            return arguments.sizes[parameter.key]
        case "stride":
            return arguments.strides[parameter.key]
        case "scalar":
            dtype = next(s.dtype for s in program.kernel.scalars if s.name == parameter.key)
            return scalar_bytes(arguments.scalars[parameter.key], dtype)
        case _:
            raise AssertionError(f"a parameter of kind {parameter.kind}")


def scalar_bytes(value: Number, dtype: DType) -> bytes:
    """A scalar parameter as the kernel gets it: integers wrap, floats round to nearest."""
    kind = numpy_dtype(dtype)
    if dtype.is_integer:
        return int(value.real).to_bytes(16, "little", signed=True)[: dtype.size]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(value).astype(kind).tobytes()


def gather(
    program: Program,
    arguments: Arguments,
    contents: Mapping[str, Bytes],
    touched: Mapping[str, npt.NDArray[np.bool_]],
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Logical outputs and which of their elements were written, from bytes and marks per pointer."""
    outputs, written = {}, {}
    for tensor in program.kernel.tensors:
        if tensor.role is Role.IN:
            continue
        placed = arguments.layouts[tensor.name]
        outputs[tensor.name] = unpack(placed, contents)
        masks = [element_mask(placed, b.pointer, touched[b.pointer], every=True) for b in placed.buffers]
        if len(masks) == 1:
            written[tensor.name] = masks[0]
            continue
        names = [str(name) for mask in masks for name in mask.dtype.names or ()]
        together = np.zeros(placed.extents, np.dtype([(name, np.bool_) for name in names]))
        for mask in masks:
            for name in mask.dtype.names or ():
                together[name] = mask[name]
        written[tensor.name] = together
    return outputs, written


def index_types(program: Program) -> tuple[str, ...]:
    """Index types that the program's kernels are compiled for."""
    match program.schedule.index:
        case IndexType.I32:
            return ("int",)
        case IndexType.I64:
            return ("long long",)
        case IndexType.AUTO:
            return ("int", "long long")


def compile_program(
    program: Program, source: str | None = None, entries: tuple[str, ...] | None = None
) -> Compiled:
    """All variants of a program with all its index types (or the `entries` given), in one compilation. `source`:
    instead of the program's."""
    if entries is None:
        entries = tuple(
            program.rendered.entry(number, index)
            for number in range(len(program.plans))
            for index in index_types(program)
        )
    return _compile(
        program.source if source is None else source, program.target, entries, program.kernel.name
    )


@lru_cache(maxsize=256)
def _compile(source: str, target: Any, entries: tuple[str, ...], name: str) -> Compiled:
    return compile_source(source, target=target, entries=entries, options=CompileOptions(), name=f"{name}.cu")


class LineMap:
    """From a line of the kernel source to its text and to the line of the spec behind it."""

    def __init__(self, program: Program, source: str | None = None) -> None:
        self._text = (program.source if source is None else source).split("\n")
        self._spec = program.kernel.span.source
        marks = dict(program.rendered.lines)
        if source is not None and source != program.source:
            marks = _moved(marks, program.source.split("\n"), self._text)
        self.marks: Mapping[int, int] = marks
        self._starts = [n for n, line in enumerate(self._text, 1) if "__global__" in line]

    def text(self, line: int | None) -> str:
        return self._text[line - 1].strip() if line is not None and 1 <= line <= len(self._text) else ""

    def spec_line(self, line: int | None) -> int | None:
        """The mark on this line, else the nearest one in the same kernel."""
        if line is None or not self.marks:
            return None
        if line in self.marks:
            return self.marks[line]
        kernel = sum(start <= line for start in self._starts)
        here = [n for n in self.marks if sum(start <= n for start in self._starts) == kernel]
        return self.marks[min(here, key=lambda n: (abs(n - line), n))] if here else None

    def finding(self, title: str, detail: str, line: int | None) -> Finding:
        spec_line = self.spec_line(line)
        spec_text = self._spec.line(spec_line).strip() if spec_line is not None else ""
        return Finding(title, detail, line, self.text(line), spec_line, spec_text)


def _moved(marks: Mapping[int, int], before: list[str], after: list[str]) -> dict[int, int]:
    """Marks on the lines of `after` that stand where marked lines of `before` stood."""
    moved = {}
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and b - a == d - c):
            moved.update({line - a + c: spec for line, spec in marks.items() if a < line <= b})
    return moved
