"""Arrays past 2^31 elements: 64-bit indices are chosen and reach the last element (report B1, B3)."""

from __future__ import annotations

from typing import Any

import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.run.gpu import launch, place_empty
from tilegen.target import target
from tilegen.verify.movement import moves_of, run_moves

BYTES = 2**31 + 512
COPY = "kernel copy(N) { in a: u8[N]; out b: u8[N]; b[i] = a[i]; schedule bytes { threads i = 256 } }"
TRANSPOSE = "kernel transpose(M, N) { in a: u8[M, N]; out b: u8[N, M]; b[j, i] = a[i, j] }"


def programs(text: str) -> list[Program]:
    import cupy

    family = check(parse(source_from_text(text))).kernels[0]
    architecture = target(f"sm_{cupy.cuda.Device().compute_capability}")
    return [build(family.kernels[0], schedule, architecture) for schedule in (*family.schedules, None)]


def run(program: Program, sizes: dict[str, int], source: Any, result: Any) -> None:
    import cupy

    arguments = place_empty(program, sizes, None)
    shape = launch(program, arguments, {"a": source.data.ptr, "b": result.data.ptr})
    cupy.cuda.get_current_stream().synchronize()
    assert shape is not None and shape.index == "long long"


def coded(count: int) -> Any:
    """Bytes whose period is a prime, so that an index that wrapped is off."""
    import cupy

    return (cupy.arange(count, dtype=cupy.int64) % 251).astype(cupy.uint8)


@pytest.mark.gpu
@pytest.mark.parametrize("number", [0, 1])
def test_copy(number: int) -> None:
    import cupy

    program = programs(COPY)[number]
    source, result = coded(BYTES), cupy.full(BYTES, 255, cupy.uint8)
    run(program, {"N": BYTES}, source, result)
    assert bool((result == source).all())


@pytest.mark.gpu
def test_transpose() -> None:
    import cupy

    side = 46341  # side * side = 2147488281 > 2^31
    source = coded(side * side).reshape(side, side)
    result = cupy.full((side, side), 255, cupy.uint8)
    for program in programs(TRANSPOSE):
        run(program, {"M": side, "N": side}, source, result)
        assert bool((result == source.T).all())
        result.fill(255)


@pytest.mark.gpu
def test_mistakes_are_seen() -> None:
    """A copy where a transpose is wanted: nearly every element is wrong, and which one is said."""
    square = "kernel move(N) {{ in a: u8[N, N]; out b: u8[N, N]; b[j, i] = a[{}] }}"
    transpose = check(parse(source_from_text(square.format("i, j")))).kernels[0].kernels[0]
    moves = moves_of(transpose)
    assert moves is not None
    for program in programs(square.format("j, i")):
        (text,) = dict.fromkeys(run_moves(program, {"N": 5000}, moves) or ())
        assert "of 25000000 elements are wrong, the first at [0, 1]" in text
    for program in programs(square.format("i, j")):
        assert run_moves(program, {"N": 5000}, moves) == []


@pytest.mark.gpu
def test_a_histogram_of_more_elements_than_an_index_of_32_bits_reaches() -> None:
    import cupy

    text = "kernel hist(N) { in a: u8[N]; out b: i64[256]; b[k] = count[i](a[i] == k) }"
    for program in programs(text):
        source = cupy.zeros(BYTES, cupy.uint8)
        source[-300:] = 7
        result = cupy.full(256, -1, cupy.int64)
        run(program, {"N": BYTES}, source, result)
        assert int(result[0]) == BYTES - 300 and int(result[7]) == 300 and int(result.sum()) == BYTES
