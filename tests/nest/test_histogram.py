"""What is recognised as a histogram, and what is not."""

from __future__ import annotations

import pytest

from tilegen.core.nest.lets import inline_lets
from tilegen.core.nest.value_range import value_range
from tilegen.families.histogram.nest import Histogram, Match, histogram_nest, histogram_of
from tilegen.families.registry import family_of
from tilegen.lang.check import check
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.lang.spec import Kernel


def kernel_of(body: str, header: str = "N") -> Kernel:
    return check(parse(Source("t.tile", f"kernel t({header}) {{ {body} }}"))).kernels[0].kernels[0]


def found_in(body: str, header: str = "N") -> Histogram | None:
    kernel = kernel_of(body, header)
    return histogram_of(kernel, inline_lets(kernel)[1])


def described(found: Histogram) -> str:
    """Terms in order, bins as `axis = ±key…`; weight; batch axes."""
    terms = [
        f"{t.axis.name}:{t.key.dtype}{'-' if t.sign < 0 else '+'}{t.shift}" if isinstance(t, Match) else "if"
        for t in found.terms
    ]
    weight = f" weight {found.weight.dtype}" if found.weight is not None else ""
    batch = f" batch {','.join(found.batch)}" if found.batch else ""
    return " ".join(terms) + weight + batch


RECOGNISED = [
    ("in x: u8[N]; out h: i32[256]; h[b] = count[i](x[i] == b)", "b:u8+0"),
    ("in x: u8[N]; out h: i32[256]; h[b] = count[i](b == x[i])", "b:u8+0"),
    ("in x: i64[N]; out h: i64[9]; h[b] = count[i](x[i] == b)", "b:i64+0"),
    ("in x: u64[N]; out h: u64[9]; h[b] = count[i](x[i] == b)", "b:u64+0"),
    ("in x: bool[N]; out h: i32[2]; h[b] = count[i](x[i] == b)", "b:bool+0"),
    ("in x: u8[N]; out h: i32[9]; h[b] = count[i](x[i] == b + 1)", "b:u8+1"),
    ("in x: u8[N]; out h: i32[9]; h[b] = count[i](x[i] == 255 - b)", "b:u8-255"),
    ("in x: i32[N]; out h: i32[9]; h[b] = count[i](x[i] // 4 == b) for b in 1..8", "b:i32+0"),
    ("in x: f32[N]; out h: i32[9]; h[b] = count[i](i32(floor(x[i])) == b)", "b:i32+0"),
    ("in x: u8[N]; in m: bool[N]; out h: i32[9]; h[b] = count[i](x[i] == b and m[i])", "b:u8+0 if"),
    ("in x: u8[N]; in m: bool[N]; out h: i32[9]; h[b] = count[i](m[i] and x[i] == b)", "if b:u8+0"),
    (
        "in x, y: u8[N]; out h: i32[4, 5]; h[a, b] = count[i](x[i] == a and y[i] == b)",
        "a:u8+0 b:u8+0",
    ),
    ("in x: u8[N, 3]; out h: i32[3, 9]; h[c, b] = count[i](x[i, c] == b)", "b:u8+0 batch c"),
    ("in x: u8[N, 7]; out h: i32[9]; h[b] = count[i, j](x[i, j] == b)", "b:u8+0"),
    (
        "in x: u8[N]; in w: i32[N]; out h: i32[9]; h[b] = sum[i](where(x[i] == b, w[i], 0))",
        "b:u8+0 weight i32",
    ),
    (
        "in x: u8[N]; in w: i16[N]; out h: i32[9]; h[b] = sum[i](where(x[i] == b, w[i], 0))",
        "b:u8+0 weight i32",
    ),
    ("in x: u8[N]; out h: i32[9]; h[b] = sum[i](where(x[i] == b, 1, 0))", "b:u8+0"),
    ("in x: u8[N]; out h: i32[9]; h[b] = sum[i](i32(x[i] == b))", "b:u8+0"),
    (
        "in x: u8[N]; in w: i32[N]; out h: i32[9]; h[b] = sum[i](w[i] * i32(x[i] == b))",
        "b:u8+0 weight i32",
    ),
    ("in x: u8[N]; out h: i32[9]; let k[i] = x[i] // 32; h[b] = count[i](k[i] == b)", "b:u8+0"),
    ("in x: u8[N]; out h: f32[9]; h[b] = f32(count[i](x[i] == b)) / f32(N)", "b:u8+0"),
    ("in x: u8[N]; inout h: i32[9]; h[b] = h[b] + count[i](x[i] == b)", "b:u8+0"),
    (
        "in x: struct { k: u8, w: i32 }[N]; out h: i32[9]; h[b] = sum[i](where(x[i].k == b, x[i].w, 0))",
        "b:u8+0 weight i32",
    ),
]


