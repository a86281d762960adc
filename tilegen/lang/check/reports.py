"""The text of errors about bounds."""

from __future__ import annotations

from tilegen.algebra import Expr
from tilegen.lang import syntax
from tilegen.lang.check.bounds import Refuted, Verdict
from tilegen.lang.check.problems import Problems


def report_outside(
    problems: Problems,
    name: str,
    node: syntax.Expression,
    lower: Expr | int,
    upper: Expr,
    verdict: Verdict,
    *,
    local: bool = False,
    writes: bool = False,
) -> None:
    """`name` is read (or written) outside its extents."""
    what = "written" if writes else "read"
    extent = f"{lower}..{upper}" if local else f"extent {upper}"
    note = _example(node, verdict) if isinstance(verdict, Refuted) else "that it stays inside cannot be shown"
    if local or writes:
        help_text = f"give the axes a range that stays inside, with `for … in …`, or make `{name}` larger"
    else:
        help_text = (
            f"say what a read outside gives: `boundary edge` or `boundary constant 0` at `{name}`; "
            "or give the axes a range that stays inside, with `for … in …`"
        )
    problems.error(
        "TG0309",
        f"`{name}` may be {what} outside: the index `{node.span.text}` leaves {extent}",
        node.span,
        note=note,
        help=help_text,
    )


def _example(node: syntax.Expression, found: Refuted) -> str:
    sizes = ", ".join(f"{n} = {v}" for n, v in found.sizes)
    axes = ", ".join(f"{n} = {v}" for n, v in found.axes)
    where = f"with {sizes}" if sizes else "always"
    at = f" at {axes}" if axes else ""
    return f"{where}, the index is {found.index}{at}, and {_inside(found)}"


def _inside(found: Refuted) -> str:
    if found.upper <= found.lower:
        return "there is no element"
    return f"only {found.lower} to {found.upper - 1} exist"
