"""`tilegen emit`: the `.cu` and `.h` of kernels, for other projects."""

from __future__ import annotations

from pathlib import Path

import click

from tilegen.api.selection import find_family
from tilegen.cli.arguments import (
    arch_option,
    define_option,
    integers,
    kernel_option,
    load_spec,
    load_spec_with,
    output_options,
    pairs,
    schedule_option,
    type_option,
)
from tilegen.cli.screen import Screen
from tilegen.emit import generate, requests, write
from tilegen.target import Target


@click.command("emit")
@click.argument("path", metavar="SPEC")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR",
    help="Folder for the files; - prints the .cu text instead.",
)
@kernel_option
@schedule_option
@type_option
@arch_option("sm_90")
@click.option("--at", "at", multiple=True, metavar="M=..,N=..", help="Sizes that `auto` fits its choice to.")
@define_option
@click.option("--all", "everything", is_flag=True, help="Every choice of types under every schedule.")
@output_options
def command(
    path: str,
    output: str,
    kernel: str | None,
    schedule: str | None,
    types: tuple[str, ...],
    arch: Target,
    at: tuple[str, ...],
    defines: tuple[str, ...],
    everything: bool,
    as_json: bool,
    no_color: bool,
) -> int:
    """Write NAME.cu and NAME.h for every kernel of SPEC, or for the one named.

    Each .cu compiles alone and has the kernel and a C launcher, NAME_launch, which the header declares. A choice of
    types other than the first is NAME_f16.cu, and so on; with --all a schedule other than the first is
    NAME_SCHEDULE.cu. The same spec gives the same bytes on every machine.
    """
    screen = Screen("emit", as_json=as_json, no_color=no_color)
    chosen_types = pairs(types, "--type")
    if everything and chosen_types:
        raise click.UsageError("--all stands for every choice of types; leave --type out")
    constants, sizes = integers(defines, "--define"), integers(at, "--at")
    spec = load_spec_with(path, constants, kernel) if constants else load_spec(path)
    families = (
        [find_family(spec, kernel)] if kernel is not None or len(spec.kernels) == 1 else list(spec.kernels)
    )
    wanted = requests(spec, families, schedule=schedule, types=chosen_types, everything=everything)
    emitted = generate(spec, wanted, arch, constants=constants, sizes=sizes)
    if output == "-":
        for one in emitted:
            screen.say(one.source.rstrip("\n"))
    else:
        for file in write(emitted, Path(output)):
            screen.say(f"{file.path}{' (unchanged)' if file.unchanged else ''}")
    screen.document(
        0,
        kernels=[
            {
                "kernel": one.kernel,
                "types": dict(one.types),
                "schedule": one.schedule,
                "directives": one.directives,
                "target": one.target,
                "source": None if output == "-" else str(Path(output) / f"{one.stem}.cu"),
                "header": None if output == "-" else str(Path(output) / f"{one.stem}.h"),
                "text": one.source if output == "-" else None,
            }
            for one in emitted
        ],
        diagnostics=[],
    )
    return 0
