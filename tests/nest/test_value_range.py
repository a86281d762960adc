"""Intervals of integer values hold every value there is, and are no wider than what is known."""

from __future__ import annotations

import random
import time

import pytest

from tilegen.algebra import evaluate
from tilegen.core.nest.build import nest_over
from tilegen.core.nest.lets import inline_lets
from tilegen.core.nest.model import Nest
from tilegen.core.nest.value_range import MOST_POINTS, ValueRanges, integer_range, may_overflow, value_range
from tilegen.dtypes import DTYPES, I32, I64, DType
from tilegen.lang.check import check
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.lang.spec import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    IndexValue,
    Literal,
    Read,
    ScalarRead,
    Unary,
    UnaryOp,
    Value,
    Where,
    children,
    walk,
)

from ..integers import COMPARISONS, FUNCTIONS, OPERATORS, edges, limits, wrap

TYPES = [DTYPES[name] for name in ("i8", "u8", "i16", "i32", "u32", "i64", "u64")]


def nest_of(body: str, header: str = "N", constants: dict[str, int] | None = None) -> Nest:
    kernel = check(parse(Source("t.tile", f"kernel t({header}) {{ {body} }}"))).kernels[0].kernels[0]
    lets, closed = inline_lets(kernel)
    values = {s.name: s.default for s in kernel.sizes if s.default is not None} | (constants or {})
    return nest_over(kernel, values, kernel.assigns[0].axes, closed, lets)


def value_of(text: str, dtype: str = "i32", result: str = "i64", **more: str) -> tuple[Value, Nest]:
    """The value `text` of x, y: `dtype`, before the conversion by which it is stored."""
    nest = nest_of(
        f"in x, y: {dtype}[N]; in f: f32[N]; in m: bool[N]; out z: {result}[N]; z[i] = {text}", **more
    )
    value = nest.stores[0].value
    return (value.operand if isinstance(value, Cast) and value.dtype == DTYPES[result] else value), nest


# Every value there is ----------------------------------------------------------------------------------------------


