"""The Jinja environment of `templates/`, and the macros of a file."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from tilegen.cache_folder import cache_folder


def _inside(text: str) -> str:
    """The lines indented by four columns."""
    return "".join(f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True))


@cache
def environment() -> jinja2.Environment:
    """The one environment: an undefined name or an impossible branch fails."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("tilegen", "templates"),
        bytecode_cache=_bytecode_cache(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters["inside"] = _inside
    return made


@cache
def macros(file: str) -> Any:
    """The macros of a template file, as attributes."""
    return environment().get_template(file).module


def _bytecode_cache() -> jinja2.BytecodeCache | None:
    """Compiled templates in the user's cache: compiling them is most of the time of `tilegen emit`."""
    folder = cache_folder() / "templates"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _OptionalCache(str(folder))
    except OSError:
        return None


class _OptionalCache(jinja2.FileSystemBytecodeCache):
    """A cache that may fail to be written (a full disk, a read-only home) without anything else failing."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)
