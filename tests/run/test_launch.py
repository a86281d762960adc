"""What of a launch can be tested without a GPU: packing, the choice of code, and the calls made to the driver."""

import ctypes
import struct
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tilegen.errors import ArgumentError, LaunchError
from tilegen.run.config import FORMATS, LaunchConfig, Packer
from tilegen.run.launch import Kernel, gpu, loadable_image
from tilegen.target import target
from tilegen.toolchain import Compiled, Resources, ToolchainMissing

PTX = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 256, 1, 1\n{\n\tret;\n}\n"
COMPILED = Compiled(
    target=target("sm_90"),
    ptx=PTX,
    cubin=b"cubin",
    entries={"k": "k"},
    resources={"k": Resources(32, 0, 0, 0, 16)},
    log="",
)


def unpacked(packer: Packer, address: int) -> list[Any]:
    table = (ctypes.c_void_p * len(packer.formats)).from_address(address)
    return [
        struct.unpack(format, ctypes.string_at(place, struct.calcsize(format)))[0]
        for place, format in zip(table, packer.formats, strict=True)
    ]


def test_parameters_lie_where_c_puts_them() -> None:
    packer = Packer(("Q", "i", "Q", "?", "d", "e", "q"))
    assert packer.offsets == (0, 8, 16, 24, 32, 40, 48) and packer.size == 56
    values = [2**64 - 1, -7, 4096, True, 0.1, 1.5, -(2**63)]
    assert unpacked(packer, packer.pack(values)) == values
    assert packer.pack(values) == packer.pack(values)
    assert Packer(()).pack(()) != 0


def test_every_scalar_element_has_a_format() -> None:
    from tilegen.dtypes import DTYPES

    for name, format in FORMATS.items():
        assert struct.calcsize(format) == DTYPES[name].size


