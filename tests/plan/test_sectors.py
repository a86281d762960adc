"""Tiles whose rows of the output begin and end at sectors: what they cover and write, and where `auto` has them."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest

import tilegen
from tilegen.analysis.metrics import metrics
from tilegen.core.schedule.directives import schedule_lines
from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.parse import parse, source_from_text
from tilegen.numpy_types import Array
from tilegen.program import Program, build
from tilegen.run.outcome import Options
from tilegen.run.simulated import simulate_program
from tilegen.target import target

TARGET = target("sm_90")
TYPES = {"u8": np.uint8, "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64}
TYPES["c128"] = np.complex128
# Type, extents, order of the output's axes, directives; the points of a row of the tile that lie end to end.
CASES = [
    ("f32", (201, 67), (1, 0), "tile a = 64, b = 64; stage x", 64),
    ("f32", (201, 67), (1, 0), "tile a = 64, b = 64; stage x; bounds split", 64),
    ("f32", (70, 3, 41), (2, 1, 0), "tile a = 32, c = 41; stage x; bounds split", 32),
    ("f32", (128, 64), (1, 0), "tile a = 32, b = 32; stage x; bounds exact", 32),
    ("f32", (2, 33, 3, 13, 65), (4, 2, 0, 3, 1), "tile e = 65, d = 2, b = 33; stage x; bounds split", 66),
    ("f32", (2, 33, 3, 14, 65), (4, 2, 0, 3, 1), "tile e = 65, d = 4, b = 33; stage x", 132),
    ("f32", (3, 9, 20, 5), (3, 0, 2, 1), "tile d = 5, b = 9, c = 6; stage x", 54),
    (
        "f32",
        (2, 3, 21, 4, 37),
        (4, 1, 2, 3, 0),
        "tile e = 37, a = 2, d = 4, c = 5; stage x; bounds split",
        40,
    ),
    ("f32", (130, 41, 3), (2, 1, 0), "tile a = 65, b = 40, c = 3; stage x; raster a, b group 2", 65),
    ("f32", (9, 700), (1, 0), "tile a = 7, b = 100; stage x; bounds split", 7),
    ("u8", (150, 301), (1, 0), "tile a = 70, b = 33; stage x; bounds split", 70),
    ("f16", (91, 101), (1, 0), "tile a = 40, b = 33; stage x pad 1", 40),
    ("f64", (107, 53), (1, 0), "tile a = 32, b = 64; stage x; bounds split", 32),
    ("c64", (50, 43), (1, 0), "tile a = 16, b = 32; stage x", 16),
    ("c128", (35, 101), (1, 0), "tile a = 9, b = 32; stage x", 9),
    ("f32", (75, 64), (1, 0), "tile a = 32, b = 64; stage x; vector x = 4", 32),
]


def spec(dtype: str, extents: tuple[int, ...], order: tuple[int, ...], schedule: str) -> str:
    axes = "abcde"[: len(extents)]
    out = [axes[n] for n in order]
    return (
        f"kernel p() {{ in x: {dtype}[{', '.join(map(str, extents))}]; "
        f"out y: {dtype}[{', '.join(str(extents[n]) for n in order)}]; "
        f"y[{', '.join(out)}] = x[{', '.join(axes)}]; schedule s {{ {schedule}; hint y sectors }} }}"
    )


def program_of(text: str) -> Program:
    family = check(parse(source_from_text(text))).kernels[0]
    return build(family.kernels[0], expand(family.schedules[0])[0], TARGET)


def fitted(text: str, sizes: dict[str, int]) -> Program:
    return build(check(parse(source_from_text(text))).kernels[0].kernels[0], None, TARGET, sizes=sizes)


def sectors_written(starts: Array, length: int, tile: int, unit: int) -> int:
    """Sectors of the stores of rows of `length` elements that begin at the places `starts`: pieces of `tile`, each from
    the first sector that begins in it to the first that begins behind it, 32 lanes at a time."""
    total = 0
    for start in starts:
        for first in range(0, length, tile):
            begin = first + (-(start + first) % unit if first else 0)
            end = min(length, first + tile + -(start + first + tile) % unit)
            for lane in range(begin, end, 32):
                last = min(lane + 32, end) - 1
                total += (start + last) // unit - (start + lane) // unit + 1
    return total


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]} {c[1]} {c[2]} {c[3]}")
def test_every_element_arrives_in_whole_sectors(
    case: tuple[str, tuple[int, ...], tuple[int, ...], str, int],
) -> None:
    """At any alignment that an element allows, in both index types; the stores are counted as they should be."""
    dtype, extents, order, schedule, tile = case
    program = program_of(spec(dtype, extents, order, schedule))
    x = (np.arange(prod(extents)) % 251).reshape(extents).astype(TYPES[dtype])
    size, shape = x.dtype.itemsize, [extents[n] for n in order]
    inner = next(prod(shape[n:]) for n in range(len(shape)) if prod(shape[n + 1 :]) < tile)
    for index, late in (("int", 0), ("long long", 3)):
        options = Options(misalign={"y": late * size, "x": size} if late else {}, index=index)
        run = simulate_program(program, {}, {"x": x}, options=options)
        assert not run.faults, "\n".join([*map(str, run.faults), program.source])
        np.testing.assert_array_equal(run.outputs["y"], x.transpose(order))
        starts = np.arange(0, x.size, inner) + late
        assert metrics(program, run, {"x": x}).store_sectors == sectors_written(
            starts, inner, tile, 32 // size
        )


def test_a_row_that_begins_nowhere_in_a_sector_moves_a_sector_less_per_request() -> None:
    """What it is for: 4 sectors for the 32 lanes of f32, not 5, and no sector that two blocks write."""
    case = ("f32", (2049, 33), (1, 0), "tile a = 64, b = 33; stage x")
    x = np.arange(2049 * 33, dtype=np.float32).reshape(2049, 33)
    found = {}
    for name, text in (("whole", spec(*case)), ("parts", spec(*case).replace("; hint y sectors", ""))):
        program = program_of(text)
        run = simulate_program(program, {}, {"x": x})
        found[name] = metrics(program, run, {"x": x})
    assert found["parts"].store_sectors > 1.2 * found["parts"].ideal_store_sectors
    assert found["whole"].store_sectors < 1.01 * found["whole"].ideal_store_sectors


TRANSPOSE = "kernel t(M, N) {{ in a: {0}[M, N]; out b: {0}[N, M]; b[j, i] = a[i, j] }}"


@pytest.mark.parametrize(
    ("dtype", "tile"), [("f32", (64, 64)), ("f64", (64, 32)), ("f16", (64, 128)), ("u8", (64, 128))]
)
def test_auto_has_them_where_rows_begin_anywhere(dtype: str, tile: tuple[int, int]) -> None:
    program = fitted(TRANSPOSE.format(dtype), {"M": 8191, "N": 8193})
    assert dict(program.schedule.tile) == {"j": tile[0], "i": tile[1]}
    assert "hint b sectors" in schedule_lines(program.schedules)[0]


@pytest.mark.parametrize(
    "sizes", [{"M": 8192, "N": 8192}, {"M": 300, "N": 301}], ids=["vectors", "few blocks"]
)
def test_auto_does_not_have_them_elsewhere(sizes: dict[str, int]) -> None:
    assert "sectors" not in schedule_lines(fitted(TRANSPOSE.format("f32"), sizes).schedules)[0]


def test_auto_has_them_over_several_short_axes() -> None:
    text = (
        "kernel k(A, B, C, D, E) { in x: f32[A, B, C, D, E]; out y: f32[E, C, A, D, B];"
        " y[e, c, a, d, b] = x[a, b, c, d, e] }"
    )
    program = fitted(text, {"A": 32, "B": 33, "C": 31, "D": 65, "E": 65})
    assert schedule_lines(program.schedules)[0].startswith(
        "at A = 32, B = 33, C = 31, D = 65, E = 65; tile e = 65, d = 5, b = 33; stage x auto; "
        "bounds split; hint y sectors"
    )
    # 33 rows of the load and 65 of the output: 11 warps leave one of them idle once.
    assert program.plans[0].threads == 352


def test_the_tile_of_a_run_that_is_all_of_it_has_none() -> None:
    """Its sectors are its own but for the two ends."""
    text = "kernel k(A, B, C) { in x: f32[A, B, C]; out y: f32[A, C, B]; y[a, c, b] = x[a, b, c] }"
    program = fitted(text, {"A": 512, "B": 31, "C": 2049})
    assert "sectors" not in schedule_lines(program.schedules)[0]


def test_the_variant_without_vectors_of_a_file_has_them() -> None:
    program = build(
        check(parse(source_from_text(TRANSPOSE.format("f32")))).kernels[0].kernels[0], None, TARGET
    )
    wide, single = re.split(r"__global__", program.source)[1:]
    assert "to_sector" not in wide and "to_sector" in single
    x = np.random.default_rng(3).normal(size=(67, 131)).astype(np.float32)
    np.testing.assert_array_equal(tilegen.loads(TRANSPOSE.format("f32"))(x), x.T)


def test_what_is_written_in_place_is_refused() -> None:
    text = (
        "kernel k(M, N) { inout a: f32[M, N]; a[i, j] = a[i, j] * 2.0; "
        "schedule s { tile i = 4, j = 64; stage a; hint a sectors } }"
    )
    with pytest.raises(SpecError) as caught:
        program_of(text)
    (found,) = caught.value.diagnostics
    assert found.code == "TG0622" and "other blocks write it" in found.notes[0]


def test_it_is_a_hint_for_what_is_written() -> None:
    with pytest.raises(SpecError) as caught:
        check(parse(source_from_text(spec(*CASES[0][:4]).replace("hint y", "hint x"))))
    (found,) = caught.value.diagnostics
    assert found.code == "TG0528" and found.message == "`x` is only read, and `sectors` is a hint for writes"


def drawn(seed: int) -> tuple[str, dict[str, int], tuple[int, ...], tuple[int, ...], str]:
    """A permutation, its tile with the fastest axes of the output whole and a part of the next: the spec, sizes of
    a launch, extents, order, type."""
    rng = np.random.default_rng(seed)

    def pick(*choices: str) -> str:
        return choices[rng.integers(len(choices))]

    extents: list[int] = []
    for _ in range(rng.integers(2, 6)):
        fitting = [e for e in (2, 3, 5, 7, 8, 11, 16, 31, 33, 40, 65) if prod(extents) * e <= 8000]
        extents.append(int(rng.choice(fitting or [2])))
    order = tuple(int(n) for n in rng.permutation(len(extents)))
    axes = "abcde"[: len(extents)]
    held = int(rng.integers(0, len(extents) - 1))
    while extents[order[-1 - held]] < 3:
        extents[order[-1 - held]] = 9
    whole, along = [order[-1 - n] for n in range(held)], order[-1 - held]
    tile = {n: extents[n] for n in whole} | {along: int(rng.integers(2, extents[along]))}
    others = [n for n in order if n not in tile]
    for n in rng.permutation(others)[: rng.integers(1, 3)]:
        tile[int(n)] = int(min(extents[n], max(2, rng.integers(2, 40)), max(2, 4096 // prod(tile.values()))))
    fixed = {n for n in range(len(extents)) if n in whole or rng.integers(2)}
    name = [str(e) if n in fixed else f"N{axes[n]}" for n, e in enumerate(extents)]
    dtype = str(rng.choice(["f32", "f32", "u8", "f16", "f64", "c64"]))
    layout = pick("", "", " offset 3", " align 16B") if len(extents) > 1 else ""
    directives = [
        "tile " + ", ".join(f"{axes[n]} = {t}" for n, t in tile.items()),
        "stage x" + pick("", "", " pad 1", " pad 3"),
        "bounds " + pick("guard", "split"),
        "hint y sectors",
        *([pick("index i64", "min_blocks 2", "max_registers 48")] if rng.integers(3) == 0 else []),
    ]
    text = (
        f"kernel p({', '.join(f'N{axes[n]}' for n in range(len(extents)) if n not in fixed)}) {{ "
        f"in x: {dtype}[{', '.join(name)}]; out y: {dtype}[{', '.join(name[n] for n in order)}]{layout}; "
        f"y[{', '.join(axes[n] for n in order)}] = x[{', '.join(axes)}] + x[{', '.join(axes)}] * 0; "
        f"schedule s {{ {'; '.join(directives)} }} }}"
    )
    if dtype == "c64" or rng.integers(2):
        text = text.replace(f" + x[{', '.join(axes)}] * 0", "")
    sizes = {f"N{axes[n]}": e for n, e in enumerate(extents) if n not in fixed}
    return text, sizes, tuple(extents), order, dtype


@pytest.mark.parametrize("seed", range(32))
def test_any_permutation_in_whole_sectors(seed: int) -> None:
    text, sizes, extents, order, dtype = drawn(seed)
    program = program_of(text)
    assert program.plans[0].sectors is not None, text
    x = (np.arange(prod(extents)) % 101).reshape(extents).astype(TYPES[dtype])
    late = 0 if "align" in text else seed % 5 * x.dtype.itemsize
    for index in ("int", "long long"):
        options = Options(misalign={"x": late, "y": late}, index=None if "index" in text else index)
        run = simulate_program(program, sizes, {"x": x}, options=options)
        assert not run.faults, "\n".join([text, *map(str, run.faults), program.source])
        np.testing.assert_array_equal(run.outputs["y"], x.transpose(order), text)


@pytest.mark.parametrize(
    ("extents", "order", "tile"),
    [
        ((40, 20, 1), (1, 0, 2), "c = 1, a = 16, b = 4"),
        ((5, 40, 1, 20), (3, 1, 2, 0), "a = 5, b = 16, d = 4, c = 1"),
        ((5, 40, 1, 20), (3, 1, 0, 2), "a = 5, b = 16, d = 4, c = 8"),
        ((1, 40, 1, 20), (3, 0, 2, 1), "a = 1, b = 16, c = 1, d = 4"),
    ],
)
def test_axes_of_one_point_may_be_named(extents: tuple[int, ...], order: tuple[int, ...], tile: str) -> None:
    program = program_of(spec("f32", extents, order, f"tile {tile}; stage x"))
    x = np.arange(prod(extents), dtype=np.float32).reshape(extents)
    run = simulate_program(program, {}, {"x": x})
    assert program.plans[0].sectors is not None and not run.faults
    np.testing.assert_array_equal(run.outputs["y"], x.transpose(order))


def test_a_row_shorter_than_its_margin_has_no_sure_step() -> None:
    program = program_of(spec("u8", (67, 41), (1, 0), "tile a = 2, b = 2; stage x; bounds split"))
    assert "-1" not in program.source
    x = (np.arange(67 * 41) % 251).astype(np.uint8).reshape(67, 41)
    np.testing.assert_array_equal(simulate_program(program, {}, {"x": x}).outputs["y"], x.T)


SHORT = (
    "kernel k(A, B) {{ in x: {0}[{1}, A, B]; out y: {0}[A, B, {1}]{2}; y[a, b, c] = x[c, a, b] }}",
    "kernel k(A, B) {{ in x: {0}[A, B, {1}]; out y: {0}[A, {1}, B]{2}; y[a, c, b] = x[a, b, c] }}",
    "kernel k(A, B) {{ in x: {0}[A, {1}, B]; out y: {0}[{1}, B, A]{2}; y[c, b, a] = x[a, c, b] }}",
    "kernel k(A, B) {{ in x: {0}[A, B]; out y: {0}[B, A]{2}; y[b, a] = x[a, b] }}",
)


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32", "f64", "c128"])
@pytest.mark.parametrize("layout", ["", " offset 1", " pitch 33"])
def test_auto_is_never_refused(dtype: str, layout: str) -> None:
    """Short axes on either side, with vectors of the load that go on from axis to axis, and outputs without vectors."""
    for text in SHORT:
        for short in (2, 3, 5, 16):
            for sizes in (None, {"A": 33, "B": 200001}, {"A": 1001, "B": 51}, {"A": 2000000, "B": 151}):
                kernel = (
                    check(parse(source_from_text(text.format(dtype, short, layout)))).kernels[0].kernels[0]
                )
                program = build(kernel, None, TARGET, sizes=sizes)
                row = program.plans[0].sectors
                if row is not None and sizes is not None:
                    known = program.plans[0].tile(row.along).extent.constant or sizes[row.along.upper()]
                    assert row.axes[-1][1] < known, "no row goes on in another tile"


@pytest.mark.parametrize(("dtype", "one"), [("u8", "1"), ("f32", "1.0"), ("f64", "1.0")])
def test_auto_writes_no_whole_sectors_of_what_it_reads(dtype: str, one: str) -> None:
    """Elements beyond a tile belong to other blocks, which write them meanwhile."""
    text = (
        f"kernel k(M) {{ inout x: {dtype}[M + 7, M + 1]; in z: u64[M, M]; "
        f"x[i + 3, j + 1] = where(z[j, i] < 10, x[i + 3, j + 1], {one}) for i in 0..M, j in 0..M }}"
    )
    kernel = check(parse(source_from_text(text))).kernels[0].kernels[0]
    for sizes in (None, {"M": 5}, {"M": 1501}):
        program = build(kernel, None, TARGET, sizes=sizes)
        assert all(plan.sectors is None for plan in program.plans)
