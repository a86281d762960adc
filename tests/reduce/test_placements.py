"""Every operator over every placement of the reduced axes, in every layout: ranks 1 to 4, dense, pitched, free."""

from __future__ import annotations

from itertools import combinations

import pytest

from .harness import Trial, run

OPERATORS = ("sum", "prod", "max", "min", "mean", "any", "all", "count", "argmax", "argmin")
AXES = "ijkl"
EXTENTS = {1: (77,), 2: (5, 67), 3: (4, 5, 33), 4: (2, 3, 5, 34)}
KINDS = {"any": "bool", "all": "bool", "count": "i64", "argmax": "i64", "argmin": "i64"}


def kernel(rank: int, reduced: tuple[int, ...], operators: tuple[str, ...], clauses: str = "") -> str:
    axes = AXES[:rank]
    kept = [a for n, a in enumerate(axes) if n not in reduced]
    along = ", ".join(axes[n] for n in reduced)
    read = f"x[{', '.join(axes)}]"
    lines = [f"in x: f32[{', '.join(f'N{a}' for a in axes)}] {clauses}"]
    for op in operators:
        kind = KINDS.get(op, "f32")
        body = f"{read} > 0.25" if op in ("any", "all", "count") else read
        lines.append(f"out y_{op}: {kind}[{', '.join(f'N{a}' for a in kept)}]")
        lines.append(f"y_{op}[{', '.join(kept)}] = {op}[{along}]({body})")
    return f"kernel t({', '.join(f'N{a}' for a in axes)}) {{\n" + "\n".join(lines) + "\n}"


def sizes(rank: int) -> dict[str, int]:
    return {f"N{a}": n for a, n in zip(AXES, EXTENTS[rank], strict=False)}


PLACEMENTS = [
    (rank, reduced)
    for rank in range(1, 5)
    for count in range(1, rank + 1)
    for reduced in combinations(range(rank), count)
]


@pytest.mark.parametrize("rank", range(1, 5))
def test_all_operators_over_all_placements(rank: int) -> None:
    trials = []
    for at, reduced in PLACEMENTS:
        if at == rank:
            some = OPERATORS if rank < 4 else (*OPERATORS[:2], OPERATORS[2 + len(trials) % 8])
            chosen = tuple(o for o in some if len(reduced) == 1 or not o.startswith("arg"))
            trials.append(Trial(kernel(rank, reduced, chosen), sizes(rank)))
    run(*trials)


@pytest.mark.parametrize("rank", range(1, 4))
def test_all_placements_in_programs_made_for_the_sizes(rank: int) -> None:
    run(
        *(
            Trial(kernel(rank, reduced, ("sum", "max")), sizes(rank), fitted=True)
            for at, reduced in PLACEMENTS
            if at == rank
        )
    )


LAYOUTS = {
    "turned": ("order(1, 0)", None),
    "pitched": ("pitch 128B", None),
    "turned and pitched": ("order(1, 0) pitch 33", None),
    "past the pointer": ("offset 3", None),
    "rows apart": ("strides(*, 1)", (100, 1)),
    "columns apart": ("strides(*, *)", (201, 3)),
    "backwards": ("strides(*, *)", (-67, -1)),
    "rows backwards": ("strides(*, 1)", (-67, 1)),
    "turned by the caller": ("strides(*, *)", (1, 5)),
    "one row for all": ("strides(*, *)", (0, 1)),
    "one element for all": ("strides(*, *)", (0, 0)),
}


@pytest.mark.parametrize("reduced", [(0,), (1,), (0, 1)], ids=["columns", "rows", "all"])
def test_layouts(reduced: tuple[int, ...]) -> None:
    trials = []
    for clauses, strides in LAYOUTS.values():
        text = kernel(2, reduced, ("sum", "min"), clauses)
        trials.append(Trial(text, sizes(2), strides={} if strides is None else {"x": strides}))
    text = kernel(2, reduced, ("sum", "min"))
    trials += [Trial(text, {"Ni": 5, "Nj": 64}, misalign={"x": 4}), Trial(text, {"Ni": 5, "Nj": 64})]
    run(*trials)


def test_layouts_of_what_is_written() -> None:
    row = "kernel t(R, C) {{ in x: f32[R, C]; out y: f32[R, C] {0}; y[i, j] = x[i, j] - mean[k](x[i, k]) }}"
    result = "kernel t(R, C) {{ in x: f32[R, C]; out s: f32[R] {0}; s[i] = sum[j](x[i, j]) }}"
    turned = (
        "kernel t(R, C) {{ in x: f32[R, C]; out y: f32[C, R] {0}; y[j, i] = x[i, j] - mean[k](x[i, k]) }}"
    )
    trials = []
    for clauses, strides in LAYOUTS.values():
        if strides is None or 0 not in strides:
            own = {} if strides is None else {"y": strides}
            trials.append(Trial(row.format(clauses), {"R": 5, "C": 67}, strides=own))
    trials += [
        Trial(result.format("strides(*)"), {"R": 5, "C": 67}, strides={"s": (step,)}) for step in (3, -1, -4)
    ]
    trials += [Trial(turned.format(c), {"R": 5, "C": 67}) for c in ("", "order(1, 0)")]
    run(*trials)


def test_outputs_in_other_orders_and_with_a_leading_dimension() -> None:
    texts = [
        "kernel t(A, B, C) { in x: f32[A, B, C]; out s: f32[B, A]; s[j, i] = sum[k](x[i, j, k]) }",
        "kernel t(A, B, C) { in x: f32[A, B, C]; out s: f32[C, A]; s[k, i] = sum[j](x[i, j, k]) }",
        "kernel t(A, B, C) { in x: f32[A, B, C] strides(*, lda, 1); out s: f32[A, C]; s[i, k] = max[j](x[i, j, k]) }",
        "kernel t(A, B, C) { in x: f32[A, B, C]; out s: f32[A, 4, C]; s[i, 2, k] = sum[j](x[i, j, k]) }",
        "kernel t(A, B, C) { in x: f32[A, B, C]; out s: f32[2 * A]; s[2*i + 1] = sum[j, k](x[i, j, k]) }",
        "kernel t(A, B, C) { in x: f32[A, B, C]; out s: f32[A]; s[A - 1 - i] = sum[j, k in 0..C](x[i, j, C - 1 - k]) }",
    ]
    shapes = {"A": 3, "B": 5, "C": 40}
    trials = []
    for text in texts:
        if "lda" in text:
            text = text.replace("(A, B, C) {", "(A, B, C, lda) {")
            trials.append(Trial(text, {**shapes, "lda": 43}, strides={"x": (43 * 5, 43, 1)}))
        else:
            trials += [Trial(text, shapes), Trial(text, shapes, fitted=True)]
    run(*trials)
