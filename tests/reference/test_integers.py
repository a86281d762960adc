"""Integer arithmetic and casts at the edges of every type, against Python's integers reduced to the type."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tilegen.dtypes import BF16, BOOL, DTYPES, F16, F32, F64, DType
from tilegen.lang.spec import Kernel
from tilegen.numpy_types import Array, numpy_dtype
from tilegen.reference import evaluate, expected
from tilegen.reference.number import FORMATS, round_to

from ..integers import COMPARISONS, FUNCTIONS, INTEGERS, OPERATORS, array, edges, limits, truncated, wrap

Load = Callable[..., Kernel]
FLOATS = (F16, BF16, F32, F64)


def values(load: Load, text: str, sizes: dict[str, int], **arrays: Array) -> list[Any]:
    """The one output, computed with and without error bounds; integers have none."""
    kernel = load(text)
    (output,) = evaluate(kernel, sizes, arrays).values()
    (bounded,) = expected(kernel, sizes, arrays).values()
    np.testing.assert_array_equal(bounded.value, output)
    if kernel.assigns[0].value.dtype not in FLOATS:
        assert not bounded.tolerance.any()
    return output.tolist()


def pointwise(load: Load, value: str, dtype: DType, result: DType, *columns: list[int]) -> list[Any]:
    names = "xyz"[: len(columns)]
    text = f"kernel k(N) {{ in {', '.join(names)}: {dtype}[N]; out o: {result}[N]; o[i] = {value} }}"
    arrays = {name: array(column, dtype) for name, column in zip(names, columns, strict=True)}
    return values(load, text, {"N": len(columns[0])}, **arrays)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", [*OPERATORS, *COMPARISONS])
def test_operators(load: Load, op: str, dtype: DType) -> None:
    x, y = map(list, zip(*itertools.product(edges(dtype), repeat=2), strict=True))
    if op in COMPARISONS:
        want: list[Any] = [COMPARISONS[op](a, b) for a, b in zip(x, y, strict=True)]
        assert pointwise(load, f"x[i] {op} y[i]", dtype, BOOL, x, y) == want
        return
    want = [wrap(OPERATORS[op](a, b), dtype) for a, b in zip(x, y, strict=True)]
    assert pointwise(load, f"x[i] {op} y[i]", dtype, dtype, x, y) == want


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(load: Load, name: str, dtype: DType) -> None:
    count = 3 if name == "clip" else 2 if name[0] == "f" or name in ("maximum", "minimum") else 1
    rows = list(itertools.product(edges(dtype)[:: 1 if count < 3 else 3], repeat=count))
    arguments = ", ".join(f"{n}[i]" for n in "xyz"[:count])
    text = "-x[i]" if name == "-" else f"{name}({arguments})"
    want = [wrap(FUNCTIONS[name](*row), dtype) for row in rows]
    assert pointwise(load, text, dtype, dtype, *map(list, zip(*rows, strict=True))) == want


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_every_operation_wraps_before_the_next(load: Load, dtype: DType) -> None:
    x = edges(dtype)

    def w(number: int) -> int:
        return wrap(number, dtype)

    twice = [w(w(a * 2) // 2) for a in x]
    assert pointwise(load, "x[i] * 2 // 2", dtype, dtype, x) == twice and twice != x
    assert pointwise(load, "x[i] + 1 > x[i]", dtype, BOOL, x) == [w(a + 1) > a for a in x]
    assert pointwise(load, "abs(x[i]) % 7", dtype, dtype, x) == [w(abs(a)) % 7 for a in x]
    assert pointwise(load, "x[i] ** 3", dtype, dtype, x) == [w(a**3) for a in x]
    assert pointwise(load, "x[i] // 0 + x[i] % 0", dtype, dtype, x) == [0 for _ in x]


@pytest.mark.parametrize("source", [*INTEGERS, BOOL], ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_casts_between_integers_wrap(load: Load, source: DType, target: DType) -> None:
    x = edges(source) if source is not BOOL else [0, 1]
    assert pointwise(load, f"{target}(x[i])", source, target, x) == [wrap(a, target) for a in x]
    truth = pointwise(load, "bool(x[i])", target, BOOL, edges(target))
    assert truth == [a != 0 for a in edges(target)]


def awkward_floats(dtype: DType) -> Array:
    """Numbers round the limits of the integer types, as far as the type has them."""
    limits_of_all = {end for d in INTEGERS for end in limits(d)}
    around = [n + d for n in limits_of_all for d in (-1.0, -0.5, 0.0, 0.5, 1.0)] + [
        0.1,
        -0.9,
        -0.0,
        1e-40,
        2.5,
    ]
    with np.errstate(over="ignore"):
        exact = round_to(np.array(around), dtype).astype(numpy_dtype(dtype))
    form = FORMATS[dtype]
    ends = np.array([form.largest, -form.largest, np.inf, -np.inf, np.nan]).astype(numpy_dtype(dtype))
    wide = np.concatenate([exact, ends])
    return (
        wide
        if dtype in (BF16,)
        else np.concatenate([wide, np.nextafter(exact, ends[2]), np.nextafter(exact, ends[3])])
    )


@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_casts_of_floats_truncate_and_saturate(load: Load, source: DType, target: DType) -> None:
    x = awkward_floats(source)
    text = f"kernel k(N) {{ in x: {source}[N]; out o: {target}[N]; o[i] = {target}(x[i]) }}"
    want = [truncated(float(a), target) for a in x.tolist()]
    assert {*limits(target)} <= {*want} or source is F16
    assert values(load, text, {"N": len(x)}, x=x) == want


def nearest(number: int, dtype: DType) -> float:
    """To nearest even, by fractions; infinite past the largest."""
    if number == 0:
        return 0.0
    form = FORMATS[dtype]
    unit = Fraction(2) ** (abs(number).bit_length() - form.precision)
    rounded = round(Fraction(abs(number)) / unit) * unit
    return math.copysign(math.inf if rounded > Fraction(form.largest) else float(rounded), number)


@pytest.mark.parametrize("source", INTEGERS, ids=str)
@pytest.mark.parametrize("target", FLOATS, ids=str)
def test_integers_round_once_to_floats(load: Load, source: DType, target: DType) -> None:
    """Ties of every float type, and a little beside them, at every size that the integer has."""
    low, high = limits(source)
    numbers = set(edges(source))
    for bits, precision in itertools.product(range(8, 8 * source.size + 1), (8, 11, 24, 53)):
        tie = (1 << bits) + (1 << max(bits - precision, 0))
        numbers |= {
            s * n for s in (1, -1) for d in (-1, 0, 1) for n in (tie + d, tie + (tie >> precision - 1) + d)
        }
    x = sorted(n for n in numbers if low <= n <= high)
    text = f"kernel k(N) {{ in x: {source}[N]; out o: {target}[N]; o[i] = {target}(x[i]) }}"
    stored = round_to(np.array(values(load, text, {"N": len(x)}, x=array(x, source))), target)
    assert stored.tolist() == [nearest(n, target) for n in x]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_reductions_and_scans(load: Load, dtype: DType, name: str) -> None:
    """Below 32 bits sums and products are of 32; each row ends, and the scan has all beginnings."""
    wide = DTYPES[f"{dtype.name[0]}{max(32, 8 * dtype.size)}"]
    x = edges(dtype)
    rows = [x, x[::-1], [max(x)] * len(x), [min(x)] * len(x)]
    result = {"sum": wide, "prod": wide, "argmax": DTYPES["i64"], "argmin": DTYPES["i64"]}.get(name, dtype)

    def reduced(row: list[int]) -> int:
        if name.startswith("arg"):
            return row.index(max(row) if name == "argmax" else min(row))
        return wrap({"sum": sum, "prod": math.prod, "max": max, "min": min}[name](row), result)

    sizes = {"M": len(rows), "N": len(x)}
    text = f"kernel k(M, N) {{ in x: {dtype}[M, N]; out o: {result}[M]; o[i] = {name}[k](x[i, k]) }}"
    data = array(list(itertools.chain(*rows)), dtype).reshape(len(rows), len(x))
    assert values(load, text, sizes, x=data) == [reduced(row) for row in rows]
    text = f"kernel k(M, N) {{ in x: {dtype}[M, N]; out o: {result}[M, N]; o[i, j] = {name}[k in 0..=j](x[i, k]) }}"
    assert values(load, text, sizes, x=data) == [
        [reduced(row[: j + 1]) for j in range(len(x))] for row in rows
    ]


def test_a_body_wraps_in_its_own_type_before_it_is_summed(load: Load) -> None:
    text = "kernel k(N) { in x, y: i8[N]; out o: i32[]; o[] = sum[k](x[k] * y[k]) }"
    x, y = [100, 100, -128], [2, 3, -1]
    want = sum(wrap(a * b, DTYPES["i8"]) for a, b in zip(x, y, strict=True))
    assert values(load, text, {"N": 3}, x=array(x, DTYPES["i8"]), y=array(y, DTYPES["i8"])) == want
    text = text.replace("x[k] * y[k]", "i32(x[k]) * i32(y[k])")
    assert values(load, text, {"N": 3}, x=array(x, DTYPES["i8"]), y=array(y, DTYPES["i8"])) == 628


@pytest.mark.parametrize("signed", [t for t in INTEGERS if t.name[0] == "i"], ids=str)
def test_u64_meets_a_signed_integer_in_f64(load: Load, signed: DType) -> None:
    """As NumPy's result_type; two numbers may then be equal that are not."""
    text = f"kernel k(N) {{ in x: u64[N]; in y: {signed}[N]; out o: f64[N]; o[i] = x[i] + y[i] }}"
    x, y = [2**64 - 1, 2**53 + 1, 7], [-1, 0, 100]
    got = values(load, text, {"N": 3}, x=array(x, DTYPES["u64"]), y=array(y, signed))
    assert got == [float(a) + float(b) for a, b in zip(x, y, strict=True)]
    text = text.replace("f64[N]; o", "bool[N]; o").replace("+", "==")
    got = values(load, text, {"N": 2}, x=array([2**53 + 1, 5], DTYPES["u64"]), y=array([0, 5], signed))
    assert got == [False, True]


