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
from tilegen.errors import INSTALL, ToolchainMissing
from tilegen.toolchain import compiler, nvrtc
from tilegen.toolchain.cache import default_cache


class Status(Enum):
    OK = "ok"
    MISSING = "missing"
    """Needed to compile and simulate."""
    ABSENT = "absent"
    """Not there, and needed only for what `help` says."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing looked at. `help` says what to install or do; empty when the status is OK."""

    name: str
    status: Status
    detail: str
    help: str = ""


def examine() -> tuple[Examined, ...]:
    """Look at everything tilegen can use, in a fixed order. Raises nothing."""
    checks: tuple[tuple[str, Callable[[], Examined]], ...] = (
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


def _guarded(name: str, check: Callable[[], Examined]) -> Examined:
    try:
        return check()
    except ToolchainMissing as error:
        return Examined(name, Status.MISSING, error.fact, error.action)


def _python() -> Examined:
    return Examined("python", Status.OK, f"{platform.python_version()} ({sys.executable})")


def _package(name: str, action: str) -> Callable[[], Examined]:
    def check() -> Examined:
        try:
            module = importlib.import_module(name)
        except Exception as error:  # a broken installation raises anything
            return Examined(name, Status.MISSING, f"{type(error).__name__}: {error}", action)
        return Examined(name, Status.OK, str(getattr(module, "__version__", "installed")))

    return check


def _cupy() -> Examined:
    # Two CuPy packages in one environment overwrite each other's files.
    names = {distribution.metadata["Name"] for distribution in importlib.metadata.distributions()}
    several = sorted(name for name in names if name and name.startswith("cupy"))
    if len(several) > 1:
        action = f"pip uninstall {' '.join(several)}, then {INSTALL}"
        return Examined("cupy", Status.MISSING, f"several are installed: {', '.join(several)}", action)
    return _package("cupy", INSTALL)()


def _nvrtc() -> Examined:
    version = ".".join(map(str, nvrtc.nvrtc_version()))
    return Examined("nvrtc", Status.OK, f"{version}: {', '.join(nvrtc.supported_architectures())}")


def _headers() -> Examined:
    major = nvrtc.nvrtc_version()[0]
    found = nvrtc.include_paths(major)
    if found:
        return Examined("headers", Status.OK, str(found[0]))
    searched = ", ".join(map(str, nvrtc.searched_paths(major)))
    package = "nvidia-cuda-runtime" if major >= 13 else "nvidia-cuda-runtime-cu12"
    action = f"pip install '{package}=={major}.*': f16, bf16 and f8 kernels need cuda_fp16.h and its like"
    return Examined("headers", Status.MISSING, f"none found; searched {searched}", action)


def _gpu() -> Examined:
    capability = nvrtc.device_capability()
    if capability is None:
        action = "needed only to launch and to measure: a machine with an NVIDIA GPU and its driver"
        return Examined("gpu", Status.ABSENT, "no GPU or no driver; kernels are simulated", action)
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    name = properties["name"].decode()
    driver = cupy.cuda.runtime.driverGetVersion()
    detail = (
        f"{name}, sm_{capability[0]}{capability[1]}, driver for CUDA {driver // 1000}.{driver % 1000 // 10}"
    )
    return Examined("gpu", Status.OK, detail)


def _nvcc() -> Examined:
    path = shutil.which("nvcc")
    if path is None:
        return Examined(
            "nvcc", Status.ABSENT, "not on PATH", "needed only to build emitted launchers: a CUDA toolkit"
        )
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Examined(
            "nvcc", Status.ABSENT, f"{path} does not run: {error}", "install the CUDA toolkit anew"
        )
    release = next((line for line in done.stdout.splitlines() if "release" in line), "version unknown")
    return Examined("nvcc", Status.OK, f"{path}: {release.strip()}")


def _nvdisasm() -> Examined:
    path = compiler.nvdisasm_path()
    if path is None:
        return Examined(
            "nvdisasm", Status.ABSENT, "not found", "needed only to show SASS: pip install 'tilegen[sass]'"
        )
    return Examined("nvdisasm", Status.OK, str(path))


def _cache() -> Examined:
    state = default_cache().state()
    if state.problem is not None:
        action = (
            f"set {ENVIRONMENT} to a folder that can be written; without one everything is compiled each time"
        )
        return Examined("cache", Status.ABSENT, f"{state.directory}: {state.problem}", action)
    detail = f"{state.directory}: {state.entries} entries, {state.total_bytes / 2**20:.1f} MiB"
    return Examined("cache", Status.OK, detail)
