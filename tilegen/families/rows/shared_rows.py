"""Rows of the output that several tiles share, and whether they should begin and end at sectors (decision 17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

from tilegen.core.nest.affine import Run
from tilegen.families.rows.output_rows import OutputRow

_WARP = 32
# Which part of a row may be read twice for that, along one axis and along several.
_MARGIN, _MARGIN_PACKED = 4, 8


@dataclass(frozen=True, slots=True)
class SharedRows:
    """`row`: of the output, or why it has none. `extent`: of an axis, as far as it is known; `width`: elements per
    access of the output in a tile."""

    row: OutputRow | str
    extent: Callable[[str], int | None]
    width: Callable[[Mapping[str, int]], int]
    _widths: dict[tuple[tuple[str, int], ...], int] = field(default_factory=dict, compare=False)

    def within(self, tile: Mapping[str, int]) -> Run | None:
        """The rows in a tile, where there are several and they go on in the next tile."""
        run = self.row if isinstance(self.row, str) else self.row.within(tile)
        if isinstance(run, str) or run.points == prod(tile.values()):
            return None
        along, held = run.axes[-1]
        extent = self.extent(along)
        return run if extent is None or held < extent else None

    def margin(self, tile: Mapping[str, int]) -> int:
        """Elements that a row needs beyond the tile to begin and end at sectors; 0 where tiles do not share its
        sectors, it is written in vectors, or it is too short."""
        run = self.within(tile)
        if run is None:
            return 0
        if run.axes not in self._widths:
            self._widths[run.axes] = self.width(tile)
        return 0 if self._widths[run.axes] > 1 else spare(run)


def spare(run: Run) -> int:
    """The margin of a row, 0 where it is too short for one, or for a warp."""
    most = run.points // (_MARGIN if run.single else _MARGIN_PACKED) if run.points >= _WARP else 0
    return run.width - 1 if run.width - 1 <= most else 0
