"""What is told of a schedule that this nest or the machine does not allow: TG0607 … TG0614."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilegen.core.nest.affine import Run
from tilegen.core.nest.model import Access, Nest
from tilegen.core.plan.model import FIELD, Buffer, Plan, TileAxis
from tilegen.core.schedule.model import Schedule, Stage
from tilegen.core.schedule.problems import without
from tilegen.dtypes import DType
from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.source import Span


def not_along(
    nest: Nest,
    access: Access,
    axis: str | None,
    schedule: Schedule,
    stageable: bool,
    others: Sequence[str],
    walker: str = "the output walks",
) -> Diagnostic:
    """`axis`: the one along which `walker` goes; `others`: tensors that can keep their widths."""
    tensor = nest.pointer(access.pointer).tensor
    action = without(schedule, tensor, others)
    if access.checked:
        fact = f"the index of `{tensor}` passes through its boundary mode, element by element"
    else:
        along = f" along `{schedule.said(axis)}`, which {walker}," if axis else ""
        fact = f"neighbours of `{tensor}`{along} are not side by side: its address is {access.address}"
    return Diagnostic(
        "TG0607",
        f"`{tensor}` cannot be accessed {schedule.width_of(tensor)} elements at a time",
        schedule.span("vector", tensor),
        (fact,),
        (f"add `stage {tensor}`, or {action}" if stageable else action,),
    )


def cut_vectors(tiles: tuple[TileAxis, ...], schedule: Schedule, run: Run) -> Diagnostic:
    axis, points = run.axes[0]
    name = schedule.said(axis)
    return Diagnostic(
        "TG0608",
        f"a tile of {points} along `{name}` does not hold whole vectors of {run.width}",
        _written(schedule, axis) or schedule.span("vector"),
        notes=(f"each thread computes {run.width} neighbours along `{name}` at a time",),
        helps=(_whole(tiles, schedule, axis, points, run.width, both=True),),
    )


def nothing_to_unroll(axis: str, looping: Iterable[str], schedule: Schedule) -> Diagnostic:
    along, name = (
        ", ".join(f"`{schedule.said(a)}`" for a in sorted(looping)) or "no axis",
        schedule.said(axis),
    )
    return Diagnostic(
        "TG0609",
        f"there is no serial loop along `{name}` to unroll",
        schedule.span("unroll"),
        notes=(f"a thread loops along {along}",),
        helps=(f"give the tile more points along `{name}` than there are threads, or leave `unroll` out",),
    )


def too_much_shared(plan: Plan) -> Diagnostic:
    limit = plan.target.shared_bytes_opt_in
    sizes = " + ".join(f"{b.bytes} for `{b.tensor}`" for b in plan.buffers)
    largest = max(plan.buffers, key=lambda b: b.bytes)
    axis, extent = max(largest.axes, key=lambda item: item[1])
    fit = max(1, extent * limit // plan.shared_bytes)
    power = 1 << (fit.bit_length() - 1)
    return Diagnostic(
        "TG0610",
        f"the staged tile needs {plan.shared_bytes} bytes of shared memory",
        plan.schedule.span("tile") or plan.schedule.span("stage"),
        notes=(f"{sizes}; {plan.target.name} gives a block at most {limit} bytes",),
        helps=(f"use a smaller tile, `tile {plan.schedule.said(axis)} = {power}`",),
    )


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something cannot be honoured, and what is to be added to the advice to leave it."""

    fact: str
    outlook: str = ""


def cannot_stage(stage: Stage, refusal: Refusal) -> Diagnostic:
    outlook = f"; {refusal.outlook}" if refusal.outlook else ""
    return _no_stage(stage, refusal.fact, f"leave `stage {stage.tensor}` out{outlook}")


def one_element(stage: Stage, schedule: Schedule, axes: Sequence[str]) -> Diagnostic:
    """`axes`: those that move the index of the tensor, fastest first."""
    action = _more_points(schedule, axes[0]) if axes else f"leave `stage {stage.tensor}` out"
    return _no_stage(stage, f"the tile holds one element of `{stage.tensor}`", action)


def one_point_along(stage: Stage, schedule: Schedule, axis: str) -> Diagnostic:
    tensor = stage.tensor
    fact = f"neighbours of `{tensor}` lie along `{schedule.said(axis)}`, along which the tile has one point"
    return _no_stage(stage, fact, f"{_more_points(schedule, axis)}, or {without(schedule, tensor, ())}")


def no_neighbours_in_tile(stage: Stage, schedule: Schedule) -> Diagnostic:
    width = schedule.width_of(stage.tensor)
    fact = f"`{stage.tensor}` has no {width} neighbours side by side in the tile"
    return _no_stage(stage, fact, without(schedule, stage.tensor, ()))


def _no_stage(stage: Stage, fact: str, action: str) -> Diagnostic:
    return Diagnostic("TG0611", f"`{stage.tensor}` cannot be staged", stage.span, (fact,), (action,))


