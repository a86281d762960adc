"""One bad spec per code of schedules and plans, its text pinned, and what the help says to type typed.

`errors/TG0602.tile` has the problem, `errors/TG0602.txt` what is told; `errors/TG0602-last.tile` is another way to it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.codes.schedule import CODES
from tilegen.lang.diagnostics import SpecError, render_all
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.program import Program, build
from tilegen.target import target

FOLDER = Path(__file__).parent / "errors"
SPECS = sorted(FOLDER.glob("*.tile"))


def attempt(name: str, text: str) -> Program:
    """The program of the first schedule (or of `auto`) of the first kernel."""
    family = check(parse(Source(name, text))).kernels[0]
    schedule = expand(family.schedules[0])[0] if family.schedules else None
    return build(family.kernels[0], schedule, target("sm_90"))


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_text_of_every_code(path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        attempt(path.name, path.read_text())
    assert render_all(caught.value.diagnostics) + "\n" == path.with_suffix(".txt").read_text()
    assert {d.code for d in caught.value.diagnostics} == {path.stem.partition("-")[0]}


def test_every_code_has_a_spec() -> None:
    assert {c.code for c in CODES} == {p.stem.partition("-")[0] for p in SPECS}


# Spec, what the user wrote, and what the help tells to write instead (in backquotes).
TYPED = [
    ("TG0601-buffers", "stage a buffers 2", "stage a"),
    ("TG0601-async", "stage a pad 1 async", "stage a pad 1"),
    ("TG0602", "i = 64", "i = 32"),
    ("TG0602-first-small", "i = 2", "i = 1"),
    ("TG0602-last", "j = 2048", "j = 1024"),
    ("TG0603-low", "max_registers 8", "max_registers 24"),
    ("TG0603-high", "max_registers 300", "max_registers 255"),
    ("TG0603-histogram", "max_registers 8", "max_registers 24"),
    ("TG0605-keys", "vector 32", "vector 16"),
    ("TG0606-keys", "vector 4", "vector w = 4"),
    ("TG0604", "vector 2", "vector x = 2"),
    ("TG0605", "vector 8", "vector 4"),
    ("TG0605-named", "y = 4", "y = 2"),
    ("TG0606", "vector 4", "vector y = 4"),
    ("TG0606-narrower", "vector 4", "vector 2"),
    ("TG0607", "tile i", "stage a; tile i"),
    ("TG0607", "vector 4", "vector b = 4"),
    ("TG0607-boundary", "vector 4", "vector y = 4"),
    ("TG0608", "i = 30", "i = 32"),
    ("TG0608", "i = 30", "i = 28"),
    ("TG0608-small", "tile i = 3", "tile i = 4"),
    ("TG0608-threads", "i = 65", "i = 66"),
    ("TG0608-threads", "i = 65", "i = 64"),
    ("TG0609", "i = 32, j = 32; threads", "i = 64, j = 32; threads"),
    ("TG0610", "tile i = 512", "tile i = 64"),
    ("TG0610-pad", "tile i = 241", "tile i = 128"),
    ("TG0610-row", "i = 32, j = 32", "i = 16, j = 32"),
    ("TG0610-row", "vector 2", "vector 1"),
    ("TG0610-scan", "i = 16", "i = 4"),
    ("TG0611-one-element", "tile j = 256", "tile i = 2, j = 256"),
    ("TG0611-vector", "tile i = 64", "tile i = 64, j = 64"),
    ("TG0611-vector", "; vector a = 4", ""),
    ("TG0612", "j = 30", "j = 32"),
    ("TG0612-fast", "j = 30", "j = 32"),
    ("TG0613", "stage a pad 1", "stage a pad 4"),
    ("TG0613", "stage a pad 1", "stage a swizzle"),
    ("TG0614", "j = 24", "j = 16"),
    ("TG0614", "j = 24", "j = 32"),
    ("TG0614", "stage a swizzle", "stage a pad 1"),
    ("TG0614-vector", "tile i = 48", "tile i = 32"),
    ("TG0614-vector", "tile i = 48", "tile i = 64"),
    ("TG0614-vector", "stage a swizzle", "stage a pad 4"),
    ("TG0701-constant", " constant", ""),
    ("TG0701-texture", " texture(nearest, edge)", ""),
    ("TG0615", "i = 2048", "i = 1024"),
    ("TG0602-rows", "i = 4096", "i = 1024"),
    ("TG0607-row", "; vector s = 4", ""),
    ("TG0609-reduced", "unroll i", "unroll j"),
    ("TG0609-reduced", "; unroll i = 2", ""),
    ("TG0609-tile", "; unroll j = 2", ""),
    ("TG0609-tile", "tile j = 256; ", ""),
    ("TG0615-row", "j = 1_048_576", "j = 16384"),
    ("TG0617", "; stage x", ""),
    ("TG0617-bounds", "; bounds split", ""),
    ("TG0617-raster", "; raster i, j", ""),
    ("TG0617-widths", "g = 2", "g = 4"),
    ("TG0618", "j = 96", "j = 64"),
    ("TG0618", "j = 96", "j = 128"),
    ("TG0619", "i = 3", "i = 4"),
    ("TG0619-everything", "i = 16", "i = 32"),
    ("TG0620", "tile i = 3", "tile i = 2"),
    ("TG0620-row", "j = 100", "j = 64"),
    ("TG0620-row", "j = 100", "j = 128"),
    ("TG0615-scan", "j = 16384", "j = 8192"),
    ("TG0615-scan-columns", "i = 4096", "i = 1024"),
    ("TG0621", "min_blocks 32", "min_blocks 8"),
    ("TG0621-rows", "min_blocks 33", "min_blocks 32"),
    ("TG0621-registers", "min_blocks 2", "min_blocks 1"),
    ("TG0621-histogram", "min_blocks 3", "min_blocks 2"),
    ("TG0621-choice", "min_blocks 32", "min_blocks 8"),
    ("TG0621-choice", "min_blocks 32", "threads k = 64; min_blocks 32"),
    ("TG0602-scan", "i = 64", "i = 32"),
    ("TG0604-scan", "vector 2", "vector y = 2"),
    ("TG0605-scan", "vector 8", "vector 4"),
    ("TG0607-scan", "vector 4", "vector y = 4"),
    ("TG0631", "stage x", ""),
    ("TG0631-bounds", "bounds split", ""),
    ("TG0632", "tile j = 100", "tile j = 192"),
    ("TG0632-lanes", "j = 12", "j = 8"),
    ("TG0632-lanes", "j = 12", "j = 16"),
    ("TG0632-warps", "j = 72", "j = 64"),
    ("TG0632-warps", "j = 72", "j = 96"),
    ("TG0632-rows", "tile i = 8", "tile i = 4"),
    ("TG0609-twice", "unroll j = 4; ", ""),
    ("TG0609-tile-in_flight", "; in_flight 2", ""),
    ("TG0617-shared", "keep x shared", ""),
    ("TG0620-threads", "96", "64"),
    ("TG0623", "blocks i = 4", "tile i = 4"),
    ("TG0623-keep", "keep x registers", ""),
    ("TG0623-cluster", "cluster i = 2", ""),
    ("TG0623-in_flight", "in_flight 4", "tile i = 512; threads i = 128"),
    ("TG0623-shared", "keep x shared", "stage x"),
    ("TG0623-twice", "256, ", ""),
    ("TG0624", "tile i*j", "tile j"),
    ("TG0624-let", "tile q", "tile i"),
    ("TG0624-scan", "threads k", "threads j"),
    ("TG0625", "; blocks j = 8", ""),
    ("TG0625-keep", "keep x", "keep x, g"),
    ("TG0625-stranger", ", w registers", " registers"),
    ("TG0625-parallel", "blocks i", "blocks k"),
    ("TG0625-cluster", "cluster j = 8", "keep registers; cluster j = 8"),
    ("TG0625-cluster-of-6", "cluster j = 6", "cluster j = 4"),
    ("TG0625-bins", "blocks b = 1", ""),
    ("TG0625-points", "blocks c = 2", ""),
    ("TG0625-room", "blocks c = 1", ""),
    ("TG0626", "bounds exact; otherwise", "bounds exact; otherwise; bounds exact"),
    ("TG0626-index", "; otherwise; index i64", "; otherwise; index i32"),
    ("TG0631-keep", "keep x registers", ""),
    ("TG0631-threads", "threads 256", "threads j = 256"),
    ("TG0641", "tile i = 4096", "threads i = 256; in_flight 8"),
    ("TG0641-twice", "256, ", ""),
    ("TG0643-in_flight", "in_flight 64", "in_flight 16"),
]


@pytest.mark.parametrize(("name", "old", "new"), TYPED)
def test_what_the_help_tells_to_type_is_accepted(name: str, old: str, new: str) -> None:
    text = (FOLDER / f"{name}.tile").read_text()
    assert text.count(old) == 1
    attempt(name, text.replace(old, new))


@pytest.mark.parametrize(
    "path",
    [p for p in SPECS if p.stem.startswith("TG0611") and p.stem != "TG0611-vector"],
    ids=lambda p: p.stem,
)
def test_what_cannot_be_staged_runs_without(path: Path) -> None:
    text = path.read_text()
    directive = text[text.index("; stage") :].split(";")[1].split("}")[0].rstrip()
    attempt(path.name, text.replace(f";{directive}", ""))


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("max_registers 24", None),
        ("max_registers 23", "TG0603"),
        ("max_registers 255", None),
        ("max_registers 256", "TG0603"),
        ("threads i = 32, j = 32", None),
        ("threads i = 33, j = 32", "TG0602"),
        ("threads i = 1025", "TG0602"),
        ("threads i = 1024", None),
        ("tile i = 64, j = 908; stage a", None),  # 232,448 bytes, all that sm_90 gives
        ("tile i = 64, j = 909; stage a", "TG0610"),
        ("tile i = 64, j = 907; stage a pad 1", None),
        ("tile i = 64, j = 908; stage a pad 1", "TG0610"),
        ("tile i = 32, j = 32; stage a swizzle", None),
        ("tile i = 32, j = 31; stage a swizzle", "TG0614"),
        ("tile i = 31, j = 32; stage a swizzle", None),
    ],
)
def test_limits_are_exact(name: str, limit: str | None) -> None:
    text = (
        f"kernel t(M, N) {{ in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]; schedule s {{ {name} }} }}"
    )
    if limit is None:
        attempt("t", text)
        return
    with pytest.raises(SpecError) as caught:
        attempt("t", text)
    assert [d.code for d in caught.value.diagnostics] == [limit]


def test_all_problems_of_a_schedule_come_in_one_run() -> None:
    text = """kernel t(M, N) {
    in a: f32[M, N]
    out b: f32[N, M]
    b[j, i] = a[i, j]
    schedule s { threads i = 64, j = 64; max_registers 7; stage a async }
}"""
    with pytest.raises(SpecError) as caught:
        attempt("t", text)
    assert sorted(d.code for d in caught.value.diagnostics) == ["TG0601", "TG0602", "TG0603"]
