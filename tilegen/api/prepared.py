"""Launches on a GPU: the first one in full, and what of it the next call of the same shape can use again.

A key holds everything that the checks of a call and the choice of a variant depend on: types, shapes, strides, the
addresses modulo 256, devices, sizes and scalars. What is left is to look whether an output overlaps another array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.api.bind import Call
from tilegen.api.outputs import writes_all
from tilegen.api.scalars import Number
from tilegen.api.tensors import Form
from tilegen.core.nest.model import stride_symbol
from tilegen.dtypes import DType
from tilegen.errors import CallError
from tilegen.lang.spec import Role, ScheduleSpec
from tilegen.program import LaunchRefused, LaunchShape, Program
from tilegen.run.arrays import ArrayKind, empty
from tilegen.run.config import FORMATS, POINTER, LaunchConfig, launch_config
from tilegen.run.launch import Kernel, stream_of, wait_for
from tilegen.run.layout import dense_strides
from tilegen.run.outcome import scalar_bytes

Load = Callable[[Program, str, Sequence[str]], Kernel]
Place = tuple[str, Any]
"""Where a call has an array: ("args", number), ("named", name), ("out", name or None)."""

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
    strides = {
        stride_symbol(tensor.name, axis): call.layouts[tensor.name].strides[axis]
        for tensor in call.kernel.tensors
        for axis, stride in enumerate(tensor.strides)
        if stride is None
    }
    try:
        shape = program.shape(call.sizes, strides, pointers, call.scalars)
    except LaunchRefused as error:
        raise CallError(
            "TG0819", str(error), helps=("pass arrays and sizes that keep it, or choose another schedule",)
        ) from None
    if shape is None:
        return None
    assert call.device is not None
    formats, values = _parameters(program, shape, call, strides, offsets)
    kernel = load(program, shape.entry, formats)
    config = launch_config(shape)
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
            case "scratch":
                formats.append(POINTER)
                values.append(0)  # every launch has its own
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


def scan(
    types: Mapping[str, str],
    schedule: ScheduleSpec | None,
    positional: Sequence[Any],
    named: Mapping[str, Any],
    out: Any,
) -> tuple[object, list[int]] | None:
    """What a prepared launch is kept under, and the addresses of the arrays in order; None if there is no cheap key."""
    parts: list[object] = [schedule and schedule.name, len(positional)]
    addresses: list[int] = []
    try:
        for value in positional:
            described, address = _SCANS[type(value)](value)
            parts.append(described)
            addresses.append(address)
        if named:
            for name, value in named.items():
                look = _SCANS.get(type(value))
                if look is None:
                    # 0.0 equals -0.0, and both halves of a complex number may be either.
                    exact = value and isinstance(value, (int, float))
                    parts += (name, type(value), value if exact else repr(value))
                else:
                    described, address = look(value)
                    parts += (name, described)
                    addresses.append(address)
        if out is not None:
            for place, value in out.items() if isinstance(out, dict) else ((None, out),):
                described, address = _SCANS[type(value)](value)
                parts += (place, described)
                addresses.append(address)
        if types:
            parts.append(tuple(types.items()))
        key = tuple(parts)
        hash(key)
    except (KeyError, TypeError):
        return None
    return key, addresses


def _scan_cupy(array: Any) -> tuple[object, int]:
    memory = array.data
    address = memory.ptr
    return (array.dtype, array.shape, array.strides, address % _ALIGNMENT, memory.device_id), address


def _scan_torch(tensor: Any) -> tuple[object, int]:
    address = tensor.data_ptr()
    flags = tensor.requires_grad, tensor.is_conj(), tensor.is_neg(), tensor.layout
    place = tensor.device.type, tensor.device.index
    return (tensor.dtype, tensor.shape, tensor.stride(), address % _ALIGNMENT, place, flags), address


# Filled as arrays of a library are first seen, which shows that the caller has imported it.
_SCANS: dict[type, Callable[[Any], tuple[object, int]]] = {}


def _register(kind: ArrayKind, type_: type) -> bool:
    if kind is ArrayKind.CUPY:
        _SCANS[type_] = _scan_cupy
    elif kind is ArrayKind.TORCH:
        _SCANS[type_] = _scan_torch
    return type_ in _SCANS


@dataclass(frozen=True, slots=True)
class _Same:
    """A call in which every array has a place of its own: all inputs in order and one output. `arrays`: of each its
    class, data type, shape, strides, address modulo the alignment and device."""

    types: Mapping[str, str]
    schedule: ScheduleSpec | None
    arrays: tuple[tuple[Any, Any, Any, Any, int, int], ...]


@dataclass(slots=True)
class Prepared:
    """Arrays have numbers: those of the call in the order of `scan`, then those that `makers` allocate.

    `fixed` are the kernel's parameters with 0 for pointers, `pointers` (parameter, array, what to add). `apart` are
    pairs of arrays with the lowest and highest byte of each, counted from its address, that must not overlap.
    `outputs`: names, with the number of an array that is made or the place of one that was passed.
    """

    start: Callable[[Sequence[int | float], int | None], None]
    device: int
    fixed: tuple[int | float, ...]
    pointers: tuple[tuple[int, int, int], ...]
    apart: tuple[tuple[int, int, int, int, int, int], ...]
    makers: tuple[Callable[[], tuple[Any, int]], ...]
    outputs: tuple[tuple[str, int | Place], ...]
    torch: bool
    same: _Same | None

    def again(
        self,
        types: Mapping[str, str],
        schedule: ScheduleSpec | None,
        positional: Sequence[Any],
        named: Mapping[str, Any],
        out: Any,
    ) -> bool:
        """Launch if the call is like the last one to the letter, without looking for what is kept: False if it is not,
        or not of the plain kind (CuPy's arrays, inputs in order, one output given)."""
        same = self.same
        if same is None or named or same.schedule is not schedule or same.types is not types:
            return False
        arrays: tuple[Any, ...] = (*positional, out)
        if len(arrays) != len(same.arrays):
            return False
        values = list(self.fixed)
        addresses = []
        for number, (kind, dtype, shape, strides, low, device) in enumerate(same.arrays):
            array = arrays[number]
            if type(array) is not kind:
                return False
            memory = array.data
            address = memory.ptr
            if (
                address % _ALIGNMENT != low
                or array.dtype is not dtype
                or array.shape != shape
                or array.strides != strides
                or memory.device_id != device
            ):
                return False
            addresses.append(address)
        for a, a_low, a_high, b, b_low, b_high in self.apart:
            start, other = addresses[a], addresses[b]
            if start + a_low < other + b_high and other + b_low < start + a_high:
                return False
        for parameter, number, offset in self.pointers:
            values[parameter] = addresses[number] + offset
        self.start(values, None)
        return True

    def fits(self, addresses: list[int]) -> bool:
        """Whether no output that the caller passed may overlap another array; if not, the full way looks closer."""
        for a, a_low, a_high, b, b_low, b_high in self.apart:
            start, other = addresses[a], addresses[b]
            if start + a_low < other + b_high and other + b_low < start + a_high:
                return False
        return True

    def launch(
        self, addresses: list[int], positional: Sequence[Any], named: Mapping[str, Any], out: Any
    ) -> Any:
        """Launch and return what the call returns."""
        made = []
        for make in self.makers:
            array, address = make()
            made.append(array)
            addresses.append(address)
        values = list(self.fixed)
        for parameter, number, offset in self.pointers:
            values[parameter] = addresses[number] + offset
        stream = None
        if self.torch:
            stream = sys.modules["torch"].cuda.current_stream(self.device).cuda_stream
        self.start(values, stream)
        if len(self.outputs) == 1:
            place = self.outputs[0][1]
            return made[place] if isinstance(place, int) else _find(place, positional, named, out)
        return {
            name: made[place] if isinstance(place, int) else _find(place, positional, named, out)
            for name, place in self.outputs
        }


def _find(place: Place, positional: Sequence[Any], named: Mapping[str, Any], out: Any) -> Any:
    where, which = place
    if where == "args":
        return positional[which]
    if where == "named":
        return named[which]
    return out if which is None else out[which]


def register(call: Call) -> bool:
    """Let `scan` know the arrays of `call`; False for kinds that always go the full way."""
    return all(
        p.form is not Form.FIELDS and _register(p.first.kind, type(p.value)) for p in call.passed.values()
    )


def prepare(
    ready: Ready,
    call: Call,
    types: Mapping[str, str],
    schedule: ScheduleSpec | None,
    addresses: list[int],
    positional: Sequence[Any],
    named: Mapping[str, Any],
    out: Any,
) -> Prepared | None:
    """What makes the next call of this shape short; None for arguments that always go the full way."""
    places = _places(call, positional, named, out)
    if len(addresses) != len(places):
        return None  # an array for a scalar, whose value is no part of the key, or one that is passed twice
    numbers = {name: number for number, name in enumerate(places)}
    makers: list[Callable[[], tuple[Any, int]]] = []
    for tensor in call.kernel.tensors:
        if tensor.name not in numbers:
            maker = _maker(call, tensor.name)
            if maker is None:
                return None
            numbers[tensor.name] = len(places) + len(makers)
            makers.append(maker)
    return Prepared(
        start=ready.kernel.launcher(ready.config, ready.device),
        device=ready.device,
        fixed=tuple(0 if isinstance(v, tuple) else v for v in ready.values),
        pointers=tuple((n, numbers[v[0]], v[1]) for n, v in enumerate(ready.values) if isinstance(v, tuple)),
        apart=_apart(call, [name for name in places]),
        makers=tuple(makers),
        outputs=tuple(
            (p.tensor.name, places.get(p.tensor.name, numbers[p.tensor.name] - len(places)))
            for p in call.written
        ),
        torch=any(p.first.kind is ArrayKind.TORCH for p in call.passed.values()),
        same=_same(types, schedule, call, positional, named, out) if not makers else None,
    )


def _same(
    types: Mapping[str, str],
    schedule: ScheduleSpec | None,
    call: Call,
    positional: Sequence[Any],
    named: Mapping[str, Any],
    out: Any,
) -> _Same | None:
    values = (*positional, out)
    plain = all(p.first.kind is ArrayKind.CUPY for p in call.passed.values())
    if named or not plain or out is None or isinstance(out, dict) or len(values) != len(call.passed):
        return None
    seen = tuple(
        (type(v), v.dtype, v.shape, v.strides, v.data.ptr % _ALIGNMENT, v.data.device_id) for v in values
    )
    return _Same(types, schedule, seen)


def _places(call: Call, positional: Sequence[Any], named: Mapping[str, Any], out: Any) -> dict[str, Place]:
    """Where the call has the array of each tensor, in the order of `scan`."""
    inputs = [t.name for t in call.kernel.tensors if t.role is not Role.OUT]
    places: dict[str, Place] = {name: ("args", n) for n, name in enumerate(inputs[: len(positional)])}
    places |= {name: ("named", name) for name in named if name in inputs}
    if isinstance(out, dict):
        places |= {name: ("out", name) for name in out}
    elif out is not None:
        name = next(p.tensor.name for p in call.written)
        places |= {name: ("out", None)}
    return places


def _apart(call: Call, names: list[str]) -> tuple[tuple[int, int, int, int, int, int], ...]:
    reach = {}
    for name in names:
        view = call.passed[name].first
        low, high = view.extent
        reach[name] = low - view.pointer, high - view.pointer
    written = {p.tensor.name for p in call.written}
    return tuple(
        (a, *reach[names[a]], b, *reach[names[b]])
        for a in range(len(names))
        for b in range(len(names))
        if a != b and names[a] in written and (b > a or names[b] not in written)
    )


def _maker(call: Call, name: str) -> Callable[[], tuple[Any, int]] | None:
    """Allocates an output as the first call did; None where that takes more than one plain allocation."""
    passed, placed = call.passed[name], call.layouts[name]
    tensor = passed.tensor
    plain = passed.form is Form.PLAIN and placed.offset == 0 and (tensor.align or 1) <= _ALIGNMENT
    if not plain or placed.strides != dense_strides(placed.extents) or not writes_all(call.kernel, tensor):
        return None
    array = passed.first
    extents = placed.extents
    if array.kind is ArrayKind.TORCH:

        def make_torch() -> tuple[Any, int]:
            made = empty(array.kind, extents, array.element, array.device)
            return made, made.data_ptr()

        return make_torch
    import cupy

    dtype, current = passed.value.dtype, cupy.cuda.runtime.getDevice

    def make_cupy() -> tuple[Any, int]:
        if current() == array.device:
            made = cupy.empty(extents, dtype)
        else:
            made = empty(array.kind, extents, array.element, array.device)
        return made, made.data.ptr

    return make_cupy
