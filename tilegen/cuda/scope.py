"""The variables of one kernel: plan symbols to variables, index expressions to trees, places in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tilegen.algebra import (
    ANY,
    NON_NEGATIVE,
    Expr,
    Range,
    divisions,
    simplify,
    substitute,
    sym,
    symbols,
)
from tilegen.core.nest.model import Pointer, stride_symbol
from tilegen.core.plan.model import FIELD, Buffer, Plan
from tilegen.cuda.index import IndexBuilder
from tilegen.cuda.tree import (
    INDEX,
    INT,
    LONG_LONG,
    UNSIGNED,
    Cast,
    CType,
    Expression,
    Storage,
    StructType,
    Variable,
    VectorType,
    add,
    at,
    call,
    dereferenced,
    less,
    library,
    multiply,
    number,
)
from tilegen.cuda.types import ElementTypes
from tilegen.dtypes import DType, Struct
from tilegen.lang.spec import Hint


@dataclass(frozen=True, slots=True)
class FileContext:
    """What the kernels of one file share. `structs`: struct types, per tensor."""

    types: ElementTypes
    structs: Mapping[str, StructType] = field(default_factory=dict)


class KernelScope:
    """What the parts of one kernel share: its plan, its variables by what they stand for, its index expressions."""

    def __init__(self, plan: Plan, file: FileContext) -> None:
        self.plan, self.file, self.nest, self.types = plan, file, plan.nest, file.types
        self._variables: dict[str, Variable] = {}
        self._aliases: dict[str, Expression] = {}
        self._axes = {a.name for a in self.nest.axes}
        self._scalars = {s.name: s.dtype for s in plan.nest.kernel.scalars}
        strides = [stride_symbol(t, d) for t, d in self.nest.dynamic_strides]
        self._ranges: dict[str, Range] = dict.fromkeys((*strides, *self._scalars), ANY)
        self.index = IndexBuilder(self.symbol, self._range, self._leading)
        # Values, which are 64 bits wide whatever an address needs, and sums with scalars, which may be any number.
        self.long_index = IndexBuilder(self._long_symbol, self._range, self._leading, type_=LONG_LONG)

    def _range(self, name: str) -> Range:
        """Sizes, coordinates and plan symbols are never negative; strides taken from arrays and scalars may be."""
        return self._ranges.get(name, NON_NEGATIVE)

    def _leading(self, name: str) -> bool:
        return name in self._axes or name.startswith("@")

    # Variables

    def variable(
        self,
        key: str,
        wanted: str,
        type_: CType = INT,
        shape: tuple[Expression, ...] = (),
        storage: Storage = Storage.LOCAL,
        user: bool = False,
    ) -> Variable:
        """The variable for `key`, the same one at each call."""
        if key not in self._variables:
            self._variables[key] = Variable(wanted, type_, shape, storage, user)
        return self._variables[key]

    def axis(self, name: str) -> Variable:
        """The global coordinate along an axis."""
        return self.variable(name, name, INDEX, user=True)

    def symbol(self, name: str) -> Expression:
        """What a symbol of an index expression stands for."""
        if name in self._aliases:
            return self._aliases[name]
        if name in self._scalars:
            return self.scalar(name)
        return self.plan_variable(name) if name.startswith("@") else self.axis(name)

    def _long_symbol(self, name: str) -> Expression:
        return Cast(LONG_LONG, self.symbol(name))

    def scalars_in(self, names: Iterable[str]) -> frozenset[str]:
        """Those of the names that are scalar parameters."""
        return frozenset(names) & self._scalars.keys()

    def plan_variable(self, name: str) -> Variable:
        """The variable of a plan symbol, see `core.plan.model`."""
        kind, _, axis = name[1:].partition("_")
        match kind:
            case "tid":
                return self.variable(name, "thread")
            case "field":
                return self.variable(FIELD, "tile_field")
            case "origin" if self.plan.tile(axis).tile == 1:
                return self.axis(axis)
            case "origin":
                return self.variable(name, f"{axis}0", INDEX)
            case "lane" | "row":
                return self.variable(name, "l" if kind == "lane" else "r")
            case "at":
                return self.variable(name, f"{axis}_l", INDEX)
            case "item":
                return self.variable(name, "item")
            case "in":
                return self.variable(name, f"tile_{axis}_l")
            case _:
                return self.variable(name, f"{kind}_field" if axis == FIELD else f"{kind}_{axis}")

    def alias(self, tree: Expression) -> Expr:
        """An index symbol that stands for `tree`."""
        name = f"@tree_{len(self._aliases)}"
        self._aliases[name] = tree
        return sym(name)

    @property
    def thread(self) -> Variable:
        return self.plan_variable("@tid")

    @property
    def lane(self) -> Variable:
        return self.plan_variable("@lane")

    def origin(self, axis: str) -> Variable:
        """The first coordinate of the block's tile."""
        return self.plan_variable(f"@origin_{axis}")

    def scalar(self, name: str) -> Variable:
        type_ = self.types.value(self._scalars[name])
        return self.variable(f"${name}", name, type_, storage=Storage.PARAMETER, user=True)

    def pointer(self, name: str) -> Variable:
        return self.variable(
            f"*{name}", name, self.pointee(self.nest.pointer(name)), storage=Storage.PARAMETER, user=True
        )

    def pointee(self, pointer: Pointer) -> CType:
        if isinstance(pointer.dtype, Struct):
            return self.file.structs[pointer.tensor]
        return self.types.storage(pointer.dtype)

    def scratch(self, name: str) -> Variable:
        """The pointer to scratch memory of the launch."""
        dtype = next(s.dtype for s in self.plan.scratch if s.name == name)
        return self.variable(f"&{name}", name, self.types.storage(dtype), storage=Storage.PARAMETER)

    def tensor(self, name: str) -> Variable | str:
        """A tensor as comments speak of it."""
        return self.pointer(name) if any(p.name == name for p in self.nest.pointers) else name

    def tile_constant(self, axis: str) -> Variable:
        return self.variable(f"@TILE_{axis}", f"TILE_{axis.upper()}", storage=Storage.CONSTANT)

    def tiles(self, axis: str) -> Variable:
        """The number of tiles along an axis."""
        return self.variable(f"@tiles_{axis}", f"tiles_{axis}", UNSIGNED)

    def buffer(self, buffer: Buffer) -> Variable:
        type_ = self.types.storage(buffer.dtype)
        return self.variable(
            f"[{buffer.name}", f"{buffer.name}_tile", type_, self._shape(buffer), Storage.SHARED
        )

    def _shape(self, buffer: Buffer) -> tuple[Expression, ...]:
        """The dimensions of a buffer: rows, and elements from one row to the next."""
        if buffer.flat:
            return (_product([self._extent(*axis) for axis in buffer.axes]),)
        rows = _product([self._extent(*axis) for axis in buffer.axes[:-1]])
        row, extra = self._extent(*buffer.axes[-1]), buffer.pad
        if buffer.sectors is not None:
            row = _product([self._extent(*axis) for axis in reversed(buffer.sectors.axes)])
            extra += buffer.sectors.margin
        return rows, add(row, extra)

    def _extent(self, axis: str, extent: int) -> Expression:
        """The extent of a buffer along an axis: the tile's, or some more."""
        if axis == FIELD:
            return number(extent)
        return add(self.tile_constant(axis), extent - self.plan.tile(axis).tile)

    def vector(self, dtype: DType, width: int, alignment: int) -> VectorType:
        """The struct type of `width` lanes that may be accessed `alignment` bytes at a time."""
        return self.types.vector(dtype, width, alignment)

    def hint(self, tensor: str) -> Hint:
        """The hint of single loads and stores; `evict_last` is one of the pointer, `sectors` one of the tile."""
        hint = dict(self.plan.schedule.hints).get(tensor, Hint.DEFAULT)
        return Hint.DEFAULT if hint in (Hint.EVICT_LAST, Hint.SECTORS) else hint

    def evicted_last(self, tensor: str) -> bool:
        return (tensor, Hint.EVICT_LAST) in self.plan.schedule.hints

    # Memory

    def element(
        self,
        buffer: Buffer,
        inside: Mapping[str, Expr],
        lanes: int = 1,
        whole: bool = False,
        simpler: Mapping[str, Expr] | None = None,
    ) -> Expression:
        """The staged element at in-tile coordinates `inside`, which may hold a lane below `lanes`.

        `whole`: it is the first of a chunk. `simpler`: what named in-tile coordinates stand for."""
        # `@row` counts the four rows of a transpose of bytes.
        ranges = {"@lane": Range(0, lanes - 1), "@row": Range(0, 3)}
        values = simpler or {}
        if buffer.flat:
            return at(
                self.buffer(buffer), self.index(fewest_divisions(buffer.linear(inside), values, ranges))
            )
        row, column = simplify(buffer.row(inside), ranges), simplify(buffer.column(inside, whole), ranges)
        if buffer.sectors is not None:
            column = fewest_divisions(column, values, ranges)
        return at(self.buffer(buffer), self.index(row), self.index(column))

    def place(self, pointer: str, address: Expr) -> Expression:
        """A pointer moved by `address` elements."""
        return add(self.pointer(pointer), self.index(address)) if address.terms else self.pointer(pointer)

    def read(self, pointer: str, address: Expr, dtype: DType, width: int) -> Expression:
        """A global load of `width` elements, with the tensor's cache hint."""
        hint = self.hint(self.nest.pointer(pointer).tensor)
        if width == 1:
            if hint is Hint.DEFAULT:
                return at(self.pointer(pointer), self.index(address))
            name = "__ldcs" if hint is Hint.STREAMING else "__ldg"
            return call(name, self.place(pointer, address))
        vector = self.vector(dtype, width, width * dtype.size)
        if hint is Hint.DEFAULT:
            return dereferenced(vector, self.place(pointer, address), const=True)
        helper = "load_streaming" if hint is Hint.STREAMING else "load_readonly"
        return library(helper, self.place(pointer, address), template=(vector,))

    def guard(self, axis: str) -> Expression:
        """The condition of points inside the tensor."""
        return less(self.axis(axis), self.index(self.nest.axis(axis).extent))

    def in_nest(self, value: Expr) -> Expr:
        """An index expression of the spec over the nest's axes."""
        return substitute(substitute(value, self.nest.constants), self.nest.axis_values)


def fewest_divisions(
    value: Expr, coordinates: Mapping[str, Expr], ranges: Mapping[str, Range] | None = None
) -> Expr:
    """`value` over named in-tile coordinates, or over what they stand for where that takes fewer divisions."""
    spelled = simplify(substitute(value, coordinates), ranges or {})
    plain = simplify(value, ranges or {})
    used = [coordinates[n] for n in symbols(plain) if n in coordinates]
    return spelled if divisions(spelled) < divisions(plain) + sum(divisions(e) for e in used) else plain


def _product(factors: list[Expression]) -> Expression:
    total: Expression = number(1)
    for factor in factors:
        total = multiply(total, factor)
    return total
