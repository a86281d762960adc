"""Single instructions against Python integers, fractions and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilegen.sim import UnsupportedInstruction

Array = npt.NDArray[Any]
Ptx = Callable[..., Array]
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
EDGES32 = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    255,
    0x7FFFFFFF,
    0x80000000,
    0x80000001,
    0xFFFFFFFE,
    0xFFFFFFFF,
    0x12345678,
]
EDGES64 = [0, 1, 5, 63, 64, 65, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF]


def pairs(values: list[int], kind: str) -> tuple[Array, Array]:
    grid = np.array(values, dtype=np.uint64 if kind[1:] == "64" else np.uint32)
    a, b = np.meshgrid(grid, grid)
    dtype = {"s": "i", "u": "u", "b": "u"}[kind[0]] + str(int(kind[1:]) // 8)
    return a.ravel().view(dtype), b.ravel().view(dtype)


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


REFERENCE: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul.lo": lambda a, b, w: a * b,
    "mul.hi": lambda a, b, w: (a * b) >> w,
    "div": lambda a, b, w: truncated(a, b) if b else -1,
    "rem": lambda a, b, w: a - b * truncated(a, b) if b else a,
    "min": lambda a, b, w: min(a, b),
    "max": lambda a, b, w: max(a, b),
}


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("op", list(REFERENCE))
def test_integer_arithmetic(ptx: Ptx, op: str, kind: str) -> None:
    a, b = pairs(EDGES32 if kind[1:] == "32" else EDGES64, kind)
    width = int(kind[1:])
    got = ptx(f"{op}.{kind} d, a, b;", a.dtype, a, b)
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        assert (REFERENCE[op](x, y, width) - z) % (1 << width) == 0, (x, y, z)


@pytest.mark.parametrize("kind", ["s32", "u32"])
def test_wide_products(ptx: Ptx, kind: str) -> None:
    a, b = pairs(EDGES32, kind)
    wide = np.dtype(f"{a.dtype.kind}8")
    got = ptx(f"mul.wide.{kind} d, a, b;", wide, a, b)
    assert got.tolist() == [x * y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    c = np.arange(len(a)).astype(wide)
    got = ptx(f"mad.wide.{kind} d, a, b, c;", wide, a, b, c)
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        assert (x * y + z - r) % (1 << 64) == 0


@pytest.mark.parametrize("types", ["u32.u32", "s32.u32", "u32.s32", "s32.s32"])
@pytest.mark.parametrize("op", ["dp2a.lo", "dp2a.hi", "dp4a"])
def test_dot_products_of_parts(ptx: Ptx, op: str, types: str) -> None:
    left, right = types.split(".")
    a, b = pairs(EDGES32, "u32")
    c = np.roll(a, 7)
    kinds = {"u32": "<u4", "s32": "<i4"}
    kind = np.dtype(kinds["s32" if "s32" in (left, right) else "u32"])
    got = ptx(f"{op}.{types} d, a, b, c;", kind, a.view(kinds[left]), b.view(kinds[right]), c.view(kind))
    width = 1 if op == "dp4a" else 2
    parts = a.view(f"<{left[0].replace('s', 'i')}{width}").reshape(len(a), -1).tolist()
    octets = b.view(f"<{right[0].replace('s', 'i')}1").reshape(len(b), -1).tolist()
    first = 2 if op == "dp2a.hi" else 0
    for x, y, z, r in zip(parts, octets, c.view(kind).tolist(), got.tolist(), strict=True):
        assert (z + sum(p * q for p, q in zip(x, y[first:], strict=False)) - r) % (1 << 32) == 0


@pytest.mark.parametrize("kind", ["b32", "b64"])
@pytest.mark.parametrize("op", ["shl", "shr"])
def test_shifts_clamp_their_amount(ptx: Ptx, op: str, kind: str) -> None:
    width = int(kind[1:])
    a, _ = pairs(EDGES32 if width == 32 else EDGES64, kind)
    amounts = np.array([0, 1, 5, 31, 32, 33, 63, 64, 65, 255, 0xFFFFFFFF], dtype=np.uint32)
    b = np.resize(amounts, len(a))
    for name, dtype in (
        (kind.replace("b", "u"), f"u{width // 8}"),
        (kind.replace("b", "s"), f"i{width // 8}"),
    ):
        if op == "shl":
            name = kind
        given_a = a.view(dtype)
        got = ptx(f"{op}.{name} d, a, b;", given_a.dtype, given_a, b)
        for x, y, z in zip(given_a.tolist(), b.tolist(), got.tolist(), strict=True):
            exact = x << min(y, width) if op == "shl" else x >> min(y, width)
            assert (exact - z) % (1 << width) == 0, (name, x, y, z)


@QUICK
@given(
    a=st.integers(0, 2**32 - 1), b=st.integers(0, 2**32 - 1), pos=st.integers(0, 40), length=st.integers(0, 40),
    table=st.integers(0, 255), control=st.integers(0, 0xFFFF),
)  # fmt: skip
def test_bit_fields_and_permutes(
    ptx: Ptx, a: int, b: int, pos: int, length: int, table: int, control: int
) -> None:
    arrays = [np.array([x], dtype=np.uint32) for x in (a, b, pos, length)]
    ones = (1 << min(length, 32)) - 1
    assert ptx("bfe.u32 d, a, c, e;", np.uint32, *arrays)[0] == (a >> pos) & ones if pos < 32 else True
    mask = (ones << pos) & 0xFFFFFFFF
    assert ptx("bfi.b32 d, a, b, c, e;", np.uint32, *arrays)[0] == (b & ~mask) | ((a << pos) & mask)
    c = arrays[2]
    got = int(ptx(f"lop3.b32 d, a, b, c, {table};", np.uint32, arrays[0], arrays[1], c)[0])
    for bit in range(32):
        row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (pos >> bit & 1)
        assert got >> bit & 1 == table >> row & 1
    both = a | b << 32
    expected = 0
    for i in range(4):
        nibble = control >> (4 * i) & 15
        byte = both >> (8 * (nibble & 7)) & 255
        expected |= (255 * (byte >> 7) if nibble & 8 else byte) << (8 * i)
    assert ptx(f"prmt.b32 d, a, b, {control};", np.uint32, arrays[0], arrays[1])[0] == expected
    amount = pos & 31
    wrapped = ptx("shf.l.wrap.b32 d, a, b, c;", np.uint32, arrays[0], arrays[1], c)[0]
    assert wrapped == (both << amount >> 32) & 0xFFFFFFFF
    assert (
        ptx("shf.r.clamp.b32 d, a, b, c;", np.uint32, arrays[0], arrays[1], c)[0]
        == (both >> min(pos, 32)) & 0xFFFFFFFF
    )


def test_signed_bit_field_extract(ptx: Ptx) -> None:
    a = np.array([0x12345678, -0x12345678, -1, 5], dtype=np.int32)
    for pos, length in ((0, 8), (4, 12), (28, 8), (31, 1), (3, 0)):
        p, n = (np.full(4, x, dtype=np.uint32) for x in (pos, length))
        got = ptx("bfe.s32 d, a, b, c;", np.int32, a, p, n)
        for x, z in zip(a.tolist(), got.tolist(), strict=True):
            field = (x >> pos) & ((1 << length) - 1)
            sign = x >> min(pos + length - 1, 31) & 1
            assert z == (0 if length == 0 else field - (sign << length)), (x, pos, length)


def test_counting_bits(ptx: Ptx) -> None:
    for kind, edges in (("b32", EDGES32), ("b64", EDGES64)):
        width = int(kind[1:])
        a = np.array(edges, dtype=f"u{width // 8}")
        assert ptx(f"popc.{kind} d, a;", np.uint32, a).tolist() == [x.bit_count() for x in edges]
        assert ptx(f"clz.{kind} d, a;", np.uint32, a).tolist() == [width - x.bit_length() for x in edges]
        reverse = [int(f"{x:0{width}b}"[::-1], 2) for x in edges]
        assert ptx(f"brev.{kind} d, a;", a.dtype, a).tolist() == reverse
        found = ptx(f"bfind.u{width} d, a;", np.uint32, a).tolist()
        assert found == [x.bit_length() - 1 if x else 0xFFFFFFFF for x in edges]


def test_carry_chain_adds_128_bits(ptx: Ptx) -> None:
    a, b = pairs(EDGES64, "u64")
    low = ptx("add.cc.u64 d, a, b;", np.uint64, a, b)
    high = ptx(".reg .b64 x; add.cc.u64 x, a, b; addc.u64 d, a, b;", np.uint64, a, b)
    for x, y, z, h in zip(a.tolist(), b.tolist(), low.tolist(), high.tolist(), strict=True):
        assert z == (x + y) % 2**64
        assert h == (x + y + (x + y >> 64)) % 2**64


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu",
                                  "num", "nan"])  # fmt: skip
def test_float_comparisons_with_nan(ptx: Ptx, name: str) -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], dtype=np.float32)
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    got = ptx(f"setp.{name}.f32 p, a, b; selp.u32 d, 1, 0, p;", np.uint32, a, b)
    plain = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        unordered = x != x or y != y
        if name in ("num", "nan"):
            expected = unordered == (name == "nan")
        elif name.endswith("u") and len(name) == 3:
            expected = unordered or getattr(float, plain[name[:2]])(x, y)
        else:
            expected = not unordered and getattr(float, plain[name])(x, y)
        assert bool(z) == expected, (name, x, y)


def test_setp_writes_both_predicates_and_combines(ptx: Ptx) -> None:
    a = np.array([1, 2, 3, 4], dtype=np.int32)
    b = np.array([2, 2, 2, 2], dtype=np.int32)
    text = """.reg .pred r; setp.eq.s32 r, a, 4; setp.lt.or.s32 p|q, a, b, r;
        .reg .b32 x, y; selp.u32 x, 1, 0, p; selp.u32 y, 2, 0, q; or.b32 d, x, y;"""
    # p = (a < b) or r; q = not (a < b) or r
    assert ptx(text, np.uint32, a, b).tolist() == [1, 2, 2, 3]
    negated = "setp.lt.s32 p, a, b; mov.u32 d, 7; @!p mov.u32 d, 9;"
    assert ptx(negated, np.uint32, a, b).tolist() == [7, 9, 9, 9]


floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
near = st.builds(
    lambda m, e: float(np.ldexp(np.float32(m), e).astype(np.float32)),
    st.integers(-(2**24), 2**24),
    st.integers(-170, 20),
)


def rounded(exact: Fraction, kind: Any) -> float:
    """The nearest value of a NumPy float type, ties to even, by exact comparison."""
    if exact == 0:
        return 0.0
    info = np.finfo(kind)
    bits = info.nmant
    exponent = max(abs(exact.numerator).bit_length() - exact.denominator.bit_length() - 1, int(info.minexp))
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - bits)
    value = float(round(exact / unit) * unit) if abs(exact) < Fraction(2) ** 1024 else float("inf")
    return value if abs(value) <= float(info.max) else (float("inf") if exact > 0 else -float("inf"))


@QUICK
@given(rows=st.lists(st.tuples(floats32 | near, floats32 | near, floats32 | near), min_size=8, max_size=32))
def test_fma_f32_is_rounded_once(ptx: Ptx, rows: list[tuple[float, float, float]]) -> None:
    a, b, c = (np.array(x, dtype=np.float32) for x in zip(*rows, strict=True))
    got = ptx("fma.rn.f32 d, a, b, c;", np.float32, a, b, c)
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        assert r == rounded(Fraction(x) * Fraction(y) + Fraction(z), np.float32), (x, y, z)


def test_fma_f32_on_a_tie_that_float64_hides(ptx: Ptx) -> None:
    # (1 + 2**-23) * 1 + 2**-24 is a tie; a further 2**-80 must push it up, though float64 cannot hold it.
    a = np.array([1 + 2**-12, 1 + 2**-12], dtype=np.float32)
    b = np.array([1 + 2**-12, 1 + 2**-12], dtype=np.float32)
    c = np.array([2.0**-90, -(2.0**-90)], dtype=np.float32)
    got = ptx("fma.rn.f32 d, a, b, c;", np.float32, a, b, c)
    exact = [rounded(Fraction(x) * Fraction(y) + Fraction(z), np.float32)
             for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]  # fmt: skip
    assert got.tolist() == exact
    assert exact[0] != exact[1]


wide = st.builds(
    lambda m, e: float(np.ldexp(float(m), e)), st.integers(-(2**53), 2**53), st.integers(-600, 600)
)
tiny = st.builds(
    lambda m, e: float(np.ldexp(float(m), e)), st.integers(-(2**53), 2**53), st.integers(-1120, -900)
)


@QUICK
@given(rows=st.lists(st.tuples(wide | tiny, wide | tiny, wide | tiny), min_size=8, max_size=32))
def test_fma_f64_is_rounded_once(ptx: Ptx, rows: list[tuple[float, float, float]]) -> None:
    a, b, c = (np.array(x, dtype=np.float64) for x in zip(*rows, strict=True))
    got = ptx("fma.rn.f64 d, a, b, c;", np.float64, a, b, c)
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        try:
            assert r == float(exact), (x, y, z)
        except OverflowError:
            assert abs(r) == np.inf


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_directed_rounding(ptx: Ptx, mode: str) -> None:
    rng = np.random.default_rng(1)
    a, b, c = (rng.standard_normal(256).astype(np.float32) for _ in range(3))
    got = ptx(f"fma.{mode}.f32 d, a, b, c;", np.float32, a, b, c)
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got, strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        up, down = (Fraction(float(np.nextafter(r, np.float32(s)))) for s in (np.inf, -np.inf))
        value = Fraction(float(r))
        if mode == "rm" or (mode == "rz" and exact > 0):
            assert value <= exact < up
        else:
            assert down < exact <= value


def test_minimum_and_maximum_with_nan_and_zeros(ptx: Ptx) -> None:
    values = np.array([0.0, -0.0, 1.0, np.nan], dtype=np.float32)
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    for op, pick, zero in (("min", min, True), ("max", max, False)):
        got = ptx(f"{op}.f32 d, a, b;", np.float32, a, b)
        propagating = ptx(f"{op}.NaN.f32 d, a, b;", np.float32, a, b)
        for x, y, r, n in zip(a.tolist(), b.tolist(), got.tolist(), propagating.tolist(), strict=True):
            if x != x or y != y:
                assert n != n
                assert (r != r) == (x != x and y != y)
            elif x == y == 0:
                signs = {str(x), str(y)}
                assert str(r) == str(n) == (min(signs) if zero else max(signs))
            else:
                assert r == n == pick(x, y)


def test_flush_to_zero_only_where_asked(ptx: Ptx) -> None:
    a = np.array([2.0**-127, 2.0**-126, -(2.0**-149)], dtype=np.float32)
    one = np.ones(3, dtype=np.float32)
    assert ptx("mul.f32 d, a, b;", np.float32, a, one).tolist() == a.tolist()
    assert ptx("mul.ftz.f32 d, a, b;", np.float32, a, one).tolist() == [0.0, 2.0**-126, 0.0]


@pytest.mark.parametrize("name", ["ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"])
def test_approximate_functions_are_rounded_from_float64(ptx: Ptx, name: str) -> None:
    a = np.linspace(0.01, 3, 100, dtype=np.float32)
    exact = {"ex2": np.exp2, "lg2": np.log2, "rcp": lambda x: 1 / x, "rsqrt": lambda x: 1 / np.sqrt(x),
             "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh}[name]  # fmt: skip
    expected = exact(a.astype(np.float64)).astype(np.float32)
    assert np.array_equal(ptx(f"{name}.approx.f32 d, a;", np.float32, a), expected)


@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_half_arithmetic(ptx: Ptx, op: str) -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(256).astype(np.float16) for _ in range(2))
    ufunc = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op]
    got = ptx(f"{op}.f16 d, a, b;", np.uint16, a.view(np.uint16), b.view(np.uint16))
    assert np.array_equal(got.view(np.float16), ufunc(a, b))
    packed = [x.view(np.uint32) for x in (a, b)]
    got = ptx(f"{op}.f16x2 d, a, b;", np.uint32, *packed)
    assert np.array_equal(got.view(np.float16), ufunc(a, b))
    x, y = (v.astype(ml_dtypes.bfloat16) for v in (a.astype(np.float32), b.astype(np.float32)))
    got = ptx(f"{op}.bf16 d, a, b;", np.uint16, x.view(np.uint16), y.view(np.uint16))
    expected = ufunc(x.astype(np.float32), y.astype(np.float32)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(got, expected.view(np.uint16))


@QUICK
@given(
    bits=st.lists(
        st.tuples(*[st.integers(0, 0x7BFF) | st.integers(0x8000, 0xFBFF)] * 3), min_size=8, max_size=64
    )
)
def test_half_fma_is_rounded_once(ptx: Ptx, bits: list[tuple[int, int, int]]) -> None:
    a, b, c = (np.array(x, dtype=np.uint16) for x in zip(*bits, strict=True))
    got = ptx("fma.rn.f16 d, a, b, c;", np.uint16, a, b, c).view(np.float16)
    values = zip(*(x.view(np.float16).tolist() for x in (a, b, c)), got.tolist(), strict=True)
    for x, y, z, r in values:
        assert r == rounded(Fraction(x) * Fraction(y) + Fraction(z), np.float16), (x, y, z)


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
def test_float_to_integer_rounds_and_saturates(ptx: Ptx, kind: str, mode: str) -> None:
    values = np.array([0.5, 1.5, -0.5, -1.5, 2.49, -2.51, 127.5, 300.0, -300.0, 1e10, -1e10, 1e30, -1e30,
                       np.inf, -np.inf], dtype=np.float32)  # fmt: skip
    width = int(kind[1:])
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    size = max(width // 8, 4)
    got = ptx(f"cvt.{mode}.{kind}.f32 d, a;", f"{'i' if kind[0] == 's' else 'u'}{size}", values,
              declare="")  # fmt: skip
    rounders = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
    for x, z in zip(values.tolist(), got.tolist(), strict=True):
        whole = float(rounders[mode](x))
        expected = low if whole <= low else high if whole >= high else int(whole)
        assert z == expected, (x, z, expected)
    nan = np.full(1, np.nan, dtype=np.float32)
    expected_nan = 0 if width < 64 else (1 << 63) - ((1 << 64) if kind[0] == "s" else 0)
    assert ptx(f"cvt.{mode}.{kind}.f32 d, a;", got.dtype, nan)[0] == expected_nan


def test_integers_extend_and_truncate(ptx: Ptx) -> None:
    a = np.array([0x1FF, 0x80, 0x7F, 0xFFFFFFFF], dtype=np.uint32)
    assert ptx("cvt.u32.u8 d, a;", np.uint32, a).tolist() == [0xFF, 0x80, 0x7F, 0xFF]
    assert ptx("cvt.s32.s8 d, a;", np.int32, a).tolist() == [-1, -128, 127, -1]
    assert ptx("cvt.s64.s32 d, a;", np.int64, a.view(np.int32)).tolist() == [0x1FF, 0x80, 0x7F, -1]
    assert ptx("cvt.sat.u8.s32 d, a;", np.uint32, np.array([-5, 5, 300], dtype=np.int32)).tolist() == [
        0,
        5,
        255,
    ]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_narrowing_floats(ptx: Ptx, mode: str) -> None:
    rng = np.random.default_rng(3)
    a = (rng.standard_normal(512) * 10.0 ** rng.integers(-8, 5, 512)).astype(np.float64)
    got = ptx(f"cvt.{mode}.f32.f64 d, a;", np.float32, a)
    for x, r in zip(a.tolist(), got, strict=True):
        value = Fraction(float(r))
        exact = Fraction(x)
        if mode == "rn":
            assert float(r) == rounded(exact, np.float32)
        elif mode == "rm" or (mode == "rz" and exact > 0):
            assert value <= exact < Fraction(float(np.nextafter(r, np.float32(np.inf))))
        else:
            assert Fraction(float(np.nextafter(r, np.float32(-np.inf)))) < exact <= value
    b = a.astype(np.float32)
    if mode == "rn":
        half = ptx("cvt.rn.f16.f32 d, a;", np.uint16, b).view(np.float16)
        with np.errstate(over="ignore"):
            assert np.array_equal(half, b.astype(np.float16))
        brain = ptx("cvt.rn.bf16.f32 d, a;", np.uint16, b)
        assert np.array_equal(brain, b.astype(ml_dtypes.bfloat16).view(np.uint16))
        pair = ptx("cvt.rn.bf16x2.f32 d, a, b;", np.uint32, b, -b)
        assert np.array_equal(pair >> np.uint32(16), brain)
        back = ptx("cvt.f32.bf16 d, a;", np.float32, brain)
        assert np.array_equal(back, brain.view(ml_dtypes.bfloat16).astype(np.float32))


def test_wide_integers_to_floats_round_once(ptx: Ptx) -> None:
    values = [2**53 + 1, 2**63 - 1, -(2**63), 2**24 + 1, (1 << 60) + (1 << 36) + 1, -(2**53) - 3]
    a = np.array(values, dtype=np.int64)
    assert ptx("cvt.rn.f64.s64 d, a;", np.float64, a).tolist() == [float(x) for x in values]
    got = ptx("cvt.rn.f32.s64 d, a;", np.float32, a)
    assert got.tolist() == [rounded(Fraction(x), np.float32) for x in values]
    low = ptx("cvt.rz.f32.s64 d, a;", np.float32, a)
    assert all(abs(r) <= abs(x) for r, x in zip(low.tolist(), values, strict=True))


def test_moves_pack_and_unpack(ptx: Ptx) -> None:
    a, b = np.array([0x11223344], dtype=np.uint32), np.array([0x55667788], dtype=np.uint32)
    packed = ptx("mov.b64 d, {a, b};", np.uint64, a, b)
    assert packed.tolist() == [0x5566778811223344]
    assert ptx(".reg .b32 x; mov.b64 {x, d}, a;", np.uint32, packed).tolist() == [0x55667788]
    assert ptx("mov.f64 d, 0d3FF8000000000000;", np.float64, a).tolist() == [1.5]
    assert ptx("mov.b32 d, 0f3FC00000;", np.uint32, a).tolist() == [0x3FC00000]


@pytest.mark.parametrize(
    "text",
    ["wgmma.fence.sync.aligned;", "add.rn.unknown.f32 d, a, a;", "tex.1d.v4.f32.s32 d, a;", "frob.b32 d, a;"],
)
def test_unknown_instructions_are_refused_with_their_place(ptx: Ptx, text: str) -> None:
    a = np.zeros(1, dtype=np.float32)
    with pytest.raises(UnsupportedInstruction) as caught:
        ptx(text, np.float32, a)
    assert text.split()[0].rstrip(";") in str(caught.value)
    assert "PTX line" in str(caught.value)


def test_an_unknown_instruction_is_refused_where_no_thread_reaches_it(ptx: Ptx) -> None:
    never = "setp.lt.u32 p, %t, 32; @p"
    a = np.zeros(4, dtype=np.float32)
    for _ in range(2):  # the second launch finds the module parsed
        with pytest.raises(UnsupportedInstruction):
            ptx(f"{never} bra over; wgmma.fence.sync.aligned; over: mov.f32 d, a;", np.float32, a)
    assert (
        ptx(f"{never} bra over; mov.f32 a, 0f3F800000; over: mov.f32 d, a;", np.float32, a).tolist()
        == [0] * 4
    )
