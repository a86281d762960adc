"""Schedules against the names of their kernel: axes, tensors, words and plain values. What a machine can honour is
decided where a schedule is completed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilegen.algebra import Expr, substitute
from tilegen.lang import syntax
from tilegen.lang.check.indices import DividesByZero, fold
from tilegen.lang.check.problems import Problems, suggestion
from tilegen.lang.check.scope import Fact, Scope
from tilegen.lang.spec import (
    Bounds,
    BoundsDirective,
    Directive,
    Hint,
    HintDirective,
    IndexDirective,
    IndexType,
    MaxRegistersDirective,
    MinBlocksDirective,
    RasterDirective,
    Role,
    ScheduleSpec,
    StageDirective,
    ThreadsDirective,
    TileDirective,
    UnrollDirective,
    VectorDirective,
)


def check_schedules(
    node: syntax.KernelDecl, scope: Scope, axes: Sequence[str], problems: Problems
) -> tuple[ScheduleSpec, ...]:
    checker = _Directives(scope, axes, _read_tensors(node), problems)
    seen: dict[str, syntax.ScheduleDecl] = {}
    schedules = []
    for item in node.items:
        if isinstance(item, syntax.ScheduleDecl):
            _named_once(item, seen, problems)
            schedules.append(ScheduleSpec(item.name.name, checker.all(item), item.name.span))
    return tuple(schedules)


def _named_once(item: syntax.ScheduleDecl, seen: dict[str, syntax.ScheduleDecl], problems: Problems) -> None:
    if item.name.name == "auto":
        problems.error(
            "TG0520",
            "`auto` is the schedule that tilegen chooses itself, and cannot be declared",
            item.name.span,
            help="choose another name",
        )
    earlier = seen.setdefault(item.name.name, item)
    if earlier is not item:
        problems.error(
            "TG0520",
            f"there are two schedules `{item.name.name}`",
            item.name.span,
            labels=[(earlier.name.span, "first declared here")],
            help="choose another name",
        )


def _read_tensors(node: syntax.KernelDecl) -> set[str]:
    found: set[str] = set()
    for item in node.items:
        if isinstance(item, syntax.AssignStatement | syntax.LetStatement):
            _collect(item.value, found)
    return found


def _collect(node: syntax.Expression, found: set[str]) -> None:
    match node:
        case syntax.Name():
            found.add(node.name)
        case syntax.Indexed():
            found.add(node.base.name)
            for index in node.indices or ():
                _collect(index, found)
        case syntax.UnaryExpression():
            _collect(node.operand, found)
        case syntax.BinaryExpression():
            _collect(node.left, found)
            _collect(node.right, found)
        case syntax.CallExpression():
            for argument in node.arguments:
                _collect(argument, found)
        case syntax.ReduceExpression():
            _collect(node.body, found)
        case _:
            return


@dataclass
class _Directives:
    scope: Scope
    axes: Sequence[str]
    read: set[str]
    problems: Problems

    def all(self, schedule: syntax.ScheduleDecl) -> tuple[Directive, ...]:
        """Every directive that is right; each at most once, `stage` and `hint` once per tensor."""
        seen: dict[str, syntax.Ident] = {}
        found = []
        for directive in schedule.directives:
            for key, ident in self._keys(directive):
                self._once(key, ident, seen)
            resolved = self._directive(directive)
            if resolved is not None:
                found.append(resolved)
        return tuple(found)

    def _keys(self, directive: syntax.DirectiveStatement) -> list[tuple[str, syntax.Ident]]:
        match directive:
            case syntax.StageStatement():
                return [(f"stage {t.name}", t) for t in directive.tensors]
            case syntax.HintStatement():
                return [(f"hint {directive.tensor.name}", directive.tensor)]
            case syntax.RasterStatement():
                return [("raster", directive.axes[0])]
            case syntax.SettingsDirective() | syntax.ChoiceDirective():
                return [(directive.keyword.name, directive.keyword)]

    def _once(self, key: str, ident: syntax.Ident, seen: dict[str, syntax.Ident]) -> None:
        earlier = seen.setdefault(key, ident)
        if earlier is not ident:
            self.problems.error(
                "TG0523",
                f"`{key}` is given twice",
                ident.span,
                labels=[(earlier.span, "first given here")],
                help="keep one of them",
            )

    def _directive(self, node: syntax.DirectiveStatement) -> Directive | None:
        match node:
            case syntax.SettingsDirective():
                return self._settings(node)
            case syntax.StageStatement():
                return self._stage(node)
            case syntax.ChoiceDirective():
                return self._choice(node)
            case syntax.RasterStatement():
                return self._raster(node)
            case syntax.HintStatement():
                return self._hint(node)

    # Names ----------------------------------------------------------------------------------------------------------

    def _axis(self, ident: syntax.Ident) -> bool:
        if ident.name in self.axes:
            return True
        self.problems.error(
            "TG0521",
            f"`{ident.name}` is not an axis of this kernel",
            ident.span,
            help=suggestion(ident.name, self.axes, "axes"),
        )
        return False

    def _tensor(self, ident: syntax.Ident) -> bool:
        if ident.name in self.scope.tensors:
            return True
        if self.scope.sure(Fact.MEANING, ident.name):
            self.problems.error(
                "TG0522",
                f"`{ident.name}` is not a tensor of this kernel",
                ident.span,
                help=suggestion(ident.name, self.scope.tensors, "tensors"),
            )
        return False

    # Values ---------------------------------------------------------------------------------------------------------

    def _numbers(
        self,
        value: syntax.SetValue,
        what: str,
        least: int = 1,
        accept: Callable[[int], bool] = lambda _: True,
    ) -> tuple[int, ...] | None:
        """The choices of a value; compile-time sizes may be used."""
        numbers: list[int] = []
        for choice in value.choices:
            number = self._number(choice, what, least)
            if number is None:
                return None
            if not accept(number):
                below = 1 << max(number, 1).bit_length() - 1
                self.problems.error(
                    "TG0524",
                    f"{what} must be a power of two, and this is {number}",
                    choice.span,
                    help=f"the nearest are {below} and {2 * below}",
                )
                return None
            if number in numbers:
                self.problems.error(
                    "TG0524", f"{number} is in the set twice", choice.span, help="remove one of them"
                )
                return None
            numbers.append(number)
        return tuple(numbers)

    def _number(self, choice: syntax.Expression, what: str, least: int) -> int | None:
        defaults = self.scope.defaults
        try:
            folded: Expr | None = fold(choice, defaults.__contains__, defaults)
        except DividesByZero as error:
            error.report(self.problems)
            return None
        number = None if folded is None else substitute(folded, dict(defaults)).constant
        if number is not None and number >= least:
            return number
        names = isinstance(choice, syntax.Name) and choice.name in self.scope.sizes
        kind = "a positive integer" if least == 1 else "an integer, 0 or more"
        self.problems.error(
            "TG0524",
            f"{what} must be {kind}",
            choice.span,
            note=f"`{choice.span.text}` is known only at run time" if names else (),
            help="write a number"
            if names
            else f"write an integer, {least} or more, or a size that has a value in the header",
        )
        return None

    def _per_axis(
        self, node: syntax.SettingsDirective
    ) -> tuple[tuple[tuple[str, tuple[int, ...]], ...], tuple[syntax.Setting, ...]] | None:
        word = node.keyword.name
        found: dict[str, tuple[int, ...]] = {}
        failed = False
        for setting in node.settings:
            if setting.name is None:
                self.problems.error(
                    "TG0524",
                    f"`{word}` takes a value for each axis",
                    setting.span,
                    help=f"write `{word} {self.axes[0] if self.axes else 'i'} = {setting.value.span.text}`",
                )
                failed = True
                continue
            if setting.name.name in found:
                self.problems.error(
                    "TG0523",
                    f"`{setting.name.name}` is given twice",
                    setting.name.span,
                    help="keep one of them; a set of values is written `{8, 16}`",
                )
                failed = True
                continue
            numbers = self._numbers(setting.value, f"`{word}` of `{setting.name.name}`")
            if not self._axis(setting.name) or numbers is None:
                failed = True
                continue
            found[setting.name.name] = numbers
        return None if failed else (tuple(found.items()), node.settings)

    def _settings(self, node: syntax.SettingsDirective) -> Directive | None:
        match node.keyword.name:
            case "tile" | "threads" | "unroll":
                per_axis = self._per_axis(node)
                if per_axis is None:
                    return None
                axes, settings = per_axis
                spans = tuple(s.span for s in settings)
                if node.keyword.name == "tile":
                    return TileDirective(axes, node.span, spans)
                if node.keyword.name == "threads":
                    return ThreadsDirective(axes, node.span, spans)
                return UnrollDirective(axes, node.span)
            case "vector":
                return self._vector(node)
            case "max_registers" | "min_blocks":
                return self._count(node)
            case _:
                return None

    def _count(self, node: syntax.SettingsDirective) -> Directive | None:
        word = node.keyword.name
        if len(node.settings) != 1 or node.settings[0].name is not None:
            self.problems.error("TG0524", f"`{word}` takes one number", node.span, help=f"write `{word} 32`")
            return None
        counts = self._numbers(node.settings[0].value, f"`{word}`")
        if counts is None:
            return None
        return (
            MaxRegistersDirective(counts, node.span)
            if word == "max_registers"
            else MinBlocksDirective(counts, node.span)
        )

    def _vector(self, node: syntax.SettingsDirective) -> Directive | None:
        widths: dict[str | None, tuple[int, ...]] = {}
        for setting in node.settings:
            name = None if setting.name is None else setting.name.name
            if name in widths:
                self.problems.error(
                    "TG0523", "a vector width is given twice", setting.span, help="keep one of them"
                )
                return None
            if setting.name is not None and not self._tensor(setting.name):
                return None
            numbers = self._numbers(setting.value, "a vector width", 1, lambda n: n & (n - 1) == 0)
            if numbers is None:
                return None
            widths[name] = numbers
        return VectorDirective(tuple(widths.items()), node.span, tuple(s.span for s in node.settings))

    def _stage(self, node: syntax.StageStatement) -> Directive | None:
        fits = [self._stageable(t) for t in node.tensors]
        if node.pad is not None and node.swizzle is not None:
            self.problems.error(
                "TG0526",
                "a staged tensor is padded or swizzled, not both",
                node.swizzle.span,
                labels=[(node.pad.span, "padding given here")],
                help="keep one of the two",
            )
            return None
        pads = (0,) if node.pad is None else self._numbers(node.pad, "padding", 0)
        buffers = (1,) if node.buffers is None else self._numbers(node.buffers, "the number of buffers")
        if pads is None or buffers is None or not all(fits):
            return None
        names = tuple(t.name for t in node.tensors)
        return StageDirective(
            names, pads, node.swizzle is not None, buffers, node.asynchronous is not None, node.span
        )

    def _stageable(self, ident: syntax.Ident) -> bool:
        """Only a tensor that is read can be staged."""
        if not self._tensor(ident):
            return False
        role = self.scope.tensors[ident.name].role
        if role is Role.OUT or ident.name not in self.read:
            self.problems.error(
                "TG0525",
                f"`{ident.name}` is never read, so there is nothing to stage",
                ident.span,
                note=f"it is declared `{role.value}`",
                help=suggestion(
                    "",
                    [n for n, t in self.scope.tensors.items() if t.role is not Role.OUT and n in self.read],
                    "tensors",
                ),
            )
            return False
        return True

    def _choice(self, node: syntax.ChoiceDirective) -> Directive | None:
        if node.keyword.name == "bounds":
            modes = self._words(node.choices, [b.value for b in Bounds], "bounds")
            return None if modes is None else BoundsDirective(tuple(Bounds(m) for m in modes), node.span)
        types = self._words(node.choices, [t.value for t in IndexType], "index")
        return None if types is None else IndexDirective(tuple(IndexType(t) for t in types), node.span)

    def _words(self, choices: Sequence[syntax.Ident], known: list[str], what: str) -> tuple[str, ...] | None:
        for choice in choices:
            if choice.name not in known:
                self.problems.error(
                    "TG0527",
                    f"`{what}` cannot be `{choice.name}`",
                    choice.span,
                    help=suggestion(choice.name, known, "words"),
                )
                return None
        return tuple(dict.fromkeys(c.name for c in choices))

    def _raster(self, node: syntax.RasterStatement) -> Directive | None:
        fits = [self._axis(a) for a in node.axes]
        names = [a.name for a in node.axes]
        for k, axis in enumerate(node.axes):
            if axis.name in names[:k]:
                self.problems.error(
                    "TG0523", f"`{axis.name}` is given twice", axis.span, help="keep one of them"
                )
                return None
        group = (1,) if node.group is None else self._numbers(node.group, "a group")
        return None if group is None or not all(fits) else RasterDirective(tuple(names), group, node.span)

    def _hint(self, node: syntax.HintStatement) -> Directive | None:
        words = self._words(node.choices, [h.value for h in Hint], "hint")
        if not self._tensor(node.tensor) or words is None:
            return None
        only_read = next((w for w in words if w in ("readonly", "evict_last")), None)
        if only_read is not None and self.scope.tensors[node.tensor.name].role is not Role.IN:
            why = (
                "so it is not read-only"
                if only_read == "readonly"
                else "and `evict_last` is a hint for reads"
            )
            self.problems.error(
                "TG0528",
                f"`{node.tensor.name}` is written, {why}",
                node.span,
                help="write `streaming`, `sectors` or `default`",
            )
            return None
        if "sectors" in words and self.scope.tensors[node.tensor.name].role is Role.IN:
            self.problems.error(
                "TG0528",
                f"`{node.tensor.name}` is only read, and `sectors` is a hint for writes",
                node.span,
                help="write `streaming`, `readonly`, `evict_last` or `default`",
            )
            return None
        return HintDirective(node.tensor.name, tuple(Hint(w) for w in words), node.span)
