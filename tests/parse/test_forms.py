"""Every form of LANGUAGE.md, compared as a compact text of the nodes."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from tilegen.lang import syntax
from tilegen.lang.parse import parse, read_source, source_from_text
from tilegen.lang.syntax import (
    AssignStatement,
    BinaryExpression,
    BoolLiteral,
    BytesLiteral,
    CallExpression,
    ExpectDecl,
    FloatLiteral,
    Ident,
    Indexed,
    IntLiteral,
    KernelDecl,
    LetStatement,
    Name,
    RangeClause,
    ReduceExpression,
    ScheduleDecl,
    Star,
    StructType,
    TensorDecl,
    UnaryExpression,
)

LANGUAGE = Path(__file__).parent.parent / "data" / "language"


def shape(node: object) -> str:
    """A node as a compact text: fully parenthesised expressions, other nodes as Type(field …)."""
    match node:
        case None:
            return "-"
        case tuple():
            return "[" + ", ".join(shape(child) for child in node) + "]"
        case Ident() | Name():
            return node.name
        case IntLiteral() | FloatLiteral() | BoolLiteral():
            return repr(node.value)
        case BytesLiteral():
            return f"{node.value} bytes"
        case Star():
            return "*"
        case UnaryExpression():
            return f"({node.op} {shape(node.operand)})"
        case BinaryExpression():
            return f"({shape(node.left)} {node.op} {shape(node.right)})"
        case Indexed():
            field = f".{node.field.name}" if node.field else ""
            return node.base.name + ("" if node.indices is None else shape(node.indices)) + field
        case CallExpression():
            return f"{node.function.name}({shape(node.arguments)[1:-1]})"
        case RangeClause():
            if node.lower is None:
                return node.axis.name
            return f"{node.axis.name} in {shape(node.lower)}{'..=' if node.inclusive else '..'}{shape(node.upper)}"
        case ReduceExpression():
            return f"{node.function.name}{shape(node.axes)}({shape(node.body)})"
        case str() | bool():
            return str(node)
        case _ if is_dataclass(node):
            inner = " ".join(
                shape(getattr(node, f.name)) for f in fields(node) if f.name not in ("span", "source")
            )
            return f"{type(node).__name__}({inner})"
    raise AssertionError(node)


def kernel(text: str) -> KernelDecl:
    (only,) = parse(source_from_text(text)).kernels
    return only


def expression(text: str) -> str:
    item = kernel(f"kernel f(N) {{ y = {text} }}").items[0]
    assert isinstance(item, AssignStatement)
    return shape(item.value)


def tensor(text: str) -> TensorDecl:
    item = kernel(f"kernel f(N) {{ {text} }}").items[0]
    assert isinstance(item, TensorDecl)
    return item


def item(text: str) -> str:
    return shape(kernel(f"kernel f(N) {{ {text} }}").items[0])


@pytest.mark.parametrize("path", sorted(LANGUAGE.glob("*.tile")), ids=lambda path: path.stem)
def test_examples_of_the_language(path: Path) -> None:
    assert [k.name.name for k in parse(read_source(path)).kernels] == [path.stem]


def test_all_examples_in_one_file() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(LANGUAGE.glob("*.tile")))
    names = [k.name.name for k in parse(source_from_text(text)).kernels]
    assert names == sorted(path.stem for path in LANGUAGE.glob("*.tile"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("(1 + 2) * 3", "((1 + 2) * 3)"),
        ("a - b - c", "((a - b) - c)"),
        ("a / b // c % d", "(((a / b) // c) % d)"),
        ("-a ** b", "(- (a ** b))"),
        ("a ** -b", "(a ** (- b))"),
        ("a ** b ** c", "(a ** (b ** c))"),
        ("- - a", "(- (- a))"),
        ("--a", "(- (- a))"),
        ("+a", "(+ a)"),
        ("a < b + 1", "(a < (b + 1))"),
        ("not a == b", "(not (a == b))"),
        ("not not a", "(not (not a))"),
        ("a or b and not c", "(a or (b and (not c)))"),
        ("a and b or c and d", "((a and b) or (c and d))"),
        ("a == 1 or b != 2", "((a == 1) or (b != 2))"),
        ("(a < b) == (b < c)", "((a < b) == (b < c))"),
        ("1_000", "1000"),
        ("0", "0"),
        ("1.5", "1.5"),
        ("1e-5", "1e-05"),
        ("2.5E+3", "2500.0"),
        ("inf", "inf"),
        ("-inf", "(- inf)"),
        ("nan", "nan"),
        ("true", "True"),
        ("false", "False"),
        ("18446744073709551615", "18446744073709551615"),
        ("a[i, j]", "a[i, j]"),
        ("a[]", "a[]"),
        ("a[2 * i + 1]", "a[((2 * i) + 1)]"),
        ("a[N - 1 - i]", "a[((N - 1) - i)]"),
        ("a[i // 2] + a[i % 4]", "(a[(i // 2)] + a[(i % 4)])"),
        ("a[idx[i], j]", "a[idx[i], j]"),
        ("p[i].x", "p[i].x"),
        ("p.x", "p.x"),
        ("p[i].x ** 2", "(p[i].x ** 2)"),
        ("f32(x[i])", "f32(x[i])"),
        ("where(i < M, a[i], b[i - M])", "where((i < M), a[i], b[(i - M)])"),
        ("clip(x, 0, 1)", "clip(x, 0, 1)"),
        ("f()", "f()"),
        ("sum[k](a[i, k] * b[k, j])", "sum[k]((a[i, k] * b[k, j]))"),
        ("sum[u in 0..7](w[u] * a[i + u - 3])", "sum[u in 0..7]((w[u] * a[((i + u) - 3)]))"),
        ("sum[k in 0..=i](x[k])", "sum[k in 0..=i](x[k])"),
        ("sum[k in i..N](x[k])", "sum[k in i..N](x[k])"),
        ("sum[c, r in 0..3, s](x)", "sum[c, r in 0..3, s](x)"),
        ("sum[k in 0 .. N - 1](x[k])", "sum[k in 0..(N - 1)](x[k])"),
        ("count[i](x[i] == b)", "count[i]((x[i] == b))"),
        ("e[i] / sum[k](e[k]) + 1", "((e[i] / sum[k](e[k])) + 1)"),
        ("1 + 2  # a comment\n", "(1 + 2)"),
        ("(a\n + b)", "(a + b)"),
        ("a +\n b", "(a + b)"),
        ("a[i,\n j]", "a[i, j]"),
        ("a and\n b", "(a and b)"),
        ("not\n b", "(not b)"),
        ("a[\n\n  i # the row\n  , j\n]", "a[i, j]"),
    ],
)
def test_expressions(text: str, expected: str) -> None:
    assert expression(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in x: f32[R, C]", "TensorDecl(in [x] TypeName(f32) [R, C] [])"),
        ("inout x: f32[]", "TensorDecl(inout [x] TypeName(f32) [] [])"),
        ("in x, r: T[2*M, N // 4, 7]", "TensorDecl(in [x, r] TypeName(T) [(2 * M), (N // 4), 7] [])"),
        (
            "out q: struct { x: f32, y: u8 }[P] soa",
            "TensorDecl(out [q] StructType([[x, TypeName(f32)], [y, TypeName(u8)]]) [P] [ClauseDecl(soa [])])",
        ),
        (
            "in q: struct {\n  x: f32,\n  y: u8\n}[P]",
            "TensorDecl(in [q] StructType([[x, TypeName(f32)], [y, TypeName(u8)]]) [P] [])",
        ),
    ],
)
def test_tensors(text: str, expected: str) -> None:
    assert shape(tensor(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("order(1, 0)", "order [1, 0]"),
        ("pitch 128B", "pitch [128 bytes]"),
        ("pitch 33", "pitch [33]"),
        ("pitch N + 1", "pitch [(N + 1)]"),
        ("strides(lda, 1)", "strides [lda, 1]"),
        ("strides(*, -1, 2 * N)", "strides [*, (- 1), (2 * N)]"),
        ("offset 1", "offset [1]"),
        ("align 16B", "align [16 bytes]"),
        ("align 48KiB", "align [49152 bytes]"),
        ("align 1MiB", "align [1048576 bytes]"),
        ("soa", "soa []"),
        ("aosoa(32)", "aosoa [32]"),
        ("boundary constant 0", "boundary [constant, 0]"),
        ("boundary constant -1.5", "boundary [constant, (- 1.5)]"),
        ("boundary constant -inf", "boundary [constant, (- inf)]"),
        ("boundary constant true", "boundary [constant, True]"),
        ("boundary edge", "boundary [edge]"),
        ("boundary reflect", "boundary [reflect]"),
        ("constant", "constant []"),
        ("texture(linear, edge)", "texture [linear, edge]"),
    ],
)
def test_clauses(text: str, expected: str) -> None:
    assert [shape(c) for c in tensor(f"in x: f32[N] {text}").clauses] == [f"ClauseDecl({expected})"]


def test_several_clauses() -> None:
    clauses = tensor("in x: f32[N] boundary constant constant pitch 128B offset 1 align 16B order(0)").clauses
    assert [c.name.name for c in clauses] == ["boundary", "constant", "pitch", "offset", "align", "order"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b[j, i] = a[i, j]", "AssignStatement(b[j, i] a[i, j] [])"),
        ("s = sum[i](x[i])", "AssignStatement(s sum[i](x[i]) [])"),
        ("s[] = 1", "AssignStatement(s[] 1 [])"),
        ("b[2*i] = a[i]", "AssignStatement(b[(2 * i)] a[i] [])"),
        ("q[i].x = p[i].y", "AssignStatement(q[i].x p[i].y [])"),
        ("q.x = 1", "AssignStatement(q.x 1 [])"),
        (
            "b[i, j] = 0 for i in 1..M - 1, j in 1..=N",
            "AssignStatement(b[i, j] 0 [i in 1..(M - 1), j in 1..=N])",
        ),
        ("let mu[i] = mean[j](x[i, j])", "LetStatement(mu [i] mean[j](x[i, j]) [])"),
        ("let s = 1", "LetStatement(s [] 1 [])"),
        ("let t[i] = i for i in 0..4", "LetStatement(t [i] i [i in 0..4])"),
        ("y[i] =\n  x[i]", "AssignStatement(y[i] x[i] [])"),
        ("y[i] = x[i] for i in 0..\n  N", "AssignStatement(y[i] x[i] [i in 0..N])"),
    ],
)
def test_statements(text: str, expected: str) -> None:
    assert item(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "tile i = 32, j = 32",
            "SettingsDirective(tile [Setting(i SetValue([32])), Setting(j SetValue([32]))])",
        ),
        ("tile i = {16, 32}", "SettingsDirective(tile [Setting(i SetValue([16, 32]))])"),
        ("tile i = {\n16,\n32\n}", "SettingsDirective(tile [Setting(i SetValue([16, 32]))])"),
        ("threads i = 8", "SettingsDirective(threads [Setting(i SetValue([8]))])"),
        ("vector 4", "SettingsDirective(vector [Setting(- SetValue([4]))])"),
        ("vector {2, 4}", "SettingsDirective(vector [Setting(- SetValue([2, 4]))])"),
        (
            "vector a = 4, b = 2",
            "SettingsDirective(vector [Setting(a SetValue([4])), Setting(b SetValue([2]))])",
        ),
        ("unroll k = 4", "SettingsDirective(unroll [Setting(k SetValue([4]))])"),
        ("max_registers 32", "SettingsDirective(max_registers [Setting(- SetValue([32]))])"),
        ("min_blocks {2, 4}", "SettingsDirective(min_blocks [Setting(- SetValue([2, 4]))])"),
        ("stage a", "StageStatement([a] - - - -)"),
        ("stage a pad 1", "StageStatement([a] SetValue([1]) - - -)"),
        ("stage a pad {0, 1}", "StageStatement([a] SetValue([0, 1]) - - -)"),
        ("stage a swizzle", "StageStatement([a] - swizzle - -)"),
        ("stage a, b buffers 3 async", "StageStatement([a, b] - - SetValue([3]) async)"),
        ("stage a async buffers 2 pad 1", "StageStatement([a] SetValue([1]) - SetValue([2]) async)"),
        ("bounds guard", "ChoiceDirective(bounds [guard])"),
        ("bounds {guard, split}", "ChoiceDirective(bounds [guard, split])"),
        ("index i32", "ChoiceDirective(index [i32])"),
        ("raster j, i", "RasterStatement([j, i] -)"),
        ("raster i, j group 8", "RasterStatement([i, j] SetValue([8]))"),
        ("hint a streaming", "HintStatement(a [streaming])"),
        ("hint a {streaming, default}", "HintStatement(a [streaming, default])"),
    ],
)
def test_directives(text: str, expected: str) -> None:
    schedule = kernel(f"kernel f(N) {{ schedule s {{ {text} }} }}").items[0]
    assert isinstance(schedule, ScheduleDecl)
    assert [shape(d) for d in schedule.directives] == [expected]


def test_empty_schedule() -> None:
    assert item("schedule s { }") == "ScheduleDecl(s [])"


@pytest.mark.parametrize(
    ("text", "settings", "clauses"),
    [
        ("test", "", ""),
        ("test M = 33, N = 65", "M=33 N=65", ""),
        ("test M = 8192, N = 8192 on gpu", "M=8192 N=8192", "on=gpu"),
        ("test M = 3, T = f16 fill normal seed 3", "M=3 T=f16", "fill=normal seed=3"),
        ("test M = 3 fill nan, rtol 1e-3, atol 1e-6", "M=3", "fill=nan rtol=0.001 atol=1e-06"),
        ("test on gpu, M = 3", "M=3", "on=gpu"),
        ("test seed = 3 seed 4", "seed=3", "seed=4"),
        ("test M = 2 * 16,\n  N = 3", "M=(2 * 16) N=3", ""),
    ],
)
def test_tests(text: str, settings: str, clauses: str) -> None:
    test = kernel(f"kernel f(N) {{ {text} }}").items[0]
    assert isinstance(test, syntax.TestDecl)
    assert " ".join(f"{c.keyword.name}={shape(c.value)}" for c in test.settings) == settings
    assert " ".join(f"{c.keyword.name}={shape(c.value)}" for c in test.clauses) == clauses


@pytest.mark.parametrize(
    ("text", "schedule", "conditions", "at"),
    [
        ("expect padded: bank_conflicts == 0", "padded", "bank_conflicts == 0", ""),
        ("expect bank_conflicts == 0", None, "bank_conflicts == 0", ""),
        (
            "expect v: load_sectors <= 1.0 * ideal, bandwidth >= 0.9 * copy",
            "v",
            "load_sectors <= (1.0 * ideal); bandwidth >= (0.9 * copy)",
            "",
        ),
        ("expect s: shared_bytes < 48KiB at M = 64, N = 64", "s", "shared_bytes < 49152 bytes", "M=64 N=64"),
        ("expect at: time < 1 at T = f16", "at", "time < 1", "T=f16"),
    ],
)
def test_expectations(text: str, schedule: str | None, conditions: str, at: str) -> None:
    expect = kernel(f"kernel f(N) {{ {text} }}").items[0]
    assert isinstance(expect, ExpectDecl)
    assert (expect.schedule and expect.schedule.name) == schedule
    assert "; ".join(f"{c.metric.name} {c.op} {shape(c.value)}" for c in expect.conditions) == conditions
    assert " ".join(f"{c.keyword.name}={shape(c.value)}" for c in expect.at) == at


def test_header() -> None:
    k = kernel("kernel f[T: f32 | f16, U: u8](M, K = 128, eps: f32 = 1e-5, s: T, flag: bool = true) { }")
    assert shape(k.type_params) == (
        "[TypeParamDecl(T [TypeName(f32), TypeName(f16)]), TypeParamDecl(U [TypeName(u8)])]"
    )
    assert shape(k.parameters) == (
        "[SizeDecl(M -), SizeDecl(K 128), ScalarDecl(eps TypeName(f32) 1e-05), ScalarDecl(s TypeName(T) -), "
        "ScalarDecl(flag TypeName(bool) True)]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "kernel f() {}",
        "kernel f() {\n}\n",
        "kernel f()\n{\n}\n",
        "\n\n# a comment\n\nkernel f(\n  M,\n  N\n) {\n\n\n}\n# another",
        "kernel f() {;;}",
        "kernel f() { ; } ;",
        "kernel\tf\t(\tM\t)\t{\t}",
        "\ufeffkernel f() {}\r\n",
        "kernel f() {\r}\r",
    ],
)
def test_blank_space(text: str) -> None:
    assert kernel(text).name.name == "f"


def test_separators() -> None:
    one = "kernel f(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i]; schedule a { tile i = 8; stage x } test N = 3 }"
    many = (
        "kernel f(N) {\n in x: f32[N]\n out y: f32[N]\n y[i] = x[i]\n"
        " schedule a {\n  tile i = 8\n\n  stage x\n }\n test N = 3\n}\n"
    )
    assert kernel(one) == kernel(many)


def test_kernels_on_one_line() -> None:
    assert len(parse(source_from_text("kernel f() {} kernel g() {}; kernel h() {}")).kernels) == 3


WORDS = """
in out inout let schedule test expect kernel for tile threads stage vector bounds raster unroll hint index order pitch
strides offset align soa aosoa boundary constant texture pad swizzle buffers async group on fill seed rtol atol at
struct and or not inf nan true false double register threadIdx class
""".split()  # noqa: SIM905


@pytest.mark.parametrize("word", WORDS)
def test_any_word_names_a_tensor(word: str) -> None:
    k = kernel(
        f"kernel {word}(N) {{ in {word}: f32[N]; out y, z: f32[N]; y[i] = {word}[i] + {word}[i + 1]; {word}[i] = y[i]\n"
        f"z[i] = {word}[i] and {word}[i] or not {word}[i]; "
        f"schedule {word} {{ stage {word} pad 1; hint {word} default }} expect {word}: time < 1 }}"
    )
    declared, _, first, second, third, schedule, expect = k.items
    assert isinstance(declared, TensorDecl) and declared.names[0].name == word
    assert isinstance(first, AssignStatement) and shape(first.value) == f"({word}[i] + {word}[(i + 1)])"
    assert isinstance(second, AssignStatement) and second.target.base.name == word
    assert isinstance(third, AssignStatement)
    assert shape(third.value) == f"(({word}[i] and {word}[i]) or (not {word}[i]))"
    assert isinstance(schedule, ScheduleDecl) and schedule.name.name == word
    assert isinstance(expect, ExpectDecl) and expect.schedule and expect.schedule.name == word


# As bare operands these six are what they say; everywhere else they are names too.
OPERAND_WORDS = ("inf", "nan", "true", "false", "not")


@pytest.mark.parametrize("word", [w for w in WORDS if w not in OPERAND_WORDS])
def test_any_word_names_an_axis(word: str) -> None:
    k = kernel(
        f"kernel f({word}2) {{ let t[{word}] = sum[{word} in 0..4](x[{word}]) + {word} "
        f"for {word} in 0..{word}2, j in {word}..3\n"
        f"schedule s {{ tile {word} = 4, j = 4; raster {word}, j; unroll {word} = 2 }} "
        f"test {word} = 3, {word}2 = {word} }}"
    )
    let = k.items[0]
    assert isinstance(let, LetStatement)
    assert shape(let.value) == f"(sum[{word} in 0..4](x[{word}]) + {word})"
    assert shape(let.ranges) == f"[{word} in 0..{word}2, j in {word}..3]"


def test_struct_type_has_fields() -> None:
    element = tensor("in p: struct { x: f32 }[N]").type
    assert isinstance(element, StructType)
