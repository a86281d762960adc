"""Decoders of logic, shifts, bit fields, moves and address conversions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim import integer
from tilegen.sim.alu import DTYPES, U32, Alu, Function, Handler, Unknown, check, copy, simple
from tilegen.sim.counters import population_count
from tilegen.sim.memory import RANK_SHIFT, WINDOWS
from tilegen.sim.ptx import Immediate, Operand, Register, Vector

Array = npt.NDArray[Any]


def _logic(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    ufunc = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}[parts[0]]
    check(parts[1:-1], set())
    return simple(ufunc, DTYPES[parts[-1]], operands)


def _cnot(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    return simple(lambda a: (a == 0).astype(dtype), dtype, operands, False)


def _shift(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    check(parts[1:-1], set())
    amount = operands[2]
    left = parts[0] == "shl"
    if isinstance(amount, Immediate) and 0 <= int(amount.value) < dtype.itemsize * 8:
        return simple(np.left_shift if left else np.right_shift, dtype, operands)
    function = integer.shift_left if left else integer.shift_right
    return Alu(function, ((operands[1], dtype), (amount, U32)), ((operands[0], dtype),))


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
            check(parts[1:-1], {"shiftamt"})
            function = lambda a: integer.bit_find(a, amount)  # noqa: E731
    return Alu(function, ((operands[1], dtype),), ((operands[0], U32),))


def _brev(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    return simple(integer.bit_reverse, DTYPES[parts[-1]], operands, False)


def _bit_field(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    dtype = DTYPES[parts[-1]]
    check(parts[1:-1], set())
    if parts[0] == "bfe":
        function: Function = integer.bit_field_extract
        sources = ((operands[1], dtype), (operands[2], U32), (operands[3], U32))
        return Alu(function, sources, ((operands[0], dtype),))
    kinds = (dtype, dtype, U32, U32)
    return Alu(
        integer.bit_field_insert, tuple(zip(operands[1:], kinds, strict=True)), ((operands[0], dtype),)
    )


def _lop3(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    table = operands[4]
    if parts[1:] != ("b32",) or not isinstance(table, Immediate):
        raise Unknown("form of lop3")
    value = int(table.value)
    return Alu(
        lambda a, b, c: integer.lookup_3(a, b, c, value),
        tuple((one, U32) for one in operands[1:4]),
        ((operands[0], U32),),
    )


def _prmt(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    mode = parts[2] if len(parts) > 2 else ""
    check(parts[1:], {"b32", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
    return simple(lambda a, b, c: integer.permute(a, b, c, mode), U32, operands, False)


def _shf(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    check(parts[1:], {"l", "r", "wrap", "clamp", "b32"})
    left, wrap = "l" in parts, "wrap" in parts
    return simple(lambda a, b, c: integer.funnel_shift(a, b, c, left, wrap), U32, operands, False)


def _sad(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    return simple(lambda a, b, c: c + np.where(a < b, b - a, a - b), DTYPES[parts[-1]], operands, False)


def _dp4a(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    check(parts[1:], {"u32", "s32"})
    a_signed, b_signed = parts[1] == "s32", parts[2] == "s32"
    return simple(lambda a, b, c: integer.dot_4(a, b, c, a_signed, b_signed), U32, operands, False)


def _mov(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    kind = parts[-1]
    check(parts[1:-1], set())
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

    space = next(part for part in parts[1:] if part != "to")
    window = np.uint64(WINDOWS[space])
    kind = DTYPES[parts[-1]]
    if window == 0:
        return Alu(copy, ((operands[1], kind),), ((operands[0], kind),))
    # A null pointer stays null in either direction.
    if "to" in parts:
        return simple(lambda a: np.where(a == 0, a, a - window), kind, operands, False)
    return simple(lambda a: a + window, kind, operands, False)


def _mapa(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    """The address of the same variable in the block of a rank: within the shared window, or generic."""
    check(parts[1:-1], {"shared_cluster"})
    kind = DTYPES[parts[-1]]
    # Without the rank of another block.
    within = kind.type(~(0xFF << RANK_SHIFT) & ((1 << 8 * kind.itemsize) - 1))
    shift = kind.type(RANK_SHIFT)

    def mapped(address: Array, rank: Array) -> Array:
        return np.asarray((address & within) | ((rank.astype(kind) + kind.type(1)) << shift))

    return Alu(mapped, ((operands[1], kind), (operands[2], U32)), ((operands[0], kind),))


def _getctarank(parts: tuple[str, ...], operands: tuple[Operand, ...]) -> Alu:
    check(parts[1:-1], {"shared_cluster"})
    kind = DTYPES[parts[-1]]

    def rank(address: Array, own: Array) -> Array:
        tag = (address >> kind.type(RANK_SHIFT) & kind.type(0xFF)).astype(np.uint32)
        return np.where(tag == 0, own, tag - np.uint32(1))

    sources = (operands[1], kind), (Register("%cluster_ctarank"), U32)
    return Alu(rank, sources, ((operands[0], U32),))


HANDLERS: dict[str, Handler] = {
    "and": _logic, "or": _logic, "xor": _logic, "not": _logic, "cnot": _cnot, "shl": _shift, "shr": _shift,
    "popc": _count, "clz": _count, "bfind": _count, "brev": _brev, "bfe": _bit_field, "bfi": _bit_field, "lop3":
    _lop3, "prmt": _prmt, "shf": _shf, "sad": _sad, "dp4a": _dp4a, "mov": _mov, "cvta": _cvta, "mapa":
    _mapa, "getctarank": _getctarank,
}  # fmt: skip
