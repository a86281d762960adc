"""Instructions that threads meet or talk through: forms, special registers, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilegen.sim import (
    FaultKind,
    Launch,
    Memory,
    Module,
    Report,
    SimulationError,
    UnsupportedInstruction,
    load_module,
    simulate,
)

Run = Callable[..., tuple[Report, Memory]]

REGISTERS = """extern "C" __global__ void __cluster_dims__(2, 3, 1) k(unsigned* out) {
    unsigned v[18];
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[0])); asm("mov.u32 %0, %%clusterid.y;" : "=r"(v[1]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(v[2])); asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[3]));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(v[4])); asm("mov.u32 %0, %%nclusterid.z;" : "=r"(v[5]));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[6])); asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[7]));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(v[8])); asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[9]));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[10])); asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(v[11]));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[12])); asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v[13]));
    asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(v[14]));
    v[15] = blockIdx.x; v[16] = blockIdx.y; v[17] = blockIdx.z;
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    for (int i = 0; i < 18; i++) out[(block * blockDim.x + threadIdx.x) * 18 + i] = v[i];
}"""


@pytest.mark.parametrize("threads", [1, 40, 1024])
def test_special_registers_of_a_cluster(run: Run, threads: int) -> None:
    grid = (4, 6, 2)
    report, memory = run(REGISTERS, grid, threads, ("out", 48 * threads * 18 * 4))
    assert report.faults == ()
    got = memory.read("a0").view(np.uint32).reshape(2, 6, 4, threads, 18)
    assert (got == got[:, :, :, :1]).all()
    for z, y, x in np.ndindex(2, 6, 4):
        cluster, within = (x // 2, y // 3, z), (x % 2, y % 3, 0)
        expected = [*cluster, 2, 2, 2, *within, 2, 3, 1, within[1] * 2 + within[0], 6, 1, x, y, z]
        assert got[z, y, x, 0].tolist() == expected


def test_a_kernel_without_clusters_has_clusters_of_one_block(run: Run) -> None:
    source = REGISTERS.replace("__cluster_dims__(2, 3, 1) ", "").replace("k(", "k(")
    report, memory = run(source, (2, 2), 1, ("out", 4 * 18 * 4))
    assert report.faults == ()
    row = memory.read("a0").view(np.uint32).reshape(4, 18)[3].tolist()
    assert row == [1, 1, 0, 2, 2, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0]


def test_the_grid_is_whole_clusters(run: Run) -> None:
    with pytest.raises(ValueError, match=r"grid\.y = 4 is not a multiple of the 3 blocks"):
        run(REGISTERS, (4, 4), 1, ("out", 16 * 18 * 4))


GENERIC = """extern "C" __global__ void __cluster_dims__(4, 1, 1) k(int* out) {
    __shared__ int s[32];
    const unsigned rank = blockIdx.x % 4, other = (rank + 1) % 4;
    s[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    int* remote;
    asm("mapa.u64 %0, %1, %2;" : "=l"(remote) : "l"(s), "r"(other));
    unsigned far, near, in_cluster, in_block;
    asm("getctarank.u64 %0, %1;" : "=r"(far) : "l"(remote));
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(near) : "r"((unsigned)__cvta_generic_to_shared(s)));
    asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(in_cluster) : "l"(remote));
    asm("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(in_block) : "l"(remote));
    int* row = out + (blockIdx.x * 32 + threadIdx.x) * 6;
    row[0] = remote[threadIdx.x]; __syncwarp(); row[1] = far; row[2] = near; row[3] = in_cluster; row[4] = in_block;
    row[5] = atomicAdd(&remote[(threadIdx.x + 1) % 32], 0);
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}"""


def test_generic_addresses_of_other_blocks(run: Run) -> None:
    report, memory = run(GENERIC, 8, 32, ("out", 8 * 32 * 24))
    assert report.faults == ()
    got = memory.read("a0").view(np.int32).reshape(8, 32, 6)
    for block, lane in np.ndindex(8, 32):
        other = block // 4 * 4 + (block + 1) % 4
        expected = [other * 100 + lane, other % 4, block % 4, 1, 0, other * 100 + (lane + 1) % 32]
        assert got[block, lane].tolist() == expected
    # Requests through `mapa` are not counted as ones of the block's own shared memory.
    assert report.counters.shared_load_requests == 0 and report.counters.shared_store_requests == 8


ELECT = """extern "C" __global__ void k(unsigned* out) {
    unsigned leader, leads = 0, half = threadIdx.x < 20 ? 0x000fffffu : 0xfff00000u;
    asm volatile("{ .reg .pred p; elect.sync %0|p, %2; @p mov.u32 %1, 1; }" : "=r"(leader), "+r"(leads) : "r"(half));
    out[2 * threadIdx.x] = leader;
    out[2 * threadIdx.x + 1] = leads;
}"""


def test_elect(run: Run) -> None:
    report, memory = run(ELECT, 1, 32, ("out", 256))
    assert report.faults == ()
    got = memory.read("a0").view(np.uint32).reshape(32, 2)
    assert got[:, 0].tolist() == [0] * 20 + [20] * 12
    assert np.flatnonzero(got[:, 1]).tolist() == [0, 20]


FORMS = """extern "C" __global__ void k(unsigned* u, float* f, unsigned* out) {
    unsigned v[8], i = threadIdx.x;
    asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], 1;" : "=r"(v[0]) : "l"(u) : "memory");
    asm volatile("atom.acq_rel.gpu.global.max.u32 %0, [%1], %2;" : "=r"(v[1]) : "l"(u + 1), "r"(i) : "memory");
    asm volatile("atom.acquire.cta.global.or.b32 %0, [%1], %2;" : "=r"(v[2]) : "l"(u + 2), "r"(1 << i) : "memory");
    asm volatile("red.release.cluster.global.add.u32 [%0], 2;" :: "l"(u + 3) : "memory");
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" :: "l"(f), "f"(0.5f), "f"(2.0f) : "memory");
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %1, %2};" :: "l"(f + 4), "f"(1.0f), "f"(3.0f) : "memory");
    asm volatile("fence.acq_rel.cta; fence.acq_rel.cluster; fence.acq_rel.gpu; fence.acq_rel.sys;" ::: "memory");
    asm volatile("fence.sc.cta; fence.sc.gpu; membar.cta; membar.gl; membar.sys; nanosleep.u32 100;" ::: "memory");
    unsigned* row = out + 8 * i;
    asm volatile("st.release.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};"
        :: "l"(row), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(i) : "memory");
    asm volatile("ld.acquire.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]) : "l"(row) : "memory");
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};"
        :: "l"(row + 4), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7]) : "memory");
}"""


def test_forms(run: Run) -> None:
    u, f = np.zeros(4, np.uint32), np.zeros(8, np.float32)
    report, memory = run(FORMS, 1, 32, u, f, ("out", 1024))
    assert report.faults == ()
    assert memory.read("a0").view(np.uint32).tolist() == [32, 31, 0xFFFFFFFF, 64]
    assert memory.read("a1").view(np.float32).tolist() == [16, 64, 0, 0, 32, 96, 32, 96]
    rows = memory.read("a2").view(np.uint32).reshape(32, 8)
    assert rows[:, 0].tolist() == list(range(32)) and (rows[:, :4] == rows[:, 4:]).all()


@pytest.mark.parametrize(
    "body",
    [
        "fence.proxy.async;",
        "fence.mbarrier_init.release.cluster;",
        "barrier.cluster.wait.relaxed;",
        "barrier.arrive 1, 64;",
        "mbarrier.init.shared.b64 [0], 1;",
        "cp.async.bulk.commit_group;",
        "griddepcontrol.wait;",
        "elect.sync 3;",
    ],
)
def test_what_is_not_known_is_refused(body: str) -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n" + body + "\nret;\n}"
    with pytest.raises(UnsupportedInstruction, match="unsupported instruction"):
        simulate(load_module(text), "k", Launch((1, 1, 1), (32, 1, 1)), [], Memory())


SPINS = """extern "C" __global__ void k(int* lock, int* out) {
    for (int turn = 0; turn < 3; turn++) {
        BODY
    }
}"""


@pytest.mark.parametrize(
    "body",
    [
        # Locks, by a thread of each block; tickets; turns taken in order.
        """if (threadIdx.x == 0) {
            while (atomicCAS(lock, 0, 1) != 0) { }
            __threadfence();
            *out += 1;
            __threadfence();
            atomicExch(lock, 0);
        }""",
        """if (threadIdx.x == 0) {
            int ticket = atomicAdd(lock, 1);
            while (atomicAdd(lock + 1, 0) != ticket) __nanosleep(10);
            __threadfence();
            *out += 1;
            __threadfence();
            atomicAdd(lock + 1, 1);
        }""",
        """int mine = turn * gridDim.x + blockIdx.x;
        if (threadIdx.x == 0) { while (*(volatile int*)lock != mine) { } __threadfence(); *out += 1; }
        __syncthreads();
        if (threadIdx.x == 32) { __threadfence(); atomicAdd(lock, 1); }
        __syncthreads();""",
    ],
)
@pytest.mark.parametrize("blocks", [1, 40])
def test_locks_and_turns(run: Run, body: str, blocks: int) -> None:
    lock, out = np.zeros(2, np.int32), np.zeros(1, np.int32)
    report, memory = run(SPINS.replace("BODY", body), blocks, 64, lock, out)
    assert report.faults == ()
    assert memory.read("a1").view(np.int32)[0] == 3 * blocks
    for fence in (
        "__threadfence();\n            *out",
        "*out += 1;\n            __threadfence();",
        "__threadfence(); *out",
    ):
        if fence in body and blocks > 1:
            wrong = body.replace(fence, fence.replace("__threadfence();", ""))
            report, _ = run(SPINS.replace("BODY", wrong), blocks, 64, lock, out)
            assert FaultKind.GLOBAL_RACE in {fault.kind for fault in report.faults}


GRID_BARRIER = """extern "C" __global__ void k(unsigned* count, int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, last = 0;
    for (int turn = 1; turn <= 3; turn++) {
        a[i] = i * turn + last;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(count, 1u);
            while (*(volatile unsigned*)count < turn * 2 * gridDim.x - gridDim.x) { }
            __threadfence();
        }
        __syncthreads();
        last = a[n - 1 - i];
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();  // again
            atomicAdd(count, 1u);
            while (*(volatile unsigned*)count < turn * 2 * gridDim.x) { }
            __threadfence();
        }
        __syncthreads();
    }
    out[i] = last;
}"""


def test_a_barrier_of_the_grid(run: Run) -> None:
    n = 96 * 40
    arguments = (np.zeros(1, np.uint32), np.zeros(n, np.int32), ("out", 4 * n), np.int32(n))
    report, memory = run(GRID_BARRIER, 40, 96, *arguments)
    assert report.faults == ()
    i, last = np.arange(n), np.zeros(n, np.int64)
    for turn in (1, 2, 3):
        last = (i * turn + last)[::-1]
    assert memory.read("a2").view(np.int32).tolist() == last.tolist()
    report, _ = run(GRID_BARRIER.replace("__threadfence();  // again", ""), 40, 96, *arguments)
    assert {fault.kind for fault in report.faults} == {FaultKind.GLOBAL_RACE}


def test_a_barrier_of_a_grid_that_is_too_large(run: Run) -> None:
    # More blocks than run at once; a GPU would hang too, or refuse a cooperative launch.
    n = 96 * 500
    arguments = (np.zeros(1, np.uint32), np.zeros(n, np.int32), ("out", 4 * n), np.int32(n))
    report, _ = run(GRID_BARRIER, 500, 96, *arguments)
    assert FaultKind.DEADLOCK in {fault.kind for fault in report.faults}


def test_many_flags_of_one_block(run: Run) -> None:
    # Each thread looks back for a bin of its own.
    source = """extern "C" __global__ void k(volatile int* flags, int* sums, int* out) {
        int i = threadIdx.x, tile = blockIdx.x, before = 0;
        if (tile > 0) {
            while (flags[(tile - 1) * 256 + i] == 0) { }
            __threadfence();
            before = sums[(tile - 1) * 256 + i];
        }
        sums[tile * 256 + i] = before + i;
        __threadfence();
        flags[tile * 256 + i] = 1;
        out[tile * 256 + i] = before;
    }"""
    tiles = 100
    arguments = (np.zeros(tiles * 256, np.int32), ("out", tiles * 1024), ("out", tiles * 1024))
    report, memory = run(source, tiles, 256, *arguments)
    assert report.faults == ()
    assert np.array_equal(
        memory.read("a2").view(np.int32).reshape(tiles, 256), np.arange(tiles)[:, None] * np.arange(256)
    )
    report, _ = run(
        source.replace("out[tile", "__syncthreads(); sums[tile * 256 + (i ^ 1)] = 0; out[tile"),
        tiles,
        256,
        *arguments,
    )
    assert FaultKind.GLOBAL_RACE in {fault.kind for fault in report.faults}


def test_a_barrier_of_a_cluster_of_one_block(run: Run) -> None:
    source = """extern "C" __global__ void k(int* out) {
        __shared__ int s[64];
        s[threadIdx.x] = threadIdx.x;
        SYNC
        out[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
    }"""
    sync = 'asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");'
    report, memory = run(source.replace("SYNC", sync), 3, 64, ("out", 768))
    assert report.faults == ()
    assert memory.read("a0").view(np.int32).tolist() == list(range(63, -1, -1)) * 3
    # Unlike __syncthreads() it can be left half done.
    report, _ = run(source.replace("SYNC", sync.replace(" barrier.cluster.wait;", "")), 3, 64, ("out", 768))
    assert FaultKind.SHARED_RACE in {fault.kind for fault in report.faults}


def test_clusters_of_a_size_that_the_launch_gives() -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n.explicitcluster\n{\nret;\n}"
    with pytest.raises(SimulationError, match="size of its clusters"):
        load_module(text)


def test_clusters_in_the_ptx(cuda: Callable[..., Module]) -> None:
    module = cuda(REGISTERS)
    assert module.ptx.functions["k"].cluster == (2, 3, 1)
