"""Print value expressions as C. Every operation is done in the type the checked spec says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

from tilegen.algebra import Expr
from tilegen.cuda.functions import FUNCTIONS, OF_HALVES, float_function
from tilegen.cuda.types import TypeNames
from tilegen.dtypes import DType, Kind
from tilegen.lang.spec import (
    Binary,
    BinaryOp,
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
    children,
)

# A lane of a vector in a variable.
_LANE = re.compile(r"(?P<vector>\w+(?:\[\w+\])*)\.lane\[(?P<lane>[^\]]+)\]")
# C's precedence, tightest first; a text is parenthesised where its level is not below what its place allows.
_PRIMARY, _UNARY, _PRODUCT, _SUM, _COMPARE, _AND, _OR, _TERNARY = range(8)
_C_OPERATORS = {
    BinaryOp.ADD: ("+", _SUM),
    BinaryOp.SUBTRACT: ("-", _SUM),
    BinaryOp.MULTIPLY: ("*", _PRODUCT),
    BinaryOp.DIVIDE: ("/", _PRODUCT),
    BinaryOp.LESS: ("<", _COMPARE),
    BinaryOp.LESS_EQUAL: ("<=", _COMPARE),
    BinaryOp.GREATER: (">", _COMPARE),
    BinaryOp.GREATER_EQUAL: (">=", _COMPARE),
    BinaryOp.EQUAL: ("==", _COMPARE),
    BinaryOp.NOT_EQUAL: ("!=", _COMPARE),
    BinaryOp.AND: ("&&", _AND),
    BinaryOp.OR: ("||", _OR),
}


# A longer text becomes a constant of its own, so that lines stay readable.
_LONGEST = 90


def shares_divisor(division: Binary) -> bool:
    """Whether a division may be a product with a shared inverse, which rounds once more: where what is divided is off
    by more than that anyway. `x / max(x)` is 1 at the greatest element, and would be 0.99999994 at some."""
    return _from_exponential(division.left)


def _from_exponential(value: Value) -> bool:
    match value:
        case Call():
            return value.function in ("exp", "exp2")
        case Binary(op=BinaryOp.MULTIPLY):
            return _from_exponential(value.left) or _from_exponential(value.right)
        case _:
            return False


class ValuePrinter:
    """Prints values at one point. `read` gives the C text of a tensor element, `index` of an index expression over the
    spec's names, `scalar` of a scalar parameter. Values used twice, lets, and what would make a line too long become
    named constants in `lines`.
    `known`: values that have a text already, such as results of reductions."""

    def __init__(
        self,
        types: TypeNames,
        read: Callable[[Read], str],
        index: Callable[[Expr], str],
        scalar: Callable[[str], str],
        fresh: Callable[[str], str],
        lets: Mapping[Value, str],
        helpers: set[str],
        known: Mapping[Value, str] | None = None,
    ) -> None:
        self._types, self._read, self._index, self._scalar = types, read, index, scalar
        self._fresh, self._lets, self.helpers = fresh, lets, helpers
        self._uses: Counter[Value] = Counter()
        self._named: dict[Value, str] = dict(known or {})
        self._divisors: dict[Value, str] = {}
        self._conditional = 0
        self.lines: list[str] = []

    def count(self, value: Value) -> None:
        """Announce a value that will be printed, so that what several of them share is computed once."""
        self._uses[value] += 1
        if self._uses[value] > 1 or value in self._named:
            return
        for n, child in enumerate(children(value)):
            if not (isinstance(value, Where) and n > 0):
                self.count(child)

    def divide_by(self, value: Value, divisor: str) -> None:
        """From now on a division by `value` uses the shared `divisor` (see templates/helpers.j2)."""
        self._divisors[value] = divisor

    def know(self, value: Value, text: str) -> None:
        """From now on `value` prints as `text`."""
        self._named[value] = text

    def __call__(self, value: Value) -> str:
        return self._at(value, _TERNARY)

    def _at(self, value: Value, allowed: int) -> str:
        text, level = self._print(value)
        return f"({text})" if level > allowed else text

    def _print(self, value: Value) -> tuple[str, int]:
        if value in self._named:
            return self._named[value], _PRIMARY
        text, level = self._expression(value)
        shared = self._uses[value] > 1 and not isinstance(value, Literal | ScalarRead | IndexValue)
        shared = shared or len(text) > _LONGEST
        if not self._conditional and (shared or (value in self._lets and level != _PRIMARY)):
            name = self._fresh(self._lets.get(value, "value"))
            self.lines.append(f"const {self._types.value(value.dtype)} {name} = {text};")
            self._named[value] = name
            return name, _PRIMARY
        return text, level

    def _expression(self, value: Value) -> tuple[str, int]:
        match value:
            case Literal():
                return literal(value.value, value.dtype, self._types)
            case ScalarRead():
                return self._scalar(value.name), _PRIMARY
            case IndexValue():
                return f"static_cast<long long>({self._index(value.index)})", _PRIMARY
            case Read():
                text = self._read(value)
                if value.dtype.kind is Kind.BOOL:
                    return f"{text} != 0", _COMPARE
                return text, _TERNARY if " ? " in text else _PRIMARY
            case Unary(op=UnaryOp.NOT):
                return f"!{self._at(value.operand, _UNARY)}", _UNARY
            case Unary():
                return self._wrapped(f"-{self._at(value.operand, _UNARY)}", _UNARY, value.dtype)
            case Binary():
                return self._binary(value)
            case Where():
                return self._where(value)
            case Cast():
                return self._cast(value)
            case Call():
                return self._call(value), _PRIMARY
            case LocalRead() | Reduce():
                raise AssertionError(
                    "lets are inlined, and results of reductions are known, before values are printed"
                )

    def _binary(self, value: Binary) -> tuple[str, int]:
        if (
            value.op in _C_OPERATORS
            and isinstance(value.left, IndexValue)
            and isinstance(value.right, IndexValue)
        ):
            operator, level = _C_OPERATORS[value.op]
            if level == _COMPARE:
                return f"{self._index(value.left.index)} {operator} {self._index(value.right.index)}", level
        if value.op in (BinaryOp.FLOOR_DIVIDE, BinaryOp.REMAINDER, BinaryOp.POWER):
            return self._by_helper(value), _PRIMARY
        if value.op is BinaryOp.DIVIDE and value.right in self._divisors and shares_divisor(value):
            return f"quotient({self(value.left)}, {self._divisors[value.right]})", _PRIMARY
        operator, level = _C_OPERATORS[value.op]
        left = self._at(value.left, level if level <= _SUM else level - 1)
        if value.op in (BinaryOp.AND, BinaryOp.OR):
            self._conditional += 1
            right = self._at(value.right, level - 1)
            self._conditional -= 1
        else:
            right = self._at(value.right, level - 1)
        return self._wrapped(f"{left} {operator} {right}", level, value.dtype)

    def _by_helper(self, value: Binary) -> str:
        floating = value.dtype.kind is Kind.FLOAT
        left, right = self(value.left), self(value.right)
        if value.op is BinaryOp.POWER and floating:
            return self._power(value)
        name = {
            BinaryOp.FLOOR_DIVIDE: "float_floor_div" if floating else "floor_div",
            BinaryOp.REMAINDER: "float_floor_mod" if floating else "floor_mod",
        }.get(value.op, "integer_power")
        self.helpers.add(name)
        ctype = self._types.value(value.dtype)
        return f"{name}<{ctype}>({left}, {right})"

    def _power(self, value: Binary) -> str:
        exponent = value.right
        if isinstance(exponent, Literal) and exponent.value == 2:
            self.helpers.add("square")
            return f"square({self(value.left)})"
        return f"{float_function('pow', value.dtype)}({self(value.left)}, {self(exponent)})"

    def _where(self, value: Where) -> tuple[str, int]:
        condition = self._at(value.condition, _OR)
        self._conditional += 1
        then, otherwise = self._at(value.then, _OR), self._at(value.otherwise, _TERNARY)
        self._conditional -= 1
        return f"{condition} ? {then} : {otherwise}", _TERNARY

    def _wrapped(self, text: str, level: int, dtype: DType) -> tuple[str, int]:
        """Integers below 32 bits wrap in their own type, as NumPy's do; C would widen them to int."""
        if dtype.is_integer and dtype.size < 4:
            return f"static_cast<{self._types.value(dtype)}>({text})", _PRIMARY
        return text, level

    def _cast(self, value: Cast) -> tuple[str, int]:
        source, target = value.operand.dtype, value.dtype
        if source == target:
            return self._print(value.operand)
        operand = self(value.operand)
        if target.kind is Kind.BOOL:
            return f"{self._at(value.operand, _SUM)} != {literal(0, source, self._types)[0]}", _COMPARE
        if source.name in ("f16", "bf16"):
            operand, source_name = self._widened(operand, source), "f32"
            if target.name == "f32":
                return operand, _PRIMARY
        else:
            source_name = source.name
        if target.name in ("f16", "bf16"):
            return f"{_down(source_name, source, target)}({operand})", _PRIMARY
        return f"static_cast<{self._types.value(target)}>({operand})", _PRIMARY

    def _widened(self, operand: str, source: DType) -> str:
        """A 16-bit floating value as a float."""
        self._types.storage(source)
        if source.name == "f16":
            return f"__half2float({operand})"
        lane = _LANE.fullmatch(operand)
        if lane is None:
            return f"__bfloat162float({operand})"
        self.helpers.add("bf16_lane")
        return f"bf16_lane({lane['vector']}, {lane['lane']})"

    def _call(self, value: Call) -> str:
        name, helper = FUNCTIONS[value.function](value.arguments[0].dtype if value.arguments else value.dtype)
        if value.function in OF_HALVES and all(_was_half(a) for a in value.arguments):
            name, helper = OF_HALVES[value.function]
        if helper is not None:
            self.helpers.add(helper)
            first = value.arguments[0].dtype
            if first.is_integer and first.size < 4:
                name += (
                    f"<{self._types.value(first)}>"  # C's literals are int, whatever the other arguments are
                )
        return f"{name}({', '.join(self(a) for a in value.arguments)})"


