"""From a PTX instruction without memory or control effects to a function of arrays.

`decode` gives an `Alu`: which operands are read and written, as which NumPy types, and a function from the one to
the other. What it does not know it refuses with `UnsupportedInstruction`; modifiers are checked too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import conversion, floating, integer
from tilegen.sim.counters import population_count
from tilegen.sim.faults import UnsupportedInstruction
from tilegen.sim.ptx import Discard, Immediate, Instruction, Operand, Pair, Register, Vector

Array = npt.NDArray[Any]
Function = Callable[..., Any]

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in {
        "pred": "?", "b8": "u1", "u8": "u1", "s8": "i1", "b16": "u2", "u16": "u2", "s16": "i2", "b32": "u4",
        "u32": "u4", "s32": "i4", "b64": "u8", "u64": "u8", "s64": "i8", "f16": "f2", "bf16": "u2", "f32": "f4",
        "f64": "f8", "f16x2": "u4", "bf16x2": "u4", "e4m3x2": "u2", "e5m2x2": "u2",
    }.items()
}  # fmt: skip
CARRY = Register("%cc")
_U32 = DTYPES["u32"]
_BOOL = DTYPES["pred"]


@dataclass(frozen=True, slots=True)
class Alu:
    """`function(*sources)` gives one array, or a tuple where there are several destinations.

    `direct` says that the function is a ufunc that may write into the destination through `out=`.
    """

    function: Function
    sources: tuple[tuple[Operand, np.dtype[Any]], ...]
    destinations: tuple[tuple[Operand, np.dtype[Any]], ...]
    direct: bool = False


class _Unknown(Exception):
    """The instruction is not in the repertoire."""


def decode(instruction: Instruction) -> Alu:
    """The meaning of an arithmetic, logic, comparison, conversion or move instruction."""
    handler = _HANDLERS.get(instruction.parts[0])
    if handler is None:
        raise UnsupportedInstruction(instruction.text, instruction.ptx_line, instruction.line)
    try:
        return handler(instruction.parts, instruction.operands)
    except (_Unknown, KeyError, IndexError) as error:
        reason = str(error) if isinstance(error, _Unknown) else ""
        raise UnsupportedInstruction(
            instruction.text, instruction.ptx_line, instruction.line, reason
        ) from error


def _check(parts: tuple[str, ...], allowed: set[str]) -> None:
    for part in parts:
        if part not in allowed:
            raise _Unknown(f"modifier .{part}")


def _simple(
    function: Function, kind: np.dtype[Any], operands: tuple[Operand, ...], direct: bool = True
) -> Alu:
    return Alu(function, tuple((one, kind) for one in operands[1:]), ((operands[0], kind),), direct)


def _to_float(function: Function, kind: str) -> Function:
    """Lifts a function of float32 arrays to f16, bf16 and their packed pairs."""
    if kind == "f16":
        return lambda *args: conversion.narrow(function(*(a.astype(np.float32) for a in args)), "f16")
    if kind == "bf16":
        return lambda *args: conversion.narrow(function(*map(floating.bf16_to_f32, args)), "bf16")
    scalar = kind.removesuffix("x2")
    inner = _to_float(function, scalar)
    return lambda *args: _join(inner(*(_halves(a, scalar) for a in args)))


def _halves(a: Array, scalar: str) -> Array:
    """A packed register as its two halves along a new last axis."""
    return np.ascontiguousarray(np.asarray(a)[..., None]).view(DTYPES[scalar])


def _join(halves: Array) -> Array:
    return np.ascontiguousarray(halves).view(np.uint32)[..., 0]


def _wrapped(function: Function, parts: tuple[str, ...]) -> Function:
    """Adds `.ftz` and `.sat` to a function of floats."""
    ftz, sat = "ftz" in parts, "sat" in parts
    if not (ftz or sat):
        return function

    def wrapped(*args: Array) -> Array:
        result = function(*map(floating.flush, args)) if ftz else function(*args)
        if ftz:
            result = floating.flush(result)
        return floating.saturate(result) if sat else result

    return wrapped


_ROUNDING = {"rn", "rz", "rm", "rp"}


def _rounding(parts: tuple[str, ...]) -> str:
    return next((part for part in parts if part in _ROUNDING), "rn")


def _add_sub(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    ufunc = np.add if parts[0] == "add" else np.subtract
    if kind[0] in "us" or kind == "b32":
        if parts[1:-1] == ("cc",) or parts[0].endswith("c"):
            return _carry(parts, operands)
        if parts[1:-1] == ("sat",):
            return _simple(lambda a, b: np.clip(
                ufunc(a, b, dtype=np.int64), -(2**31), 2**31 - 1).astype(np.int32), DTYPES[kind], operands, False)
        _check(parts[1:-1], set())
        return _simple(ufunc, DTYPES[kind], operands)
    return _float_binary(ufunc, parts, operands)


def _float_binary(ufunc: Any, parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind, mode, name = parts[-1], _rounding(parts), parts[0]
    _check(parts[1:-1], _ROUNDING | {"ftz", "sat"})
    if kind in ("f32", "f64"):
        if mode == "rn":
            function = _wrapped(ufunc, parts)
            return _simple(function, DTYPES[kind], operands, function is ufunc)
        if kind == "f64":
            return _simple(lambda a, b: floating.exact_op64(name, mode, a, b), DTYPES[kind], operands, False)
        one = np.float32(1)
        if name == "mul":
            directed: Function = lambda a, b: floating.fma32_directed(mode, a, b, np.float32(-0.0))  # noqa: E731
        elif name == "add":
            directed = lambda a, b: floating.fma32_directed(mode, a, one, b)  # noqa: E731
        else:
            directed = lambda a, b: floating.fma32_directed(mode, a, one, -b)  # noqa: E731
        return _simple(_wrapped(directed, parts), DTYPES[kind], operands, False)
    return _simple(_to_float(_wrapped(ufunc, parts), kind), DTYPES[kind], operands, False)


def _carry(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = integer.unsigned(DTYPES[parts[-1]])
    reads, writes = parts[0].endswith("c"), "cc" in parts
    _check(parts[1:-1], {"cc"})
    function = integer.add_carry if parts[0].startswith("add") else integer.subtract_borrow
    sources = [(one, kind) for one in operands[1:]] + ([(CARRY, _BOOL)] if reads else [])
    destinations = ((operands[0], kind), (CARRY if writes else Discard(), _BOOL))

    def apply(a: Array, b: Array, carry: Array | None = None) -> tuple[Array, Array]:
        return function(a, b, carry)

    return Alu(apply, tuple(sources), destinations)


def _mul(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    if kind[0] not in "us":
        return _float_binary(np.multiply, parts, operands)
    dtype, mode = DTYPES[kind], parts[1]
    _check(parts[1:-1], {"lo", "hi", "wide"})
    if mode == "lo":
        return _simple(np.multiply, dtype, operands)
    if mode == "hi":
        return _simple(integer.multiply_high, dtype, operands, False)
    wide = np.dtype(f"{dtype.kind}{dtype.itemsize * 2}")
    return Alu(
        lambda a, b: np.multiply(a, b, dtype=wide),
        tuple((one, dtype) for one in operands[1:]),
        ((operands[0], wide),),
    )


def _mad(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    if kind[0] not in "us":
        return _fma(parts, operands)
    dtype, mode = DTYPES[kind], parts[1]
    _check(parts[1:-1], {"lo", "hi", "wide", "cc"})
    if parts[0] == "madc" or "cc" in parts:
        plain = integer.unsigned(dtype)

        def carried(a: Array, b: Array, c: Array, carry: Array | None = None) -> tuple[Array, Array]:
            part = a * b if mode == "lo" else integer.multiply_high(a, b).astype(plain)
            return integer.add_carry(part.astype(plain), c.astype(plain), carry)

        sources = [(one, dtype) for one in operands[1:]]
        if parts[0] == "madc":
            sources.append((CARRY, _BOOL))
        return Alu(
            carried, tuple(sources), ((operands[0], plain), (CARRY if "cc" in parts else Discard(), _BOOL))
        )
    if mode == "lo":
        return _simple(lambda a, b, c: a * b + c, dtype, operands, False)
    if mode == "hi":
        return _simple(lambda a, b, c: integer.multiply_high(a, b) + c, dtype, operands, False)
    wide = np.dtype(f"{dtype.kind}{dtype.itemsize * 2}")
    return Alu(
        lambda a, b, c: np.multiply(a, b, dtype=wide) + c,
        ((operands[1], dtype), (operands[2], dtype), (operands[3], wide)),
        ((operands[0], wide),),
    )


def _fma(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind, mode = parts[-1], _rounding(parts)
    _check(parts[1:-1], _ROUNDING | {"ftz", "sat"})
    function: Function
    if kind == "f32":
        if mode == "rn":
            function = floating.fma32
        else:
            function = lambda a, b, c: floating.fma32_directed(mode, a, b, c)  # noqa: E731
    elif kind == "f64" and mode == "rn":
        function = floating.fma64
    elif kind.startswith(("f16", "bf16")):
        scalar = kind.removesuffix("x2")

        def narrow_fma(a: Array, b: Array, c: Array) -> Array:
            exact = floating.fma_to_odd(*(conversion.widen(one, scalar) for one in (a, b, c)))
            return conversion.narrow(exact, scalar)

        function = narrow_fma
        if kind.endswith("x2"):
            function = lambda *args: _join(narrow_fma(*(_halves(a, scalar) for a in args)))  # noqa: E731
        if "sat" in parts or "ftz" in parts:
            raise _Unknown("half precision with .ftz or .sat")
        return _simple(function, DTYPES[kind], operands, False)
    else:
        raise _Unknown("rounding mode")
    return _simple(_wrapped(function, parts), DTYPES[kind], operands, False)


def _mul24(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    _check(parts[1:-1], {"lo"})
    if parts[0] == "mad24":
        return _simple(lambda a, b, c: integer.multiply_24(a, b) + c, DTYPES[parts[-1]], operands, False)
    return _simple(integer.multiply_24, DTYPES[parts[-1]], operands, False)


def _div_rem(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    if kind[0] in "us":
        _check(parts[1:-1], set())
        function = integer.divide if parts[0] == "div" else integer.remainder
        return _simple(function, DTYPES[kind], operands, False)
    _check(parts[1:-1], {"rn", "approx", "full", "ftz"})
    return _simple(_wrapped(np.divide, parts), DTYPES[kind], operands, "ftz" not in parts)


def _unary_float(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    """rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh."""
    kind, name = parts[-1], parts[0]
    _check(parts[1:-1], {"rn", "approx", "ftz"})
    if "rn" in parts:
        exact = {"sqrt": np.sqrt, "rcp": lambda a: a.dtype.type(1) / a}[name]
        return _simple(_wrapped(exact, parts), DTYPES[kind], operands, False)
    function: Function = lambda a: floating.approximate(name, a)  # noqa: E731
    if kind not in ("f32", "f64"):
        return _simple(_to_float(function, kind), DTYPES[kind], operands, False)
    return _simple(_wrapped(function, parts), DTYPES[kind], operands, False)


def _abs_neg(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    _check(parts[1:-1], {"ftz"})
    ufunc = np.abs if parts[0] == "abs" else np.negative
    if kind.startswith(("bf16", "f16x2")):
        dtype = DTYPES[kind]
        sign = dtype.type(0x80008000 if kind.endswith("x2") else 0x8000)
        if parts[0] == "abs":
            return _simple(lambda a: a & ~sign, dtype, operands, False)
        return _simple(lambda a: a ^ sign, dtype, operands, False)
    function = _wrapped(ufunc, parts)
    return _simple(function, DTYPES[kind], operands, function is ufunc)


def _min_max(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind, least = parts[-1], parts[0] == "min"
    if kind[0] in "us" and not kind.endswith("x2"):
        _check(parts[1:-1], {"relu"} if kind == "s32" else set())
        ufunc = np.minimum if least else np.maximum
        if "relu" in parts:
            return _simple(lambda a, b: np.maximum(ufunc(a, b), 0), DTYPES[kind], operands, False)
        return _simple(ufunc, DTYPES[kind], operands)
    _check(parts[1:-1], {"NaN", "ftz"})
    if "NaN" in parts:
        function: Function = floating.minimum_nan if least else floating.maximum_nan
    else:
        function = floating.minimum if least else floating.maximum
    function = _wrapped(function, parts)
    if len(operands) == 4:
        two = function
        function = lambda a, b, c: two(two(a, b), c)  # noqa: E731
    if kind not in ("f32", "f64"):
        function = _to_float(function, kind)
    return _simple(function, DTYPES[kind], operands, False)


def _logic(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    ufunc = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}[parts[0]]
    _check(parts[1:-1], set())
    return _simple(ufunc, DTYPES[parts[-1]], operands)


def _cnot(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    return _simple(lambda a: (a == 0).astype(dtype), dtype, operands, False)


def _shift(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    _check(parts[1:-1], set())
    amount = operands[2]
    left = parts[0] == "shl"
    if isinstance(amount, Immediate) and 0 <= int(amount.value) < dtype.itemsize * 8:
        return _simple(np.left_shift if left else np.right_shift, dtype, operands)
    function = integer.shift_left if left else integer.shift_right
    return Alu(function, ((operands[1], dtype), (amount, _U32)), ((operands[0], dtype),))


def _count(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    function: Function
    match parts[0]:
        case "popc":
            function = lambda a: population_count(a).astype(np.uint32)  # noqa: E731
        case "clz":
            function = integer.count_leading_zeros
        case _:
            amount = "shiftamt" in parts
            _check(parts[1:-1], {"shiftamt"})
            function = lambda a: integer.bit_find(a, amount)  # noqa: E731
    return Alu(function, ((operands[1], dtype),), ((operands[0], _U32),))


def _brev(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    return _simple(integer.bit_reverse, DTYPES[parts[-1]], operands, False)


def _bit_field(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    _check(parts[1:-1], set())
    if parts[0] == "bfe":
        function: Function = integer.bit_field_extract
        sources = ((operands[1], dtype), (operands[2], _U32), (operands[3], _U32))
        return Alu(function, sources, ((operands[0], dtype),))
    kinds = (dtype, dtype, _U32, _U32)
    return Alu(
        integer.bit_field_insert, tuple(zip(operands[1:], kinds, strict=True)), ((operands[0], dtype),)
    )


def _lop3(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    table = operands[4]
    if parts[1:] != ("b32",) or not isinstance(table, Immediate):
        raise _Unknown("form of lop3")
    value = int(table.value)
    return Alu(
        lambda a, b, c: integer.lookup_3(a, b, c, value),
        tuple((one, _U32) for one in operands[1:4]),
        ((operands[0], _U32),),
    )


def _prmt(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    mode = parts[2] if len(parts) > 2 else ""
    _check(parts[1:], {"b32", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
    return _simple(lambda a, b, c: integer.permute(a, b, c, mode), _U32, operands, False)


def _shf(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    _check(parts[1:], {"l", "r", "wrap", "clamp", "b32"})
    left, wrap = "l" in parts, "wrap" in parts
    return _simple(lambda a, b, c: integer.funnel_shift(a, b, c, left, wrap), _U32, operands, False)


def _sad(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    return _simple(lambda a, b, c: c + np.where(a < b, b - a, a - b), DTYPES[parts[-1]], operands, False)


def _dp4a(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    _check(parts[1:], {"u32", "s32"})
    a_signed, b_signed = parts[1] == "s32", parts[2] == "s32"
    return _simple(lambda a, b, c: integer.dot_4(a, b, c, a_signed, b_signed), _U32, operands, False)


_COMPARE: dict[str, Function] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_UNORDERED: dict[str, Function] = {
    "equ": np.equal, "ltu": np.less, "leu": np.less_equal, "gtu": np.greater, "geu": np.greater_equal,
}  # fmt: skip


def comparison(name: str, kind: str) -> tuple[Function, bool]:
    """The comparison as a function of arrays, and whether it is a ufunc."""
    if kind[0] in "usb" and not kind.startswith("bf16"):
        return _COMPARE[name], True
    match name:
        case "num":
            return (lambda a, b: ~(np.isnan(a) | np.isnan(b))), False
        case "nan":
            return (lambda a, b: np.isnan(a) | np.isnan(b)), False
        case "ne":
            return (lambda a, b: np.not_equal(a, b) & ~(np.isnan(a) | np.isnan(b))), False
        case "neu":
            return np.not_equal, True
    if name in _UNORDERED:
        ordered = _UNORDERED[name]
        return (lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)), False
    return _COMPARE[name], True


_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _setp(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    rest = [part for part in parts[1:-1] if part != "ftz"]
    compare, direct = comparison(rest[0], kind)
    if "ftz" in parts:
        plain = compare
        compare, direct = (lambda a, b: plain(floating.flush(a), floating.flush(b))), False
    if kind in ("f16", "bf16"):
        narrow = compare
        compare, direct = (
            lambda a, b: narrow(conversion.widen(a, kind), conversion.widen(b, kind))
        ), False
    elif kind.endswith("x2"):
        raise _Unknown("packed comparison")
    dtype = DTYPES[kind]
    sources = [(operands[1], dtype), (operands[2], dtype)]
    target = operands[0]
    both = isinstance(target, Pair)
    first = target.first if isinstance(target, Pair) else target
    second: Operand = target.second if isinstance(target, Pair) else Discard()
    if len(rest) == 1:
        if not both:
            return Alu(compare, tuple(sources), ((first, _BOOL),), direct)
        alone = compare

        def pair(a: Array, b: Array) -> tuple[Array, Array]:
            result = alone(a, b)
            return result, ~result

        return Alu(pair, tuple(sources), ((first, _BOOL), (second, _BOOL)))
    combine = _COMBINE[rest[1]]
    _check(tuple(rest[2:]), set())
    test = compare

    def combined(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        result = test(a, b)
        return combine(result, c), combine(~result, c)

    return Alu(combined, (*sources, (operands[3], _BOOL)), ((first, _BOOL), (second, _BOOL)))


def _set(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    target, kind = parts[-2], parts[-1]
    rest = [part for part in parts[1:-2] if part != "ftz"]
    if len(rest) != 1 or kind.endswith("x2"):
        raise _Unknown("form of set")
    compare, _ = comparison(rest[0], kind)
    dtype = DTYPES[target]
    one = dtype.type(1.0) if target[0] == "f" else dtype.type(-1) if target[0] == "s" else ~dtype.type(0)
    if target == "bf16":
        one = dtype.type(0x3F80)
    flush = "ftz" in parts

    def apply(a: Array, b: Array) -> Array:
        a, b = (conversion.widen(one, kind) if kind in ("f16", "bf16") else one for one in (a, b))
        if flush:
            a, b = floating.flush(a), floating.flush(b)
        return np.where(compare(a, b), one, dtype.type(0))

    return Alu(apply, tuple((o, DTYPES[kind]) for o in operands[1:]), ((operands[0], dtype),))


def _selp(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    _check(parts[1:-1], set())
    return Alu(
        lambda a, b, p: np.where(p, a, b),
        ((operands[1], dtype), (operands[2], dtype), (operands[3], _BOOL)),
        ((operands[0], dtype),),
    )


def _slct(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype, test = DTYPES[parts[-2]], DTYPES[parts[-1]]
    return Alu(
        lambda a, b, c: np.where(c >= 0, a, b),
        ((operands[1], dtype), (operands[2], dtype), (operands[3], test)),
        ((operands[0], dtype),),
    )


def _copysign(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    return _simple(lambda a, b: np.copysign(b, a), DTYPES[parts[-1]], operands, False)


def _testp(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    tiny = 2.0**-126 if parts[-1] == "f32" else 2.0**-1022
    tests: dict[str, Function] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= tiny),
        "subnormal": lambda a: (np.abs(a) < tiny) & (a != 0),
    }
    return Alu(tests[parts[1]], ((operands[1], DTYPES[parts[-1]]),), ((operands[0], _BOOL),))


def copy(a: Any) -> Any:
    """A move; the machine recognises it and copies straight into the destination, converting as C would."""
    return a


def _mov(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    _check(parts[1:-1], set())
    target, source = operands
    if isinstance(target, Vector):
        items = target.items
        part = np.dtype(f"u{DTYPES[kind].itemsize // len(items)}")
        whole = np.dtype(f"u{DTYPES[kind].itemsize}")

        def unpack(a: Array) -> tuple[Array, ...]:
            return tuple(
                np.asarray(a >> whole.type(8 * part.itemsize * i)).astype(part) for i in range(len(items))
            )

        return Alu(unpack, ((source, whole),), tuple((item, part) for item in items))
    if isinstance(source, Vector):
        items = source.items
        part = np.dtype(f"u{DTYPES[kind].itemsize // len(items)}")
        whole = np.dtype(f"u{DTYPES[kind].itemsize}")

        def pack(*given: Array) -> Array:
            result = given[0].astype(whole)
            for index, value in enumerate(given[1:], 1):
                result = result | (value.astype(whole) << whole.type(8 * part.itemsize * index))
            return np.asarray(result)

        return Alu(pack, tuple((item, part) for item in items), ((target, whole),))
    return Alu(copy, ((source, DTYPES[kind]),), ((target, DTYPES[kind]),))


def _cvta(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    from tilegen.sim.memory import WINDOWS

    space = next(part for part in parts[1:] if part != "to")
    window = np.uint64(WINDOWS[space])
    kind = DTYPES[parts[-1]]
    if window == 0:
        return Alu(copy, ((operands[1], kind),), ((operands[0], kind),))
    # A null pointer stays null in either direction.
    if "to" in parts:
        return _simple(lambda a: np.where(a == 0, a, a - window), kind, operands, False)
    return _simple(lambda a: a + window, kind, operands, False)


def _cvt(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    if len(operands) == 3:
        return _cvt_pack(parts, operands)
    target, source = parts[-2], parts[-1]
    modifiers = parts[1:-2]
    _check(modifiers, {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "satfinite"})
    ftz, sat = "ftz" in modifiers, "sat" in modifiers
    mode = next((m for m in modifiers if m.startswith("r")), "rn")
    dtype = DTYPES[target]
    function: Function
    if source.startswith(("e4m3", "e5m2")):
        return _cvt_from_eight(parts, operands)
    if "satfinite" in modifiers:
        raise _Unknown("modifier .satfinite")
    if source in conversion.FLOATS and target in conversion.FLOATS:

        def float_to_float(a: Array) -> Array:
            a = conversion.widen(a, source)
            if ftz:
                a = floating.flush(a)
            if len(mode) == 3:
                a = conversion._ROUND_INTEGER[mode](a)
            if sat:
                a = floating.saturate(a)
            result = conversion.narrow(a, target, mode if len(mode) == 2 else "rn")
            return floating.flush(result) if ftz else result

        function = float_to_float
    elif source in conversion.FLOATS:

        def float_to_integer(a: Array) -> Array:
            wide = conversion.widen(a, source)
            return conversion.float_to_integer(floating.flush(wide) if ftz else wide, mode, dtype, source == "f64")

        function = float_to_integer
    elif target in conversion.FLOATS:

        def integer_to_float(a: Array) -> Array:
            result = conversion.integer_to_float(a, target, mode)
            return floating.saturate(result) if sat else result

        function = integer_to_float
    elif sat:
        function = lambda a: conversion.saturate_integer(a, dtype)  # noqa: E731
    else:
        function = copy
    return Alu(function, ((operands[1], DTYPES[source]),), ((operands[0], dtype),))


def _cvt_pack(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    """`cvt.rn.f16x2.f32 d, a, b`: a becomes the upper half."""
    target, source = parts[-2], parts[-1]
    _check(parts[1:-2], {"rn", "rz", "relu", "satfinite", "ftz"})
    if source != "f32":
        raise _Unknown("source type")
    scalar, mode, relu = target.removesuffix("x2"), _rounding(parts), "relu" in parts
    if scalar in conversion.EIGHT_BIT:

        def eight(a: Array, b: Array) -> Array:
            if relu:
                a, b = floating.maximum(a, np.float32(0)), floating.maximum(b, np.float32(0))
            upper = conversion.to_eight_bit(a, scalar) << np.uint16(8)
            return np.asarray(upper | conversion.to_eight_bit(b, scalar))

        return Alu(eight, ((operands[1], DTYPES["f32"]), (operands[2], DTYPES["f32"])), (
            (operands[0], DTYPES["u16"]),))
    if "satfinite" in parts:
        raise _Unknown("modifier .satfinite")

    def pack(a: Array, b: Array) -> Array:
        if relu:
            a, b = floating.maximum_nan(a, np.float32(0)), floating.maximum_nan(b, np.float32(0))
        upper, lower = (conversion.narrow(np.asarray(x), scalar, mode).view(np.uint16) for x in (a, b))
        return np.asarray((upper.astype(np.uint32) << np.uint32(16)) | lower)

    return Alu(pack, ((operands[1], DTYPES["f32"]), (operands[2], DTYPES["f32"])), ((operands[0], _U32),))


def _cvt_from_eight(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    target, source = parts[-2], parts[-1]
    if target != "f16x2":
        raise _Unknown("target type")
    scalar = source.removesuffix("x2")

    def unpack(a: Array) -> Array:
        low = conversion.from_eight_bit(a & np.uint16(255), scalar).astype(np.float16).view(np.uint16)
        high = conversion.from_eight_bit(a >> np.uint16(8), scalar).astype(np.float16).view(np.uint16)
        return np.asarray((high.astype(np.uint32) << np.uint32(16)) | low)

    return Alu(unpack, ((operands[1], DTYPES["u16"]),), ((operands[0], _U32),))


_HANDLERS: dict[str, Callable[[tuple[str, ...], tuple[Operand, ...]], Alu]] = {
    "add": _add_sub, "sub": _add_sub, "addc": _add_sub, "subc": _add_sub, "mul": _mul, "mad": _mad, "madc": _mad,
    "fma": _fma, "mul24": _mul24, "mad24": _mul24, "div": _div_rem, "rem": _div_rem, "rcp": _unary_float,
    "sqrt": _unary_float, "rsqrt": _unary_float, "ex2": _unary_float, "lg2": _unary_float, "sin": _unary_float,
    "cos": _unary_float, "tanh": _unary_float, "abs": _abs_neg, "neg": _abs_neg, "min": _min_max, "max": _min_max,
    "and": _logic, "or": _logic, "xor": _logic, "not": _logic, "cnot": _cnot, "shl": _shift, "shr": _shift,
    "popc": _count, "clz": _count, "bfind": _count, "brev": _brev, "bfe": _bit_field, "bfi": _bit_field,
    "lop3": _lop3, "prmt": _prmt, "shf": _shf, "sad": _sad, "dp4a": _dp4a, "setp": _setp, "set": _set,
    "selp": _selp, "slct": _slct, "copysign": _copysign, "testp": _testp, "mov": _mov, "cvta": _cvta, "cvt": _cvt,
}  # fmt: skip
