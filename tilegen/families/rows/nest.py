"""The nest of a kernel with reductions: points that do not depend on each other, and for each of them one or more rows.

A row is a box of axes that reductions run over. Reductions over boxes with the same ranges share one row, whatever
their axes are called (`max[k](x[i, k])` and an output over `j` are one row where `k` and `j` have one extent): then
what one of them reads, the others can use again. See docs/decisions/0014-reductions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations

from tilegen.algebra import Expr, substitute, sym
from tilegen.core.nest.build import (
    closed_values,
    nest_over,
    not_yet,
)
from tilegen.core.nest.merge import drop_unit_axes, merge_axes
from tilegen.core.nest.model import Nest
from tilegen.core.nest.reductions import reductions_of
from tilegen.core.nest.values import free_names, reads_outside, rebuilt, substitute_axes
from tilegen.families.rows.centred import Centred
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import (
    Assign,
    Axis,
    Kernel,
    Read,
    Reduce,
    Value,
    walk,
)

Ranges = tuple[tuple[Expr, Expr], ...]


def reduce_nest(
    kernel: Kernel, constants: Mapping[str, int] | None = None, keep: frozenset[str] = frozenset()
) -> Nest:
    """The nest of `kernel`, unit axes dropped and neighbouring ones merged but for those in `keep`.

    Raises SpecError: TG0701 (what cannot be generated yet), TG0702 (assignments without a shared space).
    """
    values, lets, closed = closed_values(kernel, constants)
    space = _Space(kernel, values, closed)
    centred = Centred(space.row_of)
    named = tuple((name, centred(space.rewritten(value))) for name, value in lets)
    written = {number: centred(space.rewritten(value)) for number, value in closed.items()}
    rows = tuple(tuple(a.name for a in row.axes) for row in space.rows)
    axes = (*space.parallel, *(a for row in space.rows for a in row.axes))
    nest = nest_over(kernel, values, axes, written, named, tuple(n for row in rows for n in row))
    called = {old: new for old, new in space.called.items() if old not in nest.axis_values}
    moved = {old: nest.axis_values[new] for old, new in called.items()}
    nest = replace(nest, rows=rows, row_of=dict(space.row_of), axis_values={**nest.axis_values, **moved})
    keep = frozenset("*".join(called.get(part, part) for part in name.split("*")) for name in keep)
    return merge_axes(drop_unit_axes(nest, keep), keep)


@dataclass(slots=True)
class _Row:
    """`reads`: what is read along it, by the names of its axes."""

    axes: tuple[Axis, ...]
    reads: set[Read] = field(default_factory=set)


class _Space:
    """Which axes are parallel, and the rows that the reductions of a kernel run over."""

    def __init__(self, kernel: Kernel, values: Mapping[str, int], closed: Mapping[str, Value]) -> None:
        self.kernel, self.values = kernel, values
        self.assigns = kernel.assigns
        reductions = reductions_of(closed.values())
        self._require_plain(reductions)
        self.parallel = self._parallel(reductions)
        self.names = {a.name for a in self.parallel}
        self.rows: list[_Row] = []
        self.row_of: dict[Reduce, int] = {}
        # What the axes of reductions are called in the spec, and what they are one with.
        self.called: dict[str, str] = {}
        self._rewritten: dict[Value, Value] = {}
        rests = [tuple(a for a in s.axes if a.name not in self.names) for s in self.assigns]
        for assign, rest in zip(self.assigns, rests, strict=True):
            if rest:
                self._store_row(assign, rest)
        if self.rows:
            for number, rest in enumerate(rests):
                if rest:
                    self.rows[0].reads |= set(reads_outside(closed[str(number)]))

    def _range(self, axis: Axis) -> tuple[Expr, Expr]:
        return substitute(axis.lower, self.values), substitute(axis.upper, self.values)

    def _require_plain(self, reductions: tuple[Reduce, ...]) -> None:
        """A reduction inside another one must not run along with the outer one's axes."""
        for outer in reductions:
            bound = {a.name for a in outer.axes}
            for inner in walk(outer.body):
                if isinstance(inner, Reduce) and free_names(inner) & bound:
                    raise SpecError(
                        [
                            not_yet(
                                f"`{inner.op.value}` for each element of `{outer.op.value}` cannot be generated yet",
                                inner.span,
                                "write the inner reduction to an output of a kernel of its own",
                            )
                        ]
                    )

    def _parallel(self, reductions: tuple[Reduce, ...]) -> tuple[Axis, ...]:
        """Axes that every reduction may depend on; what is left of each assignment must run along a row."""
        every = {a.name for s in self.assigns for a in s.axes}
        free = frozenset().union(*(free_names(r) for r in reductions)) & every
        ranges = [self._ranges(r.axes) for r in reductions]

        def fits(names: frozenset[str] | set[str]) -> bool:
            rests = [tuple(a for a in s.axes if a.name not in names) for s in self.assigns]
            return all(names <= {a.name for a in s.axes} for s in self.assigns) and all(
                not rest or any(sorted(map(str, r)) == sorted(map(str, self._ranges(rest))) for r in ranges)
                for rest in rests
            )

        chosen = free if fits(free) else every
        first = self.assigns[0]
        found = tuple(a for a in first.axes if a.name in chosen)
        for assign in self.assigns:
            own = {a.name: self._range(a) for a in assign.axes if a.name in chosen}
            if own != {a.name: self._range(a) for a in found} or len(own) != len(chosen):
                raise SpecError([self._apart(first, assign)])
        return found

    def _ranges(self, axes: tuple[Axis, ...]) -> Ranges:
        return tuple(self._range(a) for a in axes)

    def _apart(self, first: Assign, other: Assign) -> Diagnostic:
        def space(assign: Assign) -> str:
            return ", ".join(f"{a.name} in {a.lower}..{a.upper}" for a in assign.axes) or "a single point"

        return Diagnostic(
            "TG0702",
            f"`{first.tensor}` and `{other.tensor}` are not computed over the same axes and ranges",
            other.span,
            notes=(
                f"`{first.tensor}` runs over {space(first)}, `{other.tensor}` over {space(other)}; their reductions "
                "do not make them rows of one space",
            ),
            helps=("write them as two kernels",),
        )

    # Rows

    def _store_row(self, assign: Assign, rest: tuple[Axis, ...]) -> None:
        if not self.rows:
            self.rows.append(_Row(rest))
            return
        have = {a.name: self._range(a) for a in self.rows[0].axes}
        if {a.name: self._range(a) for a in rest} != have:
            raise SpecError([self._apart(self.assigns[0], assign)])

    def rewritten(self, value: Value) -> Value:
        """`value` with the axes of every reduction named as those of its row."""
        found = self._rewritten.get(value)
        if found is None:
            found = self._rewritten[value] = self._rewrite(value)
        return found

    def _rewrite(self, value: Value) -> Value:
        new = rebuilt(value, self.rewritten)
        return self._placed(new) if isinstance(new, Reduce) else new

    def _placed(self, node: Reduce) -> Reduce:
        best: tuple[int, int, Reduce] | None = None
        for number, row in enumerate(self.rows):
            for candidate in self._along(node, row):
                score = sum(read in row.reads for read in reads_outside(candidate.body))
                if best is None or score > best[0]:
                    best = (score, number, candidate)
        if best is None:
            fresh = self._fresh_axes(node.axes)
            self.rows.append(_Row(fresh))
            best = (0, len(self.rows) - 1, _renamed(node, fresh))
        _, number, placed = best
        self.rows[number].reads |= set(reads_outside(placed.body))
        for old, new in zip(node.axes, placed.axes, strict=True):
            self.called.setdefault(old.name, new.name)
        self.row_of[placed] = number
        return placed

    def _along(self, node: Reduce, row: _Row) -> Iterator[Reduce]:
        """The reduction over the axes of `row`, in every way that their ranges allow; as they are named comes first."""
        if len(row.axes) != len(node.axes):
            return
        ways = sorted(
            permutations(row.axes),
            key=lambda way: [a.name != b.name for a, b in zip(way, node.axes, strict=True)],
        )
        for way in ways:
            if self._ranges(way) == self._ranges(node.axes):
                yield _renamed(node, way)

    def _fresh_axes(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        taken = (
            self.names
            | {a.name for row in self.rows for a in row.axes}
            | {s.name for s in self.kernel.sizes}
            | {t.name for t in self.kernel.tensors}
        )
        fresh = []
        for axis in axes:
            name = axis.name
            while name in taken:
                name += "_"
            taken.add(name)
            fresh.append(replace(axis, name=name))
        return tuple(fresh)


def _renamed(node: Reduce, axes: tuple[Axis, ...]) -> Reduce:
    names = {
        old.name: sym(new.name) for old, new in zip(node.axes, axes, strict=True) if old.name != new.name
    }
    return replace(
        node,
        axes=tuple(replace(a, span=old.span) for a, old in zip(axes, node.axes, strict=True)),
        body=substitute_axes(node.body, names) if names else node.body,
    )
