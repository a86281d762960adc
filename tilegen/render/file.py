"""`render`: the variants of one kernel become the text of one `.cu` and its `.h`, the same bytes every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilegen.core.nest.model import Nest
from tilegen.core.plan.model import Plan
from tilegen.cuda.library import in_order
from tilegen.cuda.names import identifier, names_of
from tilegen.cuda.printer import Printer
from tilegen.cuda.scope import FileContext
from tilegen.cuda.statements import MARK, StatementPrinter
from tilegen.cuda.templates import environment
from tilegen.cuda.tree import (
    CType,
    Field,
    Kernel,
    Parameter,
    SharedArray,
    StructType,
    VectorType,
)
from tilegen.cuda.types import ElementTypes, includes
from tilegen.dtypes import Struct, struct_of
from tilegen.frozen import dataclass
from tilegen.lang.spec import Aosoa
from tilegen.render.kernel import computed_floats, kernel_of
from tilegen.render.launcher import LauncherView, view_launcher


@dataclass(frozen=True, slots=True)
class SharedView:
    """An array in shared memory; `offset`: bytes into the dynamic part, None for a static one."""

    comment: tuple[str, ...]
    type: str
    name: str
    shape: str
    aligned: bool
    offset: int | None


@dataclass(frozen=True, slots=True)
class KernelView:
    """What the template prints of a kernel: text in named slots."""

    name: str
    comment: tuple[str, ...]
    bounds: object
    parameters: tuple[str, ...]
    constants: tuple[tuple[str, int], ...]
    dynamic_bytes: int
    shared: tuple[SharedView, ...]
    evicted: tuple[str, ...]
    setup: str
    phases: str


@dataclass(frozen=True, slots=True)
class StructView:
    """A struct element. `blocked`: its members are arrays, whose places are checked where `offsetof` is there."""

    name: str
    members: tuple[tuple[str, Field], ...]
    size: int
    blocked: bool


@dataclass(frozen=True, slots=True)
class FileView:
    provenance: tuple[str, ...]
    guard: str
    includes: tuple[str, ...]
    outside: tuple[str, ...]
    namespace: str
    structs: tuple[StructView, ...]
    vectors: tuple[VectorType, ...]
    functions: tuple[str, ...]
    kernels: tuple[KernelView, ...]
    launcher: LauncherView


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text, and what a launch needs to know of it.

    `kernels`: one per plan, in order. `entry(n, index)` is the C++ name expression of plan `n`. `lines` maps a line of
    `source` to the line of the spec it comes from.
    """

    source: str
    header: str
    namespace: str
    kernels: tuple[Kernel, ...]
    lines: Mapping[int, int]

    def entry(self, number: int, index: str) -> str:
        return f"{self.namespace}::{self.kernels[number].name}<{index}>"

    def parameters(self, number: int) -> tuple[Parameter, ...]:
        return self.kernels[number].parameters


def render(plans: Sequence[Plan], name: str, provenance: Sequence[str] = ()) -> Rendered:
    """One file for the variants `plans` of one kernel. `name`: a C identifier, the stem of the launcher's name."""
    element_types = ElementTypes(frozenset(d for p in plans for d in computed_floats(p)))
    structs = _structs(plans[0].nest, element_types)
    file = FileContext(element_types, structs)
    kernels = tuple(kernel_of(p, file) for p in plans)
    struct_names: dict[StructType, str] = {}
    for struct in structs.values():
        struct_names[struct] = identifier(struct.wanted, struct_names.values())
    spoken_of: dict[CType, None] = {t: None for k in kernels for t in k.types}
    functions = in_order(n for k in kernels for n in k.library)
    namespace = f"{name}_kernels"
    view = FileView(
        provenance=tuple(provenance),
        guard=f"TILEGEN_{name.upper()}",
        includes=includes(spoken_of),
        outside=tuple(e.text for e in functions if e.outside),
        namespace=namespace,
        structs=tuple(_struct_view(s, struct_names[s]) for s in structs.values()),
        vectors=tuple(sorted((t for t in spoken_of if isinstance(t, VectorType)), key=lambda t: t.name)),
        functions=tuple(e.text for e in functions if not e.outside),
        kernels=tuple(_kernel_view(k, p, struct_names) for k, p in zip(kernels, plans, strict=True)),
        launcher=view_launcher(name, namespace, plans, kernels, element_types, structs, struct_names),
    )
    source, lines = _without_marks(environment().get_template("file.cu.j2").render(file=view))
    header = environment().get_template("header.h.j2").render(file=view)
    return Rendered(source, header, namespace, kernels, lines)


