"""A plan as stable text: one concept a line. Phases of a family print themselves (`Phase.lines`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tilegen.algebra import ZERO
from tilegen.core.nest.model import Access
from tilegen.core.nest.text import access_text, value_text
from tilegen.core.plan.model import (
    Aligned,
    AtLeast,
    AtMost,
    Barrier,
    Buffer,
    Compute,
    Condition,
    Equals,
    Load,
    Multiple,
    Phase,
    Plan,
    Sweep,
)


def plan_text(plan: Plan) -> str:
    return "\n".join([f"plan {plan.name} for {plan.target.name}", *(f"    {line}" for line in _lines(plan))])


def _lines(plan: Plan) -> Iterator[str]:
    for condition in plan.conditions:
        yield f"if {condition_text(condition)}"
    for limit in plan.fits_i32:
        yield f"32-bit indices if {condition_text(limit)}"
    for tile in plan.tiles:
        ragged = ", ragged" if tile.ragged else ""
        yield f"tile {tile.axis}: {tile.tile} of {tile.extent}, {tile.count} of them{ragged}"
    if plan.raster:
        group = f", group {plan.group}" if plan.group > 1 else ""
        yield f"raster {', '.join(plan.raster)}{group}"
    cluster = f", {plan.cluster} blocks a cluster" if plan.cluster > 1 else ""
    yield f"block of {plan.threads} threads{cluster}"
    for buffer in plan.buffers:
        yield f"buffer {buffer_text(buffer)}"
    for scratch in plan.scratch:
        zeroed = ", zeroed" if scratch.zeroed else ""
        yield f"scratch {scratch.name}: {scratch.count} of {scratch.dtype}{zeroed}"
    for phase in plan.phases:
        yield from phase_lines(phase)


def condition_text(condition: Condition) -> str:
    match condition:
        case Multiple():
            return f"{condition.value} is a multiple of {condition.factor}"
        case Aligned():
            return f"{condition.pointer} is aligned to {condition.bytes}B"
        case Equals():
            return f"{condition.value} == {condition.number}"
        case AtMost():
            return f"{condition.value} <= {condition.limit}"
        case AtLeast():
            return f"{condition.value} >= {condition.limit}"
        case _:
            assert_never(condition)


def buffer_text(buffer: Buffer) -> str:
    axes = ", ".join(f"{a} = {n}" for a, n in buffer.axes)
    parts = [f"{buffer.name}: {buffer.dtype}[{axes}]"]
    parts += [f"pad {buffer.pad}"] if buffer.pad else []
    if buffer.swizzle is not None:
        parts.append(f"swizzle by row >> {buffer.swizzle.shift} & {buffer.swizzle.mask}")
    parts += [f"chunks of {buffer.chunk}"] if buffer.chunk > 1 else []
    parts += ["flat"] if buffer.flat else []
    parts += [f"margin {buffer.sectors.margin} along {buffer.sectors.along}"] if buffer.sectors else []
    return ", ".join(parts)


def phase_lines(phase: Phase) -> Iterator[str]:
    """The name of a phase, and below it what it does, indented."""
    match phase:
        case Barrier():
            yield "barrier"
        case Load():
            across = f", transposed {phase.across[1]} along {phase.across[0]}" if phase.across else ""
            yield f"load {phase.buffer.name} by {phase.width}{across}{_guards(phase.guards)}"
            yield f"    from {access_text(phase.access)}"
            yield from sweep_lines(phase.sweep)
        case Compute():
            tail = ", with a tail" if phase.tail else ""
            yield f"compute{_guards(phase.guards)}{tail}"
            for pointer, buffer in phase.staged:
                yield f"    {pointer} from {buffer.name} by {dict(phase.shared_widths).get(pointer, 1)}"
            yield from width_lines(phase.widths)
            for store in phase.stores:
                yield f"    store to {access_text(store.access)}: {value_text(store.value)}"
            yield from sweep_lines(phase.sweep)
        case _:
            yield from phase.lines()


def _guards(axes: tuple[str, ...]) -> str:
    return f", guarded along {', '.join(axes)}" if axes else ""


def width_lines(widths: tuple[tuple[Access, int], ...]) -> Iterator[str]:
    for access, width in widths:
        yield f"    {access_text(access)} by {width}"


def sweep_lines(sweep: Sweep) -> Iterator[str]:
    """Which thread has which points."""
    if sweep.run is not None:
        axes = ", ".join(f"{a} = {n}" for a, n in sweep.run.axes)
        yield f"    items of {sweep.run.width} along {axes}"
    if sweep.by_rows:
        yield "    a warp takes a row"
    for axis, value in sweep.digits:
        yield f"    @thread_{axis} = {value}"
    for loop in sweep.loops:
        unroll = f", unrolled {loop.unroll} times" if loop.unroll is not None else ""
        yield f"    for @step_{loop.axis} in 0..{loop.trip}{unroll}"
    for axis, value in sweep.linear:
        yield f"    @item_{axis} = {value}"
    for axis, value in sweep.coordinates:
        yield f"    {axis} = {value}"
    if sweep.run is not None:
        position = "" if sweep.position == ZERO else f" from {sweep.position}"
        lanes = ", ".join(f"{a} = {value}" for a, value in sweep.lanes)
        yield f"    @lane of an item{position}: {lanes}"
    for limit in sweep.limits:
        sure = f", sure for {limit.sure} steps of {limit.axis}" if limit.sure else ""
        further = ""
        if limit.further is not None:
            first, count, bound = limit.further
            further = f", or < {bound} where {first} < {count}"
        yield f"    while {limit.value} < {limit.bound}{further}{sure}"
