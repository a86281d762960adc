"""The operators of reductions in CUDA C: function objects, accumulators, and the statement that takes a value in."""

from __future__ import annotations

from tilegen.core.nest.combine import ARGUMENTS, accumulator_type, combining, identity
from tilegen.cuda.functions import nan_helper
from tilegen.cuda.types import TypeNames
from tilegen.cuda.values import literal
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


def operator_name(node: Reduce, helpers: set[str]) -> str:
    """The function object that combines two accumulators of `node`."""
    name = _OPERATORS[combining(node.op)]
    helpers.add(name)
    if name in ("Maximum", "Minimum"):
        helpers.add(nan_helper(name.lower(), accumulator_type(node)))
    return name


def accumulator_ctype(node: Reduce, types: TypeNames, helpers: set[str]) -> str:
    ctype = types.value(accumulator_type(node))
    if node.op in ARGUMENTS:
        helpers.add("Indexed")
        return f"Indexed<{ctype}, index_t>"
    return ctype


def identity_text(node: Reduce, types: TypeNames, helpers: set[str]) -> str:
    dtype = accumulator_type(node)
    text = literal(identity(node.op, dtype), dtype, types)[0]
    if node.op in ARGUMENTS:
        ctype = accumulator_ctype(node, types, helpers)
        return f"{ctype}{{{text}, NO_INDEX<index_t>}}"
    return text


def taken_in(
    node: Reduce,
    place: str,
    value: str,
    index: str,
    types: TypeNames,
    helpers: set[str],
    *,
    ordered: bool = False,
) -> str:
    """The statement that takes one element into the accumulator `place`; `index`: where an arg-reduction found it.

    `ordered`: elements come in the order of their indices."""
    match node.op:
        case Reduction.SUM | Reduction.MEAN:
            return f"{place} += {value};"
        case Reduction.PROD:
            return f"{place} *= {value};"
        case Reduction.COUNT:
            return f"{place} += ({value}) ? 1 : 0;"
        case Reduction.ANY:
            return f"{place} = {place} || ({value});"
        case Reduction.ALL:
            return f"{place} = {place} && ({value});"
        case Reduction.MAX | Reduction.MIN:
            name = "maximum" if node.op is Reduction.MAX else "minimum"
            helpers.add(nan_helper(name, accumulator_type(node)))
            return f"{place} = {name}({place}, {value});"
        case Reduction.ARGMAX | Reduction.ARGMIN:
            ctype, operator = accumulator_ctype(node, types, helpers), operator_name(node, helpers)
            if ordered:
                return f"{operator}::take({place}, {_as(value, node, types)}, {index});"
            return f"{place} = {operator_name(node, helpers)}::of({place}, {ctype}{{{value}, {index}}});"


def _as(value: str, node: Reduce, types: TypeNames) -> str:
    """`value` in the type of the accumulator, for a template's deduction."""
    dtype = accumulator_type(node)
    return f"static_cast<{types.value(dtype)}>({value})" if dtype.size < 4 else value