@pytest.mark.parametrize("body, terms", RECOGNISED, ids=lambda text: text[-48:])
def test_recognised(body: str, terms: str) -> None:
    found = found_in(body)
    assert found is not None and described(found) == terms
    kernel = kernel_of(body)
    assert family_of(kernel).name == "histogram"


GENERAL = [
    "in x: f32[N]; out h: i32[9]; h[b] = count[i](x[i] == b)",
    "in x: u8[N]; in w: f32[N]; out h: f32[9]; h[b] = sum[i](where(x[i] == b, w[i], 0.0))",
    "in x: u8[N]; out h: i32[9]; h[b] = count[i](x[i] <= b)",
    "in x: u8[N]; out h: i32[9]; h[b] = count[i](x[i] == 2 * b)",
    "in x: u8[N]; out h: i32[9]; h[b] = count[i](x[i] == b or x[i] == 3)",
    "in x: u8[N]; out h: i32[9]; h[b] = count[i](x[i] == b and x[i] < b + 4)",
    "in x: u8[N]; out h: i32[9]; h[b] = count[i](not x[i] == b)",
    "in x: u8[N, 9]; out h: i32[9]; h[b] = count[i](x[i, b] == b)",
    "in x: u8[N]; out h: i32[9]; h[b] = sum[i](where(x[i] == b, i32(b), 0))",
    "in x: u8[N]; out h: i32[9]; h[b] = sum[i](where(x[i] == b, 2, 1))",
    "in x: u8[N]; out h: i32[9]; h[b] = max[i](where(x[i] == b, 2, 0))",
    "in x: u8[N]; out h: i32[9]; h[b] = count[i](x[i] == b) + count[i](x[i] == 3)",
    "in x: u8[N]; out h: i32[9]; h[b] = count[i](u8(count[j](x[j] == x[i])) == b)",
    "in x: u8[N]; out h, g: i32[9]; h[b] = count[i](x[i] == b); g[b] = count[i](x[i] == b)",
]


@pytest.mark.parametrize("body", GENERAL, ids=lambda text: text[-40:])
def test_left_to_the_general_reductions(body: str) -> None:
    kernel = kernel_of(body)
    assert found_in(body) is None
    assert family_of(kernel).name == "rows"


def test_axes_of_an_image_are_walked_as_one_and_bins_stay_apart() -> None:
    nest = histogram_nest(
        kernel_of(
            "in x, y: u8[H, W]; out h: i32[4, 4]; h[a, b] = count[i, j](x[i, j] == a and y[i, j] == b)",
            "H, W",
        )
    )
    assert [(a.name, str(a.extent)) for a in nest.axes] == [("a", "4"), ("b", "4"), ("ij", "H*W")]
    assert nest.reduced == ("ij",) and [a.name for a in nest.parallel] == ["a", "b"]


@pytest.mark.parametrize(
    "key, low, high",
    [
        ("x[i]", 0, 255),
        ("x[i] // 4", 0, 63),
        ("x[i] % 7", 0, 6),
        ("clip(x[i], 3, 9)", 3, 9),
        ("i32(x[i]) - 20", -20, 235),
        ("minimum(i32(x[i]), 100)", 0, 100),
        ("where(x[i] > 3, i32(1), i32(0))", 0, 1),
        ("x[i] + 200", 0, 255),
    ],
)
def test_what_a_key_can_be(key: str, low: int, high: int) -> None:
    found = found_in(f"in x: u8[N]; out h: i32[256]; h[b] = count[i]({key} == b)")
    assert found is not None
    (match,) = found.terms
    assert isinstance(match, Match) and value_range(match.key) == (low, high)
