"""Specs by text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.lang.spec import Kernel, Spec


@pytest.fixture
def checked() -> Callable[[str], Spec]:
    return lambda text: check(parse(Source("t.tile", text)))


@pytest.fixture
def kernel(checked: Callable[[str], Spec]) -> Callable[[str], Kernel]:
    """The first kernel of a text, with its first types."""
    return lambda text: checked(text).kernels[0].kernels[0]
