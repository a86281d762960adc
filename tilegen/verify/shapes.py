"""Awkward sizes and layouts for a program: what its tiles and vectors make awkward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from tilegen.algebra import Expr, Sym, evaluate, substitute, symbols, zero_divisor
from tilegen.lang.check import call_problems
from tilegen.lang.spec import Bounds, Kernel, Role, Tensor
from tilegen.program import Program
from tilegen.run.layout import dense_strides, layout

Sizes = dict[str, int]
MOST_ELEMENTS = 40_000
MOST_SIZES = 12


def derived_sizes(
    program: Program, fixed: Mapping[str, int], scalars: Mapping[str, int]
) -> tuple[Sizes, ...]:
    """Run-time sizes worth trying, simplest first: 0, 1, around each tile, a prime, thin and wide.

    `fixed`: compile-time sizes; `scalars`: integer scalar parameters. Sizes that the kernel forbids are left out.
    """
    kernel = program.kernel
    names = [s.name for s in kernel.sizes if s.name not in fixed]
    if not names:
        return ({},)
    found: dict[tuple[int, ...], Sizes] = {}
    for wanted in _wanted(names, {n: _tile(program, n) for n in names}, program.schedule.bounds):
        bounded = _bounded(kernel, wanted, fixed)
        for sizes in _legal(kernel, bounded, fixed, scalars):
            found.setdefault(tuple(sizes.values()), sizes)
            break
    return tuple(list(found.values())[:MOST_SIZES])


def _tile(program: Program, name: str) -> int:
    """The largest tile of an axis whose extent this size decides alone; the whole block's where axes were merged."""
    tiles = [t for plan in program.plans for t in plan.tiles if name in symbols(t.extent)]
    alone = [t.tile for t in tiles if symbols(t.extent) == {name}]
    return max(alone, default=max((t.tile for t in tiles), default=1))


def _wanted(names: Sequence[str], tiles: Mapping[str, int], bounds: Bounds) -> Iterator[Sizes]:
    """In the order of what each is likely to show."""
    level = {n: _levels(t) for n, t in tiles.items()}
    if bounds is Bounds.EXACT:
        for k in (1, 2, 3):
            yield {n: tiles[n] * (k if position % 2 else 1) for position, n in enumerate(names)}
            yield {n: tiles[n] * (1 if position % 2 else k) for position, n in enumerate(names)}
    yield {n: level[n]["above"] if p % 2 == 0 else level[n]["below"] for p, n in enumerate(names)}
    yield {n: level[n]["whole"] * (1 + p % 2) for p, n in enumerate(names)}
    yield dict.fromkeys(names, 1)
    for zero in names[:3]:
        yield {n: 0 if n == zero else level[n]["above"] for n in names}
    for long in names[:4]:
        yield {n: level[n]["prime"] if n == long else 3 - p % 2 for p, n in enumerate(names)}
    yield {n: level[n]["prime"] for n in names}
    yield {n: level[n]["below"] if p % 2 == 0 else level[n]["above"] for p, n in enumerate(names)}
    for one in names[:2]:
        yield {n: 1 if n == one else level[n]["above"] for n in names}
    yield {n: level[n]["whole"] for n in names}
    yield dict.fromkeys(names, 4)
    yield {n: 4 * level[n]["prime"] if p == 0 else 12 for p, n in enumerate(names)}


def _levels(tile: int) -> dict[str, int]:
    whole = tile if tile > 1 else 8
    return {"below": whole - 1, "whole": whole, "above": whole + 1, "prime": _prime_from(2 * whole)}


def _prime_from(number: int) -> int:
    while any(number % d == 0 for d in range(2, int(number**0.5) + 1)):
        number += 1
    return number


