"""Reductions: what they take, and the type they accumulate in."""

from __future__ import annotations

from tilegen.dtypes import BOOL, I32, I64, DType, Kind, accumulator_type, compute_type
from tilegen.lang import syntax
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.values.conversions import Operand, cast, typed
from tilegen.lang.check.values.functions import REDUCTIONS
from tilegen.lang.spec import Axis, Cast, Reduce, Reduction, Value

_ARG = (Reduction.ARGMAX, Reduction.ARGMIN)
_EXTREMA = (Reduction.MAX, Reduction.MIN)
_LOGICAL = (Reduction.ANY, Reduction.ALL, Reduction.COUNT)


def build_reduction(
    node: syntax.ReduceExpression, axes: tuple[Axis, ...], operand: Operand, problems: Problems
) -> Value | None:
    """`Reduce`, its body in the accumulation type (`any`, `all`, `count`: bool; arg-reductions: as computed)."""
    op, body = REDUCTIONS[node.function.name], typed(operand)
    if not _accepts(op, body.dtype, node, problems):
        return None
    if op in _ARG and len(axes) != 1:
        problems.report("TG0409.axes", node.span, op=op, given=len(axes))
        return None
    if op is Reduction.COUNT:
        return Reduce(op, axes, body, I32, node.span)
    if op in _LOGICAL:
        return Reduce(op, axes, body, BOOL, node.span)
    if op in _ARG:
        return Reduce(op, axes, cast(body, compute_type(body.dtype)), I64, node.span)
    dtype = accumulator_type(body.dtype)
    reduced = Reduce(op, axes, cast(body, dtype), dtype, node.span)
    if op in _EXTREMA and body.dtype.is_integer and dtype != body.dtype:
        return Cast(reduced, body.dtype)
    return reduced


def _accepts(op: Reduction, dtype: DType, node: syntax.ReduceExpression, problems: Problems) -> bool:
    place, text = node.body.span, node.body.span.text
    if op in _LOGICAL and dtype is not BOOL:
        problems.report("TG0409.bools", place, op=op, type=dtype, text=text)
    elif op in (*_EXTREMA, *_ARG) and dtype.kind is Kind.COMPLEX:
        problems.report("TG0405.reduction", place, text=text)
    elif op in (*_EXTREMA, *_ARG, Reduction.PROD) and dtype is BOOL:
        other = Reduction.ALL if op in (Reduction.MIN, Reduction.PROD) else Reduction.ANY
        problems.report("TG0409.numbers", place, op=op, other=other, text=text)
    elif op is Reduction.MEAN and dtype.kind in (Kind.INT, Kind.UINT, Kind.BOOL):
        problems.report("TG0409.floats", place, type=dtype, text=text)
    else:
        return True
    return False
