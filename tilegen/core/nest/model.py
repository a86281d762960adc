"""`Nest`: a kernel as axes, pointers and addresses. No tiles, threads or buffers here (that is the plan).

Every axis runs from 0 up to its extent. `axis_values` says what a name of the spec is in terms of the nest's axes, so
that values of the spec's trees can be computed after axes were shifted or merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tilegen.algebra import Expr
from tilegen.dtypes import DType, ElementType
from tilegen.lang.spec import Assign, Boundary, Kernel, Read, Reduce, Value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NestAxis:
    """An axis of the iteration space, `0 <= name < extent`; `extent` over sizes. `parts`: the axes that it is one of,
    slowest first, where it was merged."""

    name: str
    extent: Expr
    parts: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Its name in schedules: `i*j` for `i` and `j` as one."""
        return "*".join(self.parts) or self.name


@dataclass(frozen=True, slots=True)
class Pointer:
    """One pointer argument: a tensor, or one field of a tensor kept as structure of arrays.

    `dtype` is what it points to: the element, the member type of a struct whose members all have one type, or the
    whole struct where they do not.
    """

    name: str
    tensor: str
    field: str | None
    dtype: ElementType
    read: bool
    written: bool
    align: int | None


@dataclass(frozen=True, slots=True)
class CheckedIndex:
    """One dimension of a read whose index may leave the tensor, or depends on data.

    The access's address holds `symbol` in place of the index as the boundary mode maps it into `0 <= … < extent`.
    """

    symbol: str
    index: Expr | Value
    extent: Expr


@dataclass(frozen=True, slots=True)
class Access:
    """A place in memory for one point of the nest.

    `address`: elements of the pointee past the pointer, over nest axes, sizes, strides and the symbols of `checked`.
    `member`: the struct member where the pointee is a struct.
    """

    pointer: str
    address: Expr
    member: str | None
    checked: tuple[CheckedIndex, ...]
    boundary: Boundary | None
    boundary_value: int | float | complex | bool
    dtype: DType


@dataclass(frozen=True, slots=True)
class Store:
    """`access = value` at every point. `assign` is the statement of the spec it comes from."""

    access: Access
    value: Value
    assign: Assign


@dataclass(frozen=True, slots=True)
class Nest:
    """`lets`: names for values that occur inside `stores`, for readable code. `dynamic_strides`: (tensor, dimension)
    of strides taken from the arrays passed, in parameter order. `reduced`: axes that reductions and scans run over;
    every `Reduce` left in a value runs over some of them, by their names in the spec. `rows`: the boxes of
    axes that reductions run over, outputs along a row over the first; `row_of`: which one each reduction runs over."""

    kernel: Kernel
    axes: tuple[NestAxis, ...]
    axis_values: Mapping[str, Expr]
    pointers: tuple[Pointer, ...]
    loads: Mapping[Read, Access]
    stores: tuple[Store, ...]
    lets: tuple[tuple[str, Value], ...]
    dynamic_strides: tuple[tuple[str, int], ...]
    constants: Mapping[str, int]
    reduced: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    row_of: Mapping[Reduce, int] = field(default_factory=dict)

    @property
    def parallel(self) -> tuple[NestAxis, ...]:
        """The axes whose points do not depend on each other: a launch has nothing to do where one of them is empty."""
        return tuple(a for a in self.axes if a.name not in self.reduced)

    def box_of(self, axis: str) -> int:
        """The number of the row that an axis belongs to; -1 for a parallel axis."""
        if axis not in self.reduced:
            return -1
        return next((n for n, row in enumerate(self.rows) if axis in row), 0)

    def pointer(self, name: str) -> Pointer:
        return next(p for p in self.pointers if p.name == name)

    def axis(self, name: str) -> NestAxis:
        return next(a for a in self.axes if a.name == name)

    def accesses(self) -> tuple[Access, ...]:
        """The distinct accesses, what is written first."""
        return tuple(dict.fromkeys((*(s.access for s in self.stores), *self.loads.values())))

    def load_accesses(self) -> tuple[Access, ...]:
        """The distinct read accesses, in order of first use."""
        return tuple(dict.fromkeys(self.loads.values()))


class Same(Generic[T]):
    """A value as the key of a cache: equal to itself alone, so that nothing of it is compared."""

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value


def stride_symbol(tensor: str, dimension: int) -> str:
    """The name of the parameter that carries a stride taken from the array passed."""
    return f"{tensor}_stride{dimension}"
