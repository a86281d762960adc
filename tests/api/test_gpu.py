"""Calls on a real GPU. Where there is one, nothing here is skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilegen
from tilegen.toolchain.nvrtc import device_capability

from .conftest import TRANSPOSE

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(device_capability() is None, reason="no GPU on this machine"),
]


@pytest.fixture
def kernel() -> tilegen.Kernel:
    return tilegen.loads(TRANSPOSE).kernel()


@pytest.mark.parametrize("schedule", ["tiled", "tiled[pad = 1]", "vector", "auto"])
@pytest.mark.parametrize("shape", [(1, 1), (33, 65), (256, 256), (1000, 7), (0, 5)])
def test_cupy(kernel, schedule, shape) -> None:
    import cupy

    a = cupy.arange(shape[0] * shape[1], dtype="f4").reshape(shape)
    for _ in range(3):
        b = kernel.schedule(schedule)(a)
        assert isinstance(b, cupy.ndarray)
        cupy.testing.assert_array_equal(b, a.T)
    out = cupy.empty(shape[::-1], "f4")
    assert kernel.schedule(schedule)(a, out=out) is out
    cupy.testing.assert_array_equal(out, a.T)


def test_torch_on_a_stream_of_its_own(kernel) -> None:
    torch = pytest.importorskip("torch")
    a = torch.arange(64 * 128, dtype=torch.float32, device="cuda").reshape(64, 128)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            b = kernel(a)
            assert isinstance(b, torch.Tensor)
            assert torch.equal(b, a.T)
    with pytest.raises(tilegen.CallError, match="TG0813"):
        kernel(a.T)
    with pytest.raises(tilegen.CallError, match="TG0815"):
        kernel(a, out=torch.empty(128, 64))


def test_misaligned_strided_and_overlapping(kernel) -> None:
    import cupy

    raw = cupy.arange(1 + 64 * 64, dtype="f4")
    a = raw[1:].reshape(64, 64)
    cupy.testing.assert_array_equal(kernel.schedule("vector")(a), a.T)
    out = cupy.empty((64, 64), "f4")
    kernel(a, out=out)
    with pytest.raises(tilegen.CallError, match="TG0817"):
        kernel(a, out=a)
    free = tilegen.loads(
        "kernel f(M, N) { in a: f32[M, N] strides(*, *); out b: f32[M, N] order(1, 0); b[i, j] = a[i, j] }"
    )
    for view in (a, a.T, a[::-1], a[:, ::-2], a[3:4, 1:]):
        b = free(view)
        assert b.flags.f_contiguous
        cupy.testing.assert_array_equal(b, view)


def test_structs_and_scalars() -> None:
    import cupy

    element = "struct { x: f32, y: f32, z: f32 }"
    f = tilegen.loads(
        f"kernel f(P, k: f32 = 2.0) {{ in p: {element}[P]; out q: {element}[P] soa; out r: {element}[P] aosoa(4)\n"
        "q[i].x = p[i].x * k; q[i].y = p[i].y; q[i].z = p[i].z; r[i] = p[i] }"
    )
    p = cupy.arange(21, dtype="f4").reshape(7, 3)
    result = f(p, k=0.5)
    cupy.testing.assert_array_equal(result["q"]["x"], p[:, 0] * 0.5)
    cupy.testing.assert_array_equal(result["q"]["z"], p[:, 2])
    assert result["r"].shape == (2, 3, 4)
    cupy.testing.assert_array_equal(result["r"].transpose(0, 2, 1).reshape(8, 3)[:7], p)


def test_other_interfaces(kernel) -> None:
    import cupy

    class Interface:
        def __init__(self, array: Any) -> None:
            self.__cuda_array_interface__ = array.__cuda_array_interface__
            self.array = array

    class Dlpack:
        def __init__(self, array: Any) -> None:
            self.array = array
            self.__dlpack_device__ = array.__dlpack_device__

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

    a = cupy.arange(33 * 65, dtype="f4").reshape(33, 65)
    for wrap in (Interface, Dlpack):
        cupy.testing.assert_array_equal(kernel(wrap(a)), a.T)


def test_more_than_32_bits_of_elements() -> None:
    import cupy

    f = tilegen.loads("kernel f(M, N) { in a: u8[M, N]; out b: u8[N, M]; b[j, i] = a[i, j] }")
    a = cupy.random.randint(0, 256, (46341, 46341), dtype="u1")
    b = f(a)
    assert bool((b[-1] == a[:, -1]).all()) and bool((b[:, -1] == a[-1]).all())


def test_the_cost_of_a_call(kernel, capsys) -> None:
    """Printed, not judged: a call against a bare launch of the same kernel through CuPy."""
    import time

    import cupy

    a, b = (cupy.zeros((64, 64), "f4") for _ in range(2))
    kernel = kernel.schedule("tiled")
    program = kernel.program()
    shape = program.shape({"M": 64, "N": 64}, {}, {"a": a.data.ptr, "b": b.data.ptr})
    assert shape is not None
    module = cupy.RawModule(code=program.source, options=("-std=c++14",), name_expressions=(shape.entry,))
    raw = module.get_function(shape.entry)
    size = np.int32(64)
    grid, block = (shape.blocks,), (shape.threads,)
    calls = {
        "RawKernel(grid, block, (a, b, M, N))": lambda: raw(grid, block, (a, b, size, size)),
        "kernel(a, out=b)": lambda: kernel(a, out=b),
        "kernel(a)": lambda: kernel(a),
    }
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(20):
        for name, call in calls.items():
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
            for _ in range(500):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / 500)
    bare = next(iter(best.values()))
    with capsys.disabled():
        print("\n" + "; ".join(f"{n} {1e6 * t:.2f} us ({t / bare:.2f}x)" for n, t in best.items()))
    np.testing.assert_array_equal(cupy.asnumpy(b), 0)
