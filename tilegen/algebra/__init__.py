"""Index arithmetic: integer expressions over named symbols with `+ * // %`, kept in one canonical form.

An `Expr` is a sum of integer multiples of products of atoms. An atom is a symbol or one of the operations that do not
distribute over a sum (`//`, `%`, minimum, maximum, exclusive or). Equal polynomials are equal objects by `==`. Division
and remainder are Python's (floored). The front end writes extents and indices in it, the plan writes addresses,
guards and launch conditions in it; nothing here knows about CUDA.
"""

from tilegen.algebra.expression import (
    ONE,
    ZERO,
    Apply,
    Atom,
    Expr,
    Monomial,
    Op,
    Sym,
    ceil_div,
    exact_quotient,
    expr,
    floor_div,
    maximum,
    minimum,
    mod,
    product,
    sym,
    symbols,
    xor,
)
from tilegen.algebra.ranges import ANY, NON_NEGATIVE, Range, bounds, size_bound
from tilegen.algebra.simplify import divisions, linear_parts, simplify
from tilegen.algebra.values import apply, as_function, evaluate, substitute, zero_divisor

__all__ = [
    "ANY",
    "NON_NEGATIVE",
    "ONE",
    "ZERO",
    "Apply",
    "Atom",
    "Expr",
    "Monomial",
    "Op",
    "Range",
    "Sym",
    "apply",
    "as_function",
    "bounds",
    "ceil_div",
    "divisions",
    "evaluate",
    "exact_quotient",
    "expr",
    "floor_div",
    "linear_parts",
    "maximum",
    "minimum",
    "mod",
    "product",
    "simplify",
    "size_bound",
    "substitute",
    "sym",
    "symbols",
    "xor",
    "zero_divisor",
]
