"""Integer and bit semantics as functions of NumPy arrays; every result wraps as PTX says."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.counters import population_count

Array = npt.NDArray[Any]


def unsigned(kind: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"u{kind.itemsize}")


def shift_left(a: Array, b: Array) -> Array:
    """`shl`: amounts of the width or more give 0."""
    width = a.dtype.itemsize * 8
    return np.asarray(np.where(b >= width, a.dtype.type(0), a << np.minimum(b, width - 1).astype(a.dtype)))


def shift_right(a: Array, b: Array) -> Array:
    """`shr`: amounts of the width or more give 0, or the sign."""
    width = a.dtype.itemsize * 8
    moved = a >> np.minimum(b, width - 1).astype(a.dtype)
    return np.asarray(moved if a.dtype.kind == "i" else np.where(b >= width, a.dtype.type(0), moved))


def multiply_high(a: Array, b: Array) -> Array:
    """The upper half of the double-width product."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{bits // 4}")
        return np.asarray((a.astype(wide) * b.astype(wide)) >> wide.type(bits)).astype(a.dtype)
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    x_low, x_high, y_low, y_high = x & low, x >> half, y & low, y >> half
    middle = x_high * y_low + ((x_low * y_low) >> half)
    other = x_low * y_high + (middle & low)
    high = x_high * y_high + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return np.asarray(high.astype(a.dtype))


def dot_product(a: Array, b: Array, c: Array, count: int, first: int) -> Array:
    """`dp4a` (`count` 4) and `dp2a` (2): `c` and the products of the `count` parts of `a` with the bytes of `b` from
    `first` on, 64 bits wide."""
    bits = 32 // count
    total = c.astype(np.int64)
    for n in range(count):
        total = total + _part(a, n * bits, bits) * _part(b, (first + n) * 8, 8)
    return np.asarray(total)


def _part(a: Array, position: int, bits: int) -> Array:
    """`bits` bits of `a`, extended as its type says."""
    part = (a.astype(np.int64) >> position) & ((1 << bits) - 1)
    return np.asarray(part - ((part >> (bits - 1)) << bits) if a.dtype.kind == "i" else part)


def multiply_24(a: Array, b: Array) -> Array:
    """`mul24.lo`: the low 32 bits of the product of the low 24 bits."""
    eight = a.dtype.type(8)
    return np.asarray(((a << eight) >> eight) * ((b << eight) >> eight))


