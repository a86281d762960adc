"""The C launcher: what it checks, which variant it picks, what it passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilegen.algebra import ANY, NON_NEGATIVE, ZERO, Expr, bounds, ceil_div, linear_parts, substitute, symbols
from tilegen.core.nest.model import Nest, Pointer, stride_symbol
from tilegen.core.plan.model import (
    Aligned,
    AtLeast,
    AtMost,
    Condition,
    Equals,
    Multiple,
    Plan,
    Scratch,
    TileAxis,
)
from tilegen.cuda.index import IndexBuilder
from tilegen.cuda.names import names_of_variables
from tilegen.cuda.printer import COLUMNS, Level, Printer
from tilegen.cuda.queries import variables
from tilegen.cuda.tree import (
    INT,
    LONG_LONG,
    TRUE,
    AddressNumber,
    Binary,
    Cast,
    CType,
    Expression,
    Infix,
    Kernel,
    Literal,
    Parameter,
    PointerCast,
    Scalar,
    StructType,
    Variable,
    add,
    all_of,
    any_of,
    binary,
    less,
    multiply,
    number,
)
from tilegen.cuda.types import SAME_ON_HOST, ElementTypes, host_type
from tilegen.dtypes import DType, Kind, Struct
from tilegen.lang.spec import Axis, Boundary, Bounds, IndexType

_INT64 = Scalar("int64_t")
# What the launcher's own variables are called in its template.
_TEMPLATE_NAMES = ("stream", "blocks", "error", "scratch", "scratch_bytes", "freed")


@dataclass(frozen=True, slots=True)
class IndexView:
    """One index type of a variant: under `condition` (none: always)."""

    index: str
    condition: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScratchView:
    """Scratch memory of a launch, one allocation. `offsets`: (name, value) of where each part starts; `bytes`,
    `zeroed`: of all, and of what is cleared first (empty: nothing)."""

    comment: str
    offsets: tuple[tuple[str, str], ...]
    bytes: str
    zeroed: str


@dataclass(frozen=True, slots=True)
class VariantView:
    kernel: str
    condition: str
    blocks: str
    threads: int
    dynamic_bytes: int
    types: tuple[IndexView, ...]
    refused: bool
    scratch: ScratchView | None


@dataclass(frozen=True, slots=True)
class LauncherView:
    """`refused`: no variant is unconditional, so the end is reached when none fits."""

    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    unused: tuple[str, ...]
    invalid: str
    empty: str
    broken: str
    variants: tuple[VariantView, ...]
    refused: bool


def view_launcher(
    name: str,
    namespace: str,
    plans: Sequence[Plan],
    kernels: Sequence[Kernel],
    types: ElementTypes,
    structs: Mapping[str, StructType],
    struct_names: Mapping[StructType, str],
) -> LauncherView:
    """`structs`: struct types per tensor; `struct_names`: their names in `namespace`."""
    return _LauncherPrinter(plans[-1].nest, plans, namespace, types, structs, struct_names).view(
        name, kernels
    )


class _LauncherPrinter:
    def __init__(
        self,
        nest: Nest,
        plans: Sequence[Plan],
        namespace: str,
        types: ElementTypes,
        structs: Mapping[str, StructType],
        struct_names: Mapping[StructType, str],
    ) -> None:
        self.nest, self.plans, self.namespace, self.types, self.structs = (
            nest,
            plans,
            namespace,
            types,
            structs,
        )
        sizes = [s.name for s in nest.kernel.sizes]
        strides = [stride_symbol(t, d) for t, d in nest.dynamic_strides]
        scalars = {s.name: s.dtype for s in nest.kernel.scalars}
        self.pointers = {p.name: _parameter(p.name, Scalar(host_type(p.dtype))) for p in nest.pointers}
        self.numbers = {n: _parameter(n, _INT64) for n in (*sizes, *strides)}
        self.scalars = {n: _parameter(n, Scalar(_host_scalar(d))) for n, d in scalars.items()}
        self.offsets = {
            s.name: Variable(f"{s.name}_at", _INT64) for plan in plans for s in plan.scratch_in_order
        }
        named = (
            *self.pointers.values(),
            *self.numbers.values(),
            *self.scalars.values(),
            *self.offsets.values(),
        )
        qualified = {s: f"{namespace}::{n}" for s, n in struct_names.items()}
        self.printer = Printer(names_of_variables(named, _TEMPLATE_NAMES), qualified)
        signed = {*strides, *scalars}
        self.index = IndexBuilder(
            lambda n: self.scalars[n] if n in self.scalars else self.numbers[n],
            lambda n: ANY if n in signed else NON_NEGATIVE,
            lambda _: False,
            host=True,
        )
        self.used: set[Variable] = set()

    def view(self, name: str, kernels: Sequence[Kernel]) -> LauncherView:
        exact = self.plans[0].schedule.bounds is Bounds.EXACT
        invalid, empty, broken = self._invalid(exact), self._empty(), self._broken_bounds()
        variants = tuple(self._variant(p, k) for p, k in zip(self.plans, kernels, strict=True))
        texts = [self._condition_text(any_of(c), 1) for c in (invalid, empty, broken)]
        parameters = self._parameters()
        return LauncherView(
            name=f"{name}_launch",
            comment=self._comment(exact),
            parameters=tuple(text for _, text in parameters),
            unused=tuple(self.printer.name(v) for v, _ in parameters if v not in self.used),
            invalid=texts[0],
            empty=texts[1],
            broken=texts[2],
            variants=variants,
            refused=all(p.conditions for p in self.plans),
        )

    # Text

    def _text(self, value: Expression, level: Level = Level.CONDITIONAL) -> str:
        self.used |= variables(value)
        return self.printer.text(value, level)

    def _condition_text(self, condition: Expression | None, depth: int) -> str:
        """A condition, broken where it is long; empty where there is none."""
        if condition is None:
            return ""
        self.used |= variables(condition)
        return "\n".join(self.printer.lines(condition, COLUMNS - 8 - 4 * depth))

    # Checks

    def _invalid(self, exact: bool) -> list[Expression]:
        """What a caller must not pass."""
        sizes = [self.numbers[s.name] for s in self.nest.kernel.sizes if s.default is None]
        found: list[Expression] = [less(s, 0) for s in sizes]
        promised = [(p, p.align) for p in self.nest.pointers if p.align is not None]
        # A typed pointer is aligned by the rules of C; one to `void` need not be.
        untyped = [p for p in self.nest.pointers if host_type(p.dtype) == "void" and p.align is None]
        promised += [(p, p.dtype.align) for p in untyped if p.dtype.align > 1]
        found += [binary(Infix.NOT_EQUAL, self._address(p.name, n), 0) for p, n in promised]
        found += [
            Binary(Infix.NOT_EQUAL, self.index(self._closed(a)), self.index(self._closed(b)))
            for a, b in self.nest.kernel.bindings
        ]
        if exact:
            found += [
                binary(Infix.NOT_EQUAL, binary(Infix.REMAINDER, self.index(t.extent), t.tile), 0)
                for t in self.plans[-1].tiles
                if t.tile > 1 and t.extent.constant is None
            ]
        return found

    def _address(self, pointer: str, bytes_: int) -> Expression:
        """What a pointer leaves when divided by `bytes_`."""
        return binary(Infix.REMAINDER, AddressNumber(self.pointers[pointer]), bytes_)

    def _empty(self) -> list[Expression]:
        """Conditions that there is nothing to compute; sizes were found to be at least 0 before."""
        if any(a.extent.constant == 0 for a in self.nest.parallel):
            return [TRUE]
        extents = dict.fromkeys(a.extent for a in self.nest.parallel if a.extent.constant is None)
        return [self._nothing(e) for e in extents]

    def _nothing(self, extent: Expr) -> Expression:
        least = bounds(extent, {n: NON_NEGATIVE for n in symbols(extent)}).low
        return binary(Infix.EQUAL if least >= 0 else Infix.LESS_EQUAL, self.index(extent), 0)

    def _broken_bounds(self) -> list[Expression]:
        """Conditions under which a read or write would leave its tensor, where only actual sizes can tell."""
        below, beyond = dict[Expr, None](), dict[tuple[Expr, Expr], None]()
        order: list[Expression] = []

        def negative(value: Expr) -> None:
            if value.terms and value not in below:
                below[value] = None
                order.append(less(self.index(value), 0))

        for condition in self.nest.kernel.runtime_conditions:
            negative(self._closed(condition.value))
        for bound in self.nest.kernel.runtime_bounds:
            if bound.guards or (bound.by_defaults and self._defaults()):
                continue
            limits = extremes(self._closed(bound.index), bound.axes, self.nest.constants)
            if limits is None:
                continue
            negative(limits[0])
            pair = limits[1], self._closed(bound.extent)
            if pair not in beyond:
                beyond[pair] = None
                order.append(Binary(Infix.GREATER_EQUAL, self.index(pair[0]), self.index(pair[1])))
        mapped = [e for e in mapped_extents(self.nest) if e.constant is None]
        return order + [binary(Infix.LESS_EQUAL, self.index(e), 0) for e in mapped]

    def _defaults(self) -> bool:
        return all(
            self.nest.constants[s.name] == s.default for s in self.nest.kernel.sizes if s.default is not None
        )

    def _closed(self, value: Expr) -> Expr:
        return substitute(value, self.nest.constants)

    def _comment(self, exact: bool) -> tuple[str, ...]:
        lines = [
            "Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap."
        ]
        if exact:
            lines.append("Sizes must be multiples of the tile; otherwise cudaErrorInvalidValue is returned.")
        if len(self.plans) > 1:
            lines.append("Sizes or pointers that vectors cannot serve take the kernel without them.")
        return tuple(lines)

    def _parameters(self) -> list[tuple[Variable, str]]:
        found: list[tuple[Variable, str]] = []
        for p in self.nest.pointers:
            variable = self.pointers[p.name]
            const = "" if p.written else "const "
            found.append(
                (variable, f"{const}{self.printer.type(variable.type)}* {self.printer.name(variable)}")
            )
        sizes = [s.name for s in self.nest.kernel.sizes if s.default is None]
        strides = [stride_symbol(t, d) for t, d in self.nest.dynamic_strides]
        plain = [*(self.numbers[n] for n in (*sizes, *strides)), *self.scalars.values()]
        return found + [(v, f"{self.printer.type(v.type)} {self.printer.name(v)}") for v in plain]

    # Variants

    def _condition(self, condition: Condition) -> Expression:
        match condition:
            case Multiple():
                remainder = binary(Infix.REMAINDER, self.index(condition.value), condition.factor)
                return binary(Infix.EQUAL, remainder, 0)
            case Aligned():
                return binary(Infix.EQUAL, self._address(condition.pointer, condition.bytes), 0)
            case Equals():
                return binary(Infix.EQUAL, self.index(condition.value), condition.number)
            case AtMost():
                return binary(Infix.LESS_EQUAL, self.index(condition.value), condition.limit)
            case AtLeast():
                return binary(Infix.GREATER_EQUAL, self.index(condition.value), condition.limit)

    def _variant(self, plan: Plan, kernel: Kernel) -> VariantView:
        fits = [self._condition(c) for c in plan.fits_i32]
        condition = all_of(self._condition(c) for c in plan.conditions)
        depth = 1 if condition is None else 2
        narrow = IndexView(
            "int", self._condition_text(all_of(fits), depth), self._arguments(plan, kernel, INT)
        )
        wide = IndexView("long long", "", self._arguments(plan, kernel, LONG_LONG))
        match plan.schedule.index:
            case IndexType.I32:
                types: tuple[IndexView, ...] = (narrow,)
            case IndexType.I64:
                types = (wide,)
            case IndexType.AUTO:
                types = (narrow, wide) if fits else (narrow,)
        counts: Expression = number(1)
        for tile in plan.tiles:
            if tile.count.constant != 1:
                counts = multiply(counts, self._tiles(tile))
        return VariantView(
            kernel=f"{self.namespace}::{kernel.name}",
            condition=self._condition_text(condition, 1),
            blocks=self._text(counts),
            threads=plan.threads,
            dynamic_bytes=plan.shared_bytes if plan.dynamic_shared else 0,
            types=types,
            refused=plan.schedule.index is IndexType.I32 and bool(fits),
            scratch=self._scratch(plan),
        )

    def _tiles(self, tile: TileAxis) -> Expression:
        """The number of tiles along an axis."""
        if tile.count != ceil_div(tile.extent, tile.tile):
            return self.index(tile.count)
        if tile.tile == 1:
            return self.index(tile.extent)
        return binary(Infix.DIVIDE, add(self.index(tile.extent), tile.tile - 1), tile.tile)

    def _scratch(self, plan: Plan) -> ScratchView | None:
        """Each part at a multiple of 256 bytes, after at least one byte of the part before: never nothing at all."""
        if not plan.scratch:
            return None
        parts = plan.scratch_in_order
        names = [*(self.printer.name(self.offsets[p.name]) for p in parts), "scratch_bytes"]
        offsets = [(names[0], "0")]
        for part, name, end in zip(parts, names, names[1:], strict=False):
            offsets.append((end, f"{name} + {self._text(_rounded(self, part), Level.SUM)}"))
        zeroed = names[sum(p.zeroed for p in parts)] if any(p.zeroed for p in parts) else ""
        cleared = [f"`{s.name}`" for s in parts if s.zeroed]
        comment = "Scratch memory of this launch, ordered on the stream"
        if cleared:
            comment += f"; {' and '.join(cleared)} start{'s' if len(cleared) == 1 else ''} at zero"
        return ScratchView(f"{comment}.", tuple(offsets), names[-1], zeroed)

    def _arguments(self, plan: Plan, kernel: Kernel, index: Scalar) -> tuple[str, ...]:
        return tuple(self._text(self._argument(plan, p, index)) for p in kernel.parameters)

    def _argument(self, plan: Plan, parameter: Parameter, index: Scalar) -> Expression:
        match parameter.kind:
            case "pointer":
                pointer, variable = self.nest.pointer(parameter.key), self.pointers[parameter.key]
                device = self._device_type(pointer)
                if isinstance(pointer.dtype, DType) and SAME_ON_HOST.get(pointer.dtype.name) == device:
                    return variable
                return PointerCast(device, variable, const=not pointer.written)
            case "scratch":
                part = next(s for s in plan.scratch if s.name == parameter.key)
                place = Binary(Infix.ADD, Variable("scratch", INT), self.offsets[part.name])
                return PointerCast(self.types.storage(part.dtype), place, const=False)
            case "scalar":
                scalar = next(s for s in self.nest.kernel.scalars if s.name == parameter.key)
                value = self.scalars[parameter.key]
                return binary(Infix.NOT_EQUAL, value, 0) if scalar.dtype.kind is Kind.BOOL else value
            case _:
                constant = plan.nest.constants.get(parameter.key)
                return Cast(index, self.numbers[parameter.key] if constant is None else Literal(constant))

    def _device_type(self, pointer: Pointer) -> CType:
        if isinstance(pointer.dtype, Struct):
            return self.structs[pointer.tensor]
        return self.types.storage(pointer.dtype)


def _rounded(printer: _LauncherPrinter, part: Scratch) -> Expression:
    """Bytes of a part, up to the next multiple of 256."""
    size = part.bytes.constant
    if size is not None:
        return number(size // 256 * 256 + 256)
    whole = binary(Infix.MULTIPLY, binary(Infix.DIVIDE, printer.index(part.bytes), 256), 256)
    return add(whole, 256)


def _parameter(name: str, type_: Scalar) -> Variable:
    return Variable(name, type_, user=True)


def _host_scalar(dtype: DType) -> str:
    host = host_type(dtype)
    return "float" if host == "void" else host


def mapped_extents(nest: Nest) -> tuple[Expr, ...]:
    """Extents of dimensions whose indices a boundary mode maps inside: there must be something to map to."""
    return tuple(
        dict.fromkeys(
            c.extent
            for access in nest.load_accesses()
            if access.boundary is not None and access.boundary is not Boundary.CONSTANT
            for c in access.checked
        )
    )


def extremes(index: Expr, axes: Sequence[Axis], constants: Mapping[str, int]) -> tuple[Expr, Expr] | None:
    """Least and greatest value of an affine index over a box of axes with coefficients of known sign; else None."""
    parts = linear_parts(index, [a.name for a in axes])
    if parts is None:
        return None
    low = high = parts[1]
    for axis in axes:
        factor = parts[0].get(axis.name, ZERO)
        if not factor.terms:
            continue
        first, last = substitute(axis.lower, constants), substitute(axis.upper, constants) - 1
        known = bounds(factor, {n: NON_NEGATIVE for n in symbols(factor)})
        if known.low >= 0:
            low, high = low + factor * first, high + factor * last
        elif known.high <= 0:
            low, high = low + factor * last, high + factor * first
        else:
            return None
    return low, high
