"""How far the schedule of `auto` is from the best that a search of schedules finds, on 15 shapes.

    python benchmarks/search.py [--rows WORD]… [--tiles 10] [--most 100]
                                [--samples 12] [--out search.json] [--table search.md]

First every combination of tile, threads per block, vector width and bounds, the tiles being those that move the fewest
bytes and squares beside them; then, from the best of these, padding, swizzle, order of blocks and blocks per
multiprocessor. What cannot be honoured is left out, a wrong result too. Timed as `speed.py` does it, with fewer
samples; the best few and `auto` are timed again, in turns, with 30.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from itertools import islice, product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from speed_rows import ROWS, Row

from tilegen.algebra import evaluate
from tilegen.core.nest import Nest
from tilegen.core.nest.affine import memory_order
from tilegen.core.nest.merge import simplified_nest
from tilegen.core.schedule.known_sizes import short_sizes, with_cache_hints
from tilegen.core.schedule.model import Placement, Schedule, Stage
from tilegen.families.tiles.candidates import auto_schedule
from tilegen.families.tiles.plan import plan_map
from tilegen.families.tiles.shapes import packed_tiles, tile_cost
from tilegen.lang.check import check
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import Bounds, Hint
from tilegen.program import Program
from tilegen.render import render
from tilegen.target import Target, target
from tilegen.toolchain import CompileError, compile_source

SHAPES = (
    "transpose f32 16384²",
    "transpose f16 16384²",
    "transpose i8 32768²",
    "transpose f64 8192²",
    "transpose f32 12345 x 6789",
    "permute f32 64x256x128x128 (0,2,3,1)",
    "permute f32 64x3x1024x1024 (0,2,3,1)",
    "permute u8 64x1024x1024x3 (0,3,1,2)",
    "permute f32 512x512x1024 (2,1,0)",
    "permute f32 512x512x1024 (1,0,2)",
    "permute f16 512x512x1024 (0,2,1)",
    "permute f32 32x33x31x65x65 (4,2,0,3,1)",
    "batch of 100000 17x9 matrices f32",
    "permute f32 4097x33 x512 (0,2,1)",
    "AoS → SoA 3 x f32 2^27",
)
CLOSE = 0.97
_THREADS = (128, 256, 512)
_AREAS = (1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16)  # bytes of a tile


def nest_of(row: Row) -> Nest:
    """The nest that a call of the row's sizes gets: short sizes are constants."""
    kernel = check(parse(source_from_text(row.spec))).kernels[0].kernels[0]
    return simplified_nest(kernel, short_sizes(kernel, row.sizes), frozenset())


def device_target() -> Target:
    import cupy

    return target("sm_" + cupy.cuda.Device(0).compute_capability)


def program_of(nest: Nest, schedule: Schedule, architecture: Target) -> Program:
    plan = plan_map(nest, schedule, architecture, "search_auto")
    return Program(nest.kernel, schedule, architecture, (plan,), render((plan,), "search"))


# Which schedules


