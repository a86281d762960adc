"""Scratch memory of a launch: where it lies, whose stream it is ordered on, and what the simulator makes of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tilegen.cuda.tree import Parameter
from tilegen.program import LaunchShape, ScratchShape
from tilegen.run import Kernel
from tilegen.run.config import launch_config
from tilegen.run.simulated import allocate_scratch
from tilegen.sim import Memory
from tilegen.target import target
from tilegen.toolchain import Compiled

COMPILED = Compiled(target=target("sm_90"), ptx="", cubin=b"cubin", entries={"k": "k"}, resources={}, log="")
SHAPE = LaunchShape(
    plan=0,
    index="int",
    entry="k",
    blocks=3,
    threads=64,
    dynamic_shared=0,
    parameters=(
        Parameter("pointer", "x", "x", ""),
        Parameter("scratch", "partials", "partials", ""),
        Parameter("scratch", "totals", "totals", ""),
        Parameter("scratch", "ticket", "ticket", ""),
    ),
    scratch=(
        ScratchShape("totals", 1024, True),
        ScratchShape("ticket", 4, True),
        ScratchShape("partials", 100, False),
    ),
)


class Gpu:
    """CuPy as far as a launch touches it. `calls` in order; addresses are those of the stream's own pool."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.current = 5

    @contextmanager
    def external(self, stream: int) -> Iterator[None]:
        before, self.current = self.current, stream
        yield
        self.current = before

    def alloc(self, size: int) -> Any:
        self.calls.append(("alloc", size, self.current))
        return SimpleNamespace(ptr=self.current << 20)

    def launch(self, function: int, *rest: int) -> None:
        self.calls.append(("launch", rest[7]))

    def module(self) -> Any:
        @contextmanager
        def device(number: int) -> Iterator[None]:
            yield

        def described(number: int) -> Any:
            found = device(number)
            found.compute_capability = "90"  # type: ignore[attr-defined]
            return found

        return SimpleNamespace(
            Device=described,
            ExternalStream=self.external,
            alloc=self.alloc,
            driver=SimpleNamespace(launchKernel=self.launch, CUDADriverError=OSError),
            function=SimpleNamespace(
                Module=lambda: SimpleNamespace(
                    load=lambda image: None, get_function=lambda n: SimpleNamespace(ptr=7)
                )
            ),
            get_current_stream=lambda: SimpleNamespace(ptr=self.current),
            runtime=SimpleNamespace(
                getDevice=lambda: 0,
                getDeviceCount=lambda: 1,
                CUDARuntimeError=RuntimeError,
                memsetAsync=lambda *a: self.calls.append(("memset", *a)),
            ),
        )


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    found = Gpu()
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=found.module()))
    return found


def test_each_part_starts_at_a_multiple_of_256_bytes() -> None:
    scratch = launch_config(SHAPE).scratch
    assert scratch is not None
    assert scratch.places == ((1, 1536), (2, 0), (3, 1280))
    assert scratch.zeroed == 1536 and scratch.bytes == 1792


def test_every_launch_has_its_own_ordered_on_its_stream(cuda: Gpu) -> None:
    kernel, config = Kernel(COMPILED, "k", "QQQQ"), launch_config(SHAPE)
    kernel(config, (1, 0, 0, 0))
    start = kernel.launcher(config, 0)
    for stream in (None, 9, 9):
        start((1, 0, 0, 0), stream)
    assert cuda.calls == [
        call
        for stream in (5, 5, 9, 9)
        for call in (("alloc", 1792, stream), ("memset", stream << 20, 0, 1536, stream), ("launch", stream))
    ]


def test_the_parameters_point_into_it(cuda: Gpu) -> None:
    scratch = launch_config(SHAPE).scratch
    assert scratch is not None
    _, values = scratch.allocate(SimpleNamespace(cuda=cuda.module()), 5, (1, 0, 0, 0))
    base = 5 << 20
    assert values == [1, base + 1536, base, base + 1280]


def test_the_simulator_tells_what_is_zeroed_from_what_must_be_written_first() -> None:
    memory = Memory()
    addresses = allocate_scratch(memory, SHAPE)
    assert set(addresses) == {"totals", "ticket", "partials"}
    assert not memory.read("scratch totals").any() and memory.find("scratch totals").initialised
    assert memory.read("scratch partials").all() and not memory.find("scratch partials").initialised