# Indices -----------------------------------------------------------------------------------------------------------

SOURCE = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]


def mapped(index: int, mode: str) -> float:
    """What a boundary gives for an index of any size."""
    n = len(SOURCE)
    match mode.split(" ")[0]:
        case "constant":
            return SOURCE[index] if 0 <= index < n else 5.0
        case "edge":
            return SOURCE[min(max(index, 0), n - 1)]
        case "wrap":
            return SOURCE[index % n]
        case "reflect":
            folded = index % (2 * n - 2)
            return SOURCE[min(folded, 2 * n - 2 - folded)]
        case _:
            folded = index % (2 * n)
            return SOURCE[min(folded, 2 * n - 1 - folded)]


@pytest.mark.parametrize("mode", ["constant 5", "edge", "wrap", "reflect", "symmetric"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_an_index_from_data_wraps_in_its_type_and_is_mapped_exactly(
    load: Load, dtype: DType, mode: str
) -> None:
    """Alone it is of the type of the data; beside an axis or a size, an i64."""
    i64 = DTYPES["i64"]

    def w(number: int) -> int:
        return wrap(number, dtype)

    forms: dict[str, Callable[[int, int], int]] = {
        "p[i]": lambda p, i: p,
        "p[i] + 1": lambda p, i: w(p + 1),
        "p[i] - 1": lambda p, i: w(p - 1),
        "p[i] * 3": lambda p, i: w(p * 3),
        "-p[i]": lambda p, i: w(-p),
        "abs(p[i])": lambda p, i: w(abs(p)),
        "p[i] // 0": lambda p, i: 0,
        "maximum(p[i] + 1, p[i])": lambda p, i: max(w(p + 1), p),
    }
    if dtype.name != "u64":
        forms["p[i] + i"] = lambda p, i: wrap(p + i, i64)
        forms["p[i] * N - i"] = lambda p, i: wrap(wrap(p * len(SOURCE), i64) - i, i64)
        forms["(p[i] + 1) + N"] = lambda p, i: wrap(w(p + 1) + len(SOURCE), i64)
    numbers = edges(dtype)
    for form, index in forms.items():
        text = f"kernel k(N, M) {{ in x: f32[N] boundary {mode}; in p: {dtype}[M]; out o: f32[M]; o[i] = x[{form}] }}"
        got = values(
            load, text, {"N": 7, "M": len(numbers)}, x=np.array(SOURCE, "f4"), p=array(numbers, dtype)
        )
        assert got == [mapped(index(p, i), mode) for i, p in enumerate(numbers)], form


@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_an_index_from_a_float(load: Load, target: DType) -> None:
    x = awkward_floats(F32)
    for text, step in ((f"{target}(f[i])", 0), (f"{target}(f[i]) + 1", 1)):
        spec = (
            f"kernel k(N, M) {{ in x: f32[N] boundary wrap; in f: f32[M]; out o: f32[M]; o[i] = x[{text}] }}"
        )
        got = values(load, spec, {"N": 7, "M": len(x)}, x=np.array(SOURCE, "f4"), f=x)
        assert got == [mapped(wrap(truncated(float(f), target) + step, target), "wrap") for f in x.tolist()]


def test_an_index_of_axes_and_sizes_is_exact(load: Load) -> None:
    """Where an i64 would wrap, at i = 2, there is no value."""
    text = "kernel k(N) { in x: f32[N] boundary wrap; out o: f32[N]; o[i] = x[i * 4611686018427387904 + 1] }"
    kernel, x = load(text), np.array([5, 6, 7], "f4")
    assert evaluate(kernel, {"N": 2}, {"x": x[:2]})["o"].tolist() == [6.0, 6.0]
    with pytest.raises(ValueError, match="leaves 64 bits"):
        evaluate(kernel, {"N": 3}, {"x": x})
    text = text.replace("+ 1", "// 4611686018427387904")
    np.testing.assert_array_equal(evaluate(load(text), {"N": 3}, {"x": x})["o"], x)


def test_scalars_in_indices_are_exact(load: Load) -> None:
    text = "kernel k(N, s: i32 = 3) { in x: f32[N] boundary wrap; out o: f32[N]; o[i] = x[i - 2 * s] }"
    x = np.arange(5, dtype="f4")
    for s in (0, 2, -7, 2**31 - 1, -(2**31)):
        got = evaluate(load(text), {"N": 5}, {"x": x}, {"s": s})["o"]
        np.testing.assert_array_equal(got, np.roll(x, 2 * s % 5))
    np.testing.assert_array_equal(evaluate(load(text), {"N": 5}, {"x": x})["o"], np.roll(x, 6))


def test_literals_and_scalars_round_once(load: Load) -> None:
    """1 + 2**-8 + 2**-45 lies just above a tie of bf16, and on it once it is a float."""
    number = 1 + 2.0**-8 + 2.0**-45
    text = f"kernel k(N, s: bf16) {{ in x: bf16[N]; out o: bf16[N]; o[i] = where(i < 1, {number!r}, s) }}"
    got = evaluate(load(text), {"N": 2}, {"x": np.zeros(2, numpy_dtype(BF16))}, {"s": number})["o"]
    assert got.astype(float).tolist() == [1 + 2.0**-7] * 2
