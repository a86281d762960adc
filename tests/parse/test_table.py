"""The table of the grammar: from Lark once, from the cache after that, and never from a file that is not its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tilegen.cache_folder import cache_folder
from tilegen.lang.parse import table

TRANSPOSE = Path(__file__).parent.parent / "data/language/transpose.tile"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEGEN_CACHE_DIR", str(tmp_path))
    return tmp_path


def fresh() -> table.Table:
    return table.load_table.__wrapped__()


def only_file(directory: Path) -> Path:
    (path,) = directory.iterdir()
    return path


def test_built_and_cached_tables_are_equal(cache: Path) -> None:
    built = fresh()
    written = only_file(cache).read_bytes()
    assert fresh() == built
    assert only_file(cache).read_bytes() == written


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", "null", "\x00", '{"made_from": 1}'])
def test_damaged_file_is_replaced(cache: Path, damage: str) -> None:
    built = fresh()
    path = only_file(cache)
    path.write_text(damage)
    assert fresh() == built
    assert json.loads(path.read_text(encoding="utf-8"))["made_from"]


def test_table_of_another_grammar_is_not_used(cache: Path) -> None:
    built = fresh()
    path = only_file(cache)
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(data | {"made_from": "another", "actions": []}))
    assert fresh() == built


def test_actions_outside_the_table_are_not_used(cache: Path) -> None:
    built = fresh()
    path = only_file(cache)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["actions"][0]["KERNEL"] = 100_000
    path.write_text(json.dumps(data))
    assert fresh() == built


def test_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("TILEGEN_CACHE_DIR", str(blocked / "below"))
    assert fresh().rules


def test_build_is_deterministic() -> None:
    grammar = table._GRAMMAR.read_text(encoding="utf-8")
    assert json.dumps(table._build(grammar)) == json.dumps(table._build(grammar))


def test_a_process_with_a_cached_table_imports_little(cache: Path) -> None:
    program = (
        "import sys; from tilegen.lang.parse import parse, read_source; parse(read_source(sys.argv[1])); "
        "print(sorted({'lark', 'numpy', 'cupy', 'ml_dtypes', 'jinja2', 'rich', 'tempfile'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program, str(TRANSPOSE)]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "numpy" not in first.stdout
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert second.stdout.strip() == "[]"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems ask platformdirs")
@pytest.mark.parametrize("base", [None, "", "relative", "/somewhere"])
def test_the_directory_is_that_of_platformdirs(monkeypatch: pytest.MonkeyPatch, base: str | None) -> None:
    import platformdirs

    monkeypatch.delenv("TILEGEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if base is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", base)
    expected = platformdirs.user_cache_path("tilegen")
    assert cache_folder() == (Path.home() / ".cache/tilegen" if base == "relative" else expected)
