"""Decoders of arithmetic on integers and floats."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import conversion, floating, integer
from tilegen.sim.alu import (
    BOOL,
    CARRY,
    DTYPES,
    ROUNDING,
    Alu,
    Function,
    Handler,
    Unknown,
    check,
    halves,
    join,
    rounding,
    simple,
    to_float,
    wrapped,
)
from tilegen.sim.ptx import Discard, Operand

Array = npt.NDArray[Any]


def _add_sub(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    ufunc = np.add if parts[0] == "add" else np.subtract
    if kind[0] in "us" or kind == "b32":
        if parts[1:-1] == ("cc",) or parts[0].endswith("c"):
            return _carry(parts, operands)
        if parts[1:-1] == ("sat",):
            return simple(
                lambda a, b: np.clip(ufunc(a, b, dtype=np.int64), -(2**31), 2**31 - 1).astype(np.int32),
                DTYPES[kind],
                operands,
                False,
            )
        check(parts[1:-1], set())
        return simple(ufunc, DTYPES[kind], operands)
    return _float_binary(ufunc, parts, operands)


def _float_binary(ufunc: Any, parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind, mode, name = parts[-1], rounding(parts), parts[0]
    check(parts[1:-1], ROUNDING | {"ftz", "sat"})
    if kind in ("f32", "f64"):
        if mode == "rn":
            function = wrapped(ufunc, parts)
            return simple(function, DTYPES[kind], operands, function is ufunc)
        if kind == "f64":
            return simple(lambda a, b: floating.exact_op64(name, mode, a, b), DTYPES[kind], operands, False)
        one, nothing = np.ones((), dtype=np.float32), np.asarray(-0.0, dtype=np.float32)
        if name == "mul":
            directed: Function = lambda a, b: floating.fma32_directed(mode, a, b, nothing)  # noqa: E731
        elif name == "add":
            directed = lambda a, b: floating.fma32_directed(mode, a, one, b)  # noqa: E731
        else:
            directed = lambda a, b: floating.fma32_directed(mode, a, one, -b)  # noqa: E731
        return simple(wrapped(directed, parts), DTYPES[kind], operands, False)
    return simple(to_float(wrapped(ufunc, parts), kind), DTYPES[kind], operands, False)


def _carry(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = integer.unsigned(DTYPES[parts[-1]])
    reads, writes = parts[0].endswith("c"), "cc" in parts
    check(parts[1:-1], {"cc"})
    function = integer.add_carry if parts[0].startswith("add") else integer.subtract_borrow
    sources = [(one, kind) for one in operands[1:]] + ([(CARRY, BOOL)] if reads else [])
    destinations = ((operands[0], kind), (CARRY if writes else Discard(), BOOL))

    def apply(a: Array, b: Array, carry: Array | None = None) -> tuple[Array, Array]:
        return function(a, b, carry)

    return Alu(apply, tuple(sources), destinations)


def _mul(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    if kind[0] not in "us":
        return _float_binary(np.multiply, parts, operands)
    dtype, mode = DTYPES[kind], parts[1]
    check(parts[1:-1], {"lo", "hi", "wide"})
    if mode == "lo":
        return simple(np.multiply, dtype, operands)
    if mode == "hi":
        return simple(integer.multiply_high, dtype, operands, False)
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
    check(parts[1:-1], {"lo", "hi", "wide", "cc"})
    if parts[0] == "madc" or "cc" in parts:
        plain = integer.unsigned(dtype)

        def carried(a: Array, b: Array, c: Array, carry: Array | None = None) -> tuple[Array, Array]:
            part = a * b if mode == "lo" else integer.multiply_high(a, b).astype(plain)
            return integer.add_carry(part.astype(plain), c.astype(plain), carry)

        sources = [(one, dtype) for one in operands[1:]]
        if parts[0] == "madc":
            sources.append((CARRY, BOOL))
        return Alu(
            carried, tuple(sources), ((operands[0], plain), (CARRY if "cc" in parts else Discard(), BOOL))
        )
    if mode == "lo":
        return simple(lambda a, b, c: a * b + c, dtype, operands, False)
    if mode == "hi":
        return simple(lambda a, b, c: integer.multiply_high(a, b) + c, dtype, operands, False)
    wide = np.dtype(f"{dtype.kind}{dtype.itemsize * 2}")
    return Alu(
        lambda a, b, c: np.multiply(a, b, dtype=wide) + c,
        ((operands[1], dtype), (operands[2], dtype), (operands[3], wide)),
        ((operands[0], wide),),
    )


def _dot(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    left, right = (DTYPES[kind] for kind in parts[-2:])
    count = 4 if parts[0] == "dp4a" else 2
    check(parts[1:-2], {"lo", "hi"} if count == 2 else set())
    kind = DTYPES["s32" if "i" in (left.kind, right.kind) else "u32"]
    first = 2 if "hi" in parts else 0
    return Alu(
        lambda a, b, c: integer.dot_product(a, b, c, count, first).astype(np.uint32).astype(kind),
        ((operands[1], left), (operands[2], right), (operands[3], kind)),
        ((operands[0], kind),),
    )


def _fma(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind, mode = parts[-1], rounding(parts)
    check(parts[1:-1], ROUNDING | {"ftz", "sat"})
    function: Function
    if kind == "f32":
        function = floating.fma32 if mode == "rn" else partial(floating.fma32_directed, mode)
    elif kind == "f64" and mode == "rn":
        function = floating.fma64
    elif kind.startswith(("f16", "bf16")):
        scalar = kind.removesuffix("x2")

        def narrow_fma(a: Array, b: Array, c: Array) -> Array:
            exact = floating.fma_to_odd(*(conversion.widen(one, scalar) for one in (a, b, c)))
            return conversion.narrow(exact, scalar)

        function = narrow_fma
        if kind.endswith("x2"):
            function = lambda *args: join(narrow_fma(*(halves(a, scalar) for a in args)))  # noqa: E731
        if "sat" in parts or "ftz" in parts:
            raise Unknown("half precision with .ftz or .sat")
        return simple(function, DTYPES[kind], operands, False)
    else:
        raise Unknown("rounding mode")
    return simple(wrapped(function, parts), DTYPES[kind], operands, False)


def _mul24(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    check(parts[1:-1], {"lo"})
    if parts[0] == "mad24":
        return simple(lambda a, b, c: integer.multiply_24(a, b) + c, DTYPES[parts[-1]], operands, False)
    return simple(integer.multiply_24, DTYPES[parts[-1]], operands, False)


def _div_rem(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    if kind[0] in "us":
        check(parts[1:-1], set())
        function = integer.divide if parts[0] == "div" else integer.remainder
        return simple(function, DTYPES[kind], operands, False)
    check(parts[1:-1], {"rn", "approx", "full", "ftz"})
    return simple(wrapped(np.divide, parts), DTYPES[kind], operands, "ftz" not in parts)


def _unary_float(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    """rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh."""
    kind, name = parts[-1], parts[0]
    check(parts[1:-1], {"rn", "approx", "ftz"})
    if "rn" in parts:
        rounded: dict[str, Function] = {"sqrt": np.sqrt, "rcp": lambda a: a.dtype.type(1) / a}
        return simple(wrapped(rounded[name], parts), DTYPES[kind], operands, False)
    function: Function = lambda a: floating.approximate(name, a)  # noqa: E731
    if kind not in ("f32", "f64"):
        return simple(to_float(function, kind), DTYPES[kind], operands, False)
    return simple(wrapped(function, parts), DTYPES[kind], operands, False)


def _abs_neg(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    check(parts[1:-1], {"ftz"})
    ufunc = np.abs if parts[0] == "abs" else np.negative
    if kind.startswith(("bf16", "f16x2")):
        dtype = DTYPES[kind]
        sign = dtype.type(0x80008000 if kind.endswith("x2") else 0x8000)
        if parts[0] == "abs":
            return simple(lambda a: a & ~sign, dtype, operands, False)
        return simple(lambda a: a ^ sign, dtype, operands, False)
    function = wrapped(ufunc, parts)
    return simple(function, DTYPES[kind], operands, function is ufunc)


def _min_max(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind, least = parts[-1], parts[0] == "min"
    if kind[0] in "us" and not kind.endswith("x2"):
        check(parts[1:-1], {"relu"} if kind == "s32" else set())
        ufunc = np.minimum if least else np.maximum
        if "relu" in parts:
            return simple(lambda a, b: np.maximum(ufunc(a, b), 0), DTYPES[kind], operands, False)
        return simple(ufunc, DTYPES[kind], operands)
    check(parts[1:-1], {"NaN", "ftz"})
    if "NaN" in parts:
        function: Function = floating.minimum_nan if least else floating.maximum_nan
    else:
        function = floating.minimum if least else floating.maximum
    function = wrapped(function, parts)
    if len(operands) == 4:
        two = function
        function = lambda a, b, c: two(two(a, b), c)  # noqa: E731
    if kind not in ("f32", "f64"):
        function = to_float(function, kind)
    return simple(function, DTYPES[kind], operands, False)


def _copysign(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    return simple(lambda a, b: np.copysign(b, a), DTYPES[parts[-1]], operands, False)


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
    return Alu(tests[parts[1]], ((operands[1], DTYPES[parts[-1]]),), ((operands[0], BOOL),))


HANDLERS: dict[str, Handler] = {
    "dp2a": _dot, "dp4a": _dot, "add": _add_sub, "sub": _add_sub, "addc": _add_sub, "subc": _add_sub,
    "mul": _mul, "mad": _mad, "madc": _mad, "fma": _fma, "mul24": _mul24, "mad24": _mul24, "div": _div_rem,
    "rem": _div_rem, "rcp": _unary_float, "sqrt": _unary_float, "rsqrt": _unary_float, "ex2": _unary_float,
    "lg2": _unary_float, "sin": _unary_float, "cos": _unary_float, "tanh": _unary_float, "abs": _abs_neg,
    "neg": _abs_neg, "min": _min_max, "max": _min_max, "copysign": _copysign, "testp": _testp,
}  # fmt: skip