def _was_half(value: Value) -> bool:
    """Whether a float has the few significant bits of a 16-bit one."""
    return (
        isinstance(value, Cast) and value.dtype.name == "f32" and value.operand.dtype.name in ("f16", "bf16")
    )


def _down(source_name: str, source: DType, target: DType) -> str:
    suffix = "half" if target.name == "f16" else "bfloat16"
    if source_name == "f64":
        return f"__double2{suffix}"
    if source_name == "f32" or source.size < 4 or target.name == "f16":
        return f"__float2{suffix}_rn"
    kind = {"i32": "int", "u32": "uint", "i64": "ll", "u64": "ull"}[source_name]
    return f"__{kind}2{suffix}_rn"


def literal(value: int | float | complex | bool, dtype: DType, types: TypeNames) -> tuple[str, int]:
    """A constant of a type, with its precedence."""
    match dtype.kind:
        case Kind.BOOL:
            return ("true" if value else "false"), _PRIMARY
        case Kind.INT | Kind.UINT:
            return _integer(int(value.real), dtype)
        case Kind.COMPLEX:
            number = complex(value)
            part = DType("f32", Kind.FLOAT, 4, 4) if dtype.size == 8 else DType("f64", Kind.FLOAT, 8, 8)
            re, im = (_float(x, part)[0] for x in (number.real, number.imag))
            return f"make_{types.storage(dtype)}({re}, {im})", _PRIMARY
        case Kind.FLOAT:
            if dtype.size >= 4:
                return _float(float(value.real), dtype)
            if value == 0:
                return f"{types.storage(dtype)}{{}}", _PRIMARY
            name = "half" if dtype.name == "f16" else "bfloat16"
            types.storage(dtype)
            return (
                f"__float2{name}_rn({_float(float(value.real), DType('f32', Kind.FLOAT, 4, 4))[0]})",
                _PRIMARY,
            )


def _integer(value: int, dtype: DType) -> tuple[str, int]:
    suffix = {"u32": "u", "i64": "ll", "u64": "ull"}.get(dtype.name, "")
    if dtype.kind is Kind.INT and dtype.size >= 4 and value == -(1 << (8 * dtype.size - 1)):
        return f"({value + 1}{suffix} - 1)", _PRIMARY
    return f"{value}{suffix}", _PRIMARY if value >= 0 else _UNARY


def _float(value: float, dtype: DType) -> tuple[str, int]:
    single = dtype.size == 4
    if math.isnan(value):
        return (
            "__int_as_float(0x7fffffff)" if single else "__longlong_as_double(0x7fffffffffffffffll)"
        ), _PRIMARY
    if math.isinf(value):
        text = "__int_as_float(0x7f800000)" if single else "__longlong_as_double(0x7ff0000000000000ll)"
        return (text, _PRIMARY) if value > 0 else (f"-{text}", _UNARY)
    text = repr(value) + ("f" if single else "")
    return text, _PRIMARY if not text.startswith("-") else _UNARY
