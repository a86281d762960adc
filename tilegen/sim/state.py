"""The state of a chunk of blocks: lanes, registers, shared and local memory, and the groups that run.

Lanes are ordered block by block, each block padded to whole warps, so lane // 32 is the warp.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tilegen.sim.faults import Index3, SimulationError, Thread
from tilegen.sim.program import Program
from tilegen.sim.ptx import Immediate, Operand, Register, Symbol, type_size

Array = npt.NDArray[Any]
_REGISTER_DTYPE: dict[int, np.dtype[Any]] = {
    1: np.dtype("u1"),
    2: np.dtype("u2"),
    4: np.dtype("u4"),
    8: np.dtype("u8"),
}


class Group:
    """Lanes that execute together. `whole`: writing the other lanes' registers too does no harm."""

    __slots__ = ("_compact", "_index", "_rows", "count", "every", "mask", "whole")

    def __init__(self, mask: Array, count: int, live: int) -> None:
        self.mask = mask
        self.count = count
        self.whole = count == live
        self.every = count == len(mask)
        self._index: Array | None = None
        self._rows: Array | None = None
        self._compact: Array | None = None

    @property
    def index(self) -> Array:
        """Numbers of the active lanes, ascending."""
        if self._index is None:
            self._index = np.flatnonzero(self.mask)
        return self._index

    @property
    def rows(self) -> Array:
        """Warps with an active lane."""
        if self._rows is None:
            self._rows = np.flatnonzero(self.mask.reshape(-1, 32).any(axis=1))
        return self._rows

    @property
    def compact(self) -> Array:
        """Where each active lane lies in an array of the warps in `rows`."""
        if self._compact is None:
            rank = np.zeros(len(self.mask) // 32, dtype=np.int64)
            rank[self.rows] = np.arange(len(self.rows))
            self._compact = rank[self.index >> 5] * 32 + (self.index & 31)
        return self._compact


class State:
    """Registers and memory of up to `blocks` blocks; `begin` points it at the next ones."""

    def __init__(
        self,
        program: Program,
        grid: Index3,
        block: Index3,
        blocks: int,
        shared_bytes: int,
        parameters: bytes,
        symbols: Callable[[str], int],
        cluster: Index3 = (1, 1, 1),
    ) -> None:
        self.program, self.grid, self.block = program, grid, block
        self.threads = block[0] * block[1] * block[2]
        self.padded = -(-self.threads // 32) * 32
        self.blocks, self.lanes = blocks, blocks * self.padded
        self.cluster_shape = cluster
        # Blocks of a cluster; they have consecutive numbers.
        self.cluster = cluster[0] * cluster[1] * cluster[2]
        self.shared_bytes = shared_bytes
        self.shared_stride = max(16, -(-shared_bytes // 16) * 16)
        self.parameters = parameters
        self.parameter_offsets = parameter_offsets(program)
        self._symbols = symbols
        self.lane_number = np.arange(self.lanes, dtype=np.int64)
        self.lane_block = self.lane_number // self.padded
        self.lane_thread = self.lane_number % self.padded
        self.shared = np.zeros(blocks * self.shared_stride, dtype=np.uint8)
        self.shared_base = self.lane_block * self.shared_stride
        self.local_stride = -(-program.local_bytes // 16) * 16
        self.local = np.zeros(self.lanes * self.local_stride, dtype=np.uint8)
        self.local_base = self.lane_number * self.local_stride
        self.registers: dict[str, Array] = {}
        self._sources: dict[tuple[str, np.dtype[Any]], Any] = {}
        self.call_storage = {
            name: np.zeros((self.lanes, size), dtype=np.uint8)
            for name, size in program.call_parameters.items()
        }
        self.valid = self.lane_thread < self.threads
        self.alive = self.valid.copy()
        self.live = 0
        self.first_block = 0
        self.block_count = 0
        self.thread_number = self.lane_number.copy()
        self.barrier_key = np.zeros(self.lanes, dtype=np.int64)
        # The last `bar.warp.sync` of all of the warp's live lanes, and the last one of any.
        self.warp_key = np.zeros(self.lanes, dtype=np.int64)
        self.warp_last = np.zeros(self.lanes, dtype=np.int64)
        # Where masks were partial, shape [lanes, 32]: the last one that a lane knows each lane of its warp to have
        # passed.
        self.partial_keys: Array | None = None
        self._special = self._specials()

    def begin(self, first_block: int, count: int) -> None:
        """Starts blocks first_block … first_block + count - 1: cluster by cluster, x fastest in both."""
        self.first_block, self.block_count = first_block, count
        self.valid = (self.lane_thread < self.threads) & (self.lane_block < count)
        self.alive = self.valid.copy()
        self.live = count * self.threads
        self.thread_number[:] = self.lane_number + first_block * self.padded
        self.barrier_key[:] = 0
        self.warp_key[:] = 0
        self.warp_last[:] = 0
        self.partial_keys = None
        number = self.lane_block + first_block
        for axis, index in zip("xyz", self._block_index(number), strict=True):
            self._special[f"%ctaid.{axis}"][:] = index
        for axis, index in zip("xyz", _unravel(number // self.cluster, self._clusters), strict=True):
            self._special[f"%clusterid.{axis}"][:] = index

    def _specials(self) -> dict[str, Any]:
        kind: type[np.uint32] = np.uint32
        thread = np.minimum(self.lane_thread, self.threads - 1)
        x, y, _ = self.block
        lane = (self.lane_thread & 31).astype(kind)
        values: dict[str, Any] = {
            "%tid.x": (thread % x).astype(kind),
            "%tid.y": (thread // x % y).astype(kind),
            "%tid.z": (thread // (x * y)).astype(kind),
            "%laneid": lane,
            "%warpid": (self.lane_thread // 32).astype(kind),
            "%nwarpid": kind(self.padded // 32),
            "%smid": kind(0),
            "%nsmid": kind(1),
            "%gridid": kind(0),
            "%lanemask_eq": kind(1) << lane,
            "%lanemask_lt": (kind(1) << lane) - kind(1),
            "%lanemask_le": (kind(2) << lane) - kind(1),
            "%lanemask_gt": ~((kind(2) << lane) - kind(1)),
            "%lanemask_ge": ~((kind(1) << lane) - kind(1)),
            "%dynamic_smem_size": kind(max(0, self.shared_bytes - self.program.static_shared)),
            "%total_smem_size": kind(self.shared_bytes),
            "%WARP_SZ": kind(32),
            "%cluster_ctarank": (self.lane_block % self.cluster).astype(kind),
            "%cluster_nctarank": kind(self.cluster),
            "%is_explicit_cluster": np.bool_(self.cluster > 1),
        }
        for axis, name in enumerate("xyz"):
            values[f"%ntid.{name}"] = kind(self.block[axis])
            values[f"%nctaid.{name}"] = kind(self.grid[axis])
            values[f"%ctaid.{name}"] = np.zeros(self.lanes, dtype=np.uint32)
            values[f"%clusterid.{name}"] = np.zeros(self.lanes, dtype=np.uint32)
            values[f"%nclusterid.{name}"] = kind(self._clusters[axis])
            values[f"%cluster_nctaid.{name}"] = kind(self.cluster_shape[axis])
        ranks = _unravel(self.lane_block % self.cluster, self.cluster_shape)
        for name, index in zip("xyz", ranks, strict=True):
            values[f"%cluster_ctaid.{name}"] = index.astype(kind)
        return values

    def register(self, name: str) -> Array:
        """Storage of a register: bool for a predicate, else an unsigned integer of its width; one per lane."""
        found = self.registers.get(name)
        if found is None:
            kind = self.program.registers.get(name, "pred" if name == "%cc" else "")
            if not kind:
                raise SimulationError(f"unknown register {name}")
            found = self.registers[name] = np.zeros(self.lanes, dtype=_register_dtype(kind))
        return found

    def source(self, operand: Operand, kind: np.dtype[Any]) -> Any:
        """What an instruction reads: an array over lanes viewed as `kind`, or a NumPy scalar."""
        if isinstance(operand, Register):
            key = operand.name, kind
            found = self._sources.get(key)
            if found is None:
                found = self._sources[key] = self._read(operand.name, kind)
            return found
        if isinstance(operand, Immediate):
            value = operand.value
            return _integer(value, kind) if isinstance(value, int) else _constant(value, kind)
        if isinstance(operand, Symbol):
            return _integer(self.symbol(operand.name) + operand.offset, kind)
        raise SimulationError(f"operand {operand} cannot be read here")

    def _read(self, name: str, kind: np.dtype[Any]) -> Any:
        if name in self.program.registers or name == "%cc":
            return _narrow_view(self.register(name), kind)
        if name == "WARP_SZ":
            return _integer(32, kind)
        special = self._special.get(name)
        if special is None:
            raise SimulationError(f"unknown special register {name}")
        return _narrow_view(special, kind) if isinstance(special, np.ndarray) else kind.type(special)

    def destination(self, operand: Operand, kind: np.dtype[Any]) -> Array | None:
        """Where an instruction writes: a register viewed so that assigning `kind` extends it as PTX does."""
        if not isinstance(operand, Register):
            return None
        storage = self.register(operand.name)
        if storage.dtype == kind:
            return storage
        if storage.dtype.itemsize == kind.itemsize:
            return storage.view(kind)
        if kind.kind in "iu" and storage.dtype.itemsize > kind.itemsize:
            return storage.view(np.dtype(f"{kind.kind}{storage.dtype.itemsize}"))
        raise SimulationError(f"register {operand.name} is too narrow for {kind}")

    def symbol(self, name: str) -> int:
        """Address of a variable within its own space."""
        if name in self.program.shared:
            return self.program.shared[name]
        if name in self.program.local:
            return self.program.local[name]
        if name in self.parameter_offsets:
            return self.parameter_offsets[name]
        return self._symbols(name)

    def synchronise_some(self, lanes: Array, parties: Array, named: Array, key: int) -> None:
        """A `bar.warp.sync` of parts of warps: the lanes of one party each are `named` by one mask."""
        if self.partial_keys is None:
            self.partial_keys = np.zeros((self.lanes, 32), dtype=np.int64)
        order = np.argsort(parties, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(parties[order]) != 0))
        known = np.maximum.reduceat(self.partial_keys[lanes[order]], starts, axis=0)
        bits = (named[order][starts][:, None] >> np.arange(32, dtype=np.uint32)) & 1
        known[bits != 0] = key
        self.partial_keys[lanes[order]] = np.repeat(known, np.diff(np.append(starts, len(order))), axis=0)

    def warp_ordered(self, lanes: Array, others: Array, keys: Array) -> Array:
        """Whether accesses by other threads, all of the lanes' own warps, lie before a `bar.warp.sync` of both."""
        found = keys <= self.warp_key[lanes]
        if self.partial_keys is not None:
            found |= keys <= self.partial_keys[lanes, others & 31]
        return np.asarray(found)

    def thread(self, number: int) -> Thread:
        """Coordinates of a thread number (block number * padded size + thread)."""
        block, thread = divmod(number, self.padded)
        return Thread(self._block_index(block), _unravel(thread, self.block))

    @property
    def _clusters(self) -> Index3:
        """Clusters of the grid along each axis."""
        x, y, z = (extent // size for extent, size in zip(self.grid, self.cluster_shape, strict=True))
        return x, y, z

    def _block_index(self, number: Any) -> tuple[Any, Any, Any]:
        """blockIdx of a block number, or of an array of them."""
        clusters = _unravel(number // self.cluster, self._clusters)
        ranks = _unravel(number % self.cluster, self.cluster_shape)
        x, y, z = (c * n + r for c, n, r in zip(clusters, self.cluster_shape, ranks, strict=True))
        return x, y, z


def _unravel(number: Any, extents: Index3) -> tuple[Any, Any, Any]:
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


def parameter_offsets(program: Program) -> dict[str, int]:
    """Byte offset of each kernel parameter in parameter space."""
    offsets: dict[str, int] = {}
    end = 0
    for parameter in program.parameters:
        end = -(-end // parameter.align) * parameter.align
        offsets[parameter.name] = end
        end += parameter.size
    return offsets


@cache
def _register_dtype(kind: str) -> np.dtype[Any]:
    return np.dtype("?") if kind == "pred" else _REGISTER_DTYPE[type_size(kind)]


@lru_cache(maxsize=1 << 14)
def _integer(value: int, kind: np.dtype[Any]) -> Any:
    return _constant(value, kind)


def _constant(value: int | float, kind: np.dtype[Any]) -> Any:
    if kind.kind == "f":
        if isinstance(value, int):
            bits = np.array(value & ((1 << (8 * kind.itemsize)) - 1), dtype=f"u{kind.itemsize}")
            return bits.view(kind)[()] if kind.itemsize == 2 else kind.type(value)
        return kind.type(value)
    if kind.kind == "b":
        return np.bool_(value)
    if isinstance(value, float):
        floats = {2: np.float16, 4: np.float32, 8: np.float64}[kind.itemsize]
        return np.array(value, dtype=floats).view(kind)[()]
    wrapped = value & ((1 << (8 * kind.itemsize)) - 1)
    return np.array(wrapped, dtype=f"u{kind.itemsize}").view(kind)[()]


def _narrow_view(storage: Array, kind: np.dtype[Any]) -> Array:
    """The low part of a register as `kind` (little endian)."""
    if storage.dtype == kind:
        return storage
    if storage.dtype.kind == "b" or kind.kind == "b":
        raise SimulationError("a predicate where a number is expected, or the reverse")
    if storage.dtype.itemsize == kind.itemsize:
        return storage.view(kind)
    if storage.dtype.itemsize < kind.itemsize:
        raise SimulationError(f"register narrower than {kind}")
    view: Array = storage.view(kind)[:: storage.dtype.itemsize // kind.itemsize]
    return view
