"""The body of a kernel with reductions: rows, walks along them, combinations, and stores."""

from __future__ import annotations

from tilegen.core.plan.model import Barrier
from tilegen.cuda import tree
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import Body, Comment, Part, Statement, Words, joined
from tilegen.families.rows.combine import cluster, combine_part
from tilegen.families.rows.names import RowScope
from tilegen.families.rows.phases import Combine, PointStores, Walk
from tilegen.families.rows.walk import once_part, walk_part


def body(scope: KernelScope) -> Body:
    rows = RowScope(scope)
    walks = [p for p in scope.plan.phases if isinstance(p, Walk)]
    phases: list[Statement] = []
    if rows.rows.cluster > 1:
        why = "No block writes to another before that has started: arrive here, wait before the first such write."
        phases.append(Part((Comment((why,)),), (cluster("arrive"),)))
    for phase in scope.plan.phases:
        match phase:
            case Walk():
                after = walks[walks.index(phase) + 1 :]
                later = frozenset(v for w in after if w.step.row == phase.step.row for v in w.step.known)
                phases.append(walk_part(rows, phase, later))
            case Combine():
                phases.append(combine_part(rows, phase))
            case Barrier():
                phases.append(_barrier(rows))
            case PointStores():
                phases.append(once_part(rows, phase))
            case _:
                raise AssertionError("a nest with reductions has no tiles")
    return Body(
        extent=_extent(rows),
        constants=tuple(rows.constants()),
        shared=tuple(rows.shared),
        setup=rows.setup(),
        phases=tuple(phases),
    )


def _barrier(rows: RowScope) -> Statement:
    """All threads of a row have read what is written next."""
    if rows.rows.cluster == 1:
        return tree.Barrier()
    why = "Every block of the cluster has read what is written next."
    return Part((Comment((why,)),), (cluster("arrive"), cluster("wait")))


def _extent(rows: RowScope) -> Words:
    count = rows.rows.beside * rows.lanes
    words: Words = ("everything",)
    if rows.nest.parallel:
        axes = joined([rows.scope.axis(a.name) for a in rows.nest.parallel], " x ")
        words = (f"{count} rows (" if count > 1 else "one row (", *axes, ")")
    return ("part of ", *words) if rows.shares or rows.rows.cluster > 1 else words
