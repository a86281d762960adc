"""What a `where` condition says about axes, sizes and scalars: a disjunction of conjunctions of expressions >= 0."""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.algebra import Expr, Sym, expr, sym
from tilegen.dtypes import I64
from tilegen.lang.check.values.conversions import Free, Operand, is_exact
from tilegen.lang.spec import Binary, BinaryOp, Cast, IndexValue, Literal, ScalarRead, Unary, UnaryOp, Value

Conjunction = tuple[Expr, ...]
_MAX_ALTERNATIVES = 16
_SMALL = 1 << 12


@dataclass(frozen=True, slots=True)
class Conditions:
    """One of `alternatives` holds, and in it every expression is >= 0. `()` alone says nothing."""

    alternatives: tuple[Conjunction, ...] = ((),)

    def and_also(self, facts: Facts) -> Conditions:
        joined = tuple(a + b for a in self.alternatives for b in facts.positive)
        return self if len(joined) > _MAX_ALTERNATIVES else Conditions(joined)


@dataclass(frozen=True, slots=True)
class Facts:
    """A condition and its negation; the alternative `()` stands for what cannot be told."""

    positive: tuple[Conjunction, ...] = ((),)
    negative: tuple[Conjunction, ...] = ((),)

    def negated(self) -> Facts:
        return Facts(self.negative, self.positive)


def condition_of(condition: Operand | None) -> Facts:
    if condition is None or isinstance(condition, Free):
        return Facts()
    match condition:
        case Unary(op=UnaryOp.NOT):
            return condition_of(condition.operand).negated()
        case Binary(op=BinaryOp.AND):
            a, b = condition_of(condition.left), condition_of(condition.right)
            return Facts(_both(a.positive, b.positive), _either(a.negative, b.negative))
        case Binary(op=BinaryOp.OR):
            a, b = condition_of(condition.left), condition_of(condition.right)
            return Facts(_either(a.positive, b.positive), _both(a.negative, b.negative))
        case Binary():
            left, right = _index(condition.left), _index(condition.right)
            return Facts() if left is None or right is None else _comparison(condition.op, left, right)
        case _:
            return Facts()


def _both(a: tuple[Conjunction, ...], b: tuple[Conjunction, ...]) -> tuple[Conjunction, ...]:
    joined = tuple(x + y for x in a for y in b)
    return joined if len(joined) <= _MAX_ALTERNATIVES else ((),)


def _either(a: tuple[Conjunction, ...], b: tuple[Conjunction, ...]) -> tuple[Conjunction, ...]:
    return ((),) if () in a or () in b or len(a) + len(b) > _MAX_ALTERNATIVES else a + b


def _index(value: Value) -> Expr | None:
    match value:
        case IndexValue():
            return value.index
        case Literal(value=int(number)) if not isinstance(number, bool):
            return expr(number)
        case ScalarRead() if value.dtype.is_integer:
            return sym(value.name)
        case Cast(operand=inner) if value.dtype.is_integer and is_exact(inner.dtype, value.dtype):
            return _index(inner)
        case Binary(op=BinaryOp.ADD | BinaryOp.SUBTRACT) if _is_exact_sum(value):
            left, right = _index(value.left), _index(value.right)
            if left is None or right is None:
                return None
            return left + right if value.op is BinaryOp.ADD else left - right
        case _:
            return None


def _is_exact_sum(value: Value) -> bool:
    """Whether an i64 is a sum of 32-bit numbers and of a few axes and sizes, so that it cannot wrap."""
    match value:
        case IndexValue():
            return all(abs(c) < _SMALL and [type(a) for a in m] in ([], [Sym]) for m, c in value.index.terms)
        case Literal():
            return abs(value.value) < _SMALL
        case Cast(operand=ScalarRead() as scalar):
            return value.dtype == I64 and scalar.dtype.is_integer and scalar.dtype.size <= 4
        case Binary(op=BinaryOp.ADD | BinaryOp.SUBTRACT):
            return value.dtype == I64 and _is_exact_sum(value.left) and _is_exact_sum(value.right)
        case _:
            return False


def _comparison(op: BinaryOp, left: Expr, right: Expr) -> Facts:
    less, greater = right - left - 1, left - right - 1
    at_most, at_least = right - left, left - right
    equal = ((at_most, at_least),)
    different = ((less,), (greater,))
    match op:
        case BinaryOp.LESS:
            return Facts(((less,),), ((at_least,),))
        case BinaryOp.LESS_EQUAL:
            return Facts(((at_most,),), ((greater,),))
        case BinaryOp.GREATER:
            return Facts(((greater,),), ((at_most,),))
        case BinaryOp.GREATER_EQUAL:
            return Facts(((at_least,),), ((less,),))
        case BinaryOp.EQUAL:
            return Facts(equal, different)
        case BinaryOp.NOT_EQUAL:
            return Facts(different, equal)
        case _:
            return Facts()
