"""The functions and reductions of the language as data: arity, operand kinds, and values on literals."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

from tilegen.dtypes import DTYPES
from tilegen.lang.spec import Reduction


class Operands(Enum):
    """What a function takes."""

    FLOAT = "floats"
    NUMBER = "integers or floats"
    COMPLEX = "complex numbers"
    ANY_NUMBER = "numbers"


_FLOAT_ONE = [
    "exp",
    "exp2",
    "log",
    "log2",
    "log1p",
    "expm1",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "asin",
    "acos",
    "atan",
    "erf",
    "erfc",
    "floor",
    "ceil",
    "round",
    "trunc",
    "isnan",
    "isinf",
    "sigmoid",
    "relu",
    "silu",
    "gelu",
    "gelu_tanh",
]

FUNCTIONS: dict[str, tuple[int, Operands]] = {
    **{name: (1, Operands.FLOAT) for name in _FLOAT_ONE},
    "atan2": (2, Operands.FLOAT),
    "abs": (1, Operands.ANY_NUMBER),
    "sign": (1, Operands.NUMBER),
    "relu": (1, Operands.NUMBER),
    "clip": (3, Operands.NUMBER),
    "maximum": (2, Operands.NUMBER),
    "minimum": (2, Operands.NUMBER),
    "fmax": (2, Operands.NUMBER),
    "fmin": (2, Operands.NUMBER),
    "conj": (1, Operands.ANY_NUMBER),
    "real": (1, Operands.ANY_NUMBER),
    "imag": (1, Operands.ANY_NUMBER),
}

REDUCTIONS: dict[str, Reduction] = {r.value: r for r in Reduction}

# Functions whose value on a literal is a literal, computed in double.
ON_LITERALS: dict[str, Callable[..., float]] = {
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "erf": math.erf,
    "erfc": math.erfc,
    "exp2": lambda x: 2.0**x,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}


def arity(name: str) -> int:
    return 3 if name == "where" else FUNCTIONS[name][0] if name in FUNCTIONS else 1


def known_functions() -> tuple[str, ...]:
    return ("where", *FUNCTIONS, *DTYPES)
