"""Schedules against the names of their kernel: axes, tensors, words and plain values. What a machine can honour is
decided where a schedule is completed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilegen.lang import syntax
from tilegen.lang.check.indices import fold_number, names_in
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Fact, Scope
from tilegen.lang.near import near_to
from tilegen.lang.spec import (
    Bounds,
    BoundsDirective,
    Directive,
    Hint,
    HintDirective,
    IndexDirective,
    IndexType,
    KeepDirective,
    Memory,
    NumbersDirective,
    OtherwiseDirective,
    Placement,
    RasterDirective,
    Role,
    ScheduleSpec,
    StageDirective,
    Word,
)

# Directives of axes, which have no number for all of them; `threads` may have one.
_OF_AXES = ("tile", "threads", "unroll", "blocks", "cluster")


def check_schedules(
    node: syntax.KernelDecl, scope: Scope, axes: Sequence[str], problems: Problems
) -> tuple[ScheduleSpec, ...]:
    checker = _Directives(scope, axes, problems)
    seen: dict[str, syntax.ScheduleDecl] = {}
    schedules = []
    for item in node.items:
        if isinstance(item, syntax.ScheduleDecl):
            _named_once(item, seen, problems)
            schedules.append(ScheduleSpec(item.name.name, checker.all(item), item.name.span))
    return tuple(schedules)


def _named_once(item: syntax.ScheduleDecl, seen: dict[str, syntax.ScheduleDecl], problems: Problems) -> None:
    if item.name.name == "auto":
        problems.report("TG0520.auto", item.name.span)
    earlier = seen.setdefault(item.name.name, item)
    if earlier is not item:
        place = earlier.name.span
        problems.report("TG0520.twice", item.name.span, name=item.name.name, earlier=place)


@dataclass
class _Directives:
    scope: Scope
    axes: Sequence[str]
    problems: Problems

    def all(self, schedule: syntax.ScheduleDecl) -> tuple[Directive, ...]:
        """Every directive that is right; each at most once, `stage`, `keep` and `hint` once per tensor, until
        `otherwise`."""
        seen: dict[str, syntax.Ident] = {}
        said: dict[str, syntax.Ident] = {}
        found = []
        for directive in schedule.directives:
            if isinstance(directive, syntax.OtherwiseStatement):
                seen, said = {}, {}
            for key, ident in self._keys(directive):
                self._once(key, ident, seen)
            if isinstance(directive, syntax.SettingsDirective) and directive.keyword.name in _OF_AXES:
                self._one_way(directive, said)
            resolved = self._directive(directive)
            if resolved is not None:
                found.append(resolved)
        return tuple(found)

    def _keys(self, directive: syntax.DirectiveStatement) -> list[tuple[str, syntax.Ident]]:
        match directive:
            case syntax.StageStatement():
                return [(f"stage {t.name}", t) for t in directive.tensors]
            case syntax.KeepStatement():
                return [(f"keep {t.name}", t) for t in directive.tensors] or [("keep", directive.memory)]
            case syntax.HintStatement():
                return [(f"hint {directive.tensor.name}", directive.tensor)]
            case syntax.RasterStatement():
                return [("raster", directive.axes[0])]
            case syntax.SettingsDirective() | syntax.ChoiceDirective():
                return [(directive.keyword.name, directive.keyword)]
            case syntax.OtherwiseStatement():
                return []

    def _once(self, key: str, ident: syntax.Ident, seen: dict[str, syntax.Ident]) -> None:
        earlier = seen.setdefault(key, ident)
        if earlier is not ident:
            self.problems.report("TG0523.directive", ident.span, name=key, earlier=earlier.span)

    def _one_way(self, directive: syntax.SettingsDirective, said: dict[str, syntax.Ident]) -> None:
        """An axis is named by itself or in one product, not in both."""
        for setting in directive.settings:
            for part in setting.name.name.split("*") if setting.name is not None else ():
                assert setting.name is not None
                earlier = said.setdefault(part, setting.name)
                if earlier.name != setting.name.name:
                    self.problems.report(
                        "TG0530",
                        setting.name.span,
                        first=earlier.name,
                        second=setting.name.name,
                        axis=part,
                        earlier=earlier.span,
                        place=setting.name.span,
                    )

    def _directive(self, node: syntax.DirectiveStatement) -> Directive | None:
        match node:
            case syntax.SettingsDirective():
                return self._settings(node)
            case syntax.StageStatement():
                return self._stage(node)
            case syntax.KeepStatement():
                return self._keep(node)
            case syntax.ChoiceDirective():
                return self._choice(node)
            case syntax.RasterStatement():
                return self._raster(node)
            case syntax.HintStatement():
                return self._hint(node)
            case syntax.OtherwiseStatement():
                return OtherwiseDirective(node.span)

    # Names ----------------------------------------------------------------------------------------------------------

    def _axis(self, ident: syntax.Ident, named: Iterable[str]) -> bool:
        """`i`, or `i*j` for the axis that both are. `i_` is an axis of a `let` that is read where there is an `i`."""
        names = ident.name.split("*")
        for name in names:
            if names.count(name) > 1:
                self.problems.report("TG0523.axis", ident.span, name=name)
                return False
            if name not in self.axes and name.rstrip("_") not in self.axes:
                if self.scope.sure(Fact.AXIS, name) and self.scope.sure(Fact.AXIS, name.rstrip("_")):
                    known = [axis for axis in self.axes if axis not in named]
                    self.problems.report("TG0521", ident.span, name=near_to(name, known))
                return False
        return True

    def _size(self, ident: syntax.Ident, named: Iterable[str]) -> bool:
        """A size that a launch has."""
        scope, name = self.scope, ident.name
        if name in scope.defaults:
            self.problems.report("TG0529.known", ident.span, name=name)
        elif name in scope.sizes:
            return True
        elif scope.sure(Fact.MEANING, name):
            sizes = [s for s in scope.sizes if s not in scope.defaults and s not in named]
            self.problems.report("TG0529.unknown", ident.span, name=near_to(name, sizes))
        return False

    def _tensor(self, ident: syntax.Ident, named: Iterable[str]) -> bool:
        """`named`: tensors that the directive names already, or that do not fit it."""
        if ident.name in self.scope.tensors:
            return True
        if self.scope.sure(Fact.MEANING, ident.name):
            known = [name for name in self.scope.tensors if name not in named]
            self.problems.report("TG0522", ident.span, name=near_to(ident.name, known))
        return False

    # Values ---------------------------------------------------------------------------------------------------------

    def _numbers(
        self, value: syntax.SetValue, word: str, least: int = 1, power: bool = False
    ) -> tuple[int, ...] | None:
        """The choices of a value; compile-time sizes may be used. `power`: of two."""
        numbers: list[int] = []
        for choice in value.choices:
            number = self._number(choice, word, least)
            if number is None:
                return None
            if power and number & (number - 1):
                below = 1 << max(number, 1).bit_length() - 1
                self.problems.report(
                    "TG0524.power", choice.span, word=word, number=number, near=(below, 2 * below)
                )
                return None
            if number in numbers:
                self.problems.report("TG0524.twice", choice.span, number=number)
                return None
            numbers.append(number)
        return tuple(numbers)

    def _number(self, choice: syntax.Expression, word: str, least: int) -> int | None:
        before = len(self.problems.found)
        number = fold_number(choice, self.scope, self.problems)
        if number is not None and number >= least:
            return number
        names = list(names_in(choice))
        if len(self.problems.found) == before and all(self.scope.sure(Fact.MEANING, n) for n in names):
            run_time = next(
                (n for n in names if n in self.scope.sizes and n not in self.scope.defaults), None
            )
            case = "TG0524.positive" if least else "TG0524.natural"
            self.problems.report(case, choice.span, word=word, size=run_time)
        return None

    def _settings(self, node: syntax.SettingsDirective) -> Directive | None:
        word = Word(node.keyword.name)
        match word:
            case Word.VECTOR:
                fits = self._tensor
            case Word.AT:
                fits = self._size
            case _:
                fits = self._axis
        entries: dict[str | None, tuple[int, ...]] = {}
        named = [s.name.name for s in node.settings if s.name is not None]
        failed = False
        for setting in node.settings:
            name = None if setting.name is None else setting.name.name
            if name in entries:
                place = setting.span if setting.name is None else setting.name.span
                self.problems.report("TG0523.value", place, name=word if name is None else name)
                failed = True
                continue
            numbers = self._numbers(setting.value, word.value, 1, word is Word.VECTOR)
            if (setting.name is not None and not fits(setting.name, named)) or numbers is None:
                failed = True
                continue
            entries[name] = numbers
        spans = tuple(s.span for s in node.settings)
        return None if failed else NumbersDirective(word, tuple(entries.items()), node.span, spans)

    def _stage(self, node: syntax.StageStatement) -> Directive | None:
        fits = [self._stageable(t) for t in node.tensors]
        if node.pad is not None and node.placed is not None:
            case = "TG0526.swizzle" if node.placed.name == "swizzle" else "TG0526.auto"
            self.problems.report(case, node.placed.span, padding=node.pad.span)
            return None
        pads = (0,) if node.pad is None else self._numbers(node.pad, "pad", 0)
        buffers = (1,) if node.buffers is None else self._numbers(node.buffers, "buffers")
        if pads is None or buffers is None or not all(fits):
            return None
        names = tuple(t.name for t in node.tensors)
        placement = Placement.PADDED if node.placed is None else Placement(node.placed.name)
        return StageDirective(names, placement, pads, buffers, node.asynchronous is not None, node.span)

    def _keep(self, node: syntax.KeepStatement) -> Directive | None:
        fits = [self._stageable(t, "keep") for t in node.tensors]
        memory = self._words((node.memory,), [m.value for m in Memory], "keep")
        if memory is None or not all(fits):
            return None
        return KeepDirective(tuple(t.name for t in node.tensors), Memory(memory[0]), node.span)

    def _stageable(self, ident: syntax.Ident, word: str = "stage") -> bool:
        """Only a tensor that is read can be staged, or kept."""
        scope, name = self.scope, ident.name
        if not self._tensor(ident, [n for n, t in scope.tensors.items() if t.role is Role.OUT]):
            return False
        role = scope.tensors[name].role
        if role is not Role.OUT and name in scope.reads:
            return True
        if scope.sure(Fact.ROLE, name) and scope.sure(Fact.READ):
            readable = tuple(
                n for n, t in scope.tensors.items() if t.role is not Role.OUT and n in scope.reads
            )
            self.problems.report("TG0525", ident.span, name=name, word=word, role=role, tensors=readable)
        return False

    def _choice(self, node: syntax.ChoiceDirective) -> Directive | None:
        if node.keyword.name == "bounds":
            modes = self._words(node.choices, [b.value for b in Bounds], "bounds")
            return None if modes is None else BoundsDirective(tuple(Bounds(m) for m in modes), node.span)
        types = self._words(node.choices, [t.value for t in IndexType], "index")
        return None if types is None else IndexDirective(tuple(IndexType(t) for t in types), node.span)

    def _words(self, choices: Sequence[syntax.Ident], known: list[str], what: str) -> tuple[str, ...] | None:
        for choice in choices:
            if choice.name not in known:
                self.problems.report("TG0527", choice.span, word=what, name=near_to(choice.name, known))
                return None
        return tuple(dict.fromkeys(c.name for c in choices))

    def _raster(self, node: syntax.RasterStatement) -> Directive | None:
        names = [a.name for a in node.axes]
        fits = [self._axis(a, names) for a in node.axes]
        for k, axis in enumerate(node.axes):
            if axis.name in names[:k]:
                self.problems.report("TG0523.axis", axis.span, name=axis.name)
                return None
        group = (1,) if node.group is None else self._numbers(node.group, "group")
        return None if group is None or not all(fits) else RasterDirective(tuple(names), group, node.span)

    def _hint(self, node: syntax.HintStatement) -> Directive | None:
        words = self._words(node.choices, [h.value for h in Hint], "hint")
        if not self._tensor(node.tensor, ()) or words is None:
            return None
        name, span = node.tensor.name, node.choices[0].span.to(node.choices[-1].span)
        written = self.scope.tensors[name].role is not Role.IN
        wrong = next(
            (w for w in words if w in (("readonly", "evict_last") if written else ("sectors",))), None
        )
        if wrong is None:
            return HintDirective(name, tuple(Hint(w) for w in words), node.span)
        if self.scope.sure(Fact.ROLE, name):
            case = {
                "readonly": "TG0528.readonly",
                "evict_last": "TG0528.evict_last",
                "sectors": "TG0528.sectors",
            }
            self.problems.report(case[wrong], node.span, name=name, words=span)
        return None
