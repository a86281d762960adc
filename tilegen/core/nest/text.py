"""A nest, and the values in it, as stable text: one concept a line, in the words of the language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tilegen.algebra import Expr, sym
from tilegen.core.nest.model import Access, Nest, Pointer
from tilegen.lang.spec import (
    Binary,
    BinaryOp,
    Boundary,
    Call,
    Cast,
    IndexValue,
    Literal,
    LocalRead,
    Read,
    Reduce,
    ScalarRead,
    Unary,
    UnaryOp,
    Value,
    Where,
)


def nest_text(nest: Nest) -> str:
    return "\n".join([f"nest {nest.kernel.name}", *(f"    {line}" for line in _lines(nest))])


def _lines(nest: Nest) -> Iterator[str]:
    for name, value in nest.constants.items():
        yield f"constant {name} = {value}"
    for axis in nest.axes:
        made = f" = {axis.called}" if axis.parts else ""
        yield f"axis {axis.name}{made} in 0..{axis.extent}"
    rows = nest.rows or ((nest.reduced,) if nest.reduced else ())
    for row in rows:
        yield f"row along {', '.join(row)}"
    names = {a.name for a in nest.axes}
    for name, index in nest.axis_values.items():
        if name not in names or index != sym(name):
            yield f"where {name} = {index}"
    for pointer in nest.pointers:
        yield f"pointer {pointer.name}: {_pointer(pointer)}"
    for tensor, dimension in nest.dynamic_strides:
        yield f"stride {tensor}, {dimension} from the array"
    for name, local in nest.lets:
        yield f"let {name} = {value_text(local)}"
    for read, access in nest.loads.items():
        yield f"load {value_text(read)} from {access_text(access)}"
    for store in nest.stores:
        yield f"store to {access_text(store.access)}: {value_text(store.value)}"


def _pointer(pointer: Pointer) -> str:
    uses = [w for w, used in (("read", pointer.read), ("written", pointer.written)) if used]
    promised = [f"align {pointer.align}B"] if pointer.align is not None else []
    return ", ".join([str(pointer.dtype), *uses, *promised])


def access_text(access: Access) -> str:
    """`x[N*i + j]`: elements past a pointer; then what its checked indices are mapped by."""
    member = f".{access.member}" if access.member is not None else ""
    text = f"{access.pointer}[{access.address}]{member}"
    for checked in access.checked:
        index = str(checked.index) if isinstance(checked.index, Expr) else value_text(checked.index)
        mode = access.boundary.value if access.boundary is not None else "none"
        if access.boundary is Boundary.CONSTANT:
            mode = f"constant {_number(access.boundary_value)}"
        text += f", {checked.symbol} = {index} in 0..{checked.extent} by {mode}"
    return text


# Values

_LOOSEST_FIRST = (
    (BinaryOp.OR,),
    (BinaryOp.AND,),
    (
        BinaryOp.LESS,
        BinaryOp.LESS_EQUAL,
        BinaryOp.GREATER,
        BinaryOp.GREATER_EQUAL,
        BinaryOp.EQUAL,
        BinaryOp.NOT_EQUAL,
    ),
    (BinaryOp.ADD, BinaryOp.SUBTRACT),
    (BinaryOp.MULTIPLY, BinaryOp.DIVIDE, BinaryOp.FLOOR_DIVIDE, BinaryOp.REMAINDER),
    (BinaryOp.POWER,),
)
_LEVEL = {op: level for level, ops in enumerate(_LOOSEST_FIRST) for op in ops}
_UNARY, _PRIMARY = 5, 7


def value_text(value: Value) -> str:
    """A value as an expression of the language, with every conversion in it."""
    return _value(value)[0]


def _value(value: Value) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    match value:
        case Literal():
            return _number(value.value), _PRIMARY
        case ScalarRead():
            return value.name, _PRIMARY
        case IndexValue():
            return f"i64({value.index})", _PRIMARY
        case Read():
            indices = (str(i) if isinstance(i, Expr) else value_text(i) for i in value.indices)
            member = f".{value.field}" if value.field is not None else ""
            return f"{value.tensor}[{', '.join(indices)}]{member}", _PRIMARY
        case LocalRead():
            return f"{value.name}[{', '.join(map(str, value.indices))}]", _PRIMARY
        case Unary():
            sign = "-" if value.op is UnaryOp.NEGATE else "not "
            return sign + _operand(value.operand, _UNARY), _UNARY
        case Binary():
            level = _LEVEL[value.op]
            right = level + (value.op is not BinaryOp.POWER)
            left = level + (value.op is BinaryOp.POWER or level == _LEVEL[BinaryOp.LESS])
            return f"{_operand(value.left, left)} {value.op.value} {_operand(value.right, right)}", level
        case Where():
            parts = (value.condition, value.then, value.otherwise)
            return f"where({', '.join(map(value_text, parts))})", _PRIMARY
        case Cast():
            return f"{value.dtype}({value_text(value.operand)})", _PRIMARY
        case Call():
            return f"{value.function}({', '.join(map(value_text, value.arguments))})", _PRIMARY
        case Reduce():
            ranges = ", ".join(f"{a.name} in {a.lower}..{a.upper}" for a in value.axes)
            return f"{value.op.value}[{ranges}]({value_text(value.body)})", _PRIMARY
        case _:
            assert_never(value)


def _operand(value: Value, least: int) -> str:
    text, level = _value(value)
    return text if level >= least else f"({text})"


def _number(value: int | float | complex | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
