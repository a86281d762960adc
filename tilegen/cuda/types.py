"""C types of elements: what they are in memory, what their values are in registers, and in the header."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tilegen.cuda.tree import (
    BOOL,
    BYTE,
    INT,
    LONG_LONG,
    UNSIGNED,
    UNSIGNED_LONG_LONG,
    CType,
    Expression,
    Literal,
    Scalar,
    VectorType,
    call,
)
from tilegen.dtypes import DType, Kind, Struct

FLOAT, DOUBLE = Scalar("float"), Scalar("double")
HALF, BFLOAT16 = Scalar("__half"), Scalar("__nv_bfloat16")
SHORT, UNSIGNED_SHORT, SIGNED_CHAR = Scalar("short"), Scalar("unsigned short"), Scalar("signed char")

_STORAGE = {
    "bool": BYTE,
    "i8": SIGNED_CHAR,
    "i16": SHORT,
    "i32": INT,
    "i64": LONG_LONG,
    "u8": BYTE,
    "u16": UNSIGNED_SHORT,
    "u32": UNSIGNED,
    "u64": UNSIGNED_LONG_LONG,
    "f8e4m3": BYTE,
    "f8e5m2": BYTE,
    "f16": UNSIGNED_SHORT,
    "bf16": UNSIGNED_SHORT,
    "f32": FLOAT,
    "f64": DOUBLE,
    "c64": Scalar("float2"),
    "c128": Scalar("double2"),
}
_NARROW_FLOATS = {"f16": HALF, "bf16": BFLOAT16}
_INCLUDES = {HALF: "cuda_fp16.h", BFLOAT16: "cuda_bf16.h"}
_HOST = {
    "bool": "uint8_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "f32": "float",
    "f64": "double",
}
# Host types that are the device's own, so that a pointer needs no cast. (int64_t is `long` on most hosts.)
SAME_ON_HOST = {
    name: _STORAGE[name] for name in ("f32", "f64", "i8", "i16", "i32", "u8", "u16", "u32", "bool")
}
UNSIGNED_OF = {
    "i8": BYTE,
    "i16": UNSIGNED_SHORT,
    "i32": UNSIGNED,
    "i64": UNSIGNED_LONG_LONG,
    "u8": BYTE,
    "u16": UNSIGNED_SHORT,
    "u32": UNSIGNED,
    "u64": UNSIGNED_LONG_LONG,
}


class ElementTypes:
    """C types of the elements of one file. `computed`: narrow floats that are computed with, which have their C type;
    those that only move are carried as the bits they are."""

    def __init__(self, computed: Collection[DType]) -> None:
        self._computed = frozenset(computed)

    def storage(self, dtype: DType) -> Scalar:
        """What an element is in memory."""
        if dtype in self._computed and dtype.name in _NARROW_FLOATS:
            return _NARROW_FLOATS[dtype.name]
        return _STORAGE[dtype.name]

    def value(self, dtype: DType) -> Scalar:
        """What a value is in a register."""
        return BOOL if dtype.kind is Kind.BOOL else self.storage(dtype)

    def vector(self, dtype: DType, width: int, alignment: int) -> VectorType:
        """`width` elements that are accessed `alignment` bytes at a time."""
        size = width * dtype.size
        alignment, natural = min(16, alignment), min(16, size)
        name = f"{dtype.name}x{width}" + (f"_align{alignment}" if alignment != natural else "")
        return VectorType(name, self.storage(dtype), width, size, alignment)

    def literal(self, value: int | float | complex | bool, dtype: DType) -> Expression:
        """A constant of a type, whether it is computed with or only moves."""
        type_ = self.storage(dtype)
        match dtype.kind:
            case Kind.BOOL:
                return Literal(bool(value), BOOL)
            case Kind.INT | Kind.UINT:
                return Literal(int(value.real), type_)
            case Kind.COMPLEX:
                part = FLOAT if dtype.size == 8 else DOUBLE
                whole = complex(value)
                return call(f"make_{type_.name}", _floating(whole.real, part), _floating(whole.imag, part))
            case Kind.FLOAT:
                number = float(value.real)
                if dtype.size >= 4:
                    return _floating(number, type_)
                bits = bits_of(number, dtype)
                if type_ is HALF:
                    return call("__float2half_rn", _floating(_value_of(bits, dtype), FLOAT))
                if type_ is BFLOAT16:
                    return call("__float2bfloat16_rn", _floating(_value_of(bits, dtype), FLOAT))
                return Literal(bits, type_, hexadecimal=True)


def _floating(number: float, type_: Scalar) -> Expression:
    return Literal(number, type_)


def bits_of(number: float, dtype: DType) -> int:
    """The bits of a number in a narrow floating type, rounded once, to nearest even."""
    import numpy as np

    from tilegen.numpy_types import numpy_dtype

    with np.errstate(all="ignore"):
        return int.from_bytes(np.array(number, numpy_dtype(dtype)).tobytes(), "little")


def _value_of(bits: int, dtype: DType) -> float:
    """The number that these bits are."""
    import numpy as np

    from tilegen.numpy_types import numpy_dtype

    return float(np.frombuffer(bits.to_bytes(dtype.size, "little"), numpy_dtype(dtype))[0])


def includes(types: Iterable[CType]) -> tuple[str, ...]:
    """The headers that types need."""
    plain = {t.element if isinstance(t, VectorType) else t for t in types}
    return tuple(sorted(_INCLUDES[t] for t in plain if t in _INCLUDES))


def host_type(element: DType | Struct) -> str:
    """The type of an element in the C header; `void` where C has no name for it."""
    return "void" if isinstance(element, Struct) else _HOST.get(element.name, "void")
