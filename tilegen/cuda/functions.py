"""Functions of the language in CUDA C: one of CUDA by precision, or an entry of the library of device functions."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.cuda.tree import Call, Expression, Function, Literal, Scalar
from tilegen.cuda.types import ElementTypes
from tilegen.dtypes import F32, DType, Kind
from tilegen.lang.spec import Call as FunctionCall
from tilegen.lang.spec import Cast, Value

# Functions that CUDA has, under the same name but for the suffix of the precision.
_CUDA = frozenset(
    (
        *("exp", "exp2", "log", "log2", "log1p", "expm1", "sqrt", "rsqrt", "erf", "erfc"),
        *("sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "atan2"),
    )
)
# Functions of floats that CUDA has under another name, and what integers take of the library in their place.
_BY_KIND = {
    "abs": ("fabs", "absolute"),
    "floor": ("floor", "same"),
    "ceil": ("ceil", "same"),
    "trunc": ("trunc", "same"),
    "round": ("rint", "same"),
    "fmax": ("fmax", "maximum"),
    "fmin": ("fmin", "minimum"),
}
_LIBRARY = {"isnan": "is_nan", "isinf": "is_inf"}
# Entries that are faster for f32, as overloads or instances.
_OF_FLOAT = {"maximum": "maximum_float", "minimum": "minimum_float"}


def float_function(name: str, dtype: DType) -> Function:
    """CUDA's function in the precision of `dtype`: `expf` for f32, `exp` for f64."""
    return Function(name if dtype.size == 8 else f"{name}f")


def extreme(name: str, dtype: DType) -> Function:
    """`maximum` or `minimum`: NaN wins; floats have an instruction of their own."""
    return Function(name, (_OF_FLOAT[name] if dtype == F32 else name,))


def call_of(value: FunctionCall, arguments: Sequence[Expression], types: ElementTypes) -> Expression:
    """The call that computes a function of the language."""
    dtype = value.arguments[0].dtype if value.arguments else value.dtype
    return Call(_function(value, dtype, types), tuple(arguments))


def _function(value: FunctionCall, dtype: DType, types: ElementTypes) -> Function:
    name = value.function
    if name in _CUDA:
        return float_function(name, dtype)
    if name in _BY_KIND:
        of_floats, of_integers = _BY_KIND[name]
        if dtype.kind is Kind.FLOAT:
            return float_function(of_floats, dtype)
        name = of_integers
    if name == "gelu" and dtype == F32:
        return Function("gelu_float", ("gelu_float",), (_truth(all(_was_half(a) for a in value.arguments)),))
    if name in _OF_FLOAT and dtype == F32:
        return extreme(name, dtype)
    name = _LIBRARY.get(name, name)
    # C's literals are int, whatever the other arguments are; arithmetic below 32 bits is int too.
    told: tuple[Scalar, ...] = (types.value(dtype),) if dtype.is_integer else ()
    return Function(name, (name,), told)


def _truth(value: bool) -> Literal:
    return Literal(value, Scalar("bool"))


def _was_half(value: Value) -> bool:
    """Whether a float has the few significant bits of a 16-bit one."""
    return (
        isinstance(value, Cast) and value.dtype.name == "f32" and value.operand.dtype.name in ("f16", "bf16")
    )
