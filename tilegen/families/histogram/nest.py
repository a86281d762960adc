"""Histograms: reductions to which each element adds at one place only, named by keys that the element holds.

Recognised by the structure of the value; what is not one is a general reduction. See docs/decisions/0016-histograms.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tilegen.algebra import Expr, linear_parts, substitute, symbols
from tilegen.core.nest.build import closed_values, nest_over
from tilegen.core.nest.merge import drop_unit_axes, merge_axes
from tilegen.core.nest.model import Access, Nest
from tilegen.core.nest.value_range import integer_range
from tilegen.core.nest.values import free_names
from tilegen.dtypes import BOOL, Kind
from tilegen.lang.spec import (
    Axis,
    Binary,
    BinaryOp,
    Cast,
    IndexValue,
    Kernel,
    Literal,
    Read,
    Reduce,
    Reduction,
    Value,
    Where,
    walk,
)


@dataclass(frozen=True, slots=True)
class Match:
    """The condition `key == sign * axis + shift`: what bin of `axis` an element belongs to. `sign` is 1 or -1."""

    axis: Axis
    key: Value
    sign: int
    shift: Expr


Term = Match | Value


@dataclass(frozen=True, slots=True)
class Histogram:
    """An element adds `weight` (None: one) to the bin that the matches among `terms` name, if the other terms hold.

    `terms` in the order in which they are evaluated; names are those of the spec. `bins`: axes that matches name.
    `batch`: the other axes of the output.
    """

    reduce: Reduce
    terms: tuple[Term, ...]
    weight: Value | None
    bins: tuple[Axis, ...]
    batch: tuple[str, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """What is evaluated for each element, in order."""
        terms = tuple(t.key if isinstance(t, Match) else t for t in self.terms)
        return terms if self.weight is None else (*terms, self.weight)


def histogram_of(kernel: Kernel, closed: Mapping[str, Value]) -> Histogram | None:
    """The histogram that a kernel whose assignments have the values `closed` is; None if it is none."""
    if len(kernel.assigns) != 1:
        return None
    (assign,), value = kernel.assigns, closed["0"]
    reductions = [node for node in walk(value) if isinstance(node, Reduce)]
    if len(set(reductions)) != 1:
        return None
    node, outer = reductions[0], {a.name: a for a in assign.axes}
    if any(symbols(bound) & outer.keys() for a in node.axes for bound in (a.lower, a.upper)):
        return None
    split = _split(node)
    if split is None:
        return None
    conditions, weight = split
    terms = _matched(conditions, weight, outer, {a.name for a in node.axes})
    bins = tuple(t.axis for t in terms if isinstance(t, Match))
    if not bins:
        return None
    found = {a.name for a in bins}
    ordered = tuple(a for a in assign.axes if a.name in found)
    return Histogram(node, terms, weight, ordered, tuple(n for n in outer if n not in found))


def histogram_in(nest: Nest) -> Histogram:
    """The histogram of a nest made by `histogram_nest`."""
    found = histogram_of(nest.kernel, {"0": nest.stores[0].value})
    assert found is not None, "the nest of a histogram"
    return found


def histogram_nest(
    kernel: Kernel, constants: Mapping[str, int] | None = None, keep: Collection[str] = ()
) -> Nest:
    """The nest over output and elements, unit axes dropped and neighbouring ones merged but for bins and `keep`.

    Raises SpecError: TG0701 (memories that cannot be generated yet), TG0703, TG0704.
    """
    values, lets, closed = closed_values(kernel, constants)
    found = histogram_of(kernel, closed)
    assert found is not None, "a kernel of the histogram family"
    (assign,), elements = kernel.assigns, found.reduce.axes
    nest = nest_over(kernel, values, (*assign.axes, *elements), closed, lets, tuple(a.name for a in elements))
    kept = {*keep, *(a.name for a in found.bins)}
    return merge_axes(drop_unit_axes(nest, kept), kept)


def element_reads(nest: Nest, found: Histogram) -> tuple[Read, ...]:
    """Distinct reads that are made for each element, in order."""
    return tuple(dict.fromkeys(n for v in found.values for n in walk(v) if isinstance(n, Read)))


def element_accesses(nest: Nest, found: Histogram) -> tuple[Access, ...]:
    return tuple(dict.fromkeys(nest.loads[r] for r in element_reads(nest, found)))


# The body of the reduction: conditions and a weight


def _split(node: Reduce) -> tuple[tuple[Value, ...], Value | None] | None:
    match node.op:
        case Reduction.COUNT:
            return _conjuncts(node.body), None
        case Reduction.SUM if node.dtype.is_integer:
            return _weighted(node.body)
        case _:
            return None


def _conjuncts(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Binary) and value.op is BinaryOp.AND:
        return (*_conjuncts(value.left), *_conjuncts(value.right))
    return (value,)


def _weighted(body: Value) -> tuple[tuple[Value, ...], Value | None] | None:
    """Conditions outside of which `body` is 0, and its value inside (None: one)."""
    match body:
        case Cast() if body.operand.dtype == BOOL and body.dtype.is_integer:
            return _conjuncts(body.operand), None
        case Cast() if body.operand.dtype.is_integer and body.dtype.is_integer:
            inner = _weighted(body.operand)
            if inner is None or inner[1] is None:
                return inner
            return inner[0], Cast(inner[1], body.dtype)
        case Where(otherwise=Literal(value=0)):
            inner = _weighted(body.then)
            if inner is not None:
                return (*_conjuncts(body.condition), *inner[0]), inner[1]
            one = isinstance(body.then, Literal) and body.then.value == 1
            return _conjuncts(body.condition), None if one else body.then
        case Binary(op=BinaryOp.MULTIPLY):
            return _product(body.left, body.right) or _product(body.right, body.left)
        case _:
            return None


def _product(first: Value, second: Value) -> tuple[tuple[Value, ...], Value | None] | None:
    """`first * second` where `first` is one inside its conditions."""
    left = _weighted(first)
    if left is None or left[1] is not None:
        return None
    right = _weighted(second)
    return (left[0], second) if right is None else ((*left[0], *right[0]), right[1])


# Which condition names a bin


def _matched(
    conditions: tuple[Value, ...], weight: Value | None, outer: Mapping[str, Axis], elements: Collection[str]
) -> tuple[Term, ...]:
    """The conditions, with those in place of which a `Match` may stand."""
    uses = [free_names(c) for c in conditions]
    weighed = frozenset() if weight is None else free_names(weight)
    taken: set[int] = set()
    terms: list[Term] = list(conditions)
    for name, axis in outer.items():
        at = [n for n, names in enumerate(uses) if name in names]
        if len(at) != 1 or name in weighed or at[0] in taken:
            continue
        match = _match(conditions[at[0]], axis, {*outer, *elements})
        if match is not None:
            terms[at[0]] = match
            taken.add(at[0])
    return tuple(terms)


def _match(condition: Value, axis: Axis, axes: Collection[str]) -> Match | None:
    if not isinstance(condition, Binary) or condition.op is not BinaryOp.EQUAL:
        return None
    for key, side in ((condition.left, condition.right), (condition.right, condition.left)):
        exact = _exact(key, side, axis)
        if exact is None or axis.name in free_names(exact[0]):
            continue
        key, index = exact
        parts = linear_parts(index, [axis.name])
        step = None if parts is None else parts[0].get(axis.name)
        if parts is None or step is None or step.constant not in (1, -1) or symbols(parts[1]) & set(axes):
            continue
        return Match(axis, narrowed(key), int(step.constant), parts[1])
    return None


# Integers up to here are exact in f64, the type in which u64 meets an index.
_EXACT = 2**53


def _exact(key: Value, side: Value, axis: Axis) -> tuple[Value, Expr] | None:
    """Key and index of an equation of integers; also of one in f64 that says the same."""
    if isinstance(side, IndexValue) and key.dtype.is_integer:
        return key, side.index
    match key, side:
        case Cast(operand=whole), Cast(operand=IndexValue(index=index)) if key.dtype.kind is Kind.FLOAT:
            ends = (substitute(index, {axis.name: e}).constant for e in (axis.lower, axis.upper))
            inside = all(e is not None and 0 <= e <= _EXACT for e in ends)
            if whole.dtype.name == "u64" and key.dtype.size == 8 and inside:
                return whole, index
    return None


def narrowed(value: Value) -> Value:
    """`value` without conversions to wider integers, which change nothing."""
    while isinstance(value, Cast) and value.dtype.is_integer:
        inner, outer = integer_range(value.operand.dtype), integer_range(value.dtype)
        if inner is None or outer is None or inner[0] < outer[0] or inner[1] > outer[1]:
            break
        value = value.operand
    return value
