"""Single-pass scans with decoupled look-back, and the same with one thing wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilegen.sim import FaultKind

Run = Callable[..., Any]

# 128 threads scan 512 elements; `publish`, `look` and the arrays are what the variants differ in.
SCAN = """\
enum {{ INVALID, AGGREGATE, PREFIX }};
{helpers}
extern "C" __global__ void __launch_bounds__(128)
scan(const int* __restrict__ a, int* __restrict__ b, unsigned* ticket, {parameters}, int n) {{
    __shared__ int ticket_taken, warp_sums[4], before;
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    if (thread == 0) ticket_taken = atomicAdd(ticket, 1u);
    __syncthreads();
    const int tile = ticket_taken, start = tile * 512 + thread * 4;
    int v[4], sum = 0;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {{
        v[e] = start + e < n ? a[start + e] : 0;
        sum += v[e];
    }}
    int inclusive = sum;
    #pragma unroll
    for (int step = 1; step < 32; step <<= 1) {{
        const int other = __shfl_up_sync(0xffffffffu, inclusive, step);
        if (lane >= step) inclusive += other;
    }}
    if (lane == 31) warp_sums[warp] = inclusive;
    __syncthreads();
    int total = 0, offset = 0;
    #pragma unroll
    for (int w = 0; w < 4; ++w) {{
        if (w < warp) offset += warp_sums[w];
        total += warp_sums[w];
    }}
    if (warp == 0) {{
        int exclusive = 0;
        if (tile == 0) {{
            if (lane == 0) {{
{publish_first}
            }}
        }} else {{
            if (lane == 0) {{
{publish_aggregate}
            }}
            for (int last = tile - 1;; last -= 32) {{
                const int look = last - lane;
                int state = PREFIX, value = 0;
                do {{
{poll}
                }} while (__any_sync(0xffffffffu, state == INVALID));
{read}
                const unsigned done = __ballot_sync(0xffffffffu, state == PREFIX);
                if (done && lane > __ffs(done) - 1) value = 0;
                exclusive += __reduce_add_sync(0xffffffffu, value);
                if (done) break;
            }}
            if (lane == 0) {{
{publish_prefix}
            }}
        }}
        if (lane == 0) before = exclusive;
    }}
    __syncthreads();
    int running = before + offset + inclusive - sum;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {{
        running += v[e];
        if (start + e < n) b[start + e] = running;
    }}
}}
"""

FENCED = SCAN.format(
    helpers="",
    parameters="volatile int* status, int* aggregate, int* prefix",
    publish_first="""\
                prefix[0] = total;
                __threadfence();  // first
                status[0] = PREFIX;""",
    publish_aggregate="""\
                aggregate[tile] = total;
                __threadfence();  // aggregate
                status[tile] = AGGREGATE;""",
    poll="                    if (look >= 0) state = status[look];",
    read="""\
                __threadfence();  // acquire
                if (look >= 0 && state == PREFIX) value = prefix[look];
                if (look >= 0 && state == AGGREGATE) value = aggregate[look];""",
    publish_prefix="""\
                prefix[tile] = exclusive + total;
                __threadfence();  // prefix
                status[tile] = PREFIX;""",
)

ACQUIRING = SCAN.format(
    helpers="""\
__device__ __forceinline__ int load(const int* p) {
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ void store(int* p, int v) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
}""",
    parameters="int* status, int* aggregate, int* prefix",
    publish_first="""\
                prefix[0] = total;
                store(&status[0], PREFIX);""",
    publish_aggregate="""\
                aggregate[tile] = total;
                store(&status[tile], AGGREGATE);""",
    poll="""\
                    if (look >= 0) state = load(&status[look]);
                    __nanosleep(40);""",
    read="""\
                if (look >= 0 && state == PREFIX) value = prefix[look];
                if (look >= 0 && state == AGGREGATE) value = aggregate[look];""",
    publish_prefix="""\
                prefix[tile] = exclusive + total;
                store(&status[tile], PREFIX);""",
)

PACKED = SCAN.format(
    helpers="""\