def total_elements(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Elements of all tensors together. One whose extent divides by 0 has none: such sizes are refused anyway."""
    return sum(
        prod(0 if zero_divisor(e, sizes) else max(int(evaluate(e, sizes)), 0) for e in t.extents)
        for t in kernel.tensors
    )


def _bounded(kernel: Kernel, wanted: Sizes, fixed: Mapping[str, int]) -> Sizes:
    """Smaller where all tensors together would be too large to simulate: the largest size is halved, and kept odd."""
    sizes = dict(wanted)
    while total_elements(kernel, {**fixed, **sizes}) > MOST_ELEMENTS:
        largest = max(sizes, key=lambda n: (sizes[n], n))
        if sizes[largest] <= 2:
            break
        sizes[largest] = (sizes[largest] // 2) | (sizes[largest] & 1)
    return sizes


def _legal(
    kernel: Kernel, wanted: Sizes, fixed: Mapping[str, int], scalars: Mapping[str, int]
) -> Iterator[Sizes]:
    """`wanted`, or the nearest sizes that the kernel accepts."""
    for sizes in _attempts(kernel, wanted, fixed):
        if not call_problems(kernel, {**fixed, **sizes, **scalars}):
            yield sizes


def _attempts(kernel: Kernel, wanted: Sizes, fixed: Mapping[str, int]) -> Iterator[Sizes]:
    yield wanted
    bound = wanted
    for _ in range(2):
        bound = _satisfy_bindings(kernel, bound, fixed)
        yield bound
    for multiple in (2, 3, 4, 8, 16, 32):
        yield _satisfy_bindings(kernel, {n: -(-v // multiple) * multiple for n, v in wanted.items()}, fixed)
    for least in (2, 3, 5, 8):
        yield _satisfy_bindings(kernel, {n: max(v, least) for n, v in wanted.items()}, fixed)
    ordered = sorted(wanted.values())
    for values in (ordered, ordered[::-1]):
        yield dict(zip(wanted, values, strict=True))


def _satisfy_bindings(kernel: Kernel, wanted: Sizes, fixed: Mapping[str, int]) -> Sizes:
    """Sizes changed, one per equality, so that axes have one extent."""
    sizes = dict(wanted)
    for left, right in kernel.bindings:
        for target, other in ((right, left), (left, right)):
            known = {**fixed, **sizes}
            if zero_divisor(target, known) or zero_divisor(other, known):
                continue
            solved = _solve(target, evaluate(other, known), sizes, fixed)
            if solved is not None:
                sizes |= solved
                break
    return sizes


def _solve(target: Expr, value: int, sizes: Sizes, fixed: Mapping[str, int]) -> Sizes | None:
    for name in sizes:
        reduced = substitute(target, {**fixed, **{n: v for n, v in sizes.items() if n != name}})
        factor = rest = 0
        for monomial, coefficient in reduced.terms:
            if not monomial:
                rest = coefficient
            elif monomial == (Sym(name),):
                factor = coefficient
            else:
                factor = 0
                break
        if factor and (value - rest) % factor == 0 and (value - rest) // factor >= 0:
            return {name: (value - rest) // factor}
    return None


LAYOUTS = ("dense", "padded", "transposed", "negative", "broadcast")


def strides_for(program: Program, sizes: dict[str, int], way: str) -> dict[str, tuple[int, ...]]:
    """Strides in elements for every tensor with a `*` stride; those that the spec fixes are kept.

    `broadcast` gives inputs the stride 0 along their first free axis; outputs stay dense.
    """
    return {
        t.name: _strides(t, layout(t, sizes).extents, way)
        for t in program.kernel.tensors
        if any(s is None for s in t.strides)
    }


def _strides(tensor: Tensor, extents: tuple[int, ...], way: str) -> tuple[int, ...]:
    free = [axis for axis, stride in enumerate(tensor.strides) if stride is None]
    if len(free) < tensor.rank:
        return _around_fixed(tensor, extents, free, way)
    match way:
        case "padded":
            wide = [n + 3 if axis == tensor.rank - 1 else n + 1 for axis, n in enumerate(extents)]
            return dense_strides(wide)
        case "transposed":
            return dense_strides(extents, tuple(reversed(range(tensor.rank))))
        case "negative":
            return tuple(-s for s in dense_strides(extents))
        case "broadcast" if tensor.role is Role.IN:
            dense = list(dense_strides(extents))
            dense[free[0]] = 0
            return tuple(dense)
        case _:
            return dense_strides(extents)


def _around_fixed(tensor: Tensor, extents: tuple[int, ...], free: list[int], way: str) -> tuple[int, ...]:
    """Free axes beside fixed ones, such as `strides(*, 1)`: dense in the tensor's order, wider, backwards or 0."""
    strides = list(dense_strides(extents))
    for axis in free:
        match way:
            case "padded":
                strides[axis] += 3 * (len(free) - free.index(axis))
            case "negative":
                strides[axis] = -strides[axis]
            case "broadcast" if tensor.role is Role.IN and axis == free[0]:
                strides[axis] = 0
    return tuple(strides)
