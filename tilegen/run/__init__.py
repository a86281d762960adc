"""The caller's arrays and kernels on a GPU. CuPy and torch are imported only for arrays of theirs and for launching."""

from tilegen.run.arrays import ArrayKind, ArrayView, empty, like, on_host, overlaps, view
from tilegen.run.config import LaunchConfig, check_config, launch_bounds
from tilegen.run.errors import ArgumentError, ArgumentTypeError, LaunchError
from tilegen.run.launch import Kernel, stream_of, wait_for

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "ArrayKind",
    "ArrayView",
    "Kernel",
    "LaunchConfig",
    "LaunchError",
    "check_config",
    "empty",
    "launch_bounds",
    "like",
    "on_host",
    "overlaps",
    "stream_of",
    "view",
    "wait_for",
]
