"""Imports between stages go one way, and what needs no GPU imports nothing of one."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilegen

PACKAGE = Path(tilegen.__file__).parent

# A stage imports only stages above it. A new stage gets its place here.
ORDER = [
    "cache_folder",
    "frozen",
    "errors",
    "lang.source",
    "lang.near",
    "lang.codes",
    "lang.diagnostics",
    "dtypes",
    "numpy_types",
    "algebra",
    "lang.syntax",
    "lang.parse",
    "lang.spec",
    "lang.check",
    "reference",
    "target",
    "core.nest",
    "core.schedule",
    "core.plan",
    "cuda",
    "families",
    "render",
    "program",
    "show",
    "legal",
    "toolchain",
    "sim",
    "run",
    "analysis",
    "verify",
    "report",
    "api",
    "emit",
    "cli",
    "pytest_plugin",
    "__main__",
]

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def stage_of(path: Path) -> str:
    return stage_named(".".join(path.relative_to(PACKAGE).with_suffix("").parts))


def stage_named(module: str) -> str:
    """The stage that a module, by its name inside the package, belongs to; the name itself where it has none."""
    return next((stage for stage in ORDER if f"{module}.".startswith(f"{stage}.")), module)


def imported_stages(path: Path) -> Iterator[tuple[int, str]]:
    """Stages that a module imports anywhere in it, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, module = name.partition(".")
            if package == "tilegen" and module:
                yield node.lineno, stage_named(module)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    stage = stage_of(path)
    if path.name == "__init__.py" and stage not in ORDER:
        assert not list(imported_stages(path)), "a folder of stages imports none of them"
        return
    assert stage in ORDER, f"give the stage {stage} its place in ORDER"
    allowed = ORDER[: ORDER.index(stage) + 1]
    wrong = [
        f"{path}:{line} imports {name}"
        for line, name in imported_stages(path)
        if name in ORDER and name not in allowed
    ]
    assert not wrong


def test_the_reference_knows_nothing_of_the_plan() -> None:
    names = {name for path in MODULES if stage_of(path) == "reference" for _, name in imported_stages(path)}
    assert not names & set(ORDER[ORDER.index("target") :])


GPU_MODULES = ("cupy", "cupy_backends", "torch", "cuda", "nvidia", "pynvml")


@pytest.mark.parametrize(
    "module",
    ["", "lang.parse", "lang.check", "reference", "core", "families", "render", "program", "emit", "cli"],
)
def test_no_gpu_module_is_imported(module: str) -> None:
    path = PACKAGE / module.replace(".", "/")
    if module and not path.with_suffix(".py").exists() and not (path / "__init__.py").exists():
        pytest.skip(f"tilegen.{module} does not exist")
    program = f"import sys, tilegen{'.' * bool(module)}{module}; print(sorted(set(sys.argv[1:]) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program, *GPU_MODULES], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_the_package_root_imports_no_array_library() -> None:
    program = (
        "import sys, tilegen; print(sorted({'numpy', 'lark', 'jinja2', 'click', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
