"""Random kernels of every family, as text, with sizes for them."""

from __future__ import annotations

from random import Random

TYPES = ("f32", "f32", "f16", "f64", "u8", "i32", "bf16", "i64")
EXTENTS = (1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 100, 128, 129, 256, 1000, 1024, 4096, 4097, 65536, 1 << 20)
AXES = "ijklm"


def random_kernel(seed: int) -> tuple[str, dict[str, int]]:
    """The text of a kernel `t`, and sizes."""
    random = Random(seed)
    make = random.choice((tiles, tiles, rows, rows, scans, histograms))
    return make(random)


def _sizes(random: Random, axes: str, most: int = 1 << 26) -> dict[str, int]:
    found: dict[str, int] = {}
    room = most
    for axis in random.sample(axes, len(axes)):
        found[f"N{axis}"] = random.choice([e for e in EXTENTS if e <= room])
        room //= found[f"N{axis}"]
    return dict(sorted(found.items()))


def _kernel(random: Random, sizes: dict[str, int], lines: list[str]) -> tuple[str, dict[str, int]]:
    """Some sizes are constants of the header."""
    fixed = [s for s in sizes if random.random() < 0.2]
    header = ", ".join(f"{s} = {n}" if s in fixed else s for s, n in sizes.items())
    text = "".join(f"    {line}\n" for line in lines)
    return f"kernel t({header}) {{\n{text}}}", {s: n for s, n in sizes.items() if s not in fixed}


def _shape(axes: str) -> str:
    return ", ".join(f"N{a}" for a in axes)


def _layout(random: Random, rank: int) -> str:
    clauses = [""] * 6 + ["pitch 128B", "pitch 33", "offset 1", "offset 4"]
    return random.choice(clauses) if rank > 1 else random.choice(["", "", "", "offset 1", "offset 4"])


def tiles(random: Random) -> tuple[str, dict[str, int]]:
    """`y[permuted] = f(x[axes], z[some])`."""
    axes = AXES[: random.randint(1, 5)]
    order = "".join(random.sample(axes, len(axes))) if random.random() < 0.7 else axes
    some = "".join(a for a in axes if random.random() < 0.5)
    dtype = random.choice(TYPES)
    value = random.choice((f"x[{', '.join(axes)}]",) * 2 + (f"x[{', '.join(axes)}] + z[{', '.join(some)}]",))
    if dtype in ("u8", "bf16", "f16"):
        value = f"x[{', '.join(axes)}]"
    last = axes[-1]
    if random.random() < 0.15:
        value = value.replace(f"{last}]", f"N{last} - 1 - {last}]")
    sizes = _sizes(random, axes)
    lines = [
        f"in x: {dtype}[{_shape(axes)}] {_layout(random, len(axes))}",
        *([f"in z: {dtype}[{_shape(some)}]"] if "z[" in value else []),
        f"out y: {dtype}[{_shape(order)}] {_layout(random, len(axes))}",
        f"y[{', '.join(order)}] = {value}",
    ]
    return _kernel(random, sizes, lines)


def rows(random: Random) -> tuple[str, dict[str, int]]:
    """Reductions of `x` over some of its axes, and outputs along them, with a `let` or without."""
    axes = AXES[: random.randint(1, 4)]
    reduced = "".join(sorted(random.sample(axes, random.randint(1, len(axes)))))
    left = "".join(a for a in axes if a not in reduced)
    dtype = random.choice(("f32", "f32", "f16", "f64", "i32"))
    named = {a: f"{a}q" for a in reduced}
    read = f"x[{', '.join(named.get(a, a) for a in axes)}]"
    over = ", ".join(named[a] for a in reduced)
    sizes = _sizes(random, axes)
    lines = [f"in x: {dtype}[{_shape(axes)}] {_layout(random, len(axes))}"]
    total = f"{random.choice(('sum', 'max'))}[{over}]({read})"
    match random.randint(0, 4):
        case 0 | 1:
            out = "f32" if dtype == "f16" else dtype
            lines += [f"out s: {out}[{_shape(left)}]", f"s[{', '.join(left)}] = {total}"]
        case 2:
            point = f"x[{', '.join(axes)}]"
            lines += [f"out y: {dtype}[{_shape(axes)}]", f"y[{', '.join(axes)}] = {point} - {total}"]
        case 3:
            point = f"x[{', '.join(axes)}]"
            lines += [
                f"out y: {dtype}[{_shape(axes)}]",
                f"let c[{', '.join(left)}] = {total}",
                f"y[{', '.join(axes)}] = ({point} - c[{', '.join(left)}]) * "
                f"sum[{over}]({read} - c[{', '.join(left)}])",
            ]
        case _:
            # The reduction of the let has the name of an axis of the point that reads it.
            other = dict(zip(left, "uvwz", strict=False))
            held = ", ".join(other[a] for a in left)
            clash = left[0] if left else reduced[0]
            inner = {a: clash if n == 0 and left else named[a] for n, a in enumerate(reduced)}
            body = f"x[{', '.join(other.get(a, inner.get(a, a)) for a in axes)}]"
            lines += [
                f"out s: {dtype}[{_shape(left)}]",
                f"let c[{held}] = max[{', '.join(inner[a] for a in reduced)}]({body})",
                f"s[{', '.join(left)}] = c[{', '.join(left)}]",
            ]
    return _kernel(random, sizes, lines)


def scans(random: Random) -> tuple[str, dict[str, int]]:
    axes = AXES[: random.randint(1, 3)]
    along = random.choice(axes)
    dtype = random.choice(("f32", "f32", "f64", "i32"))
    read = f"x[{', '.join('q' if a == along else a for a in axes)}]"
    bound = random.choice((f"q in 0..={along}", f"q in 0..{along}", f"q in {along}..N{along}"))
    lines = [
        f"in x: {dtype}[{_shape(axes)}] {_layout(random, len(axes))}",
        f"out y: {dtype}[{_shape(axes)}]",
        f"y[{', '.join(axes)}] = {random.choice(('sum', 'sum', 'max'))}[{bound}]({read})",
    ]
    if ".." + along in bound and "max" in lines[-1]:
        lines[-1] = lines[-1].replace("max", "sum")
    return _kernel(random, _sizes(random, axes, 1 << 30), lines)


def histograms(random: Random) -> tuple[str, dict[str, int]]:
    axes = AXES[: random.randint(1, 3)]
    batch = random.choice(axes) if len(axes) > 1 and random.random() < 0.5 else ""
    elements = "".join(a for a in axes if a != batch)
    dtype, bins = random.choice((("u8", "256"), ("u8", "10"), ("i32", "64"), ("i32", "NB")))
    sizes = _sizes(random, axes)
    if batch and random.random() < 0.6:
        sizes[f"N{batch}"] = random.choice((2, 3, 4))
    if bins == "NB":
        sizes["NB"] = random.choice((5, 100, 4096))
    lines = [
        f"in x: {dtype}[{_shape(axes)}]",
        f"out h: i32[{_shape(batch) + ', ' if batch else ''}{bins}]",
        f"h[{batch + ', ' if batch else ''}b] = count[{', '.join(elements)}](x[{', '.join(axes)}] == b)",
    ]
    return _kernel(random, sizes, lines)
