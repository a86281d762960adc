"""Helpers of the simulator's tests: compile CUDA C with NVRTC, run kernels, evaluate single PTX instructions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tilegen.sim import Launch, Memory, Module, Report, load_module, simulate

Array = npt.NDArray[Any]
_TYPES = {"int8": "s8", "uint8": "u8", "int16": "s16", "uint16": "u16", "int32": "s32", "uint32": "u32",
          "int64": "s64", "uint64": "u64", "float32": "f32", "float64": "f64", "float16": "b16"}  # fmt: skip
_REGISTERS = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}


@lru_cache(maxsize=256)
def _compile(source: str, arch: str) -> Module:
    nvrtc = pytest.importorskip("cupy.cuda").nvrtc
    program = nvrtc.createProgram(source, "kernel.cu", (), ())
    try:
        options = (f"-arch={arch}", "-lineinfo", "--std=c++14", "-default-device", *_include_options())
        nvrtc.compileProgram(program, options)
    except Exception as error:  # the log says more than the exception
        raise AssertionError(nvrtc.getProgramLog(program)) from error
    ptx = nvrtc.getPTX(program)
    text = ptx.decode() if isinstance(ptx, bytes) else ptx
    return load_module(text.rstrip("\0"))


def _include_options() -> tuple[str, ...]:
    """The folders of the CUDA headers that pip's runtime wheel brings."""
    return tuple(
        f"-I{path.parent}" for root in sys.path for path in Path(root).glob("nvidia/*/include/cuda_fp16.h")
    )


@pytest.fixture(scope="session")
def cuda() -> Callable[..., Module]:
    """Compiles CUDA C to a `Module`."""
    return lambda source, arch="sm_90": _compile(source, arch)


@pytest.fixture(scope="session")
def run(cuda: Callable[..., Module]) -> Callable[..., tuple[Report, Memory]]:
    """Runs the first kernel of a source.

    Arguments: NumPy arrays (allocated as `a0`, `a1`, … by position), ("out", array-like size in bytes) for arrays
    that hold nothing yet, and scalars.
    """

    def execute(
        source: str, grid: Any, block: Any, *arguments: Any, shared: int = 0, **options: Any
    ) -> tuple[Report, Memory]:
        module = cuda(source)
        memory = Memory()
        values: list[Any] = []
        for position, one in enumerate(arguments):
            if isinstance(one, np.ndarray):
                values.append(memory.allocate(f"a{position}", one))
            elif isinstance(one, tuple):
                values.append(memory.allocate(f"a{position}", one[1], initialised=False))
            else:
                values.append(one)
        pad = lambda size: (*size, *(1,) * (3 - len(size))) if isinstance(size, tuple) else (size, 1, 1)  # noqa: E731
        launch = Launch(pad(grid), pad(block), shared)
        return simulate(module, module.entries[0], launch, values, memory, **options), memory

    return execute


@pytest.fixture(scope="session")
def ptx() -> Callable[..., Array]:
    """Evaluates PTX text over arrays: `ptx("add.s32 d, a, b;", np.int32, a, b)`; operands are named a, b, c, e."""

    def evaluate(body: str, result: Any, *inputs: Array, declare: str = "") -> Array:
        count = len(inputs[0])
        kind = np.dtype(result)
        lines = [".version 8.0", ".target sm_90", ".address_size 64", ".visible .entry k("]
        names = "abce"[: len(inputs)]
        lines.append(", ".join(f".param .u64 p{name}" for name in [*names, "d"]) + ") {")
        lines += [".reg .pred p, q;", ".reg .b32 %t;", ".reg .b64 %i, %w;", declare]
        for name, array in zip([*names, "d"], [*inputs, np.zeros(1, kind)], strict=True):
            lines += [f".reg .b64 %p{name};", f".reg .{_REGISTERS[array.itemsize]} {name};"]
        lines += ["mov.u32 %t, %tid.x;", "cvt.u64.u32 %i, %t;"]
        for name, array in zip(names, inputs, strict=True):
            lines += _address(name, array.itemsize)
            lines.append(f"ld.global.{_TYPES[array.dtype.name]} {name}, [%p{name}];")
        lines += [
            "{",
            body,
            "}",
            *_address("d", kind.itemsize),
            f"st.global.{_TYPES[kind.name]} [%pd], d;",
            "ret;",
            "}",
        ]
        module = load_module("\n".join(lines))
        memory = Memory()
        arguments = [memory.allocate(name, array) for name, array in zip(names, inputs, strict=True)]
        arguments.append(memory.allocate("d", count * kind.itemsize))
        report = simulate(module, "k", Launch((1, 1, 1), (count, 1, 1)), arguments, memory)
        assert report.faults == ()
        return memory.read("d").view(kind)

    def _address(name: str, size: int) -> list[str]:
        return [
            f"ld.param.u64 %p{name}, [p{name}];",
            f"mul.lo.u64 %w, %i, {size};",
            f"add.u64 %p{name}, %p{name}, %w;",
        ]

    return evaluate
