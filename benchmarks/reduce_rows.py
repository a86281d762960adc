"""The rows of the table of reductions, rows and scans as data: a spec, sizes, and what torch and CuPy call the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """`goal`: share of a copy of as many bytes; None where none was set. `torch`, `cupy`: expressions of the inputs by
    name. `type`: the choice of the type parameter `T`. `equal`: all elements of the inputs are one."""

    name: str
    spec: str
    sizes: dict[str, int]
    torch: str
    goal: float | None = None
    type: str | None = None
    cupy: str | None = None
    equal: bool = False

    def named(self, words: Sequence[str]) -> bool:
        """Whether one of the words is part of the name; none means every row."""
        return not words or any(w in self.name for w in words)


SUM = "kernel total(N) { in x: f32[N]; out y: f32[]; y[] = sum[i](x[i]) }"
COLUMN = "kernel columns(M, N) { in x: f32[M, N]; out y: f32[N]; y[j] = sum[i](x[i, j]) }"
ROW = "kernel rows(R, C) { in x: f32[R, C]; out y: f32[R]; y[i] = sum[j](x[i, j]) }"
ARGMAX = "kernel first(R, C) { in x: f32[R, C]; out y: i64[R]; y[i] = argmax[j](x[i, j]) }"
SOFTMAX = """kernel softmax[T: f32 | bf16](R, C) {
    in x: T[R, C]; out y: T[R, C]
    let e[i, j] = exp(x[i, j] - max[k](x[i, k]))
    y[i, j] = e[i, j] / sum[k](e[i, k])
}"""
LAYERNORM = """kernel layernorm[T: f32 | bf16](R, C, eps: f32 = 1e-5) {
    in x: T[R, C]; in gamma, beta: T[C]; out y: T[R, C]
    let mu[i] = mean[j](x[i, j])
    let var[i] = mean[j]((x[i, j] - mu[i]) ** 2)
    y[i, j] = (x[i, j] - mu[i]) * rsqrt(var[i] + eps) * gamma[j] + beta[j]
}"""
RMSNORM = """kernel rmsnorm[T: f32 | bf16](R, C, eps: f32 = 1e-5) {
    in x: T[R, C]; in gamma: T[C]; out y: T[R, C]
    y[i, j] = x[i, j] * rsqrt(mean[k](x[i, k] ** 2) + eps) * gamma[j]
}"""
GELU = """kernel gelu_residual_layernorm[T: f32 | bf16](R, C, eps: f32 = 1e-5) {
    in x, r: T[R, C]; in gamma, beta: T[C]; out y: T[R, C]
    let h[i, j] = gelu(x[i, j]) + r[i, j]
    let mu[i] = mean[j](h[i, j])
    let var[i] = mean[j]((h[i, j] - mu[i]) ** 2)
    y[i, j] = (h[i, j] - mu[i]) * rsqrt(var[i] + eps) * gamma[j] + beta[j]
}"""
CUMSUM = "kernel cumsum(N) { in x: f32[N]; out y: f32[N]; y[i] = sum[k in 0..=i](x[k]) }"
ROW_CUMSUM = (
    "kernel row_cumsum(R, C) { in x: f32[R, C]; out y: f32[R, C]; y[i, j] = sum[k in 0..=j](x[i, k]) }"
)
HISTOGRAM = "kernel histogram(N) { in x: u8[N]; out h: i32[256]; h[b] = count[i](x[i] == b) }"
_BINCOUNT = "torch.bincount(x, minlength=256)"
_CUPY_BINCOUNT = "cupy.bincount(x, minlength=256)"
_SOFTMAX = "torch.softmax(x, 1)"
_LAYERNORM = "F.layer_norm(x, (x.shape[1],), gamma, beta, 1e-5)"
_RMSNORM = "F.rms_norm(x, (x.shape[1],), gamma, 1e-5)"
_GELU = "F.layer_norm(F.gelu(x) + r, (x.shape[1],), gamma, beta, 1e-5)"


def _rows(rows: int, columns: int) -> dict[str, int]:
    return {"R": rows, "C": columns}


ROWS = (
    Row("sum f32 2^29", SUM, {"N": 2**29}, "x.sum()", 1.02, cupy="x.sum()"),
    Row("column sum f32 16384 x 32768", COLUMN, {"M": 16384, "N": 32768}, "x.sum(0)", 1.02, cupy="x.sum(0)"),
    Row("row sum f32 65536 x 4096", ROW, _rows(65536, 4096), "x.sum(1)", cupy="x.sum(1)"),
    Row("row argmax f32 65536 x 4096", ARGMAX, _rows(65536, 4096), "x.argmax(1)", cupy="x.argmax(1)"),
    Row("softmax f32 65536 x 4096", SOFTMAX, _rows(65536, 4096), _SOFTMAX, 0.97, "f32"),
    Row("softmax bf16 65536 x 4096", SOFTMAX, _rows(65536, 4096), _SOFTMAX, 0.95, "bf16"),
    Row("layer norm f32 65536 x 4096", LAYERNORM, _rows(65536, 4096), _LAYERNORM, 0.97, "f32"),
    Row("layer norm f32 8192 x 32768", LAYERNORM, _rows(8192, 32768), _LAYERNORM, 0.93, "f32"),
    Row("RMS norm f32 65536 x 4096", RMSNORM, _rows(65536, 4096), _RMSNORM, None, "f32"),
    Row("GELU + residual + layer norm f32 65536 x 4096", GELU, _rows(65536, 4096), _GELU, 0.97, "f32"),
    Row("GELU + residual + layer norm bf16 65536 x 4096", GELU, _rows(65536, 4096), _GELU, 0.95, "bf16"),
    *(
        Row(f"softmax f32 {rows} x {columns}", SOFTMAX, _rows(rows, columns), _SOFTMAX, None, "f32")
        for columns, rows in ((64, 2**22), (128, 2**21), (768, 349525), (32768, 8192), (131072, 2048))
    ),
    *(
        Row(f"layer norm f32 {rows} x {columns}", LAYERNORM, _rows(rows, columns), _LAYERNORM, None, "f32")
        for columns, rows in ((64, 2**22), (128, 2**21), (768, 349525), (131072, 2048))
    ),
    *(
        Row(f"row sum f32 {rows} x {columns}", ROW, _rows(rows, columns), "x.sum(1)", None, cupy="x.sum(1)")
        for columns, rows in ((64, 2**22), (768, 349525), (131072, 2048))
    ),
    Row("cumsum f32 2^29", CUMSUM, {"N": 2**29}, "torch.cumsum(x, 0)", 0.85, cupy="cupy.cumsum(x)"),
    Row("row cumsum f32 131072 x 4096", ROW_CUMSUM, _rows(131072, 4096), "torch.cumsum(x, 1)", 0.95),
    # Goals are shares of the read-only rate, 1.03 of a copy's.
    Row("histogram u8 2^30", HISTOGRAM, {"N": 2**30}, _BINCOUNT, 0.875, cupy=_CUPY_BINCOUNT),
    Row(
        "histogram u8 2^30, all equal",
        HISTOGRAM,
        {"N": 2**30},
        _BINCOUNT,
        0.515,
        cupy=_CUPY_BINCOUNT,
        equal=True,
    ),
)
