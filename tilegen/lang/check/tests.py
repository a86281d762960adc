"""Tests: every size has a value, the values fit the kernel, the clauses are known."""

from __future__ import annotations

from collections.abc import Sequence

from tilegen.dtypes import DTYPES, DType
from tilegen.lang import syntax
from tilegen.lang.check.call_rules import call_problems
from tilegen.lang.check.header import Number, constant_number, parameter_value
from tilegen.lang.check.problems import Problems, suggestion
from tilegen.lang.check.scope import Scope
from tilegen.lang.source import Span
from tilegen.lang.spec import Fill, Kernel, Test


def check_tests(
    node: syntax.KernelDecl, scope: Scope, kernels: Sequence[Kernel], problems: Problems
) -> tuple[Test, ...]:
    """`kernels` is empty where the kernel has problems of its own: then shapes are not tried."""
    tests = [
        _Test(item, scope, kernels, problems).check()
        for item in node.items
        if isinstance(item, syntax.TestDecl)
    ]
    return tuple(t for t in tests if t is not None)


class _Test:
    def __init__(
        self, node: syntax.TestDecl, scope: Scope, kernels: Sequence[Kernel], problems: Problems
    ) -> None:
        self.node = node
        self.scope = scope
        self.kernels = kernels
        self.problems = problems
        self.seen: dict[str, syntax.Ident] = {}

    def check(self) -> Test | None:
        before = len(self.problems.found)
        settings = check_settings(self.node.settings, self.scope, self.problems, "test")
        words = self._clauses()
        if len(self.problems.found) > before:
            return None
        sizes, scalars, types = settings
        self._complete(sizes, scalars)
        if len(self.problems.found) == before:
            self._fits(sizes, scalars, types)
        if len(self.problems.found) > before:
            return None
        fill = words.get("fill")
        seed, rtol, atol = (self._number(words, k) for k in ("seed", "rtol", "atol"))
        return Test(
            tuple(sizes.items()),
            tuple(scalars.items()),
            tuple(types.items()),
            "on" in words,
            None if fill is None else Fill(fill.value.name if isinstance(fill.value, syntax.Name) else ""),
            0 if seed is None else int(seed),
            None if rtol is None else float(rtol),
            None if atol is None else float(atol),
            self.node.span,
        )

    def _number(self, words: dict[str, syntax.TestClause], key: str) -> Number | None:
        return constant_number(words[key].value) if key in words else None

    def _clauses(self) -> dict[str, syntax.TestClause]:
        words: dict[str, syntax.TestClause] = {}
        for clause in self.node.clauses:
            word = clause.keyword.name
            if word in words:
                self.problems.error(
                    "TG0542", f"`{word}` is given twice", clause.span, help="keep one of them"
                )
                continue
            words[word] = clause
            self._clause(word, clause)
        return words

    def _clause(self, word: str, clause: syntax.TestClause) -> None:
        value = clause.value
        text = value.name if isinstance(value, syntax.Name) else value.span.text
        match word:
            case "on":
                if text != "gpu":
                    self.problems.error(
                        "TG0542", f"a test runs `on gpu`, not on `{text}`", value.span, help="write `on gpu`"
                    )
            case "fill":
                fills = [f.value for f in Fill]
                if text not in fills:
                    self.problems.error(
                        "TG0542", f"unknown fill `{text}`", value.span, help=suggestion(text, fills, "fills")
                    )
            case "seed" | "rtol" | "atol":
                number = constant_number(value)
                whole = word == "seed"
                bad = number is None or isinstance(number, bool) or (whole and not isinstance(number, int))
                if bad or number is None or not number >= 0:
                    kind = "an integer" if whole else "a number"
                    example = "7" if whole else "1e-5"
                    self.problems.error(
                        "TG0542",
                        f"`{word}` must be {kind}, 0 or more",
                        value.span,
                        help=f"write a number: `{word} {example}`",
                    )
            case _:
                known = ["on", "fill", "seed", "rtol", "atol"]
                self.problems.error(
                    "TG0542",
                    f"unknown clause `{word}`",
                    clause.keyword.span,
                    help=suggestion(word, known, "clauses"),
                )

    def _complete(self, sizes: dict[str, int], scalars: dict[str, Number]) -> None:
        """Every size that is known at run time, and every scalar without a default, has a value."""
        missing = [s.name for s in self.scope.sizes.values() if s.default is None and s.name not in sizes]
        missing += [n for n, d in self.scope.scalars.items() if d.default is None and n not in scalars]
        if missing:
            names = ", ".join(f"`{m}`" for m in missing)
            self.problems.error(
                "TG0541",
                f"the test gives no value for {names}",
                self.node.span,
                help="add " + ", ".join(f"`{m} = …`" for m in missing),
            )

    def _fits(self, sizes: dict[str, int], scalars: dict[str, Number], types: dict[str, DType]) -> None:
        """The shape is one the kernel can be called with."""
        values = {n: v for n, v in scalars.items() if isinstance(v, int) and not isinstance(v, bool)}
        check_shape(self.kernels, {**sizes, **values}, types, self.node.span, self.problems)


