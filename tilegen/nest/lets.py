"""Replace reads of a `let` by its value at the indices read, so that stores are closed expressions of reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tilegen.algebra import Expr, substitute
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
)


def map_value(value: Value, leaf: Callable[[Value], Value]) -> Value:
    """Rebuild `value` with `leaf` applied to every node without operands (a `Read` after its gathered indices)."""
    match value:
        case Literal() | ScalarRead() | IndexValue() | LocalRead():
            return leaf(value)
        case Read():
            indices = tuple(i if isinstance(i, Expr) else map_value(i, leaf) for i in value.indices)
            return leaf(replace(value, indices=indices))
        case Unary() | Cast():
            return replace(value, operand=map_value(value.operand, leaf))
        case Binary():
            return replace(value, left=map_value(value.left, leaf), right=map_value(value.right, leaf))
        case Where():
            return replace(
                value,
                condition=map_value(value.condition, leaf),
                then=map_value(value.then, leaf),
                otherwise=map_value(value.otherwise, leaf),
            )
        case Call():
            return replace(value, arguments=tuple(map_value(a, leaf) for a in value.arguments))
        case Reduce():
            return replace(value, body=map_value(value.body, leaf))


def substitute_axes(value: Value, replacements: Mapping[str, Expr]) -> Value:
    """`value` with axis names replaced in every index expression."""

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

    return map_value(value, leaf)


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
