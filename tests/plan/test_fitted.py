"""`auto` as a call gets it: fitted to its sizes, short ones as constants. Random permutations against NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilegen

TYPES = {"u8": np.uint8, "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64}
EXTENTS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 32, 33, 40, 64, 65, 100]


@pytest.mark.parametrize("seed", range(40))
def test_a_random_permutation_is_that_of_numpy(seed: int) -> None:
    draw = random.Random(seed)
    rank = draw.choice([2, 3, 3, 4, 5])
    extents = [draw.choice(EXTENTS) for _ in range(rank)]
    while np.prod(extents) > 100_000:
        extents[draw.randrange(rank)] = 2
    order = draw.sample(range(rank), rank)
    dtype = draw.choice(sorted(TYPES))
    axes = "abcde"[:rank]
    first = "A - 1 - a" if draw.random() < 0.25 else "a"
    out = [axes[n] for n in order]
    kernel = tilegen.loads(
        f"kernel p({', '.join(axes.upper())}) {{ in x: {dtype}[{', '.join(axes.upper())}];"
        f" out y: {dtype}[{', '.join(out).upper()}]; y[{', '.join(out)}] = x[{', '.join([first, *axes[1:]])}] }}"
    )
    x = np.random.default_rng(seed).integers(0, 100, extents).astype(TYPES[dtype])
    wanted = np.transpose(x if first == "a" else x[::-1], order)
    np.testing.assert_array_equal(kernel(x), wanted)


def test_a_vector_that_only_the_load_could_follow_is_not_chosen() -> None:
    """The load's run goes on into another axis than the store's: one width for both must hold along one run."""
    kernel = tilegen.loads(
        "kernel p(A, B, C, D) { in x: u8[A, B, C, D]; out y: u8[B, C, A, D]; y[b, c, a, d] = x[a, b, c, d] }"
    )
    x = np.random.default_rng(0).integers(0, 255, (9, 31, 16, 2)).astype(np.uint8)
    np.testing.assert_array_equal(kernel(x), np.transpose(x, (1, 2, 0, 3)))
