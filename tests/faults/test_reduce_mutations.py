"""Generated reductions made wrong on purpose: each mistake is found, by the simulator or by the comparison."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from tilegen.program import Program

from .test_mutations import Judgement, judge, program_of

SOFTMAX = """kernel softmax(R, C) {
    in x: f32[R, C]; out y: f32[R, C]
    let e[i, j] = exp(x[i, j] - max[k](x[i, k]))
    y[i, j] = e[i, j] / sum[k](e[i, k])
    schedule held { threads i = 2, j = 64; tile j = 128 }
}"""
EXTREMES = """kernel extremes(R, C) {
    in x: f32[R, C]; out m: f32[R]; out at: i64[R]
    m[i] = max[j](x[i, j] - 1000.0)
    at[i] = argmax[j](x[i, j] * 0.0)
    schedule team { threads i = 2, j = 64 }
}"""
TOTAL = "kernel total(N) { in x: i32[N]; out s: i32[]; s[] = sum[i](x[i]) }"
SHARED_ROWS = "kernel rows(R, C) { in x: i32[R, C]; out s: i32[R]; s[i] = sum[j](x[i, j]) }"
COLUMNS = """kernel columns(R, C) {
    in x: f32[R, C]; out s: f32[C]
    s[j] = mean[i](x[i, j])
    schedule wide { threads i = 8, j = 32 }
}"""
IN_PLACE = """kernel shifted(R, C) {
    in x: f32[R, C]; inout s: f32[R]; out y: f32[R, C]
    y[i, j] = x[i, j] + s[i]
    s[i] = s[i] + sum[j](x[i, j])
    schedule team { threads i = 2, j = 64 }
}"""
CASES = {
    "softmax": (SOFTMAX, "held", {"R": 5, "C": 100}),
    "extremes": (EXTREMES, "team", {"R": 5, "C": 101}),
    "total": (TOTAL, None, {"N": 40_001}),
    "columns": (COLUMNS, "wide", {"R": 67, "C": 45}),
    "in_place": (IN_PLACE, "team", {"R": 5, "C": 300}),
}

# Kernel, what is replaced, by what, which of the places (0: the first), what is said of it.
MUTATIONS = {
    "the barrier before the second stage of the first reduction": (
        "softmax", r"__syncthreads\(\);", "", 0, "race on shared memory|never written",
    ),
    "the barrier before the second stage of the second reduction": (
        "softmax", r"__syncthreads\(\);", "", 1, "race on shared memory|never written",
    ),
    "the barrier between the threads of a column": (
        "columns", r"__syncthreads\(\);", "", 0, "race on shared memory|never written",
    ),
    "the barrier before what all read is overwritten": (
        "in_place", r"__syncthreads\(\);", "", 1, "race on global memory",
    ),
    "0 for lanes without an element, where all elements are negative": (
        "extremes", r"float row_max = -__int_as_float\(0x7f800000\)", "float row_max = 0.0f", 0, "wrong",
    ),
    "1 for lanes without an element of a sum": (
        "softmax", r"float row_sum = 0.0f", "float row_sum = 1.0f", 0, "wrong",
    ),
    "a shuffle without its last lane": (
        "softmax", r"0xffffffffu", "0x7fffffffu", 0, "lane|mask|shuffle",
    ),
    "a butterfly that starts a step late": (
        "softmax", r"LANES / 2", "LANES / 4", 0, "wrong",
    ),
    "one warp too few": (
        "softmax", r"across_lanes<Sum, 2>", "across_lanes<Sum, 1>", 0, "wrong",
    ),
    "one warp too many": (
        "softmax", r"row_sum_parts\[team \* 2 \+ thread % 2\]", "row_sum_parts[team * 2 + thread % 4]", 0,
        "outside|never written|wrong",
    ),
    "the partial results of the other row": (
        "softmax", r"row_max_parts\[team \* 2 \+ ", "row_max_parts[(1 - team) * 2 + ", 0, "wrong",
    ),
    "no guard at the ragged end of a row": (
        "extremes", r"inside_ && j < C", "inside_", 0, "read outside every allocation|wrong",
    ),
    "a guard that is off by one": (
        "softmax", r"inside_ && j < C", "inside_ && j <= C", 0, "read outside every allocation",
    ),
    "no guard for the rows that are not there": (
        "extremes", r"const bool inside_ = i < R", "const bool inside_ = true", 0, "outside every allocation",
    ),
    "a row that is one element short": (
        "columns", r"i < R", "i < R - 1", 0, "wrong",
    ),
    "a mean over the wrong count": (
        "columns", r"static_cast<float>\(R\)", "static_cast<float>(TEAM)", 0, "wrong",
    ),
    "the last of equal elements": (
        "extremes", r"b\.index < a\.index", "b.index > a.index", 0, "wrong",
    ),
    "every thread of a row writes its result": (
        "extremes", r"if \(member == 0 && inside_\)", "if (member <= 1 && inside_)", 0, "race on global memory",
    ),
    "results that a row leaves for the next one": (
        "columns", r"row_mean_parts\[m\]", "row_mean_parts[m - 1]", 0, "wrong",
    ),
    # Blocks that share a row
    "no fence before a part is counted": (
        "total", r"__threadfence\(\);", "", 0, "race on global memory",
    ),
    "no fence before the parts are read": (
        "total", r"__threadfence\(\);", "", 1, "race on global memory",
    ),
    "a part beside its place": (
        "total", r"part0\[part\] = ", "part0[part + 1] = ", 0, "outside every allocation|never written",
    ),
    "parts that start with the second": (
        "total", r"for \(unsigned q = member;", "for (unsigned q = member + 1;", 0, "wrong",
    ),
    "the last block but one goes on": (
        "total", r"\+ 1 == parts", "+ 2 == parts", 0, "race on global memory|never written|wrong",
    ),
    "every block goes on": (
        "total", r"if \(!last\)", "if (false)", 0, "race on global memory|never written",
    ),
    "a ticket that is not taken atomically": (
        "total", r"atomicAdd\(tickets \+ row_block, 1u\)", "tickets[row_block]++", 0, "race on global memory",
    ),
    "no barrier before the block is told": (
        "total", r"__syncthreads\(\);", "", 2, "race on shared memory|never written",
    ),
    "no barrier before the ticket": (
        "total", r"__threadfence\(\);\n    __syncthreads\(\);", "__threadfence();", 0, "",
    ),
    "a chunk that two blocks take": (
        "total", r"static_cast<index_t>\(parts\) \* (\d+)", r"static_cast<index_t>(1) * \1", 0, "wrong",
    ),
}  # fmt: skip
# One thread writes the part and takes the ticket: the barrier between them is for blocks whose teams are many.
HARMLESS = {"no barrier before the ticket"}


@cache
def program(name: str) -> Program:
    text, schedule, _ = CASES[name]
    return program_of(text, schedule)


def kernel_of(made: Program, name: str) -> int:
    """The number of the plan that the case launches."""
    shape = made.shape(CASES[name][2], {}, {p.name: 1 << 33 for p in made.nest.pointers})
    assert shape is not None
    return shape.plan


def mutated(name: str, pattern: str, replacement: str, which: int) -> str:
    """The source with one match replaced: the `which`-th in the kernel that is launched, else in the helpers."""
    made = program(name)
    entry = made.rendered.entry(kernel_of(made, name), "int").split("::")[1].split("<")[0]
    start = made.source.index(f" {entry}(")
    end = made.source.index("\n}\n", start)
    places = list(re.finditer(pattern, made.source))
    inside = [m for m in places if start < m.start() < end] or [m for m in places if m.start() < start]
    place = inside[which]
    return made.source[: place.start()] + place.expand(replacement) + made.source[place.end() :]


def found_in(name: str, source: str) -> Judgement:
    return judge(program(name), source, CASES[name][2])


@pytest.mark.parametrize("name", CASES)
def test_the_source_as_generated_is_right(name: str) -> None:
    assert found_in(name, program(name).source).text == ""


@pytest.mark.parametrize("mistake", MUTATIONS)
def test_a_mistake_is_found(mistake: str) -> None:
    name, pattern, replacement, which, said = MUTATIONS[mistake]
    found = found_in(name, mutated(name, pattern, replacement, which))
    if mistake in HARMLESS:
        assert found.text == ""
        return
    assert re.search(said, found.text), found.text


def test_tickets_that_do_not_start_at_zero() -> None:
    """Without the launcher's memset the last block is not known."""
    made = program("total")
    number = kernel_of(made, "total")
    plan = made.plans[number]
    scratch = tuple(replace(s, zeroed=False) for s in plan.scratch)
    plans = tuple(replace(p, scratch=scratch) if n == number else p for n, p in enumerate(made.plans))
    found = judge(replace(made, plans=plans), made.source, CASES["total"][2])
    assert "never written" in found.text


def test_a_vector_on_a_row_that_does_not_hold_whole_ones() -> None:
    made = program_of(SOFTMAX.replace("tile j = 128", "tile j = 256; vector 4"), "held")
    bare = replace(made, plans=(replace(made.plans[0], conditions=()), *made.plans[1:]))
    found = judge(bare, made.source, {"R": 3, "C": 101})
    assert "misaligned access" in found.titles or "read outside every allocation" in found.titles


def test_a_row_longer_than_what_stays_in_registers() -> None:
    """The launcher's condition is what makes the held kernel right."""
    made = program("softmax")
    bare = replace(made, plans=(replace(made.plans[0], conditions=()), *made.plans[1:]))
    found = judge(bare, made.source, {"R": 3, "C": 129})
    assert found.text != ""
