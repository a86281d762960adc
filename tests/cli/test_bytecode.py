"""Where Python keeps no bytecode of tilegen, the command keeps it in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tilegen

SOURCES = Path(tilegen.__file__).parent


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a copy of the package, without bytecode."""
    folder = tmp_path / "installed"
    shutil.copytree(SOURCES, folder / "tilegen", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _check(installed: Path, cache: Path, **environment: str) -> str:
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TILEGEN"))}
    variables |= {"PYTHONPATH": str(installed), "TILEGEN_CACHE_DIR": str(cache), **environment}
    done = subprocess.run(
        [sys.executable, "-m", "tilegen", "check", "-"],
        input="kernel copy(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }",
        env=variables,
        cwd=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _bytecode(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.pyc"))


def test_where_python_writes_none(installed: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    out = _check(installed, cache, PYTHONDONTWRITEBYTECODE="1")
    kept = _bytecode(cache)
    assert any("arguments.cpython" in path.name for path in kept)
    assert all("/tilegen/" in str(path) for path in kept), "modules of others are none of ours"
    assert not _bytecode(installed)
    # It is read, not written anew; and what is damaged does no harm.
    times = [path.stat().st_mtime_ns for path in kept]
    assert _check(installed, cache, PYTHONDONTWRITEBYTECODE="1") == out
    assert [path.stat().st_mtime_ns for path in kept] == times
    damaged = next(path for path in kept if "arguments.cpython" in path.name)
    damaged.write_bytes(damaged.read_bytes()[:40])
    assert _check(installed, cache, PYTHONDONTWRITEBYTECODE="1") == out


def test_a_source_that_changes(installed: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _check(installed, cache, PYTHONDONTWRITEBYTECODE="1")
    module = installed / "tilegen" / "cli" / "commands" / "check.py"
    module.write_text(module.read_text().replace("no problems", "no problems, says another version"))
    assert "says another version" in _check(installed, cache, PYTHONDONTWRITEBYTECODE="1")


def test_where_python_writes_it_itself(installed: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _check(installed, cache)
    assert _bytecode(installed) and not _bytecode(cache)


def test_where_nothing_can_be_written(installed: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    _check(installed, blocked / "below", PYTHONDONTWRITEBYTECODE="1")
    assert not _bytecode(tmp_path)
