"""`load_module` and `simulate`: from PTX text and arguments to memory contents, faults and counters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.context import Context
from tilegen.sim.faults import Fault, FaultKind, Index3, LaunchOver, RunawayLimit, SimulationError
from tilegen.sim.machine import Machine
from tilegen.sim.memory import GLOBAL_BASE, WINDOW_BITS, Memory
from tilegen.sim.parse import parse
from tilegen.sim.prepare import Prepared
from tilegen.sim.program import Program, build
from tilegen.sim.provenance import UNKNOWN, Provenance, trace
from tilegen.sim.ptx import PtxModule, Variable
from tilegen.sim.report import Report, total
from tilegen.sim.state import State, parameter_offsets

DEFAULT_LIMIT = 4_000_000_000
# Lanes per chunk: large enough to amortise a NumPy call, small enough that registers stay in the caches.
CHUNK_LANES = 1 << 15


@dataclass(frozen=True, slots=True)
class Launch:
    """`grid` and `block` are (x, y, z); `dynamic_shared` is in bytes."""

    grid: Index3
    block: Index3
    dynamic_shared: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """Parsed PTX; kernels are prepared when first simulated and kept."""

    ptx: PtxModule
    programs: dict[str, Prepared] = field(default_factory=dict)

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(name for name, one in self.ptx.functions.items() if one.is_entry)

    def program(self, entry: str) -> Prepared:
        """The kernel in executable order, and what its launches share."""
        if entry not in self.programs:
            program = build(self.ptx, entry)
            self.programs[entry] = Prepared(program, trace(program))
        return self.programs[entry]


@lru_cache(maxsize=64)
def load_module(ptx: str) -> Module:
    """Parses a module's PTX text; raises `SimulationError`."""
    return Module(parse(ptx))


