"""Any permutation, layout, boundary and schedule: refused with a diagnostic, or right and without a fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from tilegen.lang.diagnostics import SpecError

EXTENTS = (0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 64)
TYPES = ("f32", "f32", "u8", "f16", "f64", "c128", "i16", "bool", "bf16", "f8e4m3", "i64", "c64")
SIZE = {
    "u8": 1,
    "bool": 1,
    "f8e4m3": 1,
    "f16": 2,
    "bf16": 2,
    "i16": 2,
    "f32": 4,
    "f64": 8,
    "i64": 8,
    "c64": 8,
}
AXES = "ijklm"
MARGINS = ((0, 0), (0, 0), (1, 1), (3, 0), (40, 2), (0, 5))
MOST = 6000  # elements
EXAMPLES = 25
TOGETHER = 4  # trials per compilation


@st.composite
def dense_strides_of(draw: st.DrawFn, extents: Sequence[int], zero: bool) -> tuple[int, ...]:
    """Strides of an array in any order of axes, with gaps, backwards, and (inputs) with repeated axes."""
    strides, step = [0] * len(extents), 1
    for axis in draw(st.permutations(range(len(extents)))):
        strides[axis] = step * draw(st.sampled_from((1, 1, -1)))
        step *= max(1, extents[axis]) + draw(st.sampled_from((0, 0, 1, 3)))
    if zero and draw(st.integers(0, 3)) == 0:
        strides[draw(st.integers(0, len(extents) - 1))] = 0
    return tuple(strides)


@st.composite
def layouts(draw: st.DrawFn, rank: int, dtype: str, output: bool) -> str:
    """Layout clauses of a tensor."""
    found = []
    match draw(st.sampled_from(("dense", "dense", "dense", "order", "pitch", "both", "free"))):
        case "order" | "both" as kind if rank > 1:
            order = draw(st.permutations(range(rank)))
            found.append(f"order({', '.join(map(str, order))})")
            if kind == "both":
                found.append("pitch 128B")
        case "pitch" if rank > 1:
            found.append(draw(st.sampled_from(("pitch 128B", "pitch 16", "pitch 33"))))
        case "free" if rank > 0:
            found.append(f"strides({', '.join('*' * rank)})")
    if draw(st.integers(0, 3)) == 0:
        found.append(f"offset {draw(st.sampled_from((1, 2, 4, 16)))}")
    if draw(st.integers(0, 7)) == 0:
        found.append("align 16B")
    return " ".join(found)


@st.composite
def schedules(
    draw: st.DrawFn, axes: Sequence[str], tensors: Sequence[str], staged: Sequence[str], dtype: str
) -> str:
    """The directives of one schedule, empty for `auto`."""
    if draw(st.integers(0, 5)) == 0:
        return ""
    widths = st.sampled_from([w for w in (2, 4, 8, 16) if w * SIZE.get(dtype, 16) <= 16] or [2])
    tiles = st.sampled_from((1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 32, 33, 64))
    found = []
    tiled = draw(st.lists(st.sampled_from(axes), unique=True, max_size=3))
    room, parts = 4096, []
    for axis in tiled:
        tile = min(draw(tiles), room)
        room //= tile
        parts.append(f"{axis} = {tile}")
    if parts:
        found.append(f"tile {', '.join(parts)}")
    if draw(st.integers(0, 2)) == 0:
        room, parts = 256, []
        for axis in draw(st.lists(st.sampled_from(axes), unique=True, min_size=1, max_size=3)):
            count = min(draw(st.sampled_from((1, 2, 3, 5, 8, 16, 32))), room)
            room //= count
            parts.append(f"{axis} = {count}")
        found.append(f"threads {', '.join(parts)}")
    for tensor in staged:
        if draw(st.booleans()):
            found.append(
                f"stage {tensor}" + draw(st.sampled_from(("", " pad 1", " pad 3", " pad 4", " swizzle")))
            )
    match draw(st.integers(0, 5)):
        case 0:
            found.append(f"vector {draw(widths)}")
        case 1 | 2:
            chosen = draw(st.lists(st.sampled_from(tensors), unique=True, min_size=1))
            found.append("vector " + ", ".join(f"{t} = {draw(widths)}" for t in chosen))
    if draw(st.booleans()):
        found.append(f"bounds {draw(st.sampled_from(('guard', 'split', 'split', 'exact')))}")
    if len(axes) > 1 and draw(st.integers(0, 3)) == 0:
        order = draw(st.permutations(axes))
        found.append(f"raster {', '.join(order)}" + draw(st.sampled_from(("", " group 2", " group 3"))))
    if draw(st.integers(0, 5)) == 0:
        found.append(draw(st.sampled_from(("index i32", "index i64", "max_registers 64", "min_blocks 2"))))
    match draw(st.integers(0, 5)):
        case 0:
            found.append(f"hint {draw(st.sampled_from(tensors))} streaming")
        case 1 | 2 | 3 if (
            "d" not in tensors and any(f.startswith("stage") for f in found) and "threads" not in str(found)
        ):
            found.append("hint b sectors")
    return "; ".join(draw(st.permutations(found)))


@st.composite
def shapes(draw: st.DrawFn, smallest: int = 1) -> tuple[list[str], list[int]]:
    """Axis names and extents with not too many points."""
    rank = draw(st.integers(smallest, 5))
    extents: list[int] = []
    for _ in range(rank):
        room = MOST // prod(max(1, e) for e in extents)
        extents.append(draw(st.sampled_from([e for e in EXTENTS if e <= room])))
    return list(AXES[:rank]), extents


def kernel(header: Sequence[str], statements: Sequence[str], sizes: Sequence[str], schedule: str) -> str:
    lines = [*header, *statements, *([f"schedule s {{ {schedule} }}"] if schedule else [])]
    return f"kernel t({', '.join(sizes)}) {{\n" + "".join(f"    {line}\n" for line in lines) + "}"


@st.composite
def call(
    draw: st.DrawFn, text: str, sizes: dict[str, int], tensors: dict[str, tuple[str, Sequence[int], str]]
) -> Any:
    """A trial: strides where they are free, pointers past their alignment. `tensors`: clauses, extents, type."""
    strides = {
        name: draw(dense_strides_of(extents, name != "b"))
        for name, (clauses, extents, _) in tensors.items()
        if "strides(" in clauses
    }
    misalign = {
        name: SIZE.get(dtype, 16) * draw(st.sampled_from((1, 2, 3)))
        for name, (clauses, _, dtype) in tensors.items()
        if "align" not in clauses and draw(st.integers(0, 3)) == 0
    }
    return text, sizes, strides, misalign, draw(st.booleans())


@st.composite
def permutations_(draw: st.DrawFn) -> Any:
    """`b[permuted, flipped, spread] = a[flipped, shifted]` over ranges of axes."""
    axes, extents = draw(shapes())
    dtype = draw(st.sampled_from(TYPES))
    sizes = {f"N{a}": e for a, e in zip(axes, extents, strict=True)}
    fixed = {a for a in axes if sizes[f"N{a}"] and draw(st.integers(0, 3)) == 0}
    name = {a: str(sizes[f"N{a}"]) if a in fixed else f"N{a}" for a in axes}
    order = draw(st.permutations(axes))
    read, wrote, outer, loops = {}, {}, {}, []
    for axis in axes:
        n = name[axis]
        read[axis], wrote[axis], outer[axis] = axis, axis, n
        match draw(st.integers(0, 11)):
            case 0:
                read[axis] = f"{n} - 1 - {axis}"
            case 1:
                step = draw(st.integers(2, 3))
                shift = draw(st.integers(0, step - 1))
                wrote[axis] = f"{step}*{axis} + {shift}" if shift else f"{step}*{axis}"
                outer[axis] = f"{step}*{n}"
            case 2:
                wrote[axis] = f"{n} - 1 - {axis}"
            case 3 if sizes[f"N{axis}"] > 2:
                loops.append(f"{axis} in 1..{n} - 1")
            case 4:
                wrote[axis], outer[axis] = f"{axis} + 2", f"{n} + 3"
    shape_b = [outer[a] for a in order]
    values = {f"N{a}": sizes[f"N{a}"] for a in axes}
    extents_b = [eval(e, {}, values) for e in shape_b]
    clauses = {
        "a": draw(layouts(len(axes), dtype, False)),
        "b": draw(layouts(len(axes), dtype, True)),
    }
    ranges = {loop.split(" ")[0] for loop in loops}
    # An axis that indexes no dimension alone takes its range from here.
    loops += [
        f"{a} in 0..{name[a]}" for a in axes if a not in ranges and (read[a] != a or outer[a] != name[a])
    ]
    text = kernel(
        [
            f"in  a: {dtype}[{', '.join(name[a] for a in axes)}] {clauses['a']}",
            f"out b: {dtype}[{', '.join(shape_b)}] {clauses['b']}",
        ],
        [
            f"b[{', '.join(wrote[a] for a in order)}] = a[{', '.join(read[a] for a in axes)}]"
            + (f" for {', '.join(loops)}" if loops else "")
        ],
        [f"N{a}" for a in axes if a not in fixed],
        draw(schedules(axes, ["a", "b"], ["a"], dtype)),
    )
    used = {f"N{a}": sizes[f"N{a}"] for a in axes if a not in fixed}
    return draw(
        call(text, used, {"a": (clauses["a"], extents, dtype), "b": (clauses["b"], extents_b, dtype)})
    )


@st.composite
def bounded(draw: st.DrawFn) -> Any:
    """Reads past the ends, through every boundary mode."""
    axes, extents = draw(shapes())
    extents = [max(1, e) for e in extents]
    dtype = draw(st.sampled_from(("f32", "i16", "u8", "f64")))
    mode = draw(st.sampled_from(("constant 0", "constant 7", "edge", "reflect", "symmetric", "wrap")))
    index, outer, points = [], [], prod(extents)
    for axis, extent in zip(axes, extents, strict=True):
        margins = [m for m in MARGINS if points // extent * (extent + sum(m)) <= 2 * MOST]
        before, after = draw(st.sampled_from(margins))
        points = points // extent * (extent + before + after)
        index.append(f"{axis} - {before}" if before else axis)
        outer.append(f"N{axis} + {before + after}" if before + after else f"N{axis}")
    sizes = {f"N{a}": e for a, e in zip(axes, extents, strict=True)}
    clauses = {"a": draw(layouts(len(axes), dtype, False)), "b": draw(layouts(len(axes), dtype, True))}
    order = draw(st.permutations(range(len(axes))))
    loops = [f"{a} in 0..{o}" for a, o in zip(axes, outer, strict=True)]
    text = kernel(
        [
            f"in  a: {dtype}[{', '.join(sizes)}] boundary {mode} {clauses['a']}",
            f"out b: {dtype}[{', '.join(outer[d] for d in order)}] {clauses['b']}",
        ],
        [f"b[{', '.join(axes[d] for d in order)}] = a[{', '.join(index)}] for {', '.join(loops)}"],
        list(sizes),
        draw(schedules(axes, ["a", "b"], [], dtype)),
    )
    extents_b = [eval(outer[d], {}, dict(sizes)) for d in order]
    return draw(
        call(text, sizes, {"a": (clauses["a"], extents, dtype), "b": (clauses["b"], extents_b, dtype)})
    )


@st.composite
def elementwise(draw: st.DrawFn) -> Any:
    """Two inputs, one in another order or repeated, and two outputs."""
    axes, extents = draw(shapes())
    dtype = draw(st.sampled_from(("f32", "i16", "f16", "u8", "f64", "i64", "bf16")))
    sizes = {f"N{a}": e for a, e in zip(axes, extents, strict=True)}
    picked = draw(st.lists(st.sampled_from(axes), unique=True))
    clauses = {t: draw(layouts(len(axes), dtype, t != "a")) for t in "ab"}
    clauses["c"] = draw(layouts(len(picked), dtype, False))
    order = draw(st.permutations(axes))
    body = draw(
        st.sampled_from(
            ("{a} * {c}", "{a} + {c} * {a}", "where({a} > {c}, {a}, {c})", "maximum({a}, {c}) - {c}")
        )
    ).format(a=f"a[{', '.join(axes)}]", c=f"c[{', '.join(picked)}]")
    text = kernel(
        [
            f"in  a: {dtype}[{', '.join(f'N{a}' for a in axes)}] {clauses['a']}",
            f"in  c: {dtype}[{', '.join(f'N{a}' for a in picked)}] {clauses['c']}",
            f"out b: {dtype}[{', '.join(f'N{a}' for a in order)}] {clauses['b']}",
            f"out d: {dtype}[{', '.join(f'N{a}' for a in order)}]",
        ],
        [f"b[{', '.join(order)}] = {body}", f"d[{', '.join(order)}] = a[{', '.join(axes)}]"],
        list(sizes),
        draw(schedules(axes, ["a", "b", "c", "d"], ["a", "c"], dtype)),
    )
    shapes_ = {
        "a": extents,
        "b": [sizes[f"N{a}"] for a in order],
        "c": [sizes[f"N{a}"] for a in picked],
    }
    return draw(call(text, sizes, {t: (clauses[t], shapes_[t], dtype) for t in "abc"}))


@pytest.mark.parametrize(
    "trials", [permutations_(), bounded(), elementwise()], ids=["permutations", "boundaries", "elementwise"]
)
def test_any_schedule_gives_the_reference_or_a_diagnostic(
    trials: st.SearchStrategy[Any], trial: Any, ready: Callable[..., Any], run_trials: Callable[..., None]
) -> None:
    counts = {"run": 0, "refused": 0}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),  # a failing trial is printed whole; shrinking it takes minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(trials, min_size=TOGETHER, max_size=TOGETHER))
    def check(drawn: list[Any]) -> None:
        found = []
        for number, one in enumerate(drawn):
            try:
                prepared = ready(trial(*one), f"k{number}")
            except SpecError as error:
                codes = {d.code for d in error.diagnostics}
                assert all(c.startswith("TG06") for c in codes), f"{error}\n{one[0]}"
                event(f"refused {sorted(codes)}")
                counts["refused"] += 1
                continue
            if prepared is not None:
                found.append(prepared)
        counts["run"] += len(found)
        run_trials(found)

    check()
    assert counts["run"] > 0.4 * EXAMPLES * TOGETHER, counts
