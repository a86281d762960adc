"""x"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

import click

from tilegen.api.selection import find_family, find_schedule, matching_kernels
from tilegen.cli.arguments import arch_option, find_specs, load_spec, output_options, pairs, type_option
from tilegen.cli.screen import Screen
from tilegen.lang.diagnostics import Diagnostic, SpecError, to_json
from tilegen.lang.spec import Kernel, KernelFamily, Spec
from tilegen.target import Target

if TYPE_CHECKING:
    from tilegen.report.verification import VerifyReports
    from tilegen.verify import CaseResult


@click.command("verify")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--on", type=click.Choice(["sim", "gpu"]), default="sim", show_default=True, help="Where to run."
)
@click.option("-s", "--schedule", "schedules", multiple=True, metavar="NAME", help="Only these schedules.")
@click.option("-k", "--kernel", metavar="NAME", help="Only this kernel.")
@type_option
@click.option(
    "--shapes",
    type=click.Choice(["all", "spec"]),
    default="all",
    show_default=True,
    help="The awkward sizes, layouts and alignments too, or the spec's tests alone.",
)
@arch_option(None)
@output_options
def command(
    paths: tuple[str, ...],
    on: str,
    schedules: tuple[str, ...],
    kernel: str | None,
    types: tuple[str, ...],
    shapes: str,
    arch: Target | None,
    as_json: bool,
    no_color: bool,
) -> int:
    """Compare every schedule and type with the NumPy reference, and check what the spec expects of the memory system.

    PATH is a .tile file, a folder of them, or - for standard input. Columns: cases that passed, 32-byte sectors per
    warp-wide load and store, bank conflicts, registers per thread, occupancy. Exit code 1 if anything failed.
    """
    screen = Screen("verify", as_json=as_json, no_color=no_color)
    chosen = pairs(types, "--type")
    problems: list[Diagnostic] = []
    specs: list[tuple[str, Spec]] = []
    for path in find_specs(paths):
        try:
            specs.append((path, load_spec(path)))
        except SpecError as error:
            problems += error.diagnostics
    screen.problems(problems)
    code = 1 if problems else 0
    files = []
    for number, (path, spec) in enumerate(specs):
        families = _families(spec, kernel, schedules, only=len(specs) == 1)
        if not families:
            continue
        kernels = [(f, k) for f in families for k in matching_kernels(f, chosen)]
        result = verify_families(
            screen, kernels, on=on, schedules=schedules or None, shapes=shapes, target=arch
        )
        code = code or (0 if result.passed else 1)
        if len(specs) > 1:
            screen.say(f"{'' if number == 0 else chr(10)}{path}")
        screen.say(result.text(screen.colour()))
        files.append({"file": path, "passed": result.passed, "reports": result.to_json()})
    if specs and not files:
        raise click.UsageError(
            f"no file has a kernel `{kernel}`" if kernel else "no file has such a schedule"
        )
    screen.document(code, files=files, diagnostics=[to_json(d) for d in problems])
    return code


def _families(
    spec: Spec, kernel: str | None, schedules: tuple[str, ...], *, only: bool
) -> list[KernelFamily]:
    """Kernels of `spec` that have the names asked for; with one spec, a name that is missing is an error."""
    if only:
        families = [find_family(spec, kernel)] if kernel else list(spec.kernels)
        for family in families:
            for name in schedules:
                find_schedule(family, name)
        return families
    found = []
    for family in spec.kernels:
        known = {"auto", *(s.name for s in family.schedules)}
        named = {name.partition("[")[0] for name in schedules}
        if kernel in (None, family.name) and named <= known:
            found.append(family)
    return found


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
    from tilegen.report.verification import with_metrics
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
