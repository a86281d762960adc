"""CUDA C in, PTX, cubin and SASS out, through NVRTC and a disk cache. One compilation gives PTX and cubin."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Literal

from tilegen.errors import CompileError, ToolchainMissing
from tilegen.target import Target
from tilegen.target import target as target_named
from tilegen.toolchain import nvrtc
from tilegen.toolchain.cache import Cache, default_cache

_TOO_MUCH_SHARED = re.compile(
    r"function '([^']+)' uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max"
)
# Part of every cache key: raise it when the meaning of what is stored changes.
_FORMAT = 1


class _Default(Enum):
    CACHE = "the user's cache"


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How to compile. Nothing that changes values is on unless asked for: no flush to zero, no fast maths."""

    lineinfo: bool = True
    max_registers: int | None = None
    """At most so many registers a thread, for the whole source; `__launch_bounds__` is the finer way."""
    fast_math: bool = False
    """`--use_fast_math`: subnormals become zero, division and square root are approximate."""
    defines: tuple[str, ...] = ()
    """`NAME` or `NAME=VALUE`."""
    extra: tuple[str, ...] = ()
    """Further NVRTC options, as written."""

    def flags(self) -> tuple[str, ...]:
        """NVRTC's options, the architecture and include folders aside."""
        return (
            "--std=c++14",
            "-default-device",
            *(("-lineinfo",) if self.lineinfo else ()),
            *((f"--maxrregcount={self.max_registers}",) if self.max_registers is not None else ()),
            *(("--use_fast_math",) if self.fast_math else ()),
            *(f"-D{define}" for define in self.defines),
            *self.extra,
        )


@dataclass(frozen=True, slots=True)
class Compiled:
    """The result of one compilation."""

    target: Target
    ptx: str
    cubin: bytes | None
    """None if not asked for."""
    entries: Mapping[str, str]
    """Name expression -> name in PTX and cubin, in the order asked for."""
    resources: Mapping[str, Resources]
    """Name in the cubin -> what it uses; empty without a cubin."""
    log: str
    """Warnings of NVRTC and the report of ptxas; the same for the same source."""
    cached: bool = field(default=False, compare=False)

    def resources_of(self, entry: str) -> Resources:
        """What the kernel of name expression `entry` uses."""
        return self.resources[self.entries[entry]]


def compile_source(
    source: str,
    *,
    target: Target,
    entries: tuple[str, ...],
    options: CompileOptions = CompileOptions(),
    name: str = "kernel.cu",
    spec: str | None = None,
    want_cubin: bool = True,
    cache: Cache | Literal[_Default.CACHE] | None = _Default.CACHE,
) -> Compiled:
    """Compile CUDA C for `target`.

    `entries` are C++ name expressions (`k`, `transpose<int>`, `tiles::transpose<long long>`); naming a
    template instantiates it. `name` is what line information and messages call the source, `spec` whom
    to name in an error. `cache=None` compiles anew.

    Raises ToolchainMissing (no NVRTC, an architecture it does not know, no CUDA headers) and
    CompileError (the code was refused).
    """
    store = default_cache() if cache is _Default.CACHE else cache
    nvrtc.require_supported(target)
    version = nvrtc.nvrtc_version()
    folders = nvrtc.include_paths(version[0]) if nvrtc.included_headers(source) else ()
    flags = (
        # A real architecture yields PTX for its virtual one and the cubin in one go.
        f"-arch={target.name if want_cubin else target.virtual}",
        *options.flags(),
        *(("--ptxas-options=-v",) if want_cubin else ()),
        *(f"-I{folder}" for folder in folders),
    )
    shown = _shown_name(name)
    key = _key(source, shown, flags, entries, version, nvrtc.header_identity(source, folders))
    payload = store.get(key) if store is not None else None
    hit = _decode(payload) if payload is not None else None
    if hit is not None:
        return hit
    # NVRTC puts the current folder before a relative name, which would make the PTX depend on it.
    program = nvrtc.compile_program(source, f"/{shown}", flags, entries, want_cubin)
    log = without_times(program.log).replace(f"/{shown}", shown)
    if not program.ok:
        raise _failure(source, shown, log, version, store or default_cache(), spec)
    compiled = Compiled(
        target=target,
        ptx=program.ptx.replace(f'"/{shown}"', f'"{shown}"'),
        cubin=program.cubin,
        entries=dict(program.lowered),
        resources=parse_resources(log),
        log=log,
    )
    if store is not None:
        store.put(key, _encode(compiled))
    return compiled


