"""The command `tilegen`: arguments, output, exit codes. What the commands do is elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from tilegen.cli.bytecode import keep_bytecode

__all__ = ["main", "run"]


def main() -> NoReturn:
    """Entry point of the console script and of `python -m tilegen`."""
    keep_bytecode(__spec__)
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code: 0 fine, 1 input or test, 2 usage, 3 environment."""
    from tilegen.cli.app import execute

    return execute(list(arguments))
