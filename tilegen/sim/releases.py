"""The graph of releases: what a thread has made visible, and what lies behind it.

A node says: what `thread` did before `time` has happened, what its block did up to `barrier` and its warp up to
`warp` too, and all that the parents say. Times are keys of `shadow.py`. Nodes never change; 0 is the empty one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_NOBODY = -1
# Ancestors looked at before the whole closure is built: most queries are for what was read a moment ago.
_SHALLOW = 3
_KEPT = 256


@dataclass(frozen=True, slots=True)
class Closure:
    """All that a node says, summed up: the latest time by thread, by block and by warp."""

    threads: Array
    thread_times: Array
    blocks: Array
    block_times: Array
    warps: Array
    warp_times: Array

    def covers(self, others: Array, keys: Array, block_threads: int) -> Array:
        """Whether accesses with these keys by these threads have happened."""
        found = keys < _latest(self.threads, self.thread_times, others)
        found |= keys <= _latest(self.blocks, self.block_times, others // block_threads)
        found |= keys <= _latest(self.warps, self.warp_times, others >> 5)
        return np.asarray(found)


def _latest(names: Array, times: Array, wanted: Array) -> Array:
    if len(names) == 0:
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    return np.where(names[at] == wanted, times[at], np.int64(-1))


def _summed(names: Array, times: Array) -> tuple[Array, Array]:
    """Names in order, each once, with its latest time."""
    order = np.lexsort((times, names))
    names, times = names[order], times[order]
    last = np.append(names[1:] != names[:-1], True) if len(names) else np.zeros(0, dtype=np.bool_)
    return names[last], times[last]


class Releases:
    """Grows by whole arrays of nodes. `block_threads` are those of a block, padded to whole warps."""

    def __init__(self, block_threads: int) -> None:
        self.block_threads = block_threads
        self.count = 1
        self._closures: dict[int, Closure] = {}
        self._fields = np.zeros((6, 64), dtype=np.int64)
        self._fields[0] = _NOBODY
        # The parents again, for walks from node to node.
        self._links: tuple[list[int], list[int]] = ([0], [0])

    @property
    def thread(self) -> Array:
        """Per node the thread, -1 for nobody, -2 - b for all threads of block b."""
        return np.asarray(self._fields[0])

    @property
    def time(self) -> Array:
        return np.asarray(self._fields[1])

    @property
    def parents(self) -> Array:
        """Shape [2, nodes]."""
        return np.asarray(self._fields[4:])

    def _add(self, thread: Any, time: Any, barrier: Any, warp: Any, first: Any, second: Any, n: int) -> Array:
        start, end = self.count, self.count + n
        if end > self._fields.shape[1]:
            grown = np.zeros((6, max(end, 2 * self._fields.shape[1])), dtype=np.int64)
            grown[:, :start] = self._fields[:, :start]
            self._fields = grown
        for field, values in enumerate((thread, time, barrier, warp, first, second)):
            self._fields[field, start:end] = values
        for side, links in enumerate(self._links):
            links += self._fields[4 + side, start:end].tolist()
        self.count = end
        return np.arange(start, end, dtype=np.int64)

    def own(self, threads: Array, time: int, barriers: Array, warps: Array, known: Array) -> Array:
        """A node for each thread: what it has done before `time`, and what it knows."""
        return self._add(threads, time, barriers, warps, known, 0, len(threads))

    def of_block(self, blocks: Array, times: Array, known: Any) -> Array:
        """A node for each block: what all its threads have done before a time."""
        return self._add(-2 - blocks, times, 0, 0, known, 0, len(blocks))

    def join(self, a: Array, b: Array) -> Array:
        """Nodes that say what both say, pair by pair."""
        result = np.where(a == 0, b, a)
        new = (a != 0) & (b != 0) & (a != b)
        if new.any():
            new &= (self.parents[:, a] != b).all(axis=0)
            pairs, where = np.unique((a[new] << 32) | b[new], return_inverse=True)
            made = self._add(_NOBODY, 0, 0, 0, pairs >> 32, pairs & 0xFFFFFFFF, len(pairs))
            result[new] = made[where]
        return np.asarray(result)

    def chain(self, values: Array, first: Array) -> Array:
        """Running joins of nodes within runs that start where `first` is true."""
        result = values.copy()
        rest = np.flatnonzero(~first)
        if len(rest):
            numbers = np.arange(self.count, self.count + len(rest), dtype=np.int64)
            result[rest] = numbers
            self._add(_NOBODY, 0, 0, 0, result[rest - 1], values[rest], len(rest))
        return result

    def covers(self, nodes: Array, others: Array, keys: Array) -> Array:
        """Whether each node says that the access with that key by that other thread has happened."""
        found = np.zeros(len(nodes), dtype=np.bool_)
        frontier = nodes[:, None]
        for _ in range(_SHALLOW):
            found |= self._says(frontier, others[:, None], keys[:, None]).any(axis=1)
            if found.all():
                return found
            frontier = np.concatenate((self.parents[0][frontier], self.parents[1][frontier]), axis=1)
        left = np.flatnonzero(~found & (nodes != 0))
        for node in np.unique(nodes[left]).tolist():
            of_node = left[nodes[left] == node]
            found[of_node] = self.closure(node).covers(others[of_node], keys[of_node], self.block_threads)
        return found

    def _says(self, nodes: Array, others: Array, keys: Array) -> Array:
        thread, time, barrier, warp = self._fields[:4, nodes]
        block = others // self.block_threads
        someone = thread >= 0
        says = ((thread == others) | (thread == -2 - block)) & (keys < time)
        says |= someone & (thread // self.block_threads == block) & (keys <= barrier)
        says |= someone & (thread >> 5 == others >> 5) & (keys <= warp)
        return np.asarray(says)

    def closure(self, node: int) -> Closure:
        """All that a node and its ancestors say."""
        found = self._closures.get(node)
        if found is None:
            while len(self._closures) >= _KEPT:
                del self._closures[next(iter(self._closures))]
            found = self._closures[node] = self._close(node)
        return found

    def _close(self, node: int) -> Closure:
        first, second = self._links
        stack, reached = [node], {0}
        while stack:
            at = stack.pop()
            if at not in reached:
                reached.add(at)
                stack += (first[at], second[at])
        thread, time, barrier, warp = self._fields[:4, sorted(reached)]
        one, whole = thread >= 0, thread <= -2
        blocks = np.concatenate((thread[one] // self.block_threads, -2 - thread[whole]))
        # A block's time is of the first access not covered, a barrier's of the last one that is.
        block_times = np.concatenate((barrier[one], time[whole] - 1))
        return Closure(
            *_summed(thread[one], time[one]),
            *_summed(blocks, block_times),
            *_summed(thread[one] >> 5, warp[one]),
        )
