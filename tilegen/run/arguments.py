"""Rules for the arrays of a call, a function each. All raise ArgumentError and name the argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilegen.dtypes import ElementType, Struct
from tilegen.errors import ArgumentError, ArgumentTypeError
from tilegen.run.arrays import ArrayView, overlaps


def check_element(name: str, array: ArrayView, expected: ElementType) -> None:
    """The elements are of type `expected`."""
    if array.element == expected:
        return
    held, taken = str(array.element), str(expected)
    if held == taken and isinstance(array.element, Struct) and isinstance(expected, Struct):
        held, taken = f"{held} with its fields {_places(array.element)}", f"them {_places(expected)}"
    raise ArgumentTypeError(f"argument '{name}' holds {held}; the kernel takes {taken}")


def _places(element: Struct) -> str:
    offsets = ", ".join(str(f.offset) for f in element.fields)
    return f"at the bytes {offsets} of {element.size}"


def check_rank(name: str, array: ArrayView, expected: int) -> None:
    """The array has `expected` axes."""
    if array.rank != expected:
        shown = f"{array.rank} axes, shape {array.shape}"
        raise ArgumentError(f"argument '{name}' has {shown}; the kernel takes {expected}")


def check_shape(name: str, array: ArrayView, expected: Sequence[int | None]) -> None:
    """Every axis has its expected extent; None takes any."""
    check_rank(name, array, len(expected))
    for axis, (extent, wanted) in enumerate(zip(array.shape, expected, strict=True)):
        if wanted is not None and extent != wanted:
            raise ArgumentError(
                f"argument '{name}' has shape {array.shape}; axis {axis} must have extent {wanted}"
            )


def check_strides(name: str, array: ArrayView, expected: Sequence[int | None]) -> None:
    """Every axis has its expected stride in bytes; None takes any.

    An axis of extent 1 and an empty array have no stride that matters: libraries put anything there (report A5).
    """
    if array.size == 0:
        return
    for axis, (extent, stride, wanted) in enumerate(zip(array.shape, array.strides, expected, strict=True)):
        if extent > 1 and wanted is not None and stride != wanted:
            raise ArgumentError(
                f"argument '{name}' has strides {array.strides} in bytes; axis {axis} must have {wanted}: "
                "pass a contiguous copy"
            )


def check_element_strides(name: str, array: ArrayView) -> None:
    """Strides and address are whole elements, as typed loads need. Columns of packed records are not."""
    if array.size == 0:
        return
    align = array.element.align
    if array.pointer % align:
        raise ArgumentError(f"argument '{name}' starts at an address that is not a multiple of {align} bytes")
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        if extent > 1 and stride % array.itemsize:
            raise ArgumentError(
                f"argument '{name}': stride {stride} of axis {axis} is not a multiple of the element's "
                f"{array.itemsize} bytes: pass a contiguous copy"
            )


def check_writable(name: str, array: ArrayView) -> None:
    """The kernel may write to the array, and no two of its elements share memory."""
    if array.readonly:
        raise ArgumentError(f"argument '{name}' is written by the kernel, but the array is read-only")
    if array.size and any(
        extent > 1 and stride == 0 for extent, stride in zip(array.shape, array.strides, strict=True)
    ):
        raise ArgumentError(
            f"argument '{name}' is written by the kernel, but is broadcast: elements share memory"
        )


def check_one_device(arrays: Mapping[str, ArrayView]) -> None:
    """All arrays are in the same memory."""
    first = next(iter(arrays.items()), None)
    for name, array in arrays.items():
        if first is not None and array.device != first[1].device:
            raise ArgumentError(
                f"argument '{name}' is on {array.place}, but '{first[0]}' is on {first[1].place}; move one of them"
            )


def check_no_overlap(written: Mapping[str, ArrayView], others: Mapping[str, ArrayView]) -> None:
    """No array that is written shares memory with another one; one passed under its own name twice does not count."""
    for name, array in written.items():
        for other_name, other in {**others, **written}.items():
            if other_name != name and overlaps(array, other):
                raise ArgumentError(
                    f"argument '{name}' is written by the kernel, but overlaps '{other_name}'"
                )
