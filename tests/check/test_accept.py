"""Facts of checked kernels, written by hand from LANGUAGE.md."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tilegen.algebra import ONE, ZERO, Expr, expr, sym
from tilegen.dtypes import BF16, C64, F16, F32, I32, I64, U8, U32
from tilegen.lang.spec import (
    Aos,
    Binary,
    BinaryOp,
    Boundary,
    Call,
    Cast,
    IndexValue,
    Kernel,
    Let,
    Literal,
    LocalRead,
    Read,
    Reduce,
    Reduction,
    Soa,
    Spec,
    Unit,
    Value,
    Where,
    walk,
)

Check = Callable[[str], Kernel]
M, N, i, j = (sym(n) for n in "MNij")


def reads(value: Value) -> list[Read]:
    return [v for v in walk(value) if isinstance(v, Read)]


def test_transpose(checked: Callable[[str], Spec]) -> None:
    family = checked(
        """kernel transpose[T: f32 | f16 | u8](M, N) {
        in  a: T[M, N]
        out b: T[N, M]
        b[j, i] = a[i, j]
        schedule naive  { threads i = 8, j = 32 }
        schedule tiled  { tile i = {16, 32}, j = 32; stage a pad {0, 1} }
        test M = 33, N = 65
        test M = 8192, N = 8192 on gpu
        expect tiled: load_sectors <= 1.0 * ideal, bandwidth >= 0.9 * copy at M = 64, N = 64
    }"""
    ).kernels[0]
    assert [k.types for k in family.kernels] == [(("T", F32),), (("T", F16),), (("T", U8),)]
    for kernel in family.kernels:
        (assign,) = kernel.assigns
        assert assign.indices == (j, i) and [a.name for a in assign.axes] == ["j", "i"]
        assert [(a.lower, a.upper) for a in assign.axes] == [(ZERO, N), (ZERO, M)]
        assert isinstance(assign.value, Read) and assign.value.needs_boundary == (False, False)
        assert kernel.tensor("a").strides == (N, ONE) and kernel.tensor("b").strides == (M, ONE)
        assert kernel.bindings == () and kernel.runtime_bounds == ()
    assert [s.name for s in family.schedules] == ["naive", "tiled"]
    assert family.schedules[1].directives[0].entries == (("i", (16, 32)), ("j", (32,)))  # type: ignore[union-attr]
    assert [(dict(t.sizes), t.on_gpu) for t in family.tests][1] == ({"M": 8192, "N": 8192}, True)
    (expectation,) = family.expectations
    assert [c.unit for c in expectation.conditions] == [Unit.IDEAL, Unit.COPY] and dict(expectation.at) == {
        "M": 64,
        "N": 64,
    }


def test_particles(kernel: Check) -> None:
    found = kernel(
        "kernel particles(P) { in p: struct { x: f32, m: i8, y: f32 }[P]; "
        "out q: struct { x: f32, m: i8, y: f32 }[P] soa; q[i] = p[i] }"
    )
    assert [(a.tensor, a.field) for a in found.assigns] == [("q", "x"), ("q", "m"), ("q", "y")]
    assert [reads(a.value)[0].field for a in found.assigns] == ["x", "m", "y"]
    assert isinstance(found.tensor("p").placement, Aos) and isinstance(found.tensor("q").placement, Soa)
    assert found.tensor("p").element.size == 12


def test_im2col_reads_through_its_boundary(kernel: Check) -> None:
    found = kernel(
        "kernel im2col(C, H, W) { in x: f32[C, H, W] boundary constant 0; out y: f32[C, 3, 3, H, W]; "
        "y[c, r, s, h, w] = x[c, h + r - 1, w + s - 1] }"
    )
    assert reads(found.assigns[0].value)[0].needs_boundary == (False, True, True)
    assert found.tensor("x").boundary is Boundary.CONSTANT
    assert [a.upper for a in found.assigns[0].axes] == [sym("C"), expr(3), expr(3), sym("H"), sym("W")]


def test_gap_copy_leaves_its_bound_to_the_call(kernel: Check) -> None:
    found = kernel("kernel gap_copy(N, S) { in x: f32[S * N]; out y: f32[N]; y[i] = x[S * i] }")
    (bound,) = found.runtime_bounds
    assert (bound.tensor, bound.index, bound.extent) == ("x", sym("S") * i, sym("S") * N)


def test_vertical_flip_is_proved(kernel: Check) -> None:
    found = kernel(
        "kernel f(H, W) { in a: u8[H, W, 3]; out b: u8[H, W, 3]; b[i, j, c] = a[H - 1 - i, j, c] }"
    )
    assert found.runtime_bounds == () and reads(found.assigns[0].value)[0].indices[0] == sym("H") - 1 - i


def test_layernorm_has_explicit_casts(checked: Callable[[str], Spec]) -> None:
    family = checked(
        """kernel ln[T: f32 | bf16](R, C, eps: f32 = 1e-5) {
        in  x, r: T[R, C]
        out y: T[R, C]
        let h[i, j] = gelu(x[i, j]) + r[i, j]
        let mu[i]   = mean[j](h[i, j])
        y[i, j] = (h[i, j] - mu[i]) * rsqrt(mu[i] + eps) }"""
    ).kernels[0]
    h = family.kernels[1].statements[0]
    assert isinstance(h, Let) and isinstance(h.value, Binary) and h.value.dtype is F32
    assert isinstance(h.value.left, Call) and isinstance(h.value.left.arguments[0], Cast)
    assert isinstance(h.value.right, Cast) and h.value.right.operand.dtype is BF16
    stored = family.kernels[1].assigns[0].value
    assert isinstance(stored, Cast) and stored.dtype is BF16
    assert not any(isinstance(v, Cast) for s in family.kernels[0].statements for v in walk(s.value))


def test_scan_reads_inside(kernel: Check) -> None:
    found = kernel("kernel s(R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](x[i, k]) }")
    value = found.assigns[0].value
    assert isinstance(value, Reduce) and value.axes[0].upper == j + 1


def test_histogram(kernel: Check) -> None:
    found = kernel("kernel h(N) { in x: u8[N]; out h: i64[256]; h[b] = count[i](x[i] == b) }")
    value = found.assigns[0].value
    assert isinstance(value, Reduce) and value.op is Reduction.COUNT and value.dtype is I64
    assert isinstance(value.body, Binary) and isinstance(value.body.right, IndexValue)
    assert found.assigns[0].axes[0].upper == expr(256)


def test_concatenation_is_bounded_by_its_condition(kernel: Check) -> None:
    found = kernel(
        "kernel c(M, N) { in a: f32[M]; in b: f32[N]; out y: f32[M + N]; y[i] = where(i < M, a[i], b[i - M]) }"
    )
    assert found.runtime_bounds == () and found.bindings == ()


def test_softmax_and_locals(kernel: Check) -> None:
    found = kernel(
        "kernel s(R, C) { in x: f32[R, C]; out y: f32[R, C]; let e[i, j] = exp(x[i, j] - max[k](x[i, k])); "
        "y[i, j] = e[i, j] / sum[k](e[i, k]) }"
    )
    assert [v.indices for v in walk(found.assigns[0].value) if isinstance(v, LocalRead)] == [
        (i, j),
        (i, sym("k")),
    ]


@pytest.mark.parametrize(
    ("clauses", "strides"),
    [
        ("", (N, ONE)),
        ("order(1, 0)", (ONE, M)),
        ("pitch 33", ((N + 32) // 33 * 33, ONE)),
        ("pitch 128B", ((N + 31) // 32 * 32, ONE)),
        ("order(1, 0) pitch 64B", (ONE, (M + 15) // 16 * 16)),
        ("strides(-N, *)", (-N, None)),
    ],
)
def test_layouts(kernel: Check, clauses: str, strides: tuple[Expr | None, ...]) -> None:
    found = kernel(f"kernel l(M, N) {{ in a: f32[M, N] {clauses}; out b: f32[M, N]; b[i, j] = a[i, j] }}")
    assert found.tensor("a").strides == strides


@pytest.mark.parametrize(
    "body",
    [
        "in a: f32[M, N]; out b: f32[M * N]; b[N * i + j] = a[i, j]",
        "in a: f32[M * N]; out b: f32[M, N]; b[i, j] = a[N * i + j]",
        "in a: f32[M * N]; out b: f32[M, N]; b[k // N, k % N] = a[k]",
        "in a: f32[N]; out b: f32[(N + 1) // 2]; b[i] = a[2 * i]",
        "in a, c: f32[N]; out b: f32[2 * N]; b[2 * i] = a[i]; b[2 * i + 1] = c[i]",
        "in a: f32[M, N]; inout b: f32[M, N]; b[i, j] = a[i - 1, j] for i in 1..M - 1, j in 1..N - 1",
        "in a: f32[N]; out b: f32[N]; b[i] = where(i >= 1 and not (i >= N - 1), a[i - 1] + a[i + 1], 0.0)",
        "in a: f32[N]; out b: f32[N]; b[i] = where(i == 0 or i == N - 1, a[i], a[i - 1] + a[i + 1])",
        "in a: f32[N]; out b: f32[N]; b[i] = a[minimum(i + 1, N - 1)]",
        "in a: f32[N]; out b: f32[N]; b[i] = sum[k in i..N](a[k])",
        "in a: f32[4 * M, N]; out b: f32[M, 2 * N]; b[c, w] = a[4 * c + w % 2, w // 2]",
    ],
)
def test_accepted_and_proved(kernel: Check, body: str) -> None:
    found = kernel(f"kernel k(M, N) {{ {body} }}")
    assert found.runtime_bounds == () and found.runtime_conditions == ()


def test_types_of_operations(kernel: Check) -> None:
    found = kernel(
        "kernel t(N) { in a: f16[N]; in u: u8[N]; in z: c64[N]; out p: f16[N]; out q: u32[N]; out r: f32[N]; "
        "out s: u8[N]; "
        "p[i] = a[i]; q[i] = sum[k](u[k]); r[i] = abs(z[i]) + a[i] * 2; s[i] = max[k](u[k]) }"
    )
    p, q, r, s = (a.value for a in found.assigns)
    assert isinstance(p, Read)
    assert isinstance(q, Reduce) and q.dtype is U32 and isinstance(q.body, Cast)
    assert (
        isinstance(r, Binary)
        and r.op is BinaryOp.ADD
        and isinstance(r.left, Call)
        and r.left.arguments[0].dtype is C64
    )
    assert isinstance(r.right, Binary) and r.right.right == Literal(2.0, F32)
    assert isinstance(s, Cast) and s.dtype is U8 and s.operand.dtype is U32


def test_where_moves_without_casts(kernel: Check) -> None:
    found = kernel("kernel w(N) { in a: f16[N]; out b: f16[N]; b[i] = where(a[i] > 0, a[i], 0.0) }")
    value = found.assigns[0].value
    assert isinstance(value, Where) and value.dtype is F16 and value.otherwise == Literal(0.0, F16)


def test_argmax_is_stored_in_i32(kernel: Check) -> None:
    value = (
        kernel("kernel a(R, C) { in x: f32[R, C]; out y: i32[R]; y[i] = argmax[j](x[i, j]) }")
        .assigns[0]
        .value
    )
    assert isinstance(value, Cast) and value.dtype is I32 and value.operand.dtype is I64


def test_bindings(kernel: Check) -> None:
    found = kernel("kernel b(M, N) { in x: f32[M]; in z: f32[N]; out y: f32[N]; y[i] = x[i] + z[i] }")
    assert found.bindings == ((N, M),)


def test_ordinary_specs_import_neither_numpy_nor_islpy() -> None:
    code = (
        "import sys; from tilegen.lang.check import check; from tilegen.lang.parse import parse\n"
        "from tilegen.lang.source import Source\n"
        "text = 'kernel t(M, N) { in a: f32[M, N]; out b: f32[N, M]; b[j, i] = a[i, j]; test M = 3, N = 4 }'\n"
        "check(parse(Source('t', text)))\n"
        "print([m for m in ('numpy', 'islpy', 'cupy') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
