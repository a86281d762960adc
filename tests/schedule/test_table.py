"""The table of directives says what families do: a kernel of each honours, or refuses with that code, each of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilegen
from tilegen.core.schedule.rules import Feature
from tilegen.families.registry import FAMILIES, Family, family_of
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import Word
from tilegen.program import build
from tilegen.target import target

LANGUAGE = Path(tilegen.__file__).parents[1] / "docs" / "language.md"
KERNELS = {
    "tiles": "in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]",
    "rows": "in a: f32[M, N]; out b: f32[M]; b[i] = sum[j](a[i, j])",
    "scan": "in a: f32[M, N]; out b: f32[M, N]; b[i, j] = sum[k in 0..=j](a[i, k])",
    "histogram": "in a: u8[M, N]; out b: i32[M, 16]; b[i, q] = count[j](a[i, j] == q)",
}
# What to write for each feature so that nothing else about it is wrong, where one text does not do for all families.
USES = {
    Feature.TILE: {
        "tiles": "tile i = 32",
        "rows": "tile j = 256",
        "scan": "tile j = 1024",
        "": "tile j = 32",
    },
    Feature.THREADS: {"": "threads j = 64"},
    Feature.THREAD_COUNT: {"": "threads 256"},
    Feature.COUNT_AND_AXES: {"": "threads 256, j = 64"},
    Feature.STAGE: {"": "stage a"},
    Feature.BUFFERS: {"": "stage a buffers 2"},
    Feature.ASYNC: {"": "stage a async"},
    Feature.KEEP_REGISTERS: {"": "keep a registers"},
    Feature.KEEP_SHARED: {"": "keep a shared"},
    Feature.VECTOR: {
        "tiles": "stage a; vector 4",
        "rows": "vector a = 4",
        "histogram": "vector a = 4",
        "": "vector 4",
    },
    Feature.WIDTHS: {
        "tiles": "stage a; vector a = 4, b = 2",
        "histogram": "vector a = 4, b = 1",
        "": "vector a = 4, b = 2",
    },
    Feature.IN_FLIGHT: {"": "in_flight 4"},
    Feature.BLOCKS: {"histogram": "at M = 4; blocks i = 1", "": "blocks j = 8"},
    Feature.CLUSTER: {"rows": "keep a registers; threads j = 64; cluster j = 8", "": "cluster j = 8"},
    Feature.UNROLL: {"tiles": "tile i = 32, j = 32; threads i = 8, j = 32; unroll i = 2", "": "unroll j = 4"},
    Feature.BOUNDS: {"": "bounds split"},
    Feature.RASTER: {"": "raster i"},
    Feature.HINT: {"": "hint a streaming"},
    Feature.SECTORS: {"tiles": "tile i = 32, j = 32; stage a; hint b sectors", "": "hint b sectors"},
    Feature.MAX_REGISTERS: {"": "max_registers 32"},
    Feature.MIN_BLOCKS: {"": "min_blocks 2"},
    Feature.INDEX: {"": "index i32"},
    Feature.AT: {"": "at M = 7"},
    Feature.OTHERWISE: {"": "at M = 7; otherwise"},
}


def test_families_in_the_order_of_matching() -> None:
    assert [f.name for f in FAMILIES] == ["scan", "histogram", "rows", "tiles"]
    for name, body in KERNELS.items():
        kernel = check(parse(source_from_text(f"kernel t(M, N) {{ {body} }}"))).kernels[0].kernels[0]
        assert family_of(kernel).name == name


def test_every_directive_is_in_the_table() -> None:
    assert set(USES) == set(Feature)
    assert {f.value.split(" ")[0] for f in Feature} == {w.value for w in Word}


@pytest.mark.parametrize("feature", Feature, ids=lambda f: f.value)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_a_family_does_what_the_table_says(family: Family, feature: Feature) -> None:
    uses = USES[feature]
    directives = uses.get(family.name, uses[""])
    text = f"kernel t(M, N) {{ {KERNELS[family.name]}; schedule s {{ {directives} }} }}"
    declared = check(parse(source_from_text(text))).kernels[0]
    refused = family.rules.refused.get(feature)
    if refused is None:
        assert build(declared.kernels[0], declared.schedules[0], target("sm_90")).plans
        return
    with pytest.raises(tilegen.SpecError) as caught:
        build(declared.kernels[0], declared.schedules[0], target("sm_90"))
    assert [d.code for d in caught.value.diagnostics] == [refused.code or family.rules.code]


def test_the_reference_of_the_language_shows_the_table() -> None:
    section = LANGUAGE.read_text(encoding="utf-8").partition("| | tiles |")[2].partition("\n\n")[0]
    header, _, *lines = f"| | tiles |{section}".splitlines()
    assert header.split("|")[2:-1] == [" tiles ", " rows ", " scans ", " histograms "]
    by_name = {f.name: f.rules for f in FAMILIES}
    columns = [by_name[n] for n in ("tiles", "rows", "scan", "histogram")]
    wanted = []
    for feature in Feature:
        cells = (r.refused.get(feature) for r in columns)
        codes = ("yes" if c is None else c.code or r.code for c, r in zip(cells, columns, strict=True))
        wanted.append(f"| `{feature.value}` | {' | '.join(codes)} |")
    assert lines == wanted


def test_the_reference_of_the_language_explains_every_directive() -> None:
    section = (
        LANGUAGE.read_text(encoding="utf-8").partition("| directive | meaning |")[2].partition("\n\n")[0]
    )
    explained = {
        word
        for line in section.splitlines()
        for word in re.findall(r"`(\w+)", line.split("|")[1] if "|" in line else "")
    }
    assert {w.value for w in Word} <= explained
