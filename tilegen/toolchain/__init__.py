"""Compile CUDA C through NVRTC, with a disk cache. CuPy is imported on first use, not before."""

from tilegen.errors import CompileError, ToolchainMissing
from tilegen.toolchain.cache import Cache, default_cache
from tilegen.toolchain.compiler import Compiled, CompileOptions, Resources, compile_source, sass
from tilegen.toolchain.nvrtc import default_target, nvrtc_version, supported_architectures

__all__ = [
    "Cache",
    "CompileError",
    "CompileOptions",
    "Compiled",
    "Resources",
    "ToolchainMissing",
    "compile_source",
    "default_cache",
    "default_target",
    "nvrtc_version",
    "sass",
    "supported_architectures",
]
