"""Questions about values and rewrites of them, as trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tilegen.algebra import Expr, substitute, sym, symbols
from tilegen.lang.spec import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    IndexValue,
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


def map_value(
    value: Value, leaf: Callable[[Value], Value], reduction: Callable[[Reduce], Value] | None = None
) -> Value:
    """Rebuild `value` with `leaf` applied to every node without operands (a `Read` after its gathered indices).

    `reduction` replaces reductions; without it their bodies are rebuilt like everything else."""
    match value:
        case Reduce() if reduction is not None:
            return reduction(value)
        case Literal() | ScalarRead() | IndexValue() | LocalRead():
            return leaf(value)
        case _:
            new = rebuilt(value, lambda child: map_value(child, leaf, reduction))
            return leaf(new) if isinstance(new, Read) else new


def certain(value: Value) -> tuple[Value, ...]:
    """The operands evaluated wherever `value` is: no side of a choice, nothing that `and` and `or` may skip."""
    lazy = isinstance(value, Where) or (isinstance(value, Binary) and value.op in (BinaryOp.AND, BinaryOp.OR))
    return children(value)[:1] if lazy else children(value)


def unconditional(value: Value) -> Iterator[Value]:
    """`value` and what is below it, without what is evaluated only under a condition or inside a reduction."""
    yield value
    if not isinstance(value, Reduce):
        for child in certain(value):
            yield from unconditional(child)


def reads_outside(value: Value) -> Iterator[Read]:
    """Reads of `value` that are in none of its reductions."""
    if isinstance(value, Read):
        yield value
    if not isinstance(value, Reduce):
        for child in children(value):
            yield from reads_outside(child)


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
