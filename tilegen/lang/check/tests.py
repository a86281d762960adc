"""Tests: every size has a value, the values fit the kernel, the clauses are known."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.dtypes import DTYPES, DType
from tilegen.lang import syntax
from tilegen.lang.check.call_rules import call_problems
from tilegen.lang.check.header import Number, constant_number, parameter_value, whole_number
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Fact, Scope
from tilegen.lang.diagnostics import told
from tilegen.lang.near import near_to
from tilegen.lang.source import Span
from tilegen.lang.spec import Fill, Kernel, Test

Settings = tuple[dict[str, int], dict[str, Number], dict[str, DType]]


def check_tests(
    node: syntax.KernelDecl, scope: Scope, kernels: Sequence[Kernel], problems: Problems
) -> tuple[Test, ...]:
    """`kernels` is empty where the kernel has problems of its own: then shapes are not tried."""
    items = [i for i in node.items if isinstance(i, syntax.TestDecl)]
    tests = [_test(item, scope, kernels, problems) for item in items]
    return tuple(t for t in tests if t is not None)


def _test(node: syntax.TestDecl, scope: Scope, kernels: Sequence[Kernel], problems: Problems) -> Test | None:
    before = len(problems.found)
    sizes, scalars, types = check_settings(node.settings, scope, problems)
    words = _clauses(node, problems)
    if len(problems.found) > before:
        return None
    missing = missing_sizes(sizes, scope)
    missing += [n for n, d in scope.scalars.items() if d.default is None and n not in scalars]
    if missing:
        if scope.sure(Fact.SIZES):
            problems.report("TG0541.test", node.span, names=tuple(missing), first=missing[0])
        return None
    whole = {n: v for n, v in scalars.items() if isinstance(v, int) and not isinstance(v, bool)}
    check_shape(kernels, {**sizes, **whole}, types, node.span, problems)
    if len(problems.found) > before:
        return None
    fill = words["fill"].value if "fill" in words else None
    seed, rtol, atol = (
        constant_number(words[k].value) if k in words else None for k in ("seed", "rtol", "atol")
    )
    return Test(
        tuple(sizes.items()),
        tuple(scalars.items()),
        tuple(types.items()),
        "on" in words,
        Fill(fill.name) if isinstance(fill, syntax.Name) else None,
        0 if seed is None else int(seed),
        None if rtol is None else float(rtol),
        None if atol is None else float(atol),
        node.span,
    )


def _clauses(node: syntax.TestDecl, problems: Problems) -> dict[str, syntax.TestClause]:
    words: dict[str, syntax.TestClause] = {}
    for clause in node.clauses:
        word = clause.keyword.name
        if words.setdefault(word, clause) is not clause:
            problems.report("TG0542.twice", clause.span, name=word)
        else:
            _clause(word, clause.value, problems)
    return words


def _clause(word: str, value: syntax.Expression, problems: Problems) -> None:
    text = value.name if isinstance(value, syntax.Name) else value.span.text
    number = constant_number(value)
    fills = [f.value for f in Fill]
    match word:
        case "on" if text != "gpu":
            problems.report("TG0542.on", value.span, text=text)
        case "fill" if text not in fills:
            problems.report("TG0542.fill", value.span, name=near_to(text, fills))
        case "seed" if whole_number(value) is None:
            problems.report("TG0542.seed", value.span)
        case "rtol" | "atol" if number is None or isinstance(number, bool) or not number >= 0:
            problems.report("TG0542.tolerance", value.span, word=word)


def missing_sizes(sizes: dict[str, int], scope: Scope) -> list[str]:
    """Sizes that are known at run time and have no value."""
    return [s.name for s in scope.sizes.values() if s.default is None and s.name not in sizes]


def check_shape(
    kernels: Sequence[Kernel],
    values: dict[str, int],
    types: dict[str, DType],
    span: Span,
    problems: Problems,
) -> None:
    """The first kernel of these types can be called with these sizes."""
    kernel = next((k for k in kernels if all(dict(k.types)[n] == t for n, t in types.items())), None)
    for found in call_problems(kernel, values) if kernel is not None else ():
        text = told(found)
        fact, action = next(iter(text.notes), None), text.helps[0] if found.code == "TG0326" else None
        problems.report("TG0543", span, problem=text.message, fact=fact, action=action, needed=found.span)


def check_settings(settings: Sequence[syntax.TestClause], scope: Scope, problems: Problems) -> Settings:
    """`M = 33`, `T = f16`, `eps = 0.1`: names and values of a test or of an `at`."""
    sizes: dict[str, int] = {}
    scalars: dict[str, Number] = {}
    types: dict[str, DType] = {}
    seen: set[str] = set()
    for setting in settings:
        name, value = setting.keyword.name, setting.value
        if name in seen:
            problems.report("TG0540.twice", setting.keyword.span, name=name)
        elif name in scope.sizes:
            number = whole_number(value)
            if number is None:
                problems.report("TG0542.size", value.span, name=name)
            else:
                sizes[name] = number
        elif name in scope.type_params:
            chosen = _type_choice(name, value, scope, problems)
            if chosen is not None:
                types[name] = chosen
        elif name in scope.scalars:
            scalar = _scalar(name, value, scope, problems)
            if scalar is not None:
                scalars[name] = scalar
        elif scope.sure(Fact.MEANING, name):
            given = [s.keyword.name for s in settings]
            known = (*scope.sizes, *scope.type_params, *scope.scalars)
            left = near_to(name, [n for n in known if n not in given])
            problems.report("TG0540.unknown", setting.keyword.span, name=left, known=known)
        seen.add(name)
    return sizes, scalars, types


def _type_choice(name: str, value: syntax.Expression, scope: Scope, problems: Problems) -> DType | None:
    text = value.name if isinstance(value, syntax.Name) else value.span.text
    choices = {t.name: t for t in scope.type_params[name]}
    if text not in choices and scope.sure(Fact.CHOICES, name):
        problems.report("TG0544", value.span, parameter=name, name=near_to(text, choices))
    return choices.get(text)


def _scalar(name: str, value: syntax.Expression, scope: Scope, problems: Problems) -> Number | None:
    """The number, in the parameter's type where no type parameter decides that."""
    scalar, dtype = constant_number(value), DTYPES.get(scope.scalars[name].type.name)
    if scalar is None:
        problems.report("TG0542.scalar", value.span, name=name)
        return None
    return scalar if dtype is None else parameter_value(scalar, dtype, value.span, problems)
