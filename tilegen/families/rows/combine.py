"""Combinations of accumulators: over the lanes of a warp, the warps of a block, and the blocks that share a row."""

from __future__ import annotations

from tilegen.algebra import ZERO
from tilegen.core.nest.combine import ARGUMENTS
from tilegen.cuda import tree
from tilegen.cuda.operators import (
    NO_INDEX,
    accumulator_ctype,
    combined,
    identity_value,
    operator,
    operator_entries,
    result,
)
from tilegen.cuda.tree import (
    BOOL,
    INDEX,
    SIZE,
    UNSIGNED,
    Assign,
    Binary,
    Block,
    Braces,
    Call,
    Cast,
    Comment,
    Conditional,
    Expression,
    For,
    Function,
    If,
    Infix,
    Member,
    Part,
    Run,
    SharedArray,
    Skeleton,
    Statement,
    Storage,
    Templated,
    Unroll,
    Variable,
    add,
    all_of,
    at,
    binary,
    call,
    equal,
    less,
    multiply,
    number,
)
from tilegen.dtypes import BOOL as TRUTH
from tilegen.families.rows.axes import row_count
from tilegen.families.rows.names import RowScope
from tilegen.families.rows.phases import Combine
from tilegen.families.rows.plan import components, scratch_name
from tilegen.lang.spec import Reduce, Reduction

_WARP = 32


def combine_part(rows: RowScope, phase: Combine) -> Part:
    """The threads, and blocks, of each row put their accumulators together; afterwards the results are known."""
    found = [*_team(rows, phase.reductions)]
    comment = [Comment((_why(rows),))]
    if phase.parts:
        comment.append(
            Comment(
                (
                    "The last block to finish its part puts all parts together, in order: the same bits on every run.",
                )
            )
        )
        found += [*_share(rows, phase.reductions), *_team(rows, phase.reductions)]
    if rows.rows.cluster > 1:
        found += _blocks(rows, phase.reductions)
        comment.append(
            Comment(
                ("Every block of the cluster tells all others what it found; all combine it in one order.",)
            )
        )
    for node in phase.reductions:
        found += _finish(rows, node)
    for node in phase.reductions:
        rows.known[node] = result(node, rows.at_lane(rows.result(node)), rows.types)
    return Part(tuple(comment), tuple(found))


def _why(rows: RowScope) -> str:
    along = rows.rows.along
    if rows.rows.across:
        return (
            "Each row's threads leave their results in shared memory; all of them are combined in one order."
        )
    if along > _WARP:
        return f"Combine over the {along} threads of the row: lanes by shuffles, then one value per warp."
    return f"Combine over the {along} lanes of the row by shuffles." if along > 1 else "The row is complete."


def _across_lanes(node: Reduce, lanes: Expression | int, value: Expression) -> Call:
    """The values of neighbouring lanes, put together by shuffles."""
    lanes = number(lanes) if isinstance(lanes, int) else lanes
    entries = (
        "across_lanes",
        *operator_entries(node),
        *(("exchange_indexed",) if node.op in ARGUMENTS else ()),
    )
    return Call(Function("across_lanes", entries, (operator(node), lanes)), (value,))


