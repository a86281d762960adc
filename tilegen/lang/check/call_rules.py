"""What only the sizes of a call can decide: bindings, bounds, extents, empty reductions. Cheap, and exact wherever an
index is monotone in each axis; elsewhere a solver or interval decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tilegen import algebra
from tilegen.algebra import (
    Expr,
    Range,
    Sym,
    evaluate,
    linear_parts,
    size_bound,
    substitute,
    symbols,
    zero_divisor,
)
from tilegen.lang.check.tensors.memories import CONSTANT_MEMORY, constant_bytes
from tilegen.lang.diagnostics import Problem, problem
from tilegen.lang.source import Span
from tilegen.lang.spec import (
    Assign,
    Axis,
    IndexValue,
    Kernel,
    Let,
    LocalRead,
    Read,
    Reduce,
    Reduction,
    Role,
    RuntimeBound,
    Tensor,
    Value,
    Where,
    children,
    walk,
)

_NO_IDENTITY = (Reduction.MAX, Reduction.MIN, Reduction.MEAN, Reduction.ARGMAX, Reduction.ARGMIN)


def call_problems(kernel: Kernel, sizes: Mapping[str, int]) -> tuple[Problem, ...]:
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
        return (problem("TG0320.missing", kernel.span, names=tuple(missing)),)
    found = list(_sizes(kernel, values)) or list(_divisions(kernel, values))
    if found:
        return tuple(found)
    found += _bindings(kernel, values)
    found += _tensors(kernel, values)
    if not found:
        found += _beyond_64_bits(kernel, values)
    if found:
        return tuple(found)
    for bound in kernel.runtime_bounds:
        if overridden or not bound.by_defaults:
            found += _bound(bound, values)
    found += _conditions(kernel, values)
    found += _empty_reductions(kernel, values)
    return tuple(found)


def _sizes(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Problem]:
    for size in kernel.sizes:
        if values[size.name] < 0:
            yield problem("TG0320.negative", size.span, name=size.name, value=values[size.name])


def _divisions(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Problem]:
    """Divisions by sizes that are 0. Those of run-time sizes matter only where some point computes them."""
    for tensor in kernel.tensors:
        for value in (*tensor.extents, *tensor.strides, tensor.offset):
            if value is not None:
                yield from _division(value, values, tensor.span)
    constants = {s.name: values[s.name] for s in kernel.sizes if s.default is not None}
    for statement in kernel.statements:
        ends = [end for axis in statement.axes for end in (axis.lower, axis.upper)]
        found = [d for end in ends for d in _division(end, values, statement.span)]
        if not found:
            nothing = _ranges(statement.axes, values) is None
            for value, _, conditional in _indices(_computed(statement), {}, values):
                known = constants if nothing or conditional else values
                found += _division(value, known, statement.span)
        yield from found[:1]


def _division(value: Expr, values: Mapping[str, int], span: Span) -> Iterator[Problem]:
    atom = zero_divisor(value, values)
    if atom is not None:
        names = tuple(sorted(symbols(atom.right) & values.keys()))
        given = ", ".join(f"{name} = {values[name]}" for name in names) or None
        divisor = atom.right if atom.right.symbol is None else None
        text = str(atom)[1:-1]
        yield problem("TG0316.sizes", span, text=text, divisor=divisor, given=given, names=names or None)


def _indices(
    nodes: Sequence[Value | Expr],
    ranges: Mapping[str, Range],
    values: Mapping[str, int],
    conditional: bool = False,
) -> Iterator[tuple[Expr, Mapping[str, Range], bool]]:
    """Every index expression, what its symbols can be, and whether it may never be computed."""
    for node in nodes:
        match node:
            case Expr():
                yield node, ranges, conditional
            case IndexValue():
                yield node.index, ranges, conditional
            case Read() | LocalRead():
                yield from _indices(node.indices, ranges, values, conditional)
            case Where():
                yield from _indices((node.condition,), ranges, values, conditional)
                yield from _indices((node.then, node.otherwise), ranges, values, True)
            case Reduce():
                ends = [end for axis in node.axes for end in (axis.lower, axis.upper)]
                yield from _indices(ends, ranges, values, conditional)
                defined = all(zero_divisor(end, values) is None for end in ends)
                axes = _ranges(node.axes, values) if defined else None
                inside = ranges if axes is None else _box(axes, ranges)
                yield from _indices((node.body,), inside, values, conditional or axes is None)
            case _:
                yield from _indices(children(node), ranges, values, conditional)


def _beyond_64_bits(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Problem]:
    """Expressions of axes, sizes and scalars that are not exact in 64 bits, or a part of which is not."""
    known = {name: Range(number, number) for name, number in values.items()}
    for statement in kernel.statements:
        axes = _ranges(statement.axes, values)
        if axes is None:
            continue
        for index, ranges, _ in _indices(_computed(statement), _box(axes, known), values):
            if (1 << 63) - 1 < size_bound(index, ranges) < math.inf:
                names = sorted(symbols(index) & values.keys())
                given = ", ".join(f"{name} = {values[name]}" for name in names) or None
                yield problem("TG0327", statement.span, index=index, given=given)
                break


def _computed(statement: Let | Assign) -> tuple[Value | Expr, ...]:
    return (*(statement.indices if isinstance(statement, Assign) else ()), statement.value)


def _bindings(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Problem]:
    for a, b in kernel.bindings:
        x, y = evaluate(a, values), evaluate(b, values)
        if x != y:
            yield problem("TG0321", kernel.span, left=a, right=b, left_value=x, right_value=y)


def _tensors(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Problem]:
    total = 0
    for tensor in kernel.tensors:
        for d, extent in enumerate(tensor.extents):
            value = evaluate(extent, values)
            if value < 0:
                yield problem(
                    "TG0322.extent", tensor.span, axis=d, name=tensor.name, extent=extent, value=value
                )
        if tensor.role is not Role.IN:
            yield from _overlap(tensor, values)
        if tensor.constant:
            total += constant_bytes(tensor, values) or 0
            if total > CONSTANT_MEMORY:
                yield problem("TG0323", tensor.span, total=total, most=CONSTANT_MEMORY)


def _overlap(tensor: Tensor, values: Mapping[str, int]) -> Iterator[Problem]:
    """Elements that are written lie apart: each stride is longer than all shorter ones reach (those of `*` are looked
    at with the array)."""
    extents = [evaluate(e, values) for e in tensor.extents]
    steps = [
        (abs(evaluate(stride, values)), axis)
        for axis, stride in enumerate(tensor.strides)
        if stride is not None and extents[axis] > 1
    ]
    reach = 1
    for step, axis in sorted(steps) if all(e > 0 for e in extents) else ():
        if step < reach:
            stride = tensor.strides[axis]
            written = stride is None or stride.constant is None
            yield problem(
                "TG0322.stride",
                tensor.span,
                axis=axis,
                name=tensor.name,
                stride=stride,
                step=step if written else None,
                extents=tuple(extents),
                reach=reach,
            )
            return
        reach += step * (extents[axis] - 1)


def _bound(bound: RuntimeBound, values: Mapping[str, int]) -> Iterator[Problem]:
    axes = _ranges(bound.axes, values)
    if axes is None:
        return
    if zero_divisor(bound.index, values) is not None:
        return  # where it is computed, `_divisions` has told it
    index = substitute(bound.index, dict(values))
    extent = evaluate(bound.extent, values)
    guards = [substitute(g, dict(values)) for g in bound.guards]
    low, high = index_extremes(index, axes, guards)
    if low > high or (low >= 0 and high < extent):
        return
    worst = int(low) if low < 0 else int(high)
    yield problem(
        "TG0324",
        bound.span,
        index=bound.index,
        name=bound.tensor,
        worst=worst,
        axis=bound.dimension,
        extent=extent,
        written=bound.extent if bound.extent.constant is None else None,
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


def _box(axes: Sequence[Axis], outer: Mapping[str, Range] = MappingProxyType({})) -> dict[str, Range]:
    ranges = dict(outer)
    for axis in axes:
        low, high = algebra.bounds(axis.lower, ranges).low, algebra.bounds(axis.upper - 1, ranges).high
        ranges[axis.name] = Range(low, high)
    return ranges


def _by_integer_sets(index: Expr, axes: Sequence[Axis], guards: Sequence[Expr]) -> tuple[float, float] | None:
    from tilegen.lang.check.proofs.affine import extremes
    from tilegen.lang.check.proofs.samples import is_affine
    from tilegen.lang.check.proofs.symbolic import Space

    space = Space(tuple(axes), tuple(guards))
    return extremes(index, space) if is_affine([index], space) else None


def _conditions(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Problem]:
    for condition in kernel.runtime_conditions:
        axes = _ranges(condition.axes, values)
        if axes is None or evaluate(condition.value, values) >= 0:
            continue
        if all((a.upper - a.lower).constant == 1 for a in axes):
            continue
        plain = all(isinstance(a, Sym) for m, _ in condition.value.terms for a in m)
        yield problem(
            "TG0325",
            condition.span,
            least=condition.value + 1 if plain else None,
            gap=condition.value,
            target=condition.target,
            value=evaluate(condition.value, values) + 1,
        )


def _empty_reductions(kernel: Kernel, values: Mapping[str, int]) -> Iterator[Problem]:
    """`max`, `min`, `mean` and arg-reductions have no value over nothing."""
    for statement in kernel.statements:
        yield from _empty_in(statement, values)


def _empty_in(statement: Let | Assign, values: Mapping[str, int]) -> Iterator[Problem]:
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
                names = {a.name for a in inside}
                yield _nothing_in(value, axis, [a for a in statement.axes if a.name in names])


def always_empty(statement: Let | Assign) -> Iterator[Problem]:
    """Reductions without an identity over a range that is empty at one end of another axis, whatever the sizes, and
    that no `where` may leave out there."""
    for value in _unconditional(statement.value):
        if not isinstance(value, Reduce) or value.op not in _NO_IDENTITY:
            continue
        for axis in value.axes:
            outer = [a for a in statement.axes if a.name in symbols(axis.upper - axis.lower)]
            end = _shrinks(axis, outer)
            least = None if end is None else end.least.constant
            if least is not None and least < 1:
                yield _nothing_in(value, axis, outer)


@dataclass(frozen=True, slots=True)
class _End:
    """Where a range is shortest, `least` points: at the end of another axis, or (`first`) at its beginning. `clause`:
    what that axis runs over without the points at which nothing is left."""

    least: Expr
    first: bool
    clause: str


def _shrinks(axis: Axis, outer: Sequence[Axis]) -> _End | None:
    """The end of the one outer axis, by steps of one, towards which the range of `axis` becomes shorter."""
    parts = linear_parts(axis.upper - axis.lower, [a.name for a in outer])
    if len(outer) != 1 or parts is None:
        return None
    (around,), (factors, rest) = outer, parts
    if factors.get(around.name) == algebra.ONE:
        return _End(around.lower + rest, True, f"for {around.name} in {1 - rest}..{around.upper}")
    if factors.get(around.name) == algebra.expr(-1):
        return _End(rest - around.upper + 1, False, f"for {around.name} in {around.lower}..{rest}")
    return None


def _unconditional(value: Value) -> Iterator[Value]:
    """`value` and everything below it that is evaluated at every point."""
    yield value
    for child in (value.condition,) if isinstance(value, Where) else children(value):
        yield from _unconditional(child)


def _nothing_in(value: Reduce, axis: Axis, outer: Sequence[Axis]) -> Problem:
    end = _shrinks(axis, outer)
    return problem(
        "TG0326",
        value.span,
        reduction=value.op,
        axis=axis.name,
        lower=axis.lower,
        upper=axis.upper,
        beginning=end.clause if end is not None and end.first else None,
        end=end.clause if end is not None and not end.first else None,
    )