@pytest.mark.parametrize("values", [(1,), (1, 2, 3), (1, 2**31), (-1, 0), (1, "x")])
def test_values_that_do_not_fit(values: tuple[Any, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"do not fit \('Q', 'i'\)"):
        Packer(("Q", "i")).pack(values)


def test_threads_do_not_share_a_buffer() -> None:
    packer = Packer(("q",))
    wrong: list[Any] = []
    start = threading.Barrier(4)

    def work(me: int) -> None:
        start.wait()
        for turn in range(2000):
            value = me * 10_000 + turn
            if unpacked(packer, packer.pack([value])) != [value]:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_code_is_chosen_by_the_device() -> None:
    assert loadable_image(COMPILED, (9, 0)) == b"cubin"
    assert loadable_image(COMPILED, (12, 0)) == PTX.encode()
    assert loadable_image(replace(COMPILED, cubin=None), (9, 0)) == PTX.encode()
    ampere = replace(COMPILED, target=target("sm_80"))
    assert loadable_image(ampere, (8, 6)) == b"cubin" and loadable_image(ampere, (9, 0)) == PTX.encode()
    with pytest.raises(
        LaunchError, match=r"code for sm_90 does not run on a device of compute capability 8\.0"
    ):
        loadable_image(COMPILED, (8, 0))
    specific = replace(COMPILED, target=target("sm_90a"))
    assert loadable_image(specific, (9, 0)) == b"cubin"
    with pytest.raises(LaunchError, match=r"sm_90a runs on compute capability 9\.0 alone"):
        loadable_image(specific, (10, 0))
    family = replace(COMPILED, target=target("sm_100f"))
    assert loadable_image(family, (10, 3)) == b"cubin"
    with pytest.raises(LaunchError):
        loadable_image(family, (12, 0))


def test_too_many_parameters() -> None:
    pascal = replace(COMPILED, target=target("sm_61"))
    with pytest.raises(LaunchError, match="take 4104 bytes; sm_61 allows 4096"):
        Kernel(pascal, "k", ["Q"] * 513)
    Kernel(COMPILED, "k", ["Q"] * 513)


class Driver:
    """Notes what would be done on a device."""

    class CUDADriverError(RuntimeError):
        pass

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.refuse = False

    def funcSetAttribute(self, function: int, attribute: int, value: int) -> None:
        self.calls.append(("attribute", function, attribute, value))

    def launchKernel(self, function: int, *rest: int) -> None:
        if self.refuse:
            raise self.CUDADriverError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
        *numbers, table, extra = rest
        pointer = ctypes.c_void_p.from_address(table).value
        assert pointer is not None and extra == 0
        self.calls.append(("launch", function, *numbers, ctypes.c_uint64.from_address(pointer).value))


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    noted = Driver()

    class Device:
        compute_capability = "90"

        def __init__(self, number: int) -> None:
            self.number = number

        def __enter__(self) -> None:
            noted.calls.append(("device", self.number))

        def __exit__(self, *_: object) -> None:
            pass

    class Module:
        def load(self, image: bytes) -> None:
            noted.calls.append(("load", image))

        def get_function(self, name: str) -> Any:
            return SimpleNamespace(ptr={"k": 77}[name])

    cuda = SimpleNamespace(
        driver=noted,
        Device=Device,
        function=SimpleNamespace(Module=Module),
        get_current_stream=lambda: SimpleNamespace(ptr=5),
        runtime=SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError),
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    yield noted


def test_a_kernel_is_loaded_once_a_device(driver: Driver) -> None:
    kernel = Kernel(COMPILED, "k", ("Q",))
    config = LaunchConfig((3, 2, 1), (64, 4, 1))
    kernel(config, (4096,))
    kernel(config, (8192,), stream=9)
    kernel(config, (1,), device=1)
    assert driver.calls == [
        ("device", 0),
        ("load", b"cubin"),
        ("launch", 77, 3, 2, 1, 64, 4, 1, 0, 5, 4096),
        ("device", 0),
        ("launch", 77, 3, 2, 1, 64, 4, 1, 0, 9, 8192),
        ("device", 1),
        ("load", b"cubin"),
        ("launch", 77, 3, 2, 1, 64, 4, 1, 0, 5, 1),
    ]


def test_the_shared_memory_attribute_is_raised_when_needed(driver: Driver) -> None:  # report F2
    kernel = Kernel(COMPILED, "k", ("Q",))  # 16 bytes static
    for shared in (49136, 49152, 49152, 60000, 50000):
        kernel(LaunchConfig((1, 1, 1), (32, 1, 1), shared), (0,))
    assert [call for call in driver.calls if call[0] == "attribute"] == [
        ("attribute", 77, 8, 49152),
        ("attribute", 77, 8, 60000),
    ]


def test_nothing_is_launched_for_an_empty_grid(driver: Driver) -> None:  # report A5
    kernel = Kernel(COMPILED, "k", ("Q",))
    kernel(LaunchConfig((0, 1, 1), (32, 1, 1)), (0,))
    assert driver.calls == []
    kernel(LaunchConfig((1, 1, 1), (32, 1, 1)), (0,))
    assert driver.calls[-1][0] == "launch"


def test_what_cannot_be_launched_never_reaches_the_driver(driver: Driver) -> None:  # reports A7, A8
    kernel = Kernel(COMPILED, "k", ("Q",))
    for block in ((512, 1, 1), (64, 64, 1), (1, 1, 65)):
        with pytest.raises(LaunchError):
            kernel(LaunchConfig((1, 1, 1), block), (0,))
    assert driver.calls == []
    driver.refuse = True
    with pytest.raises(LaunchError, match="the driver refused to launch 'k' as LaunchConfig"):
        kernel(LaunchConfig((1, 1, 1), (32, 1, 1)), (0,))


def test_without_a_gpu_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", lambda: 0)
    with pytest.raises(ToolchainMissing, match="launching needs an NVIDIA GPU and its driver") as raised:
        gpu()
    assert raised.value.exit_code == 3
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ToolchainMissing, match=r"tilegen\[cuda13\]"):
        Kernel(COMPILED, "k", ("Q",))(LaunchConfig((1, 1, 1), (32, 1, 1)), (0,))
