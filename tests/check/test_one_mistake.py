"""One mistake gives one error: nothing is told of what only follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tilegen.lang import syntax
from tilegen.lang.check import check
from tilegen.lang.check.kernels import names_below
from tilegen.lang.diagnostics import Problem, SpecError
from tilegen.lang.parse import parse
from tilegen.lang.source import Source

from .bad_specs import BAD, RICH


def problems(text: str) -> tuple[Problem, ...]:
    try:
        check(parse(Source("t", text)))
    except SpecError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("case", BAD)
def test_a_bad_spec_has_the_problem_of_its_case(case: str) -> None:
    assert [p.case for p in problems(BAD[case])] == [case]


# Clauses that are right for the kernel that was meant --------------------------------------------------------------


def of_type(items: tuple[syntax.KernelItem, ...], kind: type) -> list[syntax.KernelItem]:
    return [item for item in items if isinstance(item, kind)]


def right_clauses(kernel: syntax.KernelDecl) -> Iterator[str]:
    """Schedules, tests and expectations that name what the kernel has, or what its mistake took from it."""
    sizes = [p.name.name for p in kernel.parameters if isinstance(p, syntax.SizeDecl) and p.value is None]
    scalars = [p for p in kernel.parameters if isinstance(p, syntax.ScalarDecl)]
    tensors = [item for item in kernel.items if isinstance(item, syntax.TensorDecl)]
    written = {name.name for item in tensors for name in item.names if item.role.name == "out"}
    declared = {*sizes, *(p.name.name for p in kernel.parameters), *(p.name.name for p in kernel.type_params)}
    undeclared = {n for item in tensors for extent in item.extents for n in names_below(extent)} - declared
    statements = [i for i in kernel.items if isinstance(i, syntax.AssignStatement | syntax.LetStatement)]
    locals_ = {s.name.name for s in statements if isinstance(s, syntax.LetStatement)}
    reads = {name for s in statements for name in names_below(s.value)}
    inputs = {name.name for item in tensors for name in item.names if item.role.name != "out"}
    axes = {name for s in statements for name in names_below(s)} - declared - written - inputs - locals_
    axes = {name for name in axes if len(name) == 1 and name in "ijku"}
    staged = sorted(inputs if reads - inputs - axes - declared - written - locals_ else inputs & reads)
    directives = [f"tile {', '.join(f'{a} = 8' for a in sorted(axes))}"] if axes else []
    directives += [f"raster {', '.join(sorted(axes))}", f"unroll {min(axes)} = 2"] if axes else []
    directives += [f"stage {', '.join(staged)}"] if staged else []
    yield f"schedule right {{ {'; '.join([*directives, 'bounds guard'])} }}"
    values = [f"{n} = 8" for n in sorted({*sizes, *undeclared})]
    with_scalars = [
        *values,
        *(f"{p.name.name} = {'true' if p.type.name == 'bool' else '1'}" for p in scalars),
    ]
    types = [f"{p.name.name} = {p.choices[0].name}" for p in kernel.type_params]
    yield f"test {', '.join([*with_scalars, *types])} seed 3"
    yield f"expect right: spills == 0 {'at ' + ', '.join([*values, *types]) if values else ''}"


# Two more sizes that must agree are a mistake of the test that is there.
@pytest.mark.parametrize("case", sorted(BAD))
def test_right_clauses_add_no_error(case: str) -> None:
    text = BAD[case]
    clauses = "\n    ".join(right_clauses(parse(Source("t", text)).kernels[-1]))
    longer = text.rstrip().removesuffix("}") + f"    {clauses}\n}}\n"
    assert [p.case for p in problems(longer)] == [case], longer


# Mistakes of one token in a spec that has every kind of item --------------------------------------------------------

TOKENS = list(re.finditer(r"[A-Za-z_]\w*|\d+(\.\d+)?|\.\.|[<>=]=|\S", RICH))


def test_the_rich_spec_is_right() -> None:
    assert not problems(RICH)


@pytest.mark.parametrize("change", ["renamed", "deleted", "doubled"])
def test_a_wrong_token_is_one_error(change: str) -> None:
    """Every token in turn."""
    several = []
    for token in TOKENS:
        word = token[0]
        if change == "renamed" and not word.isidentifier():
            continue
        instead = {"renamed": "zzq", "deleted": "", "doubled": f"{word} {word}"}[change]
        found = problems(RICH[: token.start()] + instead + RICH[token.end() :])
        if len(found) > 1:
            several.append((word, RICH.count("\n", 0, token.start()) + 1, [p.code for p in found]))
    assert not several


def test_the_first_spec_of_the_issue() -> None:
    text = "kernel t(N) { in a: f32[N]; out b: f32[N]; b[i] = q[i]\n schedule s { tile i = 32; stage a } }"
    assert [p.code for p in problems(text)] == ["TG0207"]
