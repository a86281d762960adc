"""Layout clauses of a tensor, resolved to strides, offset and promises; one function per clause."""

from __future__ import annotations

from dataclasses import replace

from tilegen.algebra import ONE, ZERO, Expr, ceil_div
from tilegen.dtypes import BOOL, DType, ElementType, Struct
from tilegen.lang import syntax
from tilegen.lang.check.header import Number, constant_number, literal_of
from tilegen.lang.check.indices import size_expression
from tilegen.lang.check.memories import resolve_constant, resolve_texture
from tilegen.lang.check.problems import Problems, counted, suggestion
from tilegen.lang.check.scope import Scope, TensorName
from tilegen.lang.source import Span
from tilegen.lang.spec import Aos, Aosoa, Boundary, Role, Soa, StructPlacement, Tensor

Clauses = dict[str, syntax.ClauseDecl]

_CONTRADICTIONS = (
    ("strides", "order", "strides say the order already"),
    ("strides", "pitch", "strides say the pitch already"),
    ("soa", "aosoa", "a struct tensor has one placement"),
    ("aosoa", "strides", "blocks of an `aosoa` tensor are dense"),
    ("aosoa", "pitch", "blocks of an `aosoa` tensor are dense"),
    ("constant", "texture", "a tensor is read through one memory"),
)


def resolve_layout(
    entry: TensorName, element: ElementType, scope: Scope, problems: Problems
) -> Tensor | None:
    """The tensor with all its clauses applied; None if one of them is wrong."""
    before = len(problems.found)
    clauses = _each_once(entry, problems)
    _contradictions(entry, clauses, problems)
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
    tensor = resolve_texture(clauses.get("texture"), tensor, "boundary" in clauses, problems)
    return tensor if len(problems.found) == before else None


def _each_once(entry: TensorName, problems: Problems) -> Clauses:
    clauses: Clauses = {}
    for clause in entry.declaration.clauses:
        name = clause.name.name
        if name in clauses:
            problems.error(
                "TG0501",
                f"`{name}` is given twice",
                clause.name.span,
                labels=[(clauses[name].name.span, "first given here")],
                help="keep one of them",
            )
        else:
            clauses[name] = clause
    return clauses


def _contradictions(entry: TensorName, clauses: Clauses, problems: Problems) -> None:
    for first, second, reason in _CONTRADICTIONS:
        if first in clauses and second in clauses:
            a, b = sorted((clauses[first], clauses[second]), key=lambda c: c.name.span.start)
            problems.error(
                "TG0502",
                f"`{b.name.name}` contradicts `{a.name.name}`",
                b.name.span,
                labels=[(a.name.span, "given here")],
                note=reason,
                help=f"keep one of the two clauses of `{entry.name}`",
            )


def _order(clause: syntax.ClauseDecl | None, rank: int, problems: Problems) -> tuple[int, ...]:
    identity = tuple(range(rank))
    if clause is None:
        return identity
    given = [constant_number(a) for a in clause.arguments if not isinstance(a, syntax.Star)]
    if sorted(str(g) for g in given) == sorted(str(i) for i in identity):
        return tuple(int(g) for g in given if g is not None)
    reverse = ", ".join(str(i) for i in reversed(identity))
    problems.error(
        "TG0503",
        "`order` must name every axis of the tensor once"
        + (f", 0 to {rank - 1}, from slowest to fastest" if rank > 1 else ""),
        clause.span,
        note=f"the tensor has {counted(rank, 'axis')}",
        help=f"`order({reverse})` is column-major" if rank > 1 else "leave the clause out",
    )
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
    pitch = _pitch(clauses.get("pitch"), element, placement, problems) if "pitch" in clauses else None
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
    clause: syntax.ClauseDecl | None, element: ElementType, placement: StructPlacement, problems: Problems
) -> int | None:
    """The pitch in elements."""
    if clause is None:
        return None
    size = element.size
    if isinstance(placement, Soa) and isinstance(element, Struct):
        size = max(f.dtype.size for f in element.fields)
    argument = clause.arguments[0] if len(clause.arguments) == 1 else None
    match argument:
        case syntax.IntLiteral() if argument.value > 0:
            return argument.value
        case syntax.BytesLiteral() if argument.value > 0 and argument.value % size == 0:
            return argument.value // size
        case syntax.BytesLiteral() if argument.value > 0:
            below, above = argument.value // size * size, -(-argument.value // size) * size
            problems.error(
                "TG0504",
                f"a pitch of {argument.value} bytes is not a whole number of elements",
                argument.span,
                note=f"an element has {size} bytes",
                help=f"the nearest pitches are {above}B"
                if below == 0
                else f"the nearest pitches are {below}B and {above}B",
            )
        case _:
            problems.error(
                "TG0504",
                "`pitch` takes one positive number, in elements or in bytes",
                clause.span,
                help="write `pitch 33` (elements) or `pitch 128B`",
            )
    return None


def _explicit_strides(
    clause: syntax.ClauseDecl, entry: TensorName, scope: Scope, problems: Problems
) -> tuple[Expr | None, ...]:
    rank = len(entry.extents)
    if len(clause.arguments) != rank:
        problems.error(
            "TG0505",
            f"`strides` takes one value per axis: {rank}, and {len(clause.arguments)} are given",
            clause.span,
            help="`*` stands for a stride that is taken from the array passed",
        )
        return (None,) * rank
    strides: list[Expr | None] = []
    for argument, extent in zip(clause.arguments, entry.extents, strict=True):
        stride = None
        if not isinstance(argument, syntax.Star):
            stride = size_expression(argument, scope, problems, "TG0505", "a stride")
        if stride == ZERO and entry.role is not Role.IN and extent.constant not in (0, 1):
            problems.error(
                "TG0505",
                f"`{entry.name}` is written, and a stride of 0 puts several of its elements in one place",
                argument.span,
                note=f"the axis has the extent {extent}",
                help="give the axis a stride of its own",
            )
        strides.append(stride)
    return tuple(strides)


