"""In which order the reductions of a nest can be computed, and what one walk along a row leaves for the next.

A reduction whose body uses other reductions comes after them. Every walk evaluates all reductions of one level and row;
the last one writes the outputs along the row. Where a thread keeps its part of the row in registers (`whole`), a read
or a costly value of one walk is kept for the later ones that need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tilegen.algebra import symbols
from tilegen.core.nest.affine import depends_on
from tilegen.core.nest.model import Nest, Same, Store
from tilegen.core.nest.reductions import level_of, reductions_of
from tilegen.core.nest.values import certain, free_names, unconditional
from tilegen.lang.spec import Binary, BinaryOp, Call, Cast, Read, Reduce, Value, Where, children


@dataclass(frozen=True, slots=True)
class Pass:
    """One walk along row `row`. `reads`: what it reads anew at every point, without a condition; `keep`: values to keep
    for later walks; `known`: values and reads kept by earlier ones."""

    level: int
    row: int
    reductions: tuple[Reduce, ...]
    stores: tuple[Store, ...]
    reads: tuple[Read, ...]
    keep: tuple[Value, ...]
    known: tuple[Value, ...]

    @property
    def roots(self) -> tuple[Value, ...]:
        return (*(r.body for r in self.reductions), *(s.value for s in self.stores))


def row_stores(nest: Nest) -> tuple[Store, ...]:
    """Stores at every point of the first row."""
    return tuple(s for s in nest.stores if {a.name for a in s.assign.axes} & moving_names(nest))


def point_stores(nest: Nest) -> tuple[Store, ...]:
    """Stores once per row."""
    along = row_stores(nest)
    return tuple(s for s in nest.stores if s not in along)


def loaded_ahead(nest: Nest, step: Pass, read: Read) -> bool:
    """Whether a walk along rows that stay in registers loads a read before it computes: what all rows read stays in the
    caches, and is read when it is needed once the row itself takes the registers."""
    return step.level == 0 or differs(nest, read)


def differs(nest: Nest, read: Read) -> bool:
    """Whether rows read different elements."""
    return any(depends_on(nest.loads[read].address, a.name) for a in nest.parallel)


def walked_again(nest: Nest) -> bool:
    """Whether a row is walked more than once: for reductions of several levels, or for outputs along it."""
    return len({(s.level, s.row) for s in passes(nest, False)}) > len(nest.rows)


def is_of_the_row(nest: Nest, value: Value) -> bool:
    """Whether a value is the same along the whole row."""
    return not _moves(value, moving_names(nest))


def moving_names(nest: Nest) -> frozenset[str]:
    """Names, the spec's and the nest's, that change along a row."""
    return _moving_names(Same(nest))


@lru_cache(maxsize=16)
def _moving_names(same: Same[Nest]) -> frozenset[str]:
    nest, reduced = same.value, frozenset(same.value.reduced)
    return reduced | {n for n, value in nest.axis_values.items() if symbols(value) & reduced}


def passes(nest: Nest, whole: bool) -> tuple[Pass, ...]:
    """The walks in order. `whole`: threads keep their part of a row between walks."""
    return _passes(Same(nest), whole)


@lru_cache(maxsize=16)
def _passes(same: Same[Nest], whole: bool) -> tuple[Pass, ...]:
    nest = same.value
    moving = moving_names(nest)
    found = reductions_of(s.value for s in nest.stores)
    work: list[tuple[int, int, tuple[Reduce, ...], tuple[Store, ...]]] = []
    levels = 1 + max(map(level_of, found), default=-1)
    for level in range(levels):
        for row in range(len(nest.rows)):
            here = tuple(r for r in found if level_of(r) == level and nest.row_of[r] == row)
            if here:
                work.append((level, row, here, ()))
    if row_stores(nest):
        work.append((levels, 0, (), row_stores(nest)))

    seen: list[set[Value]] = []
    needed: list[set[Value]] = []
    for position, (_, row, reductions, stores) in enumerate(work):
        roots = (*(r.body for r in reductions), *(s.value for s in stores))
        walks = [p for p in reversed(range(position)) if whole and work[p][1] == row]
        earlier = {v: p for p in walks for v in seen[p]}
        uses: set[Value] = set()
        for root in roots:
            _collect(root, moving, earlier, uses)
        needed.append(uses)
        seen.append({v for root in roots for v in unconditional(root) if _moves(v, moving)})

    result = []
    for position, (level, row, reductions, stores) in enumerate(work):
        roots = (*(r.body for r in reductions), *(s.value for s in stores))
        later = (
            {v for p in range(position + 1, len(work)) if work[p][1] == row for v in needed[p]}
            if whole
            else set()
        )
        first = {
            v
            for v in later
            if v in seen[position] and not any(v in seen[p] for p in range(position) if work[p][1] == row)
        }
        known = {
            v
            for v in needed[position]
            if whole and any(v in seen[p] for p in range(position) if work[p][1] == row)
        }
        reads = _reads(roots, moving, known)
        keep = tuple(
            v
            for v in dict.fromkeys(v for r in roots for v in unconditional(r))
            if v in first and v not in reads
        )
        result.append(Pass(level, row, reductions, stores, reads, keep, tuple(sorted(known, key=repr))))
    return tuple(result)


def _moves(value: Value, moving: frozenset[str]) -> bool:
    """Whether a value changes along the row."""
    return bool(free_names(value) & moving)


def _collect(value: Value, moving: frozenset[str], earlier: Mapping[Value, int], uses: set[Value]) -> None:
    """The values of earlier walks that are worth keeping for `value`; `earlier`: the first walk that has each."""
    if isinstance(value, Reduce) or not _moves(value, moving):
        return
    if value in earlier and (isinstance(value, Read) or _costly(value, moving, earlier)):
        uses.add(value)
        return
    for child in children(value):
        _collect(child, moving, earlier, uses)


def _costly(value: Value, moving: frozenset[str], earlier: Mapping[Value, int]) -> bool:
    """Whether a value takes more than a few instructions to compute again from what earlier walks than its own have."""
    if isinstance(value, Cast | Reduce | Read) or not _moves(value, moving):
        return False
    if isinstance(value, Call | Where):
        return True
    if isinstance(value, Binary) and value.op in (BinaryOp.DIVIDE, BinaryOp.POWER, BinaryOp.REMAINDER):
        return True
    own = [c for c in children(value) if earlier.get(c, earlier[value]) == earlier[value]]
    return any(_costly(child, moving, {**earlier, child: earlier[value]}) for child in own)


def _reads(roots: tuple[Value, ...], moving: frozenset[str], known: set[Value]) -> tuple[Read, ...]:
    found: dict[Read, None] = {}

    def visit(value: Value) -> None:
        if value in known or isinstance(value, Reduce):
            return
        if isinstance(value, Read) and _moves(value, moving):
            found[value] = None
        for child in certain(value):
            visit(child)

    for root in roots:
        visit(root)
    return tuple(found)
