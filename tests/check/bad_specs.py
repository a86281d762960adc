"""One bad spec for each case of a code that a check reports, with the one mistake that the case is about."""

from __future__ import annotations


def k(*lines: str, head: str = "(N)") -> str:
    return "\n    ".join([f"kernel k{head} {{", *lines]) + "\n}\n"


def y(value: str, *more: str, x: str = "f32", out: str = "f32", head: str = "(N)") -> str:
    """`y[i] = value`, with an input `x` of a type and an output `y` of another."""
    return k(f"in x: {x}[N]", f"out y: {out}[N]", f"y[i] = {value}", *more, head=head)


def layout(clauses: str, shape: str = "N, N", element: str = "f32") -> str:
    index = ", ".join("ijk"[: shape.count(",") + 1]) if shape else ""
    return k(f"in x: {element}[{shape}] {clauses}", f"out z: {element}[{shape}]", f"z[{index}] = x[{index}]")


def directives(text: str) -> str:
    lines = ("in x: f32[N, K]", "out z_: f32[N, K]", "z_[i, j] = x[i, j]", f"schedule u {{ {text} }}")
    return k(*lines, head="(N, K = 4)")


XY = ("in x: f32[N]", "out y: f32[N]")
PAIR = "struct { a: f32, b: f32 }"

