"""Combinations of accumulators: over the lanes of a warp, the warps of a block, and the blocks that share a row."""

from __future__ import annotations

from tilegen.algebra import ZERO
from tilegen.core.nest.combine import ARGUMENTS
from tilegen.cuda.operators import accumulator_ctype, identity_text, operator_name
from tilegen.cuda.view import CombineView, SharedView
from tilegen.dtypes import BOOL
from tilegen.families.rows.axes import row_count
from tilegen.families.rows.names import RowScope
from tilegen.families.rows.phases import Combine
from tilegen.families.rows.plan import components, scratch_name
from tilegen.lang.spec import Reduce, Reduction

_WARP = 32


def view_combine(rows: RowScope, phase: Combine) -> CombineView:
    stages = _team(rows, phase.reductions)
    comment = [_comment(rows)]
    if phase.parts:
        comment.append(
            "The last block to finish its part puts all parts together, in their order: the same bits on every run."
        )
        stages = _joined(stages, _share(rows, phase.reductions), _team(rows, phase.reductions))
    if rows.rows.cluster > 1:
        stages = _joined(stages, _blocks(rows, phase.reductions))
        comment.append(
            "Every block of the cluster tells all others what it found; all combine it in one order."
        )
    finished = [line for node in phase.reductions for line in _finish(rows, node)]
    stages = _joined(stages, [finished])
    for node in phase.reductions:
        rows.known[node] = result_text(rows, node)
    return CombineView(tuple(comment), tuple(tuple(s) for s in stages))


def result_text(rows: RowScope, node: Reduce) -> str:
    place = rows.at_lane(rows.result(node))
    if node.op not in ARGUMENTS:
        return place
    return f"static_cast<{rows.types.value(node.dtype)}>({place}.index)"


def _joined(*parts: list[list[str]]) -> list[list[str]]:
    """Stages one after another, the first of each part without a barrier before it."""
    stages: list[list[str]] = [[]]
    for part in parts:
        if part:
            stages[-1] += part[0]
            stages += part[1:]
    return stages


def _comment(rows: RowScope) -> str:
    along = rows.rows.along
    if rows.rows.across:
        return (
            "Each row's threads leave their results in shared memory; all of them are combined in one order."
        )
    if along > _WARP:
        return f"Combine over the {along} threads of the row: lanes by shuffles, then one value per warp."
    return f"Combine over the {along} lanes of the row by shuffles." if along > 1 else "The row is complete."


def _team(rows: RowScope, reductions: tuple[Reduce, ...]) -> list[list[str]]:
    """Stages after which every thread of a team has the result; a barrier lies between stages."""
    along = rows.rows.along
    if along == 1:
        return []
    if rows.rows.across:
        return _columns(rows, reductions)
    rows.helpers.add("across_lanes")
    first: list[str] = []
    second: list[str] = []
    warps = along // _WARP
    for node in reductions:
        name, operator = rows.result(node), operator_name(node, rows.helpers)
        if node.op in ARGUMENTS:
            rows.helpers.add("exchange_indexed")
        first.append(f"{name} = across_lanes<{operator}, {min(along, _WARP)}>({name});")
        if warps > 1:
            parts = _shared(rows, node, f"[{rows.rows.threads // _WARP}]", "One partial result per warp.")
            first += [f"if ({rows.thread} % 32 == 0) {{", f"    {parts}[{rows.thread} / 32] = {name};", "}"]
            own = f"{rows.side} * {warps} + " if rows.rows.beside > 1 else ""
            second.append(
                f"{name} = across_lanes<{operator}, {warps}>({parts}[{own}{rows.thread} % {warps}]);"
            )
    return [first, second] if warps > 1 else [first]


def _blocks(rows: RowScope, reductions: tuple[Reduce, ...]) -> list[list[str]]:
    """What the blocks of a cluster found goes to all of them."""
    rows.helpers.add("store_remote")
    written: list[str] = []
    read: list[str] = []
    for node in reductions:
        name = rows.result(node)
        slots = _shared(rows, node, "[CLUSTER]", "One result per block of the cluster.", "blocks")
        written.append(f"    store_remote({slots} + {rows.rank}, {rows.thread}, {name});")
        operator = operator_name(node, rows.helpers)
        read.append(f"{name} = across_lanes<{operator}, CLUSTER>({slots}[{rows.thread} % CLUSTER]);")
    started = ["cluster_wait();"] if rows.first_combination() else []
    return [
        [
            *started,
            f"if ({rows.thread} < CLUSTER) {{",
            *written,
            "}",
            "cluster_arrive();",
            "cluster_wait();",
            *read,
        ]
    ]


