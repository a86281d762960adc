"""What a launch must satisfy: divisibility and alignment for vectors, spans for 32-bit indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tilegen.algebra import Apply, Expr, Op, Sym, evaluate, exact_quotient, expr, maximum, product, sym
from tilegen.core.nest.affine import Run, Step, step_along
from tilegen.core.nest.model import Access, Nest, stride_symbol
from tilegen.core.plan.model import (
    FIELD,
    Aligned,
    AtLeast,
    AtMost,
    Compute,
    Condition,
    Equals,
    Load,
    Multiple,
)
from tilegen.core.plan.problems import not_along
from tilegen.core.schedule.model import Schedule
from tilegen.dtypes import Struct
from tilegen.lang.diagnostics import SpecError

# Coordinates run past an extent by less than a tile before their guard; the largest tile is far below this.
INDEX_LIMIT = 2**31 - 1 - 2**16


def vector_conditions(nest: Nest, compute: Compute, loads: tuple[Load, ...]) -> tuple[Condition, ...]:
    """Conditions under which every access of more than one element is aligned and inside."""
    found: dict[Condition, None] = {}
    run = compute.sweep.run
    for access, width in compute.widths:
        assert run is not None
        aligned_access(nest, access, replace(run, width=width), access.address, found)
    if run is not None and not compute.tail:
        multiple(whole_run(nest, run), run.width, found)
    for load in loads:
        if load.width > 1:
            assert load.sweep.run is not None
            aligned_access(nest, load.access, load.sweep.run, load.address, found)
            multiple(whole_run(nest, load.sweep.run), load.width, found)
    return tuple(c for n, c in enumerate(found) if not _follows(c, list(found), n))


def aligned(nest: Nest, accesses: tuple[tuple[Access, Run, Expr], ...]) -> tuple[Condition, ...]:
    """Conditions under which accesses of whole items, (access, item, address), are aligned."""
    found: dict[Condition, None] = {}
    for access, run, address in accesses:
        aligned_access(nest, access, run, address, found)
    return tuple(c for n, c in enumerate(found) if not _follows(c, list(found), n))


# An access, the axis of the run that it is made along (None where it is made once), and its step there.
Followed = tuple[Access, str | None, Step | None]


def require_along(nest: Nest, schedule: Schedule, accesses: Iterable[Followed], fast: str | None) -> None:
    """Every tensor that a user wants in vectors has an access along a run; one that is not named may be one element
    for all of it. `fast`: the axis that threads walk. Raises TG0607."""
    if not schedule.writes("vector"):
        return
    tensors = {p.name: p.tensor for p in nest.pointers}
    wide = [f for f in accesses if schedule.width_of(tensors[f[0].pointer]) > 1]
    moving = {tensors[a.pointer] for a, _, step in wide if step is not None and step.step}
    others = [f for f in wide if tensors[f[0].pointer] not in moving]
    apart: list[tuple[Access, str | None]]
    apart = [(a, axis) for a, axis, step in others if axis is not None and step is None]
    still = [(a, fast) for a, axis, step in others if axis is None or step is not None]
    wrong = apart or [(a, axis) for a, axis in still if schedule.names_width(tensors[a.pointer])]
    if wrong:
        refused = {tensors[a.pointer] for a, _ in wrong}
        kept = [t for t in dict.fromkeys(tensors[a.pointer] for a, _, _ in wide) if t not in refused]
        raise SpecError([not_along(nest, *wrong[0], schedule, False, kept, "threads walk")])


def _follows(condition: Condition, conditions: list[Condition], position: int) -> bool:
    """Whether a divisibility follows from another one: its value is a multiple of the other's."""
    if not isinstance(condition, Multiple):
        return False
    for n, other in enumerate(conditions):
        if n == position or not isinstance(other, Multiple) or other.factor % condition.factor:
            continue
        if len(other.value.terms) != 1 or exact_quotient(condition.value, other.value) is None:
            continue
        mutual = other.factor == condition.factor and exact_quotient(other.value, condition.value) is not None
        if not mutual or n < position:
            return True
    return False


def whole_run(nest: Nest, run: Run) -> Expr:
    """Points of a run that is not cut into tiles."""
    last, points = run.axes[-1]
    whole = run.points // points
    return whole * (expr(points) if last == FIELD else nest.axis(last).extent)


def needs_tail(nest: Nest, run: Run, conditions: tuple[Condition, ...]) -> bool:
    """Whether the run may end inside an item although every access is aligned."""
    total = whole_run(nest, run)
    if not run.single or (total.constant is not None and total.constant % run.width == 0):
        return False
    return Multiple(total, run.width) not in conditions


