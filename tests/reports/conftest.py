"""Rows of `reports.jsonl` (bugs that users of other tools met), each tried on the simulator or the front end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.numpy_types import Array
from tilegen.program import Program, build
from tilegen.run.outcome import Options, Run
from tilegen.run.simulated import simulate_program
from tilegen.target import target

REPORTS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/reports.jsonl").read_text(encoding="utf-8").splitlines()
]


def make(text: str, **options: Any) -> Program:
    """The first schedule of the first kernel, `auto` where it has none."""
    family = check(parse(Source("report.tile", text))).kernels[0]
    schedule = expand(family.schedules[0])[0] if family.schedules else None
    return build(family.kernels[0], schedule, target("sm_90"), **options)


def simulated(
    text: str,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Array],
    scalars: Mapping[str, float] | None = None,
    **options: Any,
) -> Run:
    """Run once; fails on any fault. Buffers end where the last element does, with guard zones around them."""
    run = simulate_program(make(text), sizes, inputs, scalars, options=Options(**options))
    assert not run.faults, "\n".join(run.faults)
    return run


def numbered(shape: tuple[int, ...], dtype: str | type = np.float32) -> Array:
    """Distinct values as far as the type has them."""
    return (np.arange(np.prod(shape, dtype=int)) % 251 + 1).astype(dtype).reshape(shape)


@pytest.fixture
def program() -> Callable[..., Program]:
    return make


@pytest.fixture
def run() -> Callable[..., Run]:
    return simulated


@pytest.fixture
def values() -> Callable[..., Array]:
    return numbered


@pytest.fixture
def reports() -> list[dict[str, str]]:
    return REPORTS
