"""`cvt`: conversions between PTX types, with rounding modes and saturation, as functions of NumPy arrays.

Types are PTX names. f16 arrives as float16, bf16 and the 8-bit floats as their bit patterns.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tilegen.sim import floating

Array = npt.NDArray[Any]

ROUND_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
FLOATS = ("f16", "bf16", "f32", "f64")
EIGHT_BIT = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def widen(a: Array, kind: str) -> Array:
    """A float of any PTX type as float32, or float64 where it is one."""
    if kind == "bf16":
        return floating.bf16_to_f32(a)
    if kind == "f16":
        return np.asarray(a).astype(np.float32)
    return a


def narrow(a: Array, kind: str, mode: str = "rn") -> Array:
    """float32 or float64 rounded to a PTX float type; bf16 comes out as bits."""
    if mode in ("rn", "", "rna"):
        if kind == "bf16":
            return floating.f64_to_bf16(a) if a.dtype == np.float64 else floating.f32_to_bf16(a)
        return a.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind])
    if kind == "bf16":
        bits = a.astype(np.float32).view(np.uint32)
        lower = (bits & np.uint32(0xFFFF0000)).view(np.float32)
        up = np.where(lower != a, np.uint32(0x10000), np.uint32(0))
        outward = (mode == "rp") & (a > 0) | (mode == "rm") & (a < 0)
        chosen = (bits & np.uint32(0xFFFF0000)) + np.where(outward, up, np.uint32(0))
        return np.where(np.isnan(a), np.uint16(0x7FFF), (chosen >> np.uint32(16)).astype(np.uint16))
    target = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]
    if np.dtype(target).itemsize >= a.dtype.itemsize:
        return a.astype(target)
    return floating.directed(mode, a, target)


def float_to_integer(a: Array, mode: str, target: np.dtype[Any], from_f64: bool) -> Array:
    """Rounds to an integer, clamps to the target's range; NaN as the PTX manual's `cvt` says."""
    whole = ROUND_INTEGER[mode](a.astype(np.float64))
    info = np.iinfo(target)
    low, high = float(info.min), float(info.max)
    inside = (whole >= low) & (whole < high if info.bits == 64 else whole <= high)
    result = np.where(inside, whole, 0).astype(target)
    result = np.where(whole < low, target.type(info.min), result)
    result = np.where(~inside & (whole >= high), target.type(info.max), result)
    nan = np.isnan(whole)
    if nan.any():
        special = 1 << (info.bits - 1) if from_f64 or info.bits == 64 else 0
        bits = special - (1 << info.bits) if info.min < 0 and special else special
        result = np.where(nan, target.type(bits), result)
    return result


def integer_to_float(a: Array, kind: str, mode: str) -> Array:
    """An integer rounded once to a PTX float type."""
    if kind == "f64" and (a.dtype.itemsize < 8 or mode == "rn"):
        return a.astype(np.float64)
    if kind == "f32" and mode == "rn":
        return a.astype(np.float32)
    if a.dtype.itemsize < 8:
        return narrow(a.astype(np.float64), kind, mode)
    wide = a.astype(np.longdouble)
    if np.finfo(np.longdouble).nmant < 63:
        raise NotImplementedError("64-bit integer to float with a directed rounding needs 80-bit floats")
    if mode != "rn" and kind in ("f32", "f64"):
        return floating.directed(mode, wide, np.float32 if kind == "f32" else np.float64)
    near = wide.astype(np.float64)
    error = (wide - near.astype(np.longdouble)).astype(np.float64)
    return narrow(floating.round_to_odd(near, error), kind, mode)


def saturate_integer(a: Array, target: np.dtype[Any]) -> Array:
    """`cvt.sat` between integer types."""
    info = np.iinfo(target)
    if a.dtype.kind == "u":
        return np.asarray(np.minimum(a, a.dtype.type(min(info.max, np.iinfo(a.dtype).max))).astype(target))
    source = np.iinfo(a.dtype)
    low, high = max(info.min, source.min), min(info.max, source.max)
    return np.asarray(np.clip(a, a.dtype.type(low), a.dtype.type(high)).astype(target))


def to_eight_bit(a: Array, kind: str) -> Array:
    """float32 to e4m3 or e5m2 bits, to nearest even, saturating to the largest finite value (`satfinite`)."""
    target = EIGHT_BIT[kind]
    limit = np.float32(ml_dtypes.finfo(target).max)
    clamped = np.clip(a.astype(np.float32), -limit, limit)
    bits = np.asarray(clamped.astype(target)).view(np.uint8)
    return np.where(np.isnan(a), np.uint8(0x7F), bits).astype(np.uint16)


def from_eight_bit(bits: Array, kind: str) -> Array:
    """Bits of e4m3 or e5m2 as float32."""
    return np.asarray(np.ascontiguousarray(bits.astype(np.uint8)).view(EIGHT_BIT[kind]).astype(np.float32))
