"""Launches on a real GPU. Where there is one, nothing here is skipped."""

from typing import Any

import numpy as np
import pytest

from tilegen.dtypes import F32
from tilegen.errors import LaunchError
from tilegen.run.arrays import like, view
from tilegen.run.config import LaunchConfig
from tilegen.run.launch import Kernel, stream_of
from tilegen.toolchain import Compiled, compile_source, default_target
from tilegen.toolchain.nvrtc import device_capability

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(device_capability() is None, reason="no GPU on this machine"),
]

SOURCE = """
template <class Index>
static __global__ void __launch_bounds__(256, 1) scale(const float* a, float* b, Index n, float by) {
    const Index i = static_cast<Index>(blockIdx.x) * 256 + threadIdx.x;
    if (i < n) b[i] = a[i] * by;
}

static __global__ void reverse(float* b, int n) {
    __shared__ float first[4];
    extern __shared__ __align__(16) unsigned char shared[];
    float* tile = reinterpret_cast<float*>(shared);
    if (threadIdx.x < 4) first[threadIdx.x] = b[threadIdx.x];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = b[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = tile[n - 1 - i] + first[i % 4];
}
"""
SCALE = ("Q", "Q", "i", "f")


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_source(SOURCE, target=default_target(), entries=("scale<int>", "reverse"), cache=None)


@pytest.fixture
def cupy() -> Any:
    import cupy

    return cupy


def test_scale(compiled: Compiled, cupy: Any) -> None:
    kernel = Kernel(compiled, "scale<int>", SCALE)
    host = np.arange(1000, dtype=np.float32)
    source = view(cupy.asarray(host))
    made = like(source, (1000,), F32)
    result = view(made)
    kernel(LaunchConfig((4, 1, 1), (256, 1, 1)), (source.pointer, result.pointer, 1000, 3.0))
    np.testing.assert_array_equal(cupy.asnumpy(made), host * np.float32(3))


def test_subnormals_survive(compiled: Compiled, cupy: Any) -> None:  # report O5
    kernel = Kernel(compiled, "scale<int>", SCALE)
    array = cupy.asarray(np.float32([1.1754944e-38, 1e-45]))
    for by, expected in [(0.5, [5.877472e-39, 0.0]), (2.0, [2.3509887e-38, 2.8e-45])]:
        made = cupy.empty_like(array)
        kernel(LaunchConfig((1, 1, 1), (256, 1, 1)), (array.data.ptr, made.data.ptr, 2, by))
        np.testing.assert_array_equal(cupy.asnumpy(made), np.float32(expected))


def test_an_empty_launch_leaves_no_error_behind(compiled: Compiled, cupy: Any) -> None:  # report A5
    kernel = Kernel(compiled, "scale<int>", SCALE)
    for shape in [(0,), (0, 1), (128, 0)]:
        empty = view(cupy.empty(shape, np.float32))
        kernel(LaunchConfig((0, 1, 1), (256, 1, 1)), (empty.pointer, empty.pointer, 0, 1.0))
    test_scale(compiled, cupy)
    cupy.cuda.runtime.deviceSynchronize()


def test_dynamic_shared_memory_up_to_the_opt_in_limit(compiled: Compiled, cupy: Any) -> None:  # report F2
    kernel = Kernel(compiled, "reverse", ("Q", "i"))
    limit = compiled.target.shared_bytes_opt_in
    static = kernel.static_shared_bytes
    assert static == 16
    largest = (limit - static) // 16 * 16
    for size in (4096, 49152, largest, 1024):
        host = np.arange(size // 4, dtype=np.float32)
        array = cupy.asarray(host)
        kernel(LaunchConfig((1, 1, 1), (256, 1, 1), size), (array.data.ptr, size // 4))
        np.testing.assert_array_equal(cupy.asnumpy(array), host[::-1] + host[np.arange(size // 4) % 4])
    with pytest.raises(LaunchError, match=f"allows {limit}"):
        kernel(LaunchConfig((1, 1, 1), (256, 1, 1), limit), (0, 0))


def test_on_a_stream_of_the_callers(compiled: Compiled, cupy: Any) -> None:
    kernel = Kernel(compiled, "scale<int>", SCALE)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        array = cupy.ones(256, np.float32)
        seen = view(array)
        assert stream_of([seen]) == stream.ptr
        kernel(LaunchConfig((1, 1, 1), (256, 1, 1)), (seen.pointer, seen.pointer, 256, 4.0))
        stream.synchronize()
        assert float(array.sum()) == 1024.0


def test_ptx_for_an_older_target_is_compiled_by_the_driver(cupy: Any) -> None:
    from tilegen.target import target

    capability = device_capability()
    assert capability is not None
    if capability < (9, 0):
        pytest.fail("extend this test: it compiles for sm_80 to run on sm_90 or later")
    older = compile_source(SOURCE, target=target("sm_80"), entries=("scale<int>", "reverse"), cache=None)
    test_scale(older, cupy)
