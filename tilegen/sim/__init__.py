"""The simulator: executes PTX thread by thread on the CPU and reports values, faults and counters."""

from __future__ import annotations

from tilegen.sim.faults import Fault, FaultKind, SimulationError, Thread, UnsupportedInstruction
from tilegen.sim.memory import Memory
from tilegen.sim.report import Access, AccessCounters, Counters, Report, Space
from tilegen.sim.simulate import Launch, Module, load_module, simulate

__all__ = [
    "Access",
    "AccessCounters",
    "Counters",
    "Fault",
    "FaultKind",
    "Launch",
    "Memory",
    "Module",
    "Report",
    "SimulationError",
    "Space",
    "Thread",
    "UnsupportedInstruction",
    "load_module",
    "simulate",
]
