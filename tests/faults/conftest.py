"""Compiles kernels written by hand with the toolchain, ptxas included, and runs them on the simulator."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tilegen.sim import Fault, FaultKind, Launch, Memory, Report, load_module, simulate
from tilegen.target import target
from tilegen.toolchain import compile_source

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Ran:
    """One launch of a source: what it reported and left in its arrays `a0`, `a1`, …"""

    source: str
    report: Report
    memory: Memory

    def array(self, position: int, kind: Any) -> Array:
        return self.memory.read(f"a{position}").view(kind)

    @property
    def faults(self) -> dict[FaultKind, Fault]:
        return {fault.kind: fault for fault in self.report.faults}

    def said(self, kind: FaultKind, *lines: str) -> bool:
        """Whether a fault of the kind is at the lines that hold these texts (in any order, no others)."""
        wanted = {line_of(self.source, text) for text in lines}
        return any(
            fault.kind is kind and set(fault.lines or (fault.line,)) == wanted for fault in self.report.faults
        )


def line_of(source: str, text: str) -> int:
    found = [number for number, line in enumerate(source.split("\n"), 1) if text in line]
    assert len(found) == 1, (text, found)
    return found[0]


@pytest.fixture(scope="session")
def launch() -> Callable[..., Ran]:
    """Runs the one kernel of a source; arrays are copied in, `("out", bytes)` are allocated and hold nothing."""

    def execute(
        source: str, blocks: int, threads: int, *arguments: Any, shared: int = 0, **options: Any
    ) -> Ran:
        names = re.findall(
            r'extern "C" __global__ void.*?(\w+)\(', re.sub(r"__\w+__\(.*?\)", "", source), re.S
        )
        compiled = compile_source(source, target=target("sm_90"), entries=(names[0],))
        memory = Memory()
        values: list[Any] = []
        for position, one in enumerate(arguments):
            if isinstance(one, np.ndarray):
                values.append(memory.allocate(f"a{position}", one))
            elif isinstance(one, tuple):
                values.append(memory.allocate(f"a{position}", one[1], initialised=False))
            else:
                values.append(np.int32(one))
        module = load_module(compiled.ptx)
        shape = Launch((blocks, 1, 1), (threads, 1, 1), shared)
        return Ran(source, simulate(module, names[0], shape, values, memory, **options), memory)

    return execute
