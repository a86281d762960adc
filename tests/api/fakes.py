"""CuPy as far as a call touches it, without a GPU: arrays over host memory, a device, and kernels that record."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tilegen.run.config import LaunchConfig


class ndarray:  # CuPy's own name
    """A CuPy array whose memory is a NumPy array's. `at`: pretended address of its first element."""

    __module__ = "cupy"

    def __init__(self, array: np.ndarray, at: int | None = None, device: int = 0) -> None:
        self.host = array
        ptr = array.__array_interface__["data"][0] if at is None else at
        self.data = SimpleNamespace(ptr=ptr, device_id=device)
        self.dtype, self.shape, self.strides = array.dtype, array.shape, array.strides
        self.device = SimpleNamespace(id=device)

    def __setitem__(self, key: object, value: object) -> None:
        self.host[...] = value


@dataclass
class Machine:
    """`launches`: what each kernel was called with. `next_address`: of the next allocation, 512-byte aligned."""

    launches: list[tuple[LaunchConfig, list[Any], int]] = field(default_factory=list)
    next_address: int = 1 << 40
    entries: list[str] = field(default_factory=list)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> ndarray:
        array = np.empty(shape, dtype)
        address = self.next_address
        self.next_address += -(-max(1, array.nbytes) // 512) * 512
        return ndarray(array, address)

    def array(self, array: np.ndarray, offset: int = 0) -> ndarray:
        """An array `offset` bytes past an aligned address."""
        address = self.next_address + offset
        self.next_address += -(-(array.nbytes + 4096) // 512) * 512
        return ndarray(array, address)

    def load(self, program: Any, entry: str, formats: Sequence[str]) -> Any:
        self.entries.append(entry)

        return Loaded(self, len(formats))


@dataclass
class Loaded:
    """A kernel that notes its launches; `parameters`: how many values it takes."""

    machine: Machine
    parameters: int

    def __call__(
        self, config: LaunchConfig, values: Sequence[Any], *, device: int = 0, stream: int | None = None
    ) -> None:
        assert len(values) == self.parameters
        self.machine.launches.append((config, list(values), device))

    def launcher(self, config: LaunchConfig, device: int) -> Any:
        return lambda values, stream: self(config, values, device=device, stream=stream)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    cuda = SimpleNamespace(
        Device=lambda number=0: contextlib.nullcontext(),
        runtime=SimpleNamespace(getDevice=lambda: 0),
        get_current_stream=lambda: SimpleNamespace(ptr=0),
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, empty=found.empty, ndarray=ndarray))
    monkeypatch.setattr("tilegen.api.prepared.stream_of", lambda arrays: 0)
    monkeypatch.setattr("tilegen.api.prepared.wait_for", lambda arrays, stream: None)
    monkeypatch.setattr("tilegen.api.execute.Programs._load", lambda self, *a: found.load(*a))
    return found
