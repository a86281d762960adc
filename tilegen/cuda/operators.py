"""The operators of reductions in CUDA C: function objects, accumulators, and the statement that takes a value in."""

from __future__ import annotations

from tilegen.core.nest.combine import ARGUMENTS, accumulator_type, combining, identity
from tilegen.cuda.arithmetic import accumulator
from tilegen.cuda.functions import extreme
from tilegen.cuda.tree import (
    INDEX,
    Assign,
    Binary,
    Braces,
    Call,
    Cast,
    Conditional,
    CType,
    Expression,
    Function,
    Infix,
    Instance,
    Literal,
    Member,
    Run,
    Statement,
    Templated,
)
from tilegen.cuda.types import ElementTypes
from tilegen.dtypes import F32
from tilegen.lang.spec import Reduce, Reduction

_OPERATORS = {
    Reduction.SUM: "Sum",
    Reduction.PROD: "Product",
    Reduction.MAX: "Maximum",
    Reduction.MIN: "Minimum",
    Reduction.ANY: "Any",
    Reduction.ALL: "All",
    Reduction.ARGMAX: "FirstGreatest",
    Reduction.ARGMIN: "FirstLeast",
}
# No index of an element: greater than all of them.
NO_INDEX = Instance(Function("NO_INDEX", ("Indexed",), (INDEX,)))
_WRAPPING = (Reduction.SUM, Reduction.PROD)


def operator(node: Reduce) -> Templated:
    """The function object that combines two accumulators of `node`."""
    return Templated(_OPERATORS[combining(node.op)])


def operator_entries(node: Reduce) -> tuple[str, ...]:
    """Entries of the library for combining accumulators of `node`, beyond the function object's own name."""
    combined = combining(node.op)
    if combined in (Reduction.MAX, Reduction.MIN) and accumulator_type(node) == F32:
        return ("maximum_float" if combined is Reduction.MAX else "minimum_float",)
    return ()


def combined(node: Reduce, a: Expression, b: Expression) -> Expression:
    """`a` and `b`, two accumulators, put together by the function object."""
    entries = (operator(node).name, *operator_entries(node))
    return Call(Function("of", entries, scope=operator(node)), (a, b))


def accumulator_ctype(node: Reduce, types: ElementTypes) -> CType:
    dtype = accumulator_type(node)
    if node.op in ARGUMENTS:
        return Templated("Indexed", (types.value(dtype), INDEX))
    return accumulator(dtype, types) if node.op in _WRAPPING else types.value(dtype)


def identity_value(node: Reduce, types: ElementTypes) -> Expression:
    """What an accumulator of `node` starts from."""
    dtype = accumulator_type(node)
    start = identity(node.op, dtype)
    if node.op in ARGUMENTS:
        none = NO_INDEX
        return Braces(accumulator_ctype(node, types), (types.literal(start, dtype), none))
    if dtype.is_integer and node.op in _WRAPPING:
        ctype = accumulator(dtype, types)
        return Literal(int(start), ctype)
    return types.literal(start, dtype)


def result(node: Reduce, place: Expression, types: ElementTypes) -> Expression:
    """The value of a reduction, of its accumulator."""
    if node.op in ARGUMENTS:
        return Cast(types.value(node.dtype), Member(place, "index"))
    if node.dtype.is_integer and accumulator_ctype(node, types) != types.value(node.dtype):
        return Cast(types.value(node.dtype), place)
    return place


def taken_in(
    node: Reduce,
    place: Expression,
    value: Expression,
    index: Expression,
    types: ElementTypes,
    *,
    ordered: bool = False,
) -> Statement:
    """The statement that takes one element into the accumulator `place`; `index`: where an arg-reduction found it.

    `ordered`: elements come in the order of their indices."""
    match node.op:
        case Reduction.SUM | Reduction.MEAN:
            return Assign(place, value, "+=")
        case Reduction.PROD:
            return Assign(place, value, "*=")
        case Reduction.COUNT:
            return Assign(place, Conditional(value, Literal(1), Literal(0)), "+=")
        case Reduction.ANY:
            return Assign(place, Binary(Infix.OR, place, value))
        case Reduction.ALL:
            return Assign(place, Binary(Infix.AND, place, value))
        case Reduction.MAX | Reduction.MIN:
            name = "maximum" if node.op is Reduction.MAX else "minimum"
            return Assign(place, Call(extreme(name, accumulator_type(node)), (place, value)))
        case Reduction.ARGMAX | Reduction.ARGMIN:
            kind = operator(node)
            if ordered:
                take = Function("take", (kind.name,), scope=kind)
                return Run(Call(take, (place, _as_accumulated(value, node, types), index)))
            found = Braces(accumulator_ctype(node, types), (value, index))
            return Assign(place, combined(node, place, found))


def _as_accumulated(value: Expression, node: Reduce, types: ElementTypes) -> Expression:
    """`value` in the type of the accumulator, for a template's deduction."""
    dtype = accumulator_type(node)
    return Cast(types.value(dtype), value) if dtype.size < 4 else value
