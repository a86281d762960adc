"""What a caller can do wrong with the arguments of a kernel, and what a launch can be refused for."""

from __future__ import annotations


class ArgumentError(ValueError):
    """An argument has the wrong shape, strides, device or access; the message names it."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is no array, or one of elements the kernel does not take."""


class LaunchError(RuntimeError):
    """A launch configuration outside the target's limits, or one that the driver refused."""
