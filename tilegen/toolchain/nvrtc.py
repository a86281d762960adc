"""The installed NVRTC, reached through CuPy, and CUDA's device headers, of which it has none (cuda_fp16.h …).

Works with no GPU and no driver; imports CuPy on first use.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilegen.errors import INSTALL, ToolchainMissing
from tilegen.target import DEFAULT_TARGET, Target, TargetError, target

_MARK = "cuda_fp16.h"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
# "could not open" and "cannot open" both occur, by the kind of include.
_MISSING = re.compile(r'(?:could not|cannot) open source file "([^"]+)"')


def searched_paths(nvrtc_major: int) -> tuple[Path, ...]:
    """Every folder that is looked in, present or not, best first: headers of NVRTC's own version before others."""
    folders: list[Path] = []
    for root in package_folders("nvidia"):
        wheel = (f"cu{nvrtc_major}",) if nvrtc_major >= 13 else ("cuda_runtime",)
        folders += [root / part / "include" for part in wheel]
    for root in package_folders("cupy"):
        # Older CuPy brings some headers of its own, one folder a version.
        folders += sorted(
            (root / "_core" / "include" / "cupy" / "_cuda").glob(f"cuda-{nvrtc_major}*"), reverse=True
        )
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            folders.append(Path(os.environ[variable]) / "include")
    folders.append(Path("/usr/local/cuda/include"))
    return tuple(dict.fromkeys(folders))


def include_paths(nvrtc_major: int) -> tuple[Path, ...]:
    """The folder to give to NVRTC: the first of `searched_paths` with headers in it, or none.

    One only, because headers of two CUDA versions include each other and do not mix.
    """
    for folder in searched_paths(nvrtc_major):
        if (folder / _MARK).is_file():
            return (folder,)
    return ()


def package_folders(name: str) -> tuple[Path, ...]:
    """Folders of an installed package, which is not imported; several for a namespace package."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ()
    return tuple(Path(place) for place in (spec.submodule_search_locations or ())) if spec else ()


def included_headers(source: str) -> tuple[str, ...]:
    """The headers `source` names, in order, those under `#if` as well."""
    return tuple(dict.fromkeys(_INCLUDE.findall(source)))


def missing_header(log: str) -> str | None:
    """The header that NVRTC could not open, by its log."""
    match = _MISSING.search(log)
    return match[1] if match else None


def is_cuda_header(name: str) -> bool:
    """Whether a CUDA package would bring `name`, as opposed to the host's C or C++ library."""
    return (
        re.match(r"(cuda|mma\.h|cooperative_groups|crt/|vector_|cu[A-Z]|nv/|math_constants)", name)
        is not None
    )


def header_identity(source: str, folders: tuple[Path, ...]) -> tuple[str, ...]:
    """Text that changes when the headers `source` includes do: for cache keys. Empty without includes.

    A CUDA header changes only with its package, so path, size and time of those named directly do.
    """
    parts: list[str] = []
    for header in included_headers(source):
        for folder in folders:
            try:
                status = (folder / header).stat()
            except OSError:
                continue
            parts.append(f"{folder / header}:{status.st_size}:{status.st_mtime_ns}")
            break
    return tuple(parts)


@functools.cache
def _nvrtc() -> Any:
    try:
        from cupy.cuda import nvrtc
    except ImportError as error:
        raise ToolchainMissing(
            f"CuPy, through which NVRTC is used, cannot be imported: {error}", INSTALL
        ) from error
    try:
        nvrtc.getVersion()
    except (RuntimeError, OSError) as error:
        raise ToolchainMissing(f"CuPy is installed, but NVRTC cannot be loaded: {error}", INSTALL) from error
    return nvrtc


def nvrtc_version() -> tuple[int, int]:
    """Version of the NVRTC in use, (13, 0). Raises ToolchainMissing."""
    major, minor = _nvrtc().getVersion()
    return int(major), int(minor)


@functools.cache
def supported_architectures() -> tuple[str, ...]:
    """The real architectures the installed NVRTC compiles for, `sm_75` first. Raises ToolchainMissing."""
    return tuple(f"sm_{number}" for number in sorted(_nvrtc().getSupportedArchs()))