def simulate(
    module: Module,
    entry: str,
    launch: Launch,
    arguments: Sequence[bytes | int | float | np.generic],
    memory: Memory,
    *,
    checks: bool = True,
    max_instructions: int | None = DEFAULT_LIMIT,
) -> Report:
    """Executes one launch; `memory` is changed in place.

    `arguments` are one per parameter: raw little-endian bytes, NumPy scalars, or Python numbers, which take the
    parameter's size. Raises `ValueError` for arguments or a launch that do not fit, `UnsupportedInstruction` for
    PTX outside the repertoire. `checks=False` skips races and reads of what was never written.
    `max_instructions` counts thread-instructions, a step of few threads as 256; at the limit the launch stops with
    a `RUNAWAY` fault.
    """
    prepared = module.program(entry)
    program, provenance = prepared.program, prepared.provenance
    _check_launch(launch, program)
    parameters = _pack(program, arguments)
    symbols, constants = _place_variables(module, memory)
    shared = program.static_shared
    if launch.dynamic_shared:
        shared = -(-shared // 16) * 16 + launch.dynamic_shared
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    padded = -(-threads // 32) * 32
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    # The blocks of a cluster run together.
    cluster = math.prod(program.cluster)
    chunk = min(blocks, max(1, CHUNK_LANES // padded // cluster) * cluster)
    state = State(
        program,
        launch.grid,
        launch.block,
        chunk,
        shared,
        parameters.tobytes(),
        symbols.__getitem__,
        program.cluster,
    )
    context = Context(
        state,
        memory,
        constants,
        parameters,
        provenance,
        _writable(program, provenance, memory, parameters, symbols),
        checks,
    )
    machine = Machine(context, prepared, DEFAULT_LIMIT if max_instructions is None else max_instructions)
    with np.errstate(all="ignore"):
        _check_program(prepared, symbols)
        try:
            for first in _chunk_starts(blocks, chunk, bool(prepared.wait_loops)):
                machine.run(first, min(chunk, blocks - first))
        except LaunchOver:
            pass
        except RunawayLimit:
            context.log.add(
                Fault(
                    FaultKind.RUNAWAY,
                    f"stopped after {machine.thread_instructions} thread-instructions",
                    None,
                )
            )
    context.finish()
    accesses = tuple(counts for pc in sorted(context.counted) for counts in context.counted[pc]())
    counters = total(accesses, machine.barriers.count, machine.warp_instructions, machine.thread_instructions)
    return Report(tuple(context.log), counters, accesses, machine.thread_instructions)


def _chunk_starts(blocks: int, chunk: int, waits: bool) -> list[int]:
    """The first block of each chunk, in the order in which they run.

    A GPU starts blocks in any order. Where a kernel may wait, the second chunk goes first: who waits for a lower block
    that has no ticket of it waits for ever, as who waits for a higher one does later.
    """
    starts = list(range(0, blocks, chunk))
    return [starts[1], starts[0], *starts[2:]] if waits and len(starts) > 1 else starts


def _check_program(prepared: Prepared, symbols: dict[str, int]) -> None:
    """Refuses a program with an instruction outside the repertoire, whether or not a launch reaches it."""
    if prepared.checked:
        return
    program = prepared.program
    nothing = np.zeros(0, dtype=np.uint8)
    state = State(program, (1, 1, 1), (32, 1, 1), 1, program.static_shared, b"", symbols.__getitem__)
    context = Context(state, Memory(), nothing, nothing, prepared.provenance, set(), False)
    Machine(context, prepared, 0).bind_all()
    prepared.checked = True


def _check_launch(launch: Launch, program: Program) -> None:
    limits = ((2**31 - 1, 65535, 65535), (1024, 1024, 64))
    for name, extents, most in zip(("grid", "block"), (launch.grid, launch.block), limits, strict=True):
        for axis, extent, limit in zip("xyz", extents, most, strict=True):
            if not 1 <= extent <= limit:
                raise ValueError(f"{name}.{axis} = {extent} is outside 1 … {limit}")
    for axis, extent, size in zip("xyz", launch.grid, program.cluster, strict=True):
        if extent % size:
            raise ValueError(f"grid.{axis} = {extent} is not a multiple of the {size} blocks of a cluster")
    if launch.block[0] * launch.block[1] * launch.block[2] > 1024:
        raise ValueError(f"block {launch.block} has more than 1024 threads")
    if launch.block[0] * launch.block[1] * launch.block[2] > program.max_threads:
        raise ValueError(
            f"`{program.name}` allows {program.max_threads} threads per block, not {launch.block}"
        )
    if launch.grid[0] * launch.grid[1] * launch.grid[2] * 1024 >= 1 << 32:
        raise ValueError(f"grid {launch.grid} is too large to simulate")


def _pack(program: Program, arguments: Sequence[bytes | int | float | np.generic]) -> npt.NDArray[np.uint8]:
    if len(arguments) != len(program.parameters):
        raise ValueError(
            f"`{program.name}` takes {len(program.parameters)} arguments, {len(arguments)} given"
        )
    offsets = parameter_offsets(program)
    end = max((offsets[one.name] + one.size for one in program.parameters), default=0)
    buffer = np.zeros(-(-end // 16) * 16 + 64, dtype=np.uint8)
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        raw = _raw(argument, parameter)
        if len(raw) != parameter.size:
            raise ValueError(
                f"argument for `{parameter.name}` has {len(raw)} bytes, the parameter has {parameter.size}"
            )
        start = offsets[parameter.name]
        buffer[start : start + parameter.size] = np.frombuffer(raw, dtype=np.uint8)
    return buffer


def _raw(argument: bytes | int | float | np.generic, parameter: Variable) -> bytes:
    if isinstance(argument, bytes | bytearray):
        return bytes(argument)
    if isinstance(argument, np.generic):
        return argument.tobytes()
    if isinstance(argument, int):
        return (argument & ((1 << (8 * parameter.size)) - 1)).to_bytes(parameter.size, "little")
    kinds: dict[int, type[np.floating[Any]]] = {2: np.float16, 4: np.float32, 8: np.float64}
    if parameter.size not in kinds:
        raise ValueError(
            f"argument for `{parameter.name}` is a float, the parameter has {parameter.size} bytes"
        )
    return kinds[parameter.size](argument).tobytes()


def _place_variables(module: Module, memory: Memory) -> tuple[dict[str, int], npt.NDArray[np.uint8]]:
    """Addresses of the module's `.global` variables (allocated in `memory` once) and its constant bank."""
    symbols: dict[str, int] = {}
    end = 0
    for variable in module.ptx.variables:
        if variable.space == "const":
            end = -(-end // variable.align) * variable.align
            symbols[variable.name] = end
            end += variable.size
        elif variable.space == "global":
            key = (module, variable.name)
            if key not in memory.variables:
                name = variable.name
                while any(one.name == name for one in memory.allocations):
                    name += "'"
                data = variable.data if variable.data is not None else bytes(variable.size)
                memory.variables[key] = memory.allocate(name, np.frombuffer(data, dtype=np.uint8))
            symbols[variable.name] = memory.variables[key]
    constants = np.zeros(-(-end // 16) * 16 + 64, dtype=np.uint8)
    for variable in module.ptx.variables:
        if variable.relocations:
            raise SimulationError(f"variable `{variable.name}` holds addresses, which is not supported")
        if variable.space == "const" and variable.data is not None:
            start = symbols[variable.name]
            constants[start : start + variable.size] = np.frombuffer(variable.data, dtype=np.uint8)
    return symbols, constants


def _writable(
    program: Program,
    provenance: Provenance,
    memory: Memory,
    parameters: npt.NDArray[np.uint8],
    symbols: dict[str, int],
) -> set[int]:
    """Positions of the allocations that the kernel's stores may reach."""
    every = set(range(len(memory.allocations)))
    names = provenance.stored
    if UNKNOWN in names:
        return every
    starts, ends = memory.limits()
    offsets = parameter_offsets(program)
    sizes = {one.name: one.size for one in program.parameters}
    addresses: list[int] = [symbols[name] for name in names if name in symbols]
    for name in names & set(offsets):
        start = offsets[name]
        for at in range(start, start + sizes[name] - 7, 8):
            word = int.from_bytes(parameters[at : at + 8].tobytes(), "little")
            if word >> WINDOW_BITS == GLOBAL_BASE >> WINDOW_BITS:
                addresses.append(word)
    found: set[int] = set()
    for address in addresses:
        inside = np.flatnonzero((starts <= address) & (address < ends))
        if len(inside) == 0:
            return every
        found.add(int(inside[0]))
    return found
