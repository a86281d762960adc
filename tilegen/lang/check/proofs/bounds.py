"""Is `0 <= index < extent` at every point? Proved, refuted with sizes and axes that show it, or left to the call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tilegen.algebra import Expr, expr, substitute, sym, symbols
from tilegen.lang.check.proofs.guards import Conditions
from tilegen.lang.check.proofs.samples import Violation, decide, is_affine
from tilegen.lang.check.proofs.symbolic import Space, is_non_negative
from tilegen.lang.spec import Axis


@dataclass(frozen=True, slots=True)
class Proved:
    """`by_defaults`: only for the values that compile-time sizes have in the spec."""

    by_defaults: bool = False


@dataclass(frozen=True, slots=True)
class Refuted:
    """At these sizes and axes the index has the value `index`, and the dimension `lower..upper`."""

    sizes: tuple[tuple[str, int], ...]
    axes: tuple[tuple[str, int], ...]
    index: int
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class Undecided:
    """Only the sizes of a call can tell."""


Verdict = Proved | Refuted | Undecided


@dataclass(frozen=True, slots=True)
class Question:
    index: Expr
    lower: Expr
    upper: Expr
    axes: tuple[Axis, ...]
    conditions: Conditions

    @property
    def names(self) -> frozenset[str]:
        """Every symbol that has a part in the answer."""
        found = symbols(self.index) | symbols(self.lower) | symbols(self.upper)
        for axis in self.axes:
            found |= symbols(axis.lower) | symbols(axis.upper) | {axis.name}
        for alternative in self.conditions.alternatives:
            for guard in alternative:
                found |= symbols(guard)
        return found


@dataclass
class BoundsProver:
    """Answers questions of one kernel and remembers them: another choice of types asks the same ones."""

    sizes: Sequence[str]
    scalars: frozenset[str]
    defaults: dict[str, int]
    equal: tuple[tuple[Expr, Expr], ...]
    known: dict[Question, Verdict] = field(default_factory=dict)

    def ask(
        self, index: Expr, lower: Expr | int, upper: Expr, axes: Sequence[Axis], conditions: Conditions
    ) -> Verdict:
        question = Question(index, expr(lower), upper, tuple(axes), conditions)
        if question not in self.known:
            self.known[question] = self._answer(question)
        return self.known[question]

    def _answer(self, question: Question) -> Verdict:
        names = question.names
        values = {n: v for n, v in self.defaults.items() if n in names}
        if self._trivial(question) or self._symbolic(question, {}):
            return Proved()
        if values and self._symbolic(question, values):
            return Proved(by_defaults=True)
        if names & self.scalars:
            return Undecided()
        verdict: Verdict = Undecided()
        for fixed in ({}, values) if values else ({},):
            verdict = self._solve(question, fixed)
            if isinstance(verdict, Proved):
                return Proved(by_defaults=bool(fixed))
        return verdict

    def _solve(self, question: Question, fixed: dict[str, int]) -> Verdict:
        """By samples and integer sets; products of sizes that are not `fixed` are left to the call. So is an access
        that fails only where some size is 0: `x[0]` of an empty `x`."""
        index, lower, upper = (
            substitute(e, dict(fixed)) for e in (question.index, question.lower, question.upper)
        )
        spaces = self._spaces(question, fixed)
        if not all(is_affine([index, lower, upper], s) for s in spaces):
            return Undecided()
        positive = tuple(sym(n) - 1 for n in self.sizes if n in question.names and n not in fixed)
        filled = [replace(s, guards=s.guards + positive) for s in spaces]
        found = decide(index, lower, upper, filled)
        if isinstance(found, Violation):
            sizes = {**dict(found.sizes), **fixed}
            return Refuted(tuple(sorted(sizes.items())), found.axes, found.index, found.lower, found.upper)
        return Proved() if found and decide(index, lower, upper, spaces) is True else Undecided()

    def _spaces(self, question: Question, values: dict[str, int]) -> list[Space]:
        spaces = [Space(question.axes, a, self.equal, self.scalars) for a in question.conditions.alternatives]
        return [s.replace_sizes(values) for s in spaces] if values else spaces

    def _trivial(self, question: Question) -> bool:
        """The index is an axis of just this range."""
        name = question.index.symbol
        axis = next((a for a in question.axes if a.name == name), None)
        return axis is not None and axis.lower == question.lower and axis.upper == question.upper

    def _symbolic(self, question: Question, values: dict[str, int]) -> bool:
        index, lower, upper = (
            substitute(e, dict(values)) for e in (question.index, question.lower, question.upper)
        )
        return all(
            is_non_negative(index - lower, space) and is_non_negative(upper - 1 - index, space)
            for space in self._spaces(question, values)
        )
