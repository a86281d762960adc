"""Expectations: schedules, metrics, units."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tilegen.lang import syntax
from tilegen.lang.check.header import constant_number
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Fact, Scope
from tilegen.lang.check.tests import check_settings, check_shape, missing_sizes
from tilegen.lang.near import near_to
from tilegen.lang.spec import BinaryOp, Condition, Expectation, Kernel, Unit


class Metric(Enum):
    """What a metric counts decides which units its value may have."""

    SECTORS = (Unit.NUMBER, Unit.IDEAL)
    COUNT = (Unit.NUMBER,)
    BYTES = (Unit.NUMBER, Unit.BYTES)
    MEASURED = (Unit.NUMBER, Unit.COPY)


METRICS: dict[str, Metric] = {
    "load_sectors": Metric.SECTORS,
    "store_sectors": Metric.SECTORS,
    "load_efficiency": Metric.COUNT,
    "store_efficiency": Metric.COUNT,
    "load_sectors_per_request": Metric.COUNT,
    "store_sectors_per_request": Metric.COUNT,
    "bank_conflicts": Metric.COUNT,
    "registers": Metric.COUNT,
    "spills": Metric.BYTES,
    "shared_bytes": Metric.BYTES,
    "occupancy": Metric.COUNT,
    "bytes_moved": Metric.BYTES,
    "arithmetic_intensity": Metric.COUNT,
    "bandwidth": Metric.MEASURED,
    "time": Metric.MEASURED,
}


def check_expectations(
    node: syntax.KernelDecl, scope: Scope, kernels: Sequence[Kernel], problems: Problems
) -> tuple[Expectation, ...]:
    """`kernels` is empty where the kernel has problems of its own: then sizes are not tried."""
    schedules = [i.name.name for i in node.items if isinstance(i, syntax.ScheduleDecl)]
    items = [i for i in node.items if isinstance(i, syntax.ExpectDecl)]
    return tuple(_expectation(item, [*schedules, "auto"], scope, kernels, problems) for item in items)


def _expectation(
    item: syntax.ExpectDecl, schedules: list[str], scope: Scope, kernels: Sequence[Kernel], problems: Problems
) -> Expectation:
    schedule = None if item.schedule is None else item.schedule.name
    if item.schedule is not None and schedule not in schedules:
        problems.report("TG0550", item.schedule.span, name=near_to(item.schedule.name, schedules))
    conditions = [_condition(c, problems) for c in item.conditions]
    before = len(problems.found)
    sizes, scalars, types = check_settings(item.at, scope, problems)
    for clause in item.at:
        if clause.keyword.name in scalars:
            problems.report("TG0553", clause.keyword.span, name=clause.keyword.name)
    if item.at and len(problems.found) == before:
        place, missing = item.at[0].span.to(item.at[-1].span), missing_sizes(sizes, scope)
        if not missing:
            check_shape(kernels, sizes, types, place, problems)
        elif scope.sure(Fact.SIZES):
            problems.report("TG0541.at", place, names=tuple(missing), first=missing[0])
    known = tuple(c for c in conditions if c is not None)
    return Expectation(schedule, known, tuple(sizes.items()), tuple(types.items()), item.span)


def _condition(node: syntax.ConditionExpression, problems: Problems) -> Condition | None:
    metric, valued = METRICS.get(node.metric.name), _value(node.value)
    if metric is None:
        problems.report("TG0551", node.metric.span, name=near_to(node.metric.name, METRICS))
    elif valued is None:
        problems.report("TG0552.value", node.value.span)
    elif valued[1] not in metric.value:
        examples = tuple(_EXAMPLES[unit] for unit in metric.value)
        text = node.value.span.text
        problems.report("TG0552.unit", node.value.span, metric=node.metric.name, text=text, examples=examples)
    else:
        return Condition(node.metric.name, BinaryOp(node.op), *valued, node.span)
    return None


_EXAMPLES = {Unit.NUMBER: "4", Unit.BYTES: "48KiB", Unit.IDEAL: "1.0 * ideal", Unit.COPY: "0.9 * copy"}


def _value(node: syntax.Expression) -> tuple[float, Unit] | None:
    match node:
        case syntax.BytesLiteral():
            return float(node.value), Unit.BYTES
        case syntax.Name(name="ideal" | "copy"):
            return 1.0, Unit(node.name)
        case syntax.BinaryExpression(op="*", left=left, right=syntax.Name(name="ideal" | "copy" as word)):
            factor = constant_number(left)
            return None if factor is None else (float(factor), Unit(word))
        case syntax.BinaryExpression(op="*", left=syntax.Name(name="ideal" | "copy" as word), right=right):
            factor = constant_number(right)
            return None if factor is None else (float(factor), Unit(word))
        case _:
            number = constant_number(node)
            return None if number is None or isinstance(number, bool) else (float(number), Unit.NUMBER)
