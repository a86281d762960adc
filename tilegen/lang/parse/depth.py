"""The limit on the depth of expressions. Later passes recurse; what this lets through fits the stack of Python."""

from __future__ import annotations

from typing import Any, get_args

from tilegen.lang import syntax
from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.source import Source, Span

MAX_DEPTH = 150

_EXPRESSIONS = frozenset(get_args(syntax.Expression))


def check_depth(file: syntax.File) -> list[Diagnostic]:
    """One diagnostic per statement with an expression deeper than `MAX_DEPTH`."""
    problems: list[Diagnostic] = []
    for kernel in file.kernels:
        for part in (*kernel.parameters, *kernel.items):
            depth, root = _deepest(part)
            if depth > MAX_DEPTH:
                problems.append(_too_deep(depth, root))
    return problems


def _too_deep(depth: int, root: Span) -> Diagnostic:
    return Diagnostic(
        "TG0141",
        f"this expression is {depth} operations deep; at most {MAX_DEPTH} are allowed",
        root,
        notes=("a sum of n terms is n - 1 operations deep",),
        helps=("name parts of it with `let`, or use a reduction such as `sum[k](…)`",),
    )


def _deepest(statement: Any) -> tuple[int, Span]:
    """Operations on the longest path to a leaf, and the whole expression they are in.

    No recursion: what is measured may be as deep as the text is long.
    """
    deepest = 0
    where: Span = statement.span
    pending: list[tuple[Any, int, Span]] = [(statement, -1, statement.span)]
    while pending:
        node, depth, root = pending.pop()
        if isinstance(node, tuple):
            pending.extend((child, depth, root) for child in node)
        elif hasattr(node, "__slots__") and not isinstance(node, (Span, Source)):
            if type(node) in _EXPRESSIONS:
                root = node.span if depth < 0 else root
                depth += 1
                if depth > deepest:
                    deepest, where = depth, root
            pending.extend((getattr(node, name), depth, root) for name in node.__slots__)
    return deepest, where
