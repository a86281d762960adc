"""The body of a histogram's kernel: who a block is, and its phases. What is done per element: `elements`."""

from __future__ import annotations

from tilegen.core.plan.model import Barrier
from tilegen.cuda import tree
from tilegen.cuda.item import ItemBody
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.tree import (
    BLOCK,
    INDEX,
    INT,
    UNSIGNED,
    Binary,
    Block,
    Body,
    Cast,
    Comment,
    Conditional,
    Constant,
    Declare,
    Expression,
    For,
    Hole,
    If,
    Infix,
    Part,
    Scope,
    SharedArray,
    Skeleton,
    Statement,
    Unroll,
    Variable,
    Words,
    add,
    all_of,
    at,
    binary,
    call,
    equal,
    less,
    multiply,
    number,
    optional,
    thread_number,
)
from tilegen.families.histogram.elements import NO_SWEEP, element_statements
from tilegen.families.histogram.loads import EarlyLoads
from tilegen.families.histogram.names import CountScope
from tilegen.families.histogram.phases import Bins, ClearBins, CountElements, TotalBins, WriteBins
from tilegen.families.histogram.plan import TICKETS, TOTALS


def body(scope: KernelScope) -> Body:
    count = next(p for p in scope.plan.phases if isinstance(p, CountElements))
    c = CountScope(scope, count)
    phases: list[Statement] = []
    for phase in scope.plan.phases:
        match phase:
            case Barrier():
                phases.append(tree.Barrier())
            case ClearBins():
                phases.append(_clear(c))
            case CountElements():
                phases += _count(c)
            case TotalBins():
                phases.append(_total(c))
            case WriteBins():
                phases.append(_write(c, phase))
            case _:
                raise AssertionError("a histogram has no tiles")
    return Body(
        extent=_extent(c),
        constants=tuple(_constants(c)),
        shared=tuple(_shared(c)),
        setup=_setup(c),
        phases=tuple(phases),
    )


def _extent(c: CountScope) -> Words:
    what = f"{c.phase.items * c.phase.width * c.scope.plan.threads} elements at a time"
    return (
        f"{what}, in strides of all blocks" if not c.phase.walk.outer else f"{what} of one row of elements",
    )


def _constants(c: CountScope) -> list[Constant]:
    threads, copies = c.scope.plan.threads, c.bins.copies
    found = [Constant(c.threads, threads), Constant(c.items, c.phase.items)]
    if c.phase.items > 1:
        found.append(Constant(c.chunk, threads * c.phase.items))
    if c.known_bins is not None and isinstance(c.bins_in_all, Variable):
        found.append(Constant(c.bins_in_all, c.known_bins))
    if copies is not None:
        return [*found, Constant(c.copies, copies), Constant(c.pitch, copies * c.bins.counter.size)]
    return [*found, Constant(c.capacity, c.bins.capacity)]


def _shared(c: CountScope) -> list[SharedArray]:
    found = [SharedArray(c.counters, Comment((_shared_comment(c.bins),)))] if c.bins.capacity else []
    if c.bins.shares:
        found.append(SharedArray(c.last, Comment(("Whether this block is the last to finish.",))))
    return found


def _shared_comment(bins: Bins) -> str:
    text = "The bins of the block, several copies side by side, so that fewer lanes meet."
    if bins.copies == 1:
        text = "The bins of the block."
    if bins.copies == 32:
        text = "The bins of the block, a copy per lane: the bank is the lane's own, so lanes never meet."
    return text + (" One more takes what belongs to none." if bins.spare else "")


