"""Options that several commands share, and the forms of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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