BAD: dict[str, str] = {
    "TG0201.kernel": y("x[i]") + y("x[i]"),
    "TG0201.name": k(*XY, "in x: f32[N]", "y[i] = x[i]"),
    "TG0202": k("in x: float32[N]", "out y: f32[N]", "y[i] = x[i]"),
    "TG0203": k("in x: T[N]", "out y: T[N]", "y[i] = x[i]", head="[T: f32 | f16 | f32](N)"),
    "TG0204": y("x[i]", head="(N, K = -1)"),
    "TG0205.number": y("x[i] + eps", head="(N, eps: f32 = N)"),
    "TG0205.bool": y("where(c, x[i], 0.0)", head="(N, c: bool = N)"),
    "TG0206.kind": k("in x: f32[N, s]", "out y: f32[N]", "y[i] = sum[j](x[i, j]) * s", head="(N, s: f32)"),
    "TG0206.slash": k("in x: f32[N / 2]", "out y: f32[N / 2]", "y[i] = x[i]").replace(
        "out y: f32[N / 2]", "out y: f32[N]"
    ),
    "TG0206.form": k("in x: f32[1.5]", "out y: f32[N]", "y[i] = x[0]"),
    "TG0206.negative": k("in x: f32[-3]", "out y: f32[N]", "y[i] = 1.0"),
    "TG0207.name": y("x[i] + alpha", head="(N, alfa: f32)"),
    "TG0207.tensor": k(*XY, "z[i] = x[i]"),
    "TG0207.size": k("in x: f32[M]", "out y: f32[N]", "y[i] = x[i]"),
    "TG0207.type": y("x[i] + T", head="[T: f32 | f16](N)"),
    "TG0207.later": k(*XY, "y[i] = t[i]", "let t[i] = x[i]"),
    "TG0207.itself": k(*XY, "let t[i] = t[i] + x[i]", "y[i] = t[i]"),
    "TG0208": k("in p: struct { a: f32, a: f32 }[N]", "out y: f32[N]", "y[i] = p[i].a"),
    "TG0209.tensor": k(*XY, "out z: f32[N]", "y[i] = x[i]"),
    "TG0209.kernel": k("in x: f32[N]"),
    "TG0211": k(*XY, "out z: f32[N]", "y[i] = x[i]", "z[i] = y[i]"),
    "TG0212.in": k("in x, w: f32[N]", "in y: f32[N]", "y[i] = x[i] * w[i]"),
    "TG0212.kind": k(*XY, "N[i] = x[i]", "y[i] = x[i]"),
    "TG0212.local": k(*XY, "let t[i] = x[i]", "t[i] = 0.0", "y[i] = t[i]"),
    "TG0213": k("in p: struct { speed: f32, mass: f32 }[N]", "out y: f32[N]", "y[i] = p[i].sped"),
    "TG0214.struct": k(f"in p: {PAIR}[N]", "out y: f32[N]", "y[i] = p[i] + 1.0"),
    "TG0214.plain": y("x[i].a"),
    "TG0214.local": k(*XY, "let t[i] = x[i]", "y[i] = t[i].a"),
    "TG0215.index": y("x + 1.0"),
    "TG0215.elements": y("x[i] + N[i]"),
    "TG0215.bytes": y("x[i] + 4B"),
    "TG0301.indices": k("in x: f32[N, N]", "out y: f32[N]", "y[i] = x[i]"),
    "TG0301.none": k(*XY, "in s: f32[]", "y[i] = x[i] * s[i]"),
    "TG0302": k("in a: f32[N]", "in b: f32[N + 1]", "out y: f32[N]", "y[i] = a[i] + b[i]"),
    "TG0303": k("in x: f32[N * N]", "out y: f32[N, N]", "y[i, j] = x[i * j]"),
    "TG0304.axis": k("in x: f32[N]", "out y: f32[2 * N]", "y[2 * i] = 1.0"),
    "TG0304.reduced": k("in x: f32[2 * N]", "out y: f32[N]", "y[i] = sum[u](x[2 * i + u])"),
    "TG0305": k("in x: f32[N, N]", "out y: f32[N]", "y[i] = x[i, j]"),
    "TG0306.kind": y("sum[N](x[N])"),
    "TG0306.axis": y("sum[i](x[i])"),
    "TG0307.axis": y("x[i] for j in 0..N"),
    "TG0307.twice": y("x[i] for i in 0..N, i in 0..N"),
    "TG0308.tensor": k("in p: i32[N]", *XY, "y[i] = x[p[i]]"),
    "TG0308.local": k("in p: i32[N]", *XY, "let t[i] = x[i]", "y[i] = t[p[i]]"),
    "TG0309.read": y("x[i + 1]"),
    "TG0309.write": k(*XY, "y[i + 1] = x[i]"),
    "TG0309.local": k(*XY, "let t[i] = x[i]", "y[i] = t[i + 1]"),
    "TG0310.shown": k(*XY, "y[i // 2] = x[i]"),
    "TG0310.unknown": k("in x: f32[M]", "out y: f32[N]", "y[(i * M) % N] = x[i]", head="(M, N)"),
    "TG0311.shown": k(*XY, "y[i] = x[i]", "y[0] = 0.0"),
    "TG0311.unknown": k(
        *XY, "y[i] = x[i] for i in 0..(M * K) % N", "y[i] = 0.0 for i in (M * M) % N..N", head="(N, M, K)"
    ),
    "TG0312": k(*XY, "out z: f32[2 * N]", "y[i] = x[i]", "z[j] = x[j // 2]"),
    "TG0313.literal": y("x[1.5]"),
    "TG0313.value": k("in x: f32[N] boundary edge", "in p: f32[N]", "out y: f32[N]", "y[i] = x[p[i]]"),
    "TG0313.unbounded": k("in p: f32[N]", *XY, "y[i] = x[p[i]]"),
    "TG0313.scalar": k("in x: f32[N] boundary edge", "out y: f32[N]", "y[i] = x[i + s]", head="(N, s: f32)"),
    "TG0314": k(*XY, "let t[2 * i] = x[i]", "y[i] = t[i]"),
    "TG0315": k("in p: i32[N]", *XY, "y[p[i]] = x[i]"),
    "TG0316.number": y("x[i // 0]"),
    "TG0316.header": y("x[i // K]", head="(N, K = 0)"),
    "TG0316.literals": y("x[i] + 1.0 / 0.0"),
    "TG0317.kind": y("x[i] for i in 0..x"),
    "TG0317.slash": y("x[i] for i in 0..N / 2"),
    "TG0317.form": y("x[i] for i in 0..1.5"),
    "TG0401.bool": y("x[i] or 1", x="bool", out="bool").replace("or 1", "== 1"),
    "TG0401.number": y("x[i] + true"),
    "TG0401.float": y("x[i] + 1.0", x="i32", out="i32"),
    "TG0401.range": y("x[i] + 300", x="u8", out="u8"),
    "TG0401.infinite": y("x[i] * s", x="f16", out="f16", head="(N, s: f16 = 1e6)"),
    "TG0402": y("x[i] / 2", x="i32", out="i32"),
    "TG0403.float": y("x[i] * 2", out="i32"),
    "TG0403.integer": y("x[i]", x="i64", out="i32"),
    "TG0403.bool": y("x[i]", out="bool"),
    "TG0403.complex": y("x[i]", x="c64"),
    "TG0404.sign": y("-x[i]", x="bool", out="i32"),
    "TG0404.bools": y("x[i] and true", out="bool"),
    "TG0404.numbers": y("x[i] + x[i]", x="bool", out="i32"),
    "TG0404.literals": y("x[i] + (1 + true)"),
    "TG0404.complex": y("x[i] // x[i]", x="c64", out="c64"),
    "TG0404.complex_power": y("x[i] ** 2", x="c64", out="c64"),
    "TG0404.negative_power": y("x[i] ** -2", x="i32", out="i32"),
    "TG0405.comparison": y("x[i] < 1.0", x="c64", out="bool"),
    "TG0405.reduction": k("in x: c64[N]", "out y: f32[]", "y[] = max[i](x[i])"),
    "TG0406.function": y("sgmoid(x[i])"),
    "TG0406.reduction": k("in x: f32[N]", "out y: f32[]", "y[] = smu[i](x[i])"),
    "TG0406.axes": k("in x: f32[N]", "out y: f32[]", "y[] = sum(x[0])"),
    "TG0406.brackets": y("x(i)"),
    "TG0407.where": y("where(x[i] > 0.0, x[i])"),
    "TG0407.call": y("clip(x[i], 0.0)"),
    "TG0408.cast": y("exp(x[i])", x="i32"),
    "TG0408.complex": y("exp(x[i])", x="c64"),
    "TG0409.axes": k("in x: f32[N, N]", "out y: i64[]", "y[] = argmax[i, j](x[i, j])"),
    "TG0409.bools": k("in x: f32[N]", "out y: bool[]", "y[] = any[i](x[i])"),
    "TG0409.numbers": k("in x: bool[N]", "out y: i32[]", "y[] = max[i](x[i])"),
    "TG0409.floats": k("in x: i32[N]", "out y: f32[]", "y[] = mean[i](x[i])"),
    "TG0410.structs": k(f"in p: {PAIR}[N]", "out q: struct { a: f32, c: f32 }[N]", "q[i] = p[i]"),
    "TG0410.plain": k("in x: f32[N]", f"out q: {PAIR}[N]", "q[i] = x[i]"),
    "TG0411": y("where(x[i], 1, 0)", x="i32", out="i32"),
    "TG0412.float": y("x[i] + i32(inf)", x="i32", out="i32"),
    "TG0412.complex": y("f32(x[i])", x="c64"),
    "TG0501": layout("align 16B align 32B"),
    "TG0502.order": layout("order(1, 0) strides(1, N)"),
    "TG0502.pitch": layout("pitch 128B strides(1, N)"),
    "TG0502.placement": layout("soa aosoa(4)", element=PAIR),
    "TG0502.dense": layout("aosoa(4) pitch 128B", element=PAIR),
    "TG0502.memory": layout("constant texture(nearest, edge)"),
    "TG0502.mode": layout("boundary wrap texture(nearest, edge)"),
    "TG0503.axes": layout("order(1, 1)"),
    "TG0503.rank": layout("order(1)", "N"),
    "TG0504.bytes": layout("pitch 126B"),
    "TG0504.form": layout("pitch 0"),
    "TG0505.count": layout("strides(1)"),
    "TG0505.zero": k("in x: f32[N]", "out y: f32[N] strides(0)", "y[i] = x[i]"),
    "TG0505.kind": k("in x: f32[N] strides(s)", "out y: f32[N]", "y[i] = x[i] * s", head="(N, s: f32)"),
    "TG0505.slash": layout("strides(N / 2, 1)"),
    "TG0505.form": layout("strides(1.5, 1)"),
    "TG0506.form": layout("align 16"),
    "TG0506.power": layout("align 24B"),
    "TG0506.small": layout("align 2B"),
    "TG0507.struct": layout("soa"),
    "TG0507.number": layout("aosoa(0)", element=PAIR),
    "TG0508.mode": layout("boundary mirror"),
    "TG0508.out": k("in x: f32[N]", "out y: f32[N] boundary edge", "y[i] = x[i]"),
    "TG0508.constant": layout("boundary constant"),
    "TG0508.value": layout("boundary edge 0"),
    "TG0508.number": layout("boundary constant 4B"),
    "TG0509.written": k("in x: f32[8]", "out y: f32[8] constant", "y[i] = x[i]"),
    "TG0509.size": k("in w: f32[129, 129] constant", "out y: f32[129, 129]", "y[i, j] = w[i, j]"),
    "TG0509.total": k(
        "in v, w: f32[100, 100] constant", "out y: f32[100, 100]", "y[i, j] = v[i, j] + w[i, j]"
    ),
    "TG0510.form": layout("texture(cubic, edge)"),
    "TG0510.mode": layout("texture(nearest, reflect)"),
    "TG0510.written": k("in x: f32[N]", "out y: f32[N] texture(nearest, edge)", "y[i] = x[i]"),
    "TG0510.rank": layout("texture(nearest, edge)", ""),
    "TG0510.element": layout("texture(nearest, edge)", element="f64"),
    "TG0510.linear": layout("texture(linear, edge)", element="i32"),
    "TG0511.number": layout("offset 4B"),
    "TG0511.negative": layout("offset -1"),
    "TG0511.kind": k("in x: f32[N] offset s", "out y: f32[N]", "y[i] = x[i] * s", head="(N, s: f32)"),
    "TG0511.slash": layout("offset N / 2"),
    "TG0511.form": layout("offset 1.5"),
    "TG0520.auto": y("x[i]", "schedule auto { vector 4 }"),
    "TG0520.twice": y("x[i]", "schedule u { vector 4 }", "schedule u { vector 2 }"),
    "TG0521": directives("tile k = 32"),
    "TG0522": directives("stage xs"),
    "TG0523.directive": directives("vector 2; vector 4"),
    "TG0523.value": directives("tile i = 8, i = 16"),
    "TG0523.axis": directives("raster i, i"),
    "TG0524.power": directives("vector 3"),
    "TG0524.twice": directives("tile i = {8, 8}"),
    "TG0524.positive": directives("tile i = 0"),
    "TG0524.natural": directives("stage x pad N"),
    "TG0525": directives("stage z_"),
    "TG0526.swizzle": directives("stage x pad 1 swizzle"),
    "TG0526.auto": directives("stage x pad 1 auto"),
    "TG0527": directives("bounds gaurd"),
    "TG0528.readonly": directives("hint z_ readonly"),
    "TG0528.evict_last": directives("hint z_ evict_last"),
    "TG0528.sectors": directives("hint x sectors"),
    "TG0529.unknown": directives("at M = 3"),
    "TG0529.known": directives("at K = 4"),
    "TG0530": directives("tile i*j = 1024; threads j = 32"),
    "TG0540.unknown": y("x[i]", "test K = 3, N = 3"),
    "TG0540.twice": y("x[i]", "test N = 3, N = 4"),
    "TG0541.test": k("in x: f32[M, N]", "out y: f32[M, N]", "y[i, j] = x[i, j]", "test M = 3", head="(M, N)"),
    "TG0541.at": k(
        "in x: f32[M, N]",
        "out y: f32[M, N]",
        "y[i, j] = x[i, j]",
        "expect spills == 0 at M = 3",
        head="(M, N)",
    ),
    "TG0542.size": y("x[i]", "test N = -3"),
    "TG0542.scalar": y("x[i] * s", "test N = 3, s = N", head="(N, s: f32)"),
    "TG0542.twice": y("x[i]", "test N = 3 seed 3 seed 4"),
    "TG0542.on": y("x[i]", "test N = 3 on cpu"),
    "TG0542.fill": y("x[i]", "test N = 3 fill norml"),
    "TG0542.seed": y("x[i]", "test N = 3 seed 1.5"),
    "TG0542.tolerance": y("x[i]", "test N = 3 rtol N"),
    "TG0543": k(
        "in x: f32[N]",
        "in z: f32[M]",
        "out y: f32[N]",
        "y[i] = x[i] + z[i]",
        "test N = 3, M = 4",
        head="(N, M)",
    ),
    "TG0544": y("x[i]", "test N = 3, T = f64", x="T", out="T", head="[T: f32 | f16](N)"),
    "TG0550": y("x[i]", "schedule fast { vector 4 }", "expect fsat: bank_conflicts == 0"),
    "TG0551": y("x[i]", "expect bank_conflict == 0"),
    "TG0552.value": y("x[i]", "expect spills == N"),
    "TG0552.unit": y("x[i]", "expect bandwidth >= 0.9 * ideal"),
    "TG0553": y("s * x[i]", "expect spills == 0 at N = 64, s = 2.0", head="(N, s: f32 = 1.0)"),
}

