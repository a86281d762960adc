"""The load phase of one staged tensor."""

from __future__ import annotations

from tilegen.algebra import Expr, sym
from tilegen.plan.model import FIELD, Load
from tilegen.render.scope import KernelScope, mark
from tilegen.render.view import SweepView


def view_load(scope: KernelScope, load: Load, guarded: bool) -> SweepView:
    """Copy the tile; `guarded`: with the conditions of ragged edges."""
    sweep, buffer = load.sweep, load.buffer
    guards = [a for a in load.guards if guarded and not (load.across and a == load.across[0])]
    conditions = scope.limits(sweep) + [scope.guard(a) for a in guards]
    at = {a: scope.inside(sweep, a) for a, _ in sweep.coordinates}
    if load.across is not None:
        return scope.sweep(sweep, conditions, _transposing(scope, load, guarded, at), leave=load.across[0])
    target = scope.element(buffer, at, whole=load.width == buffer.chunk)
    if load.width > 1:
        vector = scope.vector(buffer.dtype, load.width, load.width * buffer.dtype.size)
        target = f"*reinterpret_cast<{vector}*>(&{target})"
    source = scope.read(load.access.pointer, _address(load, at), buffer.dtype, load.width)
    return scope.sweep(sweep, conditions, [mark(f"{target} = {source};", _line(scope, load))])


def _address(load: Load, at: dict[str, Expr]) -> Expr:
    return load.access.address + at[FIELD] if FIELD in at else load.access.address


def _transposing(scope: KernelScope, load: Load, guarded: bool, at: dict[str, Expr]) -> list[str]:
    """Load `count` rows of `width` elements each, and store them as `width` columns of `count`."""
    assert load.across is not None
    axis, count = load.across
    buffer, dtype, line = load.buffer, load.buffer.dtype, _line(scope, load)
    r, lane = scope.symbol("@row"), scope.symbol("@lane")
    rows, packed = scope.names.user("@rows", "rows"), scope.names.user("@packed", "packed")
    row_type = (
        scope.vector(dtype, load.width, load.width * dtype.size)
        if load.width > 1
        else scope.file.types.storage(dtype)
    )
    column_type = scope.vector(dtype, count, count * dtype.size)
    read = f"{rows}[{r}] = {scope.read(load.access.pointer, _address(load, at), dtype, load.width)};"
    if guarded and axis in load.guards:
        read = f"if ({scope.guard(axis)}) {{ {read} }}"
    body = [
        f"{row_type} {rows}[{count}] = {{}};",
        "#pragma unroll",
        f"for (int {r} = 0; {r} < {count}; ++{r}) {{",
        f"    {scope.coordinate(axis, at[axis] + sym('@row'))[1]}",
        "    " + mark(read, line),
        "}",
    ]
    moved = dict(at)
    if load.width > 1:
        assert load.sweep.vector is not None
        fast = load.sweep.vector[0]
        moved[fast] = at[fast] + sym("@lane")
    element = f"{rows}[{r}].lane[{lane}]" if load.width > 1 else f"{rows}[{r}]"
    target = scope.element(buffer, moved, load.width, whole=count == buffer.chunk)
    store = [
        f"{column_type} {packed};",
        "#pragma unroll",
        f"for (int {r} = 0; {r} < {count}; ++{r}) {{",
        f"    {packed}.lane[{r}] = {element};",
        "}",
        mark(f"*reinterpret_cast<{column_type}*>(&{target}) = {packed};", line),
    ]
    if load.width == 1:
        return body + store
    return [
        *body,
        "#pragma unroll",
        f"for (int {lane} = 0; {lane} < {load.width}; ++{lane}) {{",
        *("    " + x for x in store),
        "}",
    ]


def _line(scope: KernelScope, load: Load) -> int | None:
    """The spec line of the `stage` directive, or of the first read where `auto` chose to stage."""
    tensor = load.buffer.tensor
    stage = scope.plan.schedule.stage_of(tensor)
    if stage is not None and stage.span is not None:
        return stage.span.line
    return next((r.span.line for r in scope.nest.loads if r.tensor == tensor), None)
