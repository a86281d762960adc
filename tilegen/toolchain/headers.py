"""Where CUDA's device headers (cuda_fp16.h, cuda_bf16.h, cuda_fp8.h) are: NVRTC has none of its own."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

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


def included(source: str) -> tuple[str, ...]:
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


def identity(source: str, folders: tuple[Path, ...]) -> tuple[str, ...]:
    """Text that changes when the headers `source` includes do: for cache keys. Empty without includes.

    A CUDA header changes only with its package, so path, size and time of those named directly do.
    """
    parts: list[str] = []
    for header in included(source):
        for folder in folders:
            try:
                status = (folder / header).stat()
            except OSError:
                continue
            parts.append(f"{folder / header}:{status.st_size}:{status.st_mtime_ns}")
            break
    return tuple(parts)
