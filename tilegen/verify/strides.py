"""Ways to lay out tensors whose strides the caller chooses."""

from __future__ import annotations

from tilegen.lang.spec import Role, Tensor
from tilegen.program import Program
from tilegen.run.layout import dense_strides, layout

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
