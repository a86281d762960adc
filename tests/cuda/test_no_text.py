"""Code is a tree: no CUDA text stands in Python, and nothing looks into text that was generated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilegen

PACKAGE = Path(tilegen.__file__).parent
FOLDERS = ("core", "families", "cuda", "render")
MODULES = sorted(p for folder in FOLDERS for p in (PACKAGE / folder).rglob("*.py"))
STATEMENTS = (
    "__syncthreads",
    "__threadfence",
    "#pragma",
    "__global__",
    "__shared__",
    "__device__",
    "if (",
    "for (",
    "while (",
    "} else",
    "return;",
    ";\n",
    "constexpr int",
    "template <",
)


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """String constants that are no docstrings, those of f-strings among them."""
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_no_statement_of_c_stands_in_python(path: Path) -> None:
    for node in strings(ast.parse(path.read_text(encoding="utf-8"))):
        found = [s for s in STATEMENTS if s in str(node.value)]
        assert not found, f"{path}:{node.lineno}: {node.value!r}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_no_regular_expression_looks_at_code(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert "re" not in imported


def test_the_test_sees_what_it_looks_for() -> None:
    text = 'def f(x):\n    """if (a doc)"""\n    return f"if ({x}) {{" + "#pragma unroll"\n'
    found = [str(n.value) for n in strings(ast.parse(text))]
    assert any("if (" in s for s in found) and any("#pragma" in s for s in found)
    assert not any("a doc" in s for s in found)
