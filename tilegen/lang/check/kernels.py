"""One kernel: the rules in order, first those that no type changes, then the rest for every choice of types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tilegen.dtypes import BOOL, DType, Kind
from tilegen.lang import syntax
from tilegen.lang.check.call_rules import always_empty
from tilegen.lang.check.directives import check_schedules
from tilegen.lang.check.domains import Bindings, Domain, DomainFinder
from tilegen.lang.check.expectations import check_expectations
from tilegen.lang.check.header import Number, constant_number, declare, parameter_value, resolve_header
from tilegen.lang.check.problems import Problems, merge_choices
from tilegen.lang.check.proofs.bounds import BoundsProver
from tilegen.lang.check.scope import Fact, NameKind, Scope
from tilegen.lang.check.statements import StatementBuilder, check_target_role
from tilegen.lang.check.tensors.declarations import declare_tensors, resolve_tensors
from tilegen.lang.check.tensors.memories import check_constant_total
from tilegen.lang.check.tests import check_tests
from tilegen.lang.check.values.build import Types
from tilegen.lang.check.values.reads import Reader
from tilegen.lang.check.writes import check_fusion, check_outputs_written, check_overlaps
from tilegen.lang.spec import (
    Assign,
    Kernel,
    KernelFamily,
    Let,
    RuntimeCondition,
    Scalar,
    TypeParam,
)


@dataclass
class Shaped:
    """A statement with its axes."""

    node: syntax.AssignStatement | syntax.LetStatement
    domain: Domain


def check_kernel(node: syntax.KernelDecl, problems: Problems) -> KernelFamily | None:
    before = len(problems.found)
    scope = resolve_header(node, problems)
    declare_tensors(node, scope, problems)
    bindings = Bindings()
    statements = find_domains(node, scope, bindings, problems)
    check_outputs_written(node, scope, problems)
    kernels = check_types(node, scope, statements, bindings, problems)
    axes = axis_names(statements)
    schedules = check_schedules(node, scope, axes, problems)
    complete = len(problems.found) == before
    tests = check_tests(node, scope, kernels if complete else (), problems)
    expectations = check_expectations(node, scope, kernels if complete else (), problems)
    if len(problems.found) > before:
        return None
    parameters = tuple(TypeParam(n, c) for n, c in scope.type_params.items())
    return KernelFamily(node.name.name, parameters, kernels, schedules, tests, expectations, node.name.span)


def find_domains(
    node: syntax.KernelDecl, scope: Scope, bindings: Bindings, problems: Problems
) -> list[Shaped]:
    """Axes of every statement, in order; a local is known from its statement on."""
    shaped = []
    statements = [i for i in node.items if isinstance(i, syntax.AssignStatement | syntax.LetStatement)]
    scope.later = {s.name.name for s in statements if isinstance(s, syntax.LetStatement)}
    scope.reads = {name for statement in statements for name in names_below(statement.value)}
    scope.targets = {s.target.base.name for s in statements if isinstance(s, syntax.AssignStatement)}
    for statement in statements:
        if isinstance(statement, syntax.AssignStatement):
            domain = _assignment_domain(statement, scope, bindings, problems)
        else:
            scope.later.discard(statement.name.name)
            domain = _local_domain(statement, scope, bindings, problems)
        if domain is not None:
            shaped.append(Shaped(statement, domain))
        else:
            scope.doubt(Fact.STATEMENTS)
            for name in names_below(statement):
                scope.doubt(Fact.AXIS, name)
    return shaped


def names_below(node: object) -> Iterator[str]:
    """Names that are read, written as tensors or bound as axes below a node of the syntax."""
    match node:
        case tuple():
            parts: tuple[object, ...] = node
        case syntax.Name():
            yield node.name
            return
        case syntax.Indexed():
            yield node.base.name
            parts = (node.indices,)
        case syntax.RangeClause():
            yield node.axis.name
            parts = (node.lower, node.upper)
        case syntax.Node():
            parts = tuple(getattr(node, slot) for slot in node.__slots__)
        case _:
            return
    for part in parts:
        yield from names_below(part)


def _assignment_domain(
    node: syntax.AssignStatement, scope: Scope, bindings: Bindings, problems: Problems
) -> Domain | None:
    finder = DomainFinder(scope, bindings, problems)
    if not check_target_role(node, scope, problems) or not finder.rank_agrees(node.target):
        return None
    return finder.find(node, node.target.indices or (), node.target.base.name)


def _local_domain(
    node: syntax.LetStatement, scope: Scope, bindings: Bindings, problems: Problems
) -> Domain | None:
    name = node.name.name
    known = declare(scope, node.name, NameKind.LOCAL, problems)
    seen: set[str] = set()
    fits = True
    for axis in node.axes:
        if isinstance(axis, syntax.Name) and scope.is_axis(axis.name) and axis.name not in seen:
            seen.add(axis.name)
        elif fits:
            letters = ", ".join("ijklmnpq"[: len(node.axes)])
            problems.report("TG0314", axis.span, name=name, axes=letters)
            fits = False
    domain = DomainFinder(scope, bindings, problems).find(node, node.axes, None) if fits else None
    if not known:
        return None
    if domain is None:
        scope.doubt(Fact.MEANING, name)
    else:
        scope.lets[name] = domain.axes
    return domain


def axis_names(statements: list[Shaped]) -> list[str]:
    """Every axis of a kernel, outer ones first."""
    names: dict[str, None] = {}
    for s in statements:
        names.update(dict.fromkeys(a.name for a in s.domain.axes))
    for s in statements:
        names.update(dict.fromkeys(a.name for axes in s.domain.reductions.values() for a in axes))
    return list(names)


def check_types(
    node: syntax.KernelDecl, scope: Scope, statements: list[Shaped], bindings: Bindings, problems: Problems
) -> tuple[Kernel, ...]:
    """One kernel per choice of types. What fails for some choices only says for which."""
    equal = tuple(bindings.pairs)
    prover = BoundsProver(list(scope.sizes), frozenset(scope.scalars), scope.defaults, equal)
    kernels, runs = [], []
    for choice in product(*scope.type_params.values()):
        types = dict(zip(scope.type_params, choice, strict=True))
        found = Problems()
        kernel = build_kernel(node, scope, types, statements, bindings, prover, found)
        runs.append((", ".join(f"{n} = {t}" for n, t in types.items()), found.found))
        if kernel is not None:
            kernels.append(kernel)
    problems.found.extend(merge_choices(runs))
    return tuple(kernels)


def build_kernel(
    node: syntax.KernelDecl,
    scope: Scope,
    choices: dict[str, DType],
    statements: list[Shaped],
    bindings: Bindings,
    prover: BoundsProver,
    problems: Problems,
) -> Kernel | None:
    tensors, scalar_types = resolve_tensors(scope, choices, problems)
    check_constant_total(tensors, scope.defaults, problems)
    types = Types(choices, {t.name: t for t in tensors}, scalar_types)
    scalars = resolve_scalars(scope, scalar_types, problems)
    reader = Reader(prover, problems)
    conditions: list[RuntimeCondition] = []
    builder = StatementBuilder(scope, types, reader, prover.equal, problems, conditions)
    done: list[Let | Assign] = []
    for shaped in statements:
        if isinstance(shaped.node, syntax.LetStatement):
            local = builder.let(shaped.node, shaped.domain)
            done.extend([local] if local is not None else [])
        else:
            done.extend(builder.assign(shaped.node, shaped.domain))
    check_overlaps([s for s in done if isinstance(s, Assign)], scope, prover.equal, problems)
    if not problems.found and scope.sure(Fact.STATEMENTS):
        check_fusion([s for s in done if isinstance(s, Assign)], prover.equal, problems)
    problems.found += (found for statement in done for found in always_empty(statement))
    if problems.found:
        return None
    return Kernel(
        node.name.name,
        tuple(choices.items()),
        tuple(scope.sizes.values()),
        scalars,
        tensors,
        tuple(done),
        tuple(bindings.pairs),
        tuple(reader.runtime_bounds),
        node.name.span,
        tuple(conditions),
    )


def resolve_scalars(scope: Scope, types: dict[str, DType], problems: Problems) -> tuple[Scalar, ...]:
    """Defaults of scalar parameters have the parameter's type."""
    scalars = []
    for name, declaration in scope.scalars.items():
        dtype = types.get(name)
        if dtype is None:
            continue
        default: Number | None = None
        if declaration.default is not None:
            default = scalar_value(declaration.default, dtype, problems)
        scalars.append(Scalar(name, dtype, default, declaration.name.span))
    return tuple(scalars)


def scalar_value(expression: syntax.Expression, dtype: DType, problems: Problems) -> Number | None:
    number = constant_number(expression)
    if number is None:
        problems.report("TG0205.bool" if dtype is BOOL else "TG0205.number", expression.span)
        return None
    if dtype.kind is Kind.COMPLEX and not isinstance(number, bool):
        return float(number)
    return parameter_value(number, dtype, expression.span, problems)
