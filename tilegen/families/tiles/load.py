"""The load phase of one staged tensor."""

from __future__ import annotations

from tilegen.algebra import Expr, sym
from tilegen.core.plan.model import Load
from tilegen.cuda.scope import KernelScope, mark, wrapped
from tilegen.cuda.view import SweepView
from tilegen.dtypes import U32


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
    address = scope.address(sweep, scope.run_address(sweep, load.address))
    source = scope.read(load.access.pointer, address, buffer.dtype, load.width)
    return scope.sweep(sweep, conditions, [mark(f"{target} = {source};", _line(scope, load))])


def _transposing(scope: KernelScope, load: Load, guarded: bool, at: dict[str, Expr]) -> list[str]:
    """Load `count` rows of `width` elements each, and store them as `width` columns of `count`."""
    assert load.across is not None
    axis, count = load.across
    if load.buffer.dtype.size == 1 and count == 4 and load.width % 4 == 0:
        return _transposing_bytes(scope, load, guarded, at)
    buffer, dtype, line = load.buffer, load.buffer.dtype, _line(scope, load)
    r, lane = scope.symbol("@row"), scope.symbol("@lane")
    rows, packed = scope.names.user("@rows", "rows"), scope.names.user("@packed", "packed")
    row_type = (
        scope.vector(dtype, load.width, load.width * dtype.size)
        if load.width > 1
        else scope.file.types.storage(dtype)
    )
    column_type = scope.vector(dtype, count, count * dtype.size)
    read = f"{rows}[{r}] = {scope.read(load.access.pointer, load.address, dtype, load.width)};"
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
        assert load.sweep.run is not None
        fast = load.sweep.run.fast
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


def _transposing_bytes(scope: KernelScope, load: Load, guarded: bool, at: dict[str, Expr]) -> list[str]:
    """The same for bytes, which travel four to a word: 4 x 4 of them are transposed by permutations of bytes."""
    assert load.across is not None and load.sweep.run is not None
    axis, fast, line = load.across[0], load.sweep.run.fast, _line(scope, load)
    r, lane = scope.symbol("@row"), scope.symbol("@lane")
    rows = scope.names.user("@rows", "rows")
    words = load.width // 4
    row_type = scope.vector(U32, words, load.width)
    read = f"{rows}[{r}] = *reinterpret_cast<const {row_type}*>({scope.place(load.access.pointer, load.address)});"
    if guarded and axis in load.guards:
        read = f"if ({scope.guard(axis)}) {{ {read} }}"
    moved = dict(at)
    moved[fast] = at[fast] + sym("@lane") * 4 + sym("@row")
    target = scope.element(load.buffer, moved, words, whole=load.buffer.chunk == 4)
    scope.file.helpers.add("transpose_bytes")
    return [
        f"{row_type} {rows}[4] = {{}};",
        "#pragma unroll",
        f"for (int {r} = 0; {r} < 4; ++{r}) {{",
        f"    {scope.coordinate(axis, at[axis] + sym('@row'))[1]}",
        "    " + mark(read, line),
        "}",
        "#pragma unroll",
        f"for (int {lane} = 0; {lane} < {words}; ++{lane}) {{",
        "    transpose_bytes(" + ", ".join(f"{rows}[{n}].lane[{lane}]" for n in range(4)) + ");",
        "    #pragma unroll",
        f"    for (int {r} = 0; {r} < 4; ++{r}) {{",
        *(
            "        " + x
            for x in wrapped(f"*reinterpret_cast<unsigned*>(&{target}) = {rows}[{r}].lane[{lane}];", line)
        ),
        "    }",
        "}",
    ]


def _line(scope: KernelScope, load: Load) -> int | None:
    """The spec line of the `stage` directive, or of the first read where `auto` chose to stage."""
    tensor = load.buffer.tensor
    stage = scope.plan.schedule.stage_of(tensor)
    if stage is not None and stage.span is not None:
        return stage.span.line
    return next((r.span.line for r in scope.nest.loads if r.tensor == tensor), None)
