"""The group of commands, each loaded when it is called, and the exit code of whatever goes wrong."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any

import click

from tilegen import __version__
from tilegen.errors import ArgumentError, CallError, LaunchError, ToolchainMissing
from tilegen.lang.diagnostics import Diagnostic, SpecError, to_json

# Command -> what `--help` says of it. Its module in `cli/commands` has it as `command`.
_COMMANDS = {
    "check": "Find every problem of specs.",
    "emit": "Write kernels as CUDA C.",
    "verify": "Run the tests and expectations of specs.",
    "run": "Run a kernel.",
    "doctor": "Look at the environment.",
    "explain-code": "Explain the code of a problem.",
}
# Requests that name what the spec does not have or that cannot be written. What an input holds, or that it cannot be
# read, is no matter of usage.
_USAGE = ("TG0801", "TG0802", "TG0803", "TG0804", "TG0805", "TG0810", "TG0902", "TG0903")


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"tilegen.cli.commands.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from tilegen.api.selection import did_you_mean

            help = did_you_mean(args[0], _COMMANDS, "the commands")
            raise click.UsageError(f"there is no command '{args[0]}'; {help}", ctx) from error


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 fine, 1 bad input or a test failed, 2 wrong usage, 3 the environment lacks something.",
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def app() -> None:
    """Memory-movement kernels from index notation: readable CUDA C, verified without a GPU."""


def execute(arguments: list[str]) -> int:
    """Run one command line; everything that can go wrong ends here. Returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A message must not fail because the terminal cannot show a character of it.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app.main(args=arguments, prog_name="tilegen", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is still buffered must not be written at exit either.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        return _report(error, arguments)


def _report(error: Exception, arguments: list[str]) -> int:
    """Say what went wrong. Returns the exit code."""
    match error:
        case SpecError():
            usage = all(d.code in _USAGE for d in error.diagnostics)
            return _tell(list(error.diagnostics), 2 if usage else 1, arguments)
        case click.ClickException():
            return _usage(error, arguments)
        case ToolchainMissing():
            return _tell([Diagnostic("TG0901", error.fact, None, helps=(error.action,))], 3, arguments)
        case MemoryError():
            problem = Diagnostic("TG0906", "there is not enough memory", None, helps=("use smaller sizes",))
            return _tell([problem], 3, arguments)
        case CallError():
            problem = Diagnostic(error.code, error.message, None, error.notes, error.helps)
            return _tell([problem], 2 if error.code in _USAGE else 1, arguments)
        case ArgumentError() | LaunchError():
            problem = Diagnostic("TG0819", str(error), None, helps=("give other arrays or sizes",))
            return _tell([problem], 1, arguments)
        case _:
            return _internal(error, arguments)


def _tell(diagnostics: list[Diagnostic], code: int, arguments: list[str]) -> int:
    screen = _screen(arguments)
    screen.problems(diagnostics)
    screen.document(code, diagnostics=[to_json(d) for d in diagnostics])
    return code


def _usage(error: click.ClickException, arguments: list[str]) -> int:
    screen = _screen(arguments)
    if screen.as_json:
        problem = Diagnostic("TG0900", error.format_message(), None, helps=("see `tilegen --help`",))
        screen.document(2, diagnostics=[to_json(problem)])
        return 2
    error.show()
    return 2


def _internal(error: Exception, arguments: list[str]) -> int:
    """A mistake of tilegen's: say so, say how to report it, and show the traceback where it is asked for."""
    import platform
    import traceback

    if os.environ.get("TILEGEN_DEBUG"):
        traceback.print_exc()
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({os.path.basename(last[0].filename)}:{last[0].lineno})" if last else ""
    text = str(error).strip() or "no message"
    problem = Diagnostic(
        "TG0990",
        f"internal error of tilegen{where}: {type(error).__name__}: {text.splitlines()[0]}",
        None,
        notes=(
            *text.splitlines()[1:],
            f"tilegen {__version__}, Python {platform.python_version()}, {platform.platform()}",
        ),
        helps=(
            "report it with the spec and this message; TILEGEN_DEBUG=1 shows the traceback, which helps most",
        ),
    )
    return _tell([problem], 1, arguments)


def _screen(arguments: list[str]) -> Any:
    from tilegen.cli.screen import Screen

    command = next((a for a in arguments if a in _COMMANDS), "")
    return Screen(command, as_json="--json" in arguments, no_color="--no-color" in arguments)
