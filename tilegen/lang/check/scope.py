"""What the names of a kernel stand for, before any choice of types is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilegen.algebra import Expr
from tilegen.dtypes import DType
from tilegen.lang import syntax
from tilegen.lang.source import Span
from tilegen.lang.spec import Axis, Role, Size


@dataclass(frozen=True, slots=True)
class TensorName:
    """One declared tensor: its shape, and the declaration that says the rest."""

    name: str
    role: Role
    declaration: syntax.TensorDecl
    extents: tuple[Expr, ...]
    span: Span = field(repr=False, compare=False)


@dataclass
class Scope:
    """`broken` holds names whose declaration failed: uses of them are silent. `later`: locals of the lines below."""

    sizes: dict[str, Size] = field(default_factory=dict)
    scalars: dict[str, syntax.ScalarDecl] = field(default_factory=dict)
    type_params: dict[str, tuple[DType, ...]] = field(default_factory=dict)
    tensors: dict[str, TensorName] = field(default_factory=dict)
    lets: dict[str, tuple[Axis, ...]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    declared: dict[str, tuple[str, Span]] = field(default_factory=dict)

    @property
    def defaults(self) -> dict[str, int]:
        """Values of the compile-time sizes."""
        return {s.name: s.default for s in self.sizes.values() if s.default is not None}

    def rank(self, name: str) -> int | None:
        """Rank of a tensor or let, None if `name` is neither."""
        if name in self.tensors:
            return len(self.tensors[name].extents)
        return len(self.lets[name]) if name in self.lets else None

    def ranges(self, name: str) -> Iterator[tuple[Expr | int, Expr]]:
        """Lower and upper end of each dimension of a tensor or let."""
        if name in self.tensors:
            yield from ((0, e) for e in self.tensors[name].extents)
        else:
            yield from ((a.lower, a.upper) for a in self.lets[name])

    def is_axis(self, name: str) -> bool:
        """A bare name in an index is an axis unless it is a size, a scalar parameter, a tensor or a let."""
        return (
            name not in self.sizes
            and name not in self.scalars
            and name not in self.tensors
            and name not in self.lets
            and name not in self.broken
        )

    @property
    def value_names(self) -> list[str]:
        return [*self.sizes, *self.scalars, *self.tensors, *self.lets]
