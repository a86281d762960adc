"""Sizes from the shapes of the arrays passed."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.algebra import Expr, Sym, evaluate, substitute, symbols, zero_divisor
from tilegen.lang.spec import Kernel, Role
from tilegen.numpy_types import Array
from tilegen.reference.errors import SizeError


def infer_sizes(
    kernel: Kernel, shapes: Mapping[str, tuple[int, ...]], given: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Every size of `kernel`, in declaration order, from array shapes and sizes given by name.

    An extent determines a size where it is linear in one that is not known yet (`M`, `2*M + 1`, `S*N` once `S` is
    known). A size with a default that nothing determines has its default. Raises SizeError on contradictions, sizes
    left open and negative sizes.
    """
    given = given or {}
    names = {s.name for s in kernel.sizes}
    for name, value in given.items():
        if name not in names:
            raise SizeError(
                f"kernel {kernel.name} has no size {name}; it has {', '.join(sorted(names)) or 'none'}"
            )
        if value < 0:
            raise SizeError(f"size {name} is {value}; sizes are not negative")
    known = dict(given)
    defaults = {s.name: s.default for s in kernel.sizes if s.default is not None}
    origin = {name: "given" for name in given}
    extents = _extents(kernel, shapes)
    # Defaults settle what the arrays leave open, so they come last; one may open the way for another extent.
    while _solve_some(extents, known, origin) or _take_default(defaults, known, origin):
        pass
    for where, extent, length in extents:
        _check(where, extent, length, known, origin)
    missing = [s.name for s in kernel.sizes if s.name not in known]
    if missing:
        raise SizeError(f"no array determines size {missing[0]}; pass it by name")
    _check_bindings(kernel, known)
    return {s.name: known[s.name] for s in kernel.sizes}


def _check_bindings(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    for left, right in kernel.bindings:
        if zero_divisor(left, sizes) or zero_divisor(right, sizes):
            raise SizeError(f"an axis of two extents, {left} and {right}, divides by 0")
        a, b = evaluate(left, sizes), evaluate(right, sizes)
        if a != b:
            raise SizeError(f"one axis has two extents: {left} is {a} and {right} is {b}")


def _extents(kernel: Kernel, shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[str, Expr, int]]:
    """(place, extent, length) for each axis of each array passed, in the order of the tensors."""
    found: list[tuple[str, Expr, int]] = []
    for name in shapes:
        if all(t.name != name for t in kernel.tensors):
            raise SizeError(f"kernel {kernel.name} has no tensor {name}")
    for tensor in kernel.tensors:
        if tensor.name not in shapes:
            continue
        shape = tuple(shapes[tensor.name])
        if len(shape) != tensor.rank:
            raise SizeError(f"{tensor.name} has rank {tensor.rank}, the array passed has shape {shape}")
        for axis, (extent, length) in enumerate(zip(tensor.extents, shape, strict=True)):
            found.append((f"axis {axis} of {tensor.name}", extent, int(length)))
    return found


def _solve_some(extents: list[tuple[str, Expr, int]], known: dict[str, int], origin: dict[str, str]) -> bool:
    for where, extent, length in extents:
        _require_defined(where, extent, known, origin)
        reduced = substitute(extent, known)
        unknown = symbols(reduced)
        if len(unknown) != 1:
            continue
        (name,) = unknown
        linear = _linear(reduced, name)
        if linear is None:
            continue
        factor, rest = linear
        value, remainder = divmod(length - rest, factor)
        if remainder:
            raise SizeError(
                f"{where} is {length}, but its extent is {extent}, which no integer {name} gives"
                + _because(extent, known, origin)
            )
        if value < 0:
            raise SizeError(f"{where} is {length}: with the extent {extent}, {name} would be {value}")
        known[name] = value
        origin[name] = f"from {where}"
        return True
    return False


def _require_defined(where: str, extent: Expr, known: Mapping[str, int], origin: Mapping[str, str]) -> None:
    if zero_divisor(extent, known) is not None:
        raise SizeError(f"the extent {extent} of {where} divides by 0" + _because(extent, known, origin))


def _linear(value: Expr, name: str) -> tuple[int, int] | None:
    """`(c, b)` if the value is `c * name + b` with c not 0."""
    factor = rest = 0
    for monomial, coefficient in value.terms:
        if not monomial:
            rest = coefficient
        elif monomial == (Sym(name),):
            factor = coefficient
        else:
            return None
    return (factor, rest) if factor else None


def _take_default(defaults: dict[str, int], known: dict[str, int], origin: dict[str, str]) -> bool:
    for name, value in defaults.items():
        if name not in known:
            known[name] = value
            origin[name] = "its default"
            return True
    return False


def _check(where: str, extent: Expr, length: int, known: dict[str, int], origin: dict[str, str]) -> None:
    if not symbols(extent) <= known.keys():
        return
    expected = evaluate(extent, known)
    if expected != length:
        text = f"{extent} = {expected}" if extent.constant is None else f"{expected}"
        raise SizeError(f"{where} is {length}, but its extent is {text}" + _because(extent, known, origin))


def _because(extent: Expr, known: Mapping[str, int], origin: Mapping[str, str]) -> str:
    facts = [f"{n} = {known[n]} ({origin[n]})" for n in sorted(symbols(extent)) if n in known]
    return ", with " + ", ".join(facts) if facts else ""


def check_arrays(kernel: Kernel, sizes: Mapping[str, int], arrays: Mapping[str, Array]) -> None:
    """Raise SizeError unless all sizes are there and every array needed has the tensor's extents."""
    for size in kernel.sizes:
        if size.name not in sizes:
            raise SizeError(f"size {size.name} is not given")
        if sizes[size.name] < 0:
            raise SizeError(f"size {size.name} is {sizes[size.name]}; sizes are not negative")
    _check_bindings(kernel, sizes)
    for tensor in kernel.tensors:
        shape = tuple(int(evaluate(e, sizes)) for e in tensor.extents)
        if any(n < 0 for n in shape):
            raise SizeError(f"{tensor.name} would have the shape {shape}; extents are not negative")
        if tensor.name not in arrays:
            if tensor.role is not Role.OUT:
                raise SizeError(f"no array for {tensor.name}")
            continue
        if arrays[tensor.name].shape != shape:
            raise SizeError(
                f"{tensor.name} has the extents {shape}, the array passed has shape {arrays[tensor.name].shape}"
            )
