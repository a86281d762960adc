"""Scalar arguments: Python or NumPy numbers that the declared type holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tilegen.dtypes import DType, Kind, complex_part, largest, overflows
from tilegen.errors import CallError, CallTypeError
from tilegen.lang.spec import Kernel

Number = int | float | complex | bool


def scalar_values(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, Number]:
    """The value of every scalar parameter. Raises CallError TG0810, TG0818."""
    values: dict[str, Number] = {}
    for scalar in kernel.scalars:
        value = given.get(scalar.name, scalar.default)
        if scalar.name in given and value is None:
            raise CallTypeError(
                "TG0818",
                f"the scalar `{scalar.name}` is None, and it takes a number: {scalar.dtype}",
                helps=(
                    "pass a number"
                    if scalar.default is None
                    else f"pass a number, or leave it out: it is {scalar.default} then",
                ),
            )
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
            "TG0818",
            f"the scalar `{name}` is a {type(value).__name__}, and it takes a number: {dtype}",
            helps=("pass a Python or NumPy number",),
        )
    match dtype.kind:
        case Kind.BOOL:
            if plain in (0, 1):
                return bool(plain)
        case Kind.INT | Kind.UINT:
            return _integer(name, plain, dtype)
        case Kind.FLOAT:
            if not isinstance(plain, complex):
                return _float(name, plain, dtype)
        case Kind.COMPLEX:
            return complex(
                _float(name, plain.real, complex_part(dtype)), _float(name, plain.imag, complex_part(dtype))
            )
    wanted = "`True` or `False`" if dtype.kind is Kind.BOOL else "a real number"
    raise CallError(
        "TG0818", f"the scalar `{name}` is {plain!r}, and it takes {dtype}", helps=(f"pass {wanted}",)
    )


def _integer(name: str, value: Number, dtype: DType) -> int:
    if isinstance(value, complex) or value != value or not math.isfinite(value) or int(value) != value:
        raise CallError(
            "TG0818",
            f"the scalar `{name}` is {value!r}, and it takes an integer: {dtype}",
            helps=("pass an integer: `int(…)`",),
        )
    bits = 8 * dtype.size
    low, high = (0, (1 << bits) - 1) if dtype.kind is Kind.UINT else (-(1 << bits - 1), (1 << bits - 1) - 1)
    if not low <= int(value) <= high:
        raise CallError(
            "TG0818",
            f"the scalar `{name}` is {value}, and {dtype} holds {low} to {high}",
            helps=(f"pass a number that {dtype} holds, or declare the scalar with a wider type",),
        )
    return int(value)


def _float(name: str, value: int | float | bool, dtype: DType) -> float:
    """Rounded by whoever stores it; a finite number that would become infinite is refused."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if overflows(value, dtype) or number == math.inf != value:
        raise CallError(
            "TG0818",
            f"the scalar `{name}` is {number if number != math.inf else 'too large for a float'}, "
            f"and the largest {dtype} is {largest(dtype):g}",
            helps=("pass a smaller number, or `float('inf')` where that is meant",),
        )
    return number
