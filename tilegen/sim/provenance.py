"""Which parameters and variables an address may come from, by a flow-insensitive look at the registers.

Reads of memory that no store can reach need not be remembered for race detection, which most inputs are. An
address that comes from one shared variable must stay within it, though the next variable follows at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilegen.sim.form import MEMORY_OPCODES, parse_form
from tilegen.sim.program import Program
from tilegen.sim.ptx import Address, Instruction, Operand, Pair, Register, Symbol, Vector, register_names
from tilegen.sim.report import Access, Space

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Provenance:
    """`stored` names the parameters and variables whose value may be part of a global store's address, and
    `UNKNOWN` where an address is loaded from memory. `shared` gives, by position, the one shared variable that
    an instruction's address comes from. `granules` are log2 of the smallest access to shared and global memory.
    """

    stored: frozenset[str]
    shared: dict[int, str]
    granules: tuple[int, int]


def trace(program: Program) -> Provenance:
    """Follows symbols and parameters through the registers until nothing changes."""
    origins: dict[str, set[str]] = {}
    changed = True
    while changed:
        changed = False
        for one in program.instructions:
            for name, found in _flow(one, origins, program):
                known = origins.setdefault(name, set())
                if not found <= known:
                    known |= found
                    changed = True
    return Provenance(_stored(program, origins), _shared(program, origins), _granules(program))


def _shared(program: Program, origins: dict[str, set[str]]) -> dict[int, str]:
    found: dict[int, str] = {}
    for pc, one in enumerate(program.instructions):
        if one.parts[0] not in MEMORY_OPCODES or "shared" not in one.parts:
            continue
        for operand in one.operands:
            if isinstance(operand, Address):
                names = _origins(operand, origins)
                shared = names & set(program.shared)
                if len(shared) == 1 and UNKNOWN not in names:
                    found[pc] = next(iter(shared))
    return found


def _stored(program: Program, origins: dict[str, set[str]]) -> frozenset[str]:
    result: set[str] = set()
    for one in program.instructions:
        if one.parts[0] not in MEMORY_OPCODES:
            continue
        form = parse_form(one)
        if form.access is Access.LOAD or form.space not in (Space.GLOBAL, Space.GENERIC):
            continue
        for operand in one.operands:
            if isinstance(operand, Address):
                result |= _origins(operand, origins)
    return frozenset(result)


def _granules(program: Program) -> tuple[int, int]:
    """16 bytes at most, so that a wider access is several granules."""
    sizes = {Space.SHARED: 16, Space.GLOBAL: 16}
    for one in program.instructions:
        if one.parts[0] in MEMORY_OPCODES:
            form = parse_form(one)
            for space in sizes:
                if form.space in (space, Space.GENERIC):
                    sizes[space] = min(sizes[space], form.bytes)
    return sizes[Space.SHARED].bit_length() - 1, sizes[Space.GLOBAL].bit_length() - 1


def _flow(one: Instruction, origins: dict[str, set[str]], program: Program) -> list[tuple[str, set[str]]]:
    if not one.operands or one.parts[0] in ("st", "red"):
        if one.parts[:2] == ("st", "param") and isinstance(one.operands[0], Address):
            base = one.operands[0].base
            if isinstance(base, Symbol):
                return [(base.name, _origins(one.operands[1], origins))]
        return []
    targets = _targets(one.operands[0])
    found: set[str] = set()
    if one.parts[0] in ("ld", "ldu", "atom"):
        address = one.operands[1]
        is_parameter = (
            "param" in one.parts and isinstance(address, Address) and isinstance(address.base, Symbol)
        )
        if is_parameter:
            assert isinstance(address, Address) and isinstance(address.base, Symbol)
            name = address.base.name
            found = set(origins.get(name, ())) if name in program.call_parameters else {name}
        elif "u64" in one.parts or "b64" in one.parts or "s64" in one.parts:
            found = {UNKNOWN}
    else:
        for operand in one.operands[1:]:
            found |= _origins(operand, origins)
    return [(name, found) for name in targets]


def _origins(operand: Operand, origins: dict[str, set[str]]) -> set[str]:
    if isinstance(operand, Symbol):
        return {operand.name}
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        return {operand.base.name}
    if isinstance(operand, Vector):
        return set().union(*(_origins(item, origins) for item in operand.items)) if operand.items else set()
    found: set[str] = set()
    for name in register_names(operand):
        found |= origins.get(name, set())
    return found


def _targets(operand: Operand) -> list[str]:
    match operand:
        case Register(name):
            return [name]
        case Vector(items):
            return [name for item in items for name in _targets(item)]
        case Pair(first, second):
            return _targets(first) + _targets(second)
        case _:
            return []
