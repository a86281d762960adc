"""Runs command lines in this process and catches what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tilegen.cli import run

TRANSPOSE = """
kernel transpose[T: f32 | u8](M, N) {
    in  a: T[M, N]
    out b: T[N, M]
    b[j, i] = a[i, j]
    schedule tiled  { tile i = 32, j = 32; stage a }
    schedule padded { tile i = 32, j = 32; stage a pad 1 }
    test M = 33, N = 65
    expect padded: bank_conflicts == 0 at M = 64, N = 64
}
"""
FAULTY = "kernel broken(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i + 1] + q[i] }\n"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def tilegen(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        captured = capsys.readouterr()
        outcome = Outcome(code, captured.out, captured.err)
        assert "Traceback" not in outcome.out + outcome.err
        return outcome

    return call


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "transpose.tile"
    path.write_text(TRANSPOSE)
    return path


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "faulty.tile"
    path.write_text(FAULTY)
    return path
