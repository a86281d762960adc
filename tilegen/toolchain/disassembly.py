"""The machine code in a cubin as text, by NVIDIA's nvdisasm."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tilegen.toolchain.errors import ToolchainMissing
from tilegen.toolchain.headers import package_folders


def nvdisasm_path() -> Path | None:
    """nvdisasm from the wheel, a toolkit that CUDA_PATH names, or PATH; None where there is none."""
    folders = [
        root / part / "bin"
        for root in package_folders("nvidia")
        for part in ("cu13", "cuda_nvdisasm", "cu12")
    ]
    folders += [Path(os.environ[name]) / "bin" for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    for folder in folders:
        if os.access(folder / "nvdisasm", os.X_OK):
            return folder / "nvdisasm"
    found = shutil.which("nvdisasm")
    return Path(found) if found else None


def sass(cubin: bytes) -> str:
    """Disassemble `cubin`. Raises ToolchainMissing without nvdisasm, or with one too old for it."""
    tool = nvdisasm_path()
    if tool is None:
        raise ToolchainMissing("nvdisasm is not found", "pip install 'tilegen[sass]'")
    with tempfile.TemporaryDirectory(prefix="tilegen-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run([tool, "-c", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolchainMissing(
            f"{tool} cannot read the cubin: {done.stderr.strip()}",
            "pip install --upgrade nvidia-cuda-nvdisasm, at least as new as NVRTC",
        )
    return done.stdout
