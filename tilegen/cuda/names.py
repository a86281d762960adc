"""Names, given last: to the variables of a kernel and of a launcher, to struct types and their members.

A spec may use any identifier. Names of the user are kept where C, C++, CUDA, their headers and the library of device
functions leave them free, else they get an underscore. Other variables give way to names of the user. Variables that
are never visible at the same time may share a name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

from tilegen.cuda.library import entry_names
from tilegen.cuda.queries import blocks, declared
from tilegen.cuda.tree import Block, For, Kernel, Part, Skeleton, Variable, VectorType

_FORMS = ("cuda", "CUDA", "TILEGEN_")


@cache
def reserved() -> frozenset[str]:
    """What no generated identifier may be called."""
    text = (Path(__file__).parent / "reserved.txt").read_text(encoding="utf-8")
    words = [w for line in text.splitlines() if not line.startswith("#") for w in line.split()]
    return frozenset(words) | entry_names()


def _has_reserved_form(name: str) -> bool:
    """Identifiers that C and C++ keep for themselves, and those of CUDA's interfaces."""
    driver = name.startswith("cu") and name[2:3].isupper()
    return "__" in name or name.startswith(("_", *_FORMS)) or driver


def identifier(wanted: str, taken: Collection[str] = ()) -> str:
    """A C identifier as near to `wanted` as is allowed, and none of `taken`."""
    name = wanted
    if _has_reserved_form(name):
        while "__" in name:
            name = name.replace("__", "_")
        name = f"n{name}" if name.startswith("_") else f"n_{name}"
    while name in reserved() or name in taken:
        name = f"{name}_" if not name.endswith("_") else f"{name[:-1]}1_"
    return name


def names_of_variables(variables: Iterable[Variable], taken: Iterable[str] = ()) -> dict[Variable, str]:
    """Names for variables that are all alive at once."""
    ordered = list(dict.fromkeys(variables))
    return _named(ordered, {v: set(ordered) - {v} for v in ordered}, taken)


def names_of(kernel: Kernel, taken: Iterable[str] = ()) -> dict[Variable, str]:
    """Names for all variables of a kernel. `taken`: by the file, such as its struct types."""
    outermost = [p.variable for p in kernel.parameters]
    outermost += [c.variable for c in kernel.constants] + [s.variable for s in kernel.shared]
    meeting: dict[Variable, set[Variable]] = {}
    visible: list[Variable] = []
    for variable in outermost:
        _enter(variable, visible, meeting)
    _walk((*kernel.setup, *kernel.phases), visible, meeting)
    vectors = {t.name for t in kernel.types if isinstance(t, VectorType)}
    return _named(list(meeting), meeting, {*taken, *vectors})


def _enter(variable: Variable, visible: list[Variable], meeting: dict[Variable, set[Variable]]) -> None:
    others = meeting.setdefault(variable, set())
    for other in visible:
        if other is not variable:
            others.add(other)
            meeting[other].add(variable)
    visible.append(variable)


def _walk(block: Block, visible: list[Variable], meeting: dict[Variable, set[Variable]]) -> None:
    depth = len(visible)
    _walk_scope(block, visible, meeting)
    del visible[depth:]


def _walk_scope(block: Block, visible: list[Variable], meeting: dict[Variable, set[Variable]]) -> None:
    """The statements of a block; what they declare stays visible."""
    for statement in block:
        if isinstance(statement, Part):  # no braces of its own
            _walk_scope(statement.body, visible, meeting)
            continue
        outside = len(visible)
        if isinstance(statement, For):
            _enter(statement.variable, visible, meeting)
        if isinstance(statement, Skeleton):
            for variable in (*statement.declares, *statement.inner):
                _enter(variable, visible, meeting)
        for inner in blocks(statement):
            _walk(inner, visible, meeting)
        del visible[outside:]
        for variable in declared(statement):
            _enter(variable, visible, meeting)


def _named(
    variables: list[Variable], meeting: Mapping[Variable, set[Variable]], taken: Iterable[str]
) -> dict[Variable, str]:
    fixed = frozenset(taken)
    names: dict[Variable, str] = {}
    for variable in sorted(variables, key=lambda v: not v.user):
        others = {names[v] for v in meeting[variable] if v in names}
        name = identifier(variable.wanted, fixed)
        number = 0
        while name in others:
            number += 1
            name = identifier(f"{variable.wanted}{number}" if not variable.user else f"{name}_", fixed)
        names[variable] = name
    return names
