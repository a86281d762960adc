"""The named functions of LANGUAGE.md section 5: values in double precision, and how far a device may be off.

Units are maximum errors in ulp for single and double precision, from the tables "maximum ULP error" in the appendix on
mathematical functions of the CUDA C++ Programming Guide, the larger where editions differ; half an ulp of rounding is
added. What the tables lack (`sigmoid`, `gelu`, …) is bounded from the formula that a careful kernel uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilegen.dtypes import DType, Kind
from tilegen.numpy_types import Array
from tilegen.reference.erf import erf, erfc
from tilegen.reference.number import Number, bounded, distance, exact, format_of, scaled, unless_wrapped


@dataclass(frozen=True, slots=True)
class Function:
    """`single`, `double`: ulp beyond correct rounding, 0 for correctly rounded, None for exact.

    `slope`: bound on the derivative; None for a monotone or convex function, which is evaluated at both ends instead.
    """

    compute: Callable[..., Array]
    single: float | None
    double: float | None
    slope: float | None = None


def rsqrt(x: Array) -> Array:
    result: Array = 1 / np.sqrt(x)
    return result


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(−x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def silu(x: Array) -> Array:
    result: Array = x * sigmoid(x)
    return result


def gelu(x: Array) -> Array:
    """x Φ(x), the form with erf; erfc keeps the negative tail from cancelling."""
    result: Array = 0.5 * x * erfc(-x / np.sqrt(2.0))
    return result


def gelu_tanh(x: Array) -> Array:
    """x (1 + tanh z) / 2 with z = √(2/π) (x + 0.044715 x³), as x sigmoid(2 z), which does not cancel."""
    result: Array = x * sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x))
    return result


# A device's `round` is NumPy's: half to even.
_FUNCTIONS: dict[str, Function] = {
    "abs": Function(np.abs, None, None, 1),
    "exp": Function(np.exp, 2, 1),
    "exp2": Function(np.exp2, 2, 1),
    "log": Function(np.log, 1, 1),
    "log2": Function(np.log2, 1, 1),
    "log1p": Function(np.log1p, 1, 1),
    "expm1": Function(np.expm1, 1, 1),
    "sqrt": Function(np.sqrt, 0, 0),
    "rsqrt": Function(rsqrt, 2, 1),
    "sin": Function(np.sin, 2, 2, 1),
    "cos": Function(np.cos, 2, 2, 1),
    "tan": Function(np.tan, 4, 2),
    "tanh": Function(np.tanh, 2, 2),
    "sinh": Function(np.sinh, 3, 2),
    "cosh": Function(np.cosh, 2, 1),
    "asin": Function(np.arcsin, 4, 2),
    "acos": Function(np.arccos, 3, 2),
    "atan": Function(np.arctan, 2, 2),
    "erf": Function(erf, 2, 2),
    "erfc": Function(erfc, 6, 5),
    "floor": Function(np.floor, None, None),
    "ceil": Function(np.ceil, None, None),
    "round": Function(np.rint, None, None),
    "trunc": Function(np.trunc, None, None),
    "sign": Function(np.sign, None, None),
    "sigmoid": Function(sigmoid, 8, 8),
    "relu": Function(lambda x: np.maximum(x, np.zeros((), x.dtype)), None, None, 1),
    "silu": Function(silu, 10, 10, 1.1),
    "gelu": Function(gelu, 14, 14, 1.13),
    "gelu_tanh": Function(gelu_tanh, 14, 14, 1.13),
}
_SELECT: dict[str, Callable[..., Array]] = {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
}
_ROUNDING = frozenset({"floor", "ceil", "round", "trunc"})
_COMPOSED = frozenset({"sigmoid", "silu", "gelu", "gelu_tanh"})
# A device may flush where an intermediate exponential of these leaves the normal range.
_FLOOR = 2.0**31

NAMES = (
    frozenset(_FUNCTIONS)
    | frozenset(_SELECT)
    | frozenset({"atan2", "isnan", "isinf", "conj", "real", "imag"})
)


def call(name: str, arguments: tuple[Number, ...], operand: DType, dtype: DType, track: bool) -> Number:
    """Apply the function `name` to arguments of type `operand`. Without `track`, errors are not bounded."""
    values = [a.value for a in arguments]
    errors = [a.error_or_zero() for a in arguments]
    if name in _SELECT:
        worst = errors[0]
        for error in errors[1:]:
            worst = np.maximum(worst, error)
        return Number(np.asarray(_SELECT[name](*values)), exact(worst) if track else None)
    x, e = values[0], errors[0]
    match name:
        case "isnan" | "isinf":
            value = np.asarray(np.isnan(x) if name == "isnan" else np.isinf(x))
            return Number(value, exact(np.where(np.isinf(e), 1.0, 0.0)) if track else None)
        case "conj" | "real" | "imag":
            return Number(_part(name, x), arguments[0].error)
        case "atan2":
            result = np.asarray(np.arctan2(x, values[1]))
            spread = _atan2_spread(values, errors) if track else e
            return bounded(result, spread, 2 * 3.5, dtype) if track else Number(result)
    if operand.kind in (Kind.INT, Kind.UINT, Kind.BOOL) and name in _ROUNDING:
        return arguments[0]
    function = _FUNCTIONS[name]
    result = np.asarray(function.compute(x))
    if not track:
        return Number(result)
    spread = _spread(name, function, x, e, result)
    if operand.kind in (Kind.INT, Kind.UINT, Kind.BOOL):
        return Number(result, unless_wrapped(result, exact(spread)))
    ulp = function.double if format_of(dtype).precision == 53 else function.single
    if operand.kind is Kind.COMPLEX:
        return bounded(result, spread, 2 * 8.5, dtype)
    if ulp is None:
        return Number(result, exact(spread))
    units: Array | float = 1.0 if ulp == 0 else 2 * (ulp + 0.5)
    if name == "gelu":
        # erfc(t) changes by about 2 t² relative units per unit of its argument, t = −x / √2.
        units = units + 2 * np.where(x < 0, np.minimum(x * x, 1e6), 0.0)
    elif name == "gelu_tanh":
        units = units + 10 * np.where(x < 0, np.minimum(np.abs(x + 0.05 * x * x * x), 1e6), 0.0)
    return bounded(result, spread, units, dtype, _FLOOR if name in _COMPOSED else 0.0)


def _part(name: str, x: Array) -> Array:
    if name == "conj":
        return np.conj(x)
    return np.asarray(x.real if name == "real" else np.imag(x))


def _spread(name: str, function: Function, x: Array, error: Array, result: Array) -> Array:
    """How far the result moves while the argument moves by `error`."""
    if not error.any():
        return np.zeros((), np.float64)
    if function.slope is not None and x.dtype.kind != "c":
        return scaled(np.asarray(function.slope), error)
    if x.dtype.kind == "c":
        if name == "abs":
            return error
        ends = [x + error, x + 1j * error]
    else:
        low, high = x - error, x + error
        if name == "sqrt":
            # What rounds below zero is a sum of squares or the like, which a device keeps at zero or above.
            low = np.where(x >= 0, np.maximum(low, 0), low)
        elif name in ("asin", "acos"):
            low, high = (np.where(np.abs(x) <= 1, np.clip(end, -1, 1), end) for end in (low, high))
        ends = [low, high]
    moved = [distance(np.asarray(function.compute(end)), result) for end in ends]
    spread = np.maximum(*moved) if x.dtype.kind != "c" else moved[0] + moved[1]
    if name == "tan":
        spread = np.where(np.floor(ends[0] / np.pi + 0.5) == np.floor(ends[1] / np.pi + 0.5), spread, np.inf)
    if name == "rsqrt":
        spread = np.where((x > 0) & (x - error <= 0), np.inf, spread)
    return np.where(error == 0, 0.0, spread)


def _atan2_spread(values: list[Array], errors: list[Array]) -> Array:
    y, x = values
    ey, ex = errors
    total = ey + ex
    room = np.hypot(x, y) - total
    spread = np.where(total == 0, 0.0, np.where(room > 0, total / room, np.inf))
    return np.where((ey > 0) & (np.abs(y) <= ey) & (x - ex < 0), 2 * np.pi, spread)
