"""C names of element types, vectors and structs, and what has to be included for them."""

from __future__ import annotations

from tilegen.dtypes import DType, Kind, Struct

_STORAGE = {
    "bool": "unsigned char",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned",
    "u64": "unsigned long long",
    "f8e4m3": "unsigned char",
    "f8e5m2": "unsigned char",
    "f32": "float",
    "f64": "double",
    "c64": "float2",
    "c128": "double2",
}
_NARROW_FLOATS = {"f16": ("__half", "cuda_fp16.h"), "bf16": ("__nv_bfloat16", "cuda_bf16.h")}
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


class TypeNames:
    """C types of one kernel. `arithmetic`: narrow floats that are computed with, which need their header; those that
    only move are carried as the bits they are."""

    def __init__(self, arithmetic: frozenset[DType]) -> None:
        self._arithmetic = arithmetic
        self.includes: set[str] = set()

    def storage(self, dtype: DType) -> str:
        """What an element is in memory."""
        if dtype.name in _NARROW_FLOATS:
            name, header = _NARROW_FLOATS[dtype.name]
            if dtype not in self._arithmetic:
                return "unsigned short"
            self.includes.add(header)
            return name
        return _STORAGE[dtype.name]

    def value(self, dtype: DType) -> str:
        """What a value is in a register."""
        return "bool" if dtype.kind is Kind.BOOL else self.storage(dtype)


def host_type(element: DType | Struct) -> str:
    """The type of an element in the C header; `void` where C has no name for it."""
    return "void" if isinstance(element, Struct) else _HOST.get(element.name, "void")


def vector_name(dtype: DType, width: int, alignment: int) -> str:
    """Name of the struct of `width` lanes, told apart by alignment where that is less than the natural one."""
    natural = min(16, width * dtype.size)
    return f"{dtype.name}x{width}" + (f"_align{alignment}" if alignment != natural else "")
