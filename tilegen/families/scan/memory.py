"""Loads and stores of a kernel with scans: a thread's part of a tile to registers, and results to memory."""

from __future__ import annotations

from tilegen.algebra import Expr, substitute, sym
from tilegen.core.nest.model import Access, Store
from tilegen.core.nest.reductions import reductions_of
from tilegen.cuda.scope import mark, wrapped
from tilegen.cuda.view import PartView
from tilegen.dtypes import DType
from tilegen.families.scan.names import ScanScope, guarded, used
from tilegen.families.scan.phase import Loaded
from tilegen.families.scan.plan import is_mirrored
from tilegen.families.scan.totals import running_totals
from tilegen.lang.spec import Hint, Read, Value, walk


def load_part(names: ScanScope) -> PartView:
    declared: list[str] = []
    inside: list[str] = []
    for load in names.phase.loads:
        first, rest = _loaded(names, load)
        declared.append(first)
        inside += rest
    if not declared:
        return PartView((), ())
    inside = used([names.coordinate()], inside)
    along = names.scope.names.user(names.fast)
    text = f"Load the tile, neighbouring lanes along {along}"
    text += f", {names.spread.width} elements at a time." if names.spread.width > 1 else "."
    return PartView((text,), (*declared, *names.steps(inside)))


def _loaded(names: ScanScope, load: Loaded) -> tuple[str, list[str]]:
    """The declaration of the registers, and the statements of one step."""
    scope, width = names.scope, names.spread.width
    pointer = scope.nest.pointer(load.access.pointer)
    assert isinstance(pointer.dtype, DType)
    name = scope.names.user(f"@in{len(names.loaded)}", f"{scope.pointer(pointer.name)}_in")
    place, line = f"{name}{names.at_step}", load.read.span.line
    address = names.moved(load.access)
    one = scope.read(pointer.name, address, pointer.dtype, 1)
    inside = names.within(load.first, load.limit)
    if load.width == 1:
        ctype = scope.file.types.storage(pointer.dtype)
        text = f"{place}{names.at_lane}"
        names.loaded[load.read] = text
        body = guarded(inside, [mark(f"{text} = {one};", line)])
        if names.spread.width > 1:
            body = names.lanes(used(names.neighbour(), body))
        return f"{ctype} {name}{names.per_step()}{names.per_lane()} = {{}};", body
    vector = scope.vector(pointer.dtype, width, load.width * pointer.dtype.size)
    element = f"{place}.lane[{_lane(names, load.access)}]"
    names.loaded[load.read] = element
    at = _first_of_item(load.access, names)
    whole = mark(f"{place} = {_wide(names, pointer.name, at, pointer.dtype, load.width)};", line)
    body = guarded(names.within(load.first, load.limit, whole=True), [whole])
    if names.ends(load.first, load.limit):
        single = names.lanes([*names.neighbour(), *guarded(inside, [mark(f"{element} = {one};", line)])])
        body[-1:] = ["} else {", *("    " + x for x in single), "}"]
    return f"{vector} {name}{names.per_step()} = {{}};", body


def _lane(names: ScanScope, access: Access) -> str:
    """Where a neighbour lies in the vector of its item."""
    if is_mirrored(access, names.fast):
        return f"{names.spread.width - 1} - {names.l}"
    return names.l


def _wide(names: ScanScope, pointer: str, address: Expr, dtype: DType, width: int) -> str:
    if width == names.spread.width:
        return names.scope.read(pointer, address, dtype, width)
    vector = names.scope.vector(dtype, names.spread.width, width * dtype.size)
    return f"*reinterpret_cast<const {vector}*>({names.scope.place(pointer, address)})"