def divide(a: Array, b: Array) -> Array:
    """Truncated quotient; division by zero gives all ones, as on the hardware."""
    if a.dtype.kind == "u":
        return np.where(b == 0, ~a.dtype.type(0), a // np.where(b == 0, a.dtype.type(1), b))
    plain = unsigned(a.dtype)
    x = np.abs(a).view(plain) if isinstance(a, np.ndarray) else np.abs(a).astype(plain)
    y = np.abs(b).astype(plain)
    quotient = (x // np.where(y == 0, plain.type(1), y)).astype(a.dtype)
    return np.where(b == 0, a.dtype.type(-1), np.where((a < 0) != (b < 0), -quotient, quotient))


def remainder(a: Array, b: Array) -> Array:
    """Remainder with the dividend's sign; by zero it is the dividend."""
    safe = np.where(b == 0, a.dtype.type(1), b)
    return np.where(b == 0, a, a - divide(a, safe) * safe)


def count_leading_zeros(a: Array) -> Array:
    """`clz` as uint32."""
    width = a.dtype.itemsize * 8
    filled = a.copy() if isinstance(a, np.ndarray) else a
    step = 1
    while step < width:
        filled = filled | (filled >> a.dtype.type(step))
        step *= 2
    return np.asarray(np.uint32(width) - population_count(filled).astype(np.uint32))


def bit_find(a: Array, shift_amount: bool) -> Array:
    """`bfind`: position of the most significant non-sign bit, 0xffffffff where there is none."""
    width = a.dtype.itemsize * 8
    value = np.where(a < 0, ~a, a).astype(unsigned(a.dtype)) if a.dtype.kind == "i" else a
    zeros = count_leading_zeros(value)
    found = zeros if shift_amount else np.uint32(width - 1) - zeros
    return np.where(value == 0, np.uint32(0xFFFFFFFF), found)


def bit_reverse(a: Array) -> Array:
    width = a.dtype.itemsize * 8
    kind = a.dtype.type
    result = a
    step = width // 2
    mask = (1 << width) - 1
    pattern = mask
    while step:
        pattern = (pattern ^ (pattern << step)) & mask
        result = ((result >> kind(step)) & kind(pattern)) | ((result & kind(pattern)) << kind(step))
        step //= 2
    return np.asarray(result)


def bit_field_extract(a: Array, position: Array, length: Array) -> Array:
    """`bfe`; `position` and `length` are taken modulo 256, bits past the end are the sign (or 0)."""
    width = a.dtype.itemsize * 8
    position, length = position & np.uint32(255), length & np.uint32(255)
    plain = unsigned(a.dtype)
    moved = shift_right(a, position)
    size = np.minimum(length, width)
    mask = shift_left(np.full(np.shape(moved), 1, dtype=plain), size) - plain.type(1)
    field = moved.astype(plain) & mask
    if a.dtype.kind == "u":
        return np.asarray(field)
    top = np.minimum(position.astype(np.int64) + length - 1, width - 1)
    sign = (shift_right(a, np.maximum(top, 0).astype(np.uint32)) & a.dtype.type(1)).astype(np.bool_)
    return np.asarray(np.where((length > 0) & sign, field | ~mask, field).astype(a.dtype))


def bit_field_insert(a: Array, b: Array, position: Array, length: Array) -> Array:
    """`bfi`: the low `length` bits of a placed in b at `position`."""
    position, length = position & np.uint32(255), length & np.uint32(255)
    width = b.dtype.itemsize * 8
    ones = shift_left(np.full(np.shape(b), 1, dtype=b.dtype), np.minimum(length, width)) - b.dtype.type(1)
    mask = shift_left(ones, position)
    return np.asarray((b & ~mask) | (shift_left(np.broadcast_to(a, np.shape(mask)), position) & mask))


def lookup_3(a: Array, b: Array, c: Array, table: int) -> Array:
    """`lop3`: bit i of `table` says what the inputs (a, b, c) = bits of i give."""
    result = np.zeros(np.broadcast(a, b, c).shape, dtype=np.uint32)
    for row in range(8):
        if table >> row & 1:
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
            result = result | term
    return result


def permute(a: Array, b: Array, control: Array, mode: str) -> Array:
    """`prmt`: picks four bytes out of the eight of (b, a)."""
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    result = np.zeros(np.broadcast(a, b, control).shape, dtype=np.uint32)
    selected = np.asarray(control).astype(np.int64)
    for index in range(4):
        low = selected & 3
        sign: Array | bool = False
        match mode:
            case "":
                pick = (selected >> (4 * index)) & 7
                sign = ((selected >> (4 * index)) & 8) != 0
            case "f4e":
                pick = low + index
            case "b4e":
                pick = (low - index) & 7
            case "rc8":
                pick = low
            case "ecl":
                pick = np.maximum(low, index)
            case "ecr":
                pick = np.minimum(low, index)
            case _:
                pick = (selected & 1) * 2 + (index & 1)
        byte = ((both >> (pick.astype(np.uint64) * np.uint64(8))) & np.uint64(255)).astype(np.uint32)
        replicated = np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0))
        result = result | (np.where(sign, replicated, byte) << np.uint32(8 * index))
    return result


def funnel_shift(a: Array, b: Array, amount: Array, left: bool, wrap: bool) -> Array:
    """`shf`: shifts the 64 bits (b, a); left gives the upper, right the lower word."""
    both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    count = (amount & np.uint32(31)) if wrap else np.minimum(amount, np.uint32(32))
    wide = np.asarray(count).astype(np.uint64)
    if left:
        return np.asarray(((both << wide) >> np.uint64(32)).astype(np.uint32))
    return np.asarray((both >> wide).astype(np.uint32))


def dot_4(a: Array, b: Array, c: Array, a_signed: bool, b_signed: bool) -> Array:
    """`dp4a`: c plus the dot product of four bytes."""
    total = np.asarray(c).astype(np.int64)
    for index in range(4):
        shift = np.uint32(8 * index)
        x = ((a >> shift) & np.uint32(255)).astype(np.uint8)
        y = ((b >> shift) & np.uint32(255)).astype(np.uint8)
        left = x.astype(np.int8).astype(np.int64) if a_signed else x.astype(np.int64)
        right = y.astype(np.int8).astype(np.int64) if b_signed else y.astype(np.int64)
        total = total + left * right
    return np.asarray(total.astype(np.uint32))


def add_carry(a: Array, b: Array, carry: Array | None) -> tuple[Array, Array]:
    """a + b (+ carry) and the carry out."""
    total = a + b
    out = total < a
    if carry is not None:
        more = total + carry.astype(total.dtype)
        out = out | (more < total)
        total = more
    return np.asarray(total), np.asarray(out)


def subtract_borrow(a: Array, b: Array, borrow: Array | None) -> tuple[Array, Array]:
    """a - b (- borrow) and the borrow out."""
    total = a - b
    out = a < b
    if borrow is not None:
        less = total - borrow.astype(total.dtype)
        out = out | (less > total)
        total = less
    return np.asarray(total), np.asarray(out)
