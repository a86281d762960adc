"""`SectorRow`: the row of a tile along which an output is written in whole sectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilegen.algebra import ZERO, Expr, sym
from tilegen.core.nest.affine import Run


@dataclass(frozen=True, slots=True)
class SectorRow:
    """`run`: what of the output lies end to end in the tile, all of its axes whole but the last, the one along which
    tiles follow each other; its width is the elements of a sector. `address`: the element of `pointer` that is written.

    A row of the tile begins at the first sector that begins in it and ends at the first that begins behind it:
    `@late_AXIS` elements after its first, and at `@end_AXIS`, AXIS the fastest. So a tile needs `margin` elements more.
    """

    run: Run
    pointer: str
    address: Expr

    @property
    def axes(self) -> tuple[tuple[str, int], ...]:
        return self.run.axes

    @property
    def fast(self) -> str:
        return self.run.fast

    @property
    def along(self) -> str:
        return self.axes[-1][0]

    @property
    def points(self) -> int:
        return self.run.points

    @property
    def inner(self) -> int:
        """Elements from one point of `along` to the next."""
        return self.points // self.axes[-1][1]

    @property
    def margin(self) -> int:
        return self.run.width - 1

    @property
    def needed(self) -> int:
        """Elements of a row, its margin included."""
        return self.points + self.margin

    @property
    def reach(self) -> int:
        """Points beyond the tile in the direction of `along` that the margin takes."""
        return -(-self.margin // self.inner)

    @property
    def late(self) -> Expr:
        return sym(f"@late_{self.fast}")

    @property
    def end(self) -> Expr:
        return sym(f"@end_{self.fast}")

    def place(self, at: Mapping[str, Expr]) -> Expr:
        """Place in the row of the point at in-tile coordinates `at`."""
        place = ZERO
        for axis, count in reversed(self.axes):
            place = place * count + at[axis]
        return place
