"""The C launcher: what it checks, which variant it picks, what it passes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
from tilegen.cuda.index import IndexPrinter
from tilegen.cuda.names import Names
from tilegen.cuda.types import TypeNames, host_type
from tilegen.cuda.view import KernelView, ParameterView
from tilegen.dtypes import DType, Kind, Struct
from tilegen.frozen import dataclass
from tilegen.lang.spec import Axis, Boundary, Bounds, IndexType

# Host types that are the device's own, so that a pointer needs no cast. (int64_t is `long` on most hosts.)
_SAME_TYPE = {
    "float": "float",
    "double": "double",
    "int8_t": "signed char",
    "int16_t": "short",
    "int32_t": "int",
    "uint8_t": "unsigned char",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned",
}


@dataclass(frozen=True, slots=True)
class IndexView:
    """One index type of a variant: under `conditions` (none: always)."""

    index: str
    conditions: tuple[str, ...]
    arguments: tuple[str, ...]

    @property
    def joint(self) -> str:
        return joint("&&", self.conditions)


@dataclass(frozen=True, slots=True)
class ScratchView:
    """Scratch memory of a launch, one allocation. `offsets`: definitions of where each part starts; `bytes`, `zeroed`:
    of all, and of what is cleared first (empty: nothing)."""

    comment: str
    offsets: tuple[str, ...]
    bytes: str
    zeroed: str


@dataclass(frozen=True, slots=True)
class VariantView:
    kernel: str
    conditions: tuple[str, ...]
    blocks: str
    threads: int
    dynamic_bytes: int
    types: tuple[IndexView, ...]
    refused: bool
    scratch: ScratchView | None = None

    @property
    def joint(self) -> str:
        return joint("&&", self.conditions)


@dataclass(frozen=True, slots=True)
class LauncherView:
    """`refused`: no variant is unconditional, so the end is reached when none fits."""

    name: str
    comment: tuple[str, ...]
    parameters: tuple[str, ...]
    header_parameters: tuple[str, ...]
    invalid: tuple[str, ...]
    empty: tuple[str, ...]
    broken: tuple[str, ...]
    variants: tuple[VariantView, ...]
    refused: bool

    @property
    def joint(self) -> str:
        return joint("||", max(self.invalid, self.broken, key=lambda texts: len("".join(texts)))).replace(
            "\n    ", "\n        "
        )

    @property
    def unused(self) -> tuple[str, ...]:
        """Parameters of the interface that no variant needs."""
        text = " ".join([*self.invalid, *self.empty, *self.broken])
        for v in self.variants:
            text += " ".join(
                [*v.conditions, v.blocks, *(x for t in v.types for x in (*t.conditions, *t.arguments))]
            )
            text += " ".join(v.scratch.offsets if v.scratch is not None else ())
        names = [p.split()[-1] for p in self.parameters]
        return tuple(n for n in names if re.search(rf"\b{re.escape(n)}\b", text) is None)


def joint(operator: str, texts: Sequence[str]) -> str:
    """What to put between conditions: a line each where they are long together."""
    return f" {operator}\n    " if len("".join(texts)) > 90 else f" {operator} "


def view_launcher(
    name: str,
    namespace: str,
    plans: Sequence[Plan],
    kernels: Sequence[KernelView],
    types: TypeNames,
    structs: Mapping[str, str],
) -> LauncherView:
    return _LauncherPrinter(plans[-1].nest, namespace, types, structs).view(name, plans, kernels)


class _LauncherPrinter:
    def __init__(self, nest: Nest, namespace: str, types: TypeNames, structs: Mapping[str, str]) -> None:
        self.nest, self.namespace, self.types, self.structs = nest, namespace, types, structs
        self.names = Names(("stream", "blocks", "error", "scratch", "scratch_bytes", "freed"))
        for p in nest.pointers:
            self.names.user(f"*{p.name}", p.name)
        for size in nest.kernel.sizes:
            self.names.user(size.name)
        strides = [stride_symbol(t, d) for t, d in nest.dynamic_strides]
        for s in strides:
            self.names.user(s)
        for scalar in nest.kernel.scalars:
            self.names.user(f"${scalar.name}", scalar.name)
        scalars = {s.name for s in nest.kernel.scalars}
        signed = {*strides, *scalars}
        self.index = IndexPrinter(
            lambda n: self.names.user(f"${n}" if n in scalars else n),
            lambda n: ANY if n in signed else NON_NEGATIVE,
            lambda _: False,
            host=True,
        )

    def view(self, name: str, plans: Sequence[Plan], kernels: Sequence[KernelView]) -> LauncherView:
        sizes = [self.names.user(s.name) for s in self.nest.kernel.sizes if s.default is None]
        invalid = [f"{s} < 0" for s in sizes]
        invalid += [self._misaligned(p, p.align) for p in self.nest.pointers if p.align is not None]
        # A typed pointer is aligned by the rules of C; one to `void` need not be.
        untyped = [p for p in self.nest.pointers if host_type(p.dtype) == "void" and p.align is None]
        invalid += [self._misaligned(p, p.dtype.align) for p in untyped if p.dtype.align > 1]
        invalid += [f"{self.index(a)} != {self.index(b)}" for a, b in self._bindings()]
        total = [self._nothing(a.extent) for a in self.nest.parallel if a.extent.constant is None]
        if any(a.extent.constant == 0 for a in self.nest.parallel):
            total = ["true"]
        variants = tuple(self._variant(p, k) for p, k in zip(plans, kernels, strict=True))
        exact = plans[0].schedule.bounds is Bounds.EXACT
        if exact:
            invalid += [
                f"{self.index(t.extent, 2)} % {t.tile} != 0"
                for t in plans[-1].tiles
                if t.tile > 1 and t.extent.constant is None
            ]
        return LauncherView(
            name=f"{name}_launch",
            comment=self._comment(exact, plans),
            parameters=tuple(self._parameters(header=False)),
            header_parameters=tuple(self._parameters(header=True)),
            invalid=tuple(invalid),
            empty=tuple(dict.fromkeys(total)),
            broken=tuple(self._broken_bounds()),
            variants=variants,
            refused=all(v.conditions for v in variants),
        )

    def _broken_bounds(self) -> list[str]:
        """C conditions under which a read or write would leave its tensor, where only actual sizes can tell."""
        broken = []
        for condition in self.nest.kernel.runtime_conditions:
            broken.append(f"{self.index(self._closed(condition.value))} < 0")
        for bound in self.nest.kernel.runtime_bounds:
            if not bound.guards and not (bound.by_defaults and self._defaults()):
                limits = extremes(self._closed(bound.index), bound.axes, self.nest.constants)
                if limits is not None:
                    broken.append(f"{self.index(limits[0])} < 0")
                    broken.append(f"{self.index(limits[1])} >= {self.index(self._closed(bound.extent))}")
        broken += [f"{self.index(e)} <= 0" for e in mapped_extents(self.nest) if e.constant is None]
        return [text for text in dict.fromkeys(broken) if not text.startswith("0 < 0")]

    def _defaults(self) -> bool:
        return all(
            self.nest.constants[s.name] == s.default for s in self.nest.kernel.sizes if s.default is not None
        )

    def _closed(self, value: Expr) -> Expr:
        return substitute(value, self.nest.constants)

    def _nothing(self, extent: Expr) -> str:
        """The condition that an axis has no point; sizes were found to be at least 0 before."""
        least = bounds(extent, {n: NON_NEGATIVE for n in symbols(extent)}).low
        return f"{self.index(extent, 1)} {'==' if least >= 0 else '<='} 0"

    def _bindings(self) -> list[tuple[Expr, Expr]]:
        constants = self.nest.constants
        return [(substitute(a, constants), substitute(b, constants)) for a, b in self.nest.kernel.bindings]

    def _comment(self, exact: bool, plans: Sequence[Plan]) -> tuple[str, ...]:
        lines = [
            "Launches on `stream` and returns at once. Pointers are device pointers; inputs and outputs do not overlap."
        ]
        if exact:
            lines.append("Sizes must be multiples of the tile; otherwise cudaErrorInvalidValue is returned.")
        if len(plans) > 1:
            lines.append("Sizes or pointers that vectors cannot serve take the kernel without them.")
        return tuple(lines)

    def _parameters(self, header: bool) -> list[str]:
        found = []
        for p in self.nest.pointers:
            const = "" if p.written else "const "
            found.append(f"{const}{host_type(p.dtype)}* {self.names.user(f'*{p.name}')}")
        found += [f"int64_t {self.names.user(s.name)}" for s in self.nest.kernel.sizes if s.default is None]
        found += [f"int64_t {self.names.user(stride_symbol(t, d))}" for t, d in self.nest.dynamic_strides]
        for scalar in self.nest.kernel.scalars:
            ctype = host_type(scalar.dtype)
            found.append(f"{'float' if ctype == 'void' else ctype} {self.names.user(f'${scalar.name}')}")
        return found

    def _misaligned(self, pointer: Pointer, bytes_: int) -> str:
        return f"reinterpret_cast<uintptr_t>({self.names.user(f'*{pointer.name}')}) % {bytes_} != 0"

    def _condition(self, condition: Condition) -> str:
        match condition:
            case Multiple():
                return f"{self.index(condition.value, 2)} % {condition.factor} == 0"
            case Aligned():
                return self._misaligned(self.nest.pointer(condition.pointer), condition.bytes).replace(
                    "!=", "=="
                )
            case Equals():
                return f"{self.index(condition.value)} == {condition.number}"
            case AtMost():
                return f"{self.index(condition.value)} <= {condition.limit}"
            case AtLeast():
                return f"{self.index(condition.value)} >= {condition.limit}"

    def _variant(self, plan: Plan, kernel: KernelView) -> VariantView:
        fits = tuple(self._condition(c) for c in plan.fits_i32)
        narrow = IndexView("int", fits, self._arguments(plan, kernel, "int"))
        wide = IndexView("long long", (), self._arguments(plan, kernel, "long long"))
        match plan.schedule.index:
            case IndexType.I32:
                types: tuple[IndexView, ...] = (narrow,)
            case IndexType.I64:
                types = (wide,)
            case IndexType.AUTO:
                types = (narrow, wide) if fits else (IndexView("int", (), narrow.arguments),)
        counts = [self._tiles(t) for t in plan.tiles]
        counts = [c for c, t in zip(counts, plan.tiles, strict=True) if t.count.constant != 1]
        return VariantView(
            kernel=f"{self.namespace}::{kernel.name}",
            conditions=tuple(self._condition(c) for c in plan.conditions),
            blocks=(
                counts[0].removeprefix("(").removesuffix(")")
                if len(counts) == 1 and counts[0].startswith("((")
                else " * ".join(counts)
            )
            or "1",
            threads=plan.threads,
            dynamic_bytes=plan.shared_bytes if plan.dynamic_shared else 0,
            types=types,
            refused=plan.schedule.index is IndexType.I32 and bool(fits),
            scratch=self._scratch(plan),
        )

    def _tiles(self, tile: TileAxis) -> str:
        """The number of tiles along an axis."""
        if tile.count != ceil_div(tile.extent, tile.tile):
            return self.index(tile.count, 3)
        if tile.tile == 1:
            return self.index(tile.extent, 2)
        return f"(({self.index(tile.extent)} + {tile.tile - 1}) / {tile.tile})"

    def _scratch(self, plan: Plan) -> ScratchView | None:
        """Each part at a multiple of 256 bytes, after at least one byte of the part before: never nothing at all."""
        if not plan.scratch:
            return None
        parts = plan.scratch_in_order
        names = [*(self._offset(p) for p in parts), "scratch_bytes"]
        offsets = [f"const int64_t {names[0]} = 0;"]
        for part, name, end in zip(parts, names, names[1:], strict=False):
            size = part.bytes.constant
            taken = (
                f"{self.index(part.bytes, 2)} / 256 * 256 + 256"
                if size is None
                else str(size // 256 * 256 + 256)
            )
            offsets.append(f"const int64_t {end} = {name} + {taken};")
        zeroed = names[sum(p.zeroed for p in parts)] if any(p.zeroed for p in parts) else ""
        cleared = [f"`{s.name}`" for s in parts if s.zeroed]
        comment = "Scratch memory of this launch, ordered on the stream"
        comment += (
            f"; {' and '.join(cleared)} start{'s' if len(cleared) == 1 else ''} at zero." if cleared else "."
        )
        return ScratchView(comment, tuple(offsets), names[-1], zeroed)

    def _offset(self, part: Scratch) -> str:
        return self.names.user(f"&{part.name}", f"{part.name}_at")

    def _arguments(self, plan: Plan, kernel: KernelView, index: str) -> tuple[str, ...]:
        return tuple(self._argument(plan, p, index) for p in kernel.parameters)

    def _argument(self, plan: Plan, parameter: ParameterView, index: str) -> str:
        match parameter.kind:
            case "pointer":
                pointer = self.nest.pointer(parameter.key)
                name, device = self.names.user("*" + parameter.key), self._device_type(pointer)
                if _SAME_TYPE.get(host_type(pointer.dtype)) == device:
                    return name
                const = "" if pointer.written else "const "
                return f"reinterpret_cast<{const}{device}*>({name})"
            case "scratch":
                part = next(s for s in plan.scratch if s.name == parameter.key)
                return f"reinterpret_cast<{self.types.storage(part.dtype)}*>(scratch + {self._offset(part)})"
            case "scalar":
                name = self.names.user(f"${parameter.key}")
                dtype = next(s.dtype for s in self.nest.kernel.scalars if s.name == parameter.key)
                return f"{name} != 0" if dtype.kind is Kind.BOOL else name
            case _:
                constant = plan.nest.constants.get(parameter.key)
                text = str(constant) if constant is not None else self.names.user(parameter.key)
                return f"static_cast<{index}>({text})"

    def _device_type(self, pointer: Pointer) -> str:
        if isinstance(pointer.dtype, Struct):
            return f"{self.namespace}::{self.structs[pointer.tensor]}"
        assert isinstance(pointer.dtype, DType)
        return self.types.storage(pointer.dtype)


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
