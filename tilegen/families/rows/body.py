"""The body of a kernel with reductions: rows, walks along them, combinations, and stores."""

from __future__ import annotations

from tilegen.core.plan.model import Barrier
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.view import BarrierView, BodyView, OnceView, PhaseView
from tilegen.families.rows.combine import view_combine
from tilegen.families.rows.names import RowScope
from tilegen.families.rows.phases import Combine, PointStores, Walk
from tilegen.families.rows.walk import view_once, view_walk


def view_reduce(scope: KernelScope) -> BodyView:
    rows = RowScope(scope)
    walks = [p for p in scope.plan.phases if isinstance(p, Walk)]
    phases: list[PhaseView] = []
    if rows.rows.cluster > 1:
        comment = "No block writes to another before that has started: arrive here, wait before the first such write."
        phases.append(OnceView((comment,), "", ("cluster_arrive();",)))
    for phase in scope.plan.phases:
        match phase:
            case Walk():
                after = walks[walks.index(phase) + 1 :]
                later = frozenset(v for w in after if w.step.row == phase.step.row for v in w.step.known)
                phases.append(view_walk(rows, phase, later))
            case Combine():
                phases.append(view_combine(rows, phase))
            case Barrier():
                phases.append(_barrier(rows))
            case PointStores():
                phases.append(view_once(rows, phase))
            case _:
                raise AssertionError("a nest with reductions has no tiles")
    return BodyView(
        extent=_extent(rows),
        constants=tuple(rows.constants()),
        shared=tuple(rows.shared),
        setup=tuple(rows.setup()),
        phases=tuple(phases),
    )


def _barrier(rows: RowScope) -> PhaseView:
    """All threads of a row have read what is written next."""
    if rows.rows.cluster == 1:
        return BarrierView()
    comment = "Every block of the cluster has read what is written next."
    return OnceView((comment,), "", ("cluster_arrive();", "cluster_wait();"))


def _extent(rows: RowScope) -> str:
    count = rows.rows.beside * rows.lanes
    parallel = " x ".join(rows.scope.names.user(a.name) for a in rows.nest.parallel)
    text = "everything" if not parallel else f"{count} rows" if count > 1 else "one row"
    if parallel:
        text += f" ({parallel})"
    return f"part of {text}" if rows.shares or rows.rows.cluster > 1 else text
