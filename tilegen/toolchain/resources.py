"""What ptxas says a kernel uses, read from the log of `--ptxas-options=-v`."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Resources:
    """Per thread: registers (32 bits each), spills and stack in bytes. Per block: static shared bytes, barriers."""

    registers: int
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    stack_bytes: int = 0
    static_shared_bytes: int = 0
    constant_bytes: int = 0
    barriers: int = 0


_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '[^']+'")
_PROPERTIES = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
# Older ptxas prints "12+4 bytes smem": what the program declares and what the system adds.
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_CONSTANT = re.compile(r"(\d+)(?:\+\d+)? bytes cmem\[\d+\]")
_TIME = re.compile(r"^ptxas info\s*: Compile time = .*\n?", re.MULTILINE)


def parse_resources(log: str) -> dict[str, Resources]:
    """Resources by lowered kernel name, in the order of the log; kernels with no "Used" line are left out."""
    found: dict[str, Resources] = {}
    entry = function = ""
    stack = (0, 0, 0)
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            entry, stack = match[1], (0, 0, 0)
        elif match := _PROPERTIES.search(line):
            function = match[1]
        elif match := _STACK.search(line):
            # A function that was not inlined has such a line of its own.
            if function in (entry, ""):
                stack = (int(match[1]), int(match[2]), int(match[3]))
        elif entry and (match := _REGISTERS.search(line)):
            found[entry] = Resources(
                registers=int(match[1]),
                stack_bytes=stack[0],
                spill_store_bytes=stack[1],
                spill_load_bytes=stack[2],
                static_shared_bytes=_first(_SHARED, line),
                constant_bytes=sum(int(size) for size in _CONSTANT.findall(line)),
                barriers=_first(_BARRIERS, line),
            )
            entry = ""
    return found


def without_times(log: str) -> str:
    """`log` without ptxas's compile times, so that the same source gives the same log."""
    return _TIME.sub("", log).strip()


def to_json(resources: Resources) -> dict[str, int]:
    return {field.name: getattr(resources, field.name) for field in fields(resources)}


def _first(pattern: re.Pattern[str], line: str) -> int:
    match = pattern.search(line)
    return int(match[1]) if match else 0
