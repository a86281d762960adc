"""Precedence, literals and line breaks, against what a compiler makes of the text; Python stands in for C."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilegen.cuda.printer import Printer, literal
from tilegen.cuda.tree import (
    INT,
    LONG_LONG,
    UNSIGNED,
    Binary,
    Call,
    Cast,
    Conditional,
    Expression,
    Function,
    Infix,
    Literal,
    Member,
    Prefix,
    Scalar,
    Subscript,
    Unary,
    Variable,
    add,
    multiply,
    number,
)
from tilegen.cuda.types import DOUBLE, FLOAT

X, Y, Z = (Variable(n, INT) for n in "xyz")
PRINTER = Printer({}, {})
# Operators that mean in Python what they mean in C, with the same order of precedence among them.
ARITHMETIC = (Infix.ADD, Infix.SUBTRACT, Infix.MULTIPLY, Infix.BIT_AND, Infix.BIT_XOR, Infix.BIT_OR)


def trees() -> st.SearchStrategy[Expression]:
    leaves = st.one_of(st.sampled_from([X, Y, Z]), st.integers(-5, 9).map(number))

    def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(
            st.builds(Binary, st.sampled_from(ARITHMETIC), inner, inner),
            st.builds(Unary, st.sampled_from([Prefix.NEGATE, Prefix.INVERT]), inner),
            st.builds(add, inner, inner),
            st.builds(multiply, inner, inner),
        )

    return st.recursive(leaves, larger, max_leaves=12)


def value(tree: Expression, at: dict[str, int]) -> int:
    match tree:
        case Variable():
            return at[tree.wanted]
        case Literal():
            return int(tree.value)
        case Unary(op=Prefix.NEGATE):
            return -value(tree.operand, at)
        case Unary():
            return ~value(tree.operand, at)
        case Binary():
            a, b = value(tree.left, at), value(tree.right, at)
            match tree.op:
                case Infix.ADD:
                    return a + b
                case Infix.SUBTRACT:
                    return a - b
                case Infix.MULTIPLY:
                    return a * b
                case Infix.BIT_AND:
                    return a & b
                case Infix.BIT_XOR:
                    return a ^ b
                case Infix.BIT_OR:
                    return a | b
    raise AssertionError(tree)


@settings(max_examples=400, deadline=None)
@given(trees(), st.tuples(*[st.integers(-9, 9)] * 3))
def test_text_means_what_the_tree_means(tree: Expression, numbers: tuple[int, int, int]) -> None:
    at = dict(zip("xyz", numbers, strict=True))
    text = PRINTER.text(tree)
    assert "--" not in text
    assert eval(compile(ast.parse(text, mode="eval"), "text", "eval"), {}, at) == value(tree, at)


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (Unary(Prefix.NEGATE, Unary(Prefix.NEGATE, X)), "-(-x)"),
        (Unary(Prefix.NEGATE, Literal(-1.5, FLOAT)), "-(-1.5f)"),
        (Binary(Infix.SUBTRACT, X, Unary(Prefix.NEGATE, Y)), "x - -y"),
        (Binary(Infix.SUBTRACT, X, Binary(Infix.SUBTRACT, Y, Z)), "x - (y - z)"),
        (Binary(Infix.NOT_EQUAL, Conditional(X, Y, Z), number(0)), "(x ? y : z) != 0"),
        (Conditional(Conditional(X, Y, Z), X, Y), "(x ? y : z) ? x : y"),
        (Conditional(X, Y, Conditional(Y, Z, X)), "x ? y : y ? z : x"),
        (Unary(Prefix.NOT, Conditional(X, Y, Z)), "!(x ? y : z)"),
        (Unary(Prefix.NOT, Binary(Infix.LESS, X, Y)), "!(x < y)"),
        (Binary(Infix.OR, Binary(Infix.AND, X, Y), Z), "(x && y) || z"),
        (Binary(Infix.AND, X, Binary(Infix.OR, Y, Z)), "x && (y || z)"),
        (Binary(Infix.LESS, Binary(Infix.LESS, X, Y), Z), "(x < y) < z"),
        (Binary(Infix.BIT_AND, Binary(Infix.ADD, X, Y), Z), "(x + y) & z"),
        (Binary(Infix.DIVIDE, X, Binary(Infix.MULTIPLY, Y, Z)), "x / (y * z)"),
        (Subscript(Binary(Infix.ADD, X, Y), Z), "(x + y)[z]"),
        (Member(Conditional(X, Y, Z), "lane"), "(x ? y : z).lane"),
        (Cast(UNSIGNED, Binary(Infix.ADD, X, Y)), "static_cast<unsigned>(x + y)"),
        (Call(Function("f", (), (FLOAT, number(4))), (X, Y)), "f<float, 4>(x, y)"),
        (add(X, add(Y, Z)), "x + y + z"),
        (multiply(X, multiply(Y, Z)), "x * y * z"),
    ],
)
def test_parentheses(tree: Expression, text: str) -> None:
    assert PRINTER.text(tree) == text


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (5, INT, "5"),
        (5, UNSIGNED, "5u"),
        (5, LONG_LONG, "5ll"),
        (5, Scalar("unsigned long long"), "5ull"),
        (-(2**31), INT, "(-2147483647 - 1)"),
        (-(2**63), LONG_LONG, "(-9223372036854775807ll - 1)"),
        (2**64 - 1, Scalar("unsigned long long"), "18446744073709551615ull"),
        (True, Scalar("bool"), "true"),
        (-0.0, FLOAT, "-0.0f"),
        (1.5, FLOAT, "1.5f"),
        (0.1, FLOAT, "0.1f"),
        (1.0000000596046448, FLOAT, "1.0f"),
        (1e-320, FLOAT, "0.0f"),
        (-1e-320, FLOAT, "-0.0f"),
        (3.4028235677973366e38, FLOAT, "__int_as_float(0x7f800000)"),
        (3.4028234663852886e38, FLOAT, "3.4028235e+38f"),
        (1e-45, DOUBLE, "1e-45"),
        (float("inf"), FLOAT, "__int_as_float(0x7f800000)"),
        (float("-inf"), DOUBLE, "-__longlong_as_double(0x7ff0000000000000ll)"),
        (float("nan"), FLOAT, "__int_as_float(0x7fffffff)"),
    ],
)
def test_literals(value: int | float | bool, type_: Scalar, text: str) -> None:
    assert literal(Literal(value, type_)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_prints_as_itself(value: float) -> None:
    text = literal(Literal(value, DOUBLE))
    assert float(text) == value and np.signbit(float(text)) == np.signbit(value)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_number_of_32_bits_prints_as_itself(value: float) -> None:
    text = literal(Literal(value, FLOAT))
    assert text.endswith("f") and np.float32(text[:-1]) == np.float32(value)
    assert np.signbit(np.float32(text[:-1])) == np.signbit(np.float32(value))


def test_long_lines_are_broken_at_the_tree() -> None:
    long = Call(Function("function"), tuple(Variable(f"argument_{n}", INT) for n in range(8)))
    assert PRINTER.lines(long, 60, "x = ", ";") == [
        "x = function(",
        "    argument_0,",
        "    argument_1,",
        "    argument_2,",
        "    argument_3,",
        "    argument_4,",
        "    argument_5,",
        "    argument_6,",
        "    argument_7);",
    ]
    choice = Conditional(Variable("c" * 30, INT), Variable("t" * 30, INT), Variable("o" * 30, INT))
    assert PRINTER.lines(choice, 60, "x = ", ";") == [
        f"x = {'c' * 30}",
        f"    ? {'t' * 30}",
        f"    : {'o' * 30};",
    ]
