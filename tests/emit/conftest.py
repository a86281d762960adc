"""Specs that emission is tried on, each with what is awkward about it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tilegen.api.selection import find_family
from tilegen.emit import Emitted, generate, requests, write
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.target import target

SPECS = {
    "transpose": """
kernel transpose[T: f32 | f16 | u8](M, N) {
    in  a: T[M, N]
    out b: T[N, M]
    b[j, i] = a[i, j]
    schedule naive  { threads i = 8, j = 32 }
    schedule padded { tile i = 32, j = 32; stage a pad {0, 1} }
    schedule vector { tile i = 64, j = 64; stage a swizzle; vector 4 }
    schedule exact  { tile i = 32, j = 32; stage a pad 1; bounds exact }
    schedule narrow { tile i = 32, j = 32; index i32 }
}""",
    "scaled": """
kernel scaled[T: f16 | f32 | bf16](N, k: f32 = 2.0) {
    in x: T[N]; out y: T[N]
    y[i] = T(f32(x[i]) * k + 1.0)
}""",
    "strided": """
kernel strided(M, N) {
    in a: f32[M, N] strides(*, 1)
    out b: f32[M, N] order(1, 0)
    b[i, j] = a[i, j] + 1.0
}""",
    "particles": """
kernel particles(P) {
    in  p: struct { x: f32, y: f32, z: f32, vx: f32, vy: f32, vz: f32 }[P]
    out q: struct { x: f32, y: f32, z: f32, vx: f32, vy: f32, vz: f32 }[P] soa
    q[i] = p[i]
}""",
    "edges": """
kernel edges(H, W) {
    in a: i32[H, W] boundary reflect; out b: i32[H, W]
    b[y, x] = a[y - 1, x] + a[y + 1, x] - 2 * a[y, x]
}""",
    "words": """
kernel main(double, I, threadIdx) {
    in register: f32[double, I, threadIdx]
    out new: f32[threadIdx, double, I]
    new[k, i, j] = register[i, j, k]
}""",
    "gather": """
kernel gather(N, M) {
    in a: f32[M] boundary constant 0; in idx: i32[N]; out b: f32[N]
    b[i] = a[idx[i]]
}""",
    "complex": "kernel complex_copy(N) { in a: c64[N]; out b: c64[N]; b[N - 1 - i] = a[i] }",
    "histogram": """
kernel histogram(R, N, B) {
    in  x: u32[R, N]; in w: i64[N]
    out h: u64[R, B]
    h[r, b] = sum[i](where(x[r, i] // 3 == b, u64(w[i]), 0))
    schedule wide { vector 2; hint x streaming }
}""",
    "flip": """
kernel flip(H, W) { in a: u8[H, W, 3]; out b: u8[H, W, 3]; b[i, j, c] = a[H - 1 - i, j, c] }""",
}


def emitted(
    text: str, *, name: str = "spec.tile", kernel: str | None = None, **options: object
) -> tuple[Emitted, ...]:
    """What `tilegen emit` makes of `text`."""
    spec = check(parse(source_from_text(text, name)))
    families = [find_family(spec, kernel)] if kernel else list(spec.kernels)
    wanted = requests(
        spec,
        families,
        schedule=options.pop("schedule", None),  # type: ignore[arg-type]
        types=options.pop("types", None),  # type: ignore[arg-type]
        everything=bool(options.pop("everything", False)),
    )
    return generate(spec, wanted, target("sm_90"), **options)  # type: ignore[arg-type]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Emits a spec into a folder of its own."""

    def make(text: str, folder: str = "out", **options: object) -> Path:
        write(emitted(text, **options), tmp_path / folder)  # type: ignore[arg-type]
        return tmp_path / folder

    return make


@pytest.fixture(scope="session")
def nvcc() -> str:
    found = shutil.which("nvcc")
    if found is None:
        pytest.skip("nvcc is not on PATH")
    return found


def compile_with(command: list[str], folder: Path) -> None:
    """Runs a compiler in `folder`; fails the test with its whole output if it says anything at all."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0 and not output.strip(), f"{' '.join(command)}\n{output}"
