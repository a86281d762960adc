"""What a command line says: options that several commands share, the forms of their values, and the specs it names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from tilegen.lang import syntax
from tilegen.lang.check import check
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.parse import parse, read_source
from tilegen.lang.parse.reader import decode
from tilegen.lang.source import Source
from tilegen.lang.spec import Spec
from tilegen.target import Target, TargetError
from tilegen.target import target as target_named

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
no_color_option = click.option(
    "--no-color", is_flag=True, help="No colour on a terminal either (as with NO_COLOR)."
)
kernel_option = click.option("-k", "--kernel", metavar="NAME", help="The kernel, where the file has several.")
schedule_option = click.option(
    "-s", "--schedule", metavar="NAME", help="A schedule of the kernel, or `auto`. [default: the first]"
)
type_option = click.option(
    "-t", "--type", "types", multiple=True, metavar="T=f16", help="Choice for a type parameter."
)
define_option = click.option(
    "--define", "defines", multiple=True, metavar="K=64", help="Another value for a compile-time size."
)


def output_options(function: F) -> F:
    return json_option(no_color_option(function))


class TargetType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4 only
    name = "arch"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Target:
        if isinstance(value, Target):
            return value
        try:
            return target_named(value)
        except TargetError as error:
            self.fail(str(error), param, ctx)


def arch_option(default: str | None) -> Callable[[F], F]:
    return click.option(
        "--arch",
        type=TargetType(),
        default=default,
        show_default=default is not None,
        metavar="sm_90",
        help="GPU architecture."
        + ("" if default else " [default: that of the GPU here, else what NVRTC knows best]"),
    )


def pairs(values: tuple[str, ...], option: str, *, split: bool = True) -> dict[str, str]:
    """`M=1,N=2` and repeated options as a mapping; without `split` a comma is part of the value.

    Raises click.BadParameter.
    """
    found: dict[str, str] = {}
    for text in values:
        for part in filter(None, (p.strip() for p in (text.split(",") if split else [text]))):
            name, equals, value = (p.strip() for p in part.partition("="))
            if not (name and equals and value):
                raise click.BadParameter(f"'{part}' is not of the form NAME=VALUE", param_hint=f"'{option}'")
            if found.setdefault(name, value) != value:
                raise click.BadParameter(
                    f"`{name}` is given twice: {found[name]} and {value}", param_hint=f"'{option}'"
                )
    return found


def integers(values: tuple[str, ...], option: str) -> dict[str, int]:
    """As `pairs`, with integers for values (`4096`, `1_000`, `0x10`)."""
    found = {}
    for name, value in pairs(values, option).items():
        try:
            found[name] = int(value, 0)
        except ValueError:
            raise click.BadParameter(
                f"`{name}` is a size, and '{value}' is not an integer", param_hint=f"'{option}'"
            ) from None
    return found


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
