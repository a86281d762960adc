"""Layout clauses of a tensor, resolved to strides, offset and promises; one function per clause."""

from __future__ import annotations

from dataclasses import replace

from tilegen.algebra import ONE, ZERO, Expr, ceil_div
from tilegen.dtypes import BOOL, DType, ElementType, Struct
from tilegen.lang import syntax
from tilegen.lang.check.header import Number, constant_number, literal_of, whole_number
from tilegen.lang.check.indices import size_expression
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Scope, TensorName
from tilegen.lang.check.tensors.memories import resolve_constant, resolve_texture
from tilegen.lang.near import near_to
from tilegen.lang.source import Span
from tilegen.lang.spec import Aos, Aosoa, Boundary, Role, Soa, StructPlacement, Tensor

Clauses = dict[str, syntax.ClauseDecl]

_CONTRADICTIONS = {
    ("strides", "order"): "TG0502.order",
    ("strides", "pitch"): "TG0502.pitch",
    ("soa", "aosoa"): "TG0502.placement",
    ("aosoa", "strides"): "TG0502.dense",
    ("aosoa", "pitch"): "TG0502.dense",
    ("constant", "texture"): "TG0502.memory",
}


def resolve_layout(
    entry: TensorName, element: ElementType, scope: Scope, problems: Problems
) -> Tensor | None:
    """The tensor with all its clauses applied; None if one of them is wrong."""
    before = len(problems.found)
    clauses = _each_once(entry, problems)
    _contradictions(clauses, problems)
    rank = len(entry.extents)
    order = _order(clauses.get("order"), rank, problems)
    placement = _placement(clauses, element, problems)
    strides = _strides(clauses, entry, order, element, placement, scope, problems)
    tensor = Tensor(
        name=entry.name,
        role=entry.role,
        element=element,
        extents=entry.extents,
        strides=strides,
        order=order,
        offset=_offset(clauses.get("offset"), scope, problems),
        align=_align(clauses.get("align"), element, problems),
        placement=placement,
        boundary=None,
        boundary_value=0,
        constant=False,
        texture=None,
        span=entry.span,
    )
    tensor = _boundary(clauses.get("boundary"), tensor, problems)
    tensor = resolve_constant(clauses.get("constant"), tensor, scope.defaults, problems)
    tensor = resolve_texture(clauses.get("texture"), tensor, clauses.get("boundary"), problems)
    return tensor if len(problems.found) == before else None


def _each_once(entry: TensorName, problems: Problems) -> Clauses:
    clauses: Clauses = {}
    for clause in entry.declaration.clauses:
        earlier = clauses.setdefault(clause.name.name, clause)
        if earlier is not clause:
            name, place = clause.name.name, earlier.name.span
            problems.report("TG0501", clause.name.span, name=name, earlier=place, clause=clause.span)
    return clauses


def _contradictions(clauses: Clauses, problems: Problems) -> None:
    for pair, case in _CONTRADICTIONS.items():
        if all(word in clauses for word in pair):
            a, b = sorted((clauses[word] for word in pair), key=lambda c: c.name.span.start)
            first, second, place = a.name.name, b.name.name, a.name.span
            problems.report(case, b.name.span, first=first, second=second, earlier=place, clause=b.span)


def _order(clause: syntax.ClauseDecl | None, rank: int, problems: Problems) -> tuple[int, ...]:
    identity = tuple(range(rank))
    if clause is None:
        return identity
    given = [constant_number(a) for a in clause.arguments]
    if sorted(str(g) for g in given) == sorted(str(i) for i in identity):
        return tuple(int(g) for g in given if g is not None)
    reverse = ", ".join(str(i) for i in reversed(identity))
    if rank > 1:
        problems.report("TG0503.axes", clause.span, rank=rank, last=rank - 1, reverse=reverse)
    else:
        problems.report("TG0503.rank", clause.span, rank=rank)
    return identity


def _strides(
    clauses: Clauses,
    entry: TensorName,
    order: tuple[int, ...],
    element: ElementType,
    placement: StructPlacement,
    scope: Scope,
    problems: Problems,
) -> tuple[Expr | None, ...]:
    if "strides" in clauses:
        return _explicit_strides(clauses["strides"], entry, scope, problems)
    pitch = _pitch(clauses["pitch"], element, placement, problems) if "pitch" in clauses else None
    return dense_strides(entry.extents, order, pitch)


def dense_strides(
    extents: tuple[Expr, ...], order: tuple[int, ...], pitch: int | None = None
) -> tuple[Expr, ...]:
    """Strides in elements of a dense tensor; the fastest run is rounded up to a multiple of `pitch` elements."""
    strides = [ONE] * len(extents)
    step = ONE
    for position, dimension in enumerate(reversed(order)):
        strides[dimension] = step
        run = extents[dimension]
        if position == 0 and pitch is not None:
            run = ceil_div(run, pitch) * pitch
        step = step * run
    return tuple(strides)


