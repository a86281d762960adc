"""The rows of the speed table as data: a spec, sizes, and what torch calls the same work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class Row:
    """`goal`: share of an equal-size copy; None where none was set. `torch`: an expression of the inputs by name.

    `graph`: timed by graph replay (work under 50 µs)."""

    name: str
    spec: str
    sizes: dict[str, int]
    torch: str
    goal: float | None = None
    graph: bool = False
    dtype: str = "f32"
    members: int = 1

    @property
    def elements(self) -> int:
        return prod(self.sizes.values()) * self.members

    @property
    def element_size(self) -> int:
        return {"i8": 1, "u8": 1, "f16": 2, "f64": 8}.get(self.dtype, 4)

    @property
    def bytes(self) -> int:
        """What the work must move: each element read once and written once."""
        return 2 * self.elements * self.element_size

    def named(self, words: Sequence[str]) -> bool:
        """Whether one of the words is part of the name; none means every row."""
        return not words or any(w in self.name for w in words)


def _transpose(dtype: str) -> str:
    return f"kernel transpose(M, N) {{ in a: {dtype}[M, N]; out b: {dtype}[N, M]; b[j, i] = a[i, j] }}"


def _permute(dtype: str, rank: int, order: tuple[int, ...]) -> str:
    axes = "abcdefgh"[:rank]
    sizes = [x.upper() for x in axes]
    out = [axes[k] for k in order]
    return (
        f"kernel permute({', '.join(sizes)}) {{ in x: {dtype}[{', '.join(sizes)}]; "
        f"out y: {dtype}[{', '.join(x.upper() for x in out)}]; y[{', '.join(out)}] = x[{', '.join(axes)}] }}"
    )


def permute(
    name: str,
    dtype: str,
    shape: tuple[int, ...],
    order: tuple[int, ...],
    goal: float | None,
    graph: bool = False,
) -> Row:
    sizes = {"ABCDEFGH"[n]: s for n, s in enumerate(shape)}
    return Row(name, _permute(dtype, len(shape), order), sizes, f"x.permute({order})", goal, graph, dtype)


def transpose(name: str, dtype: str, rows: int, columns: int, goal: float | None, graph: bool = False) -> Row:
    sizes = {"M": rows, "N": columns}
    return Row(name, _transpose(dtype), sizes, "a.t()", goal, graph, dtype)


def split(count: int, goal: float) -> Row:
    name = f"AoS → SoA {count} x f32 2^27"
    return Row(name, _fields(count), {"P": 2**27}, "p.t()", goal, members=count)


def _fields(count: int) -> str:
    members = ", ".join(f"{'xyzuvwst'[n]}: f32" for n in range(count))
    return f"kernel split(P) {{ in p: struct {{ {members} }}[P]; out q: struct {{ {members} }}[P] soa; q[i] = p[i] }}"


ROWS = (
    Row("copy f32 2^29", "kernel copy(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }", {"N": 2**29}, "x"),
    Row(
        "copy u8 2^31+17",
        "kernel copy(N) { in x: u8[N]; out y: u8[N]; y[i] = x[i] }",
        {"N": 2**31 + 17},
        "x",
        dtype="u8",
    ),
    transpose("transpose f32 16384²", "f32", 16384, 16384, 0.97),
    transpose("transpose f16 16384²", "f16", 16384, 16384, 0.97),
    transpose("transpose i8 32768²", "i8", 32768, 32768, 0.95),
    transpose("transpose f64 8192²", "f64", 8192, 8192, 0.97),
    transpose("transpose f32 12345 x 6789", "f32", 12345, 6789, 0.90),
    transpose("transpose f32 8191 x 8193", "f32", 8191, 8193, 0.88),
    permute("permute f32 64x256x128x128 (0,2,3,1)", "f32", (64, 256, 128, 128), (0, 2, 3, 1), 0.97),
    permute("permute f32 64x3x1024x1024 (0,2,3,1)", "f32", (64, 3, 1024, 1024), (0, 2, 3, 1), 0.95),
    permute("permute u8 64x1024x1024x3 (0,3,1,2)", "u8", (64, 1024, 1024, 3), (0, 3, 1, 2), 0.92),
    permute("permute f32 512x512x1024 (2,1,0)", "f32", (512, 512, 1024), (2, 1, 0), 0.97),
    permute("permute f32 512x512x1024 (1,0,2)", "f32", (512, 512, 1024), (1, 0, 2), 0.98),
    permute("permute f16 512x512x1024 (0,2,1)", "f16", (512, 512, 1024), (0, 2, 1), 0.97),
    permute("permute f32 32x33x31x65x65 (4,2,0,3,1)", "f32", (32, 33, 31, 65, 65), (4, 2, 0, 3, 1), 0.85),
    permute("batch of 100000 17x9 matrices f32", "f32", (100000, 17, 9), (0, 2, 1), 0.80, True),
    permute("permute f32 65536x2x3 x64 (0,1,3,2)", "f32", (64, 65536, 2, 3), (0, 1, 3, 2), 0.80, True),
    permute("permute f32 4097x33 x512 (0,2,1)", "f32", (512, 4097, 33), (0, 2, 1), None),
    permute(
        "permute f32 7x11x13x17x19x23 (5,3,1,0,2,4)",
        "f32",
        (7, 11, 13, 17, 19, 23),
        (5, 3, 1, 0, 2, 4),
        None,
        True,
    ),
    transpose("transpose f32 1024²", "f32", 1024, 1024, 0.90, graph=True),
    split(6, 0.97),
    split(3, 0.92),
    split(5, 0.92),
    split(7, 0.92),
)