def require_supported(wanted: Target) -> None:
    """Raise ToolchainMissing unless the installed NVRTC compiles for `wanted`."""
    supported = supported_architectures()
    base = f"sm_{wanted.major}{wanted.minor}"
    if base in supported:
        return
    listed = ", ".join(supported)
    version = ".".join(map(str, nvrtc_version()))
    below = [name for name in supported if _number(name) < _number(base)]
    if below:
        action = (
            f"choose {below[-1]}, whose PTX the driver compiles for newer devices, "
            "or install a newer nvidia-cuda-nvrtc"
        )
    else:
        action = "choose one of these, or install an NVRTC of CUDA 12, which compiles from sm_50 on: tilegen[cuda12]"
    raise ToolchainMissing(f"NVRTC {version} does not compile for {wanted}; it supports {listed}", action)


def default_target() -> Target:
    """The current GPU's architecture, or the highest below it that NVRTC and tilegen know.

    Without a GPU it is sm_90. Raises ToolchainMissing for a GPU older than NVRTC supports.
    """
    capability = device_capability()
    if capability is None:
        return target(DEFAULT_TARGET)
    name = f"sm_{capability[0]}{capability[1]}"
    for candidate in (name, *reversed(supported_architectures())):
        if _number(candidate) > _number(name) or candidate not in supported_architectures():
            continue
        try:
            return target(candidate)
        except TargetError:
            continue
    raise ToolchainMissing(
        f"the GPU is of {name}, older than the installed NVRTC supports", "pip install 'tilegen[cuda12]'"
    )


def device_capability() -> tuple[int, int] | None:
    """Compute capability of the current device; None where there is no CuPy, no driver or no GPU."""
    try:
        import cupy

        device = cupy.cuda.Device()
        number = str(device.compute_capability)
    except (
        ImportError,
        RuntimeError,
    ):  # CuPy's own errors, where driver or GPU are absent, are RuntimeErrors
        return None
    return int(number[:-1]), int(number[-1])


@dataclass(frozen=True, slots=True)
class NvrtcOutput:
    """What one run of NVRTC left. On failure only `log` is set."""

    ok: bool
    log: str
    ptx: str = ""
    cubin: bytes | None = None
    lowered: tuple[tuple[str, str], ...] = ()


def compile_program(
    source: str, name: str, flags: tuple[str, ...], entries: tuple[str, ...], want_cubin: bool
) -> NvrtcOutput:
    """Compile `source`; `entries` are C++ name expressions, which also instantiate the templates they name."""
    nvrtc = _nvrtc()
    program = nvrtc.createProgram(source, name, [], [])
    try:
        for entry in entries:
            nvrtc.addNameExpression(program, entry)
        try:
            nvrtc.compileProgram(program, list(flags))
        except nvrtc.NVRTCError:
            return NvrtcOutput(ok=False, log=_text(nvrtc.getProgramLog(program)))
        return NvrtcOutput(
            ok=True,
            log=_text(nvrtc.getProgramLog(program)),
            ptx=_text(nvrtc.getPTX(program)),
            cubin=whole_elf(nvrtc.getCUBIN(program)) if want_cubin else None,
            lowered=tuple((entry, _text(nvrtc.getLoweredName(program, entry))) for entry in entries),
        )
    finally:
        nvrtc.destroyProgram(program)


def whole_elf(cubin: bytes) -> bytes:
    """`cubin` with its last byte back, which CuPy (to 14.2 at least) cuts off as if it ended a C string.

    The drivers seem not to mind, nvdisasm refuses the file. The byte is the last of the header tables'
    alignment or entry size, 64-bit numbers far below 2**56: zero.
    """
    program_offset, section_offset = struct.unpack_from("<QQ", cubin, 32)
    program_size, programs, section_size, sections = struct.unpack_from("<HHHH", cubin, 54)
    need = max(program_offset + program_size * programs, section_offset + section_size * sections)
    return cubin + b"\0" if len(cubin) == need - 1 else cubin


def _text(value: str | bytes) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return text.replace("\0", "")


def _number(name: str) -> int:
    return int("".join(character for character in name if character.isdigit()))
