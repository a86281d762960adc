import pytest

from tilegen.errors import LaunchError
from tilegen.run.config import LaunchConfig, check_config, launch_bounds, needs_opt_in
from tilegen.target import target
from tilegen.toolchain import compile_source

SM_90 = target("sm_90")


def config(
    grid: tuple[int, int, int] = (1, 1, 1), block: tuple[int, int, int] = (32, 1, 1), shared: int = 0
) -> LaunchConfig:
    return LaunchConfig(grid, block, shared)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ((64, 64, 1), r"block \(64, 64, 1\) has 4096 threads; sm_90 allows 1024"),
        ((8, 8, 128), r"block \(8, 8, 128\) has 128 threads along z; sm_90 allows 1 to 64"),
        ((0, 32, 1), r"has 0 threads along x"),
        ((1025, 1, 1), r"has 1025 threads along x; sm_90 allows 1 to 1024"),
        ((32, -1, 1), r"has -1 threads along y"),
    ],
)
def test_blocks_no_device_can_launch(block: tuple[int, int, int], message: str) -> None:  # report A7
    with pytest.raises(LaunchError, match=message):
        check_config(config(block=block), SM_90)


def test_more_threads_than_the_kernels_bounds() -> None:  # report A8
    check_config(config(block=(256, 1, 1)), SM_90, max_threads=256)
    with pytest.raises(LaunchError, match=r"has 512 threads; the kernel's __launch_bounds__ allow 256"):
        check_config(config(block=(512, 1, 1)), SM_90, max_threads=256)


def test_grids() -> None:
    check_config(config(grid=(2**31 - 1, 65535, 65535)), SM_90)
    with pytest.raises(LaunchError, match="has 65536 blocks along y; sm_90 allows up to 65535"):
        check_config(config(grid=(1, 65536, 1)), SM_90)
    with pytest.raises(LaunchError, match="along x"):
        check_config(config(grid=(2**31, 1, 1)), SM_90)


@pytest.mark.parametrize("grid", [(0, 1, 1), (5, 0, 1), (1, 1, 0)])
def test_an_empty_grid_is_no_error(grid: tuple[int, int, int]) -> None:  # report A5
    check_config(config(grid=grid), SM_90)
    assert config(grid=grid).is_empty and not config().is_empty


def test_shared_memory_static_and_dynamic_together() -> None:  # report F2
    exact = config(shared=49152)
    assert not needs_opt_in(exact, SM_90, 0)
    check_config(exact, SM_90, static_shared_bytes=4)
    assert needs_opt_in(exact, SM_90, 4)
    check_config(config(shared=232448), SM_90)
    check_config(config(shared=232444), SM_90, static_shared_bytes=4)
    message = r"shared memory of 4 static \+ 232448 dynamic = 232452 bytes a block; sm_90 allows 232448"
    with pytest.raises(LaunchError, match=message):
        check_config(config(shared=232448), SM_90, static_shared_bytes=4)
    with pytest.raises(LaunchError, match=r"0 static \+ 232464 dynamic"):
        check_config(config(shared=232464), SM_90)
    with pytest.raises(LaunchError, match=r"sm_61 allows 49152"):
        check_config(config(shared=49153), target("sm_61"))


def test_bounds_are_read_from_the_ptx() -> None:
    source = """
extern "C" __global__ void __launch_bounds__(256, 1) bound(float* b) { b[0] = 1.0f; }
extern "C" __global__ void free_of_bounds(float* b) { b[0] = 1.0f; }
template <class T> static __global__ void __launch_bounds__(96) other(T* b) { b[0] = T(1); }
"""
    done = compile_source(source, target=SM_90, entries=("bound", "free_of_bounds", "other<int>"), cache=None)
    got = [launch_bounds(done.ptx, lowered) for lowered in done.entries.values()]
    assert got == [256, None, 96]
    assert launch_bounds(done.ptx, "absent") is None
