"""What all launches of a program share: where its addresses come from, which registers it reads, decoded arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from tilegen.sim.alu import Alu, without_negations
from tilegen.sim.decode import decode
from tilegen.sim.form import Form, parse_form
from tilegen.sim.program import Program
from tilegen.sim.provenance import Provenance
from tilegen.sim.ptx import Instruction, Negated, register_names
from tilegen.sim.spin import WaitLoop, wait_loops


@dataclass(frozen=True, slots=True)
class Stretch:
    """Straight code: `steps` instructions from a position, then at `end` a control instruction or the last of them."""

    steps: int
    end: int
    control: Instruction | None


@dataclass(eq=False)
class Prepared:
    """A program in executable order. `checked`: every instruction is known to bind."""

    program: Program
    provenance: Provenance
    checked: bool = False
    # Filled by the machine: the straight code that starts at a position.
    stretches: dict[int, Stretch] = field(default_factory=dict)
    _decoded: dict[int, Alu] = field(default_factory=dict)
    _forms: dict[int, Form] = field(default_factory=dict)

    @cached_property
    def read(self) -> frozenset[str]:
        """Registers that some instruction reads; an atomic whose result is in none of them is a reduction."""
        return registers_read(self.program.instructions)

    @cached_property
    def wait_loops(self) -> dict[int, WaitLoop]:
        """Loops that may wait for another thread, by the position of the branch that closes them."""
        return wait_loops(self.program, self.form)

    def decoded(self, pc: int) -> Alu:
        """What the arithmetic instruction at a position does; raises `UnsupportedInstruction`."""
        found = self._decoded.get(pc)
        if found is None:
            found = self._decoded[pc] = without_negations(decode(self.program.instructions[pc]))
        return found

    def form(self, pc: int) -> Form:
        """The form of the memory instruction at a position; raises `UnsupportedInstruction`."""
        found = self._forms.get(pc)
        if found is None:
            found = self._forms[pc] = parse_form(self.program.instructions[pc])
        return found


def registers_read(instructions: tuple[Instruction, ...]) -> frozenset[str]:
    """Registers that some instruction reads."""
    names: set[str] = set()
    for one in instructions:
        if one.guard is not None:
            names.add(one.guard.register.name if isinstance(one.guard, Negated) else one.guard.name)
        writes_first = one.parts[0] not in ("st", "red", "bra", "brx", "bar", "barrier")
        for position, operand in enumerate(one.operands):
            if position == 0 and writes_first:
                continue
            names.update(register_names(operand))
    return frozenset(names)
