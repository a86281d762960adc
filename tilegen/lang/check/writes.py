"""What the assignments of one kernel must be to each other: complete, without overlap, in one iteration space."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.algebra import Expr, substitute
from tilegen.lang import syntax
from tilegen.lang.check.one_to_one import are_disjoint
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Scope
from tilegen.lang.check.symbolic import Space, is_non_negative
from tilegen.lang.spec import Assign, Axis, Role

Equal = tuple[tuple[Expr, Expr], ...]


def check_outputs_written(node: syntax.KernelDecl, scope: Scope, problems: Problems) -> None:
    """Every `out` and `inout` tensor is assigned somewhere."""
    written = {i.target.base.name for i in node.items if isinstance(i, syntax.AssignStatement)}
    for tensor in scope.tensors.values():
        if tensor.role is not Role.IN and tensor.name not in written:
            problems.error(
                "TG0209",
                f"`{tensor.name}` is never assigned",
                tensor.span,
                note=f"it is declared `{tensor.role.value}`",
                help=f"assign it, or declare it `in`: `{tensor.name}[…] = …`",
            )
    if not any(t.role is not Role.IN for t in scope.tensors.values()) and not written & scope.broken:
        if any(n in scope.broken for n in scope.declared):
            return
        problems.error(
            "TG0209",
            f"the kernel `{node.name.name}` writes nothing",
            node.name.span,
            help="declare an `out` tensor",
        )


def check_overlaps(assigns: Sequence[Assign], scope: Scope, equal: Equal, problems: Problems) -> None:
    """Two assignments to one tensor (and member) write different elements."""
    for k, second in enumerate(assigns):
        for first in assigns[:k]:
            if first.tensor != second.tensor or first.field != second.field or first.span == second.span:
                continue
            if _disjoint(first, second, scope, equal) is True:
                continue
            shown = _disjoint(first, second, scope, equal) is False
            problems.error(
                "TG0311",
                f"`{second.tensor}` is assigned twice, and the two "
                + ("write some element both" if shown else "cannot be shown to write different elements"),
                second.span,
                labels=[(first.span, "first assigned here")],
                help="join them with `where`, or give their axes ranges that do not meet",
            )
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
        problems.error(
            "TG0312",
            f"`{first.tensor}` and `{second.tensor}` are computed over different axes",
            second.span,
            labels=[
                (first.span, f"over {show_axes(first.axes)}"),
                (second.span, f"over {show_axes(second.axes)}"),
            ],
            note="the assignments of a kernel make one launch, so they share one iteration space",
            help="write two kernels, or use the same axis names with the same ranges in both",
        )
        return


def show_axes(axes: Sequence[Axis]) -> str:
    return ", ".join(f"{a.name} in {a.lower}..{a.upper}" for a in axes) or "no axes"


def _same(a: Axis, b: Axis, equal: Equal) -> bool:
    space = Space((), (), equal)
    return a.name == b.name and _equal(a.lower, b.lower, space) and _equal(a.upper, b.upper, space)


def _equal(a: Expr, b: Expr, space: Space) -> bool:
    return a == b or (is_non_negative(a - b, space) and is_non_negative(b - a, space))
