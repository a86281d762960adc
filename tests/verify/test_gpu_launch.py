"""`launch_program` without a GPU: CuPy and the driver replaced by memory of the host and the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.run import gpu
from tilegen.run.config import LaunchConfig
from tilegen.sim import Launch, Memory, load_module, simulate
from tilegen.target import target
from tilegen.toolchain import Compiled
from tilegen.verify import verify_kernel

ARRAYS: list[Any] = []


class Device:
    """A device array: host memory at an address of the simulator's making."""

    def __init__(self, host: Any) -> None:
        self.host = np.array(host, np.uint8)
        start = 0x7F0000000000 + (256 << 20) * (len(ARRAYS) + 1)
        self.data = SimpleNamespace(ptr=start)
        ARRAYS.append(self)


class FakeKernel:
    def __init__(self, compiled: Compiled, entry: str, formats: Sequence[str]) -> None:
        self.compiled, self.entry, self.formats = compiled, entry, formats

    def __call__(self, config: LaunchConfig, values: Sequence[int], *, device: int) -> None:
        memory, moved = Memory(), {}
        for number, array in enumerate(ARRAYS):
            moved[number] = memory.allocate(str(number), array.host)
        arguments: list[Any] = []
        for value, format in zip(values, self.formats, strict=True):
            if format != "Q" or value < 0x7F0000000000:
                arguments.append(value)
                continue
            owner = max((n for n, a in enumerate(ARRAYS) if a.data.ptr <= value), key=lambda n: n)
            arguments.append(moved[owner] + value - ARRAYS[owner].data.ptr)
        module = load_module(self.compiled.ptx)
        launch = Launch(config.grid, config.block, config.dynamic_shared_bytes)
        simulate(module, self.compiled.entries[self.entry], launch, arguments, memory, checks=False)
        for number, array in enumerate(ARRAYS):
            array.host[:] = memory.read(str(number))


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    ARRAYS.clear()
    stream = SimpleNamespace(ptr=0, synchronize=lambda: ARRAYS.clear())

    class Current:
        id = 0

    cuda = SimpleNamespace(get_current_stream=lambda: stream, Device=Current)
    module = SimpleNamespace(asarray=Device, asnumpy=lambda array: array.host.copy(), cuda=cuda)
    monkeypatch.setattr(gpu, "gpu", lambda: module)
    monkeypatch.setattr(gpu, "Kernel", FakeKernel)


def program_of(text: str) -> Program:
    family = check(parse(source_from_text(text))).kernels[0]
    return build(family.kernels[0], family.schedules[0] if family.schedules else None, target("sm_90"))


COPY = """kernel copy(M, N) {
    in a: f32[M, N]; out b: f32[M, N] pitch 128B; b[i, j] = a[i, j]; schedule s { threads i = 4, j = 32 }
}"""


def run(source: Any = None) -> Any:
    program = program_of(COPY)
    inputs = {"a": np.arange(90, dtype=np.float32).reshape(3, 30)}
    text = program.source.replace(*source) if source else None
    assert text != program.source
    return inputs["a"], gpu.launch_program(program, {"M": 3, "N": 30}, inputs, source=text)


def test_outputs_and_marks() -> None:
    wanted, found = run()
    assert np.array_equal(found.outputs["b"], wanted)
    assert found.written["b"].all()
    assert found.findings == ()
    assert found.resources.registers > 0 and found.report is None


def test_elements_that_are_not_written_are_known() -> None:
    _, found = run(("j < N", "j < N - 1"))
    assert not found.written["b"][:, -1].any() and found.written["b"][:, :-1].all()


def test_a_write_to_padding_is_found() -> None:
    _, found = run(("j < N", "j < N + 1"))
    assert any(f.title == "write to padding" for f in found.findings)


def test_a_write_outside_is_found() -> None:
    _, found = run(("i < M", "i < M + 1"))
    assert any(f.title == "write outside" and "`b`" in f.detail for f in found.findings)


def test_a_result_that_depends_on_what_was_there_is_found() -> None:
    _, found = run(("] = a[", "] += a["))
    assert any(f.title == "different result" for f in found.findings)


@pytest.mark.parametrize(
    "text",
    [
        "kernel t(M, N) { in a: f16[M, N]; out b: f16[N, M]; b[j, i] = a[i, j]; "
        "schedule v { tile i = 64, j = 64; stage a swizzle; vector 4 } }",
        "kernel axpy(N, alpha: f32 = 2.5, flag: bool = true) { in x: f32[N]; inout y: f32[N]; "
        "y[i] = where(flag, alpha * x[i] + y[i], 0.0) }",
        "kernel s(M, N) { in a: f32[M, N] strides(*, *); out b: f32[M, N] strides(*, *); b[i, j] = a[i, j] }",
        "kernel r(M, N) { in a: f32[M, N]; inout b: f32[M, N]; "
        "b[i, j] = a[i, j] * 2.0 for i in 1..M - 1, j in 1..N - 1 }",
    ],
    ids=["transpose", "axpy", "strided", "ranged"],
)
def test_verify_on_a_gpu(text: str) -> None:
    family = check(parse(source_from_text(text))).kernels[0]
    report = verify_kernel(family, family.kernels[0], where="gpu", target=target("sm_90"))
    assert report.passed, "\n".join(r.reason for r in report.failures)
