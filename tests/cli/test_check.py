"""`tilegen check`, and what all commands share: exit codes, JSON, colour, usage, internal errors."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tilegen as package
from tilegen.cli import app
from tilegen.lang.codes import CODES

Tilegen = Callable[..., object]


def test_a_good_spec(tilegen, spec) -> None:
    outcome = tilegen("check", spec)
    assert (outcome.code, outcome.out, outcome.err) == (0, "1 file, 1 kernel: no problems\n", "")


def test_problems_go_to_stderr_with_carets(tilegen, faulty) -> None:
    outcome = tilegen("check", faulty)
    assert outcome.code == 1
    assert outcome.out == ""
    assert "error[TG0" in outcome.err and "^" in outcome.err and f"{faulty}:1:" in outcome.err
    assert "\x1b" not in outcome.err


def test_a_folder_is_searched_and_every_file_told(tilegen, tmp_path, spec, faulty) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.tile").write_text("kernel copy(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "no.tile").write_text("nonsense")
    outcome = tilegen("check", "--json", tmp_path, spec)
    files = {Path(f["file"]).name: f["problems"] > 0 for f in outcome.json["files"]}
    assert files == {"faulty.tile": True, "more.tile": False, "transpose.tile": False}
    assert outcome.code == outcome.json["exit_code"] == 1
    assert {d["place"]["file"] for d in outcome.json["diagnostics"]} == {str(faulty)}


def test_standard_input(tilegen, monkeypatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"kernel f(N) { in x: f32[N]; out y: f32[N]; y[i] = }")

    monkeypatch.setattr(sys, "stdin", Stdin)
    outcome = tilegen("check", "-")
    assert outcome.code == 1 and "<stdin>:1:" in outcome.err


@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize("command", ["check", "emit", "verify", "run"])
@pytest.mark.parametrize("name", ["none.tile", "none/a.tile", "empty", "nothing.tile", "link.tile"])
def test_a_file_without_a_spec_is_told_and_is_1(name, command, json, tilegen, tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing.tile").write_text("")
    (tmp_path / "link.tile").symlink_to(tmp_path / "none.tile")
    more = ["-o", tmp_path / "out"] if command == "emit" else []
    outcome = tilegen(command, tmp_path / name, *more, *(["--json"] if json else []))
    assert outcome.code == 1, outcome
    if json:
        assert outcome.json["exit_code"] == 1 and outcome.err == ""
        assert all(d["code"].startswith("TG01") and d["helps"] for d in outcome.json["diagnostics"])
    else:
        assert "error[TG01" in outcome.err and "help: " in outcome.err and "Usage" not in outcome.err


@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda p: ["check"],
        lambda p: ["chek", p],
        lambda p: ["check", "--bogus", p],
        lambda p: ["emit", p / "transpose.tile"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "transpose.tile"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--arch", "sm_1"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--at", "M"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--at", "M=x"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--at", "M=1,M=2"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--at", "M=-1"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--define", "M=3"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--kernel", "transpos"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--schedule", "paded"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--type", "T=f99"],
        lambda p: ["emit", p / "transpose.tile", "-o", p / "out", "--type", "T=u8", "--all"],
        lambda p: ["verify", p / "transpose.tile", "--schedule", "paded"],
        lambda p: ["verify", p / "transpose.tile", "--on", "moon"],
        lambda p: ["run", p / "transpose.tile", "--kernel", "x"],
        lambda p: ["explain-code", "TG9999"],
        lambda p: ["explain-code", "nonsense"],
    ],
)
def test_wrong_usage_is_told_and_is_2(make, json, tilegen, tmp_path, spec) -> None:
    (tmp_path / "empty").mkdir()
    arguments = [*make(tmp_path), *(["--json"] if json else [])]
    outcome = tilegen(*arguments)
    assert outcome.code == 2, outcome
    if json:
        assert outcome.json["exit_code"] == 2 and outcome.err == ""
        assert outcome.json["diagnostics"][0]["message"]
    else:
        assert outcome.out == "" and outcome.err.strip()


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["chek"], "did you mean `check`?"),
        (["emit", "{spec}", "-o", "out", "-s", "paded"], "did you mean `padded`?"),
        (["emit", "{spec}", "-o", "out", "-k", "transpos"], "did you mean `transpose`?"),
        (["run", "{spec}", "-i", "A=x.npy"], "its inputs: `a`"),
        (["run", "{spec}", "--set", "n=1"], "its sizes and scalars: `M`, `N`"),
    ],
)
def test_the_nearest_name_is_offered(arguments, near, tilegen, spec) -> None:
    outcome = tilegen(*(a.format(spec=spec) for a in arguments))
    assert outcome.code == 2 and near in outcome.err


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"caf\xe9", b"\0\0", b"", b"kernel", b"\x93NUMPY"])
def test_files_that_are_no_specs(content, tilegen, tmp_path) -> None:
    path = tmp_path / "x.tile"
    path.write_bytes(content)
    for command in (["check"], ["emit", "-o", tmp_path / "out"], ["verify"], ["run"]):
        outcome = tilegen(command[0], path, *command[1:])
        assert outcome.code == 1 and "error[TG01" in outcome.err, command
    assert not (tmp_path / "out").exists()


def test_help_of_everything(tilegen) -> None:
    assert "Commands:" in tilegen("--help").out
    for command in app._COMMANDS:
        outcome = tilegen(command, "-h")
        assert outcome.code == 0 and outcome.out.startswith("Usage: tilegen")
    assert tilegen("--version").out == f"tilegen {package.__version__}\n"


def test_the_version_is_that_of_the_package() -> None:
    text = (Path(package.__file__).parent.parent / "pyproject.toml").read_text()
    assert f'\nversion = "{package.__version__}"\n' in text


def test_every_code_has_a_page(tilegen) -> None:
    listed = tilegen("explain-code")
    for entry in CODES:
        assert f"{entry.code}  {entry.title}" in listed.out
    assert tilegen("explain-code", "tg0813", "--json").json["code"] == "TG0813"
    assert "strides(*, 1)" in tilegen("explain-code", "813").out


def test_doctor(tilegen) -> None:
    outcome = tilegen("doctor", "--json")
    names = [f["name"] for f in outcome.json["findings"]]
    assert {"python", "numpy", "nvrtc", "gpu", "cache"} <= set(names)
    assert outcome.code == (3 if any(f["status"] == "missing" for f in outcome.json["findings"]) else 0)
    assert "nvrtc" in tilegen("doctor").out


def test_an_internal_error_says_so(tilegen, spec, monkeypatch) -> None:
    def fail(path: str) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("tilegen.cli.commands.check.load_spec", fail)
    outcome = tilegen("check", spec)
    assert outcome.code == 1
    assert "internal error of tilegen (test_check.py:" in outcome.err
    assert "ZeroDivisionError: by zero" in outcome.err
    assert "report it" in outcome.err and "TILEGEN_DEBUG=1" in outcome.err


def _process(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tilegen", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_a_traceback_where_it_is_asked_for(faulty, tmp_path) -> None:
    program = (
        "import tilegen.cli.commands.check as c\n"
        "c.load_spec = lambda p: 1 / 0\n"
        "from tilegen.cli import main\nmain()\n"
    )
    command = [sys.executable, "-c", program, "check", str(faulty)]
    environment = {**os.environ, "TILEGEN_DEBUG": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1 and "Traceback" in done.stderr and "TG0990" in done.stderr


def test_a_terminal_gets_colour_unless_it_must_not(faulty) -> None:
    pty = pytest.importorskip("pty")

    def on_a_terminal(*arguments: str, **environment: str) -> bytes:
        reader, writer = pty.openpty()
        command = [sys.executable, "-m", "tilegen", "check", str(faulty), *arguments]
        clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
        subprocess.run(
            command, stdout=writer, stderr=writer, check=False, env={**clean, "TERM": "xterm", **environment}
        )
        os.close(writer)
        output = b""
        try:
            while part := os.read(reader, 65536):
                output += part
        except OSError:  # Linux says so when the last writer is gone
            pass
        os.close(reader)
        return output

    assert b"\x1b[" in on_a_terminal()
    assert b"\x1b[" not in on_a_terminal("--no-color")
    assert b"\x1b[" not in on_a_terminal(NO_COLOR="1")
    assert b"\x1b[" not in on_a_terminal(TERM="dumb")


def test_a_terminal_that_knows_ascii_alone(tmp_path) -> None:
    path = tmp_path / "größe.tile"
    path.write_text("kernel größe(N) { in x: f32[N] }  # 日本\n", encoding="utf-8")
    done = _process("check", path, PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 1 and "error[TG0110]" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough(tmp_path) -> None:
    command = f"{sys.executable} -m tilegen explain-code | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("TG0101") and done.stderr == ""


HEAVY = ["numpy", "ml_dtypes", "cupy", "torch", "rich", "islpy", "lark", "logging", "importlib.metadata"]


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        (["check"], [*HEAVY, "jinja2", "hashlib", "tempfile", "subprocess"]),
        (["emit", "-o", "out"], HEAVY),
        (["--help"], [*HEAVY, "jinja2", "tilegen.lang.check", "tilegen.program", "tilegen.families"]),
    ],
    ids=["check", "emit", "help"],
)
def test_a_command_imports_only_what_it_needs(command, unneeded, spec, tmp_path) -> None:
    program = (
        "import sys\nfrom tilegen.cli import run\ncode = run(sys.argv[2:])\n"
        "print(code, sorted(set(sys.argv[1].split()) & set(sys.modules)))"
    )
    # The first run builds the grammar's table, for which it imports lark.
    arguments = command if command == ["--help"] else [command[0], str(spec), *command[1:]]
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program, " ".join(unneeded), *arguments],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
    assert done.stdout.splitlines()[-1] == "0 []"
