"""Kernels from spec text, and one call that evaluates one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.lang.spec import Kernel
from tilegen.reference import evaluate, infer_sizes


@pytest.fixture
def load() -> Callable[..., Kernel]:
    """The kernel of a spec, for the first choice of types or the one numbered."""

    def build(text: str, choice: int = 0) -> Kernel:
        return check(parse(Source("test.tile", text))).kernels[0].kernels[choice]

    return build


@pytest.fixture
def run(load: Callable[..., Kernel]) -> Callable[..., Any]:
    """Evaluate a spec on arrays; sizes come from their shapes. One output comes back bare."""

    def call(text: str, arrays: Mapping[str, Any], choice: int = 0, scalars: Any = None, **given: int) -> Any:
        kernel = load(text, choice)
        values = {name: np.asarray(array) for name, array in arrays.items()}
        sizes = infer_sizes(kernel, {name: value.shape for name, value in values.items()}, given)
        outputs = evaluate(kernel, sizes, values, scalars)
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    return call