def _shown_name(name: str) -> str:
    """The last part of `name` in ASCII: PTX escapes other bytes, and ptxas has refused them (report P4)."""
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", Path(name).name) or "kernel.cu"


def _failure(
    source: str, name: str, log: str, version: tuple[int, int], store: Cache, spec: str | None
) -> ToolchainMissing | CompileError:
    header = nvrtc.missing_header(log)
    searched = ", ".join(map(str, nvrtc.searched_paths(version[0])))
    if header is not None and nvrtc.is_cuda_header(header):
        package = "nvidia-cuda-runtime" if version[0] >= 13 else "nvidia-cuda-runtime-cu12"
        return ToolchainMissing(
            f"CUDA header '{header}' is not found; searched {searched}",
            f"pip install '{package}=={version[0]}.*', or set CUDA_PATH to a CUDA {version[0]} toolkit",
        )
    fact = f"internal error: NVRTC does not compile '{name}'"
    if header is not None:
        fact = (
            f"header '{header}' is not found: NVRTC compiles device code only and has no header of the host's C or "
            f"C++ library; searched {searched}; refused '{name}'"
        )
    elif match := _TOO_MUCH_SHARED.search(log):
        fact = (
            f"internal error: kernel '{match[1]}' declares {int(match[2], 16)} bytes of static shared memory; "
            f"the limit is {int(match[3], 16)}, more must be dynamic; refused '{name}'"
        )
    return CompileError(fact, log=log, source_path=store.keep_source(name, source), spec=spec)


def _key(source: str, *rest: object) -> str:
    everything = [_FORMAT, _tilegen_version(), source, *rest]
    return hashlib.sha256(json.dumps(everything).encode()).hexdigest()


@functools.cache
def _tilegen_version() -> str:
    try:
        return importlib.metadata.version("tilegen")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _encode(compiled: Compiled) -> bytes:
    described = json.dumps(
        {
            "target": compiled.target.name,
            "ptx": compiled.ptx,
            "cubin": compiled.cubin is not None,
            "entries": list(compiled.entries.items()),
            "resources": [[name, to_json(used)] for name, used in compiled.resources.items()],
            "log": compiled.log,
        }
    ).encode()
    return struct.pack("<Q", len(described)) + described + (compiled.cubin or b"")


def _decode(payload: bytes) -> Compiled | None:
    """None for what another version of tilegen may have written under the same key."""
    try:
        (length,) = struct.unpack_from("<Q", payload)
        described = json.loads(payload[8 : 8 + length])
        return Compiled(
            target=target_named(described["target"]),
            ptx=described["ptx"],
            cubin=payload[8 + length :] if described["cubin"] else None,
            entries=dict(described["entries"]),
            resources={name: Resources(**used) for name, used in described["resources"]},
            log=described["log"],
            cached=True,
        )
    except (ValueError, KeyError, TypeError, struct.error):
        return None


# Resources: the log of `--ptxas-options=-v` ----------------------------------------------------------------------


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


# SASS -----------------------------------------------------------------------------------------------------------


def nvdisasm_path() -> Path | None:
    """nvdisasm from the wheel, a toolkit that CUDA_PATH names, or PATH; None where there is none."""
    folders = [
        root / part / "bin"
        for root in nvrtc.package_folders("nvidia")
        for part in ("cu13", "cuda_nvdisasm", "cu12")
    ]
    folders += [Path(os.environ[name]) / "bin" for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    for folder in folders:
        if os.access(folder / "nvdisasm", os.X_OK):
            return folder / "nvdisasm"
    found = shutil.which("nvdisasm")
    return Path(found) if found else None


def sass(cubin: bytes) -> str:
    """Disassemble `cubin`. Raises ToolchainMissing without nvdisasm, or with one too old for it."""
    tool = nvdisasm_path()
    if tool is None:
        raise ToolchainMissing("nvdisasm is not found", "pip install 'tilegen[sass]'")
    with tempfile.TemporaryDirectory(prefix="tilegen-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run([tool, "-c", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolchainMissing(
            f"{tool} cannot read the cubin: {done.stderr.strip()}",
            "pip install --upgrade nvidia-cuda-nvdisasm, at least as new as NVRTC",
        )
    return done.stdout
