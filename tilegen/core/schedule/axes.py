"""Names of axes: what a schedule calls them, and what the nest does."""

from __future__ import annotations

from dataclasses import replace

from tilegen.algebra import symbols
from tilegen.core.nest.model import Nest
from tilegen.core.schedule.model import Counts, Schedule
from tilegen.lang.diagnostics import Diagnostic, SpecError


def axis_called(nest: Nest, name: str) -> str | None:
    """The axis of the nest that a schedule calls `name`, None where there is none.

    It may be one with another: `k` of `max[k](x[i, k])` with `j`."""
    wanted = "*".join(_same_row(nest, part) for part in name.split("*"))
    return next((a.name for a in nest.axes if a.called == wanted), None)


def _same_row(nest: Nest, name: str) -> str:
    if any(name in (a.parts or (a.name,)) for a in nest.axes) or name not in nest.axis_values:
        return name
    return next(iter(symbols(nest.axis_values[name]) & {a.name for a in nest.axes}), name)


def by_nest(nest: Nest, schedule: Schedule) -> Schedule:
    """A schedule as it was written, with its axes by the names of the nest. Raises TG0624 for an axis that is none."""
    axes = {name: axis_called(nest, name) for name in _named(schedule)}
    unknown = [_unknown(nest, schedule, name) for name, axis in axes.items() if axis is None]
    if unknown:
        raise SpecError(unknown)

    def moved(counts: Counts) -> Counts:
        return tuple((axes[n] or n, value) for n, value in counts)

    return replace(
        schedule,
        tile=moved(schedule.tile),
        threads=moved(schedule.threads),
        blocks=moved(schedule.blocks),
        cluster=moved(schedule.cluster),
        unroll=moved(schedule.unroll),
        raster=tuple(axes[a] or a for a in schedule.raster),
        spans=tuple((d, axes.get(e or "") or e, span) for d, e, span in schedule.spans),
    )


def with_names(nest: Nest, schedule: Schedule) -> Schedule:
    """The schedule with what its axes are called in the spec."""
    named = _named(schedule)
    called = ((a.name, a.called) for a in nest.axes if a.name in named and a.called != a.name)
    return replace(schedule, called=tuple(called))


def _named(schedule: Schedule) -> dict[str, str]:
    """Axes that directives speak of, with the first that does."""
    found = dict.fromkeys(schedule.raster, "raster")
    for word in ("unroll", "cluster", "blocks", "threads", "tile"):
        found |= {name: word for name, _ in getattr(schedule, word)}
    return found


def _unknown(nest: Nest, schedule: Schedule, name: str) -> Diagnostic:
    word = _named(schedule)[name]
    there = ", ".join(f"`{a.called}`" for a in nest.axes)
    fact, action = f"its points lie along {there}", f"name one of those in `{word}`"
    if "*" in name:
        parts = " and ".join(f"`{part}`" for part in name.split("*"))
        fact, action = f"{parts} do not lie end to end in every tensor", "name them by themselves"
    elif not there:
        fact, action = "it has one point", f"leave `{word}` out"
    return Diagnostic(
        "TG0624",
        f"`{name}` is no axis that this kernel walks",
        schedule.span(word, name),
        notes=(fact,),
        helps=(action,),
    )
