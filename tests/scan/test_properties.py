"""Random scans: shapes, ranges, types, operators, layouts and schedules, against NumPy; and what cannot be, told."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tilegen.lang.diagnostics import SpecError

from .conftest import judge, program_of

OPERATORS = {
    "sum": "{type}(sum[k in {range}]({term}))",
    "max": "{type}(max[k in {range}]({term}))",
    "min": "{type}(min[k in {range}]({term}))",
    "mean": "{type}(mean[k in {range}](f32({term})))",
    "count": "{type}(count[k in {range}]({term} > {type}(0)))",
    "argmax": "{type}(argmax[k in {range}]({term}))",
    "any": "{type}(where(any[k in {range}]({term} > {type}(1)), 1, 0))",
}
NEEDS_ELEMENTS = ("max", "min", "mean", "argmax")


@st.composite
def kernels(draw: Any) -> tuple[str, dict[str, int]]:
    rank = draw(st.integers(1, 3))
    scanned = draw(st.integers(0, rank - 1))
    axes, sizes = "abc"[:rank], [x.upper() for x in "abc"[:rank]]
    axis, size = axes[scanned], sizes[scanned]
    type_ = draw(st.sampled_from(["f32", "f32", "f16", "i32", "u8", "f64", "bf16"]))
    inclusive = [f"0..={axis}", f"{axis}..{size}"]
    ranges = [*inclusive, f"0..{axis}", f"{axis} + 1..{size}", f"1..={axis}", f"2..{axis}"]
    values = []
    forward = draw(st.booleans())
    for _ in range(draw(st.integers(1, 2))):
        op = draw(st.sampled_from(sorted(OPERATORS)))
        choices = [
            r for r in (inclusive if op in NEEDS_ELEMENTS else ranges) if r.startswith(axis) != forward
        ]
        index = [a if n != scanned else "k" for n, a in enumerate(axes)]
        term = f"x[{', '.join(index)}]"
        values.append(OPERATORS[op].format(type=type_, range=draw(st.sampled_from(choices)), term=term))
    if draw(st.booleans()):
        values.append(f"x[{', '.join(axes)}]")
    order = draw(st.permutations(range(rank)))
    layout = f"order({', '.join(map(str, order))})" if draw(st.booleans()) else ""
    extents = ", ".join(sizes)
    shape = {s: draw(st.integers(0, 40)) for s in sizes}
    shape[size] = draw(st.sampled_from([0, 1, 2, 5, 31, 33, 64, 100, 257]))
    while True:
        total = 1
        for n in shape.values():
            total *= max(n, 1)
        if total <= 20_000:
            break
        largest = max((s for s in shape if s != size), key=lambda s: shape[s])
        shape[largest] //= 2
    vector = draw(st.sampled_from(["", "; vector 2"]))
    schedule = ""
    if draw(st.booleans()):
        along = draw(st.sampled_from([1, 2, 8, 32, 64, 96]))
        others = [a for a in axes if a != axis]
        beside = draw(st.sampled_from([1, 4, 32])) if others else 1
        named = f"{draw(st.sampled_from(others))} = {beside}, " if beside > 1 else ""
        schedule = f"schedule s {{ threads {named}{axis} = {along}{vector} }}"
    target = ", ".join(axes)
    text = f"""kernel k({extents}) {{
    in  x: {type_}[{extents}] {layout}
    out y: {type_}[{extents}]
    y[{target}] = {" + ".join(values)}
    {schedule}
}}"""
    return text, shape


# Totals with indices of 64 bits took more shared memory than a block has.
_WIDE_TOTALS = """kernel k(A, B, C) {
    in  x: u8[A, B, C]
    out y: u8[A, B, C]
    y[a, b, c] = u8(argmax[k in a..A](x[k, b, c]))
}"""


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernels(), st.booleans())
@example((_WIDE_TOTALS, {"A": 33, "B": 2, "C": 4}), True)
def test_random_scans(drawn: tuple[str, dict[str, int]], fitted: bool) -> None:
    text, sizes = drawn
    try:
        program = program_of(text, sizes if fitted else None)
    except SpecError as error:
        codes = {d.code for d in error.diagnostics}
        assert codes <= {"TG0632", "TG0607", "TG0602"} and "schedule" in text, f"{text}\n{error}"
        return
    found = judge(program, sizes)
    assert found.text == "", f"{text}\nat {sizes}\n{found.text}"
