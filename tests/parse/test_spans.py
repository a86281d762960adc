"""The text at the span of each node is the text that the node was written as."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from tilegen.lang.parse import parse, read_source, source_from_text
from tilegen.lang.source import Source, Span
from tilegen.lang.syntax import (
    BinaryExpression,
    CallExpression,
    Ident,
    Indexed,
    IntLiteral,
    Name,
    ReduceExpression,
    TypeName,
)

LANGUAGE = sorted((Path(__file__).parent.parent / "data" / "language").glob("*.tile"))

SPEC = """\
kernel f[T: f32 | f16](M, K = 128, eps: f32 = -1e-5) {   # é is one character
    in  x, r: T[M, 2 * K] pitch 128B boundary constant 0
    y[i, j] = (x[i, j] + 1) * sum[k in 0..=j](r[i, k]) - f32(p[i].x) for i in 1..M
    schedule s { tile i = {16, 32}; stage x, r pad 1 buffers 3 async }
    test M = 33, K = 2 on gpu seed 3
    expect s: load_sectors <= 1.0 * ideal at M = 64
}
"""


def nodes(value: object) -> Iterator[object]:
    if isinstance(value, tuple):
        for child in value:
            yield from nodes(child)
    elif is_dataclass(value) and not isinstance(value, (Source, Span)):
        yield value
        for f in fields(value):
            yield from nodes(getattr(value, f.name))


def spans(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes(parse(source_from_text(text)).kernels):
        found.setdefault(type(node).__name__, []).append(node.span.text)
    return found


def test_spans_of_every_kind() -> None:
    found = spans(SPEC)
    assert found["KernelDecl"] == [SPEC.rstrip("\n")]
    assert found["TypeParamDecl"] == ["T: f32 | f16"]
    assert found["SizeDecl"] == ["M", "K = 128"]
    assert found["ScalarDecl"] == ["eps: f32 = -1e-5"]
    assert found["TensorDecl"] == ["in  x, r: T[M, 2 * K] pitch 128B boundary constant 0"]
    assert found["ClauseDecl"] == ["pitch 128B", "boundary constant 0"]
    assert found["AssignStatement"] == [
        "y[i, j] = (x[i, j] + 1) * sum[k in 0..=j](r[i, k]) - f32(p[i].x) for i in 1..M"
    ]
    assert found["BinaryExpression"] == [
        "2 * K",
        "(x[i, j] + 1) * sum[k in 0..=j](r[i, k]) - f32(p[i].x)",
        "(x[i, j] + 1) * sum[k in 0..=j](r[i, k])",
        "(x[i, j] + 1)",
        "1.0 * ideal",
    ]
    assert found["Indexed"] == ["y[i, j]", "x[i, j]", "r[i, k]", "p[i].x"]
    assert found["ReduceExpression"] == ["sum[k in 0..=j](r[i, k])"]
    assert found["CallExpression"] == ["f32(p[i].x)"]
    assert found["RangeClause"] == ["k in 0..=j", "i in 1..M"]
    assert found["UnaryExpression"] == ["-1e-5"]
    assert found["ScheduleDecl"] == ["schedule s { tile i = {16, 32}; stage x, r pad 1 buffers 3 async }"]
    assert found["SettingsDirective"] == ["tile i = {16, 32}"]
    assert found["Setting"] == ["i = {16, 32}"]
    assert found["SetValue"] == ["{16, 32}", "1", "3"]
    assert found["StageStatement"] == ["stage x, r pad 1 buffers 3 async"]
    assert found["TestDecl"] == ["test M = 33, K = 2 on gpu seed 3"]
    assert found["TestClause"] == ["M = 33", "K = 2", "on gpu", "seed 3", "M = 64"]
    assert found["ExpectDecl"] == ["expect s: load_sectors <= 1.0 * ideal at M = 64"]
    assert found["ConditionExpression"] == ["load_sectors <= 1.0 * ideal"]


def test_statement_ends_before_its_line_end() -> None:
    found = spans("kernel f(N) {\n    y[i] = x[i]   # a comment\n\n    let t = 1 ;\n}")
    assert found["AssignStatement"] == ["y[i] = x[i]"]
    assert found["LetStatement"] == ["let t = 1"]


def test_optional_parts_that_are_absent_do_not_move_a_span() -> None:
    found = spans("kernel f() { schedule s {} test }")
    assert found["KernelDecl"] == ["kernel f() { schedule s {} test }"]
    assert found["ScheduleDecl"] == ["schedule s {}"]
    assert found["TestDecl"] == ["test"]


@pytest.mark.parametrize("path", LANGUAGE, ids=lambda path: path.stem)
def test_a_span_lies_inside_that_of_its_parent(path: Path) -> None:
    for node in nodes(parse(read_source(path)).kernels):
        for f in fields(node):
            for child in nodes(getattr(node, f.name)):
                assert node.span.start <= child.span.start <= child.span.end <= node.span.end


@pytest.mark.parametrize("path", LANGUAGE, ids=lambda path: path.stem)
def test_names_and_heads_are_at_their_span(path: Path) -> None:
    for node in nodes(parse(read_source(path)).kernels):
        match node:
            case Ident() | Name() | TypeName():
                assert node.span.text == node.name
            case IntLiteral():
                assert int(node.span.text) == node.value
            case Indexed():
                assert node.span.text.startswith(node.base.name)
            case CallExpression() | ReduceExpression():
                assert node.span.text.startswith(node.function.name) and node.span.text.endswith(")")
            case BinaryExpression():
                assert node.op in node.span.text
