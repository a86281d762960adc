"""Metrics against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilegen.analysis.demand import distinct_sectors, elements_read, flops
from tilegen.analysis.metrics import METRICS, Metrics, metrics
from tilegen.lang.check import check
from tilegen.lang.check.expectations import METRICS as LANGUAGE_METRICS
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import Kernel
from tilegen.program import Program, build
from tilegen.run.layout import layout
from tilegen.run.outcome import Options
from tilegen.run.simulated import simulate_program
from tilegen.target import target
from tilegen.verify.inputs import default_fill, make_inputs


def kernel_of(text: str) -> Kernel:
    return check(parse(source_from_text(text))).kernels[0].kernels[0]


def program_of(text: str) -> Program:
    family = check(parse(source_from_text(text))).kernels[0]
    schedule = family.schedules[0] if family.schedules else None
    return build(family.kernels[0], schedule, target("sm_90"))


def measure(text: str, options: Options | None = None, **sizes: int) -> Metrics:
    program = program_of(text)
    inputs = make_inputs(program.kernel, sizes, default_fill(program.kernel), 0)
    run = simulate_program(program, sizes, inputs, options=options or Options())
    assert not run.findings
    return metrics(program, run, inputs)


def test_every_metric_of_the_language_is_known_or_measured() -> None:
    assert set(LANGUAGE_METRICS) == set(METRICS) | {"bandwidth", "time"}


COPY = "kernel k(N) { in a: f32[N]; out b: f32[N]; b[i] = a[i]; schedule s { threads i = 128 } }"


def test_a_copy_by_words() -> None:
    found = measure(COPY, N=1024)
    assert (found.load_sectors, found.store_sectors) == (128, 128)
    assert (found.ideal_load_sectors, found.ideal_store_sectors) == (128, 128)
    assert found.load_sectors_per_request == found.store_sectors_per_request == 4
    assert found.load_efficiency == found.store_efficiency == 1
    assert found.bytes_moved == 2 * 4096
    assert found.arithmetic_intensity == 0 and found.bank_conflicts == 0 and found.shared_bytes == 0
    assert found.occupancy == 1 and found.spills == 0


def test_a_pointer_moved_by_one_element() -> None:
    found = measure(COPY, Options(misalign={"a": 4}), N=1024)
    assert found.load_sectors_per_request == 5
    # 4096 bytes from byte 4 on touch one sector more than 128.
    assert found.ideal_load_sectors == 129
    assert found.store_sectors_per_request == 4


@pytest.mark.parametrize(("stride", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (32, 32)])
def test_strided_reads(stride: int, sectors: int) -> None:
    body = f"in a: f32[{stride} * N]; out b: f32[N]; b[i] = a[{stride} * i]; schedule s {{ threads i = 64 }}"
    text = f"kernel k(N) {{ {body} }}"
    found = measure(text, N=256)
    assert found.load_sectors_per_request == sectors
    assert found.ideal_load_sectors == 8 * sectors


def test_one_field_of_an_array_of_structs() -> None:
    text = """kernel k(P) { in p: struct { x: f32, y: f32, z: f32, a: f32, b: f32, c: f32 }[P]; out q: f32[P]
    q[i] = p[i].x; schedule s { threads i = 64 } }"""
    found = measure(text, P=256)
    assert found.load_sectors_per_request == 24
    # 256 fields, 24 bytes apart: every sector of 6144 bytes holds one of them.
    assert found.ideal_load_sectors == 192


@pytest.mark.parametrize(("pad", "conflicts", "bytes_"), [("", 31 * 32, 4096), (" pad 1", 0, 4224)])
def test_a_transpose_through_shared_memory(pad: str, conflicts: int, bytes_: int) -> None:
    text = f"""kernel k(M, N) {{ in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]
    schedule s {{ tile i = 32, j = 32; stage a{pad} }} }}"""
    found = measure(text, M=32, N=32)
    assert found.bank_conflicts == conflicts
    assert found.shared_bytes == bytes_
    assert found.load_sectors == found.store_sectors == 128


def test_a_row_read_by_every_thread_is_ideal_once() -> None:
    text = "kernel k(M, N) { in a: f32[N]; out b: f32[M, N]; b[i, j] = a[j]; schedule s { threads j = 32 } }"
    found = measure(text, M=10, N=32)
    assert found.load_sectors == 40
    assert found.ideal_load_sectors == 4
    assert found.load_efficiency == pytest.approx(0.1)


def test_arithmetic_intensity() -> None:
    text = "kernel k(N) { in x: f32[N]; inout y: f32[N]; y[i] = 2.0 * x[i] + y[i]; schedule s { threads i = 64 } }"
    found = measure(text, N=1024)
    assert found.flops == 2 * 1024
    assert found.arithmetic_intensity == pytest.approx(2 / 12)


def test_nothing_to_launch() -> None:
    found = measure(COPY, N=0)
    assert found == Metrics()
    assert found.load_efficiency == 1 and found.arithmetic_intensity == 0


def test_metrics_by_name() -> None:
    found = measure(COPY, N=64)
    assert set(found.as_dict()) == set(METRICS)
    assert found.value("load_sectors") == 8 and found.ideal("load_sectors") == 8
    with pytest.raises(KeyError):
        found.value("bandwidth")


# Footprints ----------------------------------------------------------------------------------------------------------


def test_only_the_chosen_side_of_a_where_is_read() -> None:
    kernel = kernel_of(
        "kernel k(M, N) { in a: u16[M]; in b: u16[N]; out y: u16[M + N]; y[i] = where(i < M, a[i], b[i - M]) }"
    )
    sizes = {"M": 5, "N": 3}
    arrays: Any = {"a": np.zeros(5, np.uint16), "b": np.zeros(3, np.uint16)}
    found = elements_read(kernel, sizes, arrays)
    assert found["a", None].all() and found["b", None].all()


def test_a_boundary_reads_the_elements_it_maps_to() -> None:
    text = "kernel k(N) {{ in x: i32[N] boundary {}; out y: i32[N]; y[i] = x[i + 2] }}"
    for boundary, expected in (("edge", [2, 3, 4]), ("constant 0", [2, 3, 4]), ("wrap", [0, 1, 2, 3, 4])):
        found = elements_read(kernel_of(text.format(boundary)), {"N": 5}, {"x": np.zeros(5, np.int32)})
        assert np.flatnonzero(found["x", None]).tolist() == expected


def test_a_gather_reads_what_its_indices_say() -> None:
    kernel = kernel_of(
        "kernel k(N, M) { in a: f32[N] boundary constant 0; in j: i32[M]; out b: f32[M]; b[i] = a[j[i]] }"
    )
    arrays: Any = {"a": np.zeros(9, np.float32), "j": np.array([1, 1, 7, -3], np.int32)}
    found = elements_read(kernel, {"N": 9, "M": 4}, arrays)
    assert np.flatnonzero(found["a", None]).tolist() == [1, 7]


def test_distinct_sectors_follow_the_address() -> None:
    tensor = kernel_of("kernel k(N) { in a: f32[N]; out b: f32[N]; b[i] = a[i] }").tensor("a")
    placed = layout(tensor, {"N": 16})
    every = {("a", None): np.ones(16, np.bool_)}
    assert distinct_sectors(every, {"a": placed}, {"a": 256}) == 2
    assert distinct_sectors(every, {"a": placed}, {"a": 260}) == 3


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("y[i] = x[i]", 0),
        ("y[i] = x[i] * 2.0 + 1.0", 20),
        ("y[i] = exp(x[i]) / 3.0", 20),
        ("y[i] = maximum(x[i], 0.0)", 0),
        ("y[i] = where(x[i] > 0.0, x[i] * x[i] * x[i], x[i] + 1.0)", 20),
        ("y[i] = sum[j](x[j] * x[i])", 10 * 10 * 2),
        ("y[i] = sum[j in 0..=i](x[j])", 50),
    ],
)
def test_flops(body: str, count: int) -> None:
    kernel = kernel_of(f"kernel k(N) {{ in x: f32[N]; out y: f32[N]; {body} }}")
    assert flops(kernel, {"N": 10}) == count


def test_integers_and_complex_numbers() -> None:
    integers = kernel_of("kernel k(N) { in x: i32[N]; out y: i32[N]; y[i] = x[i] * 2 + 1 }")
    assert flops(integers, {"N": 10}) == 0
    complexes = kernel_of("kernel k(N) { in x: c64[N]; out y: c64[N]; y[i] = x[i] * x[i] + x[i] }")
    assert flops(complexes, {"N": 10}) == 80
