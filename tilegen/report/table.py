"""Tables of fixed width: the same text on a terminal and in a file, but for colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_COLOURS = {"good": "\x1b[32m", "bad": "\x1b[1;31m", "odd": "\x1b[33m", "dim": "\x1b[2m"}
_END = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Column:
    """`right`: numbers stand flush right."""

    heading: str
    right: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """`styles`: per row `good`, `bad`, `odd` or empty; colours its last cell."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    styles: tuple[str, ...] = ()

    def text(self, colour: bool = False) -> str:
        """Heading, rule and rows; no line ends with a space."""
        if not self.rows:
            return ""
        widths = [
            max(len(column.heading), *(len(row[n]) for row in self.rows))
            for n, column in enumerate(self.columns)
        ]
        lines = [self._line([c.heading for c in self.columns], widths), "  ".join("-" * w for w in widths)]
        for number, row in enumerate(self.rows):
            style = self.styles[number] if number < len(self.styles) else ""
            lines.append(self._line(row, widths, style if colour else ""))
        return "\n".join(lines)

    def _line(self, cells: Sequence[str], widths: Sequence[int], style: str = "") -> str:
        placed = [
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(cells, widths, self.columns, strict=True)
        ]
        placed[-1] = placed[-1].rstrip()
        if style:
            placed[-1] = f"{_COLOURS[style]}{placed[-1]}{_END}"
        return "  ".join(placed).rstrip()

    def __str__(self) -> str:
        return self.text()


def number(value: float, digits: int = 2) -> str:
    """A number for a cell: whole where it is whole, else with `digits` after the point."""
    return f"{int(value)}" if value == int(value) else f"{value:.{digits}f}"


def percent(value: float) -> str:
    return f"{100 * value:.0f}%"
