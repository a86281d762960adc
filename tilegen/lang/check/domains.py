"""Axes and their ranges: which names are axes, where each takes its extent from, what they range over.

A dimension that an axis indexes alone gives the axis its extent; further ones must agree, and where that depends on
the sizes of a call the agreement is kept as a binding. Behind a `where` on an axis, a dimension gives that axis no
extent (the condition bounds the read; the bounds proof has the last word). An explicit range wins over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilegen import algebra
from tilegen.algebra import NON_NEGATIVE, ZERO, Expr, substitute
from tilegen.lang import syntax
from tilegen.lang.check.indices import size_expression
from tilegen.lang.check.names import Candidate, NameRules, Occurrence
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Fact, NameKind, Scope
from tilegen.lang.near import near_to
from tilegen.lang.source import Span
from tilegen.lang.spec import Axis


@dataclass
class Domain:
    """The axes of a statement and of each reduction in it (by identity of its node)."""

    axes: tuple[Axis, ...]
    reductions: dict[int, tuple[Axis, ...]]


@dataclass
class Bindings:
    """Pairs of expressions that sizes must make equal, each pair once."""

    pairs: list[tuple[Expr, Expr]] = field(default_factory=list)

    def add(self, left: Expr, right: Expr) -> None:
        if not any({left, right} == {a, b} for a, b in self.pairs):
            self.pairs.append((left, right))


class DomainFinder(NameRules):
    """Finds the range of every axis of one statement."""

    def __init__(self, scope: Scope, bindings: Bindings, problems: Problems) -> None:
        super().__init__(scope, problems)
        self.bindings = bindings
        self.guards: frozenset[str] = frozenset()
        self.reductions: dict[int, tuple[Axis, ...]] = {}

    def find(
        self,
        node: syntax.AssignStatement | syntax.LetStatement,
        target: Sequence[syntax.Expression],
        base: str | None,
    ) -> Domain | None:
        """Axes of the statement `base[target] = …`; `base` None for a let."""
        self.frames = [{}]
        for index in target:
            for name in self.axis_names(index):
                self.frames[0].setdefault(name.name, Candidate(name.name, name.span))
        self._ranges(node.ranges)
        if base is not None:
            self.target = True
            self.indices(base, target)
            self.target = False
        self.value(node.value)
        axes = self._settle_all(self.frames[0], node)
        return None if axes is None or self.failed else Domain(axes, self.reductions)

    # Axes -----------------------------------------------------------------------------------------------------------

    def alone(self, name: syntax.Name, base: str, dimension: int) -> None:
        for frame in reversed(self.frames):
            if name.name in frame:
                lower, upper = list(self.scope.ranges(base))[dimension]
                guarded = name.name in self.guards
                found = Occurrence(algebra.expr(lower), upper, base, dimension, name.span, guarded)
                frame[name.name].occurrences.append(found)
                return

    def where(self, call: syntax.CallExpression) -> None:
        condition, *sides = call.arguments
        self.value(condition)
        outside = self.guards
        self.guards = outside | {n.name for n in self.axis_names(condition)}
        for side in sides:
            self.value(side)
        self.guards = outside

    def reduce(self, reduction: syntax.ReduceExpression) -> None:
        frame: dict[str, Candidate] = {}
        for clause in reduction.axes:
            if self._binder(clause, frame):
                given = clause if clause.upper is not None else None
                frame[clause.axis.name] = Candidate(clause.axis.name, clause.axis.span, given)
        self.frames.append(frame)
        self.value(reduction.body)
        self.frames.pop()
        axes = self._settle_all(frame, None)
        if axes is not None and len(axes) == len(reduction.axes):
            self.reductions[id(reduction)] = axes
        else:
            self.failed = True

    def _binder(self, clause: syntax.RangeClause, frame: dict[str, Candidate]) -> bool:
        name, declared = clause.axis.name, self.scope.declared
        if not self.scope.sure(Fact.MEANING, name):
            self.failed = True
        elif not self.scope.is_axis(name):
            kind = declared[name][0] if name in declared else NameKind.LOCAL
            self.report("TG0306.kind", clause.axis.span, name=name, kind=kind)
        elif name in frame or self.axis_known(name):
            self.report("TG0306.axis", clause.axis.span, name=name)
        else:
            return True
        self.reported.add(name)
        return False

    def _ranges(self, ranges: Sequence[syntax.RangeClause]) -> None:
        frame = self.frames[0]
        for clause in ranges:
            name, candidate = clause.axis.name, frame.get(clause.axis.name)
            if not self.scope.sure(Fact.MEANING, name):
                self.failed = True
            elif candidate is None:
                self.report(
                    "TG0307.axis",
                    clause.axis.span,
                    name=near_to(name, [n for n, c in frame.items() if c.range is None]),
                )
                self.reported.add(name)
            elif candidate.range is not None:
                self.report("TG0307.twice", clause.span, name=name, earlier=candidate.range.span)
            else:
                candidate.range = clause

    # Ranges ---------------------------------------------------------------------------------------------------------

    def _settle_all(
        self, frame: dict[str, Candidate], node: syntax.AssignStatement | syntax.LetStatement | None
    ) -> tuple[Axis, ...] | None:
        """`node`: the statement whose axes they are, None for those of a reduction."""
        axes = [self._settle(c, node) for c in frame.values()]
        known = tuple(a for a in axes if a is not None)
        if len(known) < len(axes):
            self.failed = True
            return None
        return known

    def _settle(
        self, candidate: Candidate, node: syntax.AssignStatement | syntax.LetStatement | None
    ) -> Axis | None:
        if candidate.range is not None and candidate.range.upper is not None:
            return self._explicit(candidate, candidate.range)
        strong = [o for o in candidate.occurrences if not o.guarded]
        chosen = (strong or candidate.occurrences)[:1]
        if not chosen:
            if not self.failed:
                self.report(
                    "TG0304.reduced" if node is None else "TG0304.axis", candidate.span, name=candidate.name
                )
            return None
        for other in strong[1:]:
            self._agree(candidate, chosen[0], other, node)
        return Axis(candidate.name, chosen[0].lower, chosen[0].upper, candidate.span)

    def _explicit(self, candidate: Candidate, clause: syntax.RangeClause) -> Axis | None:
        outer = self.axes_in_scope if candidate.name not in self.frames[0] else []
        ends = [
            size_expression(end, self.scope, self.problems, "TG0317", outer)
            for end in (clause.lower, clause.upper)
            if end is not None
        ]
        lower, upper = ends if len(ends) == 2 else (None, None)
        if lower is None or upper is None:
            self.failed = True
            return None
        return Axis(candidate.name, lower, upper + 1 if clause.inclusive else upper, candidate.span)

    def _agree(
        self,
        candidate: Candidate,
        first: Occurrence,
        other: Occurrence,
        node: syntax.AssignStatement | syntax.LetStatement | None,
    ) -> None:
        for a, b in ((first.lower, other.lower), (first.upper, other.upper)):
            if a == b:
                continue
            if can_be_equal(a, b, self.scope.defaults):
                self.bindings.add(a, b)
                continue
            range_text = f"{candidate.name} in {first.lower}..{smaller(first.upper, other.upper)}"
            place, typed = candidate.span, range_text
            if node is not None:
                place = Span(node.span.source, node.span.end, node.span.end)
                typed, range_text = f"{',' if node.ranges else ' for'} {range_text}", f"for {range_text}"
            self.report(
                "TG0302",
                other.span,
                name=candidate.name,
                first=first.upper,
                first_place=first.span,
                first_dimension=first.dimension,
                first_tensor=first.tensor,
                other=other.upper,
                other_dimension=other.dimension,
                other_tensor=other.tensor,
                range=range_text,
                typed=typed,
                place=place,
            )
            return


def smaller(a: Expr, b: Expr) -> Expr:
    """The smaller of two expressions if that is known, else the first."""
    return b if algebra.bounds(a - b, dict.fromkeys(algebra.symbols(a - b), NON_NEGATIVE)).low >= 0 else a


def can_be_equal(a: Expr, b: Expr, defaults: dict[str, int]) -> bool:
    """Whether some sizes make the two equal, as far as intervals tell; compile-time sizes have their values."""
    difference = substitute(a - b, dict(defaults))
    interval = algebra.bounds(difference, dict.fromkeys(algebra.symbols(difference), NON_NEGATIVE))
    return difference == ZERO or (interval.low <= 0 <= interval.high and difference.constant is None)
