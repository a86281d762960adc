"""A scan made wrong on purpose: the simulator or the comparison says so."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tilegen.program import Program

from .conftest import Judgement, judge, program_of

ROWS = """kernel rows(R, C) {
    in  x: f32[R, C]
    out y: f32[R, C]
    y[i, j] = OP[k in 0..=j](x[i, k])
    schedule s { threads i = 2, j = 64; tile i = 2, j = 256; vector 2 }
}"""
LONG = """kernel line(N) {
    in  x: TYPE[N]
    out y: TYPE[N]
    y[i] = sum[k in 0..=i](x[k])
    schedule s { threads i = 64; tile i = 64 }
}"""


def mutate(source: str, pattern: str, replacement: str, which: int = 0) -> str:
    """`source` with one place that matches replaced."""
    places = list(re.finditer(pattern, source))
    assert len(places) > which, f"{pattern!r} is not in the generated source:\n{source}"
    place = places[which]
    return source[: place.start()] + place.expand(replacement) + source[place.end() :]


def kernel(source: str, name: str) -> int:
    """Where the kernel of a variant starts."""
    return source.index(f" {name}(\n")


def altered(program: Program, name: str, pattern: str, replacement: str, which: int = 0) -> str:
    """The source with one place in the kernel `name` replaced."""
    at = kernel(program.source, name)
    return program.source[:at] + mutate(program.source[at:], pattern, replacement, which)


@pytest.fixture(scope="module")
def rows() -> Program:
    return program_of(ROWS.replace("OP", "sum"))


@pytest.fixture(scope="module")
def greatest() -> Program:
    return program_of(ROWS.replace("OP", "max"))


@pytest.fixture(scope="module")
def packed() -> Program:
    return program_of(LONG.replace("TYPE", "f32"))


@pytest.fixture(scope="module")
def separate() -> Program:
    return program_of(LONG.replace("TYPE", "f64"))


SHORT = {"R": 3, "C": 1000}
MANY = {"N": 64 * 40}


def walk(program: Program, source: str) -> Judgement:
    return judge(program, SHORT, source=source)


def look_back(program: Program, source: str) -> Judgement:
    return judge(program, MANY, source=source)


def test_nothing_is_wrong_as_generated(rows: Program, packed: Program, separate: Program) -> None:
    assert walk(rows, rows.source).text == ""
    assert look_back(packed, packed.source).text == look_back(separate, separate.source).text == ""


# A walk


def test_barrier_between_the_totals_of_warps(rows: Program) -> None:
    found = walk(rows, altered(rows, "rows_s", r"__syncthreads\(\);", ""))
    assert found.titles & {"race on shared memory", "read of shared memory never written"}


def test_one_half_of_shared_memory_for_all_tiles(rows: Program) -> None:
    found = walk(rows, altered(rows, "rows_s", r"/ TILE_J % 2\)", "/ TILE_J % 1)"))
    assert "race on shared memory" in found.titles


def test_identity_of_another_operator(greatest: Program) -> None:
    """Before a row, a thread, a lane, a warp. (Lanes past the end come after everything: nobody sees theirs.)"""
    below = {"x": np.full((3, 1000), -3.0, np.float32)}
    infinity = re.escape("-__int_as_float(0x7f800000)")
    wrong = 0
    for which in range(5):
        source = altered(greatest, "rows_s", infinity, "0.0f", which)
        wrong += bool(judge(greatest, SHORT, below, source).mismatches)
    assert wrong == 4


@pytest.mark.parametrize("name", ["from_below", "from_lane"])
def test_a_lane_left_out_of_a_shuffle(name: str, rows: Program) -> None:
    at = rows.source.index(f" T {name}(")
    source = rows.source[:at] + mutate(rows.source[at:], "0xffffffffu", "0x7fffffffu")
    assert "warp-wide instruction by a lane that its mask leaves out" in walk(rows, source).titles


def test_a_distance_of_the_warp_scan_left_out(rows: Program) -> None:
    assert walk(rows, mutate(rows.source, r"distance < LANES", "distance < LANES / 2")).mismatches


def test_carry_forgotten(rows: Program) -> None:
    source = altered(rows, "rows_s", r"sum_carry = sum_carry \+ [^;]*;", "")
    assert walk(rows, source).mismatches


def test_guard_of_the_last_tile(rows: Program) -> None:
    source = altered(rows, "rows_s", r"if \(j < C && i < R\)", "if (j <= C && i < R)")
    assert "read outside every allocation" in walk(rows, source).titles


# Look-back


def test_barrier_after_the_ticket(packed: Program) -> None:
    found = look_back(packed, altered(packed, "line_s_long", r"__syncthreads\(\);", "", 0))
    assert found.titles & {"race on shared memory", "read of shared memory never written"}


def test_barrier_after_look_back(packed: Program) -> None:
    found = look_back(packed, altered(packed, "line_s_long", r"__syncthreads\(\);", "", 2))
    assert found.titles & {"race on shared memory", "read of shared memory never written"}


def test_total_published_without_a_fence(separate: Program) -> None:
    found = look_back(separate, mutate(separate.source, r"__threadfence\(\);", "", 0))
    assert "race on global memory" in found.titles


def test_total_read_without_a_fence(separate: Program) -> None:
    found = look_back(separate, mutate(separate.source, r"__threadfence\(\);", "", 1))
    assert "race on global memory" in found.titles


def test_state_before_its_total(separate: Program) -> None:
    total, state = (
        r"totals\[2 \* static_cast<long long>\(place\) \+ state - 1\] = total;",
        r"\*at\(place\) = state;",
    )
    both = re.search(f"({total})(.*?)({state})", separate.source, re.S)
    assert both is not None
    source = separate.source[: both.start()] + both[3] + both[2] + both[1] + separate.source[both.end() :]
    assert "race on global memory" in look_back(separate, source).titles


@pytest.mark.parametrize("fence", [0, 1])
def test_totals_of_columns_without_a_fence(fence: int) -> None:
    text = """kernel down(R, C) {
        in  x: f64[R, C]
        out y: f64[R, C]
        y[i, j] = sum[k in 0..=i](x[k, j])
        schedule s { threads i = 4, j = 32; tile i = 16 }
    }"""
    program, sizes = program_of(text), {"R": 16 * 6, "C": 32}
    assert judge(program, sizes).text == ""
    source = mutate(program.source, r"__threadfence\(\);", "", fence)
    assert "race on global memory" in judge(program, sizes, source=source).titles


def test_a_chunk_that_never_publishes(packed: Program) -> None:
    source = mutate(packed.source, r"if \(closes && lane == 0\)", "if (closes && lane == 77)")
    source = mutate(source, r"states\.publish\(tiles \+ chunk, 1, total\);", "")
    assert "threads wait for each other for ever" in look_back(packed, source).titles


def test_waiting_for_a_later_tile(packed: Program) -> None:
    source = mutate(
        packed.source,
        r"const int neighbour = tile - inside \+ lane;",
        "const int neighbour = tile - inside + lane + 1;",
    )
    assert look_back(packed, source).text


def test_chunk_published_as_a_prefix(packed: Program) -> None:
    source = mutate(packed.source, r"publish\(tiles \+ chunk, 1, total\)", "publish(tiles + chunk, 2, total)")
    assert judge(packed, {"N": 64 * 100}, source=source).text


def test_ticket_counted_twice(packed: Program) -> None:
    source = altered(packed, "line_s_long", r"atomicAdd\(ticket, 1u\)", "atomicAdd(ticket, 2u)")
    assert look_back(packed, source).text
