"""Reports H, K, M, N, O, P: types, boundaries, structs, constant memory, flags, parameters, names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilegen.lang.check import check
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.program import LaunchRefused, Program
from tilegen.target import target
from tilegen.toolchain import compile_source

Run = Callable[..., Any]
Values = Callable[..., Any]


# H6: bool


def test_h6_bytes_other_than_0_and_1_are_true(run: Run) -> None:
    x = np.array([0, 1, 2, 255, 3, 0], np.uint8).view(np.bool_)
    for cast in ("f32(x[i])", "where(x[i], 1.0, 0.0)"):
        found = run(f"kernel c(N) {{ in x: bool[N]; out y: f32[N]; y[i] = {cast} }}", {"N": 6}, {"x": x})
        assert found.outputs["y"].tolist() == [0, 1, 1, 1, 1, 0], cast
    found = run(
        "kernel c(N) { in x: bool[N]; out y: i32[N]; y[i] = i32(x[i]) + i32(not x[i]) }", {"N": 6}, {"x": x}
    )
    assert found.outputs["y"].tolist() == [1] * 6
    found = run("kernel c(N) { in x: bool[N]; out y: bool[N]; y[i] = x[i] }", {"N": 6}, {"x": x})
    assert [bool(v) for v in found.outputs["y"].view(np.uint8)] == [False, True, True, True, True, False]


# K: boundaries


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("mode", ["reflect", "symmetric", "edge", "wrap", "constant 0"])
def test_k1_an_axis_of_one(run: Run, mode: str, axis: int) -> None:
    """Mirroring an axis of one element divides by 2 (n - 1) = 0 if done carelessly."""
    shape = [2, 3, 4]
    shape.insert(axis, 1)
    x = np.arange(24, dtype=np.int32).reshape(shape)
    index = ["a", "b", "c", "d"]
    at = {step: ", ".join(f"{n} {step}" if n == index[axis] else n for n in index) for step in ("- 1", "+ 1")}
    text = f"""kernel k(A, B, C, D) {{
        in x: i32[A, B, C, D] boundary {mode}; out y: i32[A, B, C, D]
        y[a, b, c, d] = x[{at["- 1"]}] + x[a, b, c, d] + x[{at["+ 1"]}] for a in 0..A, b in 0..B, c in 0..C, d in 0..D
    }}"""
    found = run(text, dict(zip("ABCD", shape, strict=True)), {"x": x})
    np.testing.assert_array_equal(found.outputs["y"], x if mode == "constant 0" else 3 * x)


PADDED = {
    "reflect": [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1],
    "symmetric": [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1],
    "edge": [0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2],
    "wrap": [1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1],
    "constant 7": [7, 7, 7, 7, 7, 0, 1, 2, 7, 7, 7, 7, 7],
}


@pytest.mark.parametrize("mode", PADDED)
def test_k3_modes_have_numpys_names(run: Run, mode: str) -> None:
    """`reflect` does not repeat the edge, `symmetric` does; five past an array of three goes round more than once."""
    x = np.array([0, 1, 2], np.float32)
    text = f"""kernel pad(N) {{
        in x: f32[N] boundary {mode}; out y: f32[N + 10]; y[i] = x[i - 5] for i in 0..N + 10
    }}"""
    found = run(text, {"N": 3}, {"x": x}).outputs["y"]
    assert found.tolist() == PADDED[mode]
    named = {"constant_values": 7} if mode == "constant 7" else {}
    np.testing.assert_array_equal(found, np.pad(x, 5, mode=mode.split()[0], **named))


def test_k5_a_views_border_is_its_own(run: Run) -> None:
    """Columns 1 to 3 of an array of four: column 0 exists in memory, but not in the view."""
    view = np.ones((3, 3), np.float32)
    text = """kernel k(M, N) {
        in a: f32[M, N] strides(*, *) boundary constant 0; out b: f32[M, N]
        b[i, j] = a[i, j - 1] + a[i, j] + a[i, j + 1] for i in 0..M, j in 0..N
    }"""
    found = run(text, {"M": 3, "N": 3}, {"a": view}, strides={"a": (4, 1)})
    assert found.outputs["b"].tolist() == [[2, 3, 2]] * 3


# M3: complex numbers and structs


@pytest.mark.parametrize(("dtype", "half"), [("c64", 4), ("c128", 8)])
def test_m3_complex_at_half_its_alignment(
    run: Run, program: Callable[..., Program], values: Values, dtype: str, half: int
) -> None:
    """Either the values are right or the launch is refused; a fault of the device it must not be."""
    text = f"kernel c(N) {{ in x: {dtype}[N]; out y: {dtype}[N]; y[i] = x[i] }}"
    made = program(text)
    try:
        made.shape({"N": 9}, {}, {"x": (1 << 30) + half, "y": 1 << 31})
    except LaunchRefused as refusal:
        assert "x" in str(refusal)
        return
    x = values((9,), np.complex64 if dtype == "c64" else np.complex128)
    np.testing.assert_array_equal(run(text, {"N": 9}, {"x": x}, misalign={"x": half}).outputs["y"], x)


def test_m3_the_layout_of_a_struct_is_asserted(run: Run, program: Callable[..., Program]) -> None:
    text = """kernel c(N) {
        in p: struct { idx: i8, v: c128 }[N]; out v: c128[N]; out idx: i8[N]
        v[i] = p[i].v
        idx[i] = p[i].idx
    }"""
    source = program(text).source
    assert "static_assert(sizeof(p_element) == 32" in source
    assert re.search(r"static_assert\(\w*offsetof\(p_element, v\) == 16", source)


def test_m3_structs_of_mixed_members_move(run: Run) -> None:
    text = """kernel c(N) {
        in p: struct { idx: i8, v: c64, w: f64 }[N]; out v: c64[N]; out q: struct { w: f64, idx: i8 }[N]
        v[i] = p[i].v
        q[i].w = p[i].w
        q[i].idx = p[i].idx
    }"""
    kind = np.dtype(
        {"names": ["idx", "v", "w"], "formats": ["i1", "c8", "f8"], "offsets": [0, 8, 16], "itemsize": 24}
    )
    p = np.zeros(7, kind)
    p["idx"], p["v"], p["w"] = np.arange(7), np.arange(7) * (1 + 2j), np.arange(7) / 3
    found = run(text, {"N": 7}, {"p": p})
    np.testing.assert_array_equal(found.outputs["v"], p["v"])
    for name in ("w", "idx"):
        np.testing.assert_array_equal(found.outputs["q"][name], p[name])


# N1: constant memory


@pytest.mark.parametrize(("shape", "bytes_"), [("128, 128", 65536), ("128, 129", 66048), ("129, 129", 66564)])
def test_n1_constant_memory_ends_at_64_kib(shape: str, bytes_: int) -> None:
    text = f"""kernel k(M, N) {{
        in t: f32[{shape}] boundary edge constant; in x: i32[M, N]; out y: f32[M, N]
        y[i, j] = t[x[i, j], x[i, j]]
    }}"""
    if bytes_ <= 65536:
        check(parse(Source("t.tile", text)))
        return
    with pytest.raises(SpecError) as caught:
        check(parse(Source("t.tile", text)))
    (problem,) = caught.value.diagnostics
    said = "\n".join((problem.message, *problem.notes)).replace(",", "")
    assert str(bytes_) in said and ("65536" in said or "64 KiB" in said)


# O5: subnormal numbers


def test_o5_subnormals_survive(run: Run) -> None:
    x = np.array([1.1754944e-38, 1e-45, -3e-39, 5.877472e-39], np.float32)
    scaled = run("kernel s(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] * 0.5 }", {"N": 4}, {"x": x})
    np.testing.assert_array_equal(scaled.outputs["y"], x * np.float32(0.5))
    assert scaled.outputs["y"][0] == np.float32(5.877472e-39)
    doubled = run("kernel s(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] * 2 }", {"N": 4}, {"x": x})
    assert doubled.outputs["y"][1] == np.float32(2.8e-45)
    copied = run("kernel c(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }", {"N": 4}, {"x": x})
    assert copied.outputs["y"].tobytes() == x.tobytes()


# O6: many parameters


def test_o6_sixty_inputs_of_rank_8(run: Run) -> None:
    """62 pointers, 8 sizes and 480 strides are 4,400 bytes as 64-bit numbers: more than the 4 KB of old devices."""
    names = [f"x{n}" for n in range(60)]
    axes, sizes = list("abcdefgh"), [f"N{n}" for n in range(8)]
    index, extents = ", ".join(axes), ", ".join(sizes)
    stars = ", ".join("*" * 8)
    text = f"""kernel many({extents}) {{
        {"; ".join(f"in {n}: f32[{extents}] strides({stars})" for n in names)}
        out y: f32[{extents}]
        y[{index}] = {" + ".join(f"{n}[{index}]" for n in names)}
    }}"""
    shape = (2, 1, 2, 1, 3, 1, 2, 2)
    inputs = {n: np.full(shape, k, np.float32) for k, n in enumerate(names)}
    try:
        found = run(text, dict(zip(sizes, shape, strict=True)), inputs, index="long long")
    except SpecError as error:
        assert "bytes" in str(error) and "parameter" in str(error)
        return
    np.testing.assert_array_equal(found.outputs["y"], np.full(shape, sum(range(60)), np.float32))


# P1, P2, P4: names


LOCALS = "tid thread block band first rows inside interior item packed lane step r l i_l x_in y_out error"


def own_names() -> list[str]:
    """Every identifier that templates and the renderer write themselves."""
    import tilegen

    package = Path(tilegen.__file__).parent
    text = "\n".join(p.read_text() for p in sorted((package / "templates").glob("*.j2")))
    text = re.sub(r"\{[{%#].*?[}%#]\}|//[^\n]*|\"[^\"]*\"", " ", text, flags=re.S)
    found = {w for w in re.findall(r"\b[A-Za-z_]\w*\b", text) if len(w) < 40}
    return sorted(found | set(re.findall(r"\w+", LOCALS)))


REPORTED = [
    "double",
    "asm",
    "new",
    "register",
    "threadIdx",
    "min",
    "data",
    "tile",
    "__x",
    "_X",
    "a__b",
    "k",
    "index_t",
]
MORE = [
    "TILE_I",
    "i0",
    "j0",
    "a_tile",
    "b_tile",
    "thread_i",
    "step_i",
    "tile_i",
    "f32x4",
    "a_in",
    "b_out",
    "cudaError_t",
    "blockIdx",
    "__syncthreads",
    "uintptr_t",
    "int64_t",
    "float4",
    "stride",
    "a_stride0",
    "NAN",
    "INFINITY",
    "NULL",
]


def spec_named(name: str, schedule: str) -> str:
    """The name as kernel, size, tensor and axis at once, where the language allows the same one."""
    return f"""kernel {name}(M, N) {{
        in  a: f32[M, N] boundary constant 0
        out {name}: f32[N, M]
        {name}[j, i] = a[i - 1, j] for i in 0..M, j in 0..N
        {schedule}
    }}"""


def axis_named(name: str) -> str:
    other = "q" if name != "q" else "p"
    return f"""kernel t(M, N) {{
        in  a: f32[M, N]
        out b: f32[N, M]
        let h[{name}, {other}] = a[{name}, {other}] * 2.0
        b[{other}, {name}] = h[{name}, {other}]
        schedule s {{ tile {name} = 16, {other} = 16; stage a pad 1; raster {name}, {other} group 2 }}
    }}"""


def size_named(name: str) -> str:
    return f"kernel t({name}, s: f32 = 2.0) {{ in a: f32[{name}]; out b: f32[{name}]; b[i] = a[i] * s }}"


def scalar_named(name: str) -> str:
    return f"kernel t(N, {name}: f32 = 2.0) {{ in a: f32[N]; out b: f32[N]; b[i] = a[i] * {name} }}"


def accepted(text: str) -> bool:
    """False where the language itself refuses the name, with a place."""
    try:
        check(parse(Source("names.tile", text)))
    except SpecError as error:
        assert all(d.span is not None for d in error.diagnostics)
        return False
    return True


def compiles(made: list[Program]) -> None:
    """All in one translation unit, as a project would include them."""
    entries = tuple(p.rendered.entry(n, "int") for p in made for n in range(len(p.plans)))
    compile_source(
        "\n".join(p.source for p in made), target=target("sm_90"), entries=entries, want_cubin=False
    )


@pytest.mark.parametrize(
    "where", [spec_named, axis_named, size_named, scalar_named], ids=lambda f: f.__name__
)
def test_p1_any_name_works_anywhere(program: Callable[..., Program], where: Callable[..., str]) -> None:
    schedule = "schedule s { tile i = 4, j = 8; raster i, j group 2; bounds split }"
    made, left_out = [], []
    for number, name in enumerate(dict.fromkeys([*REPORTED, *MORE, *own_names()])):
        text = where(name, schedule) if where is spec_named else where(name)
        if accepted(text):
            made.append(program(text, name=f"kernel{number}"))
        else:
            left_out.append(name)
    assert len(made) > 100 and len(left_out) < 40, left_out
    for start in range(0, len(made), 60):
        compiles(made[start : start + 60])


@pytest.mark.parametrize("name", REPORTED)
def test_p1_the_names_of_the_report_compute(run: Run, values: Values, name: str) -> None:
    a = values((5, 6))
    for text, sizes in (
        (
            f"kernel {name}(M, N) {{ in a: f32[M, N]; out {name}: f32[N, M]; {name}[j, i] = a[i, j] }}",
            {"M": 5, "N": 6},
        ),
        (
            f"kernel t({name}, N) {{ in a: f32[{name}, N]; out b: f32[N, {name}]; b[j, i] = a[i, j] }}",
            {name: 5, "N": 6},
        ),
        (
            f"kernel t(M, N) {{ in a: f32[M, N]; out b: f32[N, M]; b[{name}, i] = a[i, {name}] }}",
            {"M": 5, "N": 6},
        ),
    ):
        if accepted(text):
            (output,) = run(text, sizes, {"a": a}).outputs.values()
            np.testing.assert_array_equal(output, a.T)


@pytest.mark.parametrize("name", ["a-b", "1k", "x;y", "größe", "a b"])
def test_p1_what_is_no_name_is_told_at_its_place(name: str) -> None:
    for text in (
        f"kernel {name}(N) {{ in x: f32[N]; out y: f32[N]; y[i] = x[i] }}",
        f"kernel k(N) {{ in {name}: f32[N]; out y: f32[N]; y[i] = 1.0 }}",
    ):
        with pytest.raises(SpecError) as caught:
            check(parse(Source("t.tile", text)))
        first = caught.value.diagnostics[0]
        assert (
            first.span is not None
            and text.index(name) <= first.span.start <= text.index(name) + len(name) + 1
        )


def test_p2_two_kernels_of_other_tiles_in_one_file(program: Callable[..., Program]) -> None:
    text = (
        "kernel k{n}(M, N) {{ in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]; "
        "schedule s {{ tile i = {t}, j = {t}; stage a }} }}"
    )
    made = [program(text.format(n=n, t=t)) for n, t in ((0, 16), (1, 32))]
    assert ["TILE_I = 16" in p.source for p in made] == [True, False]
    compiles(made)
    included_twice = made[0].source + made[0].source
    compile_source(
        included_twice, target=target("sm_90"), entries=(made[0].rendered.entry(0, "int"),), want_cubin=False
    )


def test_p4_comments_in_any_script_stay_out_of_the_source(program: Callable[..., Program]) -> None:
    made = program(
        "# Größe, 寸法, размер 🧵\nkernel k(N) { # é\n in x: f32[N]; out y: f32[N]; y[i] = x[i] # ü\n}"
    )
    assert made.source.isascii() and made.rendered.header.isascii()
    compiles([made])
