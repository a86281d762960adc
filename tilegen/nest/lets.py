"""Replace reads of a `let` by its value at the indices read, so that stores are closed expressions of reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tilegen.algebra import Expr, substitute, sym, symbols
from tilegen.spec import (
    Binary,
    Call,
    Cast,
    IndexValue,
    Kernel,
    Let,
    Literal,
    LocalRead,
    Read,
    Reduce,
    ScalarRead,
    Unary,
    Value,
    Where,
    children,
)


def map_value(
    value: Value, leaf: Callable[[Value], Value], reduction: Callable[[Reduce], Value] | None = None
) -> Value:
    """Rebuild `value` with `leaf` applied to every node without operands (a `Read` after its gathered indices).

    `reduction` replaces reductions; without it their bodies are rebuilt like everything else."""
    match value:
        case Literal() | ScalarRead() | IndexValue() | LocalRead():
            return leaf(value)
        case Read():
            indices = tuple(
                i if isinstance(i, Expr) else map_value(i, leaf, reduction) for i in value.indices
            )
            return leaf(replace(value, indices=indices))
        case Unary() | Cast():
            return replace(value, operand=map_value(value.operand, leaf, reduction))
        case Binary():
            return replace(
                value,
                left=map_value(value.left, leaf, reduction),
                right=map_value(value.right, leaf, reduction),
            )
        case Where():
            return replace(
                value,
                condition=map_value(value.condition, leaf, reduction),
                then=map_value(value.then, leaf, reduction),
                otherwise=map_value(value.otherwise, leaf, reduction),
            )
        case Call():
            return replace(value, arguments=tuple(map_value(a, leaf, reduction) for a in value.arguments))
        case Reduce():
            return reduction(value) if reduction else replace(value, body=map_value(value.body, leaf))


def rebuilt(value: Value, change: Callable[[Value], Value]) -> Value:
    """`value` with `change` applied to its direct operands."""
    match value:
        case Literal() | ScalarRead() | IndexValue() | LocalRead():
            return value
        case Read():
            return replace(
                value, indices=tuple(i if isinstance(i, Expr) else change(i) for i in value.indices)
            )
        case Unary() | Cast():
            return replace(value, operand=change(value.operand))
        case Binary():
            return replace(value, left=change(value.left), right=change(value.right))
        case Where():
            return replace(
                value,
                condition=change(value.condition),
                then=change(value.then),
                otherwise=change(value.otherwise),
            )
        case Call():
            return replace(value, arguments=tuple(change(a) for a in value.arguments))
        case Reduce():
            return replace(value, body=change(value.body))


def free_names(value: Value) -> frozenset[str]:
    """Axes and sizes that the index expressions of `value` mention and no reduction inside it binds."""
    names: frozenset[str] = frozenset()
    match value:
        case IndexValue():
            return symbols(value.index)
        case Read() | LocalRead():
            names = frozenset(n for i in value.indices if isinstance(i, Expr) for n in symbols(i))
        case Reduce():
            bounds = frozenset(n for a in value.axes for e in (a.lower, a.upper) for n in symbols(e))
            return bounds | (free_names(value.body) - {a.name for a in value.axes})
        case _:
            pass
    return names.union(*(free_names(child) for child in children(value)))


def substitute_axes(value: Value, replacements: Mapping[str, Expr]) -> Value:
    """`value` with free axis names replaced in every index expression; what a reduction binds stays its own."""

    def leaf(node: Value) -> Value:
        match node:
            case IndexValue():
                return replace(node, index=substitute(node.index, replacements))
            case Read():
                return replace(
                    node,
                    indices=tuple(
                        substitute(i, replacements) if isinstance(i, Expr) else i for i in node.indices
                    ),
                )
            case LocalRead():
                return replace(node, indices=tuple(substitute(i, replacements) for i in node.indices))
            case _:
                return node

    return map_value(value, leaf, lambda node: _substitute_bound(node, replacements))


def _substitute_bound(node: Reduce, replacements: Mapping[str, Expr]) -> Reduce:
    """A reduction with its free names replaced; its own axes are renamed where a replacement mentions them."""
    free = free_names(node)
    wanted = {n: e for n, e in replacements.items() if n in free}
    if not wanted:
        return node
    arriving = {n for e in wanted.values() for n in symbols(e)}
    taken = arriving | free | {a.name for a in node.axes}
    fresh: dict[str, Expr] = {}
    axes = []
    for axis in node.axes:
        name = axis.name
        if name in arriving:
            while name in taken:
                name += "_"
            taken.add(name)
            fresh[axis.name] = sym(name)
        axes.append(
            replace(
                axis, name=name, lower=substitute(axis.lower, wanted), upper=substitute(axis.upper, wanted)
            )
        )
    body = substitute_axes(node.body, fresh) if fresh else node.body
    return replace(node, axes=tuple(axes), body=substitute_axes(body, wanted))


def inline_lets(kernel: Kernel) -> tuple[tuple[tuple[str, Value], ...], dict[str, Value]]:
    """Closed values of all lets in order, and of each assignment by position.

    Returns (let name, value) pairs at the let's own axes, and a mapping from the index of an assignment among
    `kernel.assigns` (as text) to its closed value.
    """
    lets: dict[str, tuple[Let, Value]] = {}

    def leaf(node: Value) -> Value:
        if not isinstance(node, LocalRead):
            return node
        let, value = lets[node.name]
        return substitute_axes(value, {a.name: i for a, i in zip(let.axes, node.indices, strict=True)})

    closed: dict[str, Value] = {}
    for statement in kernel.statements:
        if isinstance(statement, Let):
            lets[statement.name] = (statement, map_value(statement.value, leaf))
        else:
            closed[str(len(closed))] = map_value(statement.value, leaf)
    return tuple((name, value) for name, (_, value) in lets.items()), closed
