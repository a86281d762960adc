"""Decoders of comparisons and selections."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import conversion, floating
from tilegen.sim.alu import BOOL, DTYPES, Alu, Function, Handler, Unknown, check
from tilegen.sim.ptx import Discard, Operand, Pair

Array = npt.NDArray[Any]


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
        compare, direct = (lambda a, b: narrow(conversion.widen(a, kind), conversion.widen(b, kind))), False
    elif kind.endswith("x2"):
        raise Unknown("packed comparison")
    dtype = DTYPES[kind]
    sources = [(operands[1], dtype), (operands[2], dtype)]
    target = operands[0]
    both = isinstance(target, Pair)
    first = target.first if isinstance(target, Pair) else target
    second: Operand = target.second if isinstance(target, Pair) else Discard()
    if len(rest) == 1:
        if not both:
            return Alu(compare, tuple(sources), ((first, BOOL),), direct)
        alone = compare

        def pair(a: Array, b: Array) -> tuple[Array, Array]:
            result = alone(a, b)
            return result, ~result

        return Alu(pair, tuple(sources), ((first, BOOL), (second, BOOL)))
    combine = _COMBINE[rest[1]]
    check(tuple(rest[2:]), set())
    test = compare

    def combined(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        result = test(a, b)
        return combine(result, c), combine(~result, c)

    return Alu(combined, (*sources, (operands[3], BOOL)), ((first, BOOL), (second, BOOL)))


def _set(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    target, kind = parts[-2], parts[-1]
    rest = [part for part in parts[1:-2] if part != "ftz"]
    if len(rest) != 1 or kind.endswith("x2"):
        raise Unknown("form of set")
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
        return np.asarray(np.where(compare(a, b), one, dtype.type(0)))

    return Alu(apply, tuple((o, DTYPES[kind]) for o in operands[1:]), ((operands[0], dtype),))


def _selp(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    check(parts[1:-1], set())
    return Alu(
        lambda a, b, p: np.where(p, a, b),
        ((operands[1], dtype), (operands[2], dtype), (operands[3], BOOL)),
        ((operands[0], dtype),),
    )


def _slct(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype, test = DTYPES[parts[-2]], DTYPES[parts[-1]]
    return Alu(
        lambda a, b, c: np.where(c >= 0, a, b),
        ((operands[1], dtype), (operands[2], dtype), (operands[3], test)),
        ((operands[0], dtype),),
    )


HANDLERS: dict[str, Handler] = {
    "setp": _setp, "set": _set, "selp": _selp, "slct": _slct,
}  # fmt: skip