def _columns(rows: RowScope, reductions: tuple[Reduce, ...]) -> list[list[str]]:
    first: list[str] = []
    second: list[str] = []
    for node in reductions:
        name, operator = rows.result(node), operator_name(node, rows.helpers)
        lanes = f"[{rows.lanes}]" if rows.lanes > 1 else ""
        lane = f"[{rows.lane}]" if rows.lanes > 1 else ""
        shape = f"[{rows.rows.along}]{lanes}[{rows.rows.beside}]"
        parts = _shared(
            rows, node, shape, "One partial result per thread; neighbours lie in different banks."
        )
        place = rows.at_lane(name)
        first += rows.each_lane([f"{parts}[{rows.member}]{lane}[{rows.side}] = {place};"])
        m = rows.scope.names.user("@m", "m")
        second += rows.each_lane(
            [
                f"{place} = {parts}[0]{lane}[{rows.side}];",
                "#pragma unroll",
                f"for (int {m} = 1; {m} < {rows.rows.along}; ++{m}) {{",
                f"    {place} = {operator}::of({place}, {parts}[{m}]{lane}[{rows.side}]);",
                "}",
            ]
        )
    return [first, second]


def _shared(rows: RowScope, node: Reduce, shape: str, comment: str, what: str = "parts") -> str:
    name = rows.scope.names.user(f"@shared {what} {rows.result(node)}", f"{rows.result(node)}_{what}")
    ctype = accumulator_ctype(node, rows.types, rows.helpers)
    view = SharedView(comment, f"__shared__ {ctype} {name}{shape};")
    if view not in rows.shared:
        rows.shared.append(view)
    return name


def _share(rows: RowScope, reductions: tuple[Reduce, ...]) -> list[list[str]]:
    """Partial results to global memory; only the last block of each row goes on."""
    scope = rows.scope
    total, flag = scope.index(row_count(rows.nest), 2), scope.names.user("@last", "last")
    rows.shared.append(
        SharedView("Whether this block is the last one of its rows to finish.", f"__shared__ bool {flag};")
    )
    wide = "static_cast<size_t>"
    lane = f" + {rows.lane}" if rows.lanes > 1 else ""
    row = f"{rows.row}{lane}" if rows.nest.parallel else "0"

    def place(number: int, part: str, which: str) -> str:
        name = scope.scratch(scratch_name(number, part))
        at = f"{wide}({which}) * {total} + {row}" if rows.nest.parallel else which
        return f"{name}[{at}]"

    written, start, read = [], [], []
    other = scope.names.user("@other", "q")
    for number, node in enumerate(reductions):
        at = rows.at_lane(rows.result(node))
        operator = operator_name(node, rows.helpers)
        names = components(node)
        for part, _ in names:
            source = f"{at}.{part}" if part else at
            written.append(f"{place(number, part, rows.part)} = {source};")
        start.append(f"{at} = {identity_text(node, rows.types, rows.helpers)};")
        # A truth value is a byte in memory.
        loads = [
            f"__ldcg(&{place(number, part, other)})" + (" != 0" if dtype == BOOL else "")
            for part, dtype in names
        ]
        if node.op in ARGUMENTS:
            loads[1] = f"static_cast<index_t>({loads[1]})"
        ctype = accumulator_ctype(node, rows.types, rows.helpers)
        taken = f"{ctype}{{{', '.join(loads)}}}" if node.op in ARGUMENTS else loads[0]
        read.append(f"{at} = {operator}::of({at}, {taken});")
    conditions = [f"{rows.member} == 0"] if rows.rows.along > 1 else []
    conditions += [rows.inside] if rows.ragged else []
    tickets = scope.scratch("tickets")
    first, step = (rows.member, rows.rows.along) if rows.rows.along > 1 else ("0", 1)
    loop = [
        f"for (unsigned {other} = {first}; {other} < {rows.parts}; {other} += {step}) {{",
        *("    " + x for x in rows.each_lane(read)),
        "}",
    ]
    if rows.ragged:
        loop = [f"if ({rows.inside}) {{", *("    " + x for x in loop), "}"]
    return [
        [*_when(conditions, rows.each_lane(written)), "__threadfence();"],
        [
            f"if ({rows.thread} == 0) {{",
            f"    {flag} = atomicAdd({tickets} + {rows.block}, 1u) + 1 == {rows.parts};",
            "}",
        ],
        [f"if (!{flag}) {{", "    return;", "}", "__threadfence();", *rows.each_lane(start), *loop],
    ]


def _when(conditions: list[str], lines: list[str]) -> list[str]:
    if not conditions:
        return lines
    return [f"if ({' && '.join(conditions)}) {{", *("    " + x for x in lines), "}"]


def _finish(rows: RowScope, node: Reduce) -> list[str]:
    """A mean is its sum divided by the number of elements; an arg-reduction that nothing won is at the first one."""
    if node.op in ARGUMENTS:
        at = rows.at_lane(rows.result(node))
        first = rows.scope.index(rows.scope.in_nest(node.axes[0].lower if len(node.axes) == 1 else ZERO))
        return rows.each_lane([f"{at}.index = {at}.index == NO_INDEX<index_t> ? {first} : {at}.index;"])
    if node.op is not Reduction.MEAN:
        return []
    count = None
    for axis in node.axes:
        length = axis.upper - axis.lower
        count = length if count is None else count * length
    assert count is not None
    text = rows.scope.index(rows.scope.in_nest(count))
    place = rows.at_lane(rows.result(node))
    return rows.each_lane([f"{place} /= static_cast<{rows.types.value(node.dtype)}>({text});"])
