"""What a name in a statement may be: one pass over its expressions that resolves every name once.

Independent of types, so that a wrong name is one error however many choices of types a kernel has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tilegen.algebra import Expr
from tilegen.lang import syntax
from tilegen.lang.check.indices import index_expression, is_quasi_affine, leaves, names_in, operands
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Fact, NameKind, Scope
from tilegen.lang.check.values.functions import REDUCTIONS, arity, known_functions
from tilegen.lang.near import near_to
from tilegen.lang.source import Span
from tilegen.lang.spec import Role


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A dimension that an axis indexes alone."""

    lower: Expr
    upper: Expr
    tensor: str
    dimension: int
    span: Span
    guarded: bool


@dataclass
class Candidate:
    """An axis of which the range is being looked for."""

    name: str
    span: Span
    range: syntax.RangeClause | None = None
    occurrences: list[Occurrence] = field(default_factory=list)


class NameRules(ABC):
    """Walks one statement, with a frame of axes for the statement and one for each reduction that is open.

    `reported`: names of which an error was told in this statement, or that depend on one: nothing more is told of them.
    """

    def __init__(self, scope: Scope, problems: Problems) -> None:
        self.scope = scope
        self.problems = problems
        self.frames: list[dict[str, Candidate]] = [{}]
        self.target = False
        self.failed = False
        self.reported: set[str] = set()

    @abstractmethod
    def alone(self, name: syntax.Name, base: str, dimension: int) -> None: ...

    @abstractmethod
    def where(self, call: syntax.CallExpression) -> None: ...

    @abstractmethod
    def reduce(self, reduction: syntax.ReduceExpression) -> None: ...

    def report(self, case: str, span: Span, /, **values: object) -> None:
        self.failed = True
        self.problems.report(case, span, **values)

    def axis_known(self, name: str) -> bool:
        return any(name in frame for frame in self.frames)

    @property
    def axes_in_scope(self) -> list[str]:
        return [name for frame in self.frames for name in frame]

    def axis_names(self, expression: syntax.Expression) -> Iterator[syntax.Name]:
        """Names below `expression` that are axes, in order; those of reductions left out."""
        for leaf in leaves(expression):
            if isinstance(leaf, syntax.Name) and self.scope.is_axis(leaf.name):
                yield leaf

    def value(self, expression: syntax.Expression) -> None:
        """Resolve the names of a value."""
        match expression:
            case syntax.Name():
                self._value_name(expression)
            case syntax.CallExpression():
                self._call(expression)
            case syntax.Indexed():
                self.indexed(expression)
            case syntax.ReduceExpression():
                name = expression.function.name
                if name not in REDUCTIONS:
                    self.report("TG0406.reduction", expression.function.span, name=near_to(name, REDUCTIONS))
                self.reduce(expression)
            case syntax.BytesLiteral():
                self.report("TG0215.bytes", expression.span, number=expression.value)
            case _:
                for operand in operands(expression):
                    self.value(operand)

    def _call(self, call: syntax.CallExpression) -> None:
        name = call.function.name
        known = [*known_functions(), *self.scope.type_params]
        if name == "where" and len(call.arguments) == 3:
            self.where(call)
            return
        if name not in known:
            self._unknown_function(call.function, len(call.arguments))
        for argument in call.arguments:
            self.value(argument)

    def _unknown_function(self, function: syntax.Ident, arguments: int) -> None:
        name = function.name
        if not self.scope.sure(Fact.MEANING, name):
            self.failed = True
        elif name in REDUCTIONS:
            self.report("TG0406.axes", function.span, name=name)
        elif name in self.scope.declared:
            self.report("TG0406.brackets", function.span, name=name, kind=self.scope.declared[name][0])
        else:
            known = [n for n in known_functions() if arity(n) == arguments]
            known += self.scope.type_params if arguments == 1 else ()
            self.report("TG0406.function", function.span, name=near_to(name, known))

    def _value_name(self, name: syntax.Name) -> None:
        text, scope = name.name, self.scope
        rank = scope.rank(text)
        if text in self.reported or not scope.sure(Fact.MEANING, text):
            self.failed = True
        elif rank:
            indices = self._fitting(text)
            self.report("TG0215.index", name.span, name=text, rank=rank, indices=indices)
        elif rank is not None:
            self.readable(text, name)
        elif text not in scope.sizes and text not in scope.scalars and not self.axis_known(text):
            known = [*self.axes_in_scope, *scope.sizes, *scope.scalars]
            self._unknown_name(text, name, [*known, *(n for n in self._readable() if not scope.rank(n))])

    def _fitting(self, name: str) -> str | None:
        """Indices for a tensor or local: axes here that have the extents of its dimensions."""
        free = [candidate for frame in self.frames for candidate in frame.values()]
        chosen: list[Candidate] = []
        for _, extent in self.scope.ranges(name):
            fits = (c for c in free if c not in chosen and any(o.upper == extent for o in c.occurrences))
            chosen += [c for c in (next(fits, None),) if c is not None]
        whole = len(chosen) == self.scope.rank(name)
        return ", ".join(candidate.name for candidate in chosen) if whole else None

    def _readable(self) -> list[str]:
        """Tensors and locals that may be read."""
        return [*(n for n, t in self.scope.tensors.items() if t.role is not Role.OUT), *self.scope.lets]

    def _unknown_name(
        self, text: str, node: syntax.Name | syntax.Ident, known: Iterable[str], brackets: bool = False
    ) -> None:
        self.reported.add(text)
        if text in self.scope.type_params:
            self.report("TG0207.type", node.span, name=text)
        elif text in self.scope.later:
            self.report("TG0207.later", node.span, name=text)
        else:
            element = None if brackets else near_to(text, self._readable()).nearest
            self.report("TG0207.name", node.span, name=near_to(text, known), element=element)
            self.scope.unknown(text)

    def readable(self, name: str, node: syntax.Name | syntax.Ident) -> None:
        """An `out` tensor cannot be read."""
        tensor = self.scope.tensors.get(name)
        if tensor is not None and tensor.role is Role.OUT and not self.target:
            self.failed = True
            if self.scope.sure(Fact.ROLE, name):
                self.report("TG0211", node.span, name=name, role=tensor.declaration.role.span)
                self.scope.doubt(Fact.ROLE, name)

    def indexed(self, node: syntax.Indexed) -> None:
        base, declared = node.base.name, self.scope.declared
        if base in self.reported or not self.scope.sure(Fact.MEANING, base):
            self.failed = True
        elif self.scope.rank(base) is None:
            if base not in declared and not self.axis_known(base):
                self._unknown_name(base, node.base, self._readable(), brackets=True)
            elif base in declared and declared[base][0] is NameKind.LOCAL:
                # A local that is declared and has no axes yet is the one whose value this is.
                self.report("TG0207.itself", node.base.span, name=base)
            else:
                kind = declared[base][0] if base in declared else NameKind.AXIS
                self.report("TG0215.elements", node.base.span, name=base, kind=kind)
        elif self.rank_agrees(node):
            self.readable(base, node.base)
            self.indices(base, node.indices or ())
            return
        else:
            for index in node.indices or ():
                self.reported.update(names_in(index))
            return
        for index in node.indices or ():
            self._index(index)

    def rank_agrees(self, node: syntax.Indexed) -> bool:
        rank, given = self.scope.rank(node.base.name) or 0, len(node.indices or ())
        if rank == given:
            return True
        name, declared = node.base.name, self.scope.declared[node.base.name][1]
        if not self.scope.sure(Fact.RANK, f"{name} {given}"):
            self.failed = True
        elif rank:
            self.report("TG0301.indices", node.span, name=name, rank=rank, given=given, declared=declared)
        else:
            plain = name if node.field is None else f"{name}.{node.field.name}"
            self.report(
                "TG0301.none", node.span, name=name, rank=rank, given=given, declared=declared, plain=plain
            )
        self.scope.doubt(Fact.RANK, f"{name} {given}")
        return False

    def indices(self, base: str, indices: Sequence[syntax.Expression]) -> None:
        for dimension, index in enumerate(indices):
            self._index(index)
            if isinstance(index, syntax.Name) and self.scope.is_axis(index.name):
                self.alone(index, base, dimension)

    def _index(self, index: syntax.Expression) -> None:
        before = len(self.problems.found)
        if isinstance(index, syntax.FloatLiteral | syntax.BoolLiteral):
            self.report("TG0313.literal", index.span)
            return
        for name in self.axis_names(index):
            if not self.axis_known(name.name) and name.name not in self.reported:
                self._axis_on_the_right_only(name)
        names = set(names_in(index))
        if names & self.reported or not all(self.scope.sure(Fact.MEANING, name) for name in names):
            self.failed = True
            return
        folded = index_expression(index, self.scope, self.problems)
        if len(self.problems.found) > before:
            self.failed = True
        elif folded is not None:
            if not is_quasi_affine(folded, self.axes_in_scope):
                self.report("TG0303", index.span, index=index.span.text)
        elif self.target:
            self.report("TG0315", index.span)
        else:
            self.value(index)

    def _axis_on_the_right_only(self, name: syntax.Name) -> None:
        self.reported.add(name.name)
        axes = self.axes_in_scope
        known = [k for k in [*axes, *self.scope.sizes, *self.scope.scalars] if len(k) > 1]
        self.report("TG0305", name.span, name=near_to(name.name, known), axes=tuple(axes))
