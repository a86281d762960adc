"""The pytest plugin: what is collected, how tests are called, what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SPEC = """\
kernel copy[T: f32 | u8](N) {
    in  a: T[N]
    out b: T[N]

    b[i] = a[i]

    schedule wide { tile i = 256; vector 4 }

    test N = 100
    test N = 1_000_000 on gpu

    expect wide: load_sectors <= 1.0 * ideal, bandwidth >= 0.9 * copy
    expect wide: bank_conflicts == 1
}

kernel table() { in x: f32[256] constant; out y: f32[256]; y[i] = x[i] }
"""


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-rs", *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": "", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str]:
    folder = tmp_path_factory.mktemp("specs")
    (folder / "copy.tile").write_text(SPEC, encoding="utf-8")
    return run(folder, "-v", "--tilegen-shapes", "spec", "--tilegen-target", "sm_90")


def test_names_of_tests(session: tuple[int, str]) -> None:
    names = [line.split()[0:2] for line in session[1].splitlines() if line.startswith("copy.tile::")]
    text = "\n".join(" ".join(n) for n in names)
    for name in (
        "copy[wide-f32-N=100]",
        "copy[auto-u8-N=100]",
        "copy[auto-u8-N=100-fitted]",
        "copy[wide-f32-N=1000000-gpu]",
    ):
        assert f"copy.tile::{name}" in text
    assert "copy.tile::copy[expect wide: bank_conflicts == 1]" in session[1]
    assert "copy.tile::table[not generated yet] SKIPPED" in session[1]


def test_verdicts(session: tuple[int, str]) -> None:
    code, text = session
    assert code == 1
    assert "1 failed, 7 passed, 6 skipped" in text
    assert "`bank_conflicts` of `wide` is 0 at N = 100; expected bank_conflicts == 1" in text
    assert "the spec asks for this shape on a GPU" in text
    assert "`bandwidth` is measured on a GPU" in text
    assert "constant memory cannot be generated yet" in text
    assert "Traceback" not in text


def test_a_spec_that_does_not_check_is_a_collection_error(tmp_path: Path) -> None:
    (tmp_path / "bad.tile").write_text("kernel k(N) { in a: f32[N]; out b: f32[N]; b[i] = c[i] }\n")
    code, text = run(tmp_path)
    assert code == 2
    assert "ERROR collecting bad.tile" in text
    assert "--> " in text and "c[i]" in text and "^" in text
    assert "Traceback" not in text


def test_a_skip_on_a_gpu_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "table.tile").write_text(SPEC[SPEC.index("kernel table") :])
    code, text = run(tmp_path, "--tilegen-on", "gpu")
    assert code == 1
    assert "skipped on a GPU: constant memory cannot be generated yet" in text


def test_a_failure_names_lines_of_kernel_and_spec(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tilegen.verify import Suite\n"
        "import dataclasses\n"
        "plain = Suite.program\n"
        "def broken(self, *a):\n"
        "    p = plain(self, *a)\n"
        "    text = p.source.replace('i < N', 'i <= N')\n"
        "    return dataclasses.replace(p, rendered=dataclasses.replace(p.rendered, source=text))\n"
        "Suite.program = broken\n"
    )
    spec = "kernel copy(N) {\n in a: f32[N]; out b: f32[N]\n b[i] = a[i]\n"
    spec += " schedule s { threads i = 64 }\n test N = 100\n}\n"
    (tmp_path / "copy.tile").write_text(spec)
    code, text = run(tmp_path, "--tilegen-shapes", "spec", "-k", "copy[s")
    assert code == 1
    assert "read outside every allocation" in text and "past the end of `a`" in text
    assert "kernel line" in text and "spec line 3: b[i] = a[i]" in text


def test_nothing_heavy_is_imported_where_there_is_no_spec() -> None:
    code = (
        "import sys, tilegen.pytest_plugin\n"
        "heavy = {'numpy', 'lark', 'jinja2', 'cupy', 'ml_dtypes', 'islpy', 'rich', 'click'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
