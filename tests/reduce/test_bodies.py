"""What reductions are made of: boundaries, gathers, masks, structs, locals, scalars, sizes, outputs, in place.

Each kernel by its name, the sizes it is tried at, and its scalars; the reference is the oracle."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from .harness import Trial, run

Case = tuple[str, tuple[Mapping[str, int], ...], Mapping[str, float]]

BOUNDARIES: dict[str, Case] = {
    "blur": (
        """kernel blur(H, W) {
            in a: f32[H, W] boundary reflect; in w: f32[7]; out b: f32[H, W]
            b[y, x] = sum[u in 0..7](w[u] * a[y, x + u - 3])
        }""",
        ({"H": 5, "W": 33}, {"H": 1, "W": 1}),
        {},
    ),
    "row_of_differences": (
        """kernel rough(R, C) {
            in x: f32[R, C] boundary edge; out s: f32[R]
            s[i] = sum[j in 0..C](abs(x[i, j + 1] - x[i, j - 1]))
        }""",
        ({"R": 3, "C": 130}, {"R": 2, "C": 1}),
        {},
    ),
    "convolution": (
        """kernel conv(C, H, W, K) {
            in x: f32[C, H, W] boundary constant 0; in w: f32[K, C, 3, 3]; out y: f32[K, H, W]
            y[k, p, q] = sum[c, r, s](x[c, p + r - 1, q + s - 1] * w[k, c, r, s])
        }""",
        ({"C": 3, "H": 5, "W": 7, "K": 2},),
        {},
    ),
    "wrap_of_columns": (
        """kernel ring(R, C) {
            in x: i32[R, C] boundary wrap; out s: i32[C]
            s[j] = sum[i](x[i - 5, j + 2] * x[i, j])
        }""",
        ({"R": 9, "C": 40},),
        {},
    ),
    "product_of_matrices": (
        """kernel matmul(M, N, K) {
            in a: f32[M, K]; in b: f32[K, N]; out c: f32[M, N]
            c[i, j] = sum[k](a[i, k] * b[k, j])
        }""",
        ({"M": 5, "N": 33, "K": 19}, {"M": 3, "N": 4, "K": 0}, {"M": 1, "N": 1, "K": 300}),
        {},
    ),
}

GATHERS: dict[str, Case] = {
    "inside_a_sum": (
        """kernel sparse(R, C, N) {
            in x: f32[N] boundary constant 0; in at: i32[R, C]; in w: f32[R, C]; out y: f32[R]
            y[i] = sum[j](x[at[i, j]] * w[i, j])
        }""",
        ({"R": 4, "C": 67, "N": 50}, {"R": 3, "C": 256, "N": 1}),
        {},
    ),
    "of_the_label": (
        """kernel loss(R, C) {
            in x: f32[R, C] boundary constant 0; in label: i32[R]; out y: f32[R]
            let m[i] = max[j](x[i, j])
            y[i] = log(sum[j](exp(x[i, j] - m[i]))) + m[i] - x[i, label[i]]
        }""",
        ({"R": 5, "C": 100}, {"R": 1, "C": 1}),
        {},
    ),
    "by_the_position_of_the_greatest": (
        """kernel pick(R, C) {
            in x: f32[R, C]; in v: f32[R, C] boundary edge; out y: f32[R]
            y[i] = v[i, argmax[j](x[i, j])]
        }""",
        ({"R": 6, "C": 77},),
        {},
    ),
    "rows_of_a_table": (
        """kernel bag(N, B, L, D) {
            in table: f16[N, D] boundary constant 0; in at: i64[B, L]; out y: f32[B, D]
            y[b, d] = sum[l](f32(table[at[b, l], d]))
        }""",
        ({"N": 11, "B": 3, "L": 9, "D": 40},),
        {},
    ),
    "one_hot": (
        """kernel onehot(R, C) {
            in label: i32[R]; in x: f32[R, C]; out y: f32[R]
            y[i] = sum[j](where(label[i] == j, x[i, j], 0.0))
        }""",
        ({"R": 7, "C": 65},),
        {},
    ),
}

MASKS: dict[str, Case] = {
    "masked_softmax": (
        """kernel masked(R, C) {
            in x: f32[R, C]; in keep: bool[R, C]; out y: f32[R, C]
            let v[i, j] = where(keep[i, j], x[i, j], -inf)
            let e[i, j] = exp(v[i, j] - max[k](v[i, k]))
            y[i, j] = e[i, j] / sum[k](e[i, k])
        }""",
        ({"R": 4, "C": 67}, {"R": 3, "C": 512}),
        {},
    ),
    "causal": (
        """kernel causal(N) {
            in x: f32[N, N]; out y: f32[N]
            y[i] = max[j](where(j <= i, x[i, j], -inf))
        }""",
        ({"N": 45},),
        {},
    ),
    "concatenated": (
        """kernel both(M, N) {
            in a: f32[M]; in b: f32[N]; out s, m: f32[]
            s[] = sum[i in 0..M + N](where(i < M, a[i], b[i - M]))
            m[] = max[i in 0..M](a[i])
        }""",
        ({"M": 30, "N": 77},),
        {},
    ),
    "part_of_a_row": (
        """kernel inner(R, C) {
            in x: f32[R, C]; out s: f32[R]; out z: f32[R]
            s[i] = sum[j in 1..C - 1](x[i, j])
            z[i] = sum[j in 1..C - 1](x[i, j - 1] * x[i, j + 1])
        }""",
        ({"R": 3, "C": 34}, {"R": 2, "C": 2}),
        {},
    ),
    "every_other": (
        """kernel even(R, C) {
            in x: f32[R, 2 * C]; out s, d: f32[R]
            s[i] = sum[j in 0..C](x[i, 2*j])
            d[i] = sum[j in 0..C](x[i, 2*j + 1] * x[i, 2*C - 1 - j])
        }""",
        ({"R": 3, "C": 50},),
        {},
    ),
    "share_above": (
        """kernel share(R, C, limit: f32 = 0.25) {
            in x: f16[R, C]; out s: f32[R]; out n: i32[R]
            n[i] = i32(count[j](f32(x[i, j]) > limit))
            s[i] = f32(count[j](f32(x[i, j]) > limit)) / f32(C)
        }""",
        ({"R": 5, "C": 129}, {"R": 0, "C": 5}),
        {"limit": -0.5},
    ),
}

LOCALS: dict[str, Case] = {
    "at_several_indices": (
        """kernel twice(R, C) {
            in x: f32[R, C]; out y: f32[R, C]; out s: f32[R]
            let h[i, j] = exp(x[i, j]) * 0.5
            y[i, j] = h[i, C - 1 - j] - mean[k](h[i, k])
            s[i] = sum[k](h[i, k] * h[i, C - 1 - k])
        }""",
        ({"R": 3, "C": 65}, {"R": 1, "C": 1}),
        {},
    ),
    "of_rows_and_columns": (
        """kernel centred(R, C) {
            in x: f32[R, C]; in g: f32[C]; in p: f32[R]; out y: f32[R, C]
            let mu[i] = mean[j](x[i, j] * g[j])
            let d[i, j] = x[i, j] - mu[i] * p[i]
            y[i, j] = d[i, j] / (sum[k](abs(d[i, k])) + 1.0)
        }""",
        ({"R": 5, "C": 33}, {"R": 2, "C": 600}),
        {},
    ),
    "four_levels": (
        """kernel deep(R, C) {
            in x: f32[R, C]; out y: f32[R, C]; out s: f32[R]
            let a[i] = max[j](x[i, j])
            let b[i] = sum[j](exp(x[i, j] - a[i]))
            let c[i] = max[j](exp(x[i, j] - a[i]) / b[i])
            let d[i] = mean[j](abs(exp(x[i, j] - a[i]) / b[i] - c[i]))
            y[i, j] = x[i, j] * d[i] + c[i]
            s[i] = d[i]
        }""",
        ({"R": 4, "C": 40}, {"R": 1, "C": 1100}),
        {},
    ),
    "two_rows": (
        """kernel ratio(R, C, D) {
            in x: f32[R, C]; in z: f32[R, D]; out y: f32[R]; out q: f32[R, C]
            let a[i] = sum[j](x[i, j])
            let b[i] = max[k](abs(z[i, k])) + 1.0
            y[i] = a[i] / b[i]
            q[i, j] = x[i, j] / b[i] - mean[k](z[i, k] / b[i])
        }""",
        ({"R": 3, "C": 50, "D": 130}, {"R": 2, "C": 1, "D": 1}),
        {},
    ),
    "square_matrix_rows_and_columns": (
        """kernel both(N) {
            in x: f32[N, N]; out s: f32[N]
            s[i] = sum[j](x[i, j]) + sum[j](x[j, i]) * 2.0
        }""",
        ({"N": 37},),
        {},
    ),
    "everything_and_rows": (
        """kernel scaled(R, C) {
            in x: f32[R, C]; out y: f32[R, C]
            y[i, j] = x[i, j] / max[k, l](abs(x[k, l]))
        }""",
        ({"R": 5, "C": 21},),
        {},
    ),
    "constants_of_the_compilation": (
        """kernel fixed(R, C = 48, scale: f32 = 2.0) {
            in x: f32[R, C]; out y: f32[R, C]
            y[i, j] = x[i, j] * scale - mean[k](x[i, k])
        }""",
        ({"R": 5}, {"R": 1}),
        {"scale": 0.5},
    ),
    "an_integer_scalar": (
        """kernel power(R, C, n: i32 = 3) {
            in x: i32[R, C]; out y: i64[R]
            y[i] = sum[j](i64(x[i, j] % n) * i64(n))
        }""",
        ({"R": 3, "C": 99},),
        {"n": 7},
    ),
    "index_as_a_value": (
        """kernel moment(R, C) {
            in x: f32[R, C]; out y: f32[R]; out z: i64[R]
            y[i] = sum[j](x[i, j] * f32(j)) / f32(i + 1)
            z[i] = sum[j in 0..C](j * i)
        }""",
        ({"R": 4, "C": 70},),
        {},
    ),
}

STRUCTS: dict[str, Case] = {
    "members": (
        """kernel centre(P) {
            in p: struct { x: f32, y: f32, m: f32 }[P]; out c: f32[3]
            c[0] = sum[i](p[i].x * p[i].m)
            c[1] = sum[i](p[i].y * p[i].m)
            c[2] = sum[i](p[i].m)
        }""",
        ({"P": 77},),
        {},
    ),
    "soa_by_rows": (
        """kernel energy(R, P) {
            in p: struct { v: f32, m: f32 }[R, P] soa; out e: f32[R]
            e[i] = sum[j](p[i, j].m * p[i, j].v ** 2) * 0.5
        }""",
        ({"R": 4, "P": 100},),
        {},
    ),
    "mixed_members": (
        """kernel mixed(R, P) {
            in p: struct { k: u8, m: f64 }[R, P]; out e: f64[R]; out n: u32[R]
            e[i] = max[j](p[i, j].m)
            n[i] = sum[j](p[i, j].k)
        }""",
        ({"R": 3, "P": 65},),
        {},
    ),
    "blocks": (
        """kernel blocked(R, P) {
            in p: struct { v: f32, m: f32 }[R, P] aosoa(32); out e: f32[R]
            e[i] = sum[j](p[i, j].m * p[i, j].v)
        }""",
        ({"R": 3, "P": 65},),
        {},
    ),
    "a_struct_of_results": (
        """kernel moments(R, C) {
            in x: f32[R, C]; out q: struct { mu: f32, top: f32 }[R]
            q[i].mu = mean[j](x[i, j])
            q[i].top = max[j](x[i, j])
        }""",
        ({"R": 5, "C": 66},),
        {},
    ),
}

IN_PLACE: dict[str, Case] = {
    "softmax": (
        """kernel softmax(R, C) {
            inout x: f32[R, C]
            let e[i, j] = exp(x[i, j] - max[k](x[i, k]))
            x[i, j] = e[i, j] / sum[k](e[i, k])
        }""",
        ({"R": 5, "C": 67}, {"R": 1, "C": 5000}),
        {},
    ),
    "a_column_each": (
        """kernel unit(R, C) {
            inout x: f32[R, C]
            x[i, j] = x[i, j] / (sum[k](abs(x[k, j])) + 1.0)
        }""",
        ({"R": 67, "C": 40},),
        {},
    ),
    "added_to_what_is_there": (
        """kernel more(R, C) {
            in x: f32[R, C]; inout s: f32[R]
            s[i] = s[i] * 0.5 + sum[j](x[i, j])
        }""",
        ({"R": 6, "C": 90}, {"R": 2, "C": 0}),
        {},
    ),
    "read_all_along_the_row_and_written_at_its_end": (
        """kernel shifted(R, C) {
            in x: f32[R, C]; inout s: f32[R]; out y: f32[R, C]
            y[i, j] = x[i, j] + s[i]
            s[i] = s[i] + sum[j](x[i, j])
        }""",
        ({"R": 3, "C": 700}, {"R": 4, "C": 50}),
        {},
    ),
    "written_along_the_row_that_is_reduced": (
        """kernel decay(R, C) {
            inout x: f32[R, C]; out s: f32[R]
            x[i, j] = x[i, j] * 0.5
            s[i] = sum[j](x[i, j])
        }""",
        ({"R": 3, "C": 700}, {"R": 4, "C": 50}),
        {},
    ),
}

GROUPS = {
    "boundaries": BOUNDARIES,
    "gathers": GATHERS,
    "masks": MASKS,
    "locals": LOCALS,
    "structs": STRUCTS,
    "in_place": IN_PLACE,
}


@pytest.mark.parametrize("group", GROUPS)
def test_bodies(group: str) -> None:
    trials = []
    for text, shapes, scalars in GROUPS[group].values():
        trials += [Trial(text, sizes, scalars=scalars) for sizes in shapes]
        trials += [Trial(text, shapes[0], scalars=scalars, fitted=True)]
    run(*trials)
