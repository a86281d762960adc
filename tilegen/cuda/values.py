"""Value expressions of a spec as trees of C. Every operation is done in the type the checked spec says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from tilegen.algebra import Expr, Sym
from tilegen.core.nest.value_range import may_overflow, value_range
from tilegen.cuda import arithmetic
from tilegen.cuda.functions import call_of, float_function
from tilegen.cuda.printer import Level, Printer, level_of
from tilegen.cuda.tree import (
    LONG_LONG,
    Binary,
    Call,
    Cast,
    Conditional,
    Declare,
    Expression,
    Infix,
    Literal,
    Member,
    Prefix,
    Statement,
    Subscript,
    Unary,
    Variable,
    call,
    library,
)
from tilegen.cuda.types import DOUBLE, FLOAT, ElementTypes
from tilegen.dtypes import F32, DType, Kind
from tilegen.lang import spec
from tilegen.lang.spec import (
    BinaryOp,
    IndexValue,
    LocalRead,
    Read,
    Reduce,
    ScalarRead,
    UnaryOp,
    Value,
    Where,
    children,
)

_INFIX = {
    BinaryOp.ADD: Infix.ADD,
    BinaryOp.SUBTRACT: Infix.SUBTRACT,
    BinaryOp.MULTIPLY: Infix.MULTIPLY,
    BinaryOp.DIVIDE: Infix.DIVIDE,
    BinaryOp.LESS: Infix.LESS,
    BinaryOp.LESS_EQUAL: Infix.LESS_EQUAL,
    BinaryOp.GREATER: Infix.GREATER,
    BinaryOp.GREATER_EQUAL: Infix.GREATER_EQUAL,
    BinaryOp.EQUAL: Infix.EQUAL,
    BinaryOp.NOT_EQUAL: Infix.NOT_EQUAL,
    BinaryOp.AND: Infix.AND,
    BinaryOp.OR: Infix.OR,
}
_ARITHMETIC = (BinaryOp.ADD, BinaryOp.SUBTRACT, BinaryOp.MULTIPLY)
_LOGICAL = (BinaryOp.AND, BinaryOp.OR)
_COMPARISONS = frozenset(_INFIX) - {*_ARITHMETIC, *_LOGICAL, BinaryOp.DIVIDE}

# What would print longer becomes a constant of its own, so that lines stay readable.
_LONGEST = 90
_PLAIN = Printer({}, {})


def shares_divisor(division: spec.Binary) -> bool:
    """Whether a division may be a product with a shared inverse, which rounds once more: where what is divided is off
    by more than that anyway. `x / max(x)` is 1 at the greatest element, and would be 0.99999994 at some."""
    return _from_exponential(division.left)


def _from_exponential(value: Value) -> bool:
    match value:
        case spec.Call():
            return value.function in ("exp", "exp2")
        case spec.Binary(op=BinaryOp.MULTIPLY):
            return _from_exponential(value.left) or _from_exponential(value.right)
        case _:
            return False


class ValueBuilder:
    """Builds values at one point. `read` gives the tree of a tensor element, `index` of an index expression over the
    spec's names (True: in 64 bits), `scalar` of a scalar parameter. Values that are needed twice, lets, and what would
    make a line too long become constants, whose definitions are taken with `take`. `known`: values that have a tree
    already, such as results of reductions."""

    def __init__(
        self,
        types: ElementTypes,
        read: Callable[[Read], Expression],
        index: Callable[[Expr, bool], Expression],
        scalar: Callable[[str], Expression],
        lets: Mapping[Value, str],
        known: Mapping[Value, Expression] | None = None,
    ) -> None:
        self._types, self._read, self._index, self._scalar = types, read, index, scalar
        self._lets = lets
        self._uses: Counter[Value] = Counter()
        self._known: dict[Value, Expression] = dict(known or {})
        self._divisors: dict[Value, Expression] = {}
        self._conditional = 0
        self._definitions: list[Statement] = []

    def count(self, value: Value) -> None:
        """Announce a value that will be built, so that what several of them share is computed once."""
        self._uses[value] += 1
        if self._uses[value] > 1 or value in self._known:
            return
        for n, child in enumerate(children(value)):
            if not (isinstance(value, Where) and n > 0):
                self.count(child)

    def divide_by(self, value: Value, divisor: Expression) -> None:
        """From now on a division by `value` uses the shared `divisor` (see templates/device/floating.cuh)."""
        self._divisors[value] = divisor

    def know(self, value: Value, tree: Expression) -> None:
        """From now on `value` is `tree`."""
        self._known[value] = tree

    def define(self, definition: Statement) -> None:
        """A definition that values built from now on use."""
        self._definitions.append(definition)

    @property
    def guarded(self) -> bool:
        """Whether what is built now stands behind a condition, so that a definition could not stand before it."""
        return self._conditional > 0

    def take(self) -> tuple[Statement, ...]:
        """The definitions that what was built since the last call needs."""
        found = tuple(self._definitions)
        self._definitions.clear()
        return found

    def __call__(self, value: Value) -> Expression:
        if value in self._known:
            return self._known[value]
        tree = self._build(value)
        shared = self._uses[value] > 1 and not isinstance(value, spec.Literal | ScalarRead | IndexValue)
        shared = shared or len(_PLAIN.text(tree)) > _LONGEST
        if not self._conditional and (
            shared or (value in self._lets and level_of(tree) is not Level.PRIMARY)
        ):
            variable = Variable(self._lets.get(value, "value"), self._types.value(value.dtype))
            self.define(Declare(variable, tree, const=True))
            self._known[value] = variable
            return variable
        return tree

    def _build(self, value: Value) -> Expression:
        match value:
            case spec.Literal():
                return self._types.literal(value.value, value.dtype)
            case ScalarRead():
                return self._scalar(value.name)
            case IndexValue():
                narrow = _fits_index(value.index)
                tree = self._index(value.index, not narrow)
                return Cast(LONG_LONG, tree) if narrow or isinstance(tree, Literal) else tree
            case Read():
                tree = self._read(value)
                return Binary(Infix.NOT_EQUAL, tree, Literal(0)) if value.dtype.kind is Kind.BOOL else tree
            case spec.Unary(op=UnaryOp.NOT):
                return Unary(Prefix.NOT, self(value.operand))
            case spec.Unary():
                return arithmetic.negative(self(value.operand), value.dtype, self._types, may_overflow(value))
            case spec.Binary():
                return self._binary(value)
            case Where():
                condition = self(value.condition)
                return Conditional(condition, self._behind(value.then), self._behind(value.otherwise))
            case spec.Cast():
                return self._cast(value)
            case spec.Call():
                return call_of(value, [self(a) for a in value.arguments], self._types)
            case LocalRead() | Reduce():
                raise AssertionError(
                    "lets are inlined, and results of reductions are known, before values are built"
                )

    def _behind(self, value: Value) -> Expression:
        """A value that is computed only where a condition holds."""
        self._conditional += 1
        tree = self(value)
        self._conditional -= 1
        return tree

    def _binary(self, value: spec.Binary) -> Expression:
        left, right = value.left, value.right
        if value.op in _COMPARISONS and isinstance(left, IndexValue) and isinstance(right, IndexValue):
            wide = not (_fits_index(left.index) and _fits_index(right.index))
            return Binary(_INFIX[value.op], self._index(left.index, wide), self._index(right.index, wide))
        match value.op:
            case BinaryOp.AND | BinaryOp.OR:
                return Binary(_INFIX[value.op], self(left), self._behind(right))
            case BinaryOp.FLOOR_DIVIDE | BinaryOp.REMAINDER:
                return self._floored(value)
            case BinaryOp.POWER:
                return self._power(value)
            case BinaryOp.DIVIDE if right in self._divisors and shares_divisor(value):
                return library("quotient", self(left), self._divisors[right], entries=("Divisor",))
        a, b = self(left), self(right)
        if value.op in _ARITHMETIC:
            overflows = value.dtype.is_integer and may_overflow(value)
            return arithmetic.operation(_INFIX[value.op], a, b, value.dtype, self._types, overflows)
        return Binary(_INFIX[value.op], a, b)

    def _floored(self, value: spec.Binary) -> Expression:
        a, b = self(value.left), self(value.right)
        division = value.op is BinaryOp.FLOOR_DIVIDE
        if value.dtype.kind is Kind.FLOAT:
            name = "float_floor_div" if division else "float_floor_mod"
            return library(name, a, b, template=(self._types.value(value.dtype),))
        divisor = value_range(value.right)
        proper = divisor is not None and (divisor[0] > 0 or divisor[1] < -1)
        return arithmetic.floored(
            Infix.DIVIDE if division else Infix.REMAINDER, a, b, value.dtype, self._types, proper
        )

    def _power(self, value: spec.Binary) -> Expression:
        base, exponent = self(value.left), value.right
        if value.dtype.kind is not Kind.FLOAT:
            return library("integer_power", base, self(exponent), template=(self._types.value(value.dtype),))
        if isinstance(exponent, spec.Literal) and exponent.value == 2:
            return library("square", base)
        return Call(float_function("pow", value.dtype), (base, self(exponent)))

    def _cast(self, value: spec.Cast) -> Expression:
        source, target = value.operand.dtype, value.dtype
        operand = self(value.operand)
        if source == target:
            return operand
        if target.kind is Kind.BOOL:
            return Binary(Infix.NOT_EQUAL, self._computed(operand, source), _zero(source))
        operand = self._computed(operand, source)
        if source.name in ("f16", "bf16"):
            source = F32
        if source == target:
            return operand
        if target.name in ("f16", "bf16"):
            return call(_narrowing(source, target), operand)
        if target.is_integer and source.kind is Kind.FLOAT:
            return library("truncated", operand, template=(self._types.value(target),))
        return Cast(self._types.value(target), operand)

    def _computed(self, operand: Expression, source: DType) -> Expression:
        """A value as C computes with it: a 16-bit float as a float."""
        match source.name:
            case "f16":
                return call("__half2float", operand)
            case "bf16":
                match operand:
                    case Subscript(base=Member(base=vector, field="lane"), index=lane):
                        return library("bf16_lane", vector, lane)
                return call("__bfloat162float", operand)
            case _:
                return operand


def _fits_index(value: Expr) -> bool:
    """Whether an index expression, as a value of 64 bits, can be computed in the index type: one coordinate or size,
    less another, and a small number."""
    signs = [c for m, c in value.terms if m]
    numbers = [c for m, c in value.terms if not m]
    plain = all(len(m) <= 1 and all(isinstance(a, Sym) for a in m) for m, _ in value.terms)
    return plain and sorted(signs) in ([], [1], [-1], [-1, 1]) and all(abs(c) < 1 << 16 for c in numbers)


def _zero(source: DType) -> Expression:
    """What a value is compared with to see whether it is true."""
    match source.name:
        case "f16" | "bf16" | "f32":
            return Literal(0.0, FLOAT)
        case "f64":
            return Literal(0.0, DOUBLE)
        case _:
            return Literal(0)


def _narrowing(source: DType, target: DType) -> str:
    """CUDA's function that rounds to a 16-bit float."""
    suffix = "half" if target.name == "f16" else "bfloat16"
    if source.name == "f64":
        return f"__double2{suffix}"
    if source.name == "f32" or source.size < 4 or target.name == "f16":
        return f"__float2{suffix}_rn"
    kind = {"i32": "int", "u32": "uint", "i64": "ll", "u64": "ull"}[source.name]
    return f"__{kind}2{suffix}_rn"
