"""Writes the list of modules in ARCHITECTURE.md from their docstrings: `python docs/make_modules.py`.

`tests/test_docs.py` fails when a module is missing from the list or listed and gone.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
START, END = "<!-- modules: python docs/make_modules.py -->", "<!-- end of modules -->"

# Order of the stages, as imports go; what is not named here follows in the order of the alphabet.
STAGES = [
    "source",
    "diagnostics",
    "codes",
    "cache_folder",
    "dtypes",
    "numpy_types",
    "algebra",
    "syntax",
    "grammar",
    "parse",
    "spec",
    "check",
    "reference",
    "target",
    "nest",
    "schedule",
    "plan",
    "templates",
    "render",
    "program",
    "toolchain",
    "sim",
    "run",
    "analysis",
    "verify",
    "api",
    "emit",
    "report",
    "cli",
    "pytest_plugin",
]


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    found = re.match(r".*?[.!?](?=\s|$)", paragraph)
    return found.group(0) if found else paragraph


def modules() -> list[Path]:
    """Every module of the package with something in it, by stage."""
    package = ROOT / "tilegen"
    found = [p for p in package.rglob("*.py") if p.read_text(encoding="utf-8").strip()]

    def key(path: Path) -> tuple[int, str]:
        stage = path.relative_to(package).with_suffix("").parts[0]
        return (
            STAGES.index(stage) if stage in STAGES else len(STAGES),
            path.as_posix().replace("__init__", ""),
        )

    return sorted(found, key=key)


def text() -> str:
    """One list of the modules at the top, then one per folder."""
    package = ROOT / "tilegen"
    groups: dict[str, list[str]] = {"": []}
    for path in modules():
        name = path.relative_to(package)
        folder = name.parts[0] + "/" if len(name.parts) > 1 else ""
        groups.setdefault(folder, []).append(f"- `tilegen/{name.as_posix()}`: {first_sentence(path)}")
    return "\n\n".join(
        (f"### {folder}\n\n" if folder else "") + "\n".join(lines) for folder, lines in groups.items()
    )


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{START}\n\n{text()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
