"""Calls from several threads, each on a stream of its own, share one kernel and its prepared launches."""

from __future__ import annotations

import threading

import pytest

import tilegen

TRANSPOSE = """
kernel transpose(M, N) {
    in  a: f32[M, N]
    out b: f32[N, M]
    b[j, i] = a[i, j]
    schedule tiled { tile i = 32, j = 32; stage a pad 1 }
    test M = 33, N = 65
}
"""


@pytest.mark.gpu
@pytest.mark.parametrize("given", [False, True], ids=["new output", "output given"])
def test_threads_with_streams_of_their_own(given: bool) -> None:
    import cupy

    kernel = tilegen.loads(TRANSPOSE).kernel()
    sources = [cupy.arange(257 * 129, dtype="f4").reshape(257, 129) + 1000 * n for n in range(4)]
    cupy.cuda.Device().synchronize()
    start, wrong = threading.Barrier(len(sources)), []

    def work(number: int) -> None:
        a = sources[number]
        stream = cupy.cuda.Stream(non_blocking=True)
        start.wait()
        with stream:
            for _ in range(50):
                out = cupy.empty((129, 257), "f4") if given else None
                b = kernel(a, out=out)
                if not bool((b == a.T).all()):
                    wrong.append(number)
        stream.synchronize()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(sources))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.gpu
def test_a_launch_waits_for_nothing_but_its_own_stream() -> None:
    """Two streams at once: a short kernel on one is done while a long one on the other still runs."""
    import cupy

    kernel = tilegen.loads(TRANSPOSE).kernel()
    large, small = cupy.ones((16384, 16384), "f4"), cupy.ones((32, 32), "f4")
    out_large, out_small = cupy.empty((16384, 16384), "f4"), cupy.empty((32, 32), "f4")
    long, short = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    for _ in range(2):
        kernel(large, out=out_large)
        kernel(small, out=out_small)
    cupy.cuda.Device().synchronize()
    with long:
        for _ in range(100):
            kernel(large, out=out_large)
    with short:
        kernel(small, out=out_small)
    short.synchronize()
    still_running = not long.done
    long.synchronize()
    assert still_running
    assert bool((out_small == 1).all()) and bool((out_large == 1).all())


HISTOGRAM = "kernel hist(N) { in x: u8[N]; out h: i32[256]; h[b] = count[i](x[i] == b) }"


@pytest.mark.gpu
def test_launches_on_several_streams_do_not_share_scratch_memory() -> None:
    """Totals of two launches in one place would be off, and so would tickets: a launch would have no last block."""
    import cupy

    kernel = tilegen.loads(HISTOGRAM).kernel()
    length, count = 3_000_001, 4
    sources = [cupy.full(length, n, "u1") for n in range(count)]
    kernel(sources[0])
    cupy.cuda.Device().synchronize()
    start, wrong = threading.Barrier(count), []

    def work(number: int) -> None:
        wanted = cupy.zeros(256, "i4")
        wanted[number] = length
        out = cupy.empty(256, "i4")
        cupy.cuda.Device().synchronize()
        start.wait()
        with cupy.cuda.Stream(non_blocking=True) as stream:
            for turn in range(100):
                found = kernel(sources[number], out=out) if turn % 2 else kernel(sources[number])
                if not bool((found == wanted).all()):
                    wrong.append((number, turn))
            stream.synchronize()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
