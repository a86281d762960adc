"""From a PTX instruction without memory or control effects to a function of arrays.

What is not known is refused with `UnsupportedInstruction`; modifiers are checked too.
"""

from __future__ import annotations

from tilegen.sim import decode_arithmetic, decode_bits, decode_compare, decode_convert
from tilegen.sim.alu import Alu, Unknown
from tilegen.sim.faults import UnsupportedInstruction
from tilegen.sim.ptx import Instruction

_HANDLERS = {
    **decode_arithmetic.HANDLERS,
    **decode_bits.HANDLERS,
    **decode_compare.HANDLERS,
    **decode_convert.HANDLERS,
}


def decode(instruction: Instruction) -> Alu:
    """The meaning of an arithmetic, logic, comparison, conversion or move instruction."""
    handler = _HANDLERS.get(instruction.parts[0])
    if handler is None:
        raise UnsupportedInstruction(instruction.text, instruction.ptx_line, instruction.line)
    try:
        return handler(instruction.parts, instruction.operands)
    except (Unknown, KeyError, IndexError) as error:
        reason = str(error) if isinstance(error, Unknown) else ""
        raise UnsupportedInstruction(
            instruction.text, instruction.ptx_line, instruction.line, reason
        ) from error
