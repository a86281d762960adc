"""Emitted files compile and link as they are, without a warning, with nothing else around."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import SPECS, compile_with

Written = Callable[..., Path]

FLAGS = ["-std=c++14", "-arch=sm_90", "-Xcompiler", "-Wall,-Wextra", "-Werror", "all-warnings"]


@pytest.mark.parametrize("name", ["scaled", "strided", "particles", "words"])
def test_a_file_compiles_alone(name: str, written: Written, nvcc: str) -> None:
    folder = written(SPECS[name])
    (source,) = folder.glob("*.cu")
    compile_with([nvcc, *FLAGS, "-c", source.name, "-o", "/dev/null"], folder)


def test_every_kernel_type_and_schedule_compiles(written: Written, nvcc: str) -> None:
    folder = written("".join(text for name, text in SPECS.items() if name != "strided"), everything=True)
    sources = sorted(folder.glob("*.cu"))
    assert len(sources) > 3 * 7
    # One translation unit that includes them all: nothing clashes, and nvcc starts once.
    (folder / "all.cu").write_text("".join(f'#include "{s.name}"\n' for s in sources))
    compile_with([nvcc, *FLAGS, "-c", "all.cu", "-o", "/dev/null"], folder)


MOST = """kernel most[T: u8 | i64 | u64 | f64 | f32 | bf16](R, C) {
    in x: T[R, C]; out high: T[R]; out at: i64[R]
    high[i] = min[j](x[i, j]); at[i] = argmax[j](x[i, j])
}
kernel climb[T: u8 | i64 | f64 | f32 | f16](R, C) {
    in x: T[R, C]; out y: T[R, C]
    y[i, j] = max[k in 0..=j](x[i, k])
}
kernel bent[T: f64 | f32 | bf16](N) { in x: T[N]; out y: T[N]; y[i] = gelu(x[i]) }
kernel capped[T: i32 | f64 | f32](N) { in x: T[N]; out y: T[N]; y[i] = maximum(x[i], minimum(x[i] + x[i], x[0])) }
"""
# Rows of a fixed length decide between variants when the kernel is made.
FIXED = "".join(
    f"kernel fixed{n}(R) {{ in x: f32[R, {n}]; out y: f32[R, {n}]; y[i, j] = x[i, j] - max[k](x[i, k]) }}\n"
    for n in (1, 5, 128, 1025, 9000)
)


@pytest.mark.parametrize("text", [MOST, FIXED], ids=["types", "lengths"])
def test_no_helper_is_left_over_and_no_variant_unreachable(text: str, written: Written, nvcc: str) -> None:
    folder = written(text, everything=True)
    sources = sorted(folder.glob("*.cu"))
    # Each alone: what one file declares in vain, another might use.
    for source in sources:
        compile_with([nvcc, *FLAGS, "-c", source.name, "-o", "/dev/null"], folder)


HINTED = """kernel first(R, C) {
    in x: f32[R, C]; out y: f32[R]
    y[i] = sum[k](x[i, k])
    schedule h { hint x evict_last }
}
kernel second(M, N) {
    in a: f16[M, N]; out b: f16[N, M]
    b[j, i] = a[i, j]
    schedule h { tile i = 64, j = 64; stage a; vector 4; hint a evict_last }
}
"""


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90"])
def test_cache_hints_compile_and_meet_in_one_file(architecture: str, written: Written, nvcc: str) -> None:
    """Before sm_80 there are none; from there on nvcc has a function of its own behind them."""
    folder = written(HINTED)
    (folder / "both.cu").write_text('#include "first.cu"\n#include "second.cu"\n')
    flags = [f if f != "-arch=sm_90" else f"-arch={architecture}" for f in FLAGS]
    for name in ("first.cu", "both.cu"):
        compile_with([nvcc, *flags, "-c", name, "-o", "/dev/null"], folder)


def test_relocatable_device_code(written: Written, nvcc: str) -> None:
    folder = written(SPECS["scaled"])
    compile_with([nvcc, *FLAGS, "-rdc=true", "-c", "scaled.cu", "-o", "/dev/null"], folder)


def _include_folder(nvcc: str, folder: Path) -> str | None:
    """Where nvcc finds the runtime's headers, by its own word."""
    (folder / "empty.cu").write_text("")
    done = subprocess.run(
        [nvcc, "--dryrun", "-c", "empty.cu"], cwd=folder, capture_output=True, text=True, check=False
    )
    places = re.findall(r'-I"?([^"\s]+)', done.stderr)
    return next((p for p in places if (Path(p) / "cuda_runtime_api.h").is_file()), None)


@pytest.mark.parametrize(
    "compiler", [["gcc", "-x", "c", "-std=c99"], ["g++", "-x", "c++", "-std=c++14"]], ids=["C", "C++"]
)
def test_header_is_plain_c(compiler: list[str], written: Written, nvcc: str) -> None:
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not on PATH")
    for name, text in SPECS.items():
        written(text, name="spec.tile", folder=f"out_{name}")
    root = written(SPECS["transpose"]).parent
    headers = sorted(root.glob("out_*/*.h"))
    assert len(headers) == len(SPECS)
    include = _include_folder(nvcc, root)
    if include is None:
        pytest.skip("no CUDA headers for the host compiler")
    (root / "all").write_text("".join(f'#include "{h}"\n' for h in (*headers, *headers)))
    compile_with(
        [*compiler, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-isystem", include, "all"],
        root,
    )


def test_two_kernels_link_and_one_may_be_included_twice(written: Written, nvcc: str) -> None:
    folder = written(SPECS["transpose"] + SPECS["scaled"])
    caller = '#include "transpose.cu"\n#include "transpose.cu"\n'
    (folder / "one.cu").write_text(caller + "int one(float* p) { return transpose_launch(p, p, 0, 0, 0); }\n")
    (folder / "two.cu").write_text(
        '#include "transpose.cu"\n#include "scaled.h"\nint one(float*);\n'
        "int main() { return one(nullptr) + transpose_launch(nullptr, nullptr, 0, 0, 0)\n"
        "    + scaled_launch(nullptr, nullptr, 0, 2.0f, 0); }\n"
    )
    compile_with([nvcc, *FLAGS, "one.cu", "two.cu", "scaled.cu", "-o", "program"], folder)
    # Empty sizes return before anything of CUDA is called, so this needs no GPU.
    compile_with(["./program"], folder)


def test_launcher_refuses_what_it_must_without_a_gpu(written: Written, nvcc: str) -> None:
    folder = written(SPECS["transpose"], schedule="exact")
    (folder / "main.cu").write_text(
        '#include "transpose.cu"\n'
        "int main() {\n"
        "    float* p = reinterpret_cast<float*>(256);\n"
        "    if (transpose_launch(p, p, -1, 32, 0) != cudaErrorInvalidValue) return 1;\n"
        "    if (transpose_launch(p, p, 31, 32, 0) != cudaErrorInvalidValue) return 2;\n"
        "    if (transpose_launch(p, p, 0, 32, 0) != cudaSuccess) return 3;\n"
        "    return 0;\n}\n"
    )
    compile_with([nvcc, *FLAGS, "main.cu", "-o", "program"], folder)
    compile_with(["./program"], folder)
