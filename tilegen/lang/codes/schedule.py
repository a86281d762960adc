"""TG06 and TG07: schedules and plans that cannot be honoured. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Code

CODES: tuple[Code, ...] = (
    Code(
        "TG0601",
        "several buffers where there is one tile",
        "`buffers` and `async` load the next tile while the present one is used. A block of a copy, a "
        "permutation or an "
        "elementwise kernel loads one tile and is done.",
        "schedule s { tile i = 32, j = 32; stage a buffers 3 async }",
    ),
    Code(
        "TG0602",
        "too many threads",
        "A thread block has at most 1024 threads. `tile` says what a block computes, `threads` how many share "
        "the work: a "
        "thread takes several points.",
        "schedule s { threads i = 64, j = 32 }",
    ),
    Code(
        "TG0603",
        "a register cap out of range",
        "A thread has between 24 and 255 registers: ptxas raises a lower cap to 24.",
        "schedule s { max_registers 8 }",
    ),
    Code(
        "TG0604",
        "vectors of mixed structs",
        "A vector access moves neighbours of one type. The members of this struct have several.",
        "in p: struct { x: f32, n: i64 }[P] with vector 2",
    ),
    Code(
        "TG0605",
        "a vector wider than a memory instruction",
        "One thread moves at most 16 bytes with one instruction: 4 of f32, 8 of f16, 2 of f64.",
        "schedule s { vector 8 } with f32",
    ),
    Code(
        "TG0606",
        "no neighbours to make a vector of",
        "A vector access needs elements that lie side by side and start at a multiple of the width, for some "
        "sizes at "
        "least. A constant offset or a stride of the tensor rules that out here.",
        "in a: f32[N] offset 1 with vector 4",
    ),
    Code(
        "TG0607",
        "a vector across the rows",
        "Threads walk the output in its own order. A tensor whose neighbours lie along another axis can be "
        "read in "
        "vectors only through shared memory.",
        "b[j, i] = a[i, j] with vector 4 and without stage a",
    ),
    Code(
        "TG0608",
        "a tile that cuts vectors",
        "A tile holds whole vectors: along the axis of the vectors it is a multiple of their width.",
        "schedule s { tile i = 30; vector 4 }",
    ),
    Code(
        "TG0609",
        "nothing to unroll",
        "`unroll` names an axis along which each thread loops. There is a loop where the tile has more points "
        "along the "
        "axis than there are threads along it.",
        "schedule s { tile i = 32; threads i = 32; unroll i = 2 }",
    ),
    Code(
        "TG0610",
        "a tile that does not fit shared memory",
        "The staged tiles of a block, padding included, must fit what the target gives a block (227 KiB on "
        "sm_90).",
        "schedule s { tile i = 512, j = 512; stage a }",
    ),
    Code(
        "TG0611",
        "a tensor that cannot be staged",
        "A tile is staged when every point of it reads one element of the tensor, at an index linear in the "
        "axes, whatever "
        "the data.",
        "stage a with b[i] = a[idx[i]]",
    ),
    Code(
        "TG0612",
        "a staged tile that cuts vectors",
        "The staged tile is loaded and stored in whole vectors on both of its axes.",
        "schedule s { tile i = 30, j = 64; stage a swizzle; vector 4 }",
    ),
    Code(
        "TG0613",
        "a padding that misaligns vectors",
        "Rows that are accessed several elements at a time must start at a multiple of that many. A padding "
        "of one "
        "element is for accesses of one element.",
        "schedule s { tile i = 64, j = 64; stage a pad 1; vector 4 }",
    ),
    Code(
        "TG0614",
        "a swizzle that is not one-to-one",
        "The swizzle permutes the chunks of a row by exclusive or, which maps a row onto itself only if it "
        "has a power of "
        "two of them.",
        "schedule s { tile i = 24, j = 24; stage a swizzle }",
    ),
    Code(
        "TG0615",
        "a tile that never ends",
        "A tile is what one block computes: more than about a million points keep its threads busy one after another "
        "while the rest of the device waits.",
        "schedule s { tile i = 99999999 }",
    ),
    Code(
        "TG0616",
        "too many variants",
        "The sets of values in a schedule multiply: three sets of ten are a thousand schedules to build and to verify.",
        "schedule s { tile i = {1, 2, …, 20}, j = {1, 2, …, 20} }",
    ),
    Code(
        "TG0617",
        "a directive that rows have no use for",
        "Kernels with reductions have no tiles in shared memory and no order of tiles: threads walk rows. `threads`, "
        "`tile` along rows and reduced axes, `keep`, `vector`, `in_flight`, `unroll`, `blocks`, `cluster`, `hint`, "
        "`index` and the limits on registers apply.",
        "s[i] = sum[j](a[i, j]) with stage a",
    ),
    Code(
        "TG0618",
        "a team that is not a power of two",
        "Threads that share a row combine their results in pairs, then pairs of pairs: their number is a power of two.",
        "s[i] = sum[j](a[i, j]) with threads j = 96",
    ),
    Code(
        "TG0619",
        "a warp that is not whole",
        "Threads that share a row exchange results within warps: a block with such teams has a multiple of 32 threads.",
        "s[i] = sum[j](a[i, j]) with threads i = 3, j = 8",
    ),
    Code(
        "TG0620",
        "a tile of rows that threads do not make up",
        "Along parallel axes `tile` is the number of rows that the threads of a block have side by side, along reduced "
        "axes a multiple of what they take at once.",
        "s[i] = sum[j](a[i, j]) with tile i = 3; threads i = 2, j = 64",
    ),
    Code(
        "TG0621",
        "more blocks than a multiprocessor holds",
        "`min_blocks` asks for so many blocks per multiprocessor at once. It has room for a number of blocks, of "
        "threads and of registers.",
        "threads i = 1024; min_blocks 4",
    ),
    Code(
        "TG0622",
        "rows that cannot begin and end at sectors",
        "`hint y sectors` moves the ends of a tile's rows of `y` to sectors of 32 bytes, so that no two blocks write "
        "parts of one. It takes a tile that is staged, has several rows of `y`, and is followed by another along them.",
        "y[j, i] = x[i, j] with tile i = 32, j = 32; hint y sectors",
    ),
    Code(
        "TG0623",
        "a directive that tiles have no use for",
        "In a copy, a permutation or an elementwise kernel there is a block for each tile, and each point is computed "
        "once: nothing is kept for later, no two blocks share a part. `tile`, `threads`, `stage`, `vector`, `bounds`, "
        "`raster`, `unroll`, `hint`, `index` and the limits on registers apply.",
        "y[i] = x[i] with blocks i = 4",
    ),
    Code(
        "TG0624",
        "an axis that is not walked",
        "A schedule speaks of the axes that a kernel's points lie along. The axes of a `let` are none of them where "
        "it is read at other points, and `i*j` is one only if `i` and `j` lie end to end in every tensor.",
        "y[j, i] = x[i, j] with tile i*j = 1024",
    ),
    Code(
        "TG0625",
        "a row that cannot be shared so",
        "`keep` holds all of a row, `blocks` shares a row that is walked once and along which nothing is written, and "
        "`cluster` holds a row in the registers of up to 8 blocks. In a histogram `blocks` gives a block all points of "
        "an axis of the output.",
        "y[i, j] = x[i, j] / sum[k](x[i, k]) with blocks j = 8",
    ),
    Code(
        "TG0626",
        "alternatives that promise different things",
        "`bounds exact` and `index` are promises about every launch; `otherwise` does not take them back.",
        "y[i] = x[i] with at N = 64; bounds exact; otherwise; tile i = 256",
    ),
    Code(
        "TG0631",
        "a directive that scans have no use for",
        "Each element of a scan is read once, by the thread that needs it, and tiles of a row follow each other. "
        "`threads`, `tile`, `vector`, `hint`, `index` and the limits on registers apply.",
        "y[i, j] = sum[k in 0..=j](x[i, k]) with stage x",
    ),
    Code(
        "TG0632",
        "threads that cannot scan",
        "Totals of a scan go from lane to lane of a warp: a row has a power of two of threads up to 32, or whole "
        "warps. The threads of a block lie along the scanned axis and one other at most; `tile` is what they take at "
        "once.",
        "y[i, j] = sum[k in 0..=j](x[i, k]) with threads j = 96; tile j = 100",
    ),
    Code(
        "TG0641",
        "a directive that a histogram has no use for",
        "Blocks of a histogram stride over all elements, count each at once and hold all bins: there are no tiles to "
        "shape, to stage, to order or to guard. `threads`, `vector`, `in_flight`, `unroll`, `hint`, `index`, "
        "`max_registers` and `min_blocks` apply.",
        "h[b] = count[i](x[i] == b) with tile i = 4096",
    ),
    Code(
        "TG0642",
        "threads along an axis that is not walked",
        "Threads of a histogram walk its elements: `threads` and `unroll` name the axes of the reduction. An axis of "
        "bins says where a count goes.",
        "h[b] = count[i](x[i] == b) with threads b = 256",
    ),
    Code(
        "TG0643",
        "more loads than a thread can hold",
        "In a histogram `unroll` is the number of loads of a thread that are under way at once. Each waits in "
        "registers of its own.",
        "h[b] = count[i](x[i] == b) with unroll i = 64",
    ),
    Code(
        "TG0701",
        "a kernel that cannot be generated yet",
        "The spec is legal and the NumPy reference evaluates it. This version generates copies, layout changes, "
        "gathers, elementwise expressions, reductions, scans and histograms.",
        "s[i] = sum[j](max[k](a[i, j, k]))",
    ),
    Code(
        "TG0702",
        "assignments over different points",
        "All assignments of a kernel are computed in one launch, at the same points.",
        "b[i] = a[i]; c[i, j] = d[i, j]",
    ),
    Code(
        "TG0703",
        "an in-place read of another element",
        "Every read of an `inout` tensor sees the value from before the launch. Threads run in any order, so "
        "an element "
        "may be read only by the thread that writes it.",
        "inout a: f32[N]; a[i] = a[N - 1 - i]",
    ),
    Code(
        "TG0704",
        "arithmetic that cannot be generated yet",
        "Complex and 8-bit floating-point elements can be moved, not computed with, in this version.",
        "y[i] = x[i] * 2 with c64",
    ),
    Code(
        "TG0705",
        "lets that grow too long",
        "A let is written out wherever it is read: a chain of lets that each read the one before twice doubles with "
        "every link.",
        "let b[i] = a[i] * a[i]; let c[i] = b[i] * b[i]; … fifteen times",
    ),
)
