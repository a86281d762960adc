"""PTX as data: operands, instructions, variables, functions, a module. Syntax only; no meaning.

Names that PTX scopes in nested braces are unique within a function here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual register, by its unique name within the function."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal: an integer, or the value of a `0f`/`0d`/decimal floating literal."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter, label or function, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`; base is a register, a symbol, or nothing (an absolute address)."""

    base: Register | Symbol | None
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, …}`, and argument lists of calls."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`a|b`: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Negated:
    """`!%p`."""

    register: Register


@dataclass(frozen=True, slots=True)
class Discard:
    """`_`."""


Operand = Register | Immediate | Symbol | Address | Vector | Pair | Negated | Discard


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `parts` is the opcode split at its dots."""

    parts: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | Negated | None
    ptx_line: int
    line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A `.global`, `.const`, `.shared`, `.local` or `.param` variable; `data` is None where not initialised.

    `size` is in bytes, 0 for an `extern` array whose size the launch gives. `relocations` are (byte, symbol).
    """

    space: str
    name: str
    size: int
    align: int
    data: bytes | None = None
    relocations: tuple[tuple[int, str], ...] = ()
    external: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A `.entry` or `.func`: parameters, return values, registers (name to type), local variables, body."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    registers: dict[str, str]
    variables: tuple[Variable, ...]
    body: tuple[Instruction | Label, ...]
    jump_tables: dict[str, tuple[str, ...]]
    max_threads: int
    # Blocks of a cluster along x, y and z, where the function says so.
    cluster: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class PtxModule:
    target: str
    functions: dict[str, Function]
    variables: tuple[Variable, ...]


def register_names(operand: Operand) -> set[str]:
    """Registers that an operand mentions."""
    match operand:
        case Register(name):
            return {name}
        case Address(base, _):
            return {base.name} if isinstance(base, Register) else set()
        case Vector(items):
            return set().union(*(register_names(item) for item in items)) if items else set()
        case Pair(first, second):
            return register_names(first) | register_names(second)
        case Negated(register):
            return {register.name}
        case Immediate() | Symbol() | Discard():
            return set()


_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


def type_size(name: str) -> int:
    """Bytes of a PTX scalar type such as `f32`, `b64`, `f16x2`; 1 for `pred`."""
    if name == "pred":
        return 1
    if name.endswith("x2"):
        return 4
    return _SIZES[re.sub(r"^[a-z]+", "", name)]
