"""The oracle must not share code with what it judges."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tilegen.reference

ALLOWED = ("algebra", "dtypes", "numpy_types", "reference", "lang.spec")
MODULES = sorted(Path(tilegen.reference.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.name)
def test_imports_nothing_of_the_plan(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            package, _, module = name.partition(".")
            allowed = any(f"{module}.".startswith(f"{stage}.") for stage in ALLOWED)
            assert package != "tilegen" or allowed, f"{path.name} imports {name}"
