"""From block and thread numbers to the rows, tiles and columns of a kernel with scans."""

from __future__ import annotations

from collections.abc import Mapping

from tilegen.cuda.view import SharedView
from tilegen.families.scan.names import ScanScope
from tilegen.families.scan.phase import CHUNK


def setup_lines(names: ScanScope) -> list[tuple[str, str]]:
    scope, spread, index = names.scope, names.spread, names.scope.index
    plan = scope.plan
    lines: list[tuple[str, str]] = []
    lines.append((names.thread, f"const int {names.thread} = static_cast<int>(threadIdx.x);"))
    if spread.across is not None:
        lines.append((names.lane, f"const int {names.lane} = {names.thread} % {spread.beside};"))
        lines.append((names.part, f"const int {names.part} = {names.thread} / {spread.beside};"))
    else:
        lanes, inside = spread.lanes, names.thread
        lines.append((names.lane, f"const int {names.lane} = {names.thread} % {lanes};"))
        if spread.beside > 1:
            inside = f"{names.thread} % {spread.along}"
            lines.append((names.side, f"const int {names.side} = {names.thread} / {spread.along};"))
        lines.append((names.part, f"const int {names.part} = {inside} / {lanes};"))
    number = "blockIdx.x"
    if names.look_back:
        number, ticket = names.block, scope.scratch("ticket")
        taken = scope.names.user("@ticket", "ticket_of_block")
        names.shared.append(
            SharedView(
                "Blocks take tiles in the order in which they start: those before are under way or done.",
                f"__shared__ unsigned {taken};",
            )
        )
        take = (
            f"if (threadIdx.x == 0) {{\n        {taken} = atomicAdd({ticket}, 1u);\n    }}\n"
            f"    __syncthreads();\n    const unsigned {number} = {taken};"
        )
        lines.append((number, take))
    counts = {a: names.count(a) for a in plan.raster}
    for axis in plan.raster:
        tile, extent = plan.tile(axis), index(plan.tile(axis).extent)
        if tile.tile > 1:
            constant = scope.tile_constant(axis)
            extent = f"({extent} + {constant} - 1) / {constant}"
        known = tile.count.constant
        value = str(known) if known is not None else f"static_cast<unsigned>({extent})"
        lines.append((counts[axis], f"const unsigned {counts[axis]} = {value};"))
    if names.look_back:
        lines += _places(names, counts, number)
    first = plan.raster[0] if plan.raster else None
    for axis in reversed(plan.raster):
        digit = number if axis == first else f"{number} % {counts[axis]}"
        if axis == spread.axis:
            text = f"static_cast<index_t>({names.number}) * {names.tile}"
            lines.append((names.start, f"const index_t {names.start} = {text};"))
        else:
            scale = f" * {scope.tile_constant(axis)}" if plan.tile(axis).tile > 1 else ""
            start = scope.symbol(f"@origin_{axis}")
            lines.append((start, f"const index_t {start} = static_cast<index_t>({digit}){scale};"))
        number = f"{number} / {counts[axis]}"
    for tile in plan.tiles:
        if tile.axis in plan.raster or tile.axis == spread.axis:
            continue
        start = scope.symbol(f"@origin_{tile.axis}")
        lines.append((start, f"const index_t {start} = 0;"))
    lines += _beside(names)
    return lines


def _places(names: ScanScope, counts: Mapping[str, str], number: str) -> list[tuple[str, str]]:
    """Which tile of which row a block has, and where the states of the row lie."""
    spread, count = names.spread, counts[names.spread.axis]
    others = [n for a, n in counts.items() if a != spread.axis]
    if spread.across is None:
        tile = f"{number} % {count}" if others else number
        row, places = f"{number} / {count}", f"({count} + {CHUNK - 1}) / {CHUNK} * {CHUNK + 1}"
    else:
        product = " * ".join(others)
        product = f"({product})" if len(others) > 1 else product
        tile, row = f"{number} / {product}" if others else number, f"{number} % {product}"
        places = f"{count} * {spread.beside * spread.width}"
    return [
        (names.number, f"const int {names.number} = static_cast<int>({tile});"),
        (names.row, f"const unsigned {names.row} = {row};"),
        (names.places, f"const unsigned {names.places} = {places};"),
    ]


def _beside(names: ScanScope) -> list[tuple[str, str]]:
    """The row, or the columns, of a thread."""
    scope, spread = names.scope, names.spread
    if spread.across is not None:
        inside = names.lane if spread.width == 1 else f"{names.lane} * {spread.width}"
        axis = spread.across
    elif names.phase.row is not None:
        inside, axis = names.side, names.phase.row
    else:
        return []
    start, name = scope.symbol(f"@origin_{axis}"), scope.names.user(axis)
    return [(name, f"const index_t {name} = {start} + {inside};")]
