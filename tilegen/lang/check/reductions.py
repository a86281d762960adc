"""Reductions: what they take, and the type they accumulate in."""

from __future__ import annotations

from tilegen.dtypes import BOOL, I32, I64, DType, Kind, accumulator_type, compute_type
from tilegen.lang import syntax
from tilegen.lang.check.conversions import Operand, cast, typed
from tilegen.lang.check.functions import REDUCTIONS
from tilegen.lang.check.problems import Problems
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
        problems.error(
            "TG0409",
            f"`{op.value}` gives a position along one axis, and {len(axes)} are given",
            node.span,
            help="reduce over one axis",
        )
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
    text = node.body.span.text
    if op in _LOGICAL and dtype is not BOOL:
        problems.error(
            "TG0409",
            f"`{op.value}` takes bools, and this is {dtype}",
            node.body.span,
            help=f"compare: `{text} != 0`",
        )
        return False
    if op in (*_EXTREMA, *_ARG) and dtype.kind is Kind.COMPLEX:
        problems.error(
            "TG0405",
            "complex numbers have no order",
            node.body.span,
            help=f"reduce `abs({text})` or `real({text})`",
        )
        return False
    if op in (*_EXTREMA, *_ARG, Reduction.PROD) and dtype is BOOL:
        other = "all" if op in (Reduction.MIN, Reduction.PROD) else "any"
        problems.error(
            "TG0409",
            f"`{op.value}` takes numbers, and this is a bool",
            node.body.span,
            help=f"write `{other}[…](…)`, or cast: `i32({text})`",
        )
        return False
    if op is Reduction.MEAN and dtype.kind in (Kind.INT, Kind.UINT, Kind.BOOL):
        problems.error(
            "TG0409",
            f"`mean` takes floats, and this is {dtype}",
            node.body.span,
            help=f"cast: `mean[…](f32({text}))`",
        )
        return False
    return True
