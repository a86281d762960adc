"""Replace reads of a `let` by its value at the indices read, so that stores are closed expressions of reads."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.core.nest.values import map_value, substitute_axes
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.source import Span
from tilegen.lang.spec import Kernel, Let, LocalRead, Value, children

# Values and operations of a statement with its lets written out: what takes a few seconds to plan and print.
MOST_VALUES = 1 << 14


def inline_lets(kernel: Kernel) -> tuple[tuple[tuple[str, Value], ...], dict[str, Value]]:
    """Closed values of all lets in order, and of each assignment by position.

    Returns (let name, value) pairs at the let's own axes, and a mapping from the index of an assignment among
    `kernel.assigns` (as text) to its closed value. Raises SpecError: TG0705 (lets that double too often).
    """
    _require_few_values(kernel)
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


def _require_few_values(kernel: Kernel) -> None:
    sizes: dict[str, int] = {}
    for statement in kernel.statements:
        size = _values(statement.value, sizes)
        if size > MOST_VALUES:
            name = statement.name if isinstance(statement, Let) else statement.tensor
            raise SpecError([_too_many(name, size, statement.span, sizes)])
        if isinstance(statement, Let):
            sizes[statement.name] = size


def _values(value: Value, sizes: Mapping[str, int]) -> int:
    """Values and operations of `value`, its lets written out."""
    if isinstance(value, LocalRead):
        return sizes[value.name]
    return 1 + sum(_values(child, sizes) for child in children(value))


def _too_many(name: str, size: int, span: Span, sizes: Mapping[str, int]) -> Diagnostic:
    largest = max(sizes, key=lambda let: sizes[let])
    return Diagnostic(
        "TG0705",
        f"`{name}` has {size} values and operations once its lets are written out; at most {MOST_VALUES} are planned",
        span,
        notes=("a let that reads another one twice is twice as long",),
        helps=(f"store `{largest}` in an `out` tensor by a kernel of its own and read it here",),
    )
