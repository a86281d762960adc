"""Calls on arrays in host memory: values, layouts, outputs, types, sizes, scalars."""

from __future__ import annotations

import numpy as np
import pytest

import tilegen
from tilegen.dtypes import DTYPES
from tilegen.numpy_types import numpy_dtype


def counting(shape: tuple[int, ...], dtype: str = "f4") -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f2", "u1", "c8"])
@pytest.mark.parametrize("schedule", [None, "tiled", "tiled[pad = 1]", "vector", "auto"])
def test_every_schedule_and_type_gives_the_same(transpose, dtype, schedule) -> None:
    a = counting((33, 66), dtype)
    b = transpose(a, schedule=schedule) if schedule else transpose(a)
    assert isinstance(b, np.ndarray) and b.dtype == a.dtype
    np.testing.assert_array_equal(b, a.T)


def test_arguments_by_name_and_an_output_of_the_caller(transpose) -> None:
    a, b = counting((5, 7)), np.zeros((7, 5), "f4")
    assert transpose(a=a, out=b) is b
    np.testing.assert_array_equal(b, a.T)
    c = np.zeros((7, 5), "f4")
    assert transpose.schedule("tiled")(a, out={"b": c}, M=5) is c
    np.testing.assert_array_equal(c, a.T)


def test_a_file_with_one_kernel_is_that_kernel(transpose) -> None:
    assert transpose.kernel() is transpose.kernels["transpose"] is transpose.kernel("transpose")
    assert transpose.name == "transpose"
    assert transpose.schedules == ("tiled", "vector", "auto")
    assert transpose.signature == "transpose[T: f32 | f16 | u8 | c64](a[M, N]) -> b[N, M]"
    assert "transpose" in repr(transpose) and "schedule tiled[pad = 0]" in repr(transpose.kernel())
    assert "transpose_launch" in transpose.source and "transpose_launch" in transpose.header
    assert transpose.types(T="u8").source != transpose.source


def test_several_kernels() -> None:
    text = "".join(
        f"kernel {n}(N) {{ in x: f32[N]; out y: f32[N]; y[i] = x[i] * {k}.0 }}\n"
        for n, k in (("one", 1), ("two", 2))
    )
    file = tilegen.loads(text)
    assert list(file.kernels) == ["one", "two"]
    np.testing.assert_array_equal(file.kernel("two")(counting((5,))), 2 * counting((5,)))
    for act in (lambda: file(counting((5,))), lambda: file.source, lambda: file.schedules):
        with pytest.raises(tilegen.SpecError, match=r"TG0802.*2 kernels"):
            act()
    with pytest.raises(tilegen.SpecError, match="TG0801"):
        file.kernel("tow")


def test_load_takes_paths(tmp_path) -> None:
    path = tmp_path / "copy.tile"
    path.write_text("kernel copy(N) { in x: i8[N]; out y: i8[N]; y[i] = x[i] }")
    for given in (path, str(path)):
        np.testing.assert_array_equal(tilegen.load(given)(counting((63,), "i1")), counting((63,), "i1"))
    with pytest.raises(tilegen.SpecError, match="TG0101"):
        tilegen.load(tmp_path / "none.tile")


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 1), (1, 9), (9, 1)])
def test_small_and_empty(transpose, shape) -> None:
    a = counting(shape)
    np.testing.assert_array_equal(transpose(a), a.T)
    np.testing.assert_array_equal(
        transpose(counting((3, 4))), counting((3, 4)).T
    )  # and a usual call after it


def test_odd_strides_of_axes_without_a_second_element(transpose) -> None:
    base = np.ones(64, "f4")
    one = np.lib.stride_tricks.as_strided(base, (1, 3), (12345 * 4, 4))
    np.testing.assert_array_equal(transpose(one), one.T)
    none = np.lib.stride_tricks.as_strided(base, (0, 3), (7, 11))
    assert transpose(none).shape == (3, 0)


def test_strides_from_the_array() -> None:
    file = tilegen.loads(
        "kernel copy(M, N) { in a: f32[M, N] strides(*, *); out b: f32[M, N] strides(*, *); b[i, j] = a[i, j] }"
    )
    whole = counting((12, 20))
    for view in (
        whole,
        whole.T,
        whole[::-1],
        whole[:, ::-2],
        whole[1:7, 3:4],
        np.broadcast_to(whole[:1], (5, 20)),
    ):
        np.testing.assert_array_equal(file(view), view)
        out = np.zeros(view.shape[::-1], "f4").T
        assert file(view, out=out) is out
        np.testing.assert_array_equal(out, view)


