"""Index arithmetic: whatever is built, rewritten or bounded stands for the same numbers as Python's own operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tilegen.algebra import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Op,
    Range,
    apply,
    bounds,
    ceil_div,
    evaluate,
    exact_quotient,
    expr,
    expression,
    floor_div,
    linear_parts,
    maximum,
    minimum,
    mod,
    product,
    simplify,
    substitute,
    sym,
    symbols,
    xor,
)

I, J, K, N = (sym(n) for n in "ijkn")  # noqa: E741
NAMES = ("i", "j", "k", "n")
settings.register_profile("algebra", deadline=None, derandomize=True)
thorough = settings(settings.get_profile("algebra"), max_examples=200)

# A tree is an int, a name or (operation, tree, tree); it means what Python's operators make of it.
Tree = Any
PLAIN: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "^": operator.xor,
}
BUILD: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": minimum,
    "max": maximum,
    "^": xor,
}
CONSTANTS = st.sampled_from([-33, -8, -3, -1, 0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 64])
LEAVES = st.sampled_from(NAMES) | CONSTANTS
DIVISORS = st.sampled_from([-8, -3, -1, 1, 2, 3, 4, 7, 8, 16, 32, "n"])


def _grow(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return (
        st.tuples(st.sampled_from(["+", "+", "-", "*", "min", "max", "^"]), inner, inner)
        | st.tuples(st.sampled_from(["//", "%"]), inner, DIVISORS)
        | st.tuples(st.just("*"), inner, CONSTANTS)
    )


TREES = st.recursive(LEAVES, _grow, max_leaves=12)
VALUES = st.fixed_dictionaries(
    {
        "i": st.integers(-50, 50),
        "j": st.integers(-50, 50),
        "k": st.integers(-5, 5),
        "n": st.integers(-40, 40).filter(bool),
    }
)


def meaning(tree: Tree, values: Mapping[str, int]) -> int:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return values[tree]
    op, left, right = tree
    return PLAIN[op](meaning(left, values), meaning(right, values))


def built(tree: Tree) -> Expr:
    if isinstance(tree, int):
        return expr(tree)
    if isinstance(tree, str):
        return sym(tree)
    op, left, right = tree
    return BUILD[op](built(left), built(right))


def has_canonical_form(value: Expr) -> bool:
    """No zero coefficient, no monomial twice, factors and terms in order, all the way down."""
    monomials = [m for m, _ in value.terms]
    keys = [expression._term_key(t) for t in value.terms]
    return (
        all(c for _, c in value.terms)
        and len(set(monomials)) == len(monomials)
        and keys == sorted(keys)
        and all(list(m) == sorted(m, key=expression.atom_key) for m in monomials)
        and all(
            has_canonical_form(a.left) and has_canonical_form(a.right)
            for m in monomials
            for a in m
            if isinstance(a, Apply)
        )
    )


@thorough
@given(TREES, VALUES)
def test_a_built_expression_has_the_value_of_its_operators(tree: Tree, values: dict[str, int]) -> None:
    value = built(tree)
    assert evaluate(value, values) == meaning(tree, values)
    assert has_canonical_form(value)


@thorough
@given(TREES, TREES, TREES)
def test_equal_polynomials_are_equal_objects(a: Tree, b: Tree, c: Tree) -> None:
    x, y, z = built(a), built(b), built(c)
    assert x + y == y + x and x * y == y * x
    assert (x + y) + z == x + (y + z) and (x * y) * z == x * (y * z)
    assert x * (y + z) == x * y + x * z
    assert x - x == ZERO and x + ZERO == x and x * ONE == x and x * 0 == ZERO
    assert (-x) * -1 == x and x - y == -(y - x)
    assert hash(x + y) == hash(y + x) and str(x + y) == str(y + x)


@thorough
@given(TREES, VALUES)
def test_arrays_evaluate_as_numbers_do(tree: Tree, values: dict[str, int]) -> None:
    grids = {n: np.array([v, v, -v], dtype=np.int64) for n, v in values.items()}
    wanted = [meaning(tree, {n: int(g[k]) for n, g in grids.items()}) for k in range(3)]
    assume(all(abs(w) < 2**62 for w in wanted))
    found = np.broadcast_to(evaluate(built(tree), grids), (3,))
    assert found.tolist() == wanted


@thorough
@given(TREES, TREES, VALUES)
def test_substituting_is_evaluating_in_two_steps(tree: Tree, inner: Tree, values: dict[str, int]) -> None:
    replaced = meaning(inner, values)
    value = substitute(built(tree), {"i": built(inner), "k": 3})
    assert evaluate(value, values) == meaning(tree, {**values, "i": replaced, "k": 3})
    assert has_canonical_form(value)


def test_substitution_happens_everywhere_at_once() -> None:
    assert substitute(I + 2 * J + I // (J + 5), {"i": J, "j": I}) == J + 2 * I + J // (I + 5)
    assert substitute(I // 4, {"i": 9}) == expr(2)
    assert substitute(I, {"j": 1}) is I


@thorough
@given(TREES)
def test_symbols_are_those_the_text_mentions(tree: Tree) -> None:
    value = built(tree)
    assert symbols(value) == {n for n in NAMES if n in str(value).replace("min", "")}


@thorough
@given(TREES, VALUES)
def test_the_text_of_an_expression_is_python_with_its_value(tree: Tree, values: dict[str, int]) -> None:
    value = built(tree)
    assert eval(str(value), {"min": min, "max": max}, dict(values)) == meaning(tree, values)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ZERO, "0"),
        (expr(-7), "-7"),
        (I, "i"),
        (-I, "-i"),
        (I - J, "i - j"),
        (J - 2 * I, "-2*i + j"),
        (3 + I * J * 2, "2*i*j + 3"),
        ((I + 1) // 4, "((i + 1) // 4)"),
        (2 * I % 5, "((2*i) % 5)"),
        (I * N % (N + 1), "((i*n) % (n + 1))"),
        (J * (I // 4), "j*(i // 4)"),
        (minimum(I, J + 1) - 1, "min(i, j + 1) - 1"),
        (xor(I // 4, J % 8), "((i // 4) ^ (j % 8))"),
    ],
)
def test_printing(value: Expr, text: str) -> None:
    assert str(value) == text


# Division and remainder


@pytest.mark.parametrize("a", range(-9, 10))
@pytest.mark.parametrize("b", [-4, -3, -1, 1, 3, 4])
def test_constants_divide_as_in_python(a: int, b: int) -> None:
    assert floor_div(expr(a), expr(b)) == expr(a // b)
    assert mod(expr(a), expr(b)) == expr(a % b)
    assert ceil_div(a, b) == expr((a + b - 1) // b)


@pytest.mark.parametrize("a", range(0, 40))
@pytest.mark.parametrize("b", [1, 7, 32])
def test_ceil_div_counts_tiles(a: int, b: int) -> None:
    assert ceil_div(a, b) == expr(math.ceil(a / b))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (8 * I // 4, 2 * I),
        ((8 * I + J) // 4, 2 * I + J // 4),
        ((8 * I + 5) // 4, 2 * I + 1),
        ((I * N + J) // N, I + J // N),
        ((I * N + J) % N, J % N),
        (I * N * 6 // (3 * N), 2 * I),
        ((I * N + N) % N, ZERO),
        ((9 * I + J) % 4, (I + J) % 4),
        ((-5 * I) % 4, (-I) % 4),
        (I // 1, I),
        (I % 1, ZERO),
        (I // I, ONE),
        ((4 * I + 7) % 4, expr(3)),
    ],
)
def test_multiples_leave_the_division(found: Expr, wanted: Expr) -> None:
    assert found == wanted


def test_division_by_the_constant_zero_is_refused() -> None:
    for operation in (floor_div, mod):
        with pytest.raises(ZeroDivisionError):
            operation(I, ZERO)
    with pytest.raises(ZeroDivisionError):
        evaluate(I // N, {"i": 1, "n": 0})


def test_a_symbol_without_a_value_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="j"):
        evaluate(I + J, {"i": 1})


@thorough
@given(TREES, st.sampled_from([ONE, expr(3), expr(-2), N, 4 * N, I * N]), VALUES)
def test_an_exact_quotient_multiplies_back(tree: Tree, divisor: Expr, values: dict[str, int]) -> None:
    value = built(tree)
    assert exact_quotient(value * divisor, divisor) == value
    quotient = exact_quotient(value, divisor)
    assert quotient is None or quotient * divisor == value


def test_what_does_not_divide_has_no_exact_quotient() -> None:
    assert exact_quotient(2 * I + 1, expr(2)) is None
    assert exact_quotient(I * N + J, N) is None
    assert exact_quotient(I, ZERO) is None
    assert exact_quotient(ZERO, N) == ZERO


def test_product() -> None:
    assert product([]) == ONE and product([I, 3, N]) == 3 * I * N


@pytest.mark.parametrize(
    ("value", "constant", "symbol"),
    [
        (ZERO, 0, None),
        (expr(5), 5, None),
        (I, None, "i"),
        (2 * I, None, None),
        (I + 1, None, None),
        (I // 4, None, None),
    ],
)
def test_constant_and_symbol(value: Expr, constant: int | None, symbol: str | None) -> None:
    assert value.constant == constant and value.symbol == symbol


# Ranges

SIDES = st.integers(-70, 70)


@st.composite
def ranged(draw: st.DrawFn) -> tuple[dict[str, Range], dict[str, int]]:
    """Ranges of all symbols (some unbounded) and values inside them; `n`, the divisor, is never 0."""
    ranges, values = {}, {}
    for name in NAMES:
        low = draw(st.integers(1, 40) if name == "n" else SIDES | st.just(0))
        high = low + draw(st.sampled_from([0, 1, 3, 7, 31, 63]))
        values[name] = draw(st.integers(low, high))
        if not draw(st.booleans()):
            ranges[name] = Range(low, high)
        elif draw(st.booleans()):
            ranges[name] = Range(low, math.inf)
        elif draw(st.booleans()):
            ranges[name] = Range(-math.inf, high)
    return ranges, values


@thorough
@given(TREES, ranged())
def test_bounds_contain_every_value(tree: Tree, given_: tuple[dict[str, Range], dict[str, int]]) -> None:
    ranges, values = given_
    found = bounds(built(tree), ranges)
    assert found.low <= meaning(tree, values) <= found.high


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (I, 0, 7),
        (-I, -7, 0),
        (3 * I - 2, -2, 19),
        (I * J, -21, 35),
        (J // 2, -2, 2),
        (J % 4, 0, 3),
        (I % 16, 0, 7),
        (I // N, 0, 7),
        (minimum(I, J), -3, 5),
        (maximum(I, J), 0, 7),
        (xor(I, expr(8)), 0, 15),
        (K, -math.inf, math.inf),
        (K % 8, 0, 7),
        (I * N, 0, math.inf),
        (I // K, -math.inf, math.inf),
    ],
)
def test_bounds_are_tight_where_it_matters(value: Expr, low: float, high: float) -> None:
    ranges = {"i": Range(0, 7), "j": Range(-3, 5), "n": Range(1, math.inf)}
    assert bounds(value, ranges) == Range(low, high)


def test_bounds_of_large_numbers_are_exact() -> None:
    """Past 2**53 a float no longer holds every integer; addresses of large strides go there."""
    big = 2**53 + 1
    found = bounds(I, {"i": Range(0, big)})
    assert found.high >= big
    assert bounds(I * J, {"i": Range(0, 3**20), "j": Range(0, 3**20)}).high >= 3**40
    assert simplify(I // expr(big), {"i": Range(0, big)}) != ZERO


@thorough
@given(TREES, ranged())
def test_simplifying_keeps_every_value_in_the_ranges(
    tree: Tree, given_: tuple[dict[str, Range], dict[str, int]]
) -> None:
    ranges, values = given_
    value = simplify(built(tree), ranges)
    assert evaluate(value, values) == meaning(tree, values)
    assert has_canonical_form(value)


@st.composite
def mixed_radix(draw: st.DrawFn) -> tuple[Expr, dict[str, Range], dict[str, int], int]:
    """A sum of digits with their weights and a divisor: what thread numbers and merged axes are made of."""
    value, ranges, values, weight = ZERO, {}, {}, 1
    for name in ("i", "j", "k"):
        extent = draw(st.integers(1, 9))
        value = value + sym(name) * weight
        ranges[name] = Range(0, extent - 1)
        values[name] = draw(st.integers(0, extent - 1))
        weight *= draw(st.sampled_from([1, extent, extent, 2 * extent]))
    return value, ranges, values, draw(st.sampled_from([1, 2, 3, 4, 6, 8, weight, 2 * weight]))


@thorough
@given(mixed_radix(), st.integers(1, 8), st.integers(-20, 20))
def test_digits_of_a_number_keep_their_values(
    drawn: tuple[Expr, dict[str, Range], dict[str, int], int], more: int, constant: int
) -> None:
    number, ranges, values, divisor = drawn
    for value in (
        number // divisor,
        number % divisor,
        number // divisor % more,
        (number * more + constant) // divisor,
        (number * more + constant) % divisor,
        divisor * (number // divisor) + number % divisor,
        (number // divisor // more) * more * divisor + number // divisor % more * divisor + number % divisor,
    ):
        assert evaluate(simplify(value, ranges), values) == evaluate(value, values)


T = sym("t")
THREAD = {"t": Range(0, 7), "r": Range(0, 31)}
R = sym("r")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ((8 * R + T) // 8, R),
        ((8 * R + T) % 8, T),
        (T // 8, ZERO),
        (T % 8, T),
        (T // 4 % 4, T // 4),
        ((32 * R + 4 * T) // 16, 2 * R + T // 4),
        ((32 * R + 4 * T + 3) % 16, 4 * (T % 4) + 3),
        (8 * (N // 8) + N % 8, N),
        (24 * (N // 8) + 3 * (N % 8), 3 * N),
        (J * (N % 8) + 8 * J * (N // 8), J * N),
        (8 * (N // 8) + N % 8 + 8 * (J // 8) + J % 8, N + J),
        (minimum(T, expr(7)), T),
        (minimum(T, expr(6)), minimum(T, expr(6))),
        (maximum(T, ZERO), T),
        (minimum(N, expr(100)), minimum(N, expr(100))),
        (N // 8, N // 8),
        ((N + T) % 8, (N + T) % 8),
    ],
)
def test_simplified_form(value: Expr, wanted: Expr) -> None:
    assert simplify(value, THREAD) == wanted


@pytest.mark.parametrize(
    "value",
    [7 * (N // 8) + N % 8, 8 * (N // 8) + 2 * (N % 8), 8 * (J // 8) + N % 8, 8 * (N // 8) - N % 8],
    ids=str,
)
def test_halves_that_do_not_belong_together_stay_apart(value: Expr) -> None:
    assert simplify(value, {}) == value


# Linear parts


@thorough
@given(TREES, VALUES, st.sets(st.sampled_from(["i", "j", "k"]), min_size=1))
def test_linear_parts_add_up(tree: Tree, values: dict[str, int], names: set[str]) -> None:
    value = built(tree)
    parts = linear_parts(value, sorted(names))
    if parts is None:
        return
    coefficients, rest = parts
    assert coefficients.keys() <= names
    assert not any(symbols(part) & names for part in (*coefficients.values(), rest))
    total = rest
    for name, factor in coefficients.items():
        total = total + factor * sym(name)
    assert total == value


def test_linear_parts() -> None:
    assert linear_parts(3 * I * N + J - I + 5, ["i"]) == ({"i": 3 * N - 1}, J + 5)
    assert linear_parts(N * (J // 4) + I, ["i"]) == ({"i": ONE}, N * (J // 4))
    assert linear_parts(expr(4), ["i"]) == ({}, expr(4))


@pytest.mark.parametrize(
    "value", [I * I, I * J, I // 4, N * (I % 4), minimum(I, N), I * ((J + I) // 2)], ids=str
)
def test_what_is_not_linear_has_no_parts(value: Expr) -> None:
    assert linear_parts(value, ["i", "j"]) is None


def test_apply_builds_what_the_operators_build() -> None:
    for op, tree in ((Op.FLOOR_DIV, "//"), (Op.MOD, "%"), (Op.MIN, "min"), (Op.MAX, "max"), (Op.XOR, "^")):
        assert apply(op, 6 * I + 4, N) == BUILD[tree](6 * I + 4, N)
