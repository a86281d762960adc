"""Rewrites of the nest that leave every address what it was: drop unit axes, merge axes that lie end to end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tilegen.algebra import ZERO, Expr, linear_parts, substitute, sym, symbols
from tilegen.core.nest.affine import depends_on
from tilegen.core.nest.build import build_nest
from tilegen.core.nest.model import Access, Nest, NestAxis
from tilegen.lang.spec import IndexValue, Kernel, walk


def simplified_nest(kernel: Kernel, constants: Mapping[str, int] | None, keep: Collection[str]) -> Nest:
    """The nest of `kernel` without unit axes, adjacent ones merged; `keep` names axes that stay."""
    return merge_axes(drop_unit_axes(build_nest(kernel, constants), keep), keep)


def drop_unit_axes(nest: Nest, keep: Collection[str] = ()) -> Nest:
    """Axes whose extent is the constant 1 become the number 0; a row, or a nest without rows, keeps its last one."""
    named = {part for name in keep for part in name.split("*")}
    unit = {a.name: ZERO for a in nest.axes if a.extent.constant == 1 and a.name not in named}
    for row in nest.rows or (tuple(a.name for a in nest.axes),):
        if row and set(row) <= unit.keys():
            unit.pop(row[-1])
    return _rewrite(nest, tuple(a for a in nest.axes if a.name not in unit), unit) if unit else nest


def merge_axes(nest: Nest, keep: Collection[str] = ()) -> Nest:
    """Merge pairs of axes that every access walks end to end; `keep` names axes a schedule refers to: `i`, which stays,
    or `i*j`, which are merged with each other only."""
    groups = {part: name for name in keep for part in name.split("*")}

    def together(outer: NestAxis, inner: NestAxis) -> bool:
        first, second = (groups.get((a.parts or (a.name,))[0]) for a in (outer, inner))
        return first == second and (first is None or "*" in first)

    changed = True
    while changed:
        changed = False
        for outer in nest.axes:
            for inner in nest.axes:
                if outer is not inner and together(outer, inner) and _end_to_end(nest, outer, inner):
                    nest, changed = _merge(nest, outer, inner), True
                    break
            if changed:
                break
    return nest


def _end_to_end(nest: Nest, outer: NestAxis, inner: NestAxis) -> bool:
    if nest.box_of(outer.name) != nest.box_of(inner.name):
        return False
    for access in nest.accesses():
        parts = linear_parts(access.address, [outer.name, inner.name])
        if parts is None:
            return False
        slow, fast = parts[0].get(outer.name, ZERO), parts[0].get(inner.name, ZERO)
        if slow != fast * inner.extent:
            return False
        if any(depends_on(c.index, a.name) for c in access.checked for a in (outer, inner)):
            return False
    names = {outer.name, inner.name}
    used = (
        symbols(node.index)
        for store in nest.stores
        for node in walk(store.value)
        if isinstance(node, IndexValue)
    )
    return not any(names & {s for n in u for s in symbols(nest.axis_values.get(n, ZERO)) | {n}} for u in used)


def _merge(nest: Nest, outer: NestAxis, inner: NestAxis) -> Nest:
    taken = (
        {a.name for a in nest.axes}
        | {s.name for s in nest.kernel.sizes}
        | {t.name for t in nest.kernel.tensors}
    )
    name = f"{outer.name}{inner.name}"
    while name in taken:
        name += "_"
    parts = tuple(part for a in (outer, inner) for part in a.parts or (a.name,))
    merged = NestAxis(name, outer.extent * inner.extent, parts)
    position = nest.axes.index(inner)
    axes = tuple(merged if n == position else a for n, a in enumerate(nest.axes) if a is not outer)
    # Addresses are linear with slow = fast * extent, so the merged axis takes the inner axis's place.
    addresses = {outer.name: ZERO, inner.name: sym(name)}
    values = {outer.name: sym(name) // inner.extent, inner.name: sym(name) % inner.extent}

    def named(axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name if a == inner.name else a for a in axes if a != outer.name)

    nest = replace(nest, reduced=named(nest.reduced), rows=tuple(named(row) for row in nest.rows))
    return _rewrite(nest, axes, addresses, values)


def _rewrite(
    nest: Nest,
    axes: tuple[NestAxis, ...],
    addresses: Mapping[str, Expr],
    values: Mapping[str, Expr] | None = None,
) -> Nest:
    def move(access: Access) -> Access:
        checked = tuple(
            replace(c, index=substitute(c.index, addresses) if isinstance(c.index, Expr) else c.index)
            for c in access.checked
        )
        return replace(access, address=substitute(access.address, addresses), checked=checked)

    left = {a.name for a in axes}
    return replace(
        nest,
        axes=axes,
        reduced=tuple(a for a in nest.reduced if a in left),
        rows=tuple(tuple(a for a in row if a in left) for row in nest.rows),
        axis_values={n: substitute(e, values or addresses) for n, e in nest.axis_values.items()},
        loads={r: move(a) for r, a in nest.loads.items()},
        stores=tuple(replace(s, access=move(s.access)) for s in nest.stores),
    )


def mirror_axis(nest: Nest, name: str) -> Nest:
    """The same points with one axis counted from its end."""
    at = {name: nest.axis(name).extent - 1 - sym(name)}
    return _rewrite(nest, nest.axes, at)
