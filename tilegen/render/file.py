"""`render`: the variants of one kernel become the text of one `.cu` and its `.h`, the same bytes every time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

import jinja2
from jinja2.bccache import Bucket

from tilegen.cache_folder import cache_folder
from tilegen.core.nest.model import Nest
from tilegen.core.plan.model import Plan
from tilegen.cuda.helpers import OUTSIDE, in_order
from tilegen.cuda.names import member_name
from tilegen.cuda.scope import FileContext
from tilegen.cuda.types import TypeNames
from tilegen.cuda.view import KernelView, ParameterView, StructView, VectorView
from tilegen.dtypes import Struct, struct_of
from tilegen.lang.spec import Aosoa
from tilegen.render.kernel import arithmetic_floats, view_kernel
from tilegen.render.launcher import LauncherView, view_launcher


@dataclass(frozen=True, slots=True)
class FileView:
    provenance: tuple[str, ...]
    guard: str
    includes: tuple[str, ...]
    declarations: tuple[str, ...]
    namespace: str
    structs: tuple[StructView, ...]
    vectors: tuple[VectorView, ...]
    helpers: tuple[str, ...]
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
    kernels: tuple[KernelView, ...]
    lines: Mapping[int, int]

    def entry(self, number: int, index: str) -> str:
        return f"{self.namespace}::{self.kernels[number].name}<{index}>"

    def parameters(self, number: int) -> tuple[ParameterView, ...]:
        return self.kernels[number].parameters


def render(plans: Sequence[Plan], name: str, provenance: Sequence[str] = ()) -> Rendered:
    """One file for the variants `plans` of one kernel. `name`: a C identifier, the stem of the launcher's name."""
    types = TypeNames(frozenset(d for p in plans for d in arithmetic_floats(p)))
    structs = _structs(plans[0].nest, types)
    file = FileContext(types, structs={tensor: view.name for tensor, view in structs.items()})
    kernels = tuple(view_kernel(p, file) for p in plans)
    namespace = f"{name}_kernels"
    launcher = view_launcher(name, namespace, plans, kernels, types, file.structs)
    view = FileView(
        provenance=tuple(provenance),
        guard=f"TILEGEN_{name.upper()}_CU",
        includes=tuple(sorted(types.includes)),
        declarations=tuple(OUTSIDE[n] for n in in_order(file.helpers) if n in OUTSIDE),
        namespace=namespace,
        structs=tuple(structs.values()),
        vectors=tuple(v for _, v in sorted(file.vectors.items())),
        helpers=tuple(_helper(name) for name in in_order(file.helpers)),
        kernels=kernels,
        launcher=launcher,
    )
    text = environment().get_template("file.cu.j2").render(file=view)
    source, lines = _take_marks(text)
    header = environment().get_template("header.h.j2").render(file=_for_header(view))
    return Rendered(source, header, namespace, kernels, lines)


def _helper(name: str) -> str:
    """The text of a device function that generated code calls."""
    for template in ("helpers.j2", "collectives.j2"):
        macro = getattr(environment().get_template(template).module, name, None)
        if macro is not None:
            return str(macro())
    raise KeyError(name)


def _for_header(view: FileView) -> FileView:
    return replace(view, guard=view.guard.removesuffix("_CU") + "_H")


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """The one Jinja environment: an undefined name or an impossible branch fails."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("tilegen", "templates"),
        bytecode_cache=_bytecode_cache(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def _bytecode_cache() -> jinja2.BytecodeCache | None:
    """Compiled templates in the user's cache: compiling them is most of the time of `tilegen emit`."""
    folder = cache_folder() / "templates"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _OptionalCache(str(folder))
    except OSError:
        return None


class _OptionalCache(jinja2.FileSystemBytecodeCache):
    """A cache that may fail to be written (a full disk, a read-only home) without anything else failing."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


_MARK = re.compile(r"/\*@(\d+)\*/")


def _take_marks(text: str) -> tuple[str, dict[int, int]]:
    """The text without the marks of spec lines, and the map they made."""
    lines, found = [], {}
    blank = False
    for line in text.split("\n"):
        line = line.rstrip()
        if not line and blank:
            continue
        blank = not line
        marks = _MARK.findall(line)
        lines.append(_MARK.sub("", line))
        if marks:
            found[len(lines)] = int(marks[-1])
    return "\n".join(lines).rstrip("\n") + "\n", found


def _structs(nest: Nest, types: TypeNames) -> dict[str, StructView]:
    views = {}
    for pointer in nest.pointers:
        struct = pointer.dtype
        if not isinstance(struct, Struct):
            continue
        placement = nest.kernel.tensor(pointer.tensor).placement
        block = placement.block if isinstance(placement, Aosoa) else None
        name = f"{pointer.tensor}_element"
        suffix = f"[{block}]" if block is not None else ""
        members = tuple(f"{types.storage(f.dtype)} {member_name(f.name)}{suffix};" for f in struct.fields)
        size = struct.size if block is None else block_size(struct, block)
        checks = (f'static_assert(sizeof({name}) == {size}, "{name} must have {size} bytes");',)
        places = []
        for f in struct.fields if block is None else ():
            member = member_name(f.name)
            place = f"offsetof({name}, {member}) == {f.offset}"
            places.append(f'static_assert({place}, "{member} must lie {f.offset} bytes from the start");')
        views[pointer.tensor] = StructView(name, members, checks, tuple(places), struct.align)
    return views


def block_size(struct: Struct, block: int) -> int:
    """Bytes of `block` elements kept as one run per field, with C's padding."""
    return struct_of(tuple((f"{f.name}{n}", f.dtype) for f in struct.fields for n in range(block))).size