def aligned_access(nest: Nest, access: Access, run: Run, address: Expr, found: dict[Condition, None]) -> None:
    """Conditions under which `access` can move a whole item of `run` at once."""
    step = step_along(nest, access, run, address)
    assert step is not None and step.step == 1
    pointer = nest.pointer(access.pointer)
    assert not isinstance(pointer.dtype, Struct)
    found[Aligned(access.pointer, run.width * pointer.dtype.size)] = None
    for value in step.divisible:
        multiple(value, run.width, found)


def multiple(value: Expr, factor: int, found: dict[Condition, None]) -> None:
    """The condition that `value` is a multiple of `factor`, unless it is known to be."""
    if value.constant is None or value.constant % factor:
        negative = all(c < 0 for _, c in value.terms)
        found[Multiple(-value if negative else value, factor)] = None


def index_conditions(nest: Nest) -> tuple[AtMost, ...]:
    """Under these, no index expression leaves 32 bits: the sum of the magnitudes of an address's terms is small enough.

    Counts strides, not elements; overestimates where terms cancel (a flip), which costs speed, never correctness.
    """
    extents = {a.name: a.extent for a in nest.axes}
    signed = {stride_symbol(t, d) for t, d in nest.dynamic_strides} | {s.name for s in nest.kernel.scalars}
    conditions: dict[AtMost, None] = {}
    for access in nest.accesses():
        limits = extents | {c.symbol: c.extent for c in access.checked}
        span = _magnitude(access.address, limits, signed)
        for c in access.checked:
            if isinstance(c.index, Expr):
                conditions[AtMost(_magnitude(c.index, limits, signed) + c.extent * 2, INDEX_LIMIT)] = None
        if span.constant is None or span.constant > INDEX_LIMIT:
            conditions[AtMost(span, INDEX_LIMIT)] = None
    if not conditions:
        total = product(extents.values())
        if total.constant is None:
            conditions[AtMost(total, INDEX_LIMIT)] = None
    return tuple(c for c in conditions if not any(_implied(c, other) for other in conditions if other != c))


def _implied(condition: AtMost, by: AtMost) -> bool:
    """Whether `condition` holds wherever `by` does: it is smaller term by term."""
    return condition.limit >= by.limit and all(c >= 0 for _, c in (by.value - condition.value).terms)


def magnitude(value: Expr, nest: Nest) -> Expr:
    """A bound of the absolute value of `value`, and of every partial sum of it, at all points of the nest."""
    signed = {stride_symbol(t, d) for t, d in nest.dynamic_strides} | {s.name for s in nest.kernel.scalars}
    return _magnitude(value, {a.name: a.extent for a in nest.axes}, signed)


def _magnitude(value: Expr, extents: dict[str, Expr], signed: set[str]) -> Expr:
    total = expr(0)
    for monomial, coefficient in value.terms:
        term = expr(abs(coefficient))
        for atom in monomial:
            term = term * _atom(atom, extents, signed)
        total = total + term
    return total


def _atom(atom: Sym | Apply, extents: dict[str, Expr], signed: set[str]) -> Expr:
    if isinstance(atom, Sym):
        if atom.name in extents:
            return extents[atom.name]
        return maximum(sym(atom.name), -sym(atom.name)) if atom.name in signed else sym(atom.name)
    match atom.op:
        case Op.FLOOR_DIV:
            return _magnitude(atom.left, extents, signed) // atom.right + 1
        case Op.MOD:
            return _magnitude(atom.right, extents, signed)
        case Op.MIN | Op.MAX | Op.XOR:
            return _magnitude(atom.left, extents, signed) + _magnitude(atom.right, extents, signed)


def holds(condition: Condition, values: Mapping[str, int], pointers: Mapping[str, int]) -> bool:
    """Whether a launch condition is met. `values`: sizes and strides; `pointers`: addresses by pointer name."""
    match condition:
        case Multiple():
            return bool(evaluate(condition.value, values) % condition.factor == 0)
        case Aligned():
            return pointers[condition.pointer] % condition.bytes == 0
        case Equals():
            return bool(evaluate(condition.value, values) == condition.number)
        case AtMost():
            return bool(evaluate(condition.value, values) <= condition.limit)
        case AtLeast():
            return bool(evaluate(condition.value, values) >= condition.limit)


def always(condition: Condition) -> bool | None:
    """Whether a condition holds in every launch, True, or in none, False; None where the launch decides."""
    if isinstance(condition, Aligned) or condition.value.constant is None:
        return None
    return holds(condition, {}, {})
