"""tilegen: memory-movement kernels from index notation, emitted as CUDA C that a person can read.

    import tilegen
    k = tilegen.load("specs/transpose.tile")
    b = k(a)                                   # CuPy, torch, NumPy (simulated), any DLPack or __cuda_array_interface__
    k.schedule("padded")(a, out=b)

Importing this package imports nothing else: every name below is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilegen.api.errors import CallError
    from tilegen.api.files import File, load, loads
    from tilegen.api.kernel import Kernel
    from tilegen.lang.diagnostics import Diagnostic, SpecError
    from tilegen.run.errors import ArgumentError, ArgumentTypeError, LaunchError
    from tilegen.show import show
    from tilegen.toolchain.errors import CompileError, ToolchainMissing

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CallError",
    "CompileError",
    "Diagnostic",
    "File",
    "Kernel",
    "LaunchError",
    "SpecError",
    "ToolchainMissing",
    "__version__",
    "load",
    "loads",
    "show",
]

_MODULES = {
    "ArgumentError": "tilegen.run.errors",
    "ArgumentTypeError": "tilegen.run.errors",
    "CallError": "tilegen.api.errors",
    "CompileError": "tilegen.toolchain.errors",
    "Diagnostic": "tilegen.lang.diagnostics",
    "File": "tilegen.api.files",
    "Kernel": "tilegen.api.kernel",
    "LaunchError": "tilegen.run.errors",
    "SpecError": "tilegen.lang.diagnostics",
    "ToolchainMissing": "tilegen.toolchain.errors",
    "load": "tilegen.api.files",
    "loads": "tilegen.api.files",
    "show": "tilegen.show",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'tilegen' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
