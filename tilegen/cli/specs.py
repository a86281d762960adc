"""Spec files named on a command line: files, folders of them, or `-` for standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from tilegen.check import check
from tilegen.parse import parse, read_source
from tilegen.parse.reader import decode
from tilegen.source import Source
from tilegen.spec import Spec

STANDARD_INPUT = "-"


def find_specs(paths: Iterable[str]) -> tuple[str, ...]:
    """Every path once, in order; a folder stands for the `.tile` files below it.

    Raises click.UsageError for a folder without any.
    """
    found: dict[str, str] = {}
    for path in paths:
        if path == STANDARD_INPUT or not os.path.isdir(path):
            files = [path]
        else:
            files = [
                str(p) for p in sorted(Path(path).rglob("*.tile")) if _is_visible(p, path) and p.is_file()
            ]
            if not files:
                raise click.UsageError(f"the folder {path} holds no .tile file")
        for file in files:
            found.setdefault(file if file == STANDARD_INPUT else os.path.realpath(file), file)
    return tuple(found.values())


def _is_visible(path: Path, root: str) -> bool:
    return not any(part.startswith(".") for part in path.relative_to(root).parts)


def read(path: str) -> Source:
    """The text of a spec. Raises SpecError."""
    return decode("<stdin>", sys.stdin.buffer.read()) if path == STANDARD_INPUT else read_source(path)


def load_spec(path: str) -> Spec:
    """The checked spec at `path`. Raises SpecError."""
    return check(parse(read(path)))
