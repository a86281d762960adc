"""Calls on a GPU's arrays up to the launch itself: what is passed, and what a second call may leave out."""

from __future__ import annotations

import numpy as np
import pytest

import tilegen

from .conftest import TRANSPOSE
from .fakes import Machine, machine

__all__ = ["machine"]


@pytest.fixture
def kernel() -> tilegen.Kernel:
    return tilegen.loads(TRANSPOSE, target="sm_90").kernel().schedule("vector")


@pytest.fixture
def no_binding(monkeypatch: pytest.MonkeyPatch):
    """Call it when every further call must be a prepared one."""

    def forbid() -> None:
        monkeypatch.setattr("tilegen.api.bind.bind", lambda *a: pytest.fail("went the full way"))

    return forbid


def test_what_is_launched(machine: Machine, kernel) -> None:
    a = machine.array(np.zeros((64, 128), "f4"))
    b = kernel(a)
    (config, values, device) = machine.launches[0]
    assert values == [a.data.ptr, b.data.ptr, 64, 128] and device == 0
    assert config.grid == (2, 1, 1) and config.block[0] in (128, 256)
    assert b.shape == (128, 64) and type(b) is type(a)
    assert machine.entries == ["transpose_kernels::transpose_vector<int>"]


def test_the_second_call_of_a_shape_is_short(machine: Machine, kernel, no_binding) -> None:
    first, second = (machine.array(np.zeros((64, 128), "f4")) for _ in range(2))
    kernel(first)
    no_binding()
    b = kernel(second)
    assert machine.launches[1][1] == [second.data.ptr, b.data.ptr, 64, 128]
    assert machine.launches[0][0] == machine.launches[1][0]


@pytest.mark.parametrize("out", [lambda b: b, lambda b: {"b": b}])
def test_an_output_of_the_caller(out, machine: Machine, kernel, no_binding) -> None:
    a, b, c = (machine.array(np.zeros((64, 64), "f4")) for _ in range(3))
    assert kernel(a, out=out(b)) is b
    no_binding()
    assert kernel(a, out=out(c)) is c
    assert machine.launches[1][1] == [a.data.ptr, c.data.ptr, 64, 64]


def test_the_third_call_looks_for_nothing(machine: Machine, kernel, monkeypatch) -> None:
    a, b, c, d = (machine.array(np.zeros((64, 64), "f4")) for _ in range(4))
    other = machine.array(np.zeros((64, 32), "f4"))
    for _ in range(2):
        kernel(a, out=b)
    monkeypatch.setattr("tilegen.api.prepared.scan", lambda *a: pytest.fail("looked for a prepared call"))
    assert kernel(c, out=d) is d
    assert machine.launches[2][1] == [c.data.ptr, d.data.ptr, 64, 64]
    for changed in (
        lambda: kernel(other, out=d),
        lambda: kernel(c, out=c),
        lambda: kernel(c, out={"b": d}),
        lambda: kernel(c, out=d, M=64),
        lambda: kernel.schedule("tiled")(c, out=d),
        lambda: kernel.types()(c, out=d),
    ):
        with pytest.raises(BaseException, match="looked for"):
            changed()


def test_an_overlap_is_found_in_a_prepared_call_too(machine: Machine, kernel) -> None:
    a, b = (machine.array(np.zeros((64, 64), "f4")) for _ in range(2))
    for times in (1, 2):
        kernel(a, out=b)
        with pytest.raises(tilegen.CallError, match="TG0817"):
            kernel(a, out=a)
        assert len(machine.launches) == times


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.array(np.zeros((64, 132), "f4")),
        lambda m: m.array(np.zeros((64, 128), "u1")),
        lambda m: m.array(np.zeros((64, 128), "f4"), offset=4),
    ],
    ids=["shape", "type", "alignment"],
)
def test_another_kind_of_call_is_checked_in_full(change, machine: Machine, kernel) -> None:
    kernel(machine.array(np.zeros((64, 128), "f4")))
    kernel(change(machine))
    assert len(machine.entries) == 2, "a prepared call looks for no code"


def test_an_odd_address_takes_the_variant_without_vectors(machine: Machine, kernel) -> None:
    kernel(machine.array(np.zeros((64, 64), "f4"), offset=4))
    assert machine.entries == ["transpose_kernels::transpose_vector_scalar<int>"]


def test_mistakes_are_found_after_a_good_call(machine: Machine, kernel) -> None:
    kernel(machine.array(np.zeros((64, 64), "f4")))
    for wrong, code in (
        (np.zeros((64, 64), "f8"), "TG0811"),
        (np.zeros((64, 128), "f4")[:, ::2], "TG0813"),
        (np.zeros(64, "f4"), "TG0812"),
    ):
        with pytest.raises(tilegen.CallError, match=code):
            kernel(machine.array(wrong))
    with pytest.raises(tilegen.CallError, match="TG0815"):
        kernel(machine.array(np.zeros((64, 64), "f4")), out=np.zeros((64, 64), "f4"))
    with pytest.raises(tilegen.CallError, match="TG0812"):
        kernel(machine.array(np.zeros((64, 64), "f4")), N=63)
    assert len(machine.launches) == 1


