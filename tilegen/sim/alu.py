"""What an arithmetic instruction does, as a function of arrays, and the parts its decoders share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import conversion, floating
from tilegen.sim.ptx import Negated, Operand, Register

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
U32 = DTYPES["u32"]
BOOL = DTYPES["pred"]


@dataclass(frozen=True, slots=True)
class Alu:
    """`function(*sources)` gives one array, or a tuple where there are several destinations.

    `direct` says that the function is a ufunc that may write into the destination through `out=`.
    """

    function: Function
    sources: tuple[tuple[Operand, np.dtype[Any]], ...]
    destinations: tuple[tuple[Operand, np.dtype[Any]], ...]
    direct: bool = False


def without_negations(alu: Alu) -> Alu:
    """The same with the function taking its negated sources as they are."""
    negated = [isinstance(one, Negated) for one, _ in alu.sources]
    if not any(negated):
        return alu
    plain = alu.function

    def function(*args: Any) -> Any:
        return plain(*(~a if flip else a for a, flip in zip(args, negated, strict=True)))

    sources = tuple((one.register if isinstance(one, Negated) else one, kind) for one, kind in alu.sources)
    return Alu(function, sources, alu.destinations)


Handler = Callable[[tuple[str, ...], tuple[Operand, ...]], Alu]


class Unknown(Exception):
    """The instruction is not in the repertoire."""


def check(parts: tuple[str, ...], allowed: set[str]) -> None:
    """Refuses modifiers other than those allowed."""
    for part in parts:
        if part not in allowed:
            raise Unknown(f"modifier .{part}")


def simple(
    function: Function, kind: np.dtype[Any], operands: tuple[Operand, ...], direct: bool = True
) -> Alu:
    """An `Alu` whose operands all have one type."""
    return Alu(function, tuple((one, kind) for one in operands[1:]), ((operands[0], kind),), direct)


def to_float(function: Function, kind: str) -> Function:
    """Lifts a function of float32 arrays to f16, bf16 and their packed pairs."""
    if kind == "f16":
        return lambda *args: conversion.narrow(function(*(a.astype(np.float32) for a in args)), "f16")
    if kind == "bf16":
        return lambda *args: conversion.narrow(function(*map(floating.bf16_to_f32, args)), "bf16")
    scalar = kind.removesuffix("x2")
    inner = to_float(function, scalar)
    return lambda *args: join(inner(*(halves(a, scalar) for a in args)))


def halves(a: Array, scalar: str) -> Array:
    """A packed register as its two halves along a new last axis."""
    return np.ascontiguousarray(np.asarray(a)[..., None]).view(DTYPES[scalar])


def join(halves: Array) -> Array:
    """The reverse of `halves`."""
    return np.ascontiguousarray(halves).view(np.uint32)[..., 0]


def wrapped(function: Function, parts: tuple[str, ...]) -> Function:
    """Adds `.ftz` and `.sat` to a function of floats."""
    ftz, sat = "ftz" in parts, "sat" in parts
    if not (ftz or sat):
        return function

    def modified(*args: Array) -> Array:
        result = function(*map(floating.flush, args)) if ftz else function(*args)
        if ftz:
            result = floating.flush(result)
        return floating.saturate(result) if sat else result

    return modified


ROUNDING = {"rn", "rz", "rm", "rp"}


def rounding(parts: tuple[str, ...]) -> str:
    """The rounding mode among the modifiers, `rn` where there is none."""
    return next((part for part in parts if part in ROUNDING), "rn")


def copy(a: Any) -> Any:
    """A move; the machine recognises it and copies straight into the destination, converting as C would."""
    return a
