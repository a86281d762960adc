"""Input arrays of a case, the same for the same seed on every machine.

Pure movement gets index-coded values: each element tells which tensor and place it came from. Arithmetic gets normal
values. Gathered indices stay near the extents, a little outside too, as a boundary allows; so do the keys of a
histogram, near its bins.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tilegen.algebra import Expr, evaluate
from tilegen.core.nest.lets import inline_lets
from tilegen.dtypes import DType, Kind
from tilegen.families.histogram.nest import Match, histogram_of
from tilegen.lang.spec import Binary, BinaryOp, Fill, Kernel, Read, Role, Value, walk
from tilegen.numpy_types import Array, numpy_dtype
from tilegen.reference import is_movement

# Primes near the number of codes of a type: patterns of codes do not line up with tiles of a power of two.
_MODULUS = {
    "i8": 127,
    "u8": 251,
    "i16": 32749,
    "u16": 65521,
    "f8e4m3": 113,
    "f8e5m2": 113,
    "f16": 31741,
    "bf16": 32633,
    "f32": (1 << 24) - 3,
}


def moves_only(kernel: Kernel) -> bool:
    """Whether every assignment only chooses and copies elements."""
    return all(is_movement(a, kernel) for a in kernel.assigns)


def default_fill(kernel: Kernel) -> Fill:
    return Fill.INDEX if moves_only(kernel) else Fill.NORMAL


def make_inputs(kernel: Kernel, sizes: Mapping[str, int], fill: Fill, seed: int) -> dict[str, Array]:
    """One logical array per `in` and `inout` tensor."""
    gathers = index_tensors(kernel)
    keys = key_tensors(kernel, sizes) if fill is Fill.NORMAL else {}
    arrays: dict[str, Array] = {}
    start = 0
    for tensor in kernel.tensors:
        extents = tuple(int(evaluate(e, sizes)) for e in tensor.extents)
        if tensor.role is Role.OUT:
            continue
        generator = np.random.default_rng([seed, zlib.crc32(tensor.name.encode())])
        element = tensor.element
        if tensor.name in gathers and isinstance(element, DType):
            arrays[tensor.name] = _near(
                element, extents, 0, _reach(kernel, sizes, gathers[tensor.name]), generator
            )
            continue
        if tensor.name in keys and isinstance(element, DType) and element.is_integer:
            low, high = keys[tensor.name]
            arrays[tensor.name] = _near(element, extents, low, high, generator)
            start += int(np.prod(extents, dtype=np.int64))
            continue
        count = int(np.prod(extents, dtype=np.int64))
        if isinstance(element, DType):
            arrays[tensor.name] = _values(kernel, element, start + np.arange(count), fill, generator).reshape(
                extents
            )
            start += count
            continue
        array = np.zeros(extents, numpy_dtype(element))
        width = len(element.fields)
        for number, f in enumerate(element.fields):
            codes = start + np.arange(count) * width + number
            array[f.name] = _values(kernel, f.dtype, codes, fill, generator).reshape(extents)
        arrays[tensor.name] = array
        start += count * width
    return arrays


def index_tensors(kernel: Kernel) -> dict[str, frozenset[str]]:
    """Integer tensors whose elements are used as indices, with the tensors they index."""
    found: dict[str, set[str]] = {}
    for statement in kernel.statements:
        for node in walk(statement.value):
            if isinstance(node, Read):
                for index in node.indices:
                    if not isinstance(index, Expr):
                        for inner in _reads(index):
                            found.setdefault(inner.tensor, set()).add(node.tensor)
    return {name: frozenset(targets) for name, targets in found.items()}


def _reads(value: Value) -> list[Read]:
    return [node for node in walk(value) if isinstance(node, Read)]


def _reach(kernel: Kernel, sizes: Mapping[str, int], targets: frozenset[str]) -> int:
    return max(int(evaluate(e, sizes)) for name in targets for e in kernel.tensor(name).extents)


def key_tensors(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Tensors whose elements name the bins of a histogram, with the first and the last bin; bytes have all values."""
    _, closed = inline_lets(kernel)
    found = histogram_of(kernel, closed)
    keys: dict[str, tuple[int, int]] = {}
    for match in (t for t in found.terms if isinstance(t, Match)) if found is not None else ():
        axis, shift = match.axis, int(evaluate(match.shift, sizes))
        ends = [int(evaluate(e, sizes)) for e in (axis.lower, axis.upper)]
        low, high = sorted(match.sign * e + shift for e in ends)
        for read in _reads(match.key):
            byte = read.dtype.is_integer and read.dtype.size == 1
            keys[read.tensor] = (-128, 255) if byte else (low, high)
    return keys


def _near(
    dtype: DType, extents: tuple[int, ...], first: int, last: int, generator: np.random.Generator
) -> Array:
    """Integers from `first` to `last` and a little outside."""
    limits = np.iinfo(numpy_dtype(dtype)) if dtype.is_integer else np.iinfo(np.int8)
    low, high = max(first - 3, int(limits.min)), min(last + 3, int(limits.max))
    low = min(low, high)
    near = generator.integers(low, high, extents, endpoint=True).astype(numpy_dtype(dtype))
    if not dtype.is_integer:
        return near
    # Far outside as well: a boundary mode holds at any distance, and an index cut to 32 bits would fall inside.
    far = [
        n for n in (limits.min, limits.max, 2**31, 2**32 + 1, -(2**32) + 1) if limits.min <= n <= limits.max
    ]
    chosen = np.array(far, numpy_dtype(dtype))[generator.integers(0, len(far), extents)]
    return np.where(generator.random(extents) < 0.1, chosen, near)


