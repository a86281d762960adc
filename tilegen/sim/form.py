"""The modifiers of a load, store or atomic, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from tilegen.sim import atomics
from tilegen.sim.alu import DTYPES
from tilegen.sim.faults import UnsupportedInstruction
from tilegen.sim.ptx import Instruction
from tilegen.sim.report import Access, Space

_SPACES = {
    "global": Space.GLOBAL,
    "shared": Space.SHARED,
    "shared_cta": Space.SHARED,
    "shared_cluster": Space.SHARED,
    "local": Space.LOCAL,
    "const": Space.CONST,
    "param": Space.PARAM,
    "param_entry": Space.PARAM,
    "param_func": Space.PARAM,
}
_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}
_IGNORED = {
    "weak", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified", "noftz",
}  # fmt: skip
_ATOMIC_OPERATIONS = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}


class Scope(IntEnum):
    """Whom an operation orders or meets; `sys` counts as `gpu`. 0 is the lane alone."""

    NONE = 0
    CTA = 1
    CLUSTER = 2
    GPU = 3


_SCOPES = {"cta": Scope.CTA, "cluster": Scope.CLUSTER, "gpu": Scope.GPU, "gl": Scope.GPU, "sys": Scope.GPU}
MEMORY_OPCODES = frozenset({"ld", "ldu", "st", "atom", "red"})


@dataclass(frozen=True, slots=True)
class Form:
    """`element` is the NumPy type, `vector` the elements per lane.

    `scope` is that within which the access is atomic: NONE for a plain one, GPU for a volatile one. `relaxed` says
    that it is more than volatile, `explicit` that a modifier makes it so. `releases` orders the accesses before it,
    `acquires` those after. `window` is true where an address may lie in another block of the cluster.
    """

    access: Access
    space: Space
    kind: str
    element: np.dtype[Any]
    vector: int
    scope: Scope
    relaxed: bool
    releases: bool
    acquires: bool
    window: bool
    explicit: bool
    operation: str = ""

    @property
    def bytes(self) -> int:
        """Bytes per lane."""
        return self.element.itemsize * self.vector


def parse_form(instruction: Instruction) -> Form:
    """The form of `ld`, `ldu`, `st`, `atom` or `red`; anything unknown is refused."""
    parts = instruction.parts
    access = {"ld": Access.LOAD, "ldu": Access.LOAD, "st": Access.STORE}.get(parts[0], Access.ATOMIC)
    space, vector, operation = Space.GENERIC, 1, ""
    kind = parts[-1]
    for part in parts[1:-1]:
        if part in _SPACES:
            space = _SPACES[part]
        elif part in ("v2", "v4", "v8"):
            vector = int(part[1])
        elif part in _STRONG or part in _SCOPES:
            continue
        elif access is Access.ATOMIC and part in _ATOMIC_OPERATIONS:
            operation = part
        elif part not in _IGNORED and not part.startswith(("L1_", "L2_")):
            raise refuse(instruction, f"modifier .{part}")
    if kind == "b128" and access is not Access.ATOMIC:
        raise refuse(instruction, "128-bit scalar")
    if kind not in DTYPES or kind == "pred":
        raise refuse(instruction, f"type {kind}")
    if access is Access.ATOMIC:
        try:
            atomics.combiner(operation, kind)
        except KeyError:
            raise refuse(instruction, "atomic operation") from None
    return Form(
        access,
        space,
        kind,
        DTYPES[kind],
        vector,
        scope_of(parts) if access is Access.ATOMIC or set(parts) & _STRONG else Scope.NONE,
        access is Access.ATOMIC or bool(set(parts) & _STRONG - {"volatile"}),
        "release" in parts or "acq_rel" in parts,
        "acquire" in parts or "acq_rel" in parts,
        "shared_cluster" in parts or space is Space.GENERIC,
        bool(set(parts) & _STRONG),
        operation,
    )


def scope_of(parts: tuple[str, ...]) -> Scope:
    """The scope among the modifiers; the device where there is none."""
    return next((_SCOPES[part] for part in parts if part in _SCOPES), Scope.GPU)


def refuse(instruction: Instruction, reason: str) -> UnsupportedInstruction:
    return UnsupportedInstruction(instruction.text, instruction.ptx_line, instruction.line, reason)
