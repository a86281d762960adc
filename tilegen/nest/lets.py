"""Replace reads of a `let` by its value at the indices read, so that stores are closed expressions of reads."""

from __future__ import annotations

from tilegen.nest.values import map_value, substitute_axes
from tilegen.spec import Kernel, Let, LocalRead, Value


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
