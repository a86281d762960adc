"""Proofs against enumeration: what is proved holds at every small size, what is refuted fails where it says."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tilegen.algebra import Expr, evaluate, expr, sym
from tilegen.lang.check.proofs.bounds import BoundsProver, Proved, Refuted
from tilegen.lang.check.proofs.guards import Conditions
from tilegen.lang.check.proofs.one_to_one import are_disjoint, is_one_to_one
from tilegen.lang.check.proofs.symbolic import Space
from tilegen.lang.source import Source, Span
from tilegen.lang.spec import Axis

SPAN = Span(Source("t", ""), 0, 0)
M, N, i, j = (sym(n) for n in "MNij")
SIZES = [{"M": m, "N": n} for m, n in product(range(5), repeat=2)]

small = st.integers(-3, 3)


@st.composite
def affine(draw: st.DrawFn, names: tuple[Expr, ...]) -> Expr:
    total = expr(draw(small))
    for name in names:
        total = total + draw(small) * name
    kind = draw(st.integers(0, 5))
    if kind == 0:
        total = total // draw(st.integers(1, 3))
    elif kind == 1:
        total = total % draw(st.integers(1, 4))
    return total


extents = st.sampled_from([M, N, expr(4), 2 * M, M + N, N + 1, (N + 1) // 2, M * N])
uppers = st.sampled_from([M, N, expr(3), N - 1, 2 * M])


@st.composite
def axes(draw: st.DrawFn) -> tuple[Axis, ...]:
    first = Axis("i", expr(draw(st.integers(0, 1))), draw(uppers), SPAN)
    second = Axis("j", expr(0), draw(st.one_of(uppers, st.just(i + 1))), SPAN)
    return (first, second)


def points(
    over: tuple[Axis, ...], sizes: dict[str, int], guards: tuple[Expr, ...] = ()
) -> list[dict[str, int]]:
    found = [dict(sizes)]
    for axis in over:
        found = [
            {**p, axis.name: v}
            for p in found
            for v in range(evaluate(axis.lower, p), evaluate(axis.upper, p))
        ]
    return [p for p in found if all(evaluate(g, p) >= 0 for g in guards)]


@settings(max_examples=150, deadline=None)
@given(affine((i, j, M, N)), extents, axes(), st.lists(affine((i, j, N)), max_size=1).map(tuple))
def test_bounds_agree_with_enumeration(
    index: Expr, extent: Expr, over: tuple[Axis, ...], guards: tuple[Expr, ...]
) -> None:
    prover = BoundsProver(["M", "N"], frozenset(), {}, ())
    verdict = prover.ask(index, 0, extent, over, Conditions((guards,)))
    if isinstance(verdict, Proved):
        for sizes in SIZES:
            for p in points(over, sizes, guards):
                assert 0 <= evaluate(index, p) < evaluate(extent, p)
    elif isinstance(verdict, Refuted):
        sizes = {"M": 0, "N": 0} | dict(verdict.sizes)
        wrong = [p for p in points(over, sizes, guards) if not 0 <= evaluate(index, p) < evaluate(extent, p)]
        assert any(evaluate(index, p) == verdict.index for p in wrong)
    else:
        bad = [
            s
            for s in SIZES
            for p in points(over, s, guards)
            if not 0 <= evaluate(index, p) < evaluate(extent, p)
        ]
        assert extent == M * N or all(0 in s.values() for s in bad)


@settings(max_examples=60, deadline=None)
@given(st.lists(affine((i, j)), min_size=1, max_size=2), axes())
def test_one_to_one_agrees_with_enumeration(indices: list[Expr], over: tuple[Axis, ...]) -> None:
    outcome = is_one_to_one(indices, Space(over))
    twice = False
    for sizes in SIZES:
        written = [tuple(evaluate(x, p) for x in indices) for p in points(over, sizes)]
        twice = twice or len(set(written)) < len(written)
    if outcome is True:
        assert not twice
    elif outcome is None or isinstance(outcome, Expr):
        raise AssertionError("affine indices are always decided")
    elif not twice:
        # Refuted at sizes beyond those tried here.
        larger = points(over, {"M": 24, "N": 24})
        written = [tuple(evaluate(x, p) for x in indices) for p in larger]
        assert len(set(written)) < len(written)


@settings(max_examples=60, deadline=None)
@given(affine((i, N)), affine((i, N)), uppers, uppers)
def test_disjoint_agrees_with_enumeration(first: Expr, second: Expr, a: Expr, b: Expr) -> None:
    one, two = (Axis("i", expr(0), a, SPAN),), (Axis("i", expr(0), b, SPAN),)
    if are_disjoint([first], Space(one), [second], Space(two)) is True:
        for sizes in SIZES:
            x = {evaluate(first, p) for p in points(one, sizes)}
            assert not x & {evaluate(second, p) for p in points(two, sizes)}
