"""Scalar arguments: Python or NumPy numbers that the declared type holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tilegen.api.errors import CallError, CallTypeError
from tilegen.dtypes import DType, Kind
from tilegen.spec import Kernel

Number = int | float | complex | bool


def scalar_values(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Number]:
    """The value of every scalar parameter. Raises CallError TG0810, TG0818."""
    values: dict[str, Number] = {}
    for scalar in kernel.scalars:
        value = given.get(scalar.name, scalar.default)
        if value is None:
            raise CallError(
                "TG0810",
                f"kernel '{kernel.name}' needs the scalar `{scalar.name}`: {scalar.dtype}, which has no default",
                helps=(f"pass it by name: `{scalar.name}=…`",),
            )
        values[scalar.name] = _convert(scalar.name, value, scalar.dtype)
    return values


def _convert(name: str, value: Any, dtype: DType) -> Number:
    plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
    if not isinstance(plain, (bool, int, float, complex)):
        raise CallTypeError(
            "TG0818", f"the scalar `{name}` is a {type(value).__name__}, and it takes a number: {dtype}"
        )
    match dtype.kind:
        case Kind.BOOL:
            if plain in (0, 1):
                return bool(plain)
        case Kind.INT | Kind.UINT:
            return _integer(name, plain, dtype)
        case Kind.FLOAT:
            if not isinstance(plain, complex):
                return _float(name, plain)
        case Kind.COMPLEX:
            return complex(plain)
    raise CallError("TG0818", f"the scalar `{name}` is {plain!r}, and it takes {dtype}")


def _integer(name: str, value: Number, dtype: DType) -> int:
    if isinstance(value, complex) or value != value or not math.isfinite(value) or int(value) != value:
        raise CallError("TG0818", f"the scalar `{name}` is {value!r}, and it takes an integer: {dtype}")
    bits = 8 * dtype.size
    low, high = (0, (1 << bits) - 1) if dtype.kind is Kind.UINT else (-(1 << bits - 1), (1 << bits - 1) - 1)
    if not low <= int(value) <= high:
        raise CallError("TG0818", f"the scalar `{name}` is {value}, and {dtype} holds {low} to {high}")
    return int(value)


def _float(name: str, value: int | float | bool) -> float:
    try:
        return float(value)
    except OverflowError:
        raise CallError("TG0818", f"the scalar `{name}` is too large for a float") from None