def _values(kernel: Kernel, dtype: DType, codes: Array, fill: Fill, generator: np.random.Generator) -> Array:
    match fill:
        case Fill.INDEX:
            return index_coded(dtype, codes)
        case Fill.NORMAL:
            return _normal(kernel, dtype, codes.size, generator)
        case Fill.UNIFORM:
            return _uniform(kernel, dtype, codes.size, generator)
        case Fill.NAN if moves_only(kernel):
            raw = generator.integers(0, 256, codes.size * dtype.size, np.uint8)
            return raw.view(numpy_dtype(dtype))
        case Fill.NAN:
            return _special(kernel, dtype, codes.size, generator)


def index_coded(dtype: DType, codes: Array) -> Array:
    """Codes as elements: distinct as far as the type has room, finite, never zero."""
    kind = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL:
        return ((codes * 2654435761 >> 16) & 1).astype(kind)
    if dtype.kind is Kind.COMPLEX:
        return np.asarray(codes + 1 - 1j * (codes + 1.5)).astype(kind)
    return np.asarray(index_bits(dtype, codes).view(kind))


def index_bits(dtype: DType, codes: Any) -> Any:
    """The elements of `index_coded` for an integer or a float, as unsigned integers; `codes` may be on a device."""
    unsigned = np.dtype(f"u{dtype.size}")
    wrapped = codes % _MODULUS[dtype.name] + 1 if dtype.name in _MODULUS else codes + 1
    if dtype.kind is Kind.FLOAT and dtype.size < 4:
        # Bit patterns rather than numbers: a narrow float has far more of them than integers.
        return wrapped.astype(unsigned)
    return wrapped.astype(numpy_dtype(dtype)).view(unsigned)


def _normal(kernel: Kernel, dtype: DType, count: int, generator: np.random.Generator) -> Array:
    kind = numpy_dtype(dtype)
    match dtype.kind:
        case Kind.BOOL:
            return generator.integers(0, 2, count).astype(kind)
        case Kind.INT:
            return _nonzero(kernel, generator.integers(-60, 60, count, endpoint=True).astype(kind))
        case Kind.UINT:
            return _nonzero(kernel, generator.integers(0, 120, count, endpoint=True).astype(kind))
        case Kind.FLOAT:
            return generator.standard_normal(count).astype(kind)
        case Kind.COMPLEX:
            parts = generator.standard_normal(count) + 1j * generator.standard_normal(count)
            return np.asarray(parts).astype(kind)


def _uniform(kernel: Kernel, dtype: DType, count: int, generator: np.random.Generator) -> Array:
    kind = numpy_dtype(dtype)
    if dtype.is_integer:
        limits = np.iinfo(kind)
        return _nonzero(kernel, generator.integers(limits.min, limits.max, count, kind, endpoint=True))
    if dtype.kind is Kind.FLOAT:
        return generator.random(count).astype(kind)
    return _normal(kernel, dtype, count, generator)


def _special(kernel: Kernel, dtype: DType, count: int, generator: np.random.Generator) -> Array:
    """Normal values, every second one replaced by one that arithmetic treats apart."""
    if dtype.kind is Kind.BOOL:
        # Any byte but 0 is true.
        return generator.choice(np.array([0, 0, 1, 2, 255], np.uint8), count).view(numpy_dtype(dtype))
    values = _normal(kernel, dtype, count, generator)
    if dtype.kind is not Kind.FLOAT:
        return values
    special = [np.nan, 0.0, -0.0, 1.0, -1.0]
    if dtype.name != "f8e4m3":
        special += [np.inf, -np.inf]
    chosen = np.asarray(special)[generator.integers(0, len(special), count)].astype(values.dtype)
    return np.where(generator.random(count) < 0.5, values, chosen).astype(values.dtype)


def _nonzero(kernel: Kernel, values: Array) -> Array:
    """Without zeros where the kernel divides integers: what that gives is not specified."""
    divides = (BinaryOp.FLOOR_DIVIDE, BinaryOp.REMAINDER)
    for statement in kernel.statements:
        for node in walk(statement.value):
            if isinstance(node, Binary) and node.op in divides and node.dtype.is_integer:
                return np.where(values == 0, 1, values).astype(values.dtype)
    return values


def scalar_values(kernel: Kernel, given: Mapping[str, int | float | bool]) -> dict[str, int | float | bool]:
    """Every scalar parameter: as given, else its default, else a plain value of its type."""
    found: dict[str, int | float | bool] = {}
    for scalar in kernel.scalars:
        value = given.get(scalar.name, scalar.default)
        if value is None:
            value = True if scalar.dtype.kind is Kind.BOOL else 2 if scalar.dtype.is_integer else 1.5
        found[scalar.name] = value
    return found
