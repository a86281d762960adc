"""Expectations: schedules, metrics, units."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tilegen.lang import syntax
from tilegen.lang.check.header import constant_number
from tilegen.lang.check.problems import Problems, suggestion
from tilegen.lang.check.scope import Scope
from tilegen.lang.check.tests import check_settings, check_shape
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

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def check_expectations(
    node: syntax.KernelDecl, scope: Scope, kernels: Sequence[Kernel], problems: Problems
) -> tuple[Expectation, ...]:
    """`kernels` is empty where the kernel has problems of its own: then sizes are not tried."""
    schedules = [i.name.name for i in node.items if isinstance(i, syntax.ScheduleDecl)]
    found = []
    for item in node.items:
        if not isinstance(item, syntax.ExpectDecl):
            continue
        _schedule(item, [*schedules, "auto"], problems)
        conditions = [_condition(c, problems) for c in item.conditions]
        sizes, scalars, types = check_settings(item.at, scope, problems, "at")
        for name in scalars:
            clause = next(c for c in item.at if c.keyword.name == name)
            problems.error(
                "TG0553",
                f"`at` takes sizes and types, and `{name}` is a scalar parameter",
                clause.keyword.span,
                help="leave it out",
            )
        missing = [s.name for s in scope.sizes.values() if s.default is None and s.name not in sizes]
        if item.at and missing:
            problems.error(
                "TG0541",
                f"`at` gives no value for {', '.join(f'`{m}`' for m in missing)}",
                item.at[0].span.to(item.at[-1].span),
                help="add " + ", ".join(f"`{m} = …`" for m in missing),
            )
        elif item.at and not scalars:
            place = item.at[0].span.to(item.at[-1].span)
            check_shape(kernels, sizes, types, place, problems)
        known = tuple(c for c in conditions if c is not None)
        schedule = None if item.schedule is None else item.schedule.name
        found.append(Expectation(schedule, known, tuple(sizes.items()), tuple(types.items()), item.span))
    return tuple(found)


def _schedule(item: syntax.ExpectDecl, known: list[str], problems: Problems) -> None:
    if item.schedule is None or item.schedule.name in known:
        return
    problems.error(
        "TG0550",
        f"there is no schedule `{item.schedule.name}`",
        item.schedule.span,
        help=suggestion(item.schedule.name, known, "schedules"),
    )


def _condition(node: syntax.ConditionExpression, problems: Problems) -> Condition | None:
    metric = METRICS.get(node.metric.name)
    if metric is None:
        problems.error(
            "TG0551",
            f"unknown metric `{node.metric.name}`",
            node.metric.span,
            help=suggestion(node.metric.name, METRICS, "metrics"),
        )
        return None
    if node.op not in _COMPARISONS:
        problems.error("TG0552", f"`{node.op}` does not compare", node.span, help="write `<=`, `>=` or `==`")
        return None
    valued = _value(node.value)
    if valued is None:
        problems.error(
            "TG0552",
            "an expectation's value is a number, a number of bytes, `x * ideal` or `x * copy`",
            node.value.span,
            help="write `1.0 * ideal`, `0.9 * copy`, `48KiB` or a number",
        )
        return None
    value, unit = valued
    if unit not in metric.value:
        problems.error(
            "TG0552",
            f"`{node.metric.name}` cannot be compared with {_UNIT_NAMES[unit]}",
            node.value.span,
            help=f"write {_allowed(metric)}",
        )
        return None
    return Condition(node.metric.name, BinaryOp(node.op), value, unit, node.span)


_UNIT_NAMES = {
    Unit.NUMBER: "a number",
    Unit.BYTES: "a number of bytes",
    Unit.IDEAL: "`ideal`, which is a number of sectors",
    Unit.COPY: "`copy`, which is measured on a device",
}


def _allowed(metric: Metric) -> str:
    examples = {
        Unit.NUMBER: "a number",
        Unit.BYTES: "bytes (`48KiB`)",
        Unit.IDEAL: "`1.0 * ideal`",
        Unit.COPY: "`0.9 * copy`",
    }
    return " or ".join(examples[u] for u in metric.value)


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
