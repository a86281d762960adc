"""Lower a checked kernel of the map family to its loop nest; what is outside the family is an error that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilegen.algebra import ZERO, Expr, maximum, substitute, sym
from tilegen.core.nest.lets import inline_lets
from tilegen.core.nest.model import Access, CheckedIndex, Nest, NestAxis, Pointer, Store, stride_symbol
from tilegen.dtypes import F8E4M3, F8E5M2, DType, ElementType, Kind, Struct
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.source import Span
from tilegen.lang.spec import (
    Aos,
    Aosoa,
    Assign,
    Axis,
    Binary,
    Call,
    Cast,
    Kernel,
    Read,
    Role,
    Soa,
    Tensor,
    Unary,
    Value,
    children,
    walk,
)


def build_nest(kernel: Kernel, constants: Mapping[str, int] | None = None) -> Nest:
    """The nest of `kernel` with compile-time sizes replaced by `constants` over their defaults.

    Raises SpecError: TG0701 (a family that cannot be generated yet), TG0702 (assignments without a shared iteration
    space), TG0703 (an inout tensor read away from where it is written), TG0704 (arithmetic on complex or 8-bit floats).
    """
    values, lets, closed = closed_values(kernel, constants)
    first = kernel.assigns[0]
    require_shared_space(kernel, first)

    return nest_over(kernel, values, first.axes, closed, lets)


Lets = tuple[tuple[str, Value], ...]


def closed_values(
    kernel: Kernel, constants: Mapping[str, int] | None
) -> tuple[dict[str, int], Lets, dict[str, Value]]:
    """Values of compile-time sizes (`constants` over the defaults), and those of lets and assignments, as `inline_lets`
    gives them. Raises TG0701, TG0704, TG0705."""
    lets, closed = inline_lets(kernel)
    require_memories(kernel)
    require_computable(kernel, closed)
    defaults = {s.name: s.default for s in kernel.sizes if s.default is not None}
    return defaults | dict(constants or {}), lets, closed


def nest_over(
    kernel: Kernel,
    values: Mapping[str, int],
    space: Sequence[Axis],
    closed: Mapping[str, Value],
    lets: Lets,
    reduced: tuple[str, ...] = (),
) -> Nest:
    """The nest over the axes `space` of the spec, moved to start at 0.

    `values`: compile-time sizes; `closed`: the value of each assignment by its number as text, over these axes;
    `reduced`: see `Nest`."""
    axes = tuple(NestAxis(a.name, _extent(a, values, a.name in reduced)) for a in space)
    shift = {a.name: sym(a.name) + substitute(a.lower, values) for a in space}
    builder = _Builder(kernel, values, shift)
    stores = tuple(builder.store(a, closed[str(n)]) for n, a in enumerate(kernel.assigns))
    loads = {read: builder.load(read) for store in stores for read in reads_of(store.value)}
    require_in_place(kernel, stores, loads)
    return Nest(
        kernel=kernel,
        axes=axes,
        axis_values=shift,
        pointers=builder.pointers(loads, stores),
        loads=loads,
        stores=stores,
        lets=lets,
        dynamic_strides=tuple(
            (t.name, d) for t in kernel.tensors for d, s in enumerate(t.strides) if s is None
        ),
        constants=values,
        reduced=reduced,
    )


def reads_of(value: Value) -> tuple[Read, ...]:
    """Distinct reads of `value`, in order."""
    return tuple(dict.fromkeys(v for v in walk(value) if isinstance(v, Read)))


def require_memories(kernel: Kernel) -> None:
    """Tensors that can be generated. Raises TG0701."""
    problems = []
    for tensor in kernel.tensors:
        if tensor.texture is not None:
            words = f"texture({tensor.texture.filter}, {tensor.texture.address})"
            message = "reading through a texture cannot be generated yet"
            problems.append(not_yet(message, tensor.span, f"leave `{words}` out"))
        elif tensor.constant:
            message = "constant memory cannot be generated yet"
            problems.append(not_yet(message, tensor.span, "leave `constant` out"))
    if problems:
        raise SpecError(problems)


_LATER = "`tilegen check` and the NumPy reference accept this kernel; generation follows in a later version"


def not_yet(message: str, span: Span, action: str = _LATER) -> Diagnostic:
    """TG0701: a kernel that is right but cannot be generated in this version."""
    return Diagnostic(
        "TG0701",
        message,
        span,
        notes=(
            "this version generates copies, layout changes, elementwise expressions, reductions, scans, histograms",
        ),
        helps=(action,),
    )


def require_computable(kernel: Kernel, closed: Mapping[str, Value]) -> None:
    """Complex and 8-bit floats only move. Raises TG0704."""
    problems = []
    for n, assign in enumerate(kernel.assigns):
        computed = {
            d
            for node in walk(closed[str(n)])
            if isinstance(node, Binary | Unary | Call | Cast)
            for d in (node.dtype, *(child.dtype for child in children(node)))
            if d.kind is Kind.COMPLEX or d in (F8E4M3, F8E5M2)
        }
        problems += [_no_arithmetic(d, assign.span) for d in sorted(computed, key=str)]
    for tensor in kernel.tensors:
        if tensor.element in (F8E4M3, F8E5M2) and tensor.boundary_value:
            problems.append(_no_arithmetic(tensor.element, tensor.span))
    if problems:
        raise SpecError(problems)


def _no_arithmetic(dtype: ElementType, span: Span) -> Diagnostic:
    return Diagnostic(
        "TG0704",
        f"arithmetic on {dtype} cannot be generated yet",
        span,
        notes=("complex and 8-bit floating-point elements can be moved, not computed with, in this version",),
        helps=("move the elements as they are, or keep the data in f32",),
    )


def require_shared_space(kernel: Kernel, first: Assign) -> None:
    ranges = {a.name: (a.lower, a.upper) for a in first.axes}
    for assign in kernel.assigns[1:]:
        if {a.name: (a.lower, a.upper) for a in assign.axes} != ranges:
            raise SpecError(
                [
                    Diagnostic(
                        "TG0702",
                        f"`{first.tensor}` and `{assign.tensor}` are not computed over the same axes and ranges",
                        assign.span,
                        notes=(
                            f"`{first.tensor}` runs over {_space(first)}, `{assign.tensor}` over {_space(assign)}",
                        ),
                        helps=("write them as two kernels",),
                    )
                ]
            )


def _space(assign: Assign) -> str:
    return ", ".join(f"{a.name} in {a.lower}..{a.upper}" for a in assign.axes) or "a single point"


def require_in_place(kernel: Kernel, stores: tuple[Store, ...], loads: Mapping[Read, Access]) -> None:
    written = {s.access.pointer: s.access for s in stores}
    for read, access in loads.items():
        target = written.get(access.pointer)
        if target is not None and (
            access.checked or access.address != target.address or access.member != target.member
        ):
            inout = kernel.tensor(read.tensor).role is Role.INOUT
            if (
                inout
                and access.member != target.member
                and access.address == target.address
                and not access.checked
            ):
                continue
            raise SpecError(
                [
                    Diagnostic(
                        "TG0703",
                        f"`{read.tensor}` is read at another element than the one written",
                        read.span,
                        notes=(
                            "every read must see the value from before the launch; another thread may have written",
                        ),
                        helps=(f"read from an `in` tensor and write `{read.tensor}` as `out`",),
                    )
                ]
            )


def _extent(axis: Axis, values: Mapping[str, int], reduced: bool) -> Expr:
    """Points of an axis. A range may end before it begins: there is nothing to launch then along a parallel axis, and
    nothing to reduce along another."""
    extent = substitute(axis.upper - axis.lower, values)
    backwards = any(factor < 0 for _, factor in extent.terms)
    return maximum(extent, ZERO) if reduced and backwards else extent


class _Builder:
    """Addresses of reads and writes of one kernel, with compile-time sizes filled in."""

    def __init__(self, kernel: Kernel, values: Mapping[str, int], shift: Mapping[str, Expr]) -> None:
        self.kernel, self.values, self.shift = kernel, values, shift
        self.used: dict[str, tuple[str, str | None]] = {}

    def store(self, assign: Assign, value: Value) -> Store:
        tensor = self.kernel.tensor(assign.tensor)
        index = [self._closed(i) for i in assign.indices]
        return Store(self._access(tensor, index, [], assign.field, assign.value.dtype), value, assign)

    def load(self, read: Read) -> Access:
        tensor = self.kernel.tensor(read.tensor)
        plain: list[Expr] = []
        checked: list[CheckedIndex] = []
        for d, (index, needed) in enumerate(zip(read.indices, read.needs_boundary, strict=True)):
            where = self._closed(index) if isinstance(index, Expr) else index
            if isinstance(where, Expr) and not needed:
                plain.append(where)
                continue
            symbol = f"@{read.tensor}{d}"
            checked.append(CheckedIndex(symbol, where, substitute(tensor.extents[d], self.values)))
            plain.append(sym(symbol))
        return self._access(tensor, plain, checked, read.field, read.dtype)

    def _closed(self, index: Expr) -> Expr:
        return substitute(index, {**self.values, **self.shift})

    def _stride(self, tensor: Tensor, dimension: int) -> Expr:
        stride = tensor.strides[dimension]
        return (
            sym(stride_symbol(tensor.name, dimension)) if stride is None else substitute(stride, self.values)
        )

    def _access(
        self, tensor: Tensor, index: list[Expr], checked: list[CheckedIndex], field: str | None, dtype: DType
    ) -> Access:
        element = substitute(tensor.offset, self.values)
        for d, i in enumerate(index):
            element = element + self._stride(tensor, d) * i
        pointer, address, member = place(tensor, element, field)
        self.used.setdefault(pointer, (tensor.name, field if isinstance(tensor.placement, Soa) else None))
        return Access(
            pointer=pointer,
            address=address,
            member=member,
            checked=tuple(checked),
            boundary=tensor.boundary if checked else None,
            boundary_value=tensor.boundary_value,
            dtype=dtype,
        )

    def pointers(self, loads: Mapping[Read, Access], stores: tuple[Store, ...]) -> tuple[Pointer, ...]:
        read = {a.pointer for a in loads.values()}
        written = {s.access.pointer for s in stores}
        found = []
        for tensor in self.kernel.tensors:
            for name, field in pointer_names(tensor):
                found.append(
                    Pointer(
                        name,
                        tensor.name,
                        field,
                        pointee(tensor, field),
                        name in read,
                        name in written,
                        tensor.align,
                    )
                )
        return tuple(found)


def pointer_names(tensor: Tensor) -> tuple[tuple[str, str | None], ...]:
    """(pointer name, field) of each pointer argument of `tensor`."""
    if isinstance(tensor.element, Struct) and isinstance(tensor.placement, Soa):
        return tuple((f"{tensor.name}_{f.name}", f.name) for f in tensor.element.fields)
    return ((tensor.name, None),)


def uniform(struct: Struct) -> DType | None:
    """The one member type of a struct whose members all have it."""
    kinds = {f.dtype for f in struct.fields}
    return next(iter(kinds)) if len(kinds) == 1 else None


def pointee(tensor: Tensor, field: str | None) -> ElementType:
    if not isinstance(tensor.element, Struct):
        return tensor.element
    if field is not None:
        member = tensor.element.field(field)
        assert member is not None
        return member.dtype
    return uniform(tensor.element) or tensor.element


def place(tensor: Tensor, element: Expr, field: str | None) -> tuple[str, Expr, str | None]:
    """Pointer, address in units of what it points to, and member, of `element` (counted in elements)."""
    struct = tensor.element
    if not isinstance(struct, Struct):
        return tensor.name, element, None
    assert field is not None
    number = [f.name for f in struct.fields].index(field)
    member_type = uniform(struct)
    match tensor.placement:
        case Soa():
            return f"{tensor.name}_{field}", element, None
        case Aos():
            if member_type is None:
                return tensor.name, element, field
            return tensor.name, element * len(struct.fields) + number, None
        case Aosoa(block=block):
            if member_type is None:
                return tensor.name, element, field
            whole = element // block * (block * len(struct.fields))
            return tensor.name, whole + number * block + element % block, None