def _pitch(
    clause: syntax.ClauseDecl, element: ElementType, placement: StructPlacement, problems: Problems
) -> int | None:
    """The pitch in elements."""
    size = element.size
    if isinstance(placement, Soa) and isinstance(element, Struct):
        size = max(f.dtype.size for f in element.fields)
    argument = clause.arguments[0] if len(clause.arguments) == 1 else None
    match argument:
        case syntax.IntLiteral(value=value) if value > 0:
            return value
        case syntax.BytesLiteral(value=value) if value > 0 and value % size == 0:
            return value // size
        case syntax.BytesLiteral(value=value) if value > 0:
            near = tuple(f"{n}B" for n in (value // size * size, -(-value // size) * size) if n)
            problems.report("TG0504.bytes", argument.span, bytes=value, size=size, near=near)
        case _:
            problems.report("TG0504.form", clause.span)
    return None


def _explicit_strides(
    clause: syntax.ClauseDecl, entry: TensorName, scope: Scope, problems: Problems
) -> tuple[Expr | None, ...]:
    rank, given = len(entry.extents), len(clause.arguments)
    if given != rank:
        problems.report("TG0505.count", clause.span, rank=rank, given=given)
        return (None,) * rank
    strides: list[Expr | None] = []
    for argument, extent in zip(clause.arguments, entry.extents, strict=True):
        stride = None
        if not isinstance(argument, syntax.Star):
            stride = size_expression(argument, scope, problems, "TG0505")
        if stride == ZERO and entry.role is not Role.IN and extent.constant not in (0, 1):
            problems.report("TG0505.zero", argument.span, name=entry.name, extent=extent)
        strides.append(stride)
    return tuple(strides)


def _offset(clause: syntax.ClauseDecl | None, scope: Scope, problems: Problems) -> Expr:
    if clause is None:
        return ZERO
    argument = clause.arguments[0] if len(clause.arguments) == 1 else None
    if argument is None or isinstance(argument, syntax.Star | syntax.BytesLiteral):
        problems.report("TG0511.number", clause.span)
        return ZERO
    offset = size_expression(argument, scope, problems, "TG0511")
    if offset is not None and offset.constant is not None and offset.constant < 0:
        problems.report("TG0511.negative", argument.span, offset=offset)
    return ZERO if offset is None else offset


def _align(clause: syntax.ClauseDecl | None, element: ElementType, problems: Problems) -> int | None:
    if clause is None:
        return None
    argument = clause.arguments[0] if len(clause.arguments) == 1 else None
    if not isinstance(argument, syntax.BytesLiteral):
        problems.report("TG0506.form", clause.span, least=element.align)
        return None
    value = argument.value
    if value <= 0 or value & (value - 1):
        below = 1 << max(value, 1).bit_length() - 1
        near = tuple(f"{n}B" for n in (below, 2 * below) if n >= element.align) or (f"{element.align}B",)
        problems.report("TG0506.power", argument.span, bytes=value, near=near)
    elif value % element.align:
        problems.report("TG0506.small", argument.span, bytes=value, element=element, least=element.align)
    return value


def _placement(clauses: Clauses, element: ElementType, problems: Problems) -> StructPlacement:
    clause = clauses.get("soa") or clauses.get("aosoa")
    if clause is None:
        return Aos()
    if not isinstance(element, Struct):
        name = clause.name.name
        problems.report("TG0507.struct", clause.name.span, name=name, element=element, clause=clause.span)
        return Aos()
    if clause.name.name == "soa":
        return Soa()
    block = whole_number(clause.arguments[0], 1) if len(clause.arguments) == 1 else None
    if block is None:
        problems.report("TG0507.number", clause.span)
        return Aos()
    return Aosoa(block)


def _boundary(clause: syntax.ClauseDecl | None, tensor: Tensor, problems: Problems) -> Tensor:
    if clause is None:
        return tensor
    modes = [b.value for b in Boundary]
    given, *rest = clause.arguments
    if not isinstance(given, syntax.Name) or given.name not in modes:
        problems.report("TG0508.mode", given.span, name=near_to(given.span.text, modes))
        return tensor
    if tensor.role is Role.OUT:
        problems.report("TG0508.out", clause.span, name=tensor.name)
        return tensor
    mode = Boundary(given.name)
    if mode is Boundary.CONSTANT and not rest:
        problems.report("TG0508.constant", clause.span)
    elif mode is not Boundary.CONSTANT and rest:
        problems.report("TG0508.value", clause.span, mode=mode)
    elif rest:
        value = boundary_value(rest[0], tensor, problems)
        return tensor if value is None else replace(tensor, boundary=mode, boundary_value=value)
    return replace(tensor, boundary=mode)


def boundary_value(
    argument: syntax.Expression | syntax.Star, tensor: Tensor, problems: Problems
) -> Number | None:
    number = constant_number(argument)
    if number is None:
        problems.report("TG0508.number", argument.span)
        return None
    element = tensor.element
    members = [f.dtype for f in element.fields] if isinstance(element, Struct) else [element]
    values = [_held_by(number, dtype, argument.span, problems) for dtype in members]
    if None in values:
        return None
    return values[0] if len(values) == 1 else number


def _held_by(number: Number, dtype: DType, span: Span, problems: Problems) -> Number | None:
    """`number` in `dtype`; 0 and 1 are false and true here."""
    if dtype is BOOL and number in (0, 1):
        return bool(number)
    return literal_of(number, dtype, span, problems)
