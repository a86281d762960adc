"""Bytes that are a spec, and bytes that are none."""

import os
from pathlib import Path

import pytest

from tilegen.lang.diagnostics import Diagnostic, SpecError, render_diagnostic
from tilegen.lang.parse import parse, read_source, source_from_text
from tilegen.lang.parse.reader import MAX_BYTES

TEXT = "kernel f(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i]\n}\n"


def problem(path: str | Path) -> Diagnostic:
    with pytest.raises(SpecError) as caught:
        read_source(path)
    (only,) = caught.value.diagnostics
    return only


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
    ],
    ids=["lf", "bom", "crlf", "cr"],
)
def test_encodings_of_one_text(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "f.tile"
    path.write_bytes(data)
    source = read_source(path)
    assert source.text == TEXT
    assert source.name == str(path)
    assert parse(source).kernels == parse(source_from_text(TEXT)).kernels


def test_no_such_file(tmp_path: Path) -> None:
    path = tmp_path / "none.tile"
    assert render_diagnostic(problem(path)) == (
        f"error[TG0101]: there is no file {path}\n"
        "  help: check the path; a relative one starts at the working directory"
    )


def test_directory(tmp_path: Path) -> None:
    assert render_diagnostic(problem(tmp_path)) == (
        f"error[TG0101]: {tmp_path} is a directory\n  help: name a file in it, as in {tmp_path}/kernel.tile"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "f.tile"
    path.write_text(TEXT)
    path.chmod(0)
    assert render_diagnostic(problem(path)) == (
        f"error[TG0101]: no permission to read {path}\n  help: make the file readable"
    )


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000])
def test_paths_that_are_none(path: str) -> None:
    assert problem(path).code == "TG0101"


def test_named_pipe_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    source = read_source(path)
    assert source.text == ""


def test_invalid_utf8_names_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "f.tile"
    path.write_bytes(b"# one\r\n# caf\xe9\nkernel f(N) { }\n")
    assert render_diagnostic(problem(path)) == (
        f"error[TG0102]: {path} is not UTF-8: byte 0xE9 at offset 12 (line 2)\n"
        f" --> {path}:2:6\n"
        "  |\n"
        "2 | # caf\ufffd\n"
        "  |      ^\n"
        "  help: save the file as UTF-8"
    )


@pytest.mark.parametrize(("encoding", "name"), [("utf-16", "UTF-16"), ("utf-32", "UTF-32")])
def test_other_encodings(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / "f.tile"
    path.write_bytes(TEXT.encode(encoding))
    assert (
        render_diagnostic(problem(path)) == f"error[TG0102]: {path} is {name} text\n  help: save it as UTF-8"
    )


def test_nul(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00")
    assert render_diagnostic(problem(path)) == (
        f"error[TG0103]: {path} is not text: there is a NUL byte at offset 7\n  help: give the path of a .tile file"
    )


def test_too_large(tmp_path: Path) -> None:
    path = tmp_path / "f.tile"
    path.write_bytes(b"#" * (10 << 20))
    assert render_diagnostic(problem(path)) == (
        f"error[TG0104]: {path} is larger than 1 MiB, the most a spec may have\n"
        "  help: put the kernels into several files"
    )


def test_the_largest_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f.tile"
    path.write_bytes(TEXT.encode() + b"#" * (MAX_BYTES - len(TEXT)))
    assert len(parse(read_source(path)).kernels) == 1


@pytest.mark.parametrize("text", ["", "\n", "  # nothing\n", ";"])
def test_no_kernel(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(source_from_text(text, "f.tile"))
    assert str(caught.value) == (
        "error[TG0105]: f.tile holds no kernel\n"
        "  help: write one: `kernel copy(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }`"
    )
