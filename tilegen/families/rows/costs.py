"""What a row costs the threads that walk it: instructions per element and per thread, and registers.

Rough figures for choosing among schedules, counted from the values of the nest. The weights are estimates of what a
call takes in machine code, not measurements: they decide between neighbours only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilegen.core.nest.combine import accumulator_bytes
from tilegen.core.nest.model import Nest
from tilegen.core.nest.reductions import reductions_of
from tilegen.dtypes import DType
from tilegen.families.rows.axes import Rows
from tilegen.families.rows.passes import Pass, differs, is_of_the_row, loaded_ahead, passes
from tilegen.lang.spec import Binary, BinaryOp, Call, Cast, Reduce, Value, children

_CALLS = {
    "exp": 8, "exp2": 3, "log": 10, "gelu": 24, "gelu_tanh": 20, "sigmoid": 16, "silu": 16, "tanh": 16, "erf": 20,
    "erfc": 50, "sqrt": 8, "rsqrt": 4, "sin": 25, "cos": 25,
}  # fmt: skip
_CALL = 12
_DIVISION = 9
_POWER = 40
# A combination over the warps of a block: two butterflies, shared memory and a barrier between them.
_COMBINATION = 60
# Addresses, limits and loop counters.
_BASE_REGISTERS = 14


@dataclass(frozen=True, slots=True)
class RowCosts:
    """`per_element`: instructions for one element of a row, all walks together; `per_thread`: those of a thread however
    many elements it has. `bytes`: of global memory per element, what every row reads for itself and what it writes.
    `stays`: per walk, types of what is in registers for every element of the thread, before and after it, and of
    what is loaded for one item only. `temporaries`: registers of the costliest function."""

    per_element: int
    per_thread: int
    bytes: int
    stays: tuple[tuple[tuple[DType, ...], tuple[DType, ...], tuple[DType, ...]], ...]
    temporaries: int

    def registers(self, width: int, items: int) -> int:
        """Registers of a thread that keeps `items` vectors of `width` elements of its row."""
        most = max(
            max(_words(before, width), _words(after, width)) * items + _words(inline, width)
            for before, after, inline in self.stays
        )
        return most + _BASE_REGISTERS + self.temporaries


def row_costs(nest: Nest) -> RowCosts:
    steps = passes(nest, True)
    reads = {r for s in steps for r in s.reads if differs(nest, r) or not nest.parallel}
    stores = [s for step in steps for s in step.stores]
    moved = sum(r.dtype.size for r in reads) + sum(s.value.dtype.size for s in stores)
    return RowCosts(
        per_element=sum(_of_walk(nest, step) for step in steps),
        per_thread=_COMBINATION * sum(len(s.reductions) for s in steps) + 30,
        bytes=max(1, moved),
        stays=_stays(nest, steps),
        temporaries=max([_temporaries(nest, r) for s in steps for r in s.roots], default=0),
    )


def _of_walk(nest: Nest, step: Pass) -> int:
    seen: set[Value] = set(step.known)
    own = sum(_instructions(nest, root, seen) for root in step.roots)
    return len(step.reductions) + len(step.stores) + own


def _instructions(nest: Nest, value: Value, seen: set[Value]) -> int:
    if value in seen or is_of_the_row(nest, value):
        return 0
    seen.add(value)
    below = sum(_instructions(nest, child, seen) for child in children(value))
    match value:
        case Call():
            return below + _CALLS.get(value.function, _CALL)
        case Binary(op=BinaryOp.DIVIDE):
            return below + (2 if isinstance(value.right, Reduce) else _DIVISION)
        case Binary(op=BinaryOp.POWER):
            return below + (1 if getattr(value.right, "value", None) == 2 else _POWER)
        case Binary() | Cast():
            return below + 1
        case _:
            return below


def _stays(
    nest: Nest, steps: tuple[Pass, ...]
) -> tuple[tuple[tuple[DType, ...], tuple[DType, ...], tuple[DType, ...]], ...]:
    found = []
    there: set[Value] = set()
    for number, step in enumerate(steps):
        fetched = {r for r in step.reads if loaded_ahead(nest, step, r)}
        inline = [r for r in step.reads if r not in fetched]
        # What is computed here takes the place of what it is made of, element by element.
        before = {v for s in steps[number:] for v in s.known} & there
        there |= {*step.keep, *step.reads}
        after = {v for s in steps[number + 1 :] for v in s.known} & there
        found.append((_types(before | fetched), _types(after), _types(inline)))
    return tuple(found)


def _types(values: Iterable[Value]) -> tuple[DType, ...]:
    return tuple(v.dtype for v in values)


def _temporaries(nest: Nest, value: Value) -> int:
    """Registers of the costliest function in a value."""
    own = 8 if isinstance(value, Call) and _CALLS.get(value.function, _CALL) >= 20 else 0
    if is_of_the_row(nest, value):
        return 0
    return max([own, *(_temporaries(nest, child) for child in children(value))])


def _words(dtypes: Iterable[DType], width: int) -> int:
    return sum(-(-d.size * width // 4) for d in dtypes)


def shared_bytes(nest: Nest, rows: Rows, width: int) -> int:
    """Shared memory of a block: where neighbouring threads have neighbouring rows, an accumulator per thread, row and
    reduction; else one per warp, which is next to nothing."""
    if not rows.across or rows.along == 1:
        return 0
    found = reductions_of(s.value for s in nest.stores)
    each = sum(accumulator_bytes(r) for r in found)
    return rows.along * rows.beside * width * each
