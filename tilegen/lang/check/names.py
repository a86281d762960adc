"""What a name in a statement may be: one pass over its expressions that resolves every name once.

Independent of types, so that a wrong name is one error however many choices of types a kernel has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from tilegen.algebra import Expr
from tilegen.lang import syntax
from tilegen.lang.check.functions import REDUCTIONS, known_functions
from tilegen.lang.check.indices import index_expression, is_quasi_affine
from tilegen.lang.check.problems import Problems, counted, nearest, suggestion
from tilegen.lang.check.scope import Scope
from tilegen.lang.source import Span
from tilegen.lang.spec import Role


class NameRules(ABC):
    def __init__(self, scope: Scope, problems: Problems) -> None:
        self.scope = scope
        self.problems = problems
        self.target = False
        self.unknown: set[str] = set()

    @abstractmethod
    def fail(self) -> None: ...

    @abstractmethod
    def axis_known(self, name: str) -> bool: ...

    @property
    @abstractmethod
    def axes_in_scope(self) -> list[str]: ...

    @abstractmethod
    def alone(self, name: syntax.Name, lower: Expr | int, upper: Expr, what: str) -> None: ...

    @abstractmethod
    def where(self, call: syntax.CallExpression) -> None: ...

    @abstractmethod
    def reduce(self, reduction: syntax.ReduceExpression) -> None: ...

    def axis_names(self, expression: syntax.Expression) -> Iterator[syntax.Name]:
        """Names below `expression` that are axes, in order; those of reductions left out."""
        match expression:
            case syntax.Name():
                if self.scope.is_axis(expression.name):
                    yield expression
            case syntax.UnaryExpression():
                yield from self.axis_names(expression.operand)
            case syntax.BinaryExpression():
                yield from self.axis_names(expression.left)
                yield from self.axis_names(expression.right)
            case syntax.CallExpression():
                for argument in expression.arguments:
                    yield from self.axis_names(argument)
            case syntax.Indexed():
                for index in expression.indices or ():
                    yield from self.axis_names(index)
            case _:
                return

    def value(self, expression: syntax.Expression) -> None:
        """Resolve the names of a value."""
        match expression:
            case syntax.Name():
                self._value_name(expression)
            case syntax.UnaryExpression():
                self.value(expression.operand)
            case syntax.BinaryExpression():
                self.value(expression.left)
                self.value(expression.right)
            case syntax.CallExpression():
                self._call(expression)
            case syntax.Indexed():
                self.indexed(expression)
            case syntax.ReduceExpression():
                self._reduce(expression)
            case syntax.BytesLiteral():
                self.problems.error(
                    "TG0215",
                    "a number of bytes is not a value",
                    expression.span,
                    help=f"write `{expression.value}`",
                )
                self.fail()
            case _:
                return

    def _call(self, call: syntax.CallExpression) -> None:
        name = call.function.name
        known = [*known_functions(), *self.scope.type_params]
        if name == "where" and len(call.arguments) == 3:
            self.where(call)
            return
        if name not in known:
            self._unknown_function(call.function, known)
        for argument in call.arguments:
            self.value(argument)

    def _unknown_function(self, function: syntax.Ident, known: list[str]) -> None:
        if function.name in REDUCTIONS:
            text = f"name the axes in brackets: `{function.name}[k](…)`"
        elif function.name in self.scope.declared:
            kind = self.scope.declared[function.name][0]
            text = f"`{function.name}` is a {kind}; elements are read with brackets: `{function.name}[…]`"
        else:
            close = nearest(function.name, known)
            text = (
                f"did you mean `{close}`?"
                if close
                else "the functions are listed in the language reference, section 5"
            )
        self.problems.error("TG0406", f"unknown function `{function.name}`", function.span, help=text)
        self.fail()

    def _reduce(self, reduction: syntax.ReduceExpression) -> None:
        name = reduction.function.name
        if name not in REDUCTIONS:
            self.problems.error(
                "TG0406",
                f"unknown reduction `{name}`",
                reduction.function.span,
                help=suggestion(name, REDUCTIONS, "reductions"),
            )
            self.fail()
        self.reduce(reduction)

    def _value_name(self, name: syntax.Name) -> None:
        text = name.name
        if text in self.scope.broken:
            self.fail()
            return
        rank = self.scope.rank(text)
        if rank is not None:
            if rank:
                self.problems.error(
                    "TG0215",
                    f"`{text}` has {counted(rank, 'axis')} and stands here without an index",
                    name.span,
                    help=f"write `{text}[{', '.join('ijklmnpq'[:rank])}]`",
                )
                self.fail()
            else:
                self.readable(name.name, name)
            return
        if text in self.scope.sizes or text in self.scope.scalars or self.axis_known(text):
            return
        self._unknown_name(text, name, [*self.axes_in_scope, *self.scope.value_names])

    def _unknown_name(self, text: str, node: syntax.Name | syntax.Ident, known: list[str]) -> None:
        self.fail()
        if text in self.unknown:
            return
        self.unknown.add(text)
        if text in self.scope.type_params:
            message, hint = f"`{text}` is a type parameter, not a value", f"cast with `{text}(…)`"
        elif text in self.scope.later:
            message, hint = (
                f"`{text}` is a local that is defined further down",
                "move its `let` above this line",
            )
        else:
            message, hint = f"unknown name `{text}`", suggestion(text, known, "names")
        self.problems.error("TG0207", message, node.span, help=hint)

    def _reads_itself(self, name: str, span: Span) -> None:
        """A local that is declared and has no axes yet is the one whose value this is."""
        self.problems.error(
            "TG0207",
            f"`{name}` is read in its own definition",
            span,
            note="a local has one value, which may use those of locals before it",
            help="give the new value a name of its own",
        )
        self.fail()

    def readable(self, name: str, node: syntax.Name | syntax.Ident) -> None:
        """An `out` tensor cannot be read."""
        tensor = self.scope.tensors.get(name)
        if tensor is not None and tensor.role is Role.OUT and not self.target:
            self.problems.error(
                "TG0211",
                f"`{name}` is an `out` tensor and cannot be read",
                node.span,
                help="name the value with `let`, or declare the tensor `inout` to read what it held before the launch",
            )
            self.fail()

    def indexed(self, node: syntax.Indexed) -> None:
        base, indices = node.base.name, node.indices or ()
        if base in self.scope.broken:
            self.fail()
        elif self.scope.rank(base) is None:
            if base in self.scope.declared or self.axis_known(base):
                kind = self.scope.declared[base][0] if base in self.scope.declared else "axis"
                if kind == "local":
                    self._reads_itself(base, node.base.span)
                    return
                self.problems.error(
                    "TG0215",
                    f"`{base}` is a {kind} and has no elements",
                    node.base.span,
                    help=f"write `{base}` alone, or index a tensor",
                )
                self.fail()
            else:
                self._unknown_name(base, node.base, [*self.scope.tensors, *self.scope.lets])
        elif self.rank_agrees(node):
            self.readable(base, node.base)
            self.indices(base, indices)
            return
        for index in indices:
            self._index(index)

    def rank_agrees(self, node: syntax.Indexed) -> bool:
        rank, given = self.scope.rank(node.base.name), len(node.indices or ())
        if rank == given:
            return True
        self.problems.error(
            "TG0301",
            f"`{node.base.name}` has {counted(rank or 0, 'axis')}, and {counted(given, 'index')} "
            f"{'is' if given == 1 else 'are'} given",
            node.span,
            labels=[(self.scope.declared[node.base.name][1], "declared here")],
            help=f"give {counted(rank or 0, 'index')}"
            if rank
            else f"write `{node.base.name}` or `{node.base.name}[]`",
        )
        self.fail()
        return False

    def indices(self, base: str, indices: Sequence[syntax.Expression]) -> None:
        for d, (index, (lower, upper)) in enumerate(zip(indices, self.scope.ranges(base), strict=True)):
            self._index(index)
            if isinstance(index, syntax.Name) and self.scope.is_axis(index.name):
                self.alone(index, lower, upper, f"axis {d} of `{base}`")

    def _index(self, index: syntax.Expression) -> None:
        before = len(self.problems.found)
        if isinstance(index, syntax.FloatLiteral | syntax.BoolLiteral):
            self.problems.error(
                "TG0313",
                "an index is an integer",
                index.span,
                help="write an integer, an axis or a size",
            )
            self.fail()
            return
        for name in self.axis_names(index):
            if not self.axis_known(name.name) and name.name not in self.unknown:
                self._axis_on_the_right_only(name)
        if len(self.problems.found) > before or any(n.name in self.unknown for n in self.axis_names(index)):
            return
        folded = index_expression(index, self.scope, self.problems)
        if folded is None:
            self._data_dependent(index, before)
        elif not is_quasi_affine(folded, self.axes_in_scope):
            self.problems.error(
                "TG0303",
                f"the index `{index.span.text}` is not affine in the axes",
                index.span,
                note="an index is a sum of axes times integers or sizes, with `//` and `%` by integers or sizes",
                help="give each axis a dimension of its own, or pass the indices in an integer tensor: "
                "`a[p[i]]`, where `a` has a boundary",
            )
            self.fail()

    def _axis_on_the_right_only(self, name: syntax.Name) -> None:
        self.unknown.add(name.name)
        self.fail()
        known = self.axes_in_scope
        close = nearest(
            name.name, [k for k in [*known, *self.scope.sizes, *self.scope.scalars] if len(k) > 1]
        )
        left = ", ".join(f"`{k}`" for k in known) or "none"
        self.problems.error(
            "TG0305",
            f"the axis `{name.name}` is neither on the left nor reduced",
            name.span,
            note=f"axes here: {left}",
            help=f"did you mean `{close}`?"
            if close
            else f"put `{name.name}` on the left, or reduce over it: `sum[{name.name}](…)`",
        )

    def _data_dependent(self, index: syntax.Expression, before: int) -> None:
        if len(self.problems.found) > before:
            self.fail()
            return
        if self.target:
            self.problems.error(
                "TG0315",
                "an index on the left cannot depend on data",
                index.span,
                note="two elements could be written to one place",
                help="read through the inverse map on the right, or sum what matches: `sum[i](where(x[i] == b, …))`",
            )
            self.fail()
            return
        self.value(index)
