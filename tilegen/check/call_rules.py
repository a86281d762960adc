"""What only the sizes of a call can decide: bindings, bounds, extents, empty reductions. Cheap, and exact wherever an
index is monotone in each axis; elsewhere a solver or interval decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilegen import algebra
from tilegen.algebra import Expr, Range, evaluate, linear_parts, substitute, symbols
from tilegen.check.memories import CONSTANT_MEMORY, constant_bytes
from tilegen.diagnostics import Diagnostic
from tilegen.spec import (
    Assign,
    Axis,
    Kernel,
    Let,
    Reduce,
    Reduction,
    Role,
    RuntimeBound,
    walk,
)

_NO_IDENTITY = (Reduction.MAX, Reduction.MIN, Reduction.MEAN, Reduction.ARGMAX, Reduction.ARGMIN)


def call_problems(kernel: Kernel, sizes: Mapping[str, int]) -> tuple[Diagnostic, ...]:
    """Why `kernel` cannot run on these sizes; empty if it can.

    `sizes` maps every run-time size to its value, and compile-time sizes that the caller overrides; values of integer
    scalar parameters that occur in an index belong there too (their defaults are taken otherwise).
    """
    values = {s.name: s.default for s in kernel.sizes if s.default is not None}
    values |= {s.name: s.default for s in kernel.scalars if isinstance(s.default, int)}
    overridden = any(
        values.get(s.name) != sizes.get(s.name, s.default) for s in kernel.sizes if s.default is not None
    )
    values |= sizes
    missing = [s.name for s in kernel.sizes if s.name not in values]
    if missing:
        names = ", ".join(f"`{m}`" for m in missing)
        return (
            Diagnostic("TG0320", f"no value for the size {names}", kernel.span, helps=("pass it by name",)),
        )
    found = list(_sizes(kernel, values))
    if found:
        return tuple(found)
    found += _bindings(kernel, values)
    found += _tensors(kernel, values)
    if found:
        return tuple(found)
    for bound in kernel.runtime_bounds:
        if overridden or not bound.by_defaults:
            found += _bound(bound, values)
    found += _conditions(kernel, values)
    found += _empty_reductions(kernel, values)
    return tuple(found)


def _sizes(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Diagnostic]:
    for size in kernel.sizes:
        if values[size.name] < 0:
            message = f"the size `{size.name}` is {values[size.name]}, and a size is 0 or more"
            yield Diagnostic("TG0320", message, size.span)


def _bindings(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Diagnostic]:
    for a, b in kernel.bindings:
        x, y = evaluate(a, values), evaluate(b, values)
        if x != y:
            yield Diagnostic(
                "TG0321",
                f"{a} and {b} must be equal, and they are {x} and {y}",
                kernel.span,
                ("one axis indexes a dimension of each",),
            )


def _tensors(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Diagnostic]:
    total = 0
    for tensor in kernel.tensors:
        filled = all(evaluate(e, values) > 0 for e in tensor.extents)
        for d, extent in enumerate(tensor.extents):
            value = evaluate(extent, values)
            stride = tensor.strides[d]
            if value < 0:
                message = f"axis {d} of `{tensor.name}` has the extent {extent}, which is {value}"
                yield Diagnostic("TG0322", message, tensor.span)
            elif (
                filled
                and value > 1
                and stride is not None
                and tensor.role is not Role.IN
                and evaluate(stride, values) == 0
            ):
                message = f"axis {d} of `{tensor.name}` is written and has the stride {stride}, which is 0"
                yield Diagnostic("TG0322", message, tensor.span)
        if tensor.constant:
            total += constant_bytes(tensor, values) or 0
            if total > CONSTANT_MEMORY:
                message = f"constant tensors need {total} bytes, and constant memory has {CONSTANT_MEMORY}"
                yield Diagnostic("TG0323", message, tensor.span)


def _bound(bound: RuntimeBound, values: Mapping[str, int]) -> Iterator[Diagnostic]:
    axes = _ranges(bound.axes, values)
    if axes is None:
        return
    index = substitute(bound.index, dict(values))
    extent = evaluate(bound.extent, values)
    guards = [substitute(g, dict(values)) for g in bound.guards]
    low, high = index_extremes(index, axes, guards)
    if low > high or (low >= 0 and high < extent):
        return
    worst = int(low) if low < 0 else int(high)
    yield Diagnostic(
        "TG0324",
        f"the index {bound.index} of `{bound.tensor}` reaches {worst}, "
        f"and axis {bound.dimension} has the extent {extent}",
        bound.span,
        (f"the extent {bound.extent} is {extent} at these sizes",) if bound.extent.constant is None else (),
        ("pass sizes for which the index stays inside, or give the tensor a boundary",),
    )


def _ranges(axes: Sequence[Axis], values: Mapping[str, int]) -> list[Axis] | None:
    """Axes with numbers for ends (ends that use outer axes keep them); None if one of them is empty."""
    found = []
    for axis in axes:
        lower, upper = substitute(axis.lower, dict(values)), substitute(axis.upper, dict(values))
        if lower.constant is not None and upper.constant is not None and lower.constant >= upper.constant:
            return None
        found.append(Axis(axis.name, lower, upper, axis.span))
    return found


def index_extremes(index: Expr, axes: Sequence[Axis], guards: Sequence[Expr] = ()) -> tuple[float, float]:
    """Least and greatest value of `index`; (1, 0) where no point exists. Exact if affine over a box without guards;
    otherwise by integer sets, and by intervals where these give up."""
    names = [a.name for a in axes]
    parts = linear_parts(index, names)
    box = all(a.lower.constant is not None and a.upper.constant is not None for a in axes)
    ranges = _box(axes)
    if parts is None or not box or guards:
        exact = _by_integer_sets(index, axes, guards)
        if exact is not None:
            return exact
        interval = algebra.bounds(index, ranges)
        return interval.low, interval.high
    interval = algebra.bounds(index, ranges)
    return interval.low, interval.high


def _box(axes: Sequence[Axis]) -> dict[str, Range]:
    ranges: dict[str, Range] = {}
    for axis in axes:
        low, high = algebra.bounds(axis.lower, ranges).low, algebra.bounds(axis.upper - 1, ranges).high
        ranges[axis.name] = Range(low, high)
    return ranges


def _by_integer_sets(index: Expr, axes: Sequence[Axis], guards: Sequence[Expr]) -> tuple[float, float] | None:
    from tilegen.check.affine import extremes
    from tilegen.check.samples import is_affine
    from tilegen.check.symbolic import Space

    space = Space(tuple(axes), tuple(guards))
    return extremes(index, space) if is_affine([index], space) else None


def _conditions(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Diagnostic]:
    for condition in kernel.runtime_conditions:
        axes = _ranges(condition.axes, values)
        if axes is None or evaluate(condition.value, values) >= 0:
            continue
        if all((a.upper - a.lower).constant == 1 for a in axes):
            continue
        yield Diagnostic(
            "TG0325",
            f"{condition.value + 1} must be at least 1, so that {condition.reason}",
            condition.span,
            (f"it is {evaluate(condition.value, values) + 1} at these sizes",),
        )


def _empty_reductions(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Diagnostic]:
    """`max`, `min`, `mean` and arg-reductions have no value over nothing."""
    for statement in kernel.statements:
        yield from _empty_in(statement, values)


def _empty_in(statement: Let | Assign, values: Mapping[str, int]) -> Iterator[Diagnostic]:
    outer = _ranges(statement.axes, values)
    if outer is None:
        return
    for value in walk(statement.value):
        if not isinstance(value, Reduce) or value.op not in _NO_IDENTITY:
            continue
        for axis in value.axes:
            length = substitute(axis.upper - axis.lower, dict(values))
            inside = [a for a in outer if a.name in symbols(length)]
            if symbols(length) - {a.name for a in inside}:
                continue
            if index_extremes(length, inside)[0] < 1:
                yield Diagnostic(
                    "TG0326",
                    f"`{value.op.value}` over `{axis.name}` has nothing to reduce: "
                    f"its range {axis.lower}..{axis.upper} is empty",
                    value.span,
                    (
                        "sum, prod, any, all and count over nothing give their identity; this reduction has none",
                    ),
                )