def cut_pieces(
    tiles: tuple[TileAxis, ...], schedule: Schedule, stage: Stage, points: int, axis: str, width: int
) -> Diagnostic:
    """`points` of the tile along `axis` are staged `width` at a time."""
    if axis == FIELD:
        name, span = "the members of a struct", stage.span
        rest = "of `vector`" if schedule.names_width(stage.tensor) else "of the tensors named in `vector`"
        action = f"leave `{stage.tensor}` out {rest}, or stage it without `pad` and `swizzle`"
    else:
        name, span = f"`{schedule.said(axis)}`", _written(schedule, axis) or stage.span
        action = _whole(tiles, schedule, axis, points, width, both=False)
    return Diagnostic(
        "TG0612",
        f"a tile of {points} along {name} does not hold whole vectors of {width}",
        span,
        notes=(f"`{stage.tensor}` is staged {width} elements at a time along {name}",),
        helps=(action,),
    )


def misaligned_pad(stage: Stage, dtype: DType, chunk: int) -> Diagnostic:
    tensor = stage.tensor
    return Diagnostic(
        "TG0613",
        f"`pad {stage.pad}` breaks the alignment of {chunk * dtype.size}-byte shared accesses",
        stage.span,
        notes=(f"rows of `{tensor}` are accessed {chunk} elements at a time",),
        helps=(f"use `stage {tensor} pad {chunk}` or `stage {tensor} swizzle`",),
    )


def not_one_to_one(stage: Stage, buffer: Buffer, axis: str) -> Diagnostic:
    """`axis`: what that of the rows is called."""
    extent = buffer.axes[-1][1]
    chunks = extent // buffer.chunk
    power = 1 << max(1, chunks.bit_length() - 1)
    return Diagnostic(
        "TG0614",
        f"a swizzle of rows of {extent} elements is not one-to-one",
        stage.span,
        notes=(
            f"a row along `{axis}` has {chunks} chunks of {buffer.chunk}; "
            "exclusive or permutes only a power of two",
        ),
        helps=(
            f"use `{axis} = {power * buffer.chunk}` or `{axis} = {2 * power * buffer.chunk}` in `tile`, "
            f"or `stage {stage.tensor} pad {buffer.chunk}`",
        ),
    )


def no_whole_sectors(tensor: str, refusal: Refusal, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "TG0622",
        f"the rows of `{tensor}` in a tile cannot be made to begin and end at sectors",
        span,
        notes=(refusal.fact,),
        helps=(f"{refusal.outlook}{', or ' if refusal.outlook else ''}leave `hint {tensor} sectors` out",),
    )


def _directive(schedule: Schedule, axis: str) -> str:
    """The directive that gives the tile along `axis` its points, or should."""
    written = [d for d in ("tile", "threads") if schedule.writes(d, axis)]
    return next(
        iter(written), "threads" if schedule.writes("threads") and not schedule.writes("tile") else "tile"
    )


def _written(schedule: Schedule, axis: str) -> Span | None:
    return schedule.span(_directive(schedule, axis), axis)


def _more_points(schedule: Schedule, axis: str) -> str:
    word = _directive(schedule, axis)
    name = schedule.said(axis)
    return f"name more of `{name}` in `{word}`" if schedule.writes(word, axis) else f"name `{name}` in `tile`"


def _whole(
    tiles: tuple[TileAxis, ...], schedule: Schedule, axis: str, points: int, width: int, both: bool
) -> str:
    """Tiles along `axis` that hold whole vectors; `both`: the one below too. A tile never exceeds a known extent."""
    extent = next(t.extent.constant for t in tiles if t.axis == axis)
    above, below = -(-points // width) * width, points // width * width
    fitting = [above] if extent is None or above <= extent else []
    fitting += [below] if below and (both or not fitting) else []
    word, name = _directive(schedule, axis), schedule.said(axis)
    if not fitting:
        return f"leave `vector` out: `{name}` has {extent} points"
    if len(fitting) == 1 and len(schedule.entries(word)) <= 1 and schedule.writes(word, axis):
        return f"use `{word} {name} = {fitting[0]}`"
    return "use " + " or ".join(f"`{name} = {n}`" for n in fitting) + f" in `{word}`"


def endless_tile(tiles: tuple[TileAxis, ...], schedule: Schedule, points: int, most: int) -> Diagnostic:
    largest = max(tiles, key=lambda t: t.tile)
    fit = max(1, most * largest.tile // points)
    return Diagnostic(
        "TG0615",
        f"a tile of {points} points is more than a block can compute",
        schedule.span("tile") or schedule.span("threads"),
        notes=(f"a block has at most 1024 threads; {most} points are 1024 for each of them",),
        helps=(f"use `{schedule.said(largest.axis)} = {1 << (fit.bit_length() - 1)}`",),
    )
