"""The C names of one kernel: plan symbols to identifiers, index expressions to text, and the coordinates of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tilegen.algebra import (
    ANY,
    NON_NEGATIVE,
    ZERO,
    Expr,
    Range,
    Sym,
    divisions,
    simplify,
    substitute,
    sym,
    symbols,
)
from tilegen.core.nest.model import stride_symbol
from tilegen.core.plan.model import FIELD, Buffer, Plan, Sweep
from tilegen.core.plan.sector_row import SectorRow
from tilegen.cuda.index import IndexPrinter
from tilegen.cuda.names import Names
from tilegen.cuda.types import TypeNames, vector_name
from tilegen.cuda.view import LoopView, SweepView, VectorView
from tilegen.dtypes import DType
from tilegen.lang.spec import Hint


@dataclass
class FileContext:
    """What the kernels of one file share: types, helpers and vector structs that turned out to be needed."""

    types: TypeNames
    helpers: set[str] = field(default_factory=set)
    vectors: dict[str, VectorView] = field(default_factory=dict)
    structs: Mapping[str, str] = field(default_factory=dict)


# Longer statements are broken.
_LONG = 110


class KernelScope:
    """Names, ranges and printers shared by the parts of one kernel."""

    def __init__(self, plan: Plan, file: FileContext) -> None:
        self.plan, self.file, self.nest = plan, file, plan.nest
        kernel = plan.nest.kernel
        self.names = Names(file.structs.values())
        self.axes = {a.name for a in self.nest.axes}
        strides = [stride_symbol(t, d) for t, d in self.nest.dynamic_strides]
        for pointer in self.nest.pointers:
            self.names.user(f"*{pointer.name}", pointer.name)
        for key in (*(s.name for s in kernel.sizes), *strides):
            self.names.user(key)
        for scalar in kernel.scalars:
            self.names.user(f"${scalar.name}", scalar.name)
        for axis in self.nest.axes:
            self.names.user(axis.name)
        self._scalars = {s.name for s in kernel.scalars}
        self._coordinate_values: dict[str, Expr] = {}
        self._ranges: dict[str, Range] = {s: ANY for s in (*strides, *self._scalars)}
        self.index = IndexPrinter(self.symbol, self._range, self._leading)

    def _range(self, name: str) -> Range:
        """Sizes, coordinates and plan symbols are never negative; strides taken from arrays may be."""
        return self._ranges.get(name, NON_NEGATIVE)

    def _leading(self, name: str) -> bool:
        return name in self.axes or name.startswith("@")

    # Identifiers

    def symbol(self, name: str) -> str:
        """C identifier of a plan symbol."""
        if not name.startswith("@"):
            return self.names.user(f"${name}" if name in self._scalars else name)
        kind, _, axis = name[1:].partition("_")
        label = "field" if axis == FIELD else self.names.user(axis) if axis else ""
        match kind:
            case "tid":
                return self.names.user("@tid", "thread")
            case "field":
                return self.names.user(FIELD, "tile_field")
            case "origin" if self.plan.tile(axis).tile == 1:
                return label
            case "origin":
                return self.names.user(name, f"{label}0")
            case "lane" | "row":
                return self.names.user(name, "l" if kind == "lane" else "r")
            case "at":
                return self.names.user(name, f"{label}_l")
            case "item":
                return self.names.user(name, "item")
            case "in":
                return self.names.user(name, f"tile_{label}_l")
            case _:
                return self.names.user(name, f"{kind}_{label}")

    def alias(self, text: str) -> Expr:
        """An index symbol that prints as `text`."""
        symbol = f"@text{len(self.names)}"
        self.names.give(symbol, text)
        return sym(symbol)

    def pointer(self, name: str) -> str:
        return self.names.user(f"*{name}")

    def scratch(self, name: str) -> str:
        """The pointer to scratch memory of the launch."""
        return self.names.user(f"&{name}", name)

    def tensor(self, name: str) -> str:
        """A tensor's name as shown in comments and in names made from it."""
        return self.names.user(f"*{name}", name)

    @property
    def interior(self) -> str:
        """Whether the whole tile is inside, for `bounds split`."""
        return self.names.user("@interior", "interior")

    def tile_constant(self, axis: str) -> str:
        return self.names.user(f"@TILE_{axis}", f"TILE_{axis.upper()}")

    def buffer(self, buffer: Buffer) -> str:
        return self.names.user(f"[{buffer.name}", f"{self.tensor(buffer.name)}_tile")

    def vector(self, dtype: DType, width: int, alignment: int) -> str:
        """The struct type of `width` lanes that may be accessed `alignment` bytes at a time."""
        alignment = min(16, alignment)
        name = vector_name(dtype, width, alignment)
        view = VectorView(name, self.file.types.storage(dtype), width, width * dtype.size, alignment)
        self.file.vectors.setdefault(name, view)
        return name

    def hint(self, tensor: str) -> Hint:
        """The hint of single loads and stores; `evict_last` is one of the pointer, `sectors` one of the tile."""
        hint = dict(self.plan.schedule.hints).get(tensor, Hint.DEFAULT)
        return Hint.DEFAULT if hint in (Hint.EVICT_LAST, Hint.SECTORS) else hint

    def evicted_last(self, tensor: str) -> bool:
        return (tensor, Hint.EVICT_LAST) in self.plan.schedule.hints

    # Memory

    def element(self, buffer: Buffer, at: Mapping[str, Expr], lanes: int = 1, whole: bool = False) -> str:
        """The lvalue of a staged element at in-tile coordinates `at`, which may hold a lane below `lanes`.

        `whole`: it is the first of a chunk."""
        # `@row` counts the four rows of a transpose of bytes.
        ranges = {"@lane": Range(0, lanes - 1), "@row": Range(0, 3)}
        if buffer.flat:
            return f"{self.buffer(buffer)}[{self.index(self.simpler(buffer.linear(at), ranges))}]"
        row, column = simplify(buffer.row(at), ranges), simplify(buffer.column(at, whole), ranges)
        if buffer.sectors is not None:
            column = self.simpler(column, ranges)
        return f"{self.buffer(buffer)}[{self.index(row)}][{self.index(column)}]"

    def place(self, pointer: str, address: Expr) -> str:
        """A pointer moved by `address` elements."""
        return f"{self.pointer(pointer)} + {self.index(address)}" if address.terms else self.pointer(pointer)

    def read(self, pointer: str, address: Expr, dtype: DType, width: int) -> str:
        """A global load of `width` elements, with the tensor's cache hint."""
        hint = self.hint(self.nest.pointer(pointer).tensor)
        if width == 1:
            if hint is Hint.DEFAULT:
                return f"{self.pointer(pointer)}[{self.index(address)}]"
            return f"{'__ldcs' if hint is Hint.STREAMING else '__ldg'}({self.place(pointer, address)})"
        vector = self.vector(dtype, width, width * dtype.size)
        if hint is Hint.DEFAULT:
            return f"*reinterpret_cast<const {vector}*>({self.place(pointer, address)})"
        helper = "load_streaming" if hint is Hint.STREAMING else "load_readonly"
        self.file.helpers.add(helper)
        return f"{helper}<{vector}>({self.place(pointer, address)})"

    # Sweeps

    def inside(self, sweep: Sweep, axis: str) -> Expr:
        """The in-tile coordinate of `axis`: a name of its own only where it is more than a digit of the thread."""
        value = sweep.coordinate(axis)
        if len(value.terms) <= 1 and all(isinstance(a, Sym) for m, _ in value.terms for a in m):
            return value
        name = FIELD if axis == FIELD else f"@tile_{axis}"
        self._coordinate_values[name] = value
        return sym(name)

    def simpler(self, value: Expr, ranges: Mapping[str, Range] | None = None) -> Expr:
        """`value` over named in-tile coordinates, or over what they stand for where that takes fewer divisions."""
        spelled = simplify(substitute(value, self._coordinate_values), ranges or {})
        plain = simplify(value, ranges or {})
        used = [self._coordinate_values[n] for n in symbols(plain) if n in self._coordinate_values]
        return spelled if divisions(spelled) < divisions(plain) + sum(divisions(e) for e in used) else plain

    def address(self, sweep: Sweep, address: Expr) -> Expr:
        """A global address; over the linear walk itself where that takes fewer divisions than its coordinates."""
        if not sweep.linear:
            return address
        at = {
            axis: value + sym(f"@origin_{axis}") if axis != FIELD and not self._whole(axis) else value
            for axis, value in sweep.coordinates
            if divisions(value)
        }
        spelled = simplify(substitute(address, at), {})
        used = sum(divisions(e) for a, e in at.items() if a in symbols(address))
        return spelled if divisions(spelled) < used else address

    def _whole(self, axis: str) -> bool:
        tile = self.plan.tile(axis)
        return tile.extent.constant == tile.tile

    def inside_lane(self, sweep: Sweep, axis: str) -> Expr:
        """The in-tile coordinate of `axis` at neighbour `@lane` of an item."""
        assert sweep.run is not None
        if axis not in dict(sweep.lanes):
            return self.inside(sweep, axis)
        return self.inside(sweep, axis) + sym("@lane") if sweep.run.single else sym(f"@in_{axis}")

    def lane_coordinates(self, sweep: Sweep) -> list[tuple[str, str]]:
        """(name, definition) of the coordinates of neighbour `@lane` along the axes of the run."""
        assert sweep.run is not None
        lines = []
        for axis, value in sweep.lanes:
            at, lane = self.symbol(f"@at_{axis}"), self.symbol("@lane")
            if sweep.run.single:
                lines.append((at, f"const index_t {at} = {self.names.user(axis)} + {lane};"))
                continue
            inside = self.symbol(f"@in_{axis}")
            lines.append((inside, f"const int {inside} = {self.index(value)};"))
            lines.append((at, f"const index_t {at} = {self.symbol(f'@origin_{axis}')} + {inside};"))
        return lines

    def run_address(self, sweep: Sweep, address: Expr) -> Expr:
        """`address` at the first neighbour of an item; over the position along the run where it has several axes."""
        run = sweep.run
        if run is None or run.single:
            return address
        at = run.coordinates(sweep.position)
        last = run.axes[-1][0]
        if last != FIELD and not self._whole(last):
            at[last] = at[last] + sym(f"@origin_{last}")
        return simplify(substitute(address, at), {})

    def sweep(
        self, sweep: Sweep, conditions: Iterable[str], body: list[str], leave: str | None = None
    ) -> SweepView:
        """The loops of a sweep round `body`; `leave` names an axis whose coordinate the body defines itself."""
        guard = conjunction(conditions)
        text = "\n".join([guard, *body])
        coordinates = kept(self._coordinates(sweep, text, leave), text)
        # The outermost loops are 1; what changes with none is 0, before all of them.
        depth = {self.symbol(f"@step_{p.axis}"): n for n, p in enumerate(sweep.loops, 1)}
        levels: list[list[str]] = [[] for _ in range(len(sweep.loops) + 1)]
        for name, definition in coordinates:
            used = re.findall(r"\w+", definition.split("=", 1)[1])
            depth[name] = max((depth[word] for word in used if word in depth), default=0)
            levels[depth[name]].append(definition)
        digits = [
            (self.symbol(f"@thread_{a}"), f"const int {self.symbol(f'@thread_{a}')} = {self.index(e)};")
            for a, e in sweep.digits
        ]
        before = (
            *prune(digits, "\n".join([text, *(line for level in levels for line in level)])),
            *levels[0],
        )
        loops = tuple(
            LoopView(
                self.symbol(f"@step_{p.axis}"),
                p.trip,
                "#pragma unroll" if p.unroll is None else f"#pragma unroll {p.unroll}",
                tuple(level),
            )
            for p, level in zip(sweep.loops, levels[1:], strict=True)
        )
        return SweepView(before, loops, guard, tuple(body))

    def _coordinates(self, sweep: Sweep, text: str, leave: str | None) -> list[tuple[str, str]]:
        """(name, definition) of in-tile and global coordinates."""
        lines = []
        row = sweep.sectors
        of_row = [] if row is None else [a for a, _ in row.axes]
        items = [(self.symbol(f"@item_{a}"), self.index(e), a) for a, e in sweep.linear]
        lines += [(item, f"const int {item} = {text};") for item, text, a in items if a not in of_row]
        for axis, value in sorted(sweep.coordinates, key=lambda c: c[0] in of_row):
            if row is not None and axis == row.fast:
                lines += self._sectors(row)
                lines += [(item, f"const int {item} = {text};") for item, text, a in items if a in of_row]
            inside = self.inside(sweep, axis)
            name = self.symbol(FIELD if axis == FIELD else f"@tile_{axis}")
            named = inside != value
            if named and re.search(rf"\b{name}\b", text):
                lines.append((name, f"const int {name} = {self.index(value)};"))
            elif named:
                inside = value
            if axis not in (FIELD, leave):
                lines.append(self.coordinate(axis, inside))
        lines += [
            self.coordinate(t.axis, Expr(()))
            for t in self.plan.tiles
            if t.tile > 1 and t.axis not in dict(sweep.coordinates)
        ]
        return lines

    def _sectors(self, row: SectorRow) -> list[tuple[str, str]]:
        """(name, definition) of where a row begins and ends, in whole sectors."""
        self.file.helpers.add("to_sector")
        start = {
            a: sym(f"@origin_{a}") if a == row.along and not self._whole(a) else ZERO for a, _ in row.axes
        }
        first = substitute(row.address, start)
        late, end = self.symbol(f"@late_{row.fast}"), self.symbol(f"@end_{row.fast}")
        inside = f"{self.symbol(f'@origin_{row.along}')} > 0"
        behind = f"{self.place(row.pointer, first)} + {row.points}"
        return [
            (late, f"const int {late} = {inside} ? to_sector({self.place(row.pointer, first)}) : 0;"),
            (end, f"const int {end} = {row.points} + to_sector({behind});"),
        ]

    def coordinate(self, axis: str, inside: Expr) -> tuple[str, str]:
        """The global coordinate of an axis at an in-tile coordinate."""
        name, start = self.names.user(axis), self.symbol(f"@origin_{axis}")
        terms = f"{start} + {self.index(inside, 1)}" if inside.terms else start
        return name, f"const index_t {name} = {terms};"

    def limits(self, sweep: Sweep) -> list[str]:
        """Conditions of threads that have a point at all; in a loop that is written out, of the steps that may not."""
        written_out = {loop.axis for loop in sweep.loops if loop.unroll is None}
        texts = []
        at = {f"@tile_{a}": self.inside(sweep, a) for a, _ in sweep.coordinates}
        for limit in sweep.limits:
            value = self.index(substitute(limit.value, at), 1)
            text = f"{value} < {self.index(limit.bound, 1)}"
            if limit.further is not None:
                first, count, bound = limit.further
                text += f" || ({self.index(substitute(first, at), 1)} < {count} && {value} < {bound})"
            if limit.sure and limit.axis in written_out:
                text = f"{self.symbol(f'@step_{limit.axis}')} < {limit.sure} || {text}"
            texts.append(text)
        return texts

    def guard(self, axis: str) -> str:
        """The condition of points inside the tensor."""
        return f"{self.names.user(axis)} < {self.index(self.nest.axis(axis).extent)}"

    def in_nest(self, value: Expr) -> Expr:
        """An index expression of the spec over the nest's axes."""
        return substitute(substitute(value, self.nest.constants), self.nest.axis_values)


