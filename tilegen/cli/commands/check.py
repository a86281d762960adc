"""`tilegen check`: every problem of every spec named."""

from __future__ import annotations

import click

from tilegen.cli.arguments import find_specs, load_spec, output_options
from tilegen.cli.screen import Screen
from tilegen.lang.diagnostics import Diagnostic, Severity, SpecError, to_json
from tilegen.legal import schedule_problems
from tilegen.target import DEFAULT_TARGET, target


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@output_options
def command(paths: tuple[str, ...], as_json: bool, no_color: bool) -> int:
    """Check specs: syntax, names, types, bounds, layouts, schedules, tests. Nothing is generated.

    PATH is a .tile file, a folder of them, or - for standard input.
    """
    screen = Screen("check", as_json=as_json, no_color=no_color)
    found: list[Diagnostic] = []
    files: list[dict[str, object]] = []
    kernels = failed = 0
    for path in find_specs(paths):
        problems: tuple[Diagnostic, ...] = ()
        names: list[str] = []
        try:
            spec = load_spec(path)
            names = [family.name for family in spec.kernels]
            problems = schedule_problems(spec, target(DEFAULT_TARGET))
            failed += bool(problems)
        except SpecError as error:
            problems = error.diagnostics
            failed += 1
        kernels += len(names)
        found += problems
        files.append({"file": path, "kernels": names, "problems": len(problems)})
    screen.problems(found)
    errors = sum(d.severity is Severity.ERROR for d in found)
    code = 1 if errors else 0
    if code == 0:
        screen.say(f"{_count(len(files), 'file')}, {_count(kernels, 'kernel')}: no problems")
    else:
        screen.note(f"\n{_count(errors, 'error')} in {failed} of {_count(len(files), 'file')}")
    screen.document(code, files=files, diagnostics=[to_json(d) for d in found])
    return code


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
