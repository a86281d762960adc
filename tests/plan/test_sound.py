"""What holds of every plan, and of phases that are repeated: no family makes them yet, core carries and prints them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilegen.algebra import sym
from tilegen.core.plan.model import Barrier, Compute, Load, Phase, Plan, Repeat
from tilegen.core.plan.sound import require_sound
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import build
from tilegen.show import show
from tilegen.target import target

TEXT = """kernel t(M, N) { in x: f32[M, N]; out y: f32[N, M]; y[j, i] = x[i, j]
    schedule s { tile i = 32, j = 32; threads j = 8, i = 32; stage x } }"""


@pytest.fixture
def plan() -> Plan:
    family = check(parse(source_from_text(TEXT))).kernels[0]
    return build(family.kernels[0], family.schedules[0], target("sm_90")).plans[0]


def repeated(plan: Plan, *order: str, buffers: int = 1) -> Plan:
    """The plan with its phases in this order, for each step along `k`."""
    load, barrier, compute = plan.phases
    kinds: dict[str, Phase] = {"load": load, "barrier": barrier, "compute": compute}
    return replace(plan, phases=(Repeat("k", sym("K") // 8, tuple(kinds[w] for w in order), buffers),))


def test_a_plan_as_it_is_made(plan: Plan) -> None:
    assert [type(p) for p in plan.phases] == [Load, Barrier, Compute]
    require_sound(plan)


def test_a_step_waits_for_its_tile_and_for_those_who_read_the_one_before(plan: Plan) -> None:
    require_sound(repeated(plan, "load", "barrier", "compute", "barrier"))
    with pytest.raises(AssertionError, match="x is filled while it may be read"):
        require_sound(repeated(plan, "load", "barrier", "compute"))
    with pytest.raises(AssertionError, match=r"\['x'\] are read before a barrier"):
        require_sound(repeated(plan, "load", "compute", "barrier"))


def test_another_copy_of_a_buffer_may_be_filled_meanwhile(plan: Plan) -> None:
    twice = repeated(plan, "load", "barrier", "compute", buffers=2)
    require_sound(twice)
    assert (plan.shared_bytes, twice.shared_bytes) == (32 * 32 * 4, 2 * 32 * 32 * 4)


@pytest.mark.parametrize(
    ("phases", "told"),
    [
        ((Repeat("k", sym("K"), ()),), "nothing is done along k"),
        ((Repeat("k", sym("K"), (Barrier(),), buffers=3),), "3 of no buffer"),
        ((Repeat("k", sym("K"), (Repeat("k", sym("K"), (Barrier(),)),)),), "k is walked inside itself"),
    ],
)
def test_repetitions_that_mean_nothing(plan: Plan, phases: tuple[Phase, ...], told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        require_sound(replace(plan, phases=phases, buffers=()))


def test_repetitions_print_what_is_inside_of_them(plan: Plan) -> None:
    lines = show(repeated(plan, "load", "barrier", "compute", "barrier", buffers=2)).splitlines()
    start = lines.index("    (K // 8) times along k, 2 of each buffer")
    assert lines[start + 1 : start + 3] == [
        "        load x by 1, guarded along j, i",
        "            from x[N*i + j]",
    ]
    assert lines.count("        barrier") == 2 and lines[-1] == "        barrier"


def test_margins(plan: Plan) -> None:
    """A margin of whole sectors is one above; what a block holds is the tile and both."""
    tile = replace(plan.tiles[0], margin=(1, 2))
    assert tile.needed == 35
    assert f"tile {tile.axis}: 32 of N, ((N + 31) // 32) of them, ragged, margin 1 and 2" in show(
        replace(plan, tiles=(tile, plan.tiles[1]))
    )
    with pytest.raises(AssertionError, match="not guarded"):
        require_sound(replace(plan, tiles=(replace(tile, ragged=False), plan.tiles[1])))
    sectors = TEXT.replace("threads j = 8, i = 32; stage x", "stage x; hint y sectors")
    family = check(parse(source_from_text(sectors))).kernels[0]
    made = build(family.kernels[0], family.schedules[0], target("sm_90")).plans[0]
    assert {t.axis: t.margin for t in made.tiles} == {"j": (0, 0), "i": (0, 7)}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"raster": ("q",)}, "tiles are along"),
        ({"threads": 2048}, "2048 threads"),
        ({"buffers": ()}, r"of which \['x'\] are filled"),
    ],
)
def test_what_every_plan_holds(plan: Plan, change: dict[str, object], told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        require_sound(replace(plan, **change))  # type: ignore[arg-type]
