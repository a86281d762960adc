"""Verification with progress on a terminal, for the commands that verify."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from tilegen.cli.screen import Screen
from tilegen.lang.spec import Kernel, KernelFamily
from tilegen.target import Target

if TYPE_CHECKING:
    from tilegen.report import VerifyReports
    from tilegen.verify import CaseResult


def verify_families(
    screen: Screen,
    kernels: Sequence[tuple[KernelFamily, Kernel]],
    *,
    on: str,
    schedules: Sequence[str] | None,
    shapes: str,
    target: Target | None,
) -> VerifyReports:
    """Verify kernels one after another. Raises ToolchainMissing where there is no compiler, or no GPU for `gpu`."""
    from tilegen.report import with_metrics
    from tilegen.toolchain import default_target
    from tilegen.verify import verify_kernel

    if on == "gpu":
        from tilegen.run.launch import gpu

        gpu()
    machine = target or default_target()
    progress = _Progress(screen)
    reports = tuple(
        verify_kernel(
            family,
            kernel,
            schedules=schedules,
            where=cast(Literal["sim", "gpu"], on),
            target=machine,
            shapes=cast(Literal["spec", "all"], shapes),
            progress=progress.step,
        )
        for family, kernel in kernels
    )
    result = with_metrics(reports, {family.name: family for family, _ in kernels}, machine)
    progress.end()
    return result


class _Progress:
    """One line on a terminal that says which case was run last; nothing anywhere else."""

    def __init__(self, screen: Screen) -> None:
        self._shown = screen.progress
        self._done = 0

    def step(self, result: CaseResult) -> None:
        self._done += 1
        if self._shown:
            sys.stderr.write(f"\r\x1b[K{self._done} cases, {str(result.case)[:90]}")
            sys.stderr.flush()

    def end(self) -> None:
        if self._shown and self._done:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
