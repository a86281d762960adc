"""What the names of a kernel stand for, before any choice of types is made; and what a mistake left unknown.

One mistake gives one error: a rule that finds one says with `doubt` which facts it leaves unknown, and a rule that
needs a fact asks for it with `sure` before it judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

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


class NameKind(Enum):
    TYPE_PARAMETER = "type parameter"
    SIZE = "size"
    SCALAR = "scalar parameter"
    TENSOR = "tensor"
    LOCAL = "local"
    AXIS = "axis"


class Fact(Enum):
    """What rules ask about a name, or (without one) about the kernel."""

    MEANING = auto()  # what the name stands for
    ROLE = auto()  # whether the tensor is read, written or both
    RANK = auto()  # how many axes the tensor has, if all uses have as many
    CHOICES = auto()  # the types that the type parameter may be
    STATEMENTS = auto()  # what all statements compute
    AXIS = auto()  # whether the name is an axis of a statement
    READ = auto()  # which tensors are read
    WRITTEN = auto()  # which tensors are written
    SIZES = auto()  # what the sizes are called


@dataclass
class Scope:
    """`later`: locals of the lines below. `reads`: names in the values of statements. `targets`: names assigned."""

    sizes: dict[str, Size] = field(default_factory=dict)
    scalars: dict[str, syntax.ScalarDecl] = field(default_factory=dict)
    type_params: dict[str, tuple[DType, ...]] = field(default_factory=dict)
    tensors: dict[str, TensorName] = field(default_factory=dict)
    lets: dict[str, tuple[Axis, ...]] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    declared: dict[str, tuple[NameKind, Span]] = field(default_factory=dict)
    doubts: set[tuple[Fact, str]] = field(default_factory=set)

    def doubt(self, fact: Fact, name: str = "") -> None:
        """`fact` is not known of `name`; of no name at all without one."""
        self.doubts.add((fact, name))

    def sure(self, fact: Fact, name: str = "") -> bool:
        return (fact, name) not in self.doubts and (fact, "") not in self.doubts

    def unknown(self, name: str) -> None:
        """A name that nothing declares: any name may be meant, for what is read or given a value as well."""
        self.doubt(Fact.MEANING, name)
        self.doubt(Fact.READ)
        self.doubt(Fact.SIZES)

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
        tables = (self.sizes, self.scalars, self.tensors, self.lets)
        return self.sure(Fact.MEANING, name) and not any(name in table for table in tables)