def _setup(c: CountScope) -> Block:
    scope, outer = c.scope, c.phase.walk.outer
    found: list[Declare] = [thread_number(c.thread)]
    if isinstance(c.part, Variable) and isinstance(c.parts, Variable):
        rows = Cast(UNSIGNED, scope.index(c.outer))
        found += [
            optional(c.parts, Binary(Infix.DIVIDE, tree.BLOCKS, rows)),
            optional(c.part, Binary(Infix.REMAINDER, BLOCK, c.parts)),
            optional(c.batch, Cast(INDEX, Binary(Infix.DIVIDE, BLOCK, c.parts))),
            *c.digits(outer, c.at_batch),
        ]
    if c.known_bins is None and isinstance(c.bins_in_all, Variable):
        found.append(optional(c.bins_in_all, scope.index(c.bins.count)))
    if c.bins.copies is None:
        room = call("min", Cast(INT, Binary(Infix.DIVIDE, c.capacity, c.slots)), 32)
        highest = binary(Infix.SUBTRACT, 31, call("__clz", room))
        found.append(optional(c.copies, binary(Infix.SHIFT_LEFT, 1, highest)))
    length = scope.index(c.length)
    if isinstance(c.total, Variable) and c.total is not length:
        found.append(optional(c.total, length))
    if c.phase.width > 1:
        found.append(optional(c.item_count, binary(Infix.DIVIDE, length, c.phase.width)))
    return (*found, *_thread(c))


def _thread(c: CountScope) -> list[Declare]:
    """What a thread has of its own: a copy of the bins, and where in the elements its block begins."""
    size, stride = c.bins.counter.size, _chunk(c)
    mask = binary(Infix.SUBTRACT, c.copies, 1)
    found = [optional(c.copy_of_thread, Binary(Infix.BIT_AND, c.thread, mask))]
    if c.turn is not c.copy_of_thread:
        group = binary(Infix.DIVIDE, multiply(c.thread, c.copies), 32)
        found.append(optional(c.turn, Binary(Infix.BIT_AND, group, mask)))
    found.append(optional(c.mine, binary(Infix.MULTIPLY, c.copy_of_thread, size)))
    if c.bins.copies is None:
        found.append(optional(c.pitch, binary(Infix.MULTIPLY, c.copies, size)))
    return [
        *found,
        optional(c.start, multiply(Cast(INDEX, c.part), stride)),
        optional(c.stride, multiply(Cast(INDEX, c.parts), stride)),
    ]


def _chunk(c: CountScope) -> Expression:
    """What a block takes in one stride."""
    return c.chunk if c.phase.items > 1 else c.threads


# Phases


def _clear(c: CountScope) -> Part:
    holes = {
        "number": c.number,
        "thread": c.thread,
        "count": c.all_slots(),
        "threads": c.threads,
        "counters": c.counters,
    }
    return Part((Comment(("Clear the bins.",)),), (Skeleton("histogram.clear", holes, inner=(c.number,)),))


def _count(c: CountScope) -> list[Part]:
    early = EarlyLoads(c)
    several = c.phase.items > 1
    counted = element_statements(c, early)
    body: Block = (
        (*early.arrays, *(_items(c, early.loads) if early.loads else ()), *_items(c, counted))
        if several
        else _items(c, (*early.arrays, *_without_again(early.loads, counted)))
    )
    first, step = (c.start, c.stride) if c.phase.bins.shares else (number(0), _chunk(c))
    walk = For(c.first, first, c.ends, body, step, Unroll.NOT_SAID)
    comment = [Comment((_count_comment(c, bool(early.arrays)),))]
    if not c.bins.capacity:
        why = (
            "There are too many bins for shared memory: atomics in the L2 cache add to totals of all blocks."
        )
        comment.append(Comment((why,)))
    found: Block = (walk,)
    if c.phase.tail:
        found += _tail(c)
    return [Part(tuple(comment), found)]


def _without_again(loads: Block, counted: Block) -> Block:
    """Loads and what uses them as one block: coordinates that both need are defined once."""
    defined = {s.variable for s in loads if isinstance(s, Declare)}
    return (*loads, *(s for s in counted if not (isinstance(s, Declare) and s.variable in defined)))


def _items(c: CountScope, body: Block) -> Block:
    """`body` for each item of the thread that there is."""
    place: Expression = c.first
    if c.phase.items > 1:
        place = add(place, multiply(c.step, c.threads))
    item = optional(c.item, add(place, c.thread))
    guarded: Block = (item, If(less(c.item, c.ends), body))
    return (For(c.step, number(0), c.items, guarded),) if c.phase.items > 1 else (Scope(guarded),)


def _count_comment(c: CountScope, loads: bool) -> str:
    if not loads:
        return "Count."
    what = f"{c.phase.items} loads of each thread" if c.phase.items > 1 else "The loads of a thread"
    return f"Count. {what} are under way before the first is used."


