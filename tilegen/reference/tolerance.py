"""How far a device's result may be from the oracle's: error analysis run beside the evaluation, and the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilegen.dtypes import F8E4M3, F8E5M2, DType, ElementType, Kind, Struct
from tilegen.lang.spec import Kernel
from tilegen.numpy_types import Array
from tilegen.reference.evaluate import PythonNumber, evaluate_with_errors, serial
from tilegen.reference.number import format_of, round_to, spacing
from tilegen.reference.reductions import Depth


@dataclass(frozen=True, slots=True)
class Expected:
    """What a device should return: `value` as `evaluate` gives it, and `tolerance` per element (float64).

    Tolerance 0: equal to the bit (NaN like NaN for arithmetic). Infinite: not specified, anything goes. `written`:
    which elements the kernel assigns; the others keep their bytes. `moved`: whether nothing but movement makes it (for
    a struct: the names of such members). Struct tensors have structured arrays.
    """

    value: Array
    tolerance: Array
    written: Array
    moved: bool | frozenset[str]


def tree(run: int = 1) -> Depth:
    """Roundings per term where threads add runs of `run` terms in turn and then combine in a tree."""

    def depth(count: Array) -> Array:
        parts = np.maximum(-(-count // run), 1)
        result: Array = np.minimum(count, run) - 1 + np.ceil(np.log2(parts))
        return result

    return depth


def expected(
    kernel: Kernel,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, PythonNumber] | None = None,
    *,
    depth: Depth = serial,
    rtol: float | None = None,
    atol: float | None = None,
) -> dict[str, Expected]:
    """Values and tolerances of every output.

    The bound holds for any kernel that does each operation of the spec once, in the type the language says, with
    `depth(n)` additions per term of a sum (by default n − 1, the worst of any order). `rtol` and `atol`, if either is
    given, replace it: rtol · |value| + atol for floats that are computed.
    """
    results = {}
    for name, output in evaluate_with_errors(kernel, sizes, arrays, scalars, depth=depth).items():
        element = kernel.tensor(name).element
        if isinstance(element, DType):
            tolerance = _rounded(output.value, output.error, element, rtol, atol)
        else:
            tolerance = np.zeros_like(output.error)
            for f in element.fields:
                tolerance[f.name] = _rounded(output.value[f.name], output.error[f.name], f.dtype, rtol, atol)
        results[name] = Expected(output.value, tolerance, output.written, output.moved)
    return results


def tolerance(
    kernel: Kernel,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, PythonNumber] | None = None,
    *,
    depth: Depth = serial,
) -> dict[str, Array]:
    """Absolute tolerance per element of every output."""
    return {n: e.tolerance for n, e in expected(kernel, sizes, arrays, scalars, depth=depth).items()}


def _rounded(value: Array, error: Array, dtype: DType, rtol: float | None, atol: float | None) -> Array:
    """Add the rounding of the store: exactly that one where the value before it is exact, else half an ulp."""
    computed = dtype.kind in (Kind.FLOAT, Kind.COMPLEX) and value.dtype in (np.float64, np.complex128)
    if not computed:
        return error
    if rtol is not None or atol is not None:
        size = np.where(np.isfinite(value), np.abs(value), 0.0)
        return np.asarray((rtol or 0.0) * size + (atol or 0.0))
    with np.errstate(all="ignore"):
        if format_of(dtype).precision == 53:
            return error
        stored = round_to(value, dtype)
        # The distance between two float64 numbers may itself round.
        once = np.where(np.isfinite(stored), np.abs(stored - value) * (1 + 2.0**-52), 0.0)
        parts = 2.0 if dtype.kind is Kind.COMPLEX else 1.0
        size = np.where(np.isfinite(value), np.abs(value), 0.0) + np.where(np.isfinite(error), error, 0.0)
        half = 0.5 * parts * spacing(size, dtype)
        total = np.where(error == 0, once, error + half)
        # On the verge of overflow infinity and the largest number are both right.
        form = format_of(dtype)
        top = np.abs(value) + error
        verge = (np.abs(value) - error < form.overflow) & (top >= form.overflow)
        total = np.where(verge & np.isfinite(value), np.inf, total)
        if dtype in (F8E4M3, F8E5M2):
            # The language does not say whether a store beyond f8 saturates, as PTX `cvt.satfinite` does.
            total = np.where(top > form.largest, np.inf, total)
        return total


def agrees(actual: Array, wanted: Expected, element: ElementType) -> Array:
    """Which elements of a device's result are within tolerance, as a bool array; a struct is where all members are.

    Pure movement compares bytes, except that any non-zero bool is true.
    """
    if isinstance(element, Struct):
        assert isinstance(wanted.moved, frozenset)
        result = np.ones(actual.shape, np.bool_)
        for f in element.fields:
            member = Expected(
                wanted.value[f.name], wanted.tolerance[f.name], wanted.written[f.name], f.name in wanted.moved
            )
            result &= agrees(actual[f.name], member, f.dtype)
        return result
    value = wanted.value
    if element.kind is Kind.BOOL:
        same = (actual.view(np.uint8) != 0) == (value.view(np.uint8) != 0)
        return np.asarray(same | (wanted.tolerance > 0))
    if wanted.moved:
        return _same_bytes(actual, value)
    with np.errstate(all="ignore"):
        if element.is_integer:
            near = np.abs(actual.astype(np.float64) - value.astype(np.float64)) <= wanted.tolerance
            return np.asarray((actual == value) | (near & (wanted.tolerance > 0)))
        wide = actual.astype(np.complex128 if element.kind is Kind.COMPLEX else np.float64)
        return _near(wide, value, wanted.tolerance, round_to(value, element))


def _same_bytes(a: Array, b: Array) -> Array:
    size = a.dtype.itemsize
    left = np.ascontiguousarray(a).view(np.uint8).reshape(*a.shape, size)
    right = np.ascontiguousarray(b).view(np.uint8).reshape(*b.shape, size)
    return np.asarray((left == right).all(axis=-1))


def _near(actual: Array, value: Array, tolerance: Array, stored: Array) -> Array:
    """Within tolerance; NaN agrees with NaN, infinity with the same infinity or with what rounds to it."""
    same = (actual == value) | (np.isnan(actual) & np.isnan(value))
    same = same | (actual == stored) | (np.isnan(actual) & np.isnan(stored))
    return np.asarray(same | (np.abs(actual - value) <= tolerance) | np.isinf(tolerance))