def combinations(row: Row, nest: Nest, auto: Schedule, tiles: int) -> Iterator[Schedule]:
    """The first round: tiles by threads by widths by bounds, with whole sectors and without where `auto` has them."""
    tensors = [t.name for t in nest.kernel.tensors]
    widest = 16 // row.element_size
    if auto.vector_of:
        widths = [auto.vector_of, tuple((t, max(1, w // 2)) for t, w in auto.vector_of), ()]
    else:
        widths = [(), tuple((t, widest) for t in tensors)]
    bounds = sorted((Bounds.GUARD, Bounds.SPLIT), key=lambda b: b is not auto.bounds)
    some = list(tiles_of(row, nest, auto, tiles))
    hints = dict.fromkeys((auto.hints, tuple(h for h in auto.hints if h[1] is not Hint.SECTORS)))
    for width, bound, tile, threads, hint in product(widths, bounds, some, (None, *_THREADS), hints):
        vectors = tuple((t, w) for t, w in width if w > 1)
        yield replace(auto, tile=tile, thread_count=threads, vector_of=vectors, bounds=bound, hints=hint)


def tiles_of(row: Row, nest: Nest, auto: Schedule, count: int) -> Iterator[tuple[tuple[str, int], ...]]:
    """The tile of `auto`, for each area the cheapest by the bytes they move, and squares."""
    sizes = {**nest.constants, **row.sizes}
    extents = {a.name: int(evaluate(a.extent, sizes)) for a in nest.axes}
    load, store = next(iter(nest.load_accesses())), nest.stores[0].access
    orders = (memory_order(nest, load), memory_order(nest, store))
    found: dict[tuple[tuple[str, int], ...], None] = {auto.tile: None}
    for area in _AREAS:
        points = area // row.element_size
        costs = [
            (tile_cost(tile, extents, orders, row.element_size, points), n, tile)
            for n, tile in enumerate(packed_tiles(extents, orders, points))
        ]
        ranked = [tile for _, _, tile in sorted(costs, key=lambda cost: cost[:2])]
        for tile in ranked[: max(1, count // len(_AREAS))]:
            found[tuple((a.name, tile[a.name]) for a in nest.axes if tile.get(a.name, 1) > 1)] = None
    first, last = orders[0][0], orders[1][0]
    if first != last:
        for one, other in product((32, 64, 128), repeat=2):
            found[
                tuple(
                    (a.name, {first: one, last: other}[a.name]) for a in nest.axes if a.name in (first, last)
                )
            ] = None
    yield from islice(found, 2 * count)


def neighbours(nest: Nest, best: Schedule) -> Iterator[Schedule]:
    """The second round: one thing changed at a time."""
    axes = [a.name for a in nest.axes]
    for n, stage in enumerate(best.stages):
        for placement, pad in (
            (Placement.PLAIN, 0),
            (Placement.PADDED, 1),
            (Placement.PADDED, 4),
            (Placement.SWIZZLED, 0),
        ):
            stages = (*best.stages[:n], Stage(stage.tensor, placement, pad), *best.stages[n + 1 :])
            yield replace(best, stages=stages)
    yield replace(best, bounds=Bounds.GUARD if best.bounds is Bounds.SPLIT else Bounds.SPLIT)
    for divisor in (2, 4, 16):
        narrow = tuple((t, w // divisor) for t, w in best.vector_of if w // divisor > 1)
        yield replace(best, vector_of=narrow)
    yield replace(best, hints=())
    output = nest.pointer(nest.stores[0].access.pointer).tensor
    without = tuple(h for h in best.hints if h[1] is not Hint.SECTORS)
    yield replace(best, hints=(*without, (output, Hint.SECTORS)))
    yield replace(best, hints=without)
    for blocks in (2, 3, 4, 6, 8):
        yield replace(best, min_blocks=blocks)
    for threads in (64, 96, 192, 320, 384, 1024):
        yield replace(best, thread_count=threads)
    for last, group in product(axes, (1, 4)):
        for before in (a for a in axes if a != last):
            yield replace(best, raster=(before, last), group=group)


# Trying them


def compiled(job: tuple[Row, Schedule, str]) -> bool:
    """Compile one in a process of its own, into the disk cache; False where it cannot be honoured."""
    row, schedule, name = job
    architecture, nest = target(name), nest_of(row)
    try:
        program = program_of(nest, schedule, architecture)
        shape = program.shape(row.sizes, {}, {p.name: 1 << 20 for p in program.nest.pointers})
        if shape is None or shape.plan != 0:
            return False
        compile_source(program.source, target=architecture, entries=(shape.entry,))
    except (SpecError, CompileError, ValueError):
        return False
    return True


class Search:
    """One row: its schedules of the first round, on their way to being compiled from the start, and its arrays."""

    def __init__(
        self, row: Row, architecture: Target, pool: ProcessPoolExecutor, tiles: int, most: int
    ) -> None:
        self.row, self.target, self.pool = row, architecture, pool
        self.nest = nest_of(row)
        sizes = {**self.nest.constants, **row.sizes}
        chosen = auto_schedule(self.nest, architecture, sizes)
        self.auto = with_cache_hints(chosen, self.nest, architecture, sizes)
        combined = islice(combinations(row, self.nest, self.auto, tiles), most)
        self.first = self.compile([self.auto, *combined])
        self.tried = 0

    def compile(self, schedules: Iterable[Schedule]) -> list[tuple[Schedule, Future[bool]]]:
        jobs = dict.fromkeys(schedules)
        return [(s, self.pool.submit(compiled, (self.row, s, self.target.name))) for s in jobs]

    def shares(self, jobs: list[tuple[Schedule, Future[bool]]], samples: int) -> dict[Schedule, float]:
        """The share of a copy of each schedule that can be honoured and gives the right result."""
        from speed_work import as_graph, copy_of, kernel_of, summary, timed

        good = [schedule for schedule, done in jobs if done.result()]
        found: dict[Schedule, float] = {}
        for part in (good[n : n + 24] for n in range(0, len(good), 24)):
            work: dict[str, Any] = {"copy": copy_of(self.data)}
            for number, schedule in enumerate(part):
                run = kernel_of(program_of(self.nest, schedule, self.target), self.data).run
                if self.data.right(run):
                    work[str(number)] = run
            if self.row.graph:
                work = {name: as_graph(run, max(20, self.data.copies)) for name, run in work.items()}
            times = {name: summary(v)["ms"] for name, v in timed(work, samples, warm=2).items()}
            found |= {s: times["copy"] / times[str(n)] for n, s in enumerate(part) if str(n) in times}
        self.tried += len(found)
        return found

    def best(self, samples: int) -> dict[str, Any]:
        from speed_work import data_of

        self.data = data_of(self.row, self.nest.kernel)
        shares = self.shares(self.first, samples)
        leader = max(shares, key=lambda s: shares[s])
        shares |= self.shares(self.compile(neighbours(self.nest, leader)), samples)
        leaders = sorted(shares, key=lambda s: -shares[s])[:4]
        again = self.shares(self.compile([self.auto, *leaders]), 30)
        best = max(again, key=lambda s: again[s])
        return {
            "row": self.row.name,
            "tried": self.tried - len(again),
            "auto": again[self.auto],
            "auto schedule": worded(self.auto),
            "best": again[best],
            "best schedule": worded(best),
            "close": again[self.auto] >= CLOSE * again[best],
        }


def worded(schedule: Schedule) -> str:
    """The schedule in the language's words; a bare number of threads, which the language does not have, in brackets."""
    threads = f" ({schedule.thread_count} threads)" if schedule.thread_count else ""
    return schedule.describe() + threads


def table(results: Sequence[dict[str, Any]]) -> str:
    import cupy

    import tilegen

    near = sum(r["close"] for r in results)
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    lines = [
        "# `auto` against a search",
        "",
        f"Measured {time.strftime('%Y-%m-%d')} with tilegen {tilegen.__version__} on one {device} by",
        "`python benchmarks/search.py`. Shares of an equal-size copy. `tried`: schedules that could be honoured and",
        "gave the right result.",
        f"`auto` is within 3 % of the best found on {near} of {len(results)} shapes.",
        "",
        "| work | `auto` | best | of best | tried | schedule of `auto` | best schedule |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in results:
        of_best = f"{r['auto'] / r['best']:.3f}" + ("" if r["close"] else " (far)")
        cells = [r["row"], f"{r['auto']:.3f}", f"{r['best']:.3f}", of_best, str(r["tried"])]
        lines.append("| " + " | ".join([*cells, f"`{r['auto schedule']}`", f"`{r['best schedule']}`"]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", action="append", default=[], metavar="WORD")
    parser.add_argument(
        "--tiles", type=int, default=10, help="tiles of the first round, and half as many squares"
    )
    parser.add_argument("--most", type=int, default=100, help="schedules of the first round")
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    rows = [r for r in ROWS if r.name in SHAPES and r.named(options.rows)]
    workers = max(1, (os.cpu_count() or 2) - 1)
    results = []
    with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as pool:
        searches = [Search(row, device_target(), pool, options.tiles, options.most) for row in rows]
        import torch

        for one in searches:
            begun = time.time()
            result = one.best(options.samples)
            del one.data
            torch.cuda.empty_cache()
            results.append(result)
            print(
                f"{one.row.name:44} auto {result['auto']:.3f} best {result['best']:.3f} of {result['tried']} "
                f"[{result['best schedule']}] {time.time() - begun:.1f}s",
                flush=True,
            )
            if options.out:
                options.out.write_text(json.dumps(results, indent=1) + "\n")
            if options.table:
                options.table.write_text(table(results))


if __name__ == "__main__":
    main()