def _tail(c: CountScope) -> Block:
    """The elements after the last whole vector."""
    first = add(multiply(c.item_count, c.phase.width), c.thread)
    conditions = [equal(c.part, 0)] if c.bins.shares else []
    body = element_statements(c, None)
    comment = Comment(("The elements after the last whole vector.",))
    if c.scope.plan.threads >= c.phase.width - 1:
        # A thread has at most one of them.
        condition = all_of([*conditions, less(c.rest, c.total)])
        assert condition is not None
        return comment, optional(c.rest, first), If(condition, body)
    loop = For(c.rest, first, c.total, body, c.threads, Unroll.NOT_SAID)
    condition = all_of(conditions)
    return comment, loop if condition is None else If(condition, (loop,))


def _total(c: CountScope) -> Part:
    bins = c.bins
    comment = "Totals of the block."
    if bins.copies != 1:
        comment = (
            "Totals of the block: each thread adds the copies of a bin, beginning where no other lane does: all "
            "banks are busy."
        )
    total = Variable("total", c.counter)
    share: Block = ()
    if bins.shares:
        place = add(c.scope.scratch(TOTALS), c.total_of(c.number))
        amount: Expression = Cast(c.total_type, total) if bins.total != bins.counter else total
        worth = Binary(Infix.AND, c.shared_by_blocks(), binary(Infix.NOT_EQUAL, total, 0))
        share = (If(worth, (tree.Run(call("atomicAdd", place, amount)),)),)
    holes: dict[str, Hole] = {
        "number": c.number,
        "thread": c.thread,
        "count": c.bins_in_all,
        "threads": c.threads,
        "counter": c.counter,
        "counters": c.counters,
        "total": total,
        "copy": c.copy,
        "copies": c.copies,
        "turn": c.turn,
        "unrolled": bins.copies is not None,
        "share": share,
    }
    macro = "histogram.total" if bins.copies == 1 else "histogram.total_of_copies"
    if bins.copies == 1:
        holes = {k: v for k, v in holes.items() if k not in ("copy", "copies", "turn", "unrolled")}
    inner = (c.number, total) if bins.copies == 1 else (c.number, total, c.copy)
    return Part((Comment((comment,)),), (Skeleton(macro, holes, inner=inner),))


def _write(c: CountScope, phase: WriteBins) -> Part:
    scope, bins, found = c.scope, c.bins, phase.found
    result = scope.types.value(found.reduce.dtype)
    total = Variable("total", result)
    body = ItemBody(scope, NO_SWEEP, {found.reduce: total})
    builder = body.builder({})
    builder.count(phase.store.value)
    value = builder(phase.store.value)
    stored = (*builder.take(), body.stored(phase.store, {}, value))
    in_block = at(c.counters, c.counter_of(c.bin, c.turn))
    taken: Expression = in_block
    if bins.shares or not bins.capacity:
        in_all = call("__ldcg", add(scope.scratch(TOTALS), c.total_of(c.bin)))
        taken = Conditional(c.shared_by_blocks(), in_all, in_block) if bins.capacity else in_all
    outputs = scope.pointer(phase.store.access.pointer)
    comment: Words = ("Write ", outputs, ".")
    if bins.shares:
        why = ": the fence puts a block's totals before its ticket, so the last ticket sees them all."
        comment = ("The last block to finish writes ", outputs, why)
    statements: list[Statement] = []
    if bins.shares:
        ticket = scope.scratch(TICKETS)
        holes = {
            "thread": c.thread,
            "last": c.last,
            "ticket": add(ticket, c.batch) if c.phase.walk.outer else ticket,
            "blocks": c.parts,
        }
        last = Skeleton("blocks.last_one", holes)
        statements.append(If(c.shared_by_blocks(), (last,)) if bins.capacity else last)
    inside: Block = (
        optional(total, Cast(result, taken)),
        *c.digits(bins.axes, c.at_bin),
        *stored,
    )
    statements.append(For(c.bin, c.thread, c.bins_in_all, inside, c.threads, Unroll.NOT_SAID))
    return Part((Comment(comment),), tuple(statements))