# Kernels that are right, and sizes that they cannot be called with.
CALLS: dict[str, tuple[str, dict[str, int]]] = {
    "TG0316.sizes": (y("x[i % M]", head="(N, M)"), {"N": 3, "M": 0}),
    "TG0327": (
        k("in x: f32[N] boundary wrap", "out y: f32[N]", "y[i] = x[S * i]", head="(N, S)"),
        {"N": 3, "S": 2**62},
    ),
    "TG0320.missing": (y("x[i]", head="(N, M)"), {"N": 3}),
    "TG0320.negative": (y("x[i]"), {"N": -3}),
    "TG0321": (
        k("in a: f32[M]", "in b: f32[N]", "out c: f32[M]", "c[i] = a[i] + b[i]", head="(M, N)"),
        {"M": 3, "N": 4},
    ),
    "TG0322.extent": (k("in x: f32[N - 2]", "out y: f32[N]", "y[i] = 1.0"), {"N": 1}),
    "TG0322.stride": (
        k("in x: f32[M, N]", "out y: f32[M, N] strides(S, 1)", "y[i, j] = x[i, j]", head="(M, N, S)"),
        {"M": 3, "N": 4, "S": 2},
    ),
    "TG0323": (k("in x: f32[N] constant", "out y: f32[N]", "y[i] = x[i]"), {"N": 20000}),
    "TG0324": (
        k("in x: f32[S * N]", "out y: f32[N]", "y[i] = x[S * i + 1]", head="(N, S)"),
        {"N": 3, "S": 1},
    ),
    "TG0325": (k("in x: f32[N]", "out y: f32[9]", "y[S * i] = x[i]", head="(N, S)"), {"N": 3, "S": 0}),
    "TG0326": (
        k("in x: f32[M, N]", "out y: f32[M]", "y[i] = max[j](x[i, j])", head="(M, N)"),
        {"M": 3, "N": 0},
    ),
}

