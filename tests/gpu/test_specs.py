"""Every spec of `specs/` on a GPU, shape by shape as on the simulator, and what `on gpu` adds."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, read_source
from tilegen.lang.spec import KernelFamily
from tilegen.target import Target, target
from tilegen.verify import verify_kernel

SPECS = sorted((Path(__file__).parents[2] / "specs").glob("**/*.tile"))


@lru_cache(maxsize=1)
def device_target() -> Target:
    """The architecture of the current device, or the nearest one known below it."""
    import cupy

    number = str(cupy.cuda.Device().compute_capability)
    return target(f"sm_{number}")


def families(path: Path) -> tuple[KernelFamily, ...]:
    return check(parse(read_source(str(path)))).kernels


PAIRS = [
    pytest.param(family, number, id=f"{path.stem}-{family.name}-{number}")
    for path in SPECS
    for family in families(path)
    for number in range(len(family.kernels))
]


@pytest.mark.gpu
@pytest.mark.parametrize(("family", "number"), PAIRS)
def test_spec(family: KernelFamily, number: int) -> None:
    report = verify_kernel(family, family.kernels[number], where="gpu", target=device_target())
    told = [f"{r.reason}" for r in report.failures] + [str(d) for _, ds in report.problems for d in ds]
    assert report.passed, "\n".join(told)


@pytest.mark.gpu
def test_there_are_specs() -> None:
    assert PAIRS
