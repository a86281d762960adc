"""The oracle must not share code with what it judges."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tilegen.reference

ALLOWED = {"algebra", "dtypes", "numpy_types", "reference", "spec"}
MODULES = sorted(Path(tilegen.reference.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.name)
def test_imports_nothing_of_the_plan(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            parts = name.split(".")
            assert parts[0] != "tilegen" or parts[1] in ALLOWED, f"{path.name} imports {name}"
