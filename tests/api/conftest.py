"""Specs that calls are tried on."""

from __future__ import annotations

import pytest

import tilegen

TRANSPOSE = """
kernel transpose[T: f32 | f16 | u8 | c64](M, N) {
    in  a: T[M, N]
    out b: T[N, M]
    b[j, i] = a[i, j]
    schedule tiled  { tile i = 32, j = 32; stage a pad {0, 1} }
    schedule vector { tile i = 64, j = 64; stage a swizzle; vector a = 2, b = 2 }
    test M = 33, N = 65
}
"""


@pytest.fixture
def transpose() -> tilegen.File:
    return tilegen.loads(TRANSPOSE, "transpose.tile")
