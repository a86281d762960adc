"""Bytes to text."""

from __future__ import annotations

import os
from pathlib import Path

from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.source import Source, Span

MAX_BYTES = 1 << 20

_OTHER_ENCODINGS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


def read_source(path: str | Path) -> Source:
    """The text of a spec: UTF-8 with or without BOM, any line ends. Raises `SpecError` where it cannot be read."""
    name = str(path)
    if not name:
        raise SpecError([_unreadable("the path is empty", "give the path of a .tile file")])
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SpecError([_describe(name, error)]) from error
    return decode(name, data)


def _open_without_waiting(path: str, flags: int) -> int:
    """A named pipe that nobody writes to must not hang the reader."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def decode(name: str, data: bytes) -> Source:
    """The `Source` of a file's bytes. Raises `SpecError` where they are no text."""
    if len(data) > MAX_BYTES:
        raise SpecError([too_large(f"{name} is")])
    encoding = next((e for mark, e in _OTHER_ENCODINGS.items() if data.startswith(mark)), None)
    if encoding is not None:
        problem = f"{name} is {encoding} text"
        raise SpecError([Diagnostic("TG0102", problem, None, helps=("save it as UTF-8",))])
    nul = data.find(b"\0")
    if nul >= 0:
        problem = f"{name} is not text: there is a NUL byte at offset {nul}"
        raise SpecError([Diagnostic("TG0103", problem, None, helps=("give the path of a .tile file",))])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError([_not_utf8(name, data, error)]) from error
    return source_from_text(text, name)


def source_from_text(text: str, name: str = "<text>") -> Source:
    """`text` as a `Source`: without BOM, with LF line ends."""
    return Source(name, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def check_size(source: Source) -> Diagnostic | None:
    """What is wrong with the size of a text that came from elsewhere than a file."""
    return too_large("the spec is") if len(source.text) > MAX_BYTES else None


def too_large(subject: str) -> Diagnostic:
    return Diagnostic(
        "TG0104",
        f"{subject} larger than {MAX_BYTES >> 20} MiB, the most a spec may have",
        None,
        helps=("put the kernels into several files",),
    )


def _describe(name: str, error: OSError | ValueError) -> Diagnostic:
    shown = name if name.isprintable() else ascii(name)
    if isinstance(error, FileNotFoundError):
        return _unreadable(
            f"there is no file {shown}", "check the path; a relative one starts at the working directory"
        )
    if isinstance(error, IsADirectoryError):
        return _unreadable(
            f"{shown} is a directory", f"name a file in it, as in {shown.rstrip('/')}/kernel.tile"
        )
    if isinstance(error, PermissionError):
        return _unreadable(f"no permission to read {shown}", "make the file readable")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return _unreadable(f"cannot read {shown}: {reason}", "give the path of a .tile file")


def _unreadable(message: str, action: str) -> Diagnostic:
    return Diagnostic("TG0101", message, None, helps=(action,))


def _not_utf8(name: str, data: bytes, error: UnicodeDecodeError) -> Diagnostic:
    """Shows the line, with what is not UTF-8 replaced, when it is short enough to be one."""
    before = data[: error.start].decode("utf-8", "replace").removeprefix("\ufeff")
    line = before.count("\n") + 1
    return Diagnostic(
        "TG0102",
        f"{name} is not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start} (line {line})",
        Span(source_from_text(data.decode("utf-8", "replace"), name), *_place(before)),
        helps=("save the file as UTF-8",),
    )


def _place(before: str) -> tuple[int, int]:
    start = len(before.replace("\r\n", "\n"))
    return start, start + 1