def check_shape(
    kernels: Sequence[Kernel],
    values: dict[str, int],
    types: dict[str, DType],
    span: Span,
    problems: Problems,
) -> None:
    """The first kernel of these types can be called with these sizes."""
    for kernel in kernels:
        if any(dict(kernel.types)[n] != t for n, t in types.items()):
            continue
        for found in call_problems(kernel, values):
            problems.error(
                "TG0543",
                f"the kernel cannot run on this shape: {found.message}",
                span,
                note=found.notes,
                labels=[] if found.span is None else [(found.span, "needed here")],
                help=found.helps[0] if found.code == "TG0326" else "choose other sizes",
            )
        return


def check_settings(
    settings: Sequence[syntax.TestClause], scope: Scope, problems: Problems, what: str
) -> tuple[dict[str, int], dict[str, Number], dict[str, DType]]:
    """`M = 33`, `T = f16`, `eps = 0.1`: names and values of a test or of an `at`."""
    sizes: dict[str, int] = {}
    scalars: dict[str, Number] = {}
    types: dict[str, DType] = {}
    seen: set[str] = set()
    for setting in settings:
        name, value = setting.keyword.name, setting.value
        if name in seen:
            problems.error(
                "TG0540", f"`{name}` is given twice", setting.keyword.span, help="keep one of them"
            )
            continue
        seen.add(name)
        if name in scope.sizes:
            number = constant_number(value)
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                problems.error(
                    "TG0542",
                    f"the size `{name}` must be an integer, 0 or more",
                    value.span,
                    help=f"write a number: `{name} = 33`",
                )
            else:
                sizes[name] = number
        elif name in scope.type_params:
            chosen = _type_choice(name, value, scope, problems)
            if chosen is not None:
                types[name] = chosen
        elif name in scope.scalars:
            scalar = constant_number(value)
            dtype = DTYPES.get(scope.scalars[name].type.name)
            if scalar is None:
                problems.error(
                    "TG0542",
                    f"the value of `{name}` must be a number",
                    value.span,
                    help=f"write a number: `{name} = {'1' if dtype is not None and dtype.is_integer else '0.5'}`",
                )
            elif dtype is None:
                scalars[name] = scalar
            else:
                fitted = parameter_value(scalar, dtype, value.span, problems)
                if fitted is not None:
                    scalars[name] = fitted
        elif name not in scope.broken:
            known = [*scope.sizes, *scope.type_params, *scope.scalars]
            problems.error(
                "TG0540",
                f"`{name}` is not a size, a type parameter or a scalar parameter of this kernel",
                setting.keyword.span,
                help=suggestion(name, known, "parameters"),
            )
    return sizes, scalars, types


def _type_choice(name: str, value: syntax.Expression, scope: Scope, problems: Problems) -> DType | None:
    text = value.name if isinstance(value, syntax.Name) else value.span.text
    choices = {t.name: t for t in scope.type_params[name]}
    if text in choices:
        return choices[text]
    problems.error(
        "TG0544",
        f"`{text}` is not one of the types of `{name}`",
        value.span,
        help=suggestion(text, choices, f"types of `{name}`"),
    )
    return None
