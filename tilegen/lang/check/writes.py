"""What the assignments of one kernel must be to each other: complete, without overlap, in one iteration space."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.algebra import Expr, substitute
from tilegen.lang import syntax
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.proofs.one_to_one import are_disjoint
from tilegen.lang.check.proofs.symbolic import Space, is_non_negative
from tilegen.lang.check.scope import Fact, Scope
from tilegen.lang.spec import Assign, Axis, Role

Equal = tuple[tuple[Expr, Expr], ...]


def check_outputs_written(node: syntax.KernelDecl, scope: Scope, problems: Problems) -> None:
    """Every `out` and `inout` tensor is assigned somewhere."""
    outputs = [t for t in scope.tensors.values() if t.role is not Role.IN and scope.sure(Fact.ROLE, t.name)]
    if not scope.sure(Fact.WRITTEN):
        return
    for tensor in outputs:
        if tensor.name not in scope.targets:
            others = None if len(outputs) == 1 else Role.IN
            problems.report("TG0209.tensor", tensor.span, name=tensor.name, role=tensor.role, instead=others)
    if not outputs and not any(fact is Fact.MEANING for fact, _ in scope.doubts):
        problems.report("TG0209.kernel", node.name.span, name=node.name.name)


def check_overlaps(assigns: Sequence[Assign], scope: Scope, equal: Equal, problems: Problems) -> None:
    """Two assignments to one tensor (and member) write different elements."""
    for k, second in enumerate(assigns):
        for first in assigns[:k]:
            if first.tensor != second.tensor or first.field != second.field or first.span == second.span:
                continue
            disjoint = _disjoint(first, second, scope, equal)
            if not disjoint:
                case = "TG0311.unknown" if disjoint is None else "TG0311.shown"
                problems.report(case, second.span, name=second.tensor, earlier=first.span)
                return


def _disjoint(first: Assign, second: Assign, scope: Scope, equal: Equal) -> bool | None:
    outcome = None
    for values in ({}, scope.defaults) if scope.defaults else ({},):
        a, b = (
            Space(s.axes, (), equal, frozenset(scope.scalars)).replace_sizes(values) for s in (first, second)
        )
        outcome = are_disjoint(_put(first.indices, values), a, _put(second.indices, values), b)
        if outcome:
            return True
    return outcome


def _put(indices: Sequence[Expr], values: dict[str, int]) -> list[Expr]:
    return [substitute(i, dict(values)) for i in indices]


def check_fusion(assigns: Sequence[Assign], equal: Equal, problems: Problems) -> None:
    """All assignments run over the axes of one of them, with the same ranges."""
    if not assigns:
        return
    widest = max(assigns, key=lambda a: len(a.axes))
    for assign in assigns:
        if all(any(_same(x, y, equal) for y in widest.axes) for x in assign.axes):
            continue
        first, second = sorted((widest, assign), key=lambda a: a.span.start)
        problems.report(
            "TG0312",
            second.span,
            first=first.tensor,
            second=second.tensor,
            first_axes=ranges_of(first.axes),
            second_axes=ranges_of(second.axes),
            first_place=first.span,
            second_place=second.span,
        )
        return


def ranges_of(axes: Sequence[Axis]) -> tuple[str, ...]:
    return tuple(f"{a.name} in {a.lower}..{a.upper}" for a in axes)


def _same(a: Axis, b: Axis, equal: Equal) -> bool:
    space = Space((), (), equal)
    return a.name == b.name and _equal(a.lower, b.lower, space) and _equal(a.upper, b.upper, space)


def _equal(a: Expr, b: Expr, space: Space) -> bool:
    return a == b or (is_non_negative(a - b, space) and is_non_negative(b - a, space))
