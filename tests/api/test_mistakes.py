"""Mistakes in calls: each has its code, says what is wrong and what to do, and nothing has been computed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilegen
from tilegen.dtypes import DTYPES, largest
from tilegen.lang.codes import find

A = np.arange(48, dtype="f4").reshape(6, 8)
PLACED = np.dtype({"names": ["x", "n"], "formats": ["f4", "i4"], "offsets": [0, 8], "itemsize": 12})
SOA = "struct { x: f32, y: f32 }"


def frozen(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


CALLS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "nothing": ("TG0810", "needs `a`", lambda k: k()),
    "too many": ("TG0810", "takes 1 input .a., and 2 are passed", lambda k: k(A, A)),
    "twice": ("TG0810", "passed twice", lambda k: k(A, a=A)),
    "unknown": ("TG0810", "no argument 'MM'.*\n.*did you mean `M`", lambda k: k(A, MM=3)),
    "an output as an input": ("TG0810", "'b' is an output", lambda k: k(A, b=A)),
    "an output that is none": ("TG0810", "no output 'c'", lambda k: k(A, out={"c": A})),
    "a list": ("TG0811", "is a builtins.list", lambda k: k([1.0])),
    "nothing at all": ("TG0811", "NoneType", lambda k: k(None)),
    "another type": ("TG0811", "holds f64; the kernel takes f32(.|\n)*T = f16", lambda k: k(A.astype("f8"))),
    "other bytes": ("TG0811", "no element type", lambda k: k(A.astype(">f4"))),
    "objects": ("TG0811", "no element type", lambda k: k(A.astype(object))),
    "types that differ": (
        "TG0811",
        "'b' holds f16; the kernel takes f32",
        lambda k: k(A, out=np.zeros((8, 6), "f2")),
    ),
    "fixed type": ("TG0811", "holds f32; the kernel takes f16", lambda k: k.types(T="f16")(A)),
    "rank": ("TG0812", "rank 2.*shape .8,", lambda k: k(A[0])),
    "shape of the output": (
        "TG0812",
        "axis 0 of b is 6, but its extent is N = 8",
        lambda k: k(A, out=A.copy()),
    ),
    "size": ("TG0812", "N = 9 .given", lambda k: k(A, N=9)),
    "negative size": ("TG0812", "`N` is -1", lambda k: k(A, N=-1)),
    "huge size": ("TG0812", "fits in 64 bits", lambda k: k(A, N=1 << 64)),
    "fractional size": ("TG0812", "an integer", lambda k: k(A, N=8.0)),
    "every other column": ("TG0813", "strides .32, 8.*row-major.*strides", lambda k: k(A[:, ::2])),
    "transposed": ("TG0813", "ascontiguousarray", lambda k: k(A.T)),
    "backwards": ("TG0813", "strides .-32, 4.*\n.*\n.*`strides.., 1.`", lambda k: k(A[::-1])),
    "part of a row": ("TG0813", "`strides.., 1.`", lambda k: k(A[:, :4])),
    "odd address": ("TG0814", "multiple of 4", lambda k: k(np.zeros(97, "u1")[1:].view("f4").reshape(4, 6))),
    "read-only": ("TG0816", "read-only", lambda k: k(A, out=frozen(np.zeros((8, 6), "f4")))),
    "the same array": ("TG0817", "overlaps 'a'", lambda k: k(s := np.zeros((4, 4), "f4"), out=s)),
    "an overlap": (
        "TG0817",
        "overlaps",
        lambda k: k((s := np.zeros(20, "f4"))[:16].reshape(4, 4), out=s[4:].reshape(4, 4)),
    ),
    "no such schedule": ("TG0803", "did you mean `tiled`", lambda k: k.schedule("tilde")),
    "no such schedule in a call": ("TG0803", "did you mean `tiled`", lambda k: k(A, schedule="tile")),
    "no such type": ("TG0804", "its choices", lambda k: k.types(T="f64")),
    "no such type parameter": ("TG0804", "no type parameter `U`", lambda k: k.types(U="f32")),
}


@pytest.mark.parametrize("name", CALLS)
def test_mistakes(name, transpose) -> None:
    code, text, call = CALLS[name]
    with pytest.raises((tilegen.CallError, tilegen.SpecError), match=f"(?s){text}") as caught:
        call(transpose)
    assert code in str(caught.value)
    assert find(code) is not None
    assert "help: " in str(caught.value)
    if isinstance(caught.value, tilegen.CallError):
        assert isinstance(caught.value, (tilegen.ArgumentError, ValueError))


def one(text: str) -> tilegen.File:
    return tilegen.loads(f"kernel f{text}")


SPECS: dict[str, tuple[str, str, str, Callable[[Any], Any]]] = {
    "scalar missing": (
        "TG0810",
        "scalar `k`",
        "(N, k: f32) { in x: f32[N]; out y: f32[N]; y[i] = x[i] * k }",
        lambda k: k(A[0]),
    ),
    "scalar of text": (
        "TG0818",
        "takes a number",
        "(N, k: f32) { in x: f32[N]; out y: f32[N]; y[i] = x[i] * k }",
        lambda k: k(A[0], k="2"),
    ),
    "fraction for an integer": (
        "TG0818",
        "takes an integer",
        "(N, k: i8) { in x: i8[N]; out y: i8[N]; y[i] = x[i] * k }",
        lambda k: k(np.zeros(3, "i1"), k=1.5),
    ),
    "integer too large": (
        "TG0818",
        "holds -128 to 127",
        "(N, k: i8) { in x: i8[N]; out y: i8[N]; y[i] = x[i] * k }",
        lambda k: k(np.zeros(3, "i1"), k=128),
    ),
    "no scalar where there is a default": (
        "TG0818",
        "`s` is None.*(.|\n)*it is 2.0 then",
        "(N, s: f16 = 2.0) { in x: f16[N]; out y: f16[N]; y[i] = x[i] * s }",
        lambda k: k(np.zeros(3, "f2"), s=None),
    ),
    **{
        f"{dtype} too large": (
            "TG0818",
            f"the largest {dtype} is {re.escape(f'{largest(DTYPES[dtype]):g}')}",
            f"(N, s: {dtype}) {{ in x: {dtype}[N]; out y: {dtype}[N]; y[i] = x[i] * s }}",
            lambda k, n=name, v=value: k(np.zeros(3, n), s=v),
        )
        for dtype, name, value in (("f16", "f2", 1e6), ("f16", "f2", -65520), ("f32", "f4", 1e39))
    },
    "struct of other places": (
        "TG0811",
        r"bytes 0, 8 of 12; .* them at the bytes 0, 4 of 8 (.|\n)*numpy.dtype\(\[\('x', numpy.float32\)",
        "(P) { in p: struct { x: f32, n: i32 }[P]; out y: f32[P]; y[i] = p[i].x }",
        lambda k: k(np.zeros(3, PLACED)),
    ),
    "a list of lists": (
        "TG0811",
        r"numpy.asarray\(x, numpy.float32\)",
        "(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }",
        lambda k: k([1.0, 2.0]),
    ),
    "exact tiles": (
        "TG0819",
        "bounds exact",
        "(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i]\nschedule s { tile i = 64; bounds exact } }",
        lambda k: k(A.reshape(-1)[:33].copy()),
    ),
    "promised alignment": (
        "TG0819",
        "not aligned to 16",
        "(N) { in x: f32[N] align 16B; out y: f32[N]; y[i] = x[i] }",
        lambda k: k(A.reshape(-1)[1:]),
    ),
    "axes of two extents": (
        "TG0812",
        "two extents",
        "(M, N) { in x: f32[M]; in z: f32[N]; out y: f32[M]; y[i] = x[i] + z[i] }",
        lambda k: k(A[0], A[0, :4]),
    ),
    "a read outside": (
        "TG0324",
        "reaches",
        "(N, S, T) { in x: f32[N]; out y: f32[T]; y[i] = x[S * i] }",
        lambda k: k(A[0], S=4, T=3),
    ),
    "one array for soa": (
        "TG0820",
        "structure of arrays",
        f"(P) {{ in p: {SOA}[P] soa; out y: f32[P]; y[i] = p[i].x }}",
        lambda k: k(A),
    ),
    "a field missing": (
        "TG0820",
        "has the fields x; the tensor has x, y",
        f"(P) {{ in p: {SOA}[P] soa; out y: f32[P]; y[i] = p[i].x }}",
        lambda k: k({"x": A[0]}),
    ),
    "fields of two shapes": (
        "TG0812",
        "different shapes",
        f"(P) {{ in p: {SOA}[P] soa; out y: f32[P]; y[i] = p[i].x }}",
        lambda k: k({"x": A[0], "y": A[0, :3]}),
    ),
    "a mapping for no soa": (
        "TG0820",
        "no structure of arrays",
        "(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }",
        lambda k: k({"x": A}),
    ),
    "last axis": (
        "TG0820",
        "last axes must be 2",
        f"(P) {{ in p: {SOA}[P]; out y: f32[P]; y[i] = p[i].x }}",
        lambda k: k(A),
    ),
    "several outputs, one array": (
        "TG0810",
        "2 outputs",
        "(N) { in x: f32[N]; out y, z: f32[N]; y[i] = x[i]; z[i] = x[i] }",
        lambda k: k(A[0], out=A[1]),
    ),
    "a size that nothing gives": (
        "TG0812",
        "no array determines size",
        "(N, S) { in x: f32[S * N]; out y: f32[N]; y[i] = x[S * i] }",
        lambda k: k(A[0]),
    ),
    "an output too large for any machine": (
        "TG0812",
        "bytes",
        "(N) { out y: i64[N]; y[i] = i }",
        lambda k: k(N=1 << 60),
    ),
    "broadcast output": (
        "TG0816",
        "broadcast",
        "(M, N) { in x: f32[M, N]; out y: f32[M, N] strides(*, *); y[i, j] = x[i, j] }",
        lambda k: k(A, out=np.lib.stride_tricks.as_strided(np.zeros(8, "f4"), (6, 8), (0, 4))),
    ),
    "elements that share memory": (
        "TG0816",
        "share memory",
        "(M, N) { in x: f32[M, N]; out y: f32[M, N] strides(*, *); y[i, j] = x[i, j] }",
        lambda k: k(A, out=np.lib.stride_tricks.as_strided(np.zeros(64, "f4"), (6, 8), (4, 4))),
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_mistakes_of_other_kernels(name) -> None:
    code, text, spec, call = SPECS[name]
    with pytest.raises(tilegen.ArgumentError, match=text) as caught:
        call(one(spec))
    assert code in str(caught.value) and "help: " in str(caught.value)


@pytest.mark.filterwarnings("error")
def test_the_largest_scalars_are_taken() -> None:
    spec = "(N, s: f16) { in x: f16[N]; out y: f16[N]; y[i] = x[i] * s }"
    ones = np.ones(2, "f2")
    for value in (65504, 65519.0, float("inf"), float("-inf")):
        assert one(spec)(ones, s=value)[0] == np.float16(min(value, 65504) if value < 1e6 else value)


@pytest.mark.parametrize(
    "members", ["x: f32, n: i32", "x: f16, n: f64", "z: c128, x: f32", "x: bf16, b: bool", "x: u8, z: c64"]
)
def test_the_dtype_that_is_told_is_the_one_taken(members) -> None:
    import ml_dtypes
    import numpy

    kernel = one(f"(P) {{ in p: struct {{ {members} }}[P]; out q: struct {{ {members} }}[P]; q[i] = p[i] }}")
    with pytest.raises(tilegen.CallError) as caught:
        kernel(np.zeros(3, [("odd", "i4")]))
    text = str(caught.value).partition("this dtype: `")[2].partition("`")[0]
    dtype = eval(text, {"numpy": numpy, "ml_dtypes": ml_dtypes})
    assert kernel(np.zeros(3, dtype)).shape == (3,)


def test_a_wrong_type_is_a_type_error_and_a_wrong_shape_a_value_error(transpose) -> None:
    with pytest.raises(TypeError):
        transpose(A.astype("f8"))
    with pytest.raises(ValueError):
        transpose(A[0])


def test_nothing_is_written_by_a_call_that_fails(transpose) -> None:
    out = np.full((6, 8), 7, "f4")
    with pytest.raises(tilegen.CallError):
        transpose(A, out=out)
    assert (out == 7).all()


def test_the_package_is_light() -> None:
    import subprocess
    import sys

    program = (
        "import sys, tilegen; tilegen.load; print(sorted({'numpy', 'cupy', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['jinja2']" or done.stdout.strip() == "[]"
    assert set(tilegen.__all__) <= set(dir(tilegen))
    for name in tilegen.__all__:
        assert getattr(tilegen, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        _ = tilegen.laod  # type: ignore[attr-defined]
