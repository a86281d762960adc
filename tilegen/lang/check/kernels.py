"""One kernel: the rules in order, first those that no type changes, then the rest for every choice of types."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tilegen.dtypes import BOOL, DType, Kind
from tilegen.lang import syntax
from tilegen.lang.check.bounds import BoundsProver
from tilegen.lang.check.call_rules import always_empty
from tilegen.lang.check.directives import check_schedules
from tilegen.lang.check.domains import Bindings, Domain, DomainFinder
from tilegen.lang.check.expectations import check_expectations
from tilegen.lang.check.header import Number, constant_number, declare, parameter_value, resolve_header
from tilegen.lang.check.memories import check_constant_total
from tilegen.lang.check.problems import Problems, merge_choices
from tilegen.lang.check.reads import Reader
from tilegen.lang.check.scope import Scope
from tilegen.lang.check.statements import StatementBuilder, check_target_role
from tilegen.lang.check.tensors import declare_tensors, resolve_tensors
from tilegen.lang.check.tests import check_tests
from tilegen.lang.check.values import Types
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
    found = []
    scope.later = {i.name.name for i in node.items if isinstance(i, syntax.LetStatement)}
    for item in node.items:
        match item:
            case syntax.AssignStatement():
                domain = _assignment_domain(item, scope, bindings, problems)
            case syntax.LetStatement():
                scope.later.discard(item.name.name)
                domain = _local_domain(item, scope, bindings, problems)
            case _:
                continue
        if domain is not None:
            found.append(Shaped(item, domain))
    return found


def _assignment_domain(
    node: syntax.AssignStatement, scope: Scope, bindings: Bindings, problems: Problems
) -> Domain | None:
    finder = DomainFinder(scope, bindings, problems)
    if not check_target_role(node, scope, problems) or not finder.rank_agrees(node.target):
        return None
    return finder.find(node.target.indices or (), node.target.base.name, node.value, node.ranges)


def _local_domain(
    node: syntax.LetStatement, scope: Scope, bindings: Bindings, problems: Problems
) -> Domain | None:
    name = node.name.name
    known = declare(scope, node.name, "local", problems)
    seen: set[str] = set()
    fits = True
    for axis in node.axes:
        if not isinstance(axis, syntax.Name) or not scope.is_axis(axis.name) or axis.name in seen:
            problems.error(
                "TG0314",
                f"the axes of the local `{name}` must be different plain names",
                axis.span,
                note="a local has one value for every point of its axes",
                help=f"write `let {name}[{', '.join('ijklmnpq'[: len(node.axes)])}] = …`",
            )
            fits = False
        else:
            seen.add(axis.name)
    domain = None
    if fits:
        domain = DomainFinder(scope, bindings, problems).find(node.axes, None, node.value, node.ranges)
    if not known:
        return None
    if domain is None:
        scope.broken.add(name)
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
        problems.error(
            "TG0205",
            "the value of a scalar parameter must be a number"
            if dtype is not BOOL
            else "write `true` or `false`",
            expression.span,
            help="write a literal, for example `1e-5`",
        )
        return None
    if dtype.kind is Kind.COMPLEX and not isinstance(number, bool):
        return float(number)
    return parameter_value(number, dtype, expression.span, problems)
