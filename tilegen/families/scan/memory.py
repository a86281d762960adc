"""Loads and stores of a kernel with scans: a thread's part of a tile to registers, and results to memory."""

from __future__ import annotations

from tilegen.algebra import Expr, substitute, sym
from tilegen.core.nest.model import Access, Store
from tilegen.core.nest.reductions import reductions_of
from tilegen.cuda.tree import (
    NOTHING,
    Assign,
    Block,
    Comment,
    Declare,
    Expression,
    Infix,
    Part,
    Run,
    Statement,
    Variable,
    Words,
    at,
    binary,
    dereferenced,
    joined,
    lane_of,
    library,
    number,
)
from tilegen.dtypes import DType
from tilegen.families.scan.names import ScanScope, guarded
from tilegen.families.scan.phase import Loaded
from tilegen.families.scan.plan import is_mirrored
from tilegen.families.scan.totals import running_totals
from tilegen.lang.spec import Hint, Read, Value, walk


def load_part(names: ScanScope) -> Part | None:
    """None where there is nothing to load."""
    declared: list[Statement] = []
    inside: list[Statement] = []
    for load in names.phase.loads:
        first, rest = _loaded(names, load)
        declared.append(first)
        inside += rest
    if not declared:
        return None
    words: Words = ("Load the tile, neighbouring lanes along ", names.scope.axis(names.fast))
    if names.spread.width > 1:
        words += (f", {names.spread.width} elements at a time",)
    steps = names.steps((names.coordinate(), *inside))
    return Part((Comment((*words, ".")),), (*declared, *steps))


def _loaded(names: ScanScope, load: Loaded) -> tuple[Declare, Block]:
    """The declaration of the registers, and the statements of one step."""
    scope, spread = names.scope, names.spread
    pointer = scope.nest.pointer(load.access.pointer)
    assert isinstance(pointer.dtype, DType)
    wanted, line = f"{scope.pointer(pointer.name).wanted}_in", load.read.span.line
    steps = (number(spread.steps),) if spread.steps > 1 else ()
    one = scope.read(pointer.name, names.moved(load.access), pointer.dtype, 1)
    inside = names.within(load.first, load.limit)
    if load.width == 1:
        lanes = (number(spread.width),) if spread.width > 1 else ()
        array = Variable(wanted, scope.types.storage(pointer.dtype), (*steps, *lanes))
        element = names.at_lane(names.at_step(array))
        names.loaded[load.read] = element
        body = guarded(inside, (Assign(element, one, line=line),))
        if spread.width > 1:
            body = names.lanes((*names.neighbour(), *body))
        return Declare(array, NOTHING), body
    size = load.width * pointer.dtype.size
    array = Variable(wanted, scope.vector(pointer.dtype, spread.width, size), steps)
    place = names.at_step(array)
    element = lane_of(place, _lane(names, load.access))
    names.loaded[load.read] = element
    whole = _wide(names, pointer.name, _first_of_item(load.access, names), pointer.dtype, load.width)
    single: Block = ()
    if names.ends(load.first, load.limit):
        single = names.lanes((*names.neighbour(), *guarded(inside, (Assign(element, one, line=line),))))
    fits = names.within(load.first, load.limit, whole=True)
    return Declare(array, NOTHING), guarded(fits, (Assign(place, whole, line=line),), single)


def _lane(names: ScanScope, access: Access) -> Expression:
    """Where a neighbour lies in the vector of its item."""
    if is_mirrored(access, names.fast):
        return binary(Infix.SUBTRACT, names.spread.width - 1, names.l)
    return names.l


def _wide(names: ScanScope, pointer: str, address: Expr, dtype: DType, width: int) -> Expression:
    if width == names.spread.width:
        return names.scope.read(pointer, address, dtype, width)
    vector = names.scope.vector(dtype, names.spread.width, width * dtype.size)
    return dereferenced(vector, names.scope.place(pointer, address), const=True)


def write_part(names: ScanScope) -> Part:
    scope, phase = names.scope, names.phase
    declared, per_step, per_lane = list[Statement](), list[Statement](), list[Statement]()
    needed = set(reductions_of(s.value for s in phase.stores))
    totals = [t for t in names.totals if {t.carrier.inclusive, t.carrier.exclusive} & needed]
    known = running_totals(names, totals, declared, per_step, per_lane)
    body = names.item(known)
    builder = body.builder(names.shift)
    for store in phase.stores:
        builder.count(store.value)
    trees = [builder(s.value) for s in phase.stores]
    definitions = builder.take()
    values, stores, after = list[Statement](), list[Statement](), list[Statement]()
    for store, tree in zip(phase.stores, trees, strict=True):
        line = store.assign.span.line
        if phase.width_of(store.access) > 1:
            vector, assigned, stored = _wide_store(names, store, tree)
            per_step.append(vector)
            values.append(assigned)
            after += stored
            continue
        if len(trees) > 1:
            wanted = f"{scope.pointer(store.access.pointer).wanted}_value"
            value = Variable(wanted, scope.types.value(store.access.dtype))
            values.append(Declare(value, tree, const=True, line=line))
            tree = value
        stores.append(body.stored(store, names.shift, tree))
    at_point = (*definitions, *values, *stores)
    # What is not in registers must not be read past the end.
    if stores or any(_reads_memory(names, s.value) for s in phase.stores):
        at_point = guarded(names.within(phase.store_first, names.extent), at_point)
    lanes = names.lanes((*names.neighbour(), *per_lane, *at_point))
    steps = names.steps((names.coordinate(), *per_step, *lanes, *after))
    outputs = dict.fromkeys(scope.pointer(s.access.pointer) for s in phase.stores)
    words: Words = ("Go through the points once more, with what came before them, and write ",)
    return Part((Comment((*words, *joined(outputs, ", "), ".")),), (*declared, *steps))


def _reads_memory(names: ScanScope, value: Value) -> bool:
    """Whether a value reads what is not in registers."""
    return any(isinstance(v, Read) and v not in names.loaded for v in walk(value))


def _wide_store(names: ScanScope, store: Store, tree: Expression) -> tuple[Declare, Assign, Block]:
    """What a store of several elements adds per step, per neighbour and after them."""
    scope, width = names.scope, names.spread.width
    access, line = store.access, store.assign.span.line
    pointer = scope.nest.pointer(access.pointer)
    assert isinstance(pointer.dtype, DType)
    several = names.phase.width_of(access)
    type_ = scope.vector(pointer.dtype, width, several * pointer.dtype.size)
    vector = Variable(f"{scope.pointer(access.pointer).wanted}_out", type_)
    place = scope.place(access.pointer, _first_of_item(access, names))
    whole: Statement = Assign(dereferenced(type_, place), vector, line=line)
    if scope.hint(pointer.tensor) is Hint.STREAMING and several == width:
        whole = Run(library("store_streaming", place, vector), line)
    first, element = names.phase.store_first, lane_of(vector, _lane(names, access))
    single: Block = ()
    if names.ends(first, names.extent):
        one = Assign(at(scope.pointer(access.pointer), scope.index(names.moved(access))), element, line=line)
        single = names.lanes((*names.neighbour(), *guarded(names.within(first, names.extent), (one,))))
    stored = guarded(names.within(first, names.extent, whole=True), (whole,), single)
    return Declare(vector), Assign(element, tree, line=line), stored


def _first_of_item(access: Access, names: ScanScope) -> Expr:
    """The address of the neighbour of an item that lies first in memory, over the item's own coordinate."""
    if not is_mirrored(access, names.fast):
        return access.address
    return substitute(access.address, {names.fast: sym(names.fast) + (names.spread.width - 1)})
