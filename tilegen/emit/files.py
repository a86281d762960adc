"""Emitted text on disk: whole files or none, only inside the folder asked for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tilegen.api.selection import problem
from tilegen.emit.generate import Emitted
from tilegen.emit.provenance import MARK


@dataclass(frozen=True, slots=True)
class Written:
    """`unchanged`: the file had these bytes already and was left alone, so that no build starts again for it."""

    path: Path
    unchanged: bool


def write(emitted: Iterable[Emitted], directory: Path) -> tuple[Written, ...]:
    """Write `stem`.cu and `stem`.h of each into `directory`, which is made where it does not exist.

    A file that tilegen did not write is never replaced. Raises SpecError TG0902, TG0903; then nothing was written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise problem(
            "TG0902",
            f"cannot make the folder {directory}: {error.strerror or error}",
            "give another folder with `-o`",
        ) from error
    files: list[tuple[Path, bytes]] = []
    for one in emitted:
        for suffix, text in ((".cu", one.source), (".h", one.header)):
            files.append((directory / f"{one.stem}{suffix}", text.encode("ascii", "backslashreplace")))
    _require_own([path for path, _ in files])
    result = [Written(path, _content(path) == content) for path, content in files]
    _replace([pair for pair, one in zip(files, result, strict=True) if not one.unchanged])
    return tuple(result)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _require_own(paths: Iterable[Path]) -> None:
    for path in paths:
        if not os.path.lexists(path):
            continue
        first = (_content(path) or b"").partition(b"\n")[0]
        if MARK.encode() not in first:
            raise problem(
                "TG0903",
                f"{path} exists, and tilegen did not write it",
                "move it away, or give another folder with `-o`",
            )


def _replace(files: list[tuple[Path, bytes]]) -> None:
    temporary = {path: path.with_name(f".{path.name}.{os.getpid()}") for path, _ in files}
    try:
        for path, content in files:
            with open(temporary[path], "xb") as file:
                file.write(content)
        for path, _ in files:
            os.replace(temporary[path], path)
    except OSError as error:
        raise problem(
            "TG0902",
            f"cannot write {error.filename or files[0][0]}: {error.strerror or error}",
            "give another folder with `-o`",
        ) from error
    finally:
        for place in temporary.values():
            with contextlib.suppress(OSError):
                place.unlink()
