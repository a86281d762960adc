"""`tilegen explain-code`: the page of one code."""

from __future__ import annotations

import re

import click

from tilegen.cli.arguments import output_options
from tilegen.cli.screen import Screen
from tilegen.lang.codes import CODES, explain, find


@click.command("explain-code")
@click.argument("code", required=False, metavar="[CODE]")
@output_options
def command(code: str | None, as_json: bool, no_color: bool) -> int:
    """Say what a code such as TG0120 means, why the rule exists, and show an example. Without CODE: list all codes."""
    screen = Screen("explain-code", as_json=as_json, no_color=no_color)
    if code is None:
        for each in CODES:
            screen.say(f"{each.code}  {each.title}")
        screen.document(0, codes=[{"code": e.code, "title": e.title} for e in CODES])
        return 0
    entry = find(code)
    if entry is None:
        raise click.UsageError(f"there is no code `{code}`; {_near(code)}")
    screen.say(explain(entry.code).rstrip("\n"))
    screen.document(
        0, code=entry.code, title=entry.title, explanation=entry.explanation, example=entry.example
    )
    return 0


def _near(code: str) -> str:
    digits = re.sub(r"\D", "", code)
    group = f"TG{digits.zfill(4)[:2]}"
    there = [e.code for e in CODES if e.code.startswith(group)] if digits else []
    if there:
        return f"of its group there are {there[0]} to {there[-1]}"
    return "`tilegen explain-code` lists all"