def _offset(clause: syntax.ClauseDecl | None, scope: Scope, problems: Problems) -> Expr:
    if clause is None:
        return ZERO
    argument = clause.arguments[0] if len(clause.arguments) == 1 else None
    if argument is None or isinstance(argument, syntax.Star | syntax.BytesLiteral):
        problems.error(
            "TG0511", "`offset` takes one number of elements", clause.span, help="write `offset 1`"
        )
        return ZERO
    offset = size_expression(argument, scope, problems, "TG0511", "an offset")
    if offset is not None and offset.constant is not None and offset.constant < 0:
        problems.error(
            "TG0511",
            f"an offset of {offset} lies before the pointer",
            argument.span,
            help="pass a pointer to the first element that is used, and give an offset of 0 or more",
        )
    return ZERO if offset is None else offset


def _align(clause: syntax.ClauseDecl | None, element: ElementType, problems: Problems) -> int | None:
    if clause is None:
        return None
    argument = clause.arguments[0] if len(clause.arguments) == 1 else None
    if not isinstance(argument, syntax.BytesLiteral):
        problems.error("TG0506", "`align` takes one number of bytes", clause.span, help="write `align 16B`")
        return None
    value = argument.value
    if value <= 0 or value & (value - 1):
        problems.error(
            "TG0506",
            f"an alignment of {value} bytes is not a power of two",
            argument.span,
            help=f"the nearest are {1 << max(value, 1).bit_length() - 1}B and {1 << max(value, 1).bit_length()}B",
        )
    elif value % element.align:
        problems.error(
            "TG0506",
            f"an alignment of {value} bytes is less than the element's own",
            argument.span,
            note=f"{element} is aligned to {element.align} bytes",
            help=f"write `align {element.align}B` or more, or leave the clause out",
        )
    return value


def _placement(clauses: Clauses, element: ElementType, problems: Problems) -> StructPlacement:
    clause = clauses.get("soa") or clauses.get("aosoa")
    if clause is None:
        return Aos()
    if not isinstance(element, Struct):
        problems.error(
            "TG0507",
            f"`{clause.name.name}` is for struct tensors, and the elements are {element}",
            clause.name.span,
            help="leave the clause out",
        )
        return Aos()
    if clause.name.name == "soa":
        return Soa()
    block = constant_number(clause.arguments[0]) if len(clause.arguments) == 1 and not isinstance(
        clause.arguments[0], syntax.Star
    ) else None  # fmt: skip
    if isinstance(block, bool) or not isinstance(block, int) or block < 1:
        problems.error(
            "TG0507", "`aosoa` takes a positive number of elements", clause.span, help="write `aosoa(32)`"
        )
        return Aos()
    return Aosoa(block)


def _boundary(clause: syntax.ClauseDecl | None, tensor: Tensor, problems: Problems) -> Tensor:
    if clause is None:
        return tensor
    modes = [b.value for b in Boundary]
    mode = clause.arguments[0] if clause.arguments else None
    if not isinstance(mode, syntax.Name) or mode.name not in modes:
        problems.error(
            "TG0508",
            "`boundary` takes a mode",
            clause.span if mode is None else mode.span,
            help=suggestion(mode.name if isinstance(mode, syntax.Name) else "", modes, "modes"),
        )
        return tensor
    if tensor.role is Role.OUT:
        problems.error(
            "TG0508",
            f"`{tensor.name}` is never read, so a boundary has no meaning",
            clause.span,
            note="a boundary says what a read outside the extents gives",
            help="leave the clause out",
        )
        return tensor
    boundary, rest = Boundary(mode.name), clause.arguments[1:]
    if boundary is not Boundary.CONSTANT or len(rest) != 1 or isinstance(rest[0], syntax.Star):
        if rest or boundary is Boundary.CONSTANT:
            problems.error(
                "TG0508",
                "`boundary constant` takes one number"
                if boundary is Boundary.CONSTANT
                else f"`{mode.name}` takes no value",
                clause.span,
                help="write `boundary constant 0`"
                if boundary is Boundary.CONSTANT
                else f"write `boundary {mode.name}`",
            )
        return replace(tensor, boundary=boundary)
    value = boundary_value(rest[0], tensor, problems)
    return tensor if value is None else replace(tensor, boundary=boundary, boundary_value=value)


def boundary_value(argument: syntax.Expression, tensor: Tensor, problems: Problems) -> Number | None:
    number = constant_number(argument)
    if number is None:
        problems.error(
            "TG0508", "a boundary's value must be a number", argument.span, help="write a literal, `0`"
        )
        return None
    members = (
        [f.dtype for f in tensor.element.fields] if isinstance(tensor.element, Struct) else [tensor.element]
    )
    values = [_held_by(number, dtype, argument.span, problems) for dtype in members]
    if None in values:
        return None
    return values[0] if len(values) == 1 else number


def _held_by(number: Number, dtype: DType, span: Span, problems: Problems) -> Number | None:
    """`number` in `dtype`; 0 and 1 are false and true here."""
    if dtype is BOOL and number in (0, 1):
        return bool(number)
    return literal_of(number, dtype, span, problems)
