"""Kernels built by hand: the oracle without the front end."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tilegen.algebra import Expr, expr, sym
from tilegen.dtypes import BOOL, F32, I32, DType
from tilegen.lang.source import Source, Span
from tilegen.lang.spec import (
    Aos,
    Assign,
    Axis,
    Binary,
    BinaryOp,
    IndexValue,
    Kernel,
    Literal,
    Read,
    Reduce,
    Reduction,
    Role,
    Size,
    Tensor,
    Value,
    Where,
)
from tilegen.reference import OutOfBoundsError, SizeError, evaluate, infer_sizes, is_movement

SPAN = Span(Source("hand", ""), 0, 0)
i, j, k, m, n = (sym(name) for name in "ijkMN")


def tensor(name: str, role: Role, dtype: DType, *extents: Expr | int) -> Tensor:
    shape = tuple(expr(e) for e in extents)
    strides = (None,) * len(shape)
    order = tuple(range(len(shape)))
    return Tensor(name, role, dtype, shape, strides, order, expr(0), None, Aos(), None, 0, False, None, SPAN)


def axis(name: str, upper: Expr | int, lower: Expr | int = 0) -> Axis:
    return Axis(name, expr(lower), expr(upper), SPAN)


def read(name: str, *indices: Expr | Value, dtype: DType = F32) -> Read:
    return Read(name, indices, None, dtype, (False,) * len(indices), SPAN)


def kernel(sizes: str, tensors: tuple[Tensor, ...], *assigns: Assign) -> Kernel:
    names = tuple(Size(s, None, SPAN) for s in sizes)
    return Kernel("hand", (), names, (), tensors, assigns, (), (), SPAN)


TRANSPOSE = kernel(
    "MN",
    (tensor("a", Role.IN, F32, m, n), tensor("b", Role.OUT, F32, n, m)),
    Assign("b", (j, i), None, (axis("j", n), axis("i", m)), read("a", i, j), SPAN),
)


def test_transpose_moves_every_bit() -> None:
    bits = np.random.default_rng(1).integers(0, 2**32, (5, 7), dtype=np.uint32)
    result = evaluate(TRANSPOSE, {"M": 5, "N": 7}, {"a": bits.view(np.float32)})["b"]
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result.view(np.uint32), bits.T)
    assert is_movement(TRANSPOSE.assigns[0])


def test_transpose_is_quick() -> None:
    a = np.ones((300, 300), np.float32)
    best = np.inf
    for _ in range(10):
        start = time.process_time()
        evaluate(TRANSPOSE, {"M": 300, "N": 300}, {"a": a})
        best = min(best, time.process_time() - start)
    assert best < 2e-3


def test_where_reads_only_the_side_chosen() -> None:
    value = Where(
        Binary(BinaryOp.LESS, IndexValue(i, I32), IndexValue(m, I32), I32),
        read("a", i),
        read("b", i - m),
        F32,
    )
    joined = kernel(
        "MN",
        (tensor("a", Role.IN, F32, m), tensor("b", Role.IN, F32, n), tensor("y", Role.OUT, F32, m + n)),
        Assign("y", (i,), None, (axis("i", m + n),), value, SPAN),
    )
    a, b = np.arange(3, dtype=np.float32), np.arange(10, 15, dtype=np.float32)
    result = evaluate(joined, {"M": 3, "N": 5}, {"a": a, "b": b})["y"]
    np.testing.assert_array_equal(result, np.concatenate([a, b]))
    empty = evaluate(joined, {"M": 0, "N": 5}, {"a": a[:0], "b": b})["y"]
    np.testing.assert_array_equal(empty, b)


def test_read_outside_names_index_and_extent() -> None:
    wrong = kernel(
        "N",
        (tensor("a", Role.IN, F32, n), tensor("b", Role.OUT, F32, n)),
        Assign("b", (i,), None, (axis("i", n),), read("a", i + 1), SPAN),
    )
    with pytest.raises(
        OutOfBoundsError, match=r"index 4 of dimension 0 of a is outside its extent 4 at i = 3"
    ):
        evaluate(wrong, {"N": 4}, {"a": np.zeros(4, np.float32)})


def test_matmul_in_double_precision() -> None:
    body = Binary(BinaryOp.MULTIPLY, read("a", i, k), read("b", k, j), F32)
    matmul = kernel(
        "MNK",
        (
            tensor("a", Role.IN, F32, m, sym("K")),
            tensor("b", Role.IN, F32, sym("K"), n),
            tensor("c", Role.OUT, F32, m, n),
        ),
        Assign(
            "c",
            (i, j),
            None,
            (axis("i", m), axis("j", n)),
            Reduce(Reduction.SUM, (axis("k", sym("K")),), body, F32, SPAN),
            SPAN,
        ),
    )
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((128, 128)).astype(np.float32) for _ in range(2))
    start = time.process_time()
    result = evaluate(matmul, {"M": 128, "N": 128, "K": 128}, {"a": a, "b": b})["c"]
    assert time.process_time() - start < 1.0
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, a.astype(float) @ b.astype(float), rtol=0, atol=1e-12)


def test_two_points_on_one_element_are_refused() -> None:
    double = kernel(
        "N",
        (tensor("b", Role.OUT, F32, n),),
        Assign("b", (i // 2,), None, (axis("i", n),), Literal(1.0, F32), SPAN),
    )
    with pytest.raises(ValueError, match="two points write one element of b"):
        evaluate(double, {"N": 4}, {})


def test_write_outside_is_refused() -> None:
    beyond = kernel(
        "N",
        (tensor("b", Role.OUT, F32, n),),
        Assign("b", (i + 1,), None, (axis("i", n),), Literal(1.0, F32), SPAN),
    )
    with pytest.raises(
        OutOfBoundsError, match="index 4 of dimension 0 of b is outside its extent 4 at i = 3"
    ):
        evaluate(beyond, {"N": 4}, {})


@pytest.mark.parametrize(("first", "fails"), [(2, False), (1, True)])
def test_suffix_sum_checks_exactly_the_terms_it_needs(first: int, fails: bool) -> None:
    suffix = Reduce(Reduction.SUM, (axis("k", n, i),), read("x", k - 2), F32, SPAN)
    here = Binary(BinaryOp.GREATER_EQUAL, IndexValue(i, I32), Literal(first, I32), BOOL)
    scan = kernel(
        "N",
        (tensor("x", Role.IN, F32, n), tensor("y", Role.OUT, F32, n)),
        Assign("y", (i,), None, (axis("i", n),), Where(here, suffix, Literal(0.0, F32), F32), SPAN),
    )
    if fails:
        with pytest.raises(OutOfBoundsError, match="index -1 of dimension 0 of x"):
            evaluate(scan, {"N": 5}, {"x": np.ones(5, np.float32)})
    else:
        assert evaluate(scan, {"N": 5}, {"x": np.ones(5, np.float32)})["y"].tolist() == [0, 0, 3, 2, 1]


def test_sizes_from_shapes() -> None:
    assert infer_sizes(TRANSPOSE, {"a": (3, 5)}) == {"M": 3, "N": 5}
    message = r"axis 0 of b is 6, but its extent is N = 5, with N = 5 \(from axis 1 of a\)"
    with pytest.raises(SizeError, match=message):
        infer_sizes(TRANSPOSE, {"a": (3, 5), "b": (6, 3)})