def test_column_major_and_pitched_outputs_have_the_layout_asked_for() -> None:
    f = tilegen.loads(
        "kernel f(M, N) { in a: f64[M, N]; out b: f64[M, N] order(1, 0); out c: f64[M, N] pitch 64B align 64B\n"
        "b[i, j] = a[i, j]\nc[i, j] = a[i, j] }"
    )
    a = counting((7, 13), "f8")
    result = f(a)
    assert list(result) == ["b", "c"]
    assert result["b"].flags.f_contiguous and result["c"].strides == (128, 8)
    assert result["c"].ctypes.data % 64 == 0
    for array in result.values():
        np.testing.assert_array_equal(array, a)
    fortran = np.zeros((7, 13), "f8", order="F")
    assert f(a, out={"b": fortran})["b"] is fortran
    np.testing.assert_array_equal(fortran, a)


def test_an_offset_view_takes_the_path_without_vectors(transpose) -> None:
    raw = counting((1 + 64 * 64,))
    for start in (0, 1):
        a = raw[start : start + 4096].reshape(64, 64)
        np.testing.assert_array_equal(transpose.schedule("vector")(a), a.T)


def test_elements_that_are_not_written_keep_their_value() -> None:
    even = tilegen.loads("kernel even(N) { in a: f32[N]; out b: f32[2 * N]; b[2 * i] = a[i] }")
    out = np.full(6, 9, "f4")
    even(counting((3,)), out=out)
    np.testing.assert_array_equal(out, [0, 9, 1, 9, 2, 9])
    np.testing.assert_array_equal(even(counting((3,))), [0, 0, 1, 0, 2, 0])  # a new output is 0 there


def test_in_place() -> None:
    scale = tilegen.loads("kernel scale(N, k: f32) { inout x: f32[N]; x[i] = x[i] * k }")
    x = counting((5,))
    assert scale(x, k=2) is x
    np.testing.assert_array_equal(x, 2 * counting((5,)))
    assert scale(x, k=0.5, out=x) is x


def test_sizes_and_scalars_by_name() -> None:
    f = tilegen.loads(
        "kernel f(N, S, k: i32 = 3) { in x: f32[S * N]; out y: f32[N]; y[i] = x[S * i] + f32(k) }"
    )
    np.testing.assert_array_equal(f(counting((12,)), S=4), [3, 7, 11])
    np.testing.assert_array_equal(f(counting((12,)), N=np.int64(3), k=np.int8(-1)), [-1, 3, 7])


def test_a_compile_time_size_can_be_overridden() -> None:
    cut = tilegen.loads("kernel cut(N, K = 4) { in x: f32[N, 8]; out y: f32[N]; y[i] = x[i, K - 1] }")
    x = counting((3, 8))
    np.testing.assert_array_equal(cut(x), x[:, 3])
    np.testing.assert_array_equal(cut(x, K=8), x[:, 7])
    with pytest.raises(tilegen.CallError, match=r"reaches 8.*extent 8"):
        cut(x, K=9)
    np.testing.assert_array_equal(cut(x), x[:, 3])
    assert "x[i * 8 + 7]" in cut.kernel().program(K=8).source


STRUCT = "struct { x: f32, y: f32, z: f32 }"
MIXED = "struct { i: i8, v: f64 }"


def test_structs_of_one_type_are_structured_arrays_or_have_a_last_axis() -> None:
    f = tilegen.loads(f"kernel f(P) {{ in p: {STRUCT}[P]; out q: {STRUCT}[P] soa; q[i] = p[i] }}")
    values = counting((7, 3))
    structured = values.view([("x", "f4"), ("y", "f4"), ("z", "f4")])[:, 0]
    out = {name: np.zeros(7, "f4") for name in "xyz"}
    assert f(structured, out=out) is out
    for result in (out, f(values), f(structured, out={"q": {n: np.zeros(7, "f4") for n in "xyz"}})):
        assert list(result) == ["x", "y", "z"]
        for number, name in enumerate("xyz"):
            np.testing.assert_array_equal(result[name], values[:, number])


def test_blocks_of_structs() -> None:
    f = tilegen.loads(f"kernel f(P) {{ in p: {STRUCT}[P]; out q: {STRUCT}[P] aosoa(4); q[i] = p[i] }}")
    g = tilegen.loads(f"kernel g(P) {{ in q: {STRUCT}[P] aosoa(4); out p: {STRUCT}[P]; p[i] = q[i] }}")
    values = counting((7, 3))
    blocks = np.zeros((2, 3, 4), "f4")
    assert f(values, out=blocks) is blocks
    np.testing.assert_array_equal(blocks.transpose(0, 2, 1).reshape(8, 3)[:7], values)
    assert f(values).shape == (7,)  # on the host a new output is a logical structured array
    again = np.zeros((7, 3), "f4")
    g(blocks, P=7, out=again)
    np.testing.assert_array_equal(again, values)
    with pytest.raises(tilegen.CallError, match="TG0812"):
        g(blocks, P=9)