def _team(rows: RowScope, reductions: tuple[Reduce, ...]) -> Block:
    """Statements after which every thread of a team has the result."""
    along = rows.rows.along
    if along == 1:
        return ()
    if rows.rows.across:
        return _columns(rows, reductions)
    first: list[Statement] = []
    second: list[Statement] = []
    warps = along // _WARP
    for node in reductions:
        total = rows.result(node)
        first.append(Assign(total, _across_lanes(node, min(along, _WARP), total)))
        if warps > 1:
            shape = (number(rows.rows.threads // _WARP),)
            parts = _shared(rows, node, shape, "One partial result per warp.")
            first_lane = equal(binary(Infix.REMAINDER, rows.thread, _WARP), 0)
            first.append(
                If(first_lane, (Assign(at(parts, binary(Infix.DIVIDE, rows.thread, _WARP)), total),))
            )
            place: Expression = binary(Infix.REMAINDER, rows.thread, warps)
            if rows.rows.beside > 1:
                place = add(multiply(rows.side, warps), place)
            second.append(Assign(total, _across_lanes(node, warps, at(parts, place))))
    return (*first, tree.Barrier(), *second) if warps > 1 else tuple(first)


def _blocks(rows: RowScope, reductions: tuple[Reduce, ...]) -> Block:
    """What the blocks of a cluster found goes to all of them."""
    written: list[Statement] = []
    read: list[Statement] = []
    for node in reductions:
        total = rows.result(node)
        slots = _shared(rows, node, (rows.cluster,), "One result per block of the cluster.", "blocks")
        place = Binary(Infix.ADD, slots, rows.rank)
        written.append(Run(Call(Function("store_remote", ("store_remote",)), (place, rows.thread, total))))
        slot = at(slots, Binary(Infix.REMAINDER, rows.thread, rows.cluster))
        read.append(Assign(total, _across_lanes(node, rows.cluster, slot)))
    started = [cluster("wait")] if rows.first_combination() else []
    one_each = If(less(rows.thread, rows.cluster), tuple(written))
    return (*started, one_each, cluster("arrive"), cluster("wait"), *read)


def cluster(what: str) -> Run:
    """The barrier of a cluster, in its two halves `arrive` and `wait`."""
    return Run(Call(Function(f"cluster_{what}", ("store_remote",))))


def _columns(rows: RowScope, reductions: tuple[Reduce, ...]) -> Block:
    first: list[Statement] = []
    second: list[Statement] = []
    for node in reductions:
        total = rows.at_lane(rows.result(node))
        lanes = [number(rows.lanes)] if rows.lanes > 1 else []
        lane = [rows.lane] if rows.lanes > 1 else []
        shape = (number(rows.rows.along), *lanes, number(rows.rows.beside))
        parts = _shared(
            rows, node, shape, "One partial result per thread; neighbours lie in different banks."
        )
        first += rows.each_lane((Assign(at(parts, rows.member, *lane, rows.side), total),))
        m = rows.scope.variable("@m", "m")
        other = at(parts, m, *lane, rows.side)
        body = (Assign(total, combined(node, total, other)),)
        second += rows.each_lane(
            (
                Assign(total, at(parts, 0, *lane, rows.side)),
                For(m, number(1), number(rows.rows.along), body),
            )
        )
    return (*first, tree.Barrier(), *second)


def _shared(
    rows: RowScope, node: Reduce, shape: tuple[Expression, ...], comment: str, what: str = "parts"
) -> Variable:
    total = rows.result(node)
    array = rows.scope.variable(
        f"@shared {what} {id(total)}",
        f"{total.wanted}_{what}",
        accumulator_ctype(node, rows.types),
        shape,
        Storage.SHARED,
    )
    if all(s.variable is not array for s in rows.shared):
        rows.shared.append(SharedArray(array, Comment((comment,))))
    return array


def _share(rows: RowScope, reductions: tuple[Reduce, ...]) -> Block:
    """Partial results to global memory; only the last block of each row goes on."""
    scope = rows.scope
    rows_in_all = scope.index(row_count(rows.nest))
    flag = scope.variable("@last", "last", BOOL, storage=Storage.SHARED)
    rows.shared.append(
        SharedArray(flag, Comment(("Whether this block is the last one of its rows to finish.",)))
    )
    row = add(rows.row, rows.lane) if rows.lanes > 1 else rows.row

    def place(position: int, component: str, part: Expression) -> Expression:
        """Where a component of what a part found lies."""
        memory = scope.scratch(scratch_name(position, component))
        return at(memory, add(multiply(Cast(SIZE, part), rows_in_all), row) if rows.nest.parallel else part)

    written: list[Statement] = []
    start: list[Statement] = []
    read: list[Statement] = []
    other = scope.variable("@other", "q", UNSIGNED)
    for position, node in enumerate(reductions):
        total = rows.at_lane(rows.result(node))
        names = components(node)
        for component, _ in names:
            source = Member(total, component) if component else total
            written.append(Assign(place(position, component, rows.part), source))
        start.append(Assign(total, identity_value(node, rows.types)))
        loads: list[Expression] = []
        for component, dtype in names:
            load: Expression = call("__ldcg", tree.address_of(place(position, component, other)))
            # A truth value is a byte in memory.
            loads.append(binary(Infix.NOT_EQUAL, load, 0) if dtype == TRUTH else load)
        if node.op in ARGUMENTS:
            pair = Braces(accumulator_ctype(node, rows.types), (loads[0], Cast(INDEX, loads[1])))
            read.append(Assign(total, combined(node, total, pair)))
        else:
            read.append(Assign(total, combined(node, total, _as_accumulator(rows, node, loads[0]))))
    who = [equal(rows.member, 0)] if rows.rows.along > 1 else []
    writer = all_of([*who, *([rows.inside] if rows.ragged else [])])
    body = rows.each_lane(tuple(written))
    along = rows.rows.along
    loop: Statement = For(
        other,
        rows.member if along > 1 else number(0),
        rows.parts,
        rows.each_lane(tuple(read)),
        number(along),
        Unroll.NOT_SAID,
    )
    finish = Skeleton(
        "blocks.last_one",
        {
            "thread": rows.thread,
            "last": flag,
            "ticket": Binary(Infix.ADD, scope.scratch("tickets"), rows.block),
            "blocks": rows.parts,
        },
    )
    return (
        *(body if writer is None else (If(writer, body),)),
        finish,
        *rows.each_lane(tuple(start)),
        If(rows.inside, (loop,)) if rows.ragged else loop,
    )


def _as_accumulator(rows: RowScope, node: Reduce, value: Expression) -> Expression:
    """A partial result in memory, in the type of its accumulator."""
    ctype = accumulator_ctype(node, rows.types)
    same = isinstance(ctype, Templated) or ctype == rows.types.value(node.dtype)
    return value if same else Cast(ctype, value)


def _finish(rows: RowScope, node: Reduce) -> Block:
    """A mean is its sum divided by the number of elements; an arg-reduction that nothing won is at the first one."""
    total = rows.at_lane(rows.result(node))
    if node.op in ARGUMENTS:
        first = rows.scope.index(rows.scope.in_nest(node.axes[0].lower if len(node.axes) == 1 else ZERO))
        index = Member(total, "index")
        return rows.each_lane((Assign(index, Conditional(equal(index, NO_INDEX), first, index)),))
    if node.op is not Reduction.MEAN:
        return ()
    count = None
    for axis in node.axes:
        length = axis.upper - axis.lower
        count = length if count is None else count * length
    assert count is not None
    points = Cast(rows.types.value(node.dtype), rows.scope.index(rows.scope.in_nest(count)))
    return rows.each_lane((Assign(total, points, "/="),))
