"""Speed of generated histograms on this GPU, as a part of the rate at which a kernel can read.

    python benchmarks/histogram.py [--rows WORD]… [--variants] [--out histogram.json] [--samples 30]

A row is a spec and a way to fill its input; `--variants` adds schedules and changes of the text for bytes, to see what
each choice of docs/decisions/0016-histograms.md is worth. Counts are compared with CuPy's before anything is timed; a
wrong result has no time. A launch is timed whole: clearing its scratch memory, kernel, last block.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

try:
    import cupy
except ImportError as error:
    sys.exit(f"this needs a GPU and CuPy ({error}): install tilegen with its extra cuda13")
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.run.gpu import place_empty, prepare
from tilegen.target import target

TARGET = target("sm_" + cupy.cuda.Device(0).compute_capability)
READ = cupy.RawKernel(
    r"""extern "C" __global__ void __launch_bounds__(512)
read(const uint4* __restrict__ x, long long n, unsigned* out) {
    unsigned found = 0;
    const long long step = (long long)gridDim.x * 512 * 4;
    for (long long i = (long long)blockIdx.x * 512 * 4 + threadIdx.x; i < n; i += step) {
        uint4 v[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) v[k] = i + k * 512 < n ? x[i + k * 512] : uint4{0, 0, 0, 0};
        #pragma unroll
        for (int k = 0; k < 4; ++k) found |= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (found == 0x12345678u) *out = found;
}""",
    "read",
)


@dataclass(frozen=True)
class Row:
    """`fill` makes the inputs by name; `count` what `h` must be, None where only the sum is looked at."""

    name: str
    spec: str
    sizes: dict[str, int]
    fill: Callable[[dict[str, int]], dict[str, Any]]
    count: Callable[[dict[str, Any]], Any]
    schedule: str | None = None
    change: Callable[[str], str] | None = None


def uniform(low: int, high: int, kind: str, *shape: int) -> Any:
    if kind == "u1" and (low, high) == (0, 255):
        words = cupy.random.randint(
            -(2**31), 2**31 - 1, size=(-(-int(cupy.prod(cupy.array(shape))) // 4),), dtype="i4"
        )
        return words.view("u1")[: int(cupy.prod(cupy.array(shape)))].reshape(shape)
    return cupy.random.randint(low, high + 1, size=shape, dtype="i4").astype(kind)


def bins(x: Any, count: int) -> Any:
    """CuPy's counts of keys inside the bins, in pieces: it takes 64-bit keys."""
    total = cupy.zeros(count, "i8")
    flat = x.reshape(-1)
    for start in range(0, flat.size, 1 << 26):
        part = flat[start : start + (1 << 26)].astype("i8")
        total += cupy.bincount(part[(part >= 0) & (part < count)], minlength=count)[:count]
    return total


BYTES = "kernel hist(N) { in x: u8[N]; out h: i32[256]; h[b] = count[i](x[i] == b)%s }"
N = 1 << 30


def bytes_row(name: str, fill: Callable[[int], Any]) -> Row:
    return Row(
        f"u8 256 bins, {name}",
        BYTES % "",
        {"N": N},
        lambda s: {"x": fill(s["N"])},
        lambda a: bins(a["x"], 256),
    )


def keys_row(name: str, kind: str, numpy_kind: str, count: int, fill: Callable[[int], Any], n: int) -> Row:
    spec = f"kernel hist(N) {{ in x: {kind}[N]; out h: i32[{count}]; h[b] = count[i](x[i] == b) }}"
    return Row(
        f"{kind} {count} bins, {name}", spec, {"N": n}, lambda s: {"x": fill(s["N"]).astype(numpy_kind)},
        lambda a: bins(a["x"], count),
    )  # fmt: skip


def image(n: int) -> Any:
    """Runs of equal values, as pictures have them."""
    return cupy.repeat(uniform(0, 255, "u1", n // 64), 64)


ROWS = [
    bytes_row("uniform", lambda n: uniform(0, 255, "u1", n)),
    bytes_row("all equal", lambda n: cupy.full(n, 77, "u1")),
    bytes_row("two values", lambda n: uniform(0, 1, "u1", n)),
    bytes_row("runs of 64", image),
    bytes_row("ramp", lambda n: cupy.arange(n, dtype="i4").astype("u1")),
    Row(
        "u8 64 bins, x // 4", "kernel hist(N) { in x: u8[N]; out h: i32[64]; h[b] = count[i](x[i] // 4 == b) }",
        {"N": N}, lambda s: {"x": uniform(0, 255, "u1", s["N"])}, lambda a: bins(a["x"] // 4, 64),
    ),
    Row(
        "u8 100 of 256 values", "kernel hist(N) { in x: u8[N]; out h: i32[100]; h[b] = count[i](x[i] == b) }", {"N": N},
        lambda s: {"x": uniform(0, 255, "u1", s["N"])}, lambda a: bins(a["x"], 100),
    ),
    Row(
        "u8 x 3 channels", "kernel hist(P) { in x: u8[P, 3]; out h: i32[3, 256]; h[c, b] = count[i](x[i, c] == b) }",
        {"P": 1 << 28}, lambda s: {"x": uniform(0, 255, "u1", s["P"], 3)},
        lambda a: cupy.stack([bins(a["x"][:, c], 256) for c in range(3)]),
    ),
    Row(
        "u8 joint 16 x 16",
        "kernel hist(N) { in x, y: u8[N]; out h: i32[16, 16]; "
        "h[a, b] = count[i](x[i] // 16 == a and y[i] // 16 == b) }",
        {"N": N >> 1}, lambda s: {"x": uniform(0, 255, "u1", s["N"]), "y": uniform(0, 255, "u1", s["N"])},
        lambda a: bins((a["x"] // 16) * 16 + a["y"] // 16, 256).reshape(16, 16),
    ),
    Row(
        "u8 weighted i32",
        "kernel hist(N) { in x: u8[N]; in w: i32[N]; out h: i32[256]; h[b] = sum[i](where(x[i] == b, w[i], 0)) }",
        {"N": N >> 2}, lambda s: {"x": uniform(0, 255, "u1", s["N"]), "w": cupy.ones(s["N"], "i4")},
        lambda a: bins(a["x"], 256),
    ),
    Row(
        "u8 rows 65536 x 16384",
        "kernel hist(R, C) { in x: u8[R, C]; out h: i32[R, 256]; h[r, b] = count[j](x[r, j] == b) }",
        {"R": 65536, "C": 16384}, lambda s: {"x": uniform(0, 255, "u1", s["R"], s["C"])},
        lambda a: None,
    ),
    keys_row("uniform", "u16", "u2", 4096, lambda n: uniform(0, 4095, "i4", n), N >> 1),
    keys_row("uniform, in L2", "u16", "u2", 65536, lambda n: uniform(0, 65535, "i4", n), N >> 1),
    keys_row("uniform", "i32", "i4", 1000, lambda n: uniform(0, 999, "i4", n), N >> 2),
    keys_row("half outside", "i32", "i4", 1000, lambda n: uniform(-1000, 999, "i4", n), N >> 2),
    keys_row("all equal", "i32", "i4", 1000, lambda n: cupy.full(n, 7, "i4"), N >> 2),
    keys_row("uniform", "i64", "i8", 1000, lambda n: uniform(0, 999, "i4", n), N >> 3),
]  # fmt: skip


def equal_vectors(source: str) -> str:
    """Vectors of sixteen equal bytes are counted at once."""
    head, tail = source.split(
        "                #pragma unroll\n                for (int l = 0; l < 16; ++l) {", 1
    )
    test = (
        "                const unsigned w = x_in[k].lane[0];\n"
        "                if (w == x_in[k].lane[1] && w == x_in[k].lane[2] && w == x_in[k].lane[3] &&\n"
        "                    w == __byte_perm(w, 0, 0x0321)) {\n"
        "                    add_at(counts, byte_of(w, 0) * PITCH + mine, 16u);\n"
        "                    continue;\n"
        "                }\n"
    )
    return (
        head + test + "                #pragma unroll\n                for (int l = 0; l < 16; ++l) {" + tail
    )


def one_copy(source: str) -> str:
    """All lanes of a block share one copy of the bins."""
    return source.replace("COPIES = 32;", "COPIES = 1;").replace("PITCH = 128;", "PITCH = 4;")


def variants() -> list[Row]:
    found = []
    for row in ROWS[:2]:
        for threads, unroll, blocks in (
            (256, 4, 4), (512, 2, 2), (512, 8, 2), (512, 4, 3), (512, 4, 4), (1024, 2, 1), (1024, 4, 1), (1024, 2, 2),
        ):  # fmt: skip
            words = f"threads i = {threads}; vector 16; unroll i = {unroll}; min_blocks {blocks}"
            found.append(
                replace(
                    row, name=f"{row.name}: {words}", spec=BYTES % f"; schedule s {{ {words} }}", schedule="s"
                )
            )
        found.append(replace(row, name=f"{row.name}: equal vectors at once", change=equal_vectors))
        found.append(replace(row, name=f"{row.name}: one copy", change=one_copy))
    return found


def program_of(row: Row) -> Program:
    family = check(parse(source_from_text(row.spec))).kernels[0]
    schedule = next((s for s in family.schedules if s.name == row.schedule), None)
    return build(family.kernels[0], schedule, TARGET)


def timed(run: Callable[[], object], samples: int) -> float:
    for _ in range(5):
        run()
    times = []
    for _ in range(samples):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(float(cupy.cuda.get_elapsed_time(start, end)) * 1e-3)
    return median(times)


def measure(row: Row, samples: int) -> dict[str, Any]:
    program = program_of(row)
    arrays = row.fill(row.sizes)
    shape = [int(n) for n in _output_shape(program, row)]
    arrays["h"] = cupy.full(shape, 0x77777777, "i4")
    sizes = {**program.nest.constants, **row.sizes}
    source = None if row.change is None else row.change(program.source)
    assert source != program.source, "the change changes something"
    addresses = {name: int(array.data.ptr) for name, array in arrays.items()}
    prepared = prepare(program, place_empty(program, sizes, None), addresses, None, source)
    assert prepared is not None
    shape_, run = prepared
    run()
    cupy.cuda.get_current_stream().synchronize()
    wanted = row.count(arrays)
    if wanted is None:
        right = bool((arrays["h"].sum(axis=-1) == row.sizes["C"]).all())
    else:
        right = bool((arrays["h"].astype("i8") == wanted).all())
    moved = sum(a.nbytes for n, a in arrays.items() if n != "h")
    result = {"row": row.name, "right": right, "bytes": moved, "entry": shape_.entry, "blocks": shape_.blocks}
    if right:
        first = next(iter(arrays.values()))
        out = cupy.zeros(1, "u4")

        def read() -> None:
            READ((132 * 4,), (512,), (first, first.nbytes // 16, out))

        rate = first.nbytes / timed(read, samples)
        seconds = timed(run, samples)
        result |= {"us": seconds * 1e6, "TB/s": moved / seconds / 1e12, "read TB/s": rate / 1e12}
        result["of read"] = moved / seconds / rate
    return result


def _output_shape(program: Program, row: Row) -> list[Any]:
    from tilegen.algebra import evaluate

    (output,) = [t for t in program.kernel.tensors if t.name == "h"]
    return [evaluate(e, {**program.nest.constants, **row.sizes}) for e in output.extents]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", nargs="*", default=[], help="only rows with one of these words in their name"
    )
    parser.add_argument(
        "--variants", action="store_true", help="schedules and changes of the text for bytes, too"
    )
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = ROWS + (variants() if options.variants else [])
    results = []
    for row in rows:
        if options.rows and not any(word in row.name for word in options.rows):
            continue
        try:
            result = measure(row, options.samples)
        except Exception as error:  # one row must not cost the others their device time
            result = {"row": row.name, "right": False, "error": str(error)[:400]}
        results.append(result)
        if result["right"]:
            print(
                f"{result['of read']:6.3f} of read  {result['TB/s']:6.3f} TB/s  {result['us']:9.1f} us  {row.name}"
            )
        else:
            print(f" WRONG  {row.name}  {result.get('error', '')}")
        cupy.get_default_memory_pool().free_all_blocks()
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
