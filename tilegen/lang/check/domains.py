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
from tilegen.lang.check.names import NameRules
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Scope
from tilegen.lang.source import Span
from tilegen.lang.spec import Axis


@dataclass
class Domain:
    """The axes of a statement and of each reduction in it (by identity of its node)."""

    axes: tuple[Axis, ...]
    reductions: dict[int, tuple[Axis, ...]]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A dimension that an axis indexes alone."""

    lower: Expr
    upper: Expr
    what: str
    span: Span
    guarded: bool


@dataclass
class Candidate:
    """An axis of which the range is being looked for."""

    name: str
    span: Span
    range: syntax.RangeClause | None = None
    occurrences: list[Occurrence] = field(default_factory=list)


@dataclass
class Bindings:
    """Pairs of expressions that sizes must make equal, each pair once."""

    pairs: list[tuple[Expr, Expr]] = field(default_factory=list)

    def add(self, left: Expr, right: Expr) -> None:
        if not any({left, right} == {a, b} for a, b in self.pairs):
            self.pairs.append((left, right))


class DomainFinder(NameRules):
    """Walks one statement, opening a frame of axes for each reduction."""

    def __init__(self, scope: Scope, bindings: Bindings, problems: Problems) -> None:
        super().__init__(scope, problems)
        self.bindings = bindings
        self.frames: list[dict[str, Candidate]] = []
        self.guards: frozenset[str] = frozenset()
        self.reductions: dict[int, tuple[Axis, ...]] = {}
        self.failed = False

    def fail(self) -> None:
        self.failed = True

    def find(
        self,
        target: Sequence[syntax.Expression],
        base: str | None,
        value: syntax.Expression,
        ranges: Sequence[syntax.RangeClause],
    ) -> Domain | None:
        """Axes of `base[target] = value for ranges`; `base` None for a let."""
        self.frames = [{}]
        for index in target:
            for name in self.axis_names(index):
                self.frames[0].setdefault(name.name, Candidate(name.name, name.span))
        self._ranges(ranges)
        if base is not None:
            self.target = True
            self.indices(base, target)
            self.target = False
        self.value(value)
        axes = self._settle_all(self.frames[0])
        return None if axes is None or self.failed else Domain(axes, self.reductions)

    # Axes -----------------------------------------------------------------------------------------------------------

    def axis_known(self, name: str) -> bool:
        return any(name in frame for frame in self.frames)

    @property
    def axes_in_scope(self) -> list[str]:
        return [name for frame in self.frames for name in frame]

    def alone(self, name: syntax.Name, lower: Expr | int, upper: Expr, what: str) -> None:
        for frame in reversed(self.frames):
            if name.name in frame:
                guarded = name.name in self.guards
                occurrence = Occurrence(algebra.expr(lower), upper, what, name.span, guarded)
                frame[name.name].occurrences.append(occurrence)
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
                frame[clause.axis.name] = Candidate(
                    clause.axis.name, clause.axis.span, clause if clause.upper is not None else None
                )
        self.frames.append(frame)
        self.value(reduction.body)
        self.frames.pop()
        axes = self._settle_all(frame)
        if axes is None or len(axes) < len(reduction.axes):
            self.fail()
        else:
            self.reductions[id(reduction)] = axes

    def _binder(self, clause: syntax.RangeClause, frame: dict[str, Candidate]) -> bool:
        name = clause.axis.name
        if not self.scope.is_axis(name):
            kind = self.scope.declared[name][0] if name in self.scope.declared else "local"
            self.problems.error(
                "TG0306",
                f"`{name}` is a {kind}, and a reduction needs an axis",
                clause.axis.span,
                help="choose another name",
            )
        elif name in frame or self.axis_known(name):
            self.problems.error(
                "TG0306",
                f"`{name}` is already an axis here",
                clause.axis.span,
                help="give the reduction an axis of its own",
            )
        else:
            return True
        self.fail()
        return False

    def _ranges(self, ranges: Sequence[syntax.RangeClause]) -> None:
        frame = self.frames[0]
        for clause in ranges:
            candidate = frame.get(clause.axis.name)
            if candidate is None:
                self.problems.error(
                    "TG0307",
                    f"`{clause.axis.name}` has a range and is not an axis of the left-hand side",
                    clause.axis.span,
                    help=f"axes there: {', '.join(f'`{a}`' for a in frame) or 'none'}",
                )
                self.fail()
            elif candidate.range is not None:
                self.problems.error(
                    "TG0307",
                    f"`{clause.axis.name}` has two ranges",
                    clause.span,
                    labels=[(candidate.range.span, "first given here")],
                    help="keep one of them",
                )
            else:
                candidate.range = clause

    # Ranges ---------------------------------------------------------------------------------------------------------

    def _settle_all(self, frame: dict[str, Candidate]) -> tuple[Axis, ...] | None:
        axes = [self._settle(c) for c in frame.values()]
        known = tuple(a for a in axes if a is not None)
        if len(known) < len(axes):
            self.fail()
            return None
        return known

    def _settle(self, candidate: Candidate) -> Axis | None:
        if candidate.range is not None and candidate.range.upper is not None:
            return self._explicit(candidate, candidate.range)
        strong = [o for o in candidate.occurrences if not o.guarded]
        chosen = (strong or candidate.occurrences)[:1]
        if not chosen:
            if not self.failed:
                self._no_range(candidate)
            return None
        for other in strong[1:]:
            self._agree(candidate, chosen[0], other)
        return Axis(candidate.name, chosen[0].lower, chosen[0].upper, candidate.span)

    def _no_range(self, candidate: Candidate) -> None:
        reduced = len(self.frames) > 0 and candidate.name not in self.frames[0]
        end = next(reversed(self.scope.sizes), "N")
        help_text = (
            f"give it a range: `{candidate.name} in 0..{end}`"
            if reduced
            else f"give it a range: `for {candidate.name} in 0..{end}` after the expression"
        )
        self.problems.error(
            "TG0304",
            f"nothing says how far `{candidate.name}` goes",
            candidate.span,
            note="an axis takes its extent from a dimension that it indexes alone, and there is none",
            help=help_text,
        )

    def _explicit(self, candidate: Candidate, clause: syntax.RangeClause) -> Axis | None:
        outer = self.axes_in_scope if candidate.name not in self.frames[0] else []
        if clause.lower is None or clause.upper is None:
            return None
        lower = size_expression(
            clause.lower, self.scope, self.problems, "TG0317", "the end of a range", outer
        )
        upper = size_expression(
            clause.upper, self.scope, self.problems, "TG0317", "the end of a range", outer
        )
        if lower is None or upper is None:
            self.fail()
            return None
        return Axis(candidate.name, lower, upper + 1 if clause.inclusive else upper, candidate.span)

    def _agree(self, candidate: Candidate, first: Occurrence, other: Occurrence) -> None:
        for a, b in ((first.lower, other.lower), (first.upper, other.upper)):
            if a == b:
                continue
            if can_be_equal(a, b, self.scope.defaults):
                self.bindings.add(a, b)
                continue
            self.problems.error(
                "TG0302",
                f"`{candidate.name}` has two extents: {first.upper} and {other.upper}",
                other.span,
                labels=[(first.span, f"{first.what} gives {first.upper}")],
                note=f"{other.what} gives {other.upper}; dimensions that one axis indexes alone must be equal",
                help=f"use two axes, or say what `{candidate.name}` covers: `for {candidate.name} in "
                f"{first.lower}..{smaller(first.upper, other.upper)}`",
            )
            self.fail()
            return


def smaller(a: Expr, b: Expr) -> Expr:
    """The smaller of two expressions if that is known, else the first."""
    return b if algebra.bounds(a - b, dict.fromkeys(algebra.symbols(a - b), NON_NEGATIVE)).low >= 0 else a


def can_be_equal(a: Expr, b: Expr, defaults: dict[str, int]) -> bool:
    """Whether some sizes make the two equal, as far as intervals tell; compile-time sizes have their values."""
    difference = substitute(a - b, dict(defaults))
    interval = algebra.bounds(difference, dict.fromkeys(algebra.symbols(difference), NON_NEGATIVE))
    return difference == ZERO or (interval.low <= 0 <= interval.high and difference.constant is None)