__device__ __forceinline__ void publish(unsigned long long* p, int state, int value) {
    const unsigned long long word = (unsigned long long)state << 32 | (unsigned)value;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(p), "l"(word) : "memory");
}""",
    parameters="unsigned long long* words",
    publish_first="                publish(&words[0], PREFIX, total);",
    publish_aggregate="                publish(&words[tile], AGGREGATE, total);",
    poll="""\
                    if (look >= 0) {
                        unsigned long long word;
                        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(words + look) : "memory");
                        state = (int)(word >> 32);
                        value = (int)word;
                    }""",
    read="",
    publish_prefix="                publish(&words[tile], PREFIX, exclusive + total);",
)

TILE = 512


def run_scan(launch: Run, source: str, tiles: int, packed: bool = False, **options: Any) -> Any:
    n = tiles * TILE - 77
    a = np.random.default_rng(tiles).integers(-1000, 1000, n).astype(np.int32)
    words: tuple[Any, ...] = (np.zeros(tiles, np.int32), ("out", 4 * tiles), ("out", 4 * tiles))
    if packed:
        words = (np.zeros(tiles, np.uint64),)
    ran = launch(source, tiles, 128, a, ("out", 4 * n), np.zeros(1, np.uint32), *words, n, **options)
    if not ran.report.faults:
        assert np.array_equal(ran.array(1, np.int32), np.cumsum(a, dtype=np.int32))
    return ran


@pytest.mark.parametrize("tiles", [1, 2, 33, 100, 700])
@pytest.mark.parametrize("name, source", [("fenced", FENCED), ("acquiring", ACQUIRING), ("packed", PACKED)])
def test_scans(launch: Run, name: str, source: str, tiles: int) -> None:
    start = time.process_time()
    ran = run_scan(launch, source, tiles, name == "packed")
    assert ran.report.faults == ()
    assert time.process_time() - start < 20


def mutate(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1, (old, source.count(old))
    return source.replace(old, new)


AGGREGATE = ("aggregate[tile] = total", "value = aggregate[look]")
PREFIX = ("prefix[tile] = exclusive + total", "value = prefix[look]")
FIRST = ("prefix[0] = total", "value = prefix[look]")


@pytest.mark.parametrize("tiles", [3, 100, 700])
@pytest.mark.parametrize(
    "old, new, lines",
    [
        ("__threadfence();  // aggregate", "", AGGREGATE),
        ("__threadfence();  // prefix", "", PREFIX),
        ("__threadfence();  // first", "", FIRST),
        ("__threadfence();  // aggregate", "__threadfence_block();", AGGREGATE),
        ("__threadfence();  // prefix", "__threadfence_block();", PREFIX),
        ("__threadfence();  // acquire", "", FIRST),
        ("__threadfence();  // acquire", "__threadfence_block();", FIRST),
        ("__threadfence();  // acquire", "__syncwarp();", FIRST),
        (
            "aggregate[tile] = total;\n                __threadfence();  // aggregate\n"
            "                status[tile] = AGGREGATE;",
            "__threadfence();  // aggregate\n                status[tile] = AGGREGATE;\n"
            "                aggregate[tile] = total;",
            AGGREGATE,
        ),
    ],
)
def test_a_fence_dropped_or_too_narrow_or_too_early(
    launch: Run, old: str, new: str, lines: tuple[str, ...], tiles: int
) -> None:
    ran = run_scan(launch, mutate(FENCED, old, new), tiles)
    if lines == PREFIX and tiles == 3:
        # All blocks run in step: the third finds the first one's prefix at once.
        assert ran.report.faults == ()
        return
    assert ran.said(FaultKind.GLOBAL_RACE, *lines), ran.report.faults
    assert set(ran.faults) == {FaultKind.GLOBAL_RACE}


@pytest.mark.parametrize("tiles", [3, 700])
@pytest.mark.parametrize(
    "old, new",
    [
        ("ld.acquire.gpu", "ld.relaxed.gpu"),
        ("st.release.gpu", "st.relaxed.gpu"),
        ("ld.acquire.gpu", "ld.acquire.cta"),
        ("st.release.gpu", "st.release.cta"),
        ("st.release.gpu", "st.release.cluster"),
    ],
)
def test_a_release_or_an_acquire_dropped_or_too_narrow(launch: Run, old: str, new: str, tiles: int) -> None:
    ran = run_scan(launch, mutate(ACQUIRING, old, new), tiles)
    assert ran.said(FaultKind.GLOBAL_RACE, *FIRST), ran.report.faults
    # Where the scope is too narrow, the flag itself is not atomic for both blocks.
    narrow = new.endswith(("cta", "cluster"))
    assert (
        ran.said(FaultKind.GLOBAL_RACE, "store(&status[0], PREFIX)", "state = load(&status[look])") == narrow
    )


@pytest.mark.parametrize("tiles", [3, 700])
@pytest.mark.parametrize("instruction", ["ld.relaxed.gpu", "st.relaxed.gpu"])
def test_packed_words_need_no_fence_but_the_scope(launch: Run, instruction: str, tiles: int) -> None:
    narrow = instruction.replace("gpu", "cta")
    ran = run_scan(launch, mutate(PACKED, instruction, narrow), tiles, packed=True)
    assert ran.said(FaultKind.GLOBAL_RACE, "publish(&words[0], PREFIX", "ld.relaxed."), ran.report.faults


def test_a_plain_flag_races(launch: Run) -> None:
    ran = run_scan(launch, mutate(PACKED, "st.relaxed.gpu.global.u64", "st.global.u64"), 3, packed=True)
    assert ran.said(FaultKind.GLOBAL_RACE, "publish(&words[0], PREFIX", "ld.relaxed."), ran.report.faults


@pytest.mark.parametrize("tile", ["blockIdx.x", "gridDim.x - 1 - blockIdx.x"])
def test_waiting_for_a_block_that_has_not_started(launch: Run, tile: str) -> None:
    # Without a ticket, in an order that a GPU may choose: right while all blocks run at once, and not for longer.
    source = mutate(FENCED, "atomicAdd(ticket, 1u)", tile)
    assert run_scan(launch, source, 100).report.faults == ()
    start = time.process_time()
    ran = run_scan(launch, source, 700)
    assert ran.said(FaultKind.DEADLOCK, "state = status[look]"), ran.report.faults
    assert set(ran.faults) == {FaultKind.DEADLOCK}
    assert "444 blocks have not started" in ran.faults[FaultKind.DEADLOCK].message
    assert time.process_time() - start < 20


def test_a_flag_that_is_never_set(launch: Run) -> None:
    source = mutate(FENCED, "status[tile] = AGGREGATE;", "if (tile != 40) status[tile] = AGGREGATE;")
    source = mutate(source, "status[tile] = PREFIX;", "if (tile != 40) status[tile] = PREFIX;")
    ran = run_scan(launch, source, 100)
    assert ran.said(FaultKind.DEADLOCK, "state = status[look]"), ran.report.faults


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_barrier_dropped(launch: Run, which: int) -> None:
    parts = FENCED.split("    __syncthreads();\n")
    assert len(parts) == 4
    parts[which : which + 2] = [parts[which] + "\n" + parts[which + 1]]
    ran = run_scan(launch, "    __syncthreads();\n".join(parts), 40)
    shared = [
        ("ticket_taken = atomicAdd", "tile = ticket_taken"),
        ("warp_sums[warp] = inclusive", "offset += warp_sums[w]"),
        ("before = exclusive", "running = before"),
    ]
    assert ran.said(FaultKind.SHARED_RACE, *shared[which]), ran.report.faults
