"""Questions about an address as a linear function of axes: strides, order of axes in memory, vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cmp_to_key, lru_cache
from math import prod

from tilegen.algebra import (
    ONE,
    ZERO,
    Atom,
    Expr,
    Range,
    exact_quotient,
    linear_parts,
    simplify,
    substitute,
    sym,
    symbols,
)
from tilegen.core.nest.model import Access, Nest
from tilegen.dtypes import Struct
from tilegen.lang.spec import IndexValue, Read, Value, walk


def coefficient(access: Access, axis: str) -> Expr | None:
    """Elements between neighbours along `axis`; None where the address is not linear in it."""
    return _coefficient(access.address, axis)


@lru_cache(maxsize=4096)
def _coefficient(address: Expr, axis: str) -> Expr | None:
    """Asked again and again, by every stage that looks at how an access moves."""
    parts = linear_parts(address, [axis])
    return None if parts is None else parts[0].get(axis, ZERO)


def contiguous_axis(nest: Nest, access: Access) -> str | None:
    """The axis along which neighbours lie next to each other in memory, if there is one."""
    return next((a.name for a in nest.axes if _stride(nest, access, a.name) == ONE), None)


def _stride(nest: Nest, access: Access, axis: str) -> Expr:
    """Elements between neighbours, also where that holds only inside aligned pairs (blocked layouts)."""
    step = coefficient(access, axis)
    if step is not None:
        return step
    pair = step_of(nest, access, axis, 2)
    return ONE if pair is not None and pair.step == 1 else sym("@unknown")


def memory_order(nest: Nest, access: Access) -> tuple[str, ...]:
    """Axes that move the address, fastest in memory first; of equal strides the later axis is the faster."""
    strides = [(a.name, _stride(nest, access, a.name), -n) for n, a in enumerate(nest.axes)]

    def compare(a: tuple[str, Expr, int], b: tuple[str, Expr, int]) -> int:
        return _compare_strides(a[1], b[1]) or a[2] - b[2]

    return tuple(name for name, _, _ in sorted((s for s in strides if s[1].terms), key=cmp_to_key(compare)))


def _compare_strides(a: Expr, b: Expr) -> int:
    x, y = a.constant, b.constant
    if x is not None and y is not None:
        return abs(x) - abs(y)
    if x is not None or y is not None:
        return -1 if x is not None else 1
    if a == b or a == -b:
        return 0
    if len(a.terms) == 1 and exact_quotient(b, a) is not None:
        return -1
    if len(b.terms) == 1 and exact_quotient(a, b) is not None:
        return 1
    return _degree(a) - _degree(b)


def _degree(value: Expr) -> int:
    return max((len(m) for m, _ in value.terms), default=0)


@dataclass(frozen=True, slots=True)
class Step:
    """How an address moves over `width` neighbours along an axis, starting at a multiple of `width`.

    `step`: elements per neighbour: 1 (a vector access) or 0 (one element for all). `divisible`: expressions over sizes
    and strides that must be multiples of `width` for the first address to be one.
    """

    step: int
    divisible: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """`width` neighbours along `axes`, (axis, points) from the fastest on.

    More than one axis where the first ones are short and walked whole: then the run goes through all points of the
    first, the next point of the second, and so on, as memory does.
    """

    axes: tuple[tuple[str, int], ...]
    width: int

    @property
    def fast(self) -> str:
        return self.axes[0][0]

    @property
    def single(self) -> bool:
        return len(self.axes) == 1

    @property
    def points(self) -> int:
        return prod(n for _, n in self.axes)

    def coordinates(self, position: Expr) -> dict[str, Expr]:
        """The coordinate of each axis at a position along the run; that of the last one may pass its points."""
        found: dict[str, Expr] = {}
        for axis, points in self.axes[:-1]:
            found[axis], position = position % points, position // points
        return found | {self.axes[-1][0]: position}


def shortest_run(order: Sequence[tuple[str, int]], whole: Collection[str], width: int) -> Run:
    """The shortest run along `order` ((axis, points of the tile), fastest first) that holds whole items of `width`; it
    goes on to the next axis only after one of which the tile has all (`whole`). It may hold none: check `points`."""
    run = Run(tuple(order[:1]), width)
    while run.points % width and run.axes[-1][0] in whole and len(run.axes) < len(order):
        run = Run(tuple(order[: len(run.axes) + 1]), width)
    return run


def step_of(nest: Nest, access: Access, axis: str, width: int) -> Step | None:
    """The step of `access` over `width` neighbours along `axis`; None where no vector access is possible."""
    return step_along(nest, access, Run(((axis, width),), width))


def neighbours(nest: Nest, access: Access, axis: str, width: int, address: Expr | None = None) -> Step | None:
    """The step of `width` neighbours along `axis` that are one access of memory; None where they cannot be."""
    if access.checked or isinstance(nest.pointer(access.pointer).dtype, Struct):
        return None
    step = step_along(nest, access, Run(((axis, width),), width), address)
    return step if step is not None and step.step == 1 else None


def step_along(nest: Nest, access: Access, run: Run, address: Expr | None = None) -> Step | None:
    """The step of `access` (or of an `address` made from it) over one item of `run`, which starts at a multiple of the
    width; None where no vector access is possible."""
    width = run.width
    if any(depends_on(c.index, axis) for c in access.checked for axis, _ in run.axes):
        return None
    at = run.coordinates(sym("@vector") * width + sym("@lane"))
    if not run.single:
        last, points = run.axes[-1]
        at[last] = at[last] + sym("@tile") * points
    moved = simplify(
        substitute(access.address if address is None else address, at), {"@lane": Range(0, width - 1)}
    )
    parts = linear_parts(moved, ["@lane"])
    if parts is None:
        return None
    step = parts[0].get("@lane", ZERO)
    if step == ZERO:
        return Step(0, ())
    if step != ONE:
        return None
    moving = frozenset(a.name for a in nest.axes)
    grouped: dict[tuple[str, ...], Expr] = {}
    for monomial, factor in parts[1].terms:
        varying = tuple(str(a) for a in monomial if _varies(a, moving))
        fixed = tuple(a for a in monomial if not _varies(a, moving))
        grouped[varying] = grouped.get(varying, ZERO) + Expr(((fixed, factor),))
    divisible: dict[Expr, None] = {}
    for value in grouped.values():
        rest = Expr(tuple((m, c) for m, c in value.terms if c % width))
        if rest.constant is not None and rest.terms:
            return None
        if rest.terms:
            divisible[rest] = None
    return Step(1, tuple(divisible))


def _varies(atom: Atom, moving: frozenset[str]) -> bool:
    """Whether the atom changes from point to point (an axis, a checked index) rather than being a size or stride."""
    return any(name in moving or name.startswith("@") for name in symbols(Expr((((atom,), 1),))))


def depends_on(index: Expr | Value, axis: str) -> bool:
    """Whether an index, also a data-dependent one, changes along `axis`."""
    if isinstance(index, Expr):
        return axis in symbols(index)
    for node in walk(index):
        if isinstance(node, IndexValue) and axis in symbols(node.index):
            return True
        if isinstance(node, Read) and any(isinstance(i, Expr) and axis in symbols(i) for i in node.indices):
            return True
    return False
