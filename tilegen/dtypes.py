"""Element types: sizes, alignment and the promotion rules of LANGUAGE.md section 5. Imports nothing heavy."""

from __future__ import annotations

from enum import Enum
from math import isfinite, lcm

from tilegen.frozen import dataclass


class Kind(Enum):
    BOOL = "bool"
    INT = "signed integer"
    UINT = "unsigned integer"
    FLOAT = "float"
    COMPLEX = "complex"


@dataclass(frozen=True, slots=True)
class DType:
    """A scalar element type. `size` and `align` in bytes, as on the device."""

    name: str
    kind: Kind
    size: int
    align: int

    def __str__(self) -> str:
        return self.name

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.INT, Kind.UINT)


BOOL = DType("bool", Kind.BOOL, 1, 1)
I8, I16, I32, I64 = (DType(f"i{8 * n}", Kind.INT, n, n) for n in (1, 2, 4, 8))
U8, U16, U32, U64 = (DType(f"u{8 * n}", Kind.UINT, n, n) for n in (1, 2, 4, 8))
F8E4M3 = DType("f8e4m3", Kind.FLOAT, 1, 1)
F8E5M2 = DType("f8e5m2", Kind.FLOAT, 1, 1)
F16 = DType("f16", Kind.FLOAT, 2, 2)
BF16 = DType("bf16", Kind.FLOAT, 2, 2)
F32 = DType("f32", Kind.FLOAT, 4, 4)
F64 = DType("f64", Kind.FLOAT, 8, 8)
C64 = DType("c64", Kind.COMPLEX, 8, 8)
C128 = DType("c128", Kind.COMPLEX, 16, 16)

DTYPES: dict[str, DType] = {
    d.name: d
    for d in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F8E4M3, F8E5M2, F16, BF16, F32, F64, C64, C128)
}


@dataclass(frozen=True, slots=True)
class Field:
    """A struct member; `offset` in bytes from the start of the element (array of structs)."""

    name: str
    dtype: DType
    offset: int


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct element type, laid out by C's padding rules. Equal when the fields are."""

    fields: tuple[Field, ...]
    size: int
    align: int

    def __str__(self) -> str:
        return "struct { " + ", ".join(f"{f.name}: {f.dtype}" for f in self.fields) + " }"

    def field(self, name: str) -> Field | None:
        return next((f for f in self.fields if f.name == name), None)


ElementType = DType | Struct


def struct_of(members: tuple[tuple[str, DType], ...]) -> Struct:
    """Lay `members` out as a C compiler does: each at the next multiple of its alignment, size rounded up."""
    offset, align, fields = 0, 1, []
    for name, dtype in members:
        offset = -(-offset // dtype.align) * dtype.align
        fields.append(Field(name, dtype, offset))
        offset += dtype.size
        align = lcm(align, dtype.align)
    return Struct(tuple(fields), -(-offset // align) * align, align)


# Bits of the significand after the point and the largest exponent; `f8e4m3` gives its last value to NaN.
_FLOATS = {"f8e5m2": (2, 15), "f16": (10, 15), "bf16": (7, 127), "f32": (23, 127), "f64": (52, 1023)}


def largest(dtype: DType) -> float:
    """The largest finite number of a floating-point type."""
    if dtype is F8E4M3:
        return 448.0
    bits, exponent = _FLOATS[dtype.name]
    return (2.0 - 2.0**-bits) * 2.0**exponent


def overflows(value: int | float, dtype: DType) -> bool:
    """Whether a finite `value` becomes infinite (NaN in f8e4m3) as a floating-point `dtype`, rounded to nearest."""
    if isinstance(value, float) and not isfinite(value):
        return False
    if dtype is F64:
        return abs(value) > largest(F64)
    if dtype is F8E4M3:
        return abs(value) > 464
    bits, exponent = _FLOATS[dtype.name]
    return abs(value) >= (2.0 - 2.0 ** -(bits + 1)) * 2.0**exponent


def complex_part(dtype: DType) -> DType:
    """The type of the parts of a complex type."""
    return F32 if dtype.size == 8 else F64


def compute_type(dtype: DType) -> DType:
    """The type arithmetic on `dtype` is done in: floats below f32 compute in f32, all others in themselves."""
    return F32 if dtype.kind is Kind.FLOAT and dtype.size < 4 else dtype


def accumulator_type(dtype: DType) -> DType:
    """The type a reduction over `dtype` accumulates in (LANGUAGE.md section 5, Types)."""
    match dtype.kind:
        case Kind.BOOL:
            return I32
        case Kind.INT:
            return I32 if dtype.size < 4 else dtype
        case Kind.UINT:
            return U32 if dtype.size < 4 else dtype
        case Kind.FLOAT | Kind.COMPLEX:
            return compute_type(dtype)


def promote(a: DType, b: DType) -> DType:
    """NumPy's `result_type`, except: an integer with a float gives that float; f16 with bf16 gives f32."""
    if a == b:
        return a
    if Kind.BOOL in (a.kind, b.kind):
        return b if a.kind is Kind.BOOL else a
    if Kind.COMPLEX in (a.kind, b.kind):
        wide = (a if a.kind is Kind.COMPLEX else b, b if a.kind is Kind.COMPLEX else a)
        if wide[1].kind is Kind.COMPLEX:
            return C128
        return C128 if wide[0] == C128 or (wide[1].kind is Kind.FLOAT and wide[1].size == 8) else C64
    if Kind.FLOAT in (a.kind, b.kind):
        if a.kind is not Kind.FLOAT:
            return b
        if b.kind is not Kind.FLOAT:
            return a
        if a.size == b.size:
            return F16 if a.size == 1 else F32
        return a if a.size > b.size else b
    if a.kind is b.kind:
        return a if a.size >= b.size else b
    signed, unsigned = (a, b) if a.kind is Kind.INT else (b, a)
    if signed.size > unsigned.size:
        return signed
    return {1: I16, 2: I32, 4: I64, 8: F64}[unsigned.size]