# A right spec that has every kind of item.
RICH = """kernel rich[T: f32 | f16](M, N, K = 4, alpha: f32 = 2.0, flag: bool) {
    in  a: T[M, N] pitch 128B
    in  w: f32[N] boundary constant 0
    in  p: i32[M, N]
    in  q: struct { u: f32, v: f32 }[M, N] soa
    out b: f32[N, M] order(1, 0)
    out c: f32[N, M]

    let t[i, j] = f32(a[i, j]) * alpha
    b[j, i] = t[i, j] + w[p[i, j]] + exp(q[i, j].u) for i in 0..M
    c[j, i] = where(flag and i > 0, sum[k in 0..K](w[j + k]), t[i, j]) / K

    schedule s { tile i = {8, 16}, j = K; threads i = 8, j = 4; stage a, p pad 1; raster j, i group 2; bounds guard }
    schedule r { vector a = 4; hint c streaming; hint a readonly; unroll j = 2; index i32; stage q swizzle }
    schedule o { at M = 64; keep a registers; threads 64; otherwise; max_registers 64; blocks j = 2 }

    test M = 8, N = 8, flag = true
    test M = 16, N = 8, alpha = 1.5, T = f16, flag = false seed 3 rtol 1e-3 fill normal
    expect s: load_sectors <= 2.0 * ideal, bank_conflicts == 0 at M = 64, N = 64, T = f32
    expect r: spills == 0
}
"""
