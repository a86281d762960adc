"""Which directives each family honours: the one table of them. What a family does not name here, it honours.

docs/language.md shows it; tests/schedule compare both with what the families do."""

from __future__ import annotations

from tilegen.core.schedule.rules import Feature, Refused, Rules

_SECTORS = Refused(
    "a kernel with reductions stages no tile: threads walk rows",
    code="TG0622",
    message="the rows of `{tensor}` in a tile cannot be made to begin and end at sectors",
)
_ONE_TILE = Refused(
    "a block of this kernel loads one tile and is done: there is no next tile to load meanwhile",
    "write `{plain}`",
    code="TG0601",
    message="`{said}` cannot be honoured here",
)

_TWICE = Refused("the number along each axis is that of the block too", "give the one or the others")

TILES = Rules(
    code="TG0623",
    message="`{said}` has no meaning for a kernel of tiles",
    refused={
        Feature.COUNT_AND_AXES: _TWICE,
        Feature.BUFFERS: _ONE_TILE,
        Feature.ASYNC: _ONE_TILE,
        Feature.KEEP_REGISTERS: Refused(
            "each point is computed once, from what is read for it: nothing is needed again"
        ),
        Feature.KEEP_SHARED: Refused(
            "what several threads of a block need is staged", "write `stage` for it"
        ),
        Feature.IN_FLIGHT: Refused(
            "the loads of a thread are those of its points", "say by `tile` and `threads` how many it has"
        ),
        Feature.BLOCKS: Refused("there is a block for each tile", "say by `tile` how large it is"),
        Feature.CLUSTER: Refused("blocks compute their tiles by themselves"),
    },
)

_WALK_ROWS = Refused("threads walk rows; what is needed again stays in registers")
ROWS = Rules(
    code="TG0617",
    message="`{said}` cannot be honoured in a kernel with reductions",
    refused={
        Feature.STAGE: _WALK_ROWS,
        Feature.BUFFERS: _WALK_ROWS,
        Feature.ASYNC: _WALK_ROWS,
        Feature.RASTER: _WALK_ROWS,
        Feature.BOUNDS: _WALK_ROWS,
        Feature.SECTORS: _SECTORS,
        Feature.KEEP_SHARED: _WALK_ROWS,
        Feature.WIDTHS: Refused(
            "a thread takes as many neighbours of a row at a time from every tensor",
            "give all tensors one width",
            message="{said} cannot be honoured in a kernel with reductions",
        ),
    },
)

_READ_ONCE = Refused("each element is read once, by the thread that needs it, and stays in its registers")
_LANES = Refused(
    "a row has lanes of a warp, or whole warps", "say along which axis the threads lie: `threads j = …`"
)
SCAN = Rules(
    code="TG0631",
    message="`{said}` has no meaning for a scan",
    refused={
        Feature.THREAD_COUNT: _LANES,
        Feature.COUNT_AND_AXES: _LANES,
        Feature.STAGE: _READ_ONCE,
        Feature.BUFFERS: _READ_ONCE,
        Feature.ASYNC: _READ_ONCE,
        Feature.KEEP_REGISTERS: _READ_ONCE,
        Feature.KEEP_SHARED: _READ_ONCE,
        Feature.IN_FLIGHT: Refused(
            "all loads of a tile are under way together", "say by `tile` how many points a thread has"
        ),
        Feature.BLOCKS: Refused("rows that are few and long are cut among blocks at launch, tile by tile"),
        Feature.CLUSTER: Refused("totals go from block to block through global memory"),
        Feature.UNROLL: Refused("the steps of a tile are unrolled in any case, tiles follow each other"),
        Feature.BOUNDS: Refused("the last tile of a row is guarded in any case"),
        Feature.RASTER: Refused("blocks take rows, or tiles of one row from its start, in order"),
        Feature.SECTORS: _SECTORS,
    },
)

_COUNTED_ONCE = Refused("each element is read once and counted at once; shared memory holds the bins")
HISTOGRAM = Rules(
    code="TG0641",
    message="`{said}` cannot be honoured for a histogram",
    refused={
        Feature.COUNT_AND_AXES: _TWICE,
        Feature.TILE: Refused(
            "blocks of a histogram stride over all elements and hold all bins: there are no tiles",
            "leave `tile` out; `threads` and `in_flight` say what a block reads at a time",
        ),
        Feature.STAGE: _COUNTED_ONCE,
        Feature.BUFFERS: _COUNTED_ONCE,
        Feature.ASYNC: _COUNTED_ONCE,
        Feature.KEEP_REGISTERS: _COUNTED_ONCE,
        Feature.KEEP_SHARED: _COUNTED_ONCE,
        Feature.CLUSTER: Refused("each block counts for itself; totals meet in global memory"),
        Feature.BOUNDS: Refused(
            "blocks of a histogram stride over all elements: there are no tiles at an edge",
            "leave `bounds` out: any size works",
        ),
        Feature.RASTER: Refused(
            "blocks of a histogram stride over all elements: there are no tiles to order"
        ),
        Feature.SECTORS: _SECTORS,
    },
    fewer_threads="; blocks stride over the elements, whatever their number",
)