def write_part(names: ScanScope) -> PartView:
    scope = names.scope
    declared, per_step, per_lane, after = list[str](), list[str](), list[str](), list[str]()
    wanted = set(reductions_of(s.value for s in names.phase.stores))
    totals = [t for t in names.totals if {t.carrier.inclusive, t.carrier.exclusive} & wanted]
    known = running_totals(names, totals, declared, per_step, per_lane)
    body = names.item(known)
    printer = body.printer(names.shift)
    for store in names.phase.stores:
        printer.count(store.value)
    texts = [printer(s.value) for s in names.phase.stores]
    definitions = [*body.definitions, *printer.lines]
    inside = names.within(names.phase.store_first, names.extent)
    values, stores = list[str](), list[str]()
    for n, (store, text) in enumerate(zip(names.phase.stores, texts, strict=True)):
        line = store.assign.span.line
        if names.phase.width_of(store.access) > 1:
            declared_, assigned, stored = _wide_store(names, n, store, text)
            per_step.append(declared_)
            values += wrapped(assigned, line)
            after += stored
            continue
        if len(texts) > 1:
            name = scope.names.user(f"@result{n}", f"{scope.pointer(store.access.pointer)}_value")
            values += wrapped(f"const {scope.file.types.value(store.access.dtype)} {name} = {text};", line)
            text = name
        stores += body.stored(store, names.shift or {}, text)
    if stores:
        per_lane += guarded(inside, [*definitions, *values, *stores])
    elif any(_reads_memory(names, s.value) for s in names.phase.stores):
        per_lane += guarded(inside, [*definitions, *values])
    else:
        per_lane += [*definitions, *values]
    lanes = names.lanes(used(names.neighbour(), per_lane))
    steps = names.steps(used([names.coordinate()], [*per_step, *lanes, *after]))
    outputs = ", ".join(dict.fromkeys(scope.pointer(s.access.pointer) for s in names.phase.stores))
    return PartView(
        (f"Go through the points once more, with what came before them, and write {outputs}.",),
        (*declared, *steps),
    )


def _reads_memory(names: ScanScope, value: Value) -> bool:
    """Whether a value reads what is not in registers: then it must not be computed past the end."""
    return any(isinstance(v, Read) and v not in names.loaded for v in walk(value))


def _wide_store(names: ScanScope, n: int, store: Store, text: str) -> tuple[str, str, list[str]]:
    """What a store of several elements adds per step, per neighbour and after them."""
    scope, width = names.scope, names.spread.width
    access, line = store.access, store.assign.span.line
    pointer = scope.nest.pointer(access.pointer)
    assert isinstance(pointer.dtype, DType)
    name = scope.names.user(f"@out{n}", f"{scope.pointer(access.pointer)}_out")
    own = names.phase.width_of(access)
    vector = scope.vector(pointer.dtype, width, own * pointer.dtype.size)
    place = scope.place(access.pointer, _first_of_item(access, names))
    if scope.hint(pointer.tensor) is Hint.STREAMING and own == width:
        scope.file.helpers.add("store_streaming")
        whole = f"store_streaming({place}, {name});"
    else:
        whole = f"*reinterpret_cast<{vector}*>({place}) = {name};"
    first = names.phase.store_first
    lines = guarded(names.within(first, names.extent, whole=True), [mark(whole, line)])
    element = f"{name}.lane[{_lane(names, access)}]"
    if names.ends(first, names.extent):
        one = f"{scope.pointer(access.pointer)}[{scope.index(names.moved(access))}] = {element};"
        single = names.lanes(
            [*names.neighbour(), *guarded(names.within(first, names.extent), [mark(one, line)])]
        )
        lines[-1:] = ["} else {", *("    " + x for x in single), "}"]
    return f"{vector} {name};", f"{element} = {text};", lines


def _first_of_item(access: Access, names: ScanScope) -> Expr:
    """The address of the neighbour of an item that lies first in memory, over the item's own coordinate."""
    if not is_mirrored(access, names.fast):
        return access.address
    return substitute(access.address, {names.fast: sym(names.fast) + (names.spread.width - 1)})
