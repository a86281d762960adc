"""The documents say what is: their specs check and pass, their numbers are measured, their names and links exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilegen
from tilegen.cli.app import app
from tilegen.lang.check import check
from tilegen.lang.codes import CODES
from tilegen.lang.parse import parse, source_from_text
from tilegen.target import target
from tilegen.verify import verify_family

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
README = ROOT / "README.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


SPECS = [(page.name, n, text) for page in PAGES for n, text in enumerate(blocks(page, "tile"))]


@pytest.mark.parametrize("page, number, text", SPECS, ids=[f"{p}-{n}" for p, n, _ in SPECS])
def test_specs_in_documents_pass(page: str, number: int, text: str) -> None:
    for family in check(parse(source_from_text(text, name=f"{page}#{number}"))).kernels:
        for report in verify_family(family, target=target("sm_90"), shapes="spec"):
            assert report.passed, [str(f) for f in (*report.failures, *report.problems)]


def test_the_readme_has_its_two_commands_in_one_line_each() -> None:
    lines = [line for block in blocks(README, "sh") for line in block.splitlines()]
    install = [line for line in lines if "pip install" in line]
    assert len(install) == 2
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.findall(r"^(\w+) = \[", project.partition("[project.optional-dependencies]")[2], re.MULTILINE)
    for line in install:
        asked = re.search(r"'\.\[(.*?)\]'", line)
        assert asked is not None and set(asked[1].split(",")) <= set(extras)
    assert install[0].endswith("tilegen run specs/transpose.tile")
    assert "-m pytest" in install[1]


def test_commands_in_documents_exist() -> None:
    known = set(app.list_commands(None))  # type: ignore[arg-type]
    for page in PAGES:
        used = {m for block in blocks(page, "sh") for m in re.findall(r"tilegen ([a-z-]+) ", block)}
        assert used <= known, page


def test_the_ladder_in_the_readme_is_what_the_simulator_counts() -> None:
    kernel = tilegen.load(ROOT / "specs" / "transpose.tile").kernel("transpose")
    measured = kernel.report(M=256, N=256)
    rows = re.findall(r"^\| `(\w+)`.*$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == ["naive", "tiled", "padded", "vector"]
    for line in README.read_text(encoding="utf-8").splitlines():
        found = re.match(r"\| `(\w+)`[^|]*\| \**(\d+)\** \| \**(\d+)\** \| (\d+) KiB \| \**(\d+)\**", line)
        if found is None:
            continue
        name, loads, stores, moved, conflicts = found[1], *map(int, found.groups()[1:])
        m = measured[name]
        assert (m.load_sectors_per_request, m.store_sectors_per_request) == (loads, stores), name
        assert (m.bytes_moved, m.bank_conflicts) == (moved * 1024, conflicts), name


def test_every_row_of_the_architecture_is_a_folder_and_every_folder_a_row() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)
    folders = {p.name for p in (ROOT / "tilegen").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert sorted(rows) == sorted(folders)


def test_paths_in_the_architecture_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in re.findall(r"`([\w/]+(?:\.py|\.lark|\.j2|/))`", text):
        assert (ROOT / path).exists() or (ROOT / "tilegen" / path).exists(), path


def test_the_changelog_has_this_version() -> None:
    assert f"## {tilegen.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_gallery_covers_every_spec() -> None:
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"^## \[(\w+)\]", gallery, re.MULTILINE)
    assert sorted(shown) == sorted(p.stem for p in (ROOT / "specs").glob("*.tile")), (
        "run python docs/make_gallery.py"
    )
    for path in (ROOT / "specs").glob("*.tile"):
        for family in check(parse(source_from_text(path.read_text(encoding="utf-8")))).kernels:
            assert f"| {family.name} |" in gallery, "run python docs/make_gallery.py"


def test_decisions_are_numbered_and_have_their_parts() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [p.name[:4] for p in pages] == [f"{n:04}" for n in range(1, len(pages) + 1)]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(page.name[:4])}. "), page
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences"], page


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)", prose):
        if "://" not in link:
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_codes_in_documents_exist(page: Path) -> None:
    used = set(re.findall(r"\bTG\d{4}\b", page.read_text(encoding="utf-8")))
    assert used <= {entry.code for entry in CODES}
