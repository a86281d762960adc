"""Launches on a GPU: the first one in full, and what of it the next call of the same shape can use again.

A key holds everything that the checks of a call and the choice of a variant depend on: types, shapes, strides, the
addresses modulo 256, devices, sizes and scalars. What is left is to look whether an output overlaps another array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.algebra import evaluate
from tilegen.api.bind import Call
from tilegen.api.errors import CallError
from tilegen.api.outputs import writes_all
from tilegen.api.scalars import Number
from tilegen.api.tensors import Form
from tilegen.dtypes import DType
from tilegen.nest.model import stride_symbol
from tilegen.program import LaunchRefused, LaunchShape, Program
from tilegen.runtime.arrays import ArrayKind, empty, overlaps, view
from tilegen.runtime.config import LaunchConfig
from tilegen.runtime.launch import Kernel, stream_of, wait_for
from tilegen.runtime.layout import dense_strides
from tilegen.runtime.outcome import scalar_bytes
from tilegen.runtime.packing import FORMATS, POINTER
from tilegen.spec import Role, ScheduleSpec

Load = Callable[[Program, str, Sequence[str]], Kernel]
Source = tuple[str, Any]
"""Where a call has an array: ("args", number), ("named", name), ("out", name or None), or ("new", tensor)."""

_ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class Ready:
    """A launch that was made. `values`: per parameter a number, or a pointer's name and what its address gets added."""

    kernel: Kernel
    config: LaunchConfig
    values: tuple[int | float | tuple[str, int], ...]
    device: int


def launch(program: Program, call: Call, load: Load) -> Ready | None:
    """Launch `program` for `call`; None where there is nothing to compute. Raises CallError TG0819, LaunchError."""
    views = call.views
    offsets = _offsets(call)
    pointers = {name: array.pointer + offsets[name] for name, array in views.items()}
    strides = {stride_symbol(t, d): call.layouts[t].strides[d] for t, d in program.nest.dynamic_strides}
    try:
        shape = program.shape(call.sizes, strides, pointers)
    except LaunchRefused as error:
        raise CallError("TG0819", str(error)) from None
    if shape is None:
        return None
    assert call.device is not None
    formats, values = _parameters(program, shape, call, strides, offsets)
    kernel = load(program, shape.entry, formats)
    config = LaunchConfig((shape.blocks, 1, 1), (shape.threads, 1, 1), shape.dynamic_shared)
    ready = Ready(kernel, config, values, call.device)
    stream = stream_of(list(views.values()))
    wait_for(list(views.values()), stream)
    kernel(config, _numbers(values, lambda name: views[name].pointer), device=call.device, stream=stream)
    return ready


def _offsets(call: Call) -> dict[str, int]:
    """Bytes from an array's first element to the kernel's pointer (`offset 1` puts it one element before)."""
    found = {}
    for name, passed in call.passed.items():
        whole = passed.form in (Form.LAST_AXIS, Form.BLOCKS)
        for pointer, array in passed.views.items():
            size = passed.tensor.element.size if whole else array.itemsize
            found[pointer] = -call.layouts[name].offset * size
    return found


def _parameters(
    program: Program,
    shape: LaunchShape,
    call: Call,
    strides: Mapping[str, int],
    offsets: Mapping[str, int],
) -> tuple[list[str], tuple[int | float | tuple[str, int], ...]]:
    index = "i" if shape.index == "int" else "q"
    sizes = {**program.nest.constants, **call.sizes}
    formats: list[str] = []
    values: list[int | float | tuple[str, int]] = []
    for parameter in shape.parameters:
        match parameter.kind:
            case "pointer":
                formats.append(POINTER)
                values.append((parameter.key, offsets[parameter.key]))
            case "size":
                formats.append(index)
                values.append(sizes[parameter.key])
            case "stride":
                formats.append(index)
                values.append(strides[parameter.key])
            case _:
                dtype = next(s.dtype for s in program.kernel.scalars if s.name == parameter.key)
                formats.append(FORMATS[dtype.name])
                values.append(_scalar(call.scalars[parameter.key], dtype))
    return formats, tuple(values)


def _scalar(value: Number, dtype: DType) -> int | float:
    """As `struct` packs it; types that it does not know travel as their bits."""
    if FORMATS[dtype.name] in "efd" or dtype.is_integer or dtype.name == "bool":
        assert not isinstance(value, complex)
        return value
    return int.from_bytes(scalar_bytes(value, dtype), "little")


def _numbers(
    values: Sequence[int | float | tuple[str, int]], address: Callable[[str], int]
) -> list[int | float]:
    return [address(v[0]) + v[1] if isinstance(v, tuple) else v for v in values]


# The next call ---------------------------------------------------------------------------------------------------


def key_of(
    types: Mapping[str, str],
    schedule: ScheduleSpec | None,
    positional: Sequence[Any],
    named: Mapping[str, Any],
    out: Any,
) -> object | None:
    """What a prepared launch is kept under; None for arguments that have no cheap key."""
    parts: list[object] = [schedule and schedule.name]
    if types:
        parts.append(tuple(types.items()))
    try:
        for value in positional:
            parts.append(_KEYS[type(value)](value))
        for name, value in named.items():
            describe = _KEYS.get(type(value))
            parts.append((name, type(value), describe(value) if describe else value))
        if isinstance(out, dict):
            parts.extend((name, _KEYS[type(value)](value)) for name, value in out.items())
        elif out is not None:
            parts.append(_KEYS[type(out)](out))
        key = tuple(parts)
        hash(key)
    except (KeyError, TypeError):
        return None
    return key


def _key_of_cupy(array: Any) -> object:
    return array.dtype, array.shape, array.strides, array.data.ptr % _ALIGNMENT, array.device.id


