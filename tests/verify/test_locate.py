"""Which thread computes an element: asked of the simulator, by a kernel that writes its own coordinates."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.run.simulated import simulate_program
from tilegen.target import target
from tilegen.verify.compare import locate

TEXT = """\
kernel rows(M, N) {
    in  a: f32[M, N]
    out b: i32[N, M]

    b[j, i] = i32(a[i, j])

    schedule naive  { threads i = 8, j = 32 }
    schedule tall   { tile i = 64, j = 32; threads i = 4, j = 32 }
    schedule tiled  { tile i = 32, j = 32; stage a pad 1 }
    schedule walk   { tile i = 32, j = 16; stage a pad 1; raster i, j group 2 }
}
"""


def program_of(schedule: str) -> Program:
    family = check(parse(source_from_text(TEXT))).kernels[0]
    chosen = next(s for s in family.schedules if s.name == schedule)
    return build(family.kernels[0], chosen, target("sm_90"))


@pytest.mark.parametrize("schedule", ["naive", "tall", "tiled", "walk"])
def test_the_thread_that_the_simulator_saw(schedule: str) -> None:
    program = program_of(schedule)
    source = re.sub(r"(b\[[^;]*\]) = [^;]*;", r"\1 = static_cast<int>(threadIdx.x);", program.source)
    assert source != program.source
    inputs = {"a": np.zeros((70, 45), np.float32)}
    run = simulate_program(program, {"M": 70, "N": 45}, inputs, source=source)
    assert run.shape is not None
    for index in [(0, 0), (44, 69), (17, 33), (31, 64), (44, 0)]:
        place = locate(program.plans[run.shape.plan], run, "b", None, index)
        assert place is not None
        assert place.thread == run.outputs["b"][index]
        assert dict(place.point) == {"j": index[0], "i": index[1]}


def test_a_block_that_walks_its_tile_as_one_line() -> None:
    family = check(parse(source_from_text(TEXT))).kernels[0]
    sizes = {"M": 33, "N": 65}
    program = build(family.kernels[0], None, target("sm_90"), sizes=sizes)
    source = re.sub(r"(b\[[^;]*\]) = [^;]*;", r"\1 = static_cast<int>(threadIdx.x);", program.source)
    run = simulate_program(program, sizes, {"a": np.zeros((33, 65), np.float32)}, source=source)
    assert run.shape is not None and run.shape.plan == 0
    for index in [(0, 0), (64, 32), (17, 31), (31, 7), (64, 0)]:
        place = locate(program.plans[0], run, "b", None, index)
        assert place is not None and place.thread == run.outputs["b"][index]


def test_the_last_tile_is_called_so() -> None:
    program = program_of("tiled")
    run = simulate_program(program, {"M": 70, "N": 45}, {"a": np.zeros((70, 45), np.float32)})
    place = locate(program.plans[0], run, "b", None, (44, 69))
    assert place is not None
    assert "i = 2 of 3 (the last)" in str(place) and "j = 1 of 2 (the last)" in str(place)


def test_an_element_that_nothing_computes() -> None:
    program = program_of("tiled")
    run = simulate_program(program, {"M": 70, "N": 45}, {"a": np.zeros((70, 45), np.float32)})
    assert locate(program.plans[0], run, "b", None, (99, 0)) is None


def test_threads_that_take_several_neighbours() -> None:
    text = "kernel k(N) { in a: f32[N]; out b: f32[N]; b[i] = a[i]; schedule v { tile i = 256; vector 4 } }"
    family = check(parse(source_from_text(text))).kernels[0]
    program = build(family.kernels[0], family.schedules[0], target("sm_90"))
    run = simulate_program(program, {"N": 1024}, {"a": np.zeros(1024, np.float32)})
    for number in (0, 3, 4, 255, 259, 1023):
        place = locate(program.plans[0], run, "b", None, (number,))
        assert place is not None
        assert place.thread == number % 256 // 4
        assert place.tiles == (("i", number // 256, 4),)
