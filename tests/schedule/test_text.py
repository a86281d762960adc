"""Schedules as text: every directive prints as it is written, and whatever `auto` chooses can be written down."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tilegen.core.schedule.directives import schedule_of, spec_of
from tilegen.core.schedule.model import Schedule
from tilegen.core.schedule.text import directive_text
from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.source import Source
from tilegen.lang.spec import Hint, Kernel, Memory, Placement, ScheduleSpec, Spec
from tilegen.program import Program, build
from tilegen.show import show
from tilegen.target import Target, target

from .kernels import random_kernel

ROOT = Path(__file__).parents[2]
SPECS = [
    *sorted((ROOT / "specs").glob("*.tile")),
    *sorted((ROOT / "tests" / "golden").glob("*.tile")),
    *sorted((ROOT / "tests" / "data" / "language").glob("*.tile")),
]
TARGET = target("sm_90")


# Directives

DIRECTIVES = """at M = 7, N = 300
tile i = 32, j = {8, 16}
tile i*j = 1024
threads 256
threads 64, j = 4
threads {128, 256}
stage a
stage a pad 1
stage a pad {0, 1}
stage a swizzle
stage a auto
stage a pad 4 buffers 2
stage a buffers {2, 3} async
keep a registers
keep a, c shared
keep registers
vector 4
vector 4, a = 2
vector a = {2, 4}, b = 8
in_flight 4
blocks i = 8
cluster i = {2, 4}
unroll i = 4
bounds {guard, split}
bounds exact
raster j, i
raster i, j group {2, 4}
hint a streaming
hint b {sectors, default}
max_registers 64
min_blocks {2, 4}
index i64
otherwise""".splitlines()


def schedules_in(directives: str) -> ScheduleSpec:
    text = f"""kernel t(M, N) {{ in a, c: f32[M, N]; out b: f32[M, N]; b[i, j] = a[i, j] + c[i, j]
        schedule s {{ {directives} }} }}"""
    return check(parse(source_from_text(text))).kernels[0].schedules[0]


@pytest.mark.parametrize("directive", DIRECTIVES)
def test_a_directive_prints_as_it_is_written(directive: str) -> None:
    (found,) = schedules_in(directive).directives
    assert directive_text(found) == directive
    assert found.span.text == directive


@pytest.mark.parametrize("directive", DIRECTIVES)
def test_a_directive_is_a_value_and_the_value_is_that_directive(directive: str) -> None:
    """Of single values; what holds in any case (`bounds guard`) leaves nothing behind."""
    for one in expand(schedules_in(directive)):
        if "buffers" in directive or directive == "otherwise":
            continue
        again = spec_of([schedule_of(one)], "s")
        assert again.directives == tuple(d for d in one.directives if directive_text(d) != "bounds guard")
        for found in again.directives:
            assert found.span.text == directive_text(found)


def test_a_schedule_prints_a_directive_a_line() -> None:
    """Every field, by hand."""
    schedule = Schedule(
        "auto",
        at=(("M", 7),),
        tile=(("ij", 64),),
        threads=(("ij", 32),),
        vector=2,
        vector_of=(("a", 4),),
        in_flight=3,
        hints=(("b", Hint.SECTORS),),
        min_blocks=2,
        called=(("ij", "i*j"),),
    )
    assert show(schedule) == (
        "schedule chosen {\n"
        "    at M = 7\n"
        "    tile i*j = 64\n"
        "    threads i*j = 32\n"
        "    vector 2, a = 4\n"
        "    in_flight 3\n"
        "    hint b sectors\n"
        "    min_blocks 2\n"
        "}"
    )
    assert show(Schedule("padded[pad = 1, tile i = 4]")) == "schedule padded_pad_1_tile_i_4 {\n}"


def test_values_of_directives() -> None:
    made = schedule_of(
        schedules_in(
            "stage a pad 1; stage c auto; keep a registers; keep c registers; threads 64, j = 4; vector b = 2"
        )
    )
    assert [(s.tensor, s.placement, s.pad) for s in made.stages] == [
        ("a", Placement.PADDED, 1),
        ("c", Placement.BEST, 0),
    ]
    assert made.keep is not None and (made.keep.tensors, made.keep.memory) == (("a", "c"), Memory.REGISTERS)
    assert (made.thread_count, made.threads, made.block_threads) == (64, (("j", 4),), 64)
    assert (made.width_of("a"), made.width_of("b"), made.item_width) == (1, 2, 2)


# What is left open

ROWS = "in x: f32[M, N]; out s: f32[M]; s[i] = sum[k](x[i, k])"
SOFT = "in x: f32[M, N]; out y: f32[M, N]; y[i, j] = x[i, j] - max[k](x[i, k])"
RUN = "in x: f32[M, N]; out y: f32[M, N]; y[i, j] = sum[k in 0..=j](x[i, k])"
COUNT = "in x: u8[M, N]; out h: i32[16]; h[b] = count[i, j](x[i, j] == b)"
TURN = "in x: f32[M, N]; out y: f32[N, M]; y[j, i] = x[i, j]"


@pytest.mark.parametrize(
    ("body", "written", "complete"),
    [
        # The tile of threads is what they are; without either a run of the output.
        (TURN, "threads j = 8, i = 32", "tile j = 8, i = 32; threads j = 8, i = 32"),
        (TURN, "vector y = 2", "tile i = 512; vector y = 2"),
        # 64 threads of a row take 256 of its points in 4 steps, in 2 with vectors of 2.
        (ROWS, "threads k = 64; tile k = 256", "threads k = 64; in_flight 4"),
        (ROWS, "threads k = 64; tile k = 256; vector x = 2", "threads k = 64; vector x = 2; in_flight 2"),
        (ROWS, "threads i = 4, k = 32; unroll k = 3", "threads i = 4, k = 32; in_flight 3"),
        # A row that is walked twice stays in registers where it is no longer than the tile.
        (
            SOFT,
            "threads k = 64; tile k = 128",
            "threads j = 64; keep x registers; in_flight 2; otherwise; threads j = 64; in_flight 2",
        ),
        # A scan has a step for each 64 points of its tile; 16 elements a thread where no tile is written.
        (RUN, "threads j = 64; tile j = 128", "tile j = 128; threads j = 64"),
        (RUN, "threads i = 2, j = 64", "tile i = 2, j = 1024; threads i = 2, j = 64"),
        # Two blocks of 512 threads on a multiprocessor; 64 KiB under way by single bytes would take more than 8 loads.
        (COUNT, "threads i*j = 512", "threads i*j = 512; in_flight 8; min_blocks 2"),
        (COUNT, "unroll i*j = 2; min_blocks 3", "threads 512; in_flight 2; min_blocks 3"),
    ],
)
def test_what_a_schedule_leaves_open_is_filled_in(body: str, written: str, complete: str) -> None:
    text = f"kernel t(M, N) {{ {body}; schedule s {{ {written} }} }}"
    family = check(parse(source_from_text(text))).kernels[0]
    program = build(family.kernels[0], family.schedules[0], TARGET)
    assert "; ".join(map(directive_text, spec_of(program.schedules).directives)) == complete


# Whatever `auto` chooses


def with_schedule(spec: Spec, number: int, schedule: str) -> Spec:
    """The spec with a schedule in front of everything else of one of its kernels."""
    text, family = spec.source.text, spec.kernels[number]
    head = re.compile(rf"kernel\s+{family.name}\s*(\[[^\]]*\])?\s*\([^)]*\)\s*\{{").search(text)
    assert head is not None
    return check(parse(Source(spec.source.name, f"{text[: head.end()]}\n{schedule}\n{text[head.end() :]}")))


def code(program: Program) -> str:
    """Source and header with the names of kernels by number; a longer name breaks lines elsewhere."""
    text = program.source + program.rendered.header
    for number, plan in enumerate(program.plans):
        text = re.sub(rf"\b{re.escape(plan.name)}\b", f"KERNEL{number}", text)
    return " ".join(text.split())


def unnamed(program: Program) -> tuple[Schedule, ...]:
    return tuple(replace(s, name="") for s in program.schedules)


def again(spec: Spec, number: int, choice: int, program: Program) -> None:
    """What a program was made for, printed, read back and built again, is the same schedule and the same code."""
    declared = with_schedule(spec, number, show(spec_of(program.schedules, "again"))).kernels[number]
    written = next(s for s in declared.schedules if s.name == "again")
    rebuilt = build(declared.kernels[choice], written, program.target)
    assert unnamed(rebuilt) == unnamed(program)
    assert code(rebuilt) == code(program)


def built(
    kernel: Kernel, schedule: ScheduleSpec | None, sizes: dict[str, int] | None, chosen_for: Target
) -> Program | None:
    try:
        return build(kernel, schedule, chosen_for, sizes=sizes)
    except SpecError:
        return None


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_auto_of_every_spec(path: Path) -> None:
    """Without sizes and, for the first types, with those of the tests; every written schedule too."""
    spec = check(parse(Source(path.name, path.read_text(encoding="utf-8"))))
    for number, family in enumerate(spec.kernels):
        for choice, kernel in enumerate(family.kernels):
            programs = [built(kernel, None, None, TARGET)]
            if choice == 0:
                programs += [built(kernel, None, dict(t.sizes), TARGET) for t in family.tests]
                programs += [built(kernel, v, None, TARGET) for s in family.schedules for v in expand(s)]
            for program in programs:
                if program is not None:
                    again(spec, number, choice, program)


@pytest.mark.parametrize("seed", range(80))
def test_auto_of_random_kernels(seed: int) -> None:
    text, sizes = random_kernel(seed)
    chosen_for = target(("sm_90", "sm_80", "sm_75", "sm_100")[seed % 4])
    spec = check(parse(source_from_text(text)))
    for known in (None, sizes):
        program = built(spec.kernels[0].kernels[0], None, known, chosen_for)
        assert program is not None
        again(spec, 0, 0, program)


def test_one_schedule_is_enough_for_build() -> None:
    kernel = check(parse(source_from_text(f"kernel t(M, N) {{ {TURN} }}"))).kernels[0].kernels[0]
    chosen = build(kernel, None, TARGET, sizes={"M": 1000, "N": 2000}).schedule
    program = build(kernel, replace(chosen, name="found"), TARGET)
    assert program.plans[0].name == "t_found" and replace(program.schedule, name="") == replace(
        chosen, name=""
    )


def test_what_a_value_cannot_have_is_told_in_its_text() -> None:
    kernel = check(parse(source_from_text(f"kernel t(M, N) {{ {TURN} }}"))).kernels[0].kernels[0]
    with pytest.raises(SpecError) as caught:
        build(kernel, Schedule("s", tile=(("j", 32),), blocks=(("i", 4),)), TARGET)
    (problem,) = caught.value.diagnostics
    assert problem.code == "TG0623" and problem.span is not None
    assert (problem.span.text, problem.span.line) == ("blocks i = 4", 3)
