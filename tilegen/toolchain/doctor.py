"""What of the environment works, and what to install for the rest. Finds out; another module prints."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tilegen.cache_folder import ENVIRONMENT
from tilegen.toolchain import disassembly, headers, nvrtc
from tilegen.toolchain.cache import default_cache
from tilegen.toolchain.errors import INSTALL, ToolchainMissing


class Status(Enum):
    OK = "ok"
    MISSING = "missing"
    """Needed to compile and simulate."""
    ABSENT = "absent"
    """Not there, and needed only for what `help` says."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `help` says what to install or do; empty when the status is OK."""

    name: str
    status: Status
    detail: str
    help: str = ""


def examine() -> tuple[Finding, ...]:
    """Look at everything tilegen can use, in a fixed order. Raises nothing."""
    checks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("python", _python),
        *((name, _package(name, "pip install tilegen")) for name in ("numpy", "ml_dtypes", "lark", "jinja2")),
        ("cupy", _cupy),
        ("nvrtc", _nvrtc),
        ("headers", _headers),
        ("gpu", _gpu),
        ("nvcc", _nvcc),
        ("nvdisasm", _nvdisasm),
        ("cache", _cache),
    )
    return tuple(_guarded(name, check) for name, check in checks)


def _guarded(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except ToolchainMissing as error:
        return Finding(name, Status.MISSING, error.fact, error.action)


def _python() -> Finding:
    return Finding("python", Status.OK, f"{platform.python_version()} ({sys.executable})")


def _package(name: str, action: str) -> Callable[[], Finding]:
    def check() -> Finding:
        try:
            module = importlib.import_module(name)
        except Exception as error:  # a broken installation raises anything
            return Finding(name, Status.MISSING, f"{type(error).__name__}: {error}", action)
        return Finding(name, Status.OK, str(getattr(module, "__version__", "installed")))

    return check


def _cupy() -> Finding:
    # Two CuPy packages in one environment overwrite each other's files.
    names = {distribution.metadata["Name"] for distribution in importlib.metadata.distributions()}
    several = sorted(name for name in names if name and name.startswith("cupy"))
    if len(several) > 1:
        action = f"pip uninstall {' '.join(several)}, then {INSTALL}"
        return Finding("cupy", Status.MISSING, f"several are installed: {', '.join(several)}", action)
    return _package("cupy", INSTALL)()


def _nvrtc() -> Finding:
    version = ".".join(map(str, nvrtc.nvrtc_version()))
    return Finding("nvrtc", Status.OK, f"{version}: {', '.join(nvrtc.supported_architectures())}")


def _headers() -> Finding:
    major = nvrtc.nvrtc_version()[0]
    found = headers.include_paths(major)
    if found:
        return Finding("headers", Status.OK, str(found[0]))
    searched = ", ".join(map(str, headers.searched_paths(major)))
    package = "nvidia-cuda-runtime" if major >= 13 else "nvidia-cuda-runtime-cu12"
    action = f"pip install '{package}=={major}.*': f16, bf16 and f8 kernels need cuda_fp16.h and its like"
    return Finding("headers", Status.MISSING, f"none found; searched {searched}", action)


def _gpu() -> Finding:
    capability = nvrtc.device_capability()
    if capability is None:
        action = "needed only to launch and to measure: a machine with an NVIDIA GPU and its driver"
        return Finding("gpu", Status.ABSENT, "no GPU or no driver; kernels are simulated", action)
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    name = properties["name"].decode()
    driver = cupy.cuda.runtime.driverGetVersion()
    detail = (
        f"{name}, sm_{capability[0]}{capability[1]}, driver for CUDA {driver // 1000}.{driver % 1000 // 10}"
    )
    return Finding("gpu", Status.OK, detail)


def _nvcc() -> Finding:
    path = shutil.which("nvcc")
    if path is None:
        return Finding(
            "nvcc", Status.ABSENT, "not on PATH", "needed only to build emitted launchers: a CUDA toolkit"
        )
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(
            "nvcc", Status.ABSENT, f"{path} does not run: {error}", "install the CUDA toolkit anew"
        )
    release = next((line for line in done.stdout.splitlines() if "release" in line), "version unknown")
    return Finding("nvcc", Status.OK, f"{path}: {release.strip()}")


def _nvdisasm() -> Finding:
    path = disassembly.nvdisasm_path()
    if path is None:
        return Finding(
            "nvdisasm", Status.ABSENT, "not found", "needed only to show SASS: pip install 'tilegen[sass]'"
        )
    return Finding("nvdisasm", Status.OK, str(path))


def _cache() -> Finding:
    state = default_cache().state()
    if state.problem is not None:
        action = (
            f"set {ENVIRONMENT} to a folder that can be written; without one everything is compiled each time"
        )
        return Finding("cache", Status.ABSENT, f"{state.directory}: {state.problem}", action)
    detail = f"{state.directory}: {state.entries} entries, {state.total_bytes / 2**20:.1f} MiB"
    return Finding("cache", Status.OK, detail)