def conjunction(conditions: Iterable[str]) -> str:
    """All of the conditions, as one."""
    texts = list(conditions)
    return " && ".join(f"({text})" if " || " in text and len(texts) > 1 else text for text in texts)


def mark(text: str, line: int | None) -> str:
    """`text` with the spec line it comes from; `render.file` takes the marks out again and keeps the map."""
    return text if line is None else f"{text}/*@{line}*/"


def wrapped(text: str, line: int | None) -> list[str]:
    """A statement on one line, or broken where a person would: at the assignment, and at the parts of a choice."""
    if len(text) <= _LONG:
        return [mark(text, line)]
    if text.count(" ? ") == 1 and text.count(" : ") == 1:
        parts = text.replace(" ? ", "\n    ? ").replace(" : ", "\n    : ").split("\n")
        if len(parts[0]) > _LONG:
            parts[:1] = parts[0].replace(" = ", " =\n    ", 1).split("\n")
        return [mark(part, line) for part in parts]
    return [mark(part, line) for part in text.replace(" = ", " =\n    ", 1).split("\n")]


def prune(definitions: list[tuple[str, str]], used_in: str) -> tuple[str, ...]:
    """The definitions whose names are used, by `used_in` or by a definition that is kept."""
    return tuple(text for _, text in kept(definitions, used_in))


def kept(definitions: list[tuple[str, str]], used_in: str) -> list[tuple[str, str]]:
    """The (name, definition) pairs that are used, by `used_in` or by a definition that is kept."""
    found: list[tuple[str, str]] = []
    for name, text in reversed(definitions):
        if re.search(rf"\b{re.escape(name)}\b", used_in):
            found.append((name, text))
            used_in += "\n" + text.split("=", 1)[-1]
    return found[::-1]
