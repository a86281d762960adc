"""Index expressions: syntax to algebra, and the rules for what an index may be."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping

from tilegen import algebra
from tilegen.algebra import Apply, Expr, Sym, substitute
from tilegen.lang import syntax
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Fact, Scope
from tilegen.lang.near import near_to

_INDEX_FUNCTIONS = {"minimum": 2, "maximum": 2, "clip": 3}
_BINARY: dict[str, Callable[[Expr, Expr], Expr]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


class DividesByZero(ArithmeticError):
    """A division by a constant that is 0, or by compile-time sizes that make 0."""

    def __init__(self, node: syntax.BinaryExpression, divisor: Expr) -> None:
        super().__init__(node.span.text)
        self.node, self.divisor = node, divisor

    def report(self, problems: Problems) -> None:
        place, text = self.node.right.span, self.node.span.text
        if self.divisor.constant is not None:
            problems.report("TG0316.number", place, text=text)
        else:
            names = tuple(sorted(algebra.symbols(self.divisor)))
            problems.report("TG0316.header", place, text=text, divisor=place.text, names=names)


def fold(
    expression: syntax.Expression, symbol: Callable[[str], bool], values: Mapping[str, int] | None = None
) -> Expr | None:
    """`expression` as an integer expression over the names for which `symbol` holds; None if it is anything else.

    `values` are those of compile-time sizes. Raises DividesByZero for a division by what is 0 with them.
    """
    match expression:
        case syntax.IntLiteral():
            return algebra.expr(expression.value)
        case syntax.Name():
            return algebra.sym(expression.name) if symbol(expression.name) else None
        case syntax.UnaryExpression(op="-" | "+"):
            operand = fold(expression.operand, symbol, values)
            return operand if operand is None or expression.op == "+" else -operand
        case syntax.BinaryExpression(op="+" | "-" | "*" | "//" | "%"):
            left, right = (fold(e, symbol, values) for e in (expression.left, expression.right))
            if left is None or right is None:
                return None
            if expression.op in ("//", "%") and substitute(right, dict(values or {})).constant == 0:
                raise DividesByZero(expression, right)
            return _BINARY[expression.op](left, right)
        case syntax.BinaryExpression(op="**", right=syntax.IntLiteral(value=power)) if power <= 16:
            left = fold(expression.left, symbol, values)
            return None if left is None else algebra.product([left] * power)
        case syntax.CallExpression(function=f) if _INDEX_FUNCTIONS.get(f.name) == len(expression.arguments):
            arguments = [fold(a, symbol, values) for a in expression.arguments]
            known = [a for a in arguments if a is not None]
            return _call(f.name, known) if len(known) == len(arguments) else None
        case _:
            return None


def _call(function: str, arguments: list[Expr]) -> Expr:
    if function == "minimum":
        return algebra.minimum(*arguments)
    if function == "maximum":
        return algebra.maximum(*arguments)
    return algebra.minimum(algebra.maximum(arguments[0], arguments[1]), arguments[2])


def fold_number(expression: syntax.Expression, scope: Scope, problems: Problems) -> int | None:
    """The value of an expression of compile-time sizes; None where it has none (a division by 0 is reported)."""
    defaults = scope.defaults
    try:
        folded = fold(expression, defaults.__contains__, defaults)
    except DividesByZero as error:
        error.report(problems)
        return None
    return None if folded is None else substitute(folded, dict(defaults)).constant


def size_expression(
    expression: syntax.Expression, scope: Scope, problems: Problems, code: str, outer: Iterable[str] = ()
) -> Expr | None:
    """An integer expression of sizes (and of the axes `outer`). `code`: that of what is no such expression here."""
    allowed = dict.fromkeys((*scope.sizes, *outer))
    try:
        folded = fold(expression, allowed.__contains__, scope.defaults)
    except DividesByZero as error:
        error.report(problems)
        return None
    if folded is None:
        _report_not_a_size(expression, allowed, scope, problems, code)
    return folded


def _report_not_a_size(
    expression: syntax.Expression, allowed: Mapping[str, None], scope: Scope, problems: Problems, code: str
) -> None:
    names = [
        leaf for leaf in leaves(expression) if isinstance(leaf, syntax.Name) and leaf.name not in allowed
    ]
    if not all(scope.sure(Fact.MEANING, name.name) for name in names):
        return
    if names:
        (name, *_), sizes = names, tuple(scope.sizes)
        if name.name in scope.declared:
            kind = scope.declared[name.name][0]
            problems.report(f"{code}.kind", name.span, name=name.name, kind=kind, sizes=sizes)
        else:
            problems.report("TG0207.size", name.span, name=near_to(name.name, allowed))
            scope.unknown(name.name)
        return
    offender = _offender(expression, allowed)
    if isinstance(offender, syntax.BinaryExpression) and offender.op == "/":
        left, right = offender.left.span.text, offender.right.span.text
        problems.report(f"{code}.slash", offender.span, left=left, right=right)
    else:
        problems.report(f"{code}.form", offender.span)


def _offender(expression: syntax.Expression, allowed: Mapping[str, None]) -> syntax.Expression:
    for child in operands(expression):
        if fold(child, allowed.__contains__) is None:
            return _offender(child, allowed)
    return expression


def operands(expression: syntax.Expression) -> tuple[syntax.Expression, ...]:
    """Direct sub-expressions; those of a reduction are left out (they have a scope of their own)."""
    match expression:
        case syntax.UnaryExpression():
            return (expression.operand,)
        case syntax.BinaryExpression():
            return (expression.left, expression.right)
        case syntax.CallExpression():
            return expression.arguments
        case syntax.Indexed():
            return expression.indices or ()
        case _:
            return ()


def leaves(expression: syntax.Expression) -> Iterable[syntax.Expression]:
    below = operands(expression)
    if not below:
        yield expression
    for child in below:
        yield from leaves(child)


def names_in(expression: syntax.Expression) -> Iterator[str]:
    return (leaf.name for leaf in leaves(expression) if isinstance(leaf, syntax.Name))


def index_expression(expression: syntax.Expression, scope: Scope, problems: Problems) -> Expr | None:
    """An index over axes, sizes and scalar parameters; None where it is data-dependent (or wrong, and reported)."""

    def symbol(name: str) -> bool:
        return name in scope.sizes or name in scope.scalars or scope.is_axis(name)

    try:
        return fold(expression, symbol, scope.defaults)
    except DividesByZero as error:
        error.report(problems)
        return None


def is_quasi_affine(index: Expr, axes: Iterable[str]) -> bool:
    """Sums of axes times size expressions, divisions and remainders by size expressions included."""
    wanted = frozenset(axes)
    for monomial, _ in index.terms:
        bearing = [a for a in monomial if _mentions(a, wanted)]
        if len(bearing) > 1:
            return False
        for atom in bearing:
            if isinstance(atom, Apply) and not _affine_operands(atom, wanted):
                return False
    return True


def _affine_operands(atom: Apply, wanted: frozenset[str]) -> bool:
    if not is_quasi_affine(atom.left, wanted):
        return False
    if atom.op in (algebra.Op.MIN, algebra.Op.MAX):
        return is_quasi_affine(atom.right, wanted)
    return not (algebra.symbols(atom.right) & wanted)


def _mentions(atom: Sym | Apply, wanted: frozenset[str]) -> bool:
    if isinstance(atom, Sym):
        return atom.name in wanted
    return bool((algebra.symbols(atom.left) | algebra.symbols(atom.right)) & wanted)