def test_empty_arrays_launch_nothing(machine: Machine, kernel) -> None:
    for shape in ((0, 64), (64, 0), (0, 0)):
        assert kernel(machine.array(np.zeros(shape, "f4"))).shape == shape[::-1]
    assert machine.launches == []


def test_sizes_scalars_offsets_and_strides(machine: Machine, no_binding) -> None:
    f = tilegen.loads(
        "kernel f(N, S, k: f32 = 2.0, h: bf16 = 1.0) {\n"
        "in x: f32[N] strides(*) offset 1; out y: f32[N]; y[i] = x[i] * k + f32(S) + f32(h)\n"
        "schedule s { tile i = 64 } }",
        target="sm_90",
    )
    x = machine.array(np.zeros((10,), "f4")[::2])
    f(x, S=3, k=0.5)
    values = machine.launches[0][1]
    y = f(x, S=3, k=0.5)
    assert sorted(values[4:], key=str) == sorted(machine.launches[1][1][4:], key=str)
    assert values[0] == x.data.ptr - 4, "element 0 lies one element past the pointer"
    assert {0.5, 3, 2, 5, 0x3F80} <= set(values)
    no_binding()
    f(x, S=3, k=0.5, out=None)
    with pytest.raises(BaseException, match="full way"):
        f(x, S=4, k=0.5)
    assert y.shape == (5,)


def test_values_that_compare_equal_are_told_apart(machine: Machine) -> None:
    f = tilegen.loads("kernel f(N, k: f32) { in x: f32[N]; out y: f32[N]; y[i] = x[i] * k }", target="sm_90")
    x = machine.array(np.zeros(64, "f4"))
    for k in (0.0, -0.0, 0, 1, True, 1.0, np.float32(-0.0), float("nan")):
        f(x, k=k)
        assert repr(float(machine.launches[-1][1][-1])) == repr(float(k))


def test_the_value_of_an_array_for_a_scalar_is_read_each_time(machine: Machine, monkeypatch) -> None:
    f = tilegen.loads("kernel f(N, k: f32) { in x: f32[N]; out y: f32[N]; y[i] = x[i] * k }", target="sm_90")
    x, k = machine.array(np.zeros(64, "f4")), machine.array(np.array(2, "f4"))
    type(k).item = lambda self: self.host.item()
    type(k).ndim = property(lambda self: self.host.ndim)
    try:
        f(x, k=k)
        k.host[...] = 3
        f(x, k=k)
    finally:
        del type(k).item, type(k).ndim
    assert [launch[1][-1] for launch in machine.launches] == [2, 3]


def test_an_inout_array_and_a_new_output(machine: Machine) -> None:
    f = tilegen.loads(
        "kernel f(N) { inout x: f32[N]; out y: f32[N]; x[i] = x[i] + 1.0; y[i] = x[i] }", target="sm_90"
    )
    x = machine.array(np.zeros(64, "f4"))
    for options in ({}, {}, {"out": {"x": x}}, {"out": {"x": x}}):
        result = f(x, **options)
        assert result["x"] is x
        assert machine.launches[-1][1][:2] == [x.data.ptr, result["y"].data.ptr]


def test_structs_with_a_last_axis(machine: Machine) -> None:
    element = "struct { x: f32, y: f32 }"
    f = tilegen.loads(
        f"kernel f(P) {{ in p: {element}[P]; out q: {element}[P] soa; q[i] = p[i] }}", target="sm_90"
    )
    g = tilegen.loads(
        f"kernel g(P) {{ in p: {element}[P] soa; out q: {element}[P]; q[i] = p[i] }}", target="sm_90"
    )
    p = machine.array(np.zeros((8, 2), "f4"))
    q = f(p)
    assert list(q) == ["x", "y"] and q["x"].shape == (8,)
    assert machine.launches[0][1][:3] == [p.data.ptr, q["x"].data.ptr, q["y"].data.ptr]
    assert g(q).shape == (8, 2)


def test_the_cost_of_a_prepared_call(machine: Machine, kernel) -> None:
    from timeit import repeat

    a, b = (machine.array(np.zeros((64, 64), "f4")) for _ in range(2))
    kernel(a, out=b)
    machine.launches.clear()
    best = min(repeat(lambda: kernel(a, out=b), number=500, repeat=5)) / 500
    assert best < 60e-6, f"{best * 1e6:.1f} us"
