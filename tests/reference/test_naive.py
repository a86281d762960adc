"""The vectorised oracle against an interpreter that visits one point at a time with Python's own numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tilegen import algebra
from tilegen.algebra import Expr
from tilegen.dtypes import DType, Kind
from tilegen.lang.spec import (
    Assign,
    Axis,
    Binary,
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
    ScalarRead,
    Unary,
    UnaryOp,
    Value,
    Where,
)
from tilegen.reference import evaluate, reduce

Load = Callable[..., Kernel]


def fold(index: int, extent: int, mode: Boundary | None) -> int | None:
    """Walk an index inside one reflection or turn at a time; None where a constant is read."""
    if mode is Boundary.CONSTANT:
        return index if 0 <= index < extent else None
    if mode is Boundary.EDGE or extent == 1:
        return min(max(index, 0), extent - 1)
    while mode is not None and not 0 <= index < extent:
        match mode:
            case Boundary.REFLECT:
                index = -index if index < 0 else 2 * (extent - 1) - index
            case Boundary.SYMMETRIC:
                index = -index - 1 if index < 0 else 2 * extent - 1 - index
            case Boundary.WRAP:
                index += extent if index < 0 else -extent
    assert 0 <= index < extent
    return index


class Naive:
    def __init__(self, kernel: Kernel, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray]) -> None:
        self.kernel, self.arrays = kernel, arrays
        self.sizes = {s.name: s.default for s in kernel.sizes if s.default is not None} | dict(sizes)
        self.lets = {s.name: s for s in kernel.statements if isinstance(s, Let)}

    def points(self, axes: tuple[Axis, ...], outer: Mapping[str, int]) -> Any:
        ranges = [
            range(algebra.evaluate(a.lower, dict(outer)), algebra.evaluate(a.upper, dict(outer)))
            for a in axes
        ]
        for values in itertools.product(*ranges):
            yield {**outer, **dict(zip((a.name for a in axes), values, strict=True))}

    def run(self) -> dict[tuple[str, str | None, tuple[int, ...]], Any]:
        result = {}
        for s in self.kernel.statements:
            if isinstance(s, Assign):
                for at in self.points(s.axes, self.sizes):
                    where = tuple(algebra.evaluate(i, at) for i in s.indices)
                    result[s.tensor, s.field, where] = self.value(s.value, at)
        return result

    def wrap(self, value: Any, dtype: DType) -> Any:
        if dtype.is_integer:
            value %= 1 << 8 * dtype.size
            return (
                value - (1 << 8 * dtype.size)
                if dtype.kind is Kind.INT and value >> 8 * dtype.size - 1
                else value
            )
        return value

    def value(self, v: Value, at: Mapping[str, int]) -> Any:
        match v:
            case Literal():
                return float(np.float32(v.value)) if v.dtype.kind is Kind.FLOAT else v.value
            case ScalarRead():
                scalar = next(s for s in self.kernel.scalars if s.name == v.name)
                return float(np.float32(scalar.default))
            case IndexValue():
                return algebra.evaluate(v.index, dict(at))
            case Read():
                return self.read(v, at)
            case LocalRead():
                let = self.lets[v.name]
                indices = [algebra.evaluate(i, dict(at)) for i in v.indices]
                names = (a.name for a in let.axes)
                return self.value(let.value, {**self.sizes, **dict(zip(names, indices, strict=True))})
            case Unary():
                x = self.value(v.operand, at)
                return not x if v.op is UnaryOp.NOT else self.wrap(-x, v.dtype)
            case Binary():
                x, y = self.value(v.left, at), self.value(v.right, at)
                return self.wrap(eval(f"x {v.op.value} y", {"x": x, "y": y}), v.dtype)
            case Where():
                return self.value(v.then if self.value(v.condition, at) else v.otherwise, at)
            case Cast():
                x = self.value(v.operand, at)
                if v.dtype.is_integer:
                    return self.wrap(int(x), v.dtype)
                return bool(x) if v.dtype.kind is Kind.BOOL else float(x)
            case Call():
                x = self.value(v.arguments[0], at)
                return {
                    "exp": math.exp,
                    "rsqrt": lambda t: 1 / math.sqrt(t),
                    "gelu": lambda t: 0.5 * t * math.erfc(-t / math.sqrt(2)),
                }[v.function](x)
            case Reduce():
                values = [self.value(v.body, p) for p in self.points(v.axes, at)]
                match v.op:
                    case Reduction.SUM | Reduction.COUNT:
                        total = math.fsum(values) if v.dtype.kind is Kind.FLOAT else sum(values)
                        return self.wrap(total, v.dtype)
                    case Reduction.MEAN:
                        return math.fsum(values) / len(values)
                    case Reduction.MAX:
                        return max(values)
                    case Reduction.MIN:
                        return min(values)
        raise NotImplementedError(v)

    def read(self, v: Read, at: Mapping[str, int]) -> Any:
        tensor = self.kernel.tensor(v.tensor)
        array = self.arrays[v.tensor]
        indices = [
            algebra.evaluate(i, dict(at)) if isinstance(i, Expr) else self.value(i, at) for i in v.indices
        ]
        inside = [fold(i, n, tensor.boundary) for i, n in zip(indices, array.shape, strict=True)]
        if None in inside:
            return tensor.boundary_value
        element = array[tuple(inside)]
        return (element if v.field is None else element[v.field]).item()


F, U = np.float32, np.uint8
SPECS: dict[str, tuple[str, dict[str, int], dict[str, tuple[tuple[int, ...], Any]]]] = {
    "gelu_residual_layernorm": (
        """kernel k(R, C, eps: f32 = 1e-5) { in x, r: f32[R, C]; in gamma, beta: f32[C]; out y: f32[R, C]
        let h[i, j] = gelu(x[i, j]) + r[i, j]
        let mu[i] = mean[j](h[i, j])
        let var[i] = mean[j]((h[i, j] - mu[i]) ** 2)
        y[i, j] = (h[i, j] - mu[i]) * rsqrt(var[i] + eps) * gamma[j] + beta[j] }""",
        {"R": 2, "C": 5},
        {"x": ((2, 5), F), "r": ((2, 5), F), "gamma": ((5,), F), "beta": ((5,), F)},
    ),
    "softmax": (
        """kernel k(R, C) { in x: f32[R, C]; out y: f32[R, C]
        let e[i, j] = exp(x[i, j] - max[k](x[i, k]))
        y[i, j] = e[i, j] / sum[k](e[i, k]) }""",
        {"R": 3, "C": 4},
        {"x": ((3, 4), F)},
    ),
    "blur": (
        """kernel k(H, W) { in a: f32[H, W] boundary reflect; in w: f32[7] constant; out b: f32[H, W]
        b[y, x] = sum[u in 0..7](w[u] * a[y, x + u - 3]) }""",
        {"H": 3, "W": 2},
        {"a": ((3, 2), F), "w": ((7,), F)},
    ),
    "conv2d": (
        """kernel k(N, C, H, W, K, R = 3, S = 3) {
        in x: f32[N, C, H, W] boundary constant 0; in w: f32[K, C, R, S]; out y: f32[N, K, H, W]
        y[n, k, p, q] = sum[c, r, s](x[n, c, p + r - 1, q + s - 1] * w[k, c, r, s]) }""",
        {"N": 2, "C": 2, "H": 3, "W": 4, "K": 3},
        {"x": ((2, 2, 3, 4), F), "w": ((3, 2, 3, 3), F)},
    ),
    "cumsum": (
        "kernel k(R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](x[i, k]) }",
        {"R": 2, "C": 5},
        {"x": ((2, 5), F)},
    ),
    "histogram": (
        "kernel k(N) { in x: u8[N]; out h: i32[256]; h[b] = count[i](x[i] == b) }",
        {"N": 20},
        {"x": ((20,), U)},
    ),
    "im2col": (
        """kernel k(C, H, W) { in x: f32[C, H, W] boundary constant 0; out y: f32[C, 3, 3, H, W]
        y[c, r, s, h, w] = x[c, h + r - 1, w + s - 1] }""",
        {"C": 2, "H": 3, "W": 2},
        {"x": ((2, 3, 2), F)},
    ),
    "vertical_flip": (
        "kernel k(H, W) { in a: u8[H, W, 3]; out b: u8[H, W, 3]; b[i, j, c] = a[H - 1 - i, j, c] }",
        {"H": 3, "W": 2},
        {"a": ((3, 2, 3), U)},
    ),
    "far wrap": (
        """kernel k(N) { in a: i32[N, N] boundary wrap; out b: i32[N, N]
        b[i, j] = a[3*i - 2*j, 5*j - 7] - a[i // 2 + 4*N, (7*j) % 5] * i32(i) }""",
        {"N": 4},
        {"a": ((4, 4), np.int32)},
    ),
    "symmetric window minimum": (
        """kernel k(N) { in a: f32[N] boundary symmetric; out b: f32[N]
        b[i] = min[k in i - 4..i + 3](a[k]) + max[k in 0..=i](a[k] * a[N - 1 - i]) }""",
        {"N": 3},
        {"a": ((3,), F)},
    ),
    "gather and where": (
        """kernel k(N, M) { in a: f32[N] boundary edge; in p: u8[M]; out b: f32[M]
        b[i] = where(p[i] % 3 == 0 or i > 5, a[p[i]], where(i < N, a[N - 1 - i], -2.5)) }""",
        {"N": 9, "M": 20},
        {"a": ((9,), F), "p": ((20,), U)},
    ),
    "wrapping integers": (
        """kernel k(N) { in a: i16[N]; in b: u8[N]; out y: i16[N]; out z: u8[N]
        y[i] = a[i] * a[N - 1 - i] - i16(b[i]) // 7
        z[i] = -b[i] + b[N - 1 - i] % 16 }""",
        {"N": 40},
        {"a": ((40,), np.int16), "b": ((40,), U)},
    ),
    "nested triangle": (
        "kernel k(N) { in a: f32[N, N]; out y: f32[N]; y[t] = sum[i in t..N](sum[j in 0..=i](a[i, j]) * a[t, i]) }",
        {"N": 5},
        {"a": ((5, 5), F)},
    ),
}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_one_point_at_a_time(load: Load, name: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "PIECE", piece)
    text, sizes, inputs = SPECS[name]
    kernel, rng = load(text), np.random.default_rng(5)
    arrays = {}
    for tensor, (shape, dtype) in inputs.items():
        if dtype is F:
            arrays[tensor] = rng.standard_normal(shape).astype(F)
        else:
            limits = np.iinfo(dtype)
            arrays[tensor] = rng.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)
    got = evaluate(kernel, sizes, arrays)
    want = Naive(kernel, sizes, arrays).run()
    assert len(want) == sum(output.size for output in got.values())
    for (tensor, _, where), value in want.items():
        assert got[tensor][where] == pytest.approx(value, rel=1e-13, abs=1e-14), (tensor, where)
