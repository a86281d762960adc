"""Spec files named on a command line: files, folders of them, or `-` for standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from tilegen.lang import syntax
from tilegen.lang.check import check
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.parse import parse, read_source
from tilegen.lang.parse.reader import decode
from tilegen.lang.source import Source
from tilegen.lang.spec import Spec

STANDARD_INPUT = "-"


def find_specs(paths: Iterable[str]) -> tuple[str, ...]:
    """Every path once, in order; a folder stands for the `.tile` files below it.

    Raises SpecError TG0101 for a folder without any.
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
                problem = f"the folder {path} holds no .tile file"
                help = "name a .tile file, or a folder that has some"
                raise SpecError([Diagnostic("TG0101", problem, None, helps=(help,))])
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


def load_spec_with(path: str, constants: Mapping[str, int], kernel: str | None) -> Spec:
    """The spec at `path`, checked with other values for compile-time sizes of `kernel` (of all kernels that have them).

    Raises SpecError: what holds for the values written may not hold for others.
    """
    file = parse(read(path))
    check(file)  # problems of the spec as it is written come first
    kernels = tuple(
        _with_constants(k, constants) if kernel in (None, k.name.name) else k for k in file.kernels
    )
    try:
        return check(replace(file, kernels=kernels))
    except SpecError as error:
        given = ", ".join(f"{name} = {value}" for name, value in constants.items())
        note = f"with `--define {given.replace(' ', '')}`"
        raise SpecError([replace(d, notes=(*d.notes, note)) for d in error.diagnostics]) from None


def _with_constants(kernel: syntax.KernelDecl, constants: Mapping[str, int]) -> syntax.KernelDecl:
    parameters = tuple(
        replace(p, value=syntax.IntLiteral(constants[p.name.name], p.value.span))
        if isinstance(p, syntax.SizeDecl) and p.value is not None and constants.get(p.name.name, -1) >= 0
        else p
        for p in kernel.parameters
    )
    return replace(kernel, parameters=parameters)