class Drawn:
    """Random trees over few reads, and what they come to for values of these reads in unlimited integers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.reads: list[Read] = []

    def tree(self, dtype: DType, depth: int) -> Value:
        pick = self.random.random()
        if depth == 0 or pick < 0.1:
            if self.random.random() < 0.5:
                return Literal(self.random.choice([*edges(dtype), 0, 1, 2, 3, 7]), dtype)
            read = Read(f"x{len(self.reads)}", (), None, dtype, (), None)  # type: ignore[arg-type]
            self.reads.append(read)
            return read
        if pick < 0.6:
            op = BinaryOp(self.random.choice(list(OPERATORS)))
            right = self.tree(dtype, depth - 1)
            if op is BinaryOp.POWER and self.random.random() < 0.7:
                right = Literal(
                    self.random.choice([n for n in (-2, 0, 1, 2, 3, 5) if n in range(*limits(dtype))]), dtype
                )
            return Binary(op, self.tree(dtype, depth - 1), right, dtype)
        if pick < 0.7:
            return Unary(UnaryOp.NEGATE, self.tree(dtype, depth - 1), dtype)
        if pick < 0.8:
            name = self.random.choice([n for n in FUNCTIONS if n != "-"])
            count = 3 if name == "clip" else 2 if name[0] in "mf" else 1
            return Call(name, tuple(self.tree(dtype, depth - 1) for _ in range(count)), dtype)
        if pick < 0.9:
            other = self.random.choice(TYPES)
            return Cast(self.tree(other, depth - 1), dtype)
        op = BinaryOp(self.random.choice(list(COMPARISONS)))
        condition = Binary(op, self.tree(dtype, depth - 1), self.tree(dtype, 0), DTYPES["bool"])
        return Where(condition, self.tree(dtype, depth - 1), self.tree(dtype, depth - 1), dtype)

    def look(self, value: Value, data: dict[str, int], found: list[tuple[Value, int, int]]) -> int:
        """The value for `data`; every integer operation with what it gives before and after it wraps."""
        inner = [self.look(child, data, found) for child in children(value)]
        match value:
            case Literal():
                exact = int(value.value)
            case Read():
                exact = data[value.tensor]
            case Binary():
                table = COMPARISONS if value.op.value in COMPARISONS else OPERATORS
                exact = int(table[value.op.value](*inner))
                if value.op is BinaryOp.POWER and inner[1] >= 0:
                    exact = inner[0] ** min(inner[1], 200 + inner[1] % 2)
                    wrapped = wrap(OPERATORS["**"](*inner), value.dtype)
                    found.append((value, exact, wrapped))
                    return wrapped
            case Unary():
                exact = -inner[0]
            case Call():
                exact = FUNCTIONS[value.function](*inner)
            case Where():
                exact = inner[1] if inner[0] else inner[2]
            case Cast():
                exact = inner[0]
            case _:
                raise AssertionError(value)
        whole = exact if value.dtype is DTYPES["bool"] else wrap(exact, value.dtype)
        found.append((value, exact, whole))
        return whole


@pytest.mark.parametrize("seed", range(60))
def test_intervals_hold_what_there_is(seed: int) -> None:
    drawn = Drawn(seed)
    for _ in range(12):
        drawn.reads.clear()
        tree = drawn.tree(drawn.random.choice(TYPES), drawn.random.randint(1, 4))
        ranges = ValueRanges()
        for _ in range(25):
            data = {
                r.tensor: drawn.random.choice([drawn.random.randint(*limits(r.dtype)), *edges(r.dtype)])
                for r in drawn.reads
            }
            found: list[tuple[Value, int, int]] = []
            drawn.look(tree, data, found)
            for value, exact, wrapped in found:
                between = ranges.of(value)
                assert between is not None and between[0] <= wrapped <= between[1], (value, data)
                if exact != wrapped and not isinstance(value, Cast):
                    assert ranges.may_overflow(value), (value, data)


@pytest.mark.parametrize(
    ("op", "a", "b"),
    [
        (op, a, b)
        for op in OPERATORS
        for a in [(-3, 4), (0, 0), (0, 5), (2, 6), (-6, -2), (-1, 1), (3, 3)]
        for b in [(-3, 3), (0, 0), (0, 4), (1, 3), (-4, -1), (2, 2), (3, 3)]
    ],
)
def test_operators_are_as_tight_as_their_corners(op: str, a: tuple[int, int], b: tuple[int, int]) -> None:
    """All pairs: the interval holds them, and begins and ends at one of them (`%` and `**` at most a little beyond)."""

    def within(name: str, ends: tuple[int, int]) -> Value:
        read = Read(name, (), None, I64, (), None)  # type: ignore[arg-type]
        return Call("clip", (read, Literal(ends[0], I64), Literal(ends[1], I64)), I64)

    values = [OPERATORS[op](x, y) for x in range(a[0], a[1] + 1) for y in range(b[0], b[1] + 1)]
    values = [v - (1 << 64) if v >= 1 << 63 else v for v in values]
    found = value_range(Binary(BinaryOp(op), within("x", a), within("y", b), I64))
    assert found is not None and found[0] <= min(values) and max(values) <= found[1]
    if op not in ("%", "**"):
        assert found == (min(values), max(values))
    assert found[1] - found[0] <= 2 * (max(values) - min(values)) + 8


# What is known ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dtype", "overflows"),
    [
        ("x[i] + 1", "i32", True),
        ("x[i] - 1", "u8", True),
        ("x[i] // 2 + 1", "i32", False),
        ("i32(x[i]) + i32(y[i])", "i8", False),
        ("i32(x[i]) * i32(y[i])", "i16", False),
        ("i32(x[i]) * i32(y[i])", "u16", True),
        ("-x[i]", "i32", True),
        ("-(x[i] // 2)", "i32", False),
        ("abs(x[i])", "i64", True),
        ("abs(maximum(x[i], -5))", "i64", False),
        ("x[i] // y[i]", "i32", True),
        ("x[i] // 3", "i32", False),
        ("x[i] // -1", "i32", True),
        ("x[i] % y[i]", "i32", False),
        ("(x[i] % 1000) ** 3", "i32", False),
        ("(x[i] % 2000) ** 3", "i32", True),
        ("2 ** clip(x[i], 0, 30)", "i32", False),
        ("2 ** clip(x[i], 0, 31)", "i32", True),
        ("clip(x[i], -9, 9) * clip(y[i], 0, 1000000)", "i32", False),
        ("where(m[i], x[i] % 10, 5) + 2147483637", "i32", False),
        ("where(m[i], x[i] % 10, 5) + 2147483640", "i32", True),
        ("minimum(x[i], 5) + maximum(y[i], -5)", "i32", True),
        ("i32(f[i]) + 1", "i32", True),
        ("i32(m[i]) + 1", "i32", False),
        ("sign(x[i]) * 2147483647", "i32", False),
        ("x[i] + i", "i32", False),
        ("x[i] * i", "i32", True),
        ("x[i] + i", "i64", True),
        ("(x[i] % 64) * i + N", "i32", False),
    ],
)
def test_what_may_overflow(text: str, dtype: str, overflows: bool) -> None:
    value, nest = value_of(text, dtype, "u64" if dtype == "u8" else "i64")
    assert may_overflow(value, nest) is overflows


def test_what_is_no_integer_does_not_overflow() -> None:
    value, nest = value_of("f[i] + 1.0", result="f32")
    assert not may_overflow(value, nest) and value_range(value, nest) is None
    value, nest = value_of("i8(x[i])", result="i8")
    assert not may_overflow(value, nest)


@pytest.mark.parametrize(
    ("body", "low", "high"),
    [
        ("z[i] = i", 0, MOST_POINTS - 1),
        ("few[i] = i for i in 3..9", 3, 8),
        ("few[i + 5] = i for i in -5..4", -5, 3),
        ("few[i] = 2 * i + K for i in 0..K", 7, 7 + 12),
        ("z[i] = N - 1 - i", -MOST_POINTS, MOST_POINTS - 1),
        ("z[i] = i // 4 % 3", 0, 2),
        ("few[i] = i - M for i in 0..K", -(1 << 63) + 1, 6),
    ],
)
def test_axes_and_sizes(body: str, low: int, high: int) -> None:
    out = "few: i64[100]" if "few" in body else "z: i64[N]"
    nest = nest_of(f"in x: f32[N]; out {out}; {body}", "N, M, K = 7")
    value = nest.stores[0].value
    assert isinstance(value, IndexValue) and value_range(value, nest) == (low, high)


def test_compile_time_sizes_of_this_program_count() -> None:
    nest = nest_of("in x: f32[N]; out z: i64[9]; z[i] = i for i in 0..K", "N, K = 7", {"K": 5})
    assert value_range(nest.stores[0].value, nest) == (0, 4)


def test_axes_of_reductions() -> None:
    """Of two ranges of one name, the values of both, in whichever order they come."""
    parts = ["max[k](i64(x[i, k]) + k)", "sum[k in -4..2](where(x[i, k + 4] > 0, k, 0))"]
    for first, second in (parts, parts[::-1]):
        nest = nest_of(f"in x: i32[N, 9]; out z: i64[N]; z[i] = {first} + {second}")
        values = [v for v in walk(nest.stores[0].value) if isinstance(v, IndexValue)]
        assert len(values) == 2 and [ValueRanges(nest).of(v) for v in values] == [(-4, 8)] * 2


@pytest.mark.parametrize(
    ("text", "limits", "overflows"),
    [
        ("sum[k](i32(x[i, k]))", (0, 9 * 255), False),
        ("sum[k](i32(x[i, k]) * 1000000)", integer_range(I32), True),
        ("sum[k in 0..=i](i64(x[0, 0]))", (0, 255 * MOST_POINTS), False),
        ("max[k](x[i, k])", (0, 255), False),
        ("argmax[k in 2..7](x[i, k])", (2, 6), False),
        ("prod[k](i32(x[i, k]))", integer_range(I32), True),
        ("prod[k](i32(x[i, k] > 0))", (0, 1), False),
    ],
)
def test_reductions(text: str, limits: tuple[int, int] | None, overflows: bool) -> None:
    nest = nest_of(f"in x: u8[N, 9]; out z: i64[N]; z[i] = {text}")
    value = nest.stores[0].value
    while isinstance(value, Cast):
        value = value.operand
    assert may_overflow(value, nest) is overflows
    assert limits is None or value_range(value, nest) == limits


def test_scalars_have_the_range_of_their_type() -> None:
    nest = nest_of("in x: f32[N]; out z: i32[N]; z[i] = i32(s) + 1", "N, s: i8")
    value = nest.stores[0].value
    assert value_range(value, nest) == (-127, 128)
    assert any(isinstance(v, ScalarRead) for v in walk(value))


def test_many_questions_take_time_in_proportion() -> None:
    """A chain of 4,000 nodes, asked at every node; and a value that each of 200 nodes has twice."""
    read = Read("x", (), None, I32, (), None)  # type: ignore[arg-type]
    chain: list[Value] = [read]
    ranges = ValueRanges()
    started = time.process_time()
    for _ in range(4000):
        chain.append(Call("maximum", (chain[-1], read), I32))
        ranges.of(chain[-1])
    assert all(not ranges.may_overflow(v) for v in chain)
    doubled: Value = Binary(BinaryOp.REMAINDER, read, Literal(2, I32), I32)
    for _ in range(200):
        doubled = Binary(BinaryOp.SUBTRACT, doubled, doubled, I32)
        ranges.of(doubled)
    assert time.process_time() - started < 6.0


def test_an_index_is_what_it_evaluates_to() -> None:
    nest = nest_of("in x: f32[N]; out z: i64[99]; z[i] = minimum(i // 3, 4) * 2 - i % 5 for i in 2..40")
    value = nest.stores[0].value
    assert isinstance(value, IndexValue)
    found = value_range(value, nest)
    assert found is not None
    values = [evaluate(value.index, {"i": i, "N": 50}) for i in range(2, 40)]
    assert found[0] <= min(values) and max(values) <= found[1] and found[1] - found[0] <= 20