def _key_of_torch(tensor: Any) -> object:
    flags = tensor.requires_grad, tensor.is_conj(), tensor.is_neg(), tensor.is_sparse
    place = tensor.device.type, tensor.device.index
    return tensor.dtype, tensor.shape, tensor.stride(), tensor.data_ptr() % _ALIGNMENT, place, flags


def _address_of_cupy(array: Any) -> int:
    return int(array.data.ptr)


def _address_of_torch(tensor: Any) -> int:
    return int(tensor.data_ptr())


# Filled as arrays of a library are first seen, which shows that the caller has imported it.
_KEYS: dict[type, Callable[[Any], object]] = {}
_ADDRESSES: dict[type, Callable[[Any], int]] = {}


def _register(kind: ArrayKind, type_: type) -> bool:
    if kind is ArrayKind.CUPY:
        _KEYS[type_], _ADDRESSES[type_] = _key_of_cupy, _address_of_cupy
    elif kind is ArrayKind.TORCH:
        _KEYS[type_], _ADDRESSES[type_] = _key_of_torch, _address_of_torch
    return type_ in _KEYS


@dataclass(slots=True)
class Prepared:
    """`reach`: lowest and highest byte of an array, counted from its address. `makers`: outputs that are allocated."""

    ready: Ready
    sources: dict[str, Source]
    reach: dict[str, tuple[int, int]]
    written: tuple[str, ...]
    makers: dict[str, Callable[[], Any]]
    outputs: tuple[str, ...]
    torch: bool

    def fits(self, positional: Sequence[Any], named: Mapping[str, Any], out: Any) -> bool:
        """Whether no output that the caller passed overlaps another array."""
        passed = [n for n in self.written if self.sources[n][0] != "new"]
        if not passed:
            return True
        arrays = {
            name: _find(source, positional, named, out)
            for name, source in self.sources.items()
            if source[0] != "new"
        }
        spans = {}
        for name, array in arrays.items():
            start = _ADDRESSES[type(array)](array)
            low, high = self.reach[name]
            spans[name] = start + low, start + high
        for name in passed:
            low, high = spans[name]
            for other, (other_low, other_high) in spans.items():
                if other == name or high <= other_low or other_high <= low:
                    continue
                if overlaps(view(arrays[name]), view(arrays[other])):
                    return False  # the full way says what is wrong
        return True

    def launch(self, positional: Sequence[Any], named: Mapping[str, Any], out: Any) -> Any:
        """Launch and return what the call returns."""
        arrays = {
            name: self.makers[name]() if source[0] == "new" else _find(source, positional, named, out)
            for name, source in self.sources.items()
        }
        stream = None
        if self.torch:
            stream = sys.modules["torch"].cuda.current_stream(self.ready.device).cuda_stream
        values = [
            _ADDRESSES[type(arrays[v[0]])](arrays[v[0]]) + v[1] if isinstance(v, tuple) else v
            for v in self.ready.values
        ]
        self.ready.kernel(self.ready.config, values, device=self.ready.device, stream=stream)
        if len(self.outputs) == 1:
            return arrays[self.outputs[0]]
        return {name: arrays[name] for name in self.outputs}


def _find(source: Source, positional: Sequence[Any], named: Mapping[str, Any], out: Any) -> Any:
    where, which = source
    if where == "args":
        return positional[which]
    if where == "named":
        return named[which]
    return out if which is None else out[which]


def prepare(
    ready: Ready, call: Call, positional: Sequence[Any], named: Mapping[str, Any], out: Any
) -> Prepared | None:
    """What makes the next call of this shape short; None for arguments that always go the full way."""
    if any(p.form is Form.FIELDS for p in call.passed.values()):
        return None
    kinds = set()
    for passed in call.passed.values():
        if not _register(passed.first.kind, type(passed.value)):
            return None
        kinds.add(passed.first.kind)
    inputs = [t.name for t in call.kernel.tensors if t.role is not Role.OUT]
    sources: dict[str, Source] = {}
    makers: dict[str, Callable[[], Any]] = {}
    for tensor in call.kernel.tensors:
        name = tensor.name
        if name in inputs[: len(positional)]:
            sources[name] = ("args", inputs.index(name))
        elif name in named:
            sources[name] = ("named", name)
        elif name in call.given:
            sources[name] = ("out", name if isinstance(out, dict) else None)
        else:
            maker = _maker(call, name)
            if maker is None:
                return None
            sources[name], makers[name] = ("new", name), maker
    reach = {}
    for name, passed in call.passed.items():
        low, high = passed.first.extent
        reach[name] = low - passed.first.pointer, high - passed.first.pointer
    written = tuple(p.tensor.name for p in call.written)
    return Prepared(ready, sources, reach, written, makers, written, ArrayKind.TORCH in kinds)


def _maker(call: Call, name: str) -> Callable[[], Any] | None:
    """Allocates an output as the first call did; None where that takes more than one plain allocation."""
    passed, placed = call.passed[name], call.layouts[name]
    tensor = passed.tensor
    plain = passed.form is Form.PLAIN and placed.offset == 0 and (tensor.align or 1) <= _ALIGNMENT
    if not plain or placed.strides != dense_strides(placed.extents) or not writes_all(call.kernel, tensor):
        return None
    array = passed.first
    extents = tuple(int(evaluate(e, call.sizes)) for e in tensor.extents)
    if array.kind is ArrayKind.CUPY:
        import cupy

        dtype = passed.value.dtype

        def make_cupy() -> Any:
            if cupy.cuda.runtime.getDevice() == array.device:
                return cupy.empty(extents, dtype)
            return empty(array.kind, extents, array.element, array.device)

        return make_cupy
    return lambda: empty(array.kind, extents, array.element, array.device)