def test_structs_of_several_types() -> None:
    f = tilegen.loads(f"kernel f(P) {{ in p: {MIXED}[P]; out q: {MIXED}[P]; q[i] = p[i] }}")
    p = np.zeros(3, np.dtype([("i", "i1"), ("v", "f8")], align=True))
    p["i"], p["v"] = [1, 2, 3], [4, 5, 6]
    q = f(p)
    assert q["i"].tolist() == [1, 2, 3] and q["v"].tolist() == [4, 5, 6]
    with pytest.raises(tilegen.ArgumentTypeError, match="align=True"):
        f(p.astype([("i", "i1"), ("v", "f8")]))


@pytest.mark.parametrize("name", ["bool", "bf16", "f8e4m3", "c128", "i64"])
def test_types_that_only_move(name) -> None:
    f = tilegen.loads(f"kernel f(N) {{ in x: {name}[N]; out y: {name}[N]; y[N - 1 - i] = x[i] }}")
    x = counting((9,), "i1").astype(numpy_dtype(DTYPES[name]))
    y = f(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.view("u1"), np.ascontiguousarray(x[::-1]).view("u1"))


class _Dlpack:
    """What is a producer of DLPack and nothing else. `kind`: which parts of the protocol it has."""

    def __init__(self, array: np.ndarray, kind: str) -> None:
        self.array, self.kind = array, kind

    def __getattr__(self, name: str) -> object:
        if name == "__dlpack_device__" and self.kind != "capsule alone":
            return self.array.__dlpack_device__
        raise AttributeError(name)

    def __dlpack__(self, **options: object) -> object:
        assert "stream" not in options, "host memory has no stream"
        if self.kind == "before 1.0" and options:
            raise TypeError("unexpected keyword argument")
        return self.array.__dlpack__(**options)


class _ArrayInterface:
    def __init__(self, array: np.ndarray, kind: str) -> None:
        self.__array_interface__, self.array = array.__array_interface__, array


@pytest.mark.parametrize(
    ("wrapper", "kind"),
    [
        (_Dlpack, "whole"),
        (_Dlpack, "before 1.0"),
        (_Dlpack, "capsule alone"),
        (_ArrayInterface, ""),
    ],
)
@pytest.mark.parametrize("dtype", ["f4", "u1", "c8"])
def test_host_memory_behind_an_interface_needs_no_gpu(transpose, wrapper, kind, dtype) -> None:
    """CuPy is imported by the compiler, whether there is a driver or not; it is not asked about host memory."""
    import cupy

    assert cupy.cuda is not None
    a = counting((5, 7), dtype)
    np.testing.assert_array_equal(transpose(wrapper(a, kind)), a.T)
    np.testing.assert_array_equal(transpose(a=wrapper(a[::-1, ::-1].copy(), kind)), a[::-1, ::-1].T)
    b = np.zeros((7, 5), dtype)
    out = wrapper(b, kind)
    assert transpose(a, out=out) is out
    np.testing.assert_array_equal(b, a.T)


def test_members_behind_an_interface() -> None:
    f = tilegen.loads(
        "kernel f(N) { in p: struct { x: f32, n: i32 }[N] soa; out y: f32[N]; y[i] = p[i].x * f32(p[i].n) }"
    )
    x, n = counting((6,)), counting((6,), "i4")
    y = f({"x": _Dlpack(x, "whole"), "n": _Dlpack(n, "capsule alone")})
    np.testing.assert_array_equal(y, x * n)


def test_an_interface_that_fails() -> None:
    f = tilegen.loads("kernel f(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }")
    with pytest.raises(tilegen.ArgumentError, match="argument 'x': _Dlpack offers no DLPack"):
        f(_Dlpack(np.array(["text"]), "whole"))

    class Broken:
        """A mistake of its own, which is not told as one of the caller's."""

        __dlpack_device__ = np.zeros(1).__dlpack_device__

        def __dlpack__(self, **options: object) -> object:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        f(Broken())


def test_rank_0() -> None:
    f = tilegen.loads("kernel f() { in x: f32[]; out y: f32[]; y[] = x[] }")
    assert f(np.array(3, "f4")).shape == () and f(np.array(3, "f4")) == 3


def test_without_any_array() -> None:
    iota = tilegen.loads("kernel iota(N) { out y: i64[N]; y[i] = i }")
    assert iota(N=5).tolist() == [0, 1, 2, 3, 4]


def test_verify_and_report(transpose) -> None:
    kernel = transpose.schedule("vector").types(T="f32")
    report = kernel.verify(shapes="spec")
    assert report and report.passed
    assert [row.schedule for row in report.rows] == ["vector"]
    assert "pass" in str(report) and "vector" in str(report)
    table = transpose.report(M=64, N=64)
    assert list(table) == ["tiled[pad = 0]", "tiled[pad = 1]", "vector", "auto"]
    assert table["tiled[pad = 1]"].bank_conflicts == 0 < table["tiled[pad = 0]"].bank_conflicts
    assert "transpose at T = f32, M = 64, N = 64, sm_90" in str(table)
    with pytest.raises(tilegen.CallError, match="no array determines size N"):
        transpose.report(M=64)
