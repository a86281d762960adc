"""`tilegen run`: one kernel on arrays from files; without any, on the spec's own tests."""

from __future__ import annotations

import click

from tilegen.api.selection import find_family, find_schedule, matching_kernels
from tilegen.cli.arguments import (
    arch_option,
    kernel_option,
    load_spec,
    output_options,
    pairs,
    schedule_option,
    type_option,
)
from tilegen.cli.commands.verify import verify_families
from tilegen.cli.screen import Screen
from tilegen.lang.spec import Spec
from tilegen.target import Target


@click.command("run")
@click.argument("path", metavar="SPEC")
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="a=a.npy", help="An input, as numpy.save writes it."
)
@click.option("-o", "--output", "outputs", multiple=True, metavar="b=b.npy", help="Where to write an output.")
@click.option(
    "--set", "values", multiple=True, metavar="N=..,eps=..", help="Sizes and scalars that no array gives."
)
@kernel_option
@schedule_option
@type_option
@click.option(
    "--on", type=click.Choice(["sim", "gpu"]), default="sim", show_default=True, help="Where to run."
)
@arch_option(None)
@output_options
def command(
    path: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    values: tuple[str, ...],
    kernel: str | None,
    schedule: str | None,
    types: tuple[str, ...],
    on: str,
    arch: Target | None,
    as_json: bool,
    no_color: bool,
) -> int:
    """Check a spec, generate its kernel, compile and execute it.

    Without --input, --output and --set: on the tests of the spec, for every schedule and type, and show what each
    does to memory. With them: on the arrays given; the result is compared with the NumPy reference and written. A
    field of a struct tensor may be a file of its own: --input p.x=x.npy.
    """
    screen = Screen("run", as_json=as_json, no_color=no_color)
    chosen = pairs(types, "--type")
    spec = load_spec(path)
    if inputs or outputs or values:
        from tilegen.cli.running import run_on_files

        family = find_family(spec, kernel)
        return run_on_files(
            screen,
            family,
            inputs=pairs(inputs, "--input", split=False),
            outputs=pairs(outputs, "--output", split=False),
            values=pairs(values, "--set"),
            schedule=find_schedule(family, schedule),
            types=chosen,
            on=on,
            target=arch,
        )
    return _run_tests(screen, spec, kernel, schedule, chosen, on, arch)


def _run_tests(
    screen: Screen,
    spec: Spec,
    kernel: str | None,
    schedule: str | None,
    types: dict[str, str],
    on: str,
    target: Target | None,
) -> int:
    families = [find_family(spec, kernel)] if kernel else list(spec.kernels)
    code, reports = 0, []
    for number, family in enumerate(families):
        if schedule is not None:
            find_schedule(family, schedule)
        result = verify_families(
            screen,
            [(family, k) for k in matching_kernels(family, types)],
            on=on,
            schedules=None if schedule is None else [schedule],
            # A spec without tests is tried on the usual awkward shapes.
            shapes="spec" if family.tests else "all",
            target=target,
        )
        code = code or (0 if result.passed else 1)
        if number:
            screen.say("")
        screen.say(result.text(screen.colour()))
        reports += result.to_json()
    screen.document(code, file=spec.source.name, reports=reports, diagnostics=[])
    return code
