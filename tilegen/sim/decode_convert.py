"""Decoders of `cvt`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import conversion, floating
from tilegen.sim.alu import DTYPES, U32, Alu, Function, Handler, Unknown, check, copy, rounding
from tilegen.sim.ptx import Operand

Array = npt.NDArray[Any]


def _cvt(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    if len(operands) == 3:
        return _cvt_pack(parts, operands)
    target, source = parts[-2], parts[-1]
    modifiers = parts[1:-2]
    check(modifiers, {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "satfinite"})
    ftz, sat = "ftz" in modifiers, "sat" in modifiers
    mode = next((m for m in modifiers if m.startswith("r")), "rn")
    dtype = DTYPES[target]
    function: Function
    if source.startswith(("e4m3", "e5m2")):
        return _cvt_from_eight(parts, operands)
    if "satfinite" in modifiers:
        raise Unknown("modifier .satfinite")
    if source in conversion.FLOATS and target in conversion.FLOATS:

        def float_to_float(a: Array) -> Array:
            a = conversion.widen(a, source)
            if ftz:
                a = floating.flush(a)
            if len(mode) == 3:
                a = conversion.ROUND_INTEGER[mode](a)
            if sat:
                a = floating.saturate(a)
            result = conversion.narrow(a, target, mode if len(mode) == 2 else "rn")
            return floating.flush(result) if ftz else result

        function = float_to_float
    elif source in conversion.FLOATS:

        def float_to_integer(a: Array) -> Array:
            wide = conversion.widen(a, source)
            return conversion.float_to_integer(
                floating.flush(wide) if ftz else wide, mode, dtype, source == "f64"
            )

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
    check(parts[1:-2], {"rn", "rz", "relu", "satfinite", "ftz"})
    zero = np.zeros((), dtype=np.float32)
    if source != "f32":
        raise Unknown("source type")
    scalar, mode, relu = target.removesuffix("x2"), rounding(parts), "relu" in parts
    if scalar in conversion.EIGHT_BIT:

        def eight(a: Array, b: Array) -> Array:
            if relu:
                a, b = floating.maximum(a, zero), floating.maximum(b, zero)
            upper = conversion.to_eight_bit(a, scalar) << np.uint16(8)
            return np.asarray(upper | conversion.to_eight_bit(b, scalar))

        return Alu(
            eight,
            ((operands[1], DTYPES["f32"]), (operands[2], DTYPES["f32"])),
            ((operands[0], DTYPES["u16"]),),
        )
    if "satfinite" in parts:
        raise Unknown("modifier .satfinite")

    def pack(a: Array, b: Array) -> Array:
        if relu:
            a, b = floating.maximum_nan(a, zero), floating.maximum_nan(b, zero)
        upper, lower = (conversion.narrow(np.asarray(x), scalar, mode).view(np.uint16) for x in (a, b))
        return np.asarray((upper.astype(np.uint32) << np.uint32(16)) | lower)

    return Alu(pack, ((operands[1], DTYPES["f32"]), (operands[2], DTYPES["f32"])), ((operands[0], U32),))


def _cvt_from_eight(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    target, source = parts[-2], parts[-1]
    if target != "f16x2":
        raise Unknown("target type")
    scalar = source.removesuffix("x2")

    def unpack(a: Array) -> Array:
        low = conversion.from_eight_bit(a & np.uint16(255), scalar).astype(np.float16).view(np.uint16)
        high = conversion.from_eight_bit(a >> np.uint16(8), scalar).astype(np.float16).view(np.uint16)
        return np.asarray((high.astype(np.uint32) << np.uint32(16)) | low)

    return Alu(unpack, ((operands[1], DTYPES["u16"]),), ((operands[0], U32),))


HANDLERS: dict[str, Handler] = {"cvt": _cvt}