def _kernel_view(kernel: Kernel, plan: Plan, struct_names: Mapping[StructType, str]) -> KernelView:
    printer = Printer(names_of(kernel, struct_names.values()), struct_names)
    statements = StatementPrinter(printer)

    def shared(array: SharedArray) -> SharedView:
        return SharedView(
            comment=tuple(statements.comment(array.comment, 116)),
            type=printer.type(array.variable.type),
            name=printer.name(array.variable),
            shape=statements.shape(array.variable),
            aligned=array.aligned,
            offset=array.offset,
        )

    def parameter(p: Parameter) -> str:
        pointer = "* __restrict__" if p.pointer else ""
        const = "const " if p.const else ""
        return f"{const}{printer.type(p.variable.type)}{pointer} {printer.name(p.variable)}"

    return KernelView(
        name=kernel.name,
        comment=tuple(line for c in kernel.comment for line in statements.comment(c, 120)),
        bounds=kernel.bounds,
        parameters=tuple(parameter(p) for p in kernel.parameters),
        constants=tuple((printer.name(c.variable), c.value) for c in kernel.constants),
        dynamic_bytes=plan.shared_bytes if plan.dynamic_shared else 0,
        shared=tuple(shared(s) for s in kernel.shared),
        evicted=tuple(printer.name(v) for v in kernel.evicted),
        setup=statements.block(kernel.setup, 1),
        phases=statements.block(kernel.phases, 1),
    )


def _without_marks(text: str) -> tuple[str, dict[int, int]]:
    """The text without the marks of spec lines, and the map they made."""
    lines: list[str] = []
    found: dict[int, int] = {}
    for line in text.split("\n"):
        code, _, mark = line.partition(MARK)
        if not code and lines and not lines[-1]:
            continue
        lines.append(code)
        if mark:
            found[len(lines)] = int(mark)
    return "\n".join(lines).rstrip("\n") + "\n", found


def _structs(nest: Nest, element_types: ElementTypes) -> dict[str, StructType]:
    """The struct types of the tensors that have one."""
    found = {}
    for pointer in nest.pointers:
        struct = pointer.dtype
        if not isinstance(struct, Struct):
            continue
        placement = nest.kernel.tensor(pointer.tensor).placement
        block = placement.block if isinstance(placement, Aosoa) else None
        laid_out = struct if block is None else blocked(struct, block)
        fields: list[Field] = []
        for number, member in enumerate(struct.fields):
            name = identifier(member.name, [f.name for f in fields])
            offset = laid_out.fields[number * (block or 1)].offset
            fields.append(Field(member.name, name, element_types.storage(member.dtype), offset, block))
        found[pointer.tensor] = StructType(
            f"{pointer.tensor}_element", tuple(fields), laid_out.size, laid_out.align
        )
    return found


def _struct_view(struct: StructType, name: str) -> StructView:
    members = tuple((f.type.name, f) for f in struct.fields)
    return StructView(name, members, struct.size, any(f.length is not None for f in struct.fields))


def blocked(struct: Struct, block: int) -> Struct:
    """`block` elements kept as one run per field, with C's padding: what a block of an `aosoa` is."""
    return struct_of(tuple((f"{f.name}{n}", f.dtype) for f in struct.fields for n in range(block)))
