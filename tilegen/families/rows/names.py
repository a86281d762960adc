"""Names of a kernel with rows: who a thread is, which row it works on, where along it, and what results are called."""

from __future__ import annotations

from collections.abc import Iterable

from tilegen.algebra import ONE, sym
from tilegen.core.plan.model import ROWS
from tilegen.cuda.scope import KernelScope
from tilegen.cuda.types import TypeNames
from tilegen.cuda.view import ConstantView, SharedView
from tilegen.families.rows.axes import (
    base_of_digit,
    parallel_order,
    row_count,
    row_length,
    row_order,
    rows_of,
)
from tilegen.lang.spec import Read, Reduce, Value


class RowScope:
    """What the phases of one kernel share. `known`: texts of values that are there already: results of reductions,
    values kept in registers. `shared`: shared arrays that turned out to be needed."""

    def __init__(self, scope: KernelScope) -> None:
        self.scope, self.plan, self.nest = scope, scope.plan, scope.nest
        self.rows = rows = rows_of(scope.nest, scope.plan.schedule)
        self.width = scope.plan.schedule.item_width
        self.known: dict[Value, str] = {}
        self.kept: dict[Read, str] = {}
        self.shared: list[SharedView] = []
        self._results: dict[Reduce, str] = {}
        self._combined = False
        user = scope.names.user
        self.thread = scope.symbol("@tid")
        self.member = user("@member", "member") if rows.along > 1 else "0"
        self.side = user("@side", "team") if rows.beside > 1 else "0"
        self.inside = user("@inside", "inside")
        self.item = user("@item_number", "s")
        self.base = user("@base", "base")
        self.part, self.parts = user("@part", "part"), user("@parts", "parts")
        self.block = user("@block", "row_block") if self.shares or rows.cluster > 1 else "blockIdx.x"
        self.rank = user("@rank", "rank")
        self.at = user("@position", "position")
        self.row = self._row_name()
        self.lane = scope.symbol("@lane")

    @property
    def types(self) -> TypeNames:
        return self.scope.file.types

    @property
    def helpers(self) -> set[str]:
        return self.scope.file.helpers

    @property
    def lanes(self) -> int:
        """Rows of one thread side by side."""
        return self.width if self.rows.across else 1

    @property
    def shares(self) -> bool:
        """Whether several blocks work on one row."""
        return self.rows.parts > 1

    @property
    def ragged(self) -> bool:
        return self.plan.tile(ROWS).ragged

    def _row_name(self) -> str:
        order = parallel_order(self.nest)
        if len(order) == 1:
            return self.scope.names.user(order[0])
        return self.scope.names.user("@row_number", "row")

    # The row of a thread

    def constants(self) -> list[ConstantView]:
        rows, found = self.rows, []
        if rows.along > 1:
            found.append(ConstantView("TEAM", rows.along * rows.cluster))
        if rows.items > 1:
            found.append(ConstantView("ITEMS", rows.items))
        if self.plan.tile(ROWS).tile > 1:
            found.append(ConstantView("ROWS", self.plan.tile(ROWS).tile))
        if rows.cluster > 1:
            found.append(ConstantView("CLUSTER", rows.cluster))
        return found

    def setup(self) -> list[tuple[str, str]]:
        """(name, definition) pairs, each used by later ones."""
        rows = self.rows
        lines = [(self.thread, f"const int {self.thread} = static_cast<int>(threadIdx.x);")]
        first, second = ("/", "%") if rows.across else ("%", "/")
        if rows.along > 1:
            cut = rows.beside if rows.across else rows.along
            text = f"{self.thread} {first} {cut}" if rows.beside > 1 else self.thread
            if rows.cluster > 1:
                lines += [
                    (self.rank, f"const int {self.rank} = static_cast<int>(blockIdx.x % CLUSTER);"),
                    (self.block, f"const unsigned {self.block} = blockIdx.x / CLUSTER;"),
                ]
                text = f"{self.rank} * {rows.along} + {text}"
            lines.append((self.member, f"const int {self.member} = {text};"))
        if rows.beside > 1:
            cut = rows.beside if rows.across else rows.along
            text = f"{self.thread} {second} {cut}" if rows.along > 1 else self.thread
            lines.append((self.side, f"const int {self.side} = {text};"))
        if self.shares:
            lines += self._parts()
        return [*lines, *self._row()]

    def _parts(self) -> list[tuple[str, str]]:
        """Which part of which rows a block takes; neighbouring blocks read neighbouring memory."""
        scope = self.scope
        count = self.plan.tile(ROWS).count
        blocks, parts = scope.names.user("@blocks_", "row_blocks"), f"const unsigned {self.parts} ="
        lines = [(self.parts, f"{parts} gridDim.x;")]
        if count != ONE:
            lines = [
                (blocks, f"const unsigned {blocks} = static_cast<unsigned>({scope.index(count)});"),
                (self.parts, f"{parts} gridDim.x / {blocks};"),
            ]
        if count == ONE:
            part, own = "blockIdx.x", "0"
        elif self.rows.across:
            part, own = f"blockIdx.x / {blocks}", f"blockIdx.x % {blocks}"
        else:
            part, own = f"blockIdx.x % {self.parts}", f"blockIdx.x / {self.parts}"
        lines.append((self.part, f"const unsigned {self.part} = {part};"))
        lines.append((self.block, f"const unsigned {self.block} = {own};"))
        return lines

    def _row(self) -> list[tuple[str, str]]:
        scope = self.scope
        order = parallel_order(self.nest)
        if not order and not self.ragged:
            return []
        tile = self.plan.tile(ROWS).tile
        text = f"static_cast<index_t>({self.block})" + (" * ROWS" if tile > 1 else "")
        if self.rows.beside > 1:
            text += f" + {self.side}" + (f" * {self.lanes}" if self.lanes > 1 else "")
        lines = [(self.row, f"const index_t {self.row} = {text};")]
        if len(order) > 1:
            left = sym("@row_number")
            for n, axis in enumerate(order):
                extent = base_of_digit(self.nest, axis)
                value = left % extent if n < len(order) - 1 else left
                name = scope.names.user(axis)
                lines.append((name, f"const index_t {name} = {scope.index(value)};"))
                left = left // extent
        if self.ragged:
            lines.append((self.inside, f"const bool {self.inside} = {self.exists()};"))
        return lines

    def exists(self) -> str:
        """That the row of this thread is one of the rows."""
        return f"{self.row} < {self.scope.index(row_count(self.nest))}"

    # Along a row

    def position(self, row: int) -> list[tuple[str, str]]:
        """Definitions of the coordinates of item `s` along a row."""
        scope, rows = self.scope, self.rows
        order = row_order(self.nest, row)
        step = f"{self.item} * TEAM + {self.member}" if rows.items > 1 else self.member
        if rows.along == 1:
            step = self.item if rows.items > 1 else "0"
        width = 1 if rows.across else self.width
        if width > 1:
            step = f"({step}) * {width}" if rows.items > 1 else f"{step} * {width}"
        start = "" if rows.whole else f"{self.base} + "
        text = f"{start}{step}"
        if not rows.whole and step == "0":
            text = self.base
        if len(order) == 1:
            name = scope.names.user(order[0])
            return [(name, f"const index_t {name} = {text};")]
        name = self.at
        lines = [(name, f"const index_t {name} = {text};")]
        left = sym("@position")
        for n, axis in enumerate(order):
            extent = base_of_digit(self.nest, axis)
            value = left % extent if n < len(order) - 1 else left
            own = scope.names.user(axis)
            lines.append((own, f"const index_t {own} = {scope.index(value)};"))
            left = left // extent
        return lines

    def in_order(self, node: Reduce, row: int) -> bool:
        """Whether a thread meets the elements of a reduction in the order of their indices."""
        return len(node.axes) == 1 and len(self.nest.rows[row]) == 1

    def guard(self, row: int) -> str:
        """Whether item `s` is an element of the row."""
        length = row_length(self.nest, row)
        most = self.rows.chunk(self.width)
        conditions = [self.inside] if self.ragged else []
        whole = length.constant is not None and (
            length.constant == most if self.rows.whole else length.constant % most == 0 and not self.shares
        )
        if not whole:
            order = row_order(self.nest, row)
            name = self.scope.names.user(order[0]) if len(order) == 1 else self.at
            conditions.append(f"{name} < {self.scope.index(length)}")
        return " && ".join(conditions)

    def chunks(self, row: int) -> str:
        """The head of the loop over chunks of a row; empty where it is one."""
        if self.rows.whole:
            return ""
        size, length = self.rows.chunk(self.width), self.scope.index(row_length(self.nest, row))
        start = f"static_cast<index_t>({self.part}) * {size}" if self.shares else "0"
        step = f"static_cast<index_t>({self.parts}) * {size}" if self.shares else f"{size}"
        return f"index_t {self.base} = {start}; {self.base} < {length}; {self.base} += {step}"

    # Results

    def result(self, node: Reduce) -> str:
        """The accumulator of a reduction, later its result; one per lane where a thread has several rows."""
        if node not in self._results:
            lets = {value: name for name, value in self.nest.lets}
            self._results[node] = self.fresh(lets.get(node, f"row_{node.op.value}"))
        return self._results[node]

    def first_combination(self) -> bool:
        """Whether this is asked for the first time: a cluster waits once until all of its blocks have started."""
        first, self._combined = not self._combined, True
        return first

    def at_lane(self, name: str) -> str:
        return f"{name}[{self.lane}]" if self.lanes > 1 else name

    def fresh(self, wanted: str) -> str:
        """An identifier that nothing else in the kernel has."""
        return self.scope.names.user(f"@fresh{len(self.scope.names)}", wanted)

    def each_lane(self, lines: Iterable[str]) -> list[str]:
        """`lines` for every row of the thread."""
        if self.lanes == 1:
            return list(lines)
        return [
            "#pragma unroll",
            f"for (int {self.lane} = 0; {self.lane} < {self.lanes}; ++{self.lane}) {{",
            *("    " + x for x in lines),
            "}",
        ]
