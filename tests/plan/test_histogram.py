"""Histograms on the simulator against NumPy's own counting, at sizes that strides, vectors and bins make awkward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilegen
from tilegen.families.histogram.phases import CountElements
from tilegen.lang.check import check
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.program import Program, build
from tilegen.run.outcome import Options
from tilegen.run.simulated import simulate_program
from tilegen.target import target

SIZES = (0, 1, 31, 33, 1000, 4097, 70001)


def program_of(text: str, schedule: str | None = None) -> Program:
    family = check(parse(Source("t.tile", text))).kernels[0]
    chosen = next((s for s in family.schedules if s.name == schedule), None)
    return build(family.kernels[0], chosen, target("sm_90"))


def run(program: Program, arrays: dict[str, Any], sizes: dict[str, int], **options: Any) -> Any:
    """`h`, with nothing found fault with."""
    done = simulate_program(program, sizes, arrays, options=Options(**options))
    assert not done.faults, "\n".join(done.faults)
    return done.outputs["h"]


def keys(n: int, low: int, high: int, kind: Any, seed: int = 0) -> Any:
    return np.random.default_rng([n, seed]).integers(low, high, n, dtype=kind, endpoint=True)


BYTES = "kernel hist(N) { in x: u8[N]; out h: i32[256]; h[b] = count[i](x[i] == b) }"


@pytest.fixture(scope="module")
def bytes_() -> Program:
    return program_of(BYTES)


@pytest.mark.parametrize("n", SIZES)
def test_bytes(bytes_: Program, n: int) -> None:
    x = keys(n, 0, 255, np.uint8)
    for misalign in (0, 3):
        found = run(bytes_, {"x": x}, {"N": n}, misalign={"x": misalign})
        np.testing.assert_array_equal(found, np.bincount(x, minlength=256))


@pytest.mark.parametrize("value", [0, 7, 255])
def test_every_element_equal(bytes_: Program, value: int) -> None:
    found = run(bytes_, {"x": np.full(40_000, value, np.uint8)}, {"N": 40_000})
    assert found[value] == 40_000 and found.sum() == 40_000


def test_blocks_stride_over_the_elements() -> None:
    """More elements than all blocks take at once: in a schedule of the smallest blocks."""
    program = program_of(
        BYTES[:-1] + "; schedule s { threads i = 32; vector 4; unroll i = 1; min_blocks 1; index i64 } }", "s"
    )
    n = 3 * 132 * 128 + 77
    x = keys(n, 0, 255, np.uint8)
    shape = program.shape({"N": n}, {}, {"x": 0, "h": 0})
    assert shape is not None and shape.blocks == 132
    np.testing.assert_array_equal(run(program, {"x": x}, {"N": n}), np.bincount(x, minlength=256))


WIDE = [
    ("i32", np.int32, [-(2**31), -1, 100, 2**31 - 1]),
    ("u32", np.uint32, [100, 2**31, 2**32 - 1]),
    ("i64", np.int64, [-(2**63), -1, 100, 2**32, 2**32 + 1, 2**63 - 1]),
    ("u64", np.uint64, [100, 2**32 + 5, 2**53 + 1, 2**64 - 1]),
    ("i16", np.int16, [-(2**15), -1, 100, 2**15 - 1]),
]


@pytest.mark.parametrize("name, kind, far", WIDE, ids=[w[0] for w in WIDE])
@pytest.mark.parametrize("ranges", ["", " for b in 3..90"])
def test_keys_outside_the_bins_are_left_out(name: str, kind: Any, far: list[int], ranges: str) -> None:
    """A key cut to 32 bits, or compared with a sign it has not, would fall into a bin."""
    program = program_of(
        f"kernel hist(N) {{ in x: {name}[N]; out h: i64[100]; h[b] = count[i](x[i] == b){ranges} }}"
    )
    x = keys(1001, 0, 99, kind)
    x[::7] = np.array(far, kind)[np.arange(len(x[::7])) % len(far)]
    inside = x[(x >= 0) & (x < 100)].astype(np.int64)
    wanted = np.bincount(inside, minlength=100)
    first, last = (3, 90) if ranges else (0, 100)
    found = run(program, {"x": x}, {"N": 1001}, initial={"h": np.full(100, -1)} if ranges else {})
    np.testing.assert_array_equal(found[first:last], wanted[first:last])
    assert not ranges or ((found[:3] == -1).all() and (found[90:] == -1).all())


@pytest.mark.parametrize("bins", [1, 2, 31, 255, 382, 383, 1000, 5000, 12_271, 12_272, 20_000])
def test_any_number_of_bins_known_only_at_the_launch(bins: int) -> None:
    program = program_of("kernel hist(N, B) { in x: i32[N]; out h: i32[B]; h[b] = count[i](x[i] == b) }")
    x = keys(3001, -2, bins + 2, np.int32)
    inside = x[(x >= 0) & (x < bins)]
    found = run(program, {"x": x}, {"N": 3001, "B": bins})
    np.testing.assert_array_equal(found, np.bincount(inside, minlength=bins))
    shape = program.shape({"N": 3001, "B": bins}, {}, {"x": 0, "h": 0})
    assert shape is not None and ("many" in shape.entry) == (bins > 12_271)


@pytest.mark.parametrize("bins", [383, 12_271, 12_272, 65_536])
def test_any_number_of_bins_known_before(bins: int) -> None:
    program = program_of(f"kernel hist(N) {{ in x: u16[N]; out h: u64[{bins}]; h[b] = count[i](x[i] == b) }}")
    x = keys(2001, 0, 65_535, np.uint16)
    wanted = np.bincount(x, minlength=65_536)[:bins]
    np.testing.assert_array_equal(run(program, {"x": x}, {"N": 2001}), wanted)


def test_a_sum_of_weights_wraps_as_its_type_does() -> None:
    for kind, name in ((np.int32, "i32"), (np.uint32, "u32"), (np.int64, "i64"), (np.uint64, "u64")):
        program = program_of(
            f"kernel hist(N) {{ in x: u8[N]; in w: {name}[N]; out h: {name}[256]; "
            "h[b] = sum[i](where(x[i] == b, w[i], 0)) }"
        )
        x, w = keys(3001, 0, 255, np.uint8), keys(3001, np.iinfo(kind).min, np.iinfo(kind).max, kind, 1)
        wanted = np.zeros(256, kind)
        np.add.at(wanted, x, w)
        np.testing.assert_array_equal(run(program, {"x": x, "w": w}, {"N": 3001}), wanted)


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 33), (7, 640), (300, 5)])
def test_a_histogram_per_row(rows: int, columns: int) -> None:
    program = program_of(
        "kernel hist(R, C) { in x: u8[R, C]; out h: i32[R, 16]; h[r, b] = count[j](x[r, j] == b) }"
    )
    x = keys(rows * columns, 0, 20, np.uint8).reshape(rows, columns)
    wanted = np.stack([np.bincount(r, minlength=21)[:16] for r in x])
    np.testing.assert_array_equal(run(program, {"x": x}, {"R": rows, "C": columns}), wanted)


@pytest.mark.parametrize("pixels", SIZES[1:6])
def test_channels_inside_pixels(pixels: int) -> None:
    program = program_of(
        "kernel hist(P) { in x: u8[P, 3]; out h: i32[256, 3] order(1, 0); h[b, c] = count[i](x[i, c] == b) }"
    )
    x = keys(pixels * 3, 0, 255, np.uint8).reshape(pixels, 3)
    wanted = np.stack([np.bincount(x[:, c], minlength=256) for c in range(3)], axis=1)
    np.testing.assert_array_equal(run(program, {"x": x}, {"P": pixels}), wanted)


def test_one_item_at_a_time_over_several_axes() -> None:
    program = program_of(
        "kernel hist(N) { in x: i32[N, 3]; out h: i32[3, 16]; h[c, b] = count[i](x[i, c] == b)\n"
        "schedule s { threads i = 64; unroll i = 1 } }",
        "s",
    )
    x = keys(3003, 0, 20, np.int32).reshape(1001, 3)
    wanted = np.stack([np.bincount(x[:, c], minlength=21)[:16] for c in range(3)])
    np.testing.assert_array_equal(run(program, {"x": x}, {"N": 1001}), wanted)


def test_a_condition_is_not_looked_at_where_another_one_fails() -> None:
    """The read behind the `where` is outside the tensor for the first element."""
    program = program_of(
        "kernel hist(N) { in x: i32[N]; out h: i32[9]; "
        "h[b] = sum[i in 0..N](where(i > 0, where(x[i - 1] == b, 1, 0), 0)) }"
    )
    x = keys(1001, 0, 12, np.int32)
    found = run(program, {"x": x}, {"N": 1001})
    np.testing.assert_array_equal(found, np.bincount(x[:-1], minlength=13)[:9])


def test_what_is_made_of_the_total() -> None:
    kernel = tilegen.loads(
        "kernel hist(N) { in x: u8[N]; out h: f32[256]; h[b] = f32(count[i](x[i] == b)) / f32(N) }"
    )
    x = keys(1000, 0, 255, np.uint8)
    wanted = np.bincount(x, minlength=256).astype(np.float32) / np.float32(1000)
    np.testing.assert_allclose(kernel(x), wanted, rtol=1e-6)


def test_bins_are_as_many_copies_as_fit() -> None:
    def copies(bins: int, kind: str = "i32", weight: bool = False) -> tuple[int | None, int]:
        value = "sum[i](where(x[i] == b, w[i], 0))" if weight else "count[i](x[i] == b)"
        tensors = f"in x: u16[N]; {f'in w: {kind}[N]; ' if weight else ''}out h: {kind}[{bins}]"
        plan = program_of(f"kernel hist(N) {{ {tensors}; h[b] = {value} }}").plans[0]
        (count,) = [p for p in plan.phases if isinstance(p, CountElements)]
        return count.bins.copies, count.bins.counter.size

    # One more bin takes the keys that belong to none.
    assert [copies(n) for n in (2, 256, 382, 383, 766, 3067, 12_271)] == [
        (c, 4) for c in (32, 32, 32, 16, 16, 4, 1)
    ]
    assert copies(256, "i64") == (32, 4)
    assert copies(256, "i64", weight=True) == (16, 8)


def test_the_launcher_gives_every_bin_a_place_in_scratch_memory(bytes_: Program) -> None:
    shape = bytes_.shape({"N": 10**9}, {}, {"x": 0, "h": 0})
    assert shape is not None and shape.blocks == 264
    assert [(s.name, s.bytes, s.zeroed) for s in shape.scratch] == [
        ("totals", 1024, True),
        ("tickets", 4, True),
    ]
    assert [p.key for p in shape.parameters] == ["x", "h", "totals", "tickets", "N"]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_histograms(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["u8", "u16", "i32", "i64"]))
    bins = data.draw(st.integers(1, 700))
    threads = data.draw(st.sampled_from([32, 96, 256, 1024]))
    width = data.draw(
        st.sampled_from([1, 2] + ([4] if kind != "i64" else []) + ([16] if kind == "u8" else []))
    )
    unroll = data.draw(st.sampled_from([1, 2, 5]))
    n = data.draw(st.one_of(st.integers(0, 100), st.integers(0, 9000)))
    vector = f"vector {width}; " if width > 1 else ""
    program = program_of(
        f"kernel hist(N) {{ in x: {kind}[N]; out h: i32[{bins}]; h[b] = count[i](x[i] == b)\n"
        f"schedule s {{ threads i = {threads}; {vector}unroll i = {unroll} }} }}",
        "s",
    )
    numpy_kind = np.dtype(kind[0] + str(int(kind[1:]) // 8)).type
    x = keys(n, 0, min(bins + 3, np.iinfo(numpy_kind).max), numpy_kind)
    wanted = np.bincount(x[x < bins].astype(np.int64), minlength=bins)
    misalign = {"x": data.draw(st.sampled_from([0, np.dtype(numpy_kind).itemsize]))}
    np.testing.assert_array_equal(run(program, {"x": x}, {"N": n}, misalign=misalign), wanted)


@pytest.mark.parametrize("threads, vector", [(1, 4), (1, 16), (2, 4), (2, 16), (8, 16), (14, 16), (15, 16)])
def test_fewer_threads_than_elements_after_the_last_vector(threads: int, vector: int) -> None:
    text = BYTES.removesuffix("}") + f"; schedule s {{ threads i = {threads}; vector {vector} }} }}"
    program = program_of(text, "s")
    for n in (vector - 1, 2 * vector - 1, 777):
        x = keys(n, 0, 255, np.uint8)
        np.testing.assert_array_equal(run(program, {"x": x}, {"N": n}), np.bincount(x, minlength=256), str(n))
