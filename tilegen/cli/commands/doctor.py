"""`tilegen doctor`: what of the environment works, and what to install for the rest."""

from __future__ import annotations

import click

from tilegen.cli.arguments import output_options
from tilegen.cli.screen import Screen

_COLOURS = {"ok": "32", "missing": "31", "absent": "33"}


@click.command("doctor")
@output_options
def command(as_json: bool, no_color: bool) -> int:
    """Look at everything tilegen can use: packages, NVRTC, headers, GPU, nvcc, cache.

    Exit code 3 if something needed to compile and simulate is missing. A missing GPU is no fault.
    """
    from tilegen.toolchain.doctor import Status, examine

    screen = Screen("doctor", as_json=as_json, no_color=no_color)
    findings = examine()
    width = max(len(f.name) for f in findings)
    for finding in findings:
        status = finding.status.value
        shown = f"\x1b[{_COLOURS[status]}m{status:<7}\x1b[0m" if screen.colour() else f"{status:<7}"
        screen.say(f"{shown}  {finding.name:<{width}}  {finding.detail}")
        if finding.help:
            screen.say(f"{'':<7}  {'':<{width}}  {finding.help}")
    missing = [f for f in findings if f.status is Status.MISSING]
    code = 3 if missing else 0
    screen.say(
        "\nmissing: " + ", ".join(f.name for f in missing) if missing else "\neverything needed is there"
    )
    screen.document(
        code,
        findings=[
            {"name": f.name, "status": f.status.value, "detail": f.detail, "help": f.help} for f in findings
        ],
    )
    return code
