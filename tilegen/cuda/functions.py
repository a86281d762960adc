"""Functions of the language in CUDA C: a library function by precision, or a helper of `templates/helpers.j2`."""

from __future__ import annotations

from collections.abc import Callable

from tilegen.dtypes import F32, DType, Kind

# dtype of the first argument -> (C name to call, helper it needs)
Recipe = Callable[[DType], tuple[str, str | None]]


def float_function(name: str, dtype: DType) -> str:
    """The library's name in the precision of `dtype`: `expf` for f32, `exp` for f64."""
    return name if dtype.size == 8 else f"{name}f"


def _library(name: str) -> Recipe:
    return lambda dtype: (float_function(name, dtype), None)


def _helper(name: str) -> Recipe:
    return lambda dtype: (name, name)


def nan_helper(name: str, dtype: DType) -> str:
    """The helper with `maximum` or `minimum` for a type: floats have an instruction of their own."""
    return f"{name}_float" if dtype == F32 else name


def _absolute(dtype: DType) -> tuple[str, str | None]:
    if dtype.kind is Kind.FLOAT:
        return float_function("fabs", dtype), None
    return "absolute", "absolute"


def _float_only(name: str, integer: str) -> Recipe:
    def recipe(dtype: DType) -> tuple[str, str | None]:
        if dtype.kind is Kind.FLOAT:
            return float_function(name, dtype), None
        return integer, integer

    return recipe


FUNCTIONS: dict[str, Recipe] = {
    "abs": _absolute,
    **{
        name: _library(name)
        for name in [
            "exp",
            "exp2",
            "log",
            "log2",
            "log1p",
            "expm1",
            "sqrt",
            "sin",
            "cos",
            "tan",
            "tanh",
            "sinh",
            "cosh",
            "asin",
            "acos",
            "atan",
            "atan2",
            "erf",
            "erfc",
            "rsqrt",
        ]
    },
    **{name: _float_only(name, "same") for name in ("floor", "ceil", "trunc")},
    "round": _float_only("rint", "same"),
    "sign": _helper("sign"),
    "clip": _helper("clip"),
    "maximum": lambda dtype: ("maximum", nan_helper("maximum", dtype)),
    "minimum": lambda dtype: ("minimum", nan_helper("minimum", dtype)),
    "fmax": _float_only("fmax", "maximum"),
    "fmin": _float_only("fmin", "minimum"),
    "isnan": _helper("is_nan"),
    "isinf": _helper("is_inf"),
    "sigmoid": _helper("sigmoid"),
    "relu": _helper("relu"),
    "silu": _helper("silu"),
    "gelu": lambda dtype: ("gelu_float<false>", "gelu_float") if dtype == F32 else ("gelu", "gelu"),
    "gelu_tanh": _helper("gelu_tanh"),
}

# Functions that take fewer instructions where the arguments were 16-bit floats.
OF_HALVES = {"gelu": ("gelu_float<true>", "gelu_float")}
