"""Counting rules of the memory system, as measured on an H200 (DESIGN.md section 5, `tests/data/h200_counters.json`).

Every function takes byte addresses of shape [warps, 32] and a mask of active lanes of the same shape, and
returns one int64 per warp. They know nothing of the simulator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SECTOR = 32
BANKS = 32
_NEVER = np.int64(1 << 62)


def global_sectors(addresses: Array, active: Array, bytes: int) -> Array:
    """Distinct 32-byte sectors touched by each warp's instruction, whatever the access width."""
    first = np.asarray(addresses, dtype=np.int64) >> 5
    if bytes > 1:
        last = (np.asarray(addresses, dtype=np.int64) + (bytes - 1)) >> 5
        if not np.array_equal(first, last):
            return _distinct(np.concatenate((first, last), axis=1), np.concatenate((active, active), axis=1))
    return _distinct(first, active)


def global_ideal(active: Array, bytes: int) -> Array:
    """Fewest sectors that hold what the active lanes ask for, were each byte asked for once."""
    return np.asarray(-(-np.count_nonzero(active, axis=1) * bytes // SECTOR))


def shared_ideal(active: Array, bytes: int, wavefronts: Array) -> Array:
    """The profiler's ideal wavefronts: active lanes x bytes / 128, rounded up, but never more than were spent.

    The second half matters where a wide load is served two groups at a time (`shared_wavefronts`).
    """
    return np.asarray(np.minimum(-(-np.count_nonzero(active, axis=1) * bytes // 128), wavefronts))


def access_groups(active: Array, bytes: int) -> Array:
    """Groups of lanes with an active lane: the warp, its halves (8 bytes) or its quarters (16 bytes)."""
    groups = _groups(bytes)
    return np.asarray(
        np.count_nonzero(np.asarray(active).reshape(-1, groups, 32 // groups).any(axis=2), axis=1)
    )


def shared_wavefronts(addresses: Array, active: Array, bytes: int, is_load: bool) -> Array:
    """Wavefronts that each warp's shared-memory instruction takes.

    1, 2 and 4 bytes: the most distinct 4-byte words in one bank, over the warp; 8 and 16 bytes: the same over each
    half and quarter, added. A wide load whose lane pairs, all (i, i^1) or all (i, i^2), each read one address serves
    two groups at a time where their union has no conflict.
    """
    addresses = np.asarray(addresses, dtype=np.int64)
    active = np.asarray(active, dtype=np.bool_)
    groups, warps = _groups(bytes), len(addresses)
    size = 32 // groups
    words, valid = (addresses >> 2).astype(np.int32), active
    if bytes > 4:
        extra = np.arange(bytes // 4, dtype=np.int32)
        words = (words[:, :, None] + extra).reshape(warps, -1)
        valid = np.repeat(active, bytes // 4, axis=1)
    width = size * max(1, bytes // 4)
    depth = _bank_depth(words.reshape(-1, width), valid.reshape(-1, width)).reshape(warps, groups)
    if groups == 1 or not is_load:
        return np.asarray(depth.sum(axis=1))
    one_address = _pairs_agree(addresses, active, 1) | _pairs_agree(addresses, active, 2)
    result = np.asarray(depth.sum(axis=1))
    if one_address.any():
        union = _bank_depth(
            words[one_address].reshape(-1, 2 * width), valid[one_address].reshape(-1, 2 * width)
        ).reshape(-1, groups // 2)
        apart = depth[one_address].reshape(-1, groups // 2, 2).sum(axis=2)
        result[one_address] = np.where(union == 1, 1, apart).sum(axis=1)
    return result


def _pairs_agree(addresses: Array, active: Array, distance: int) -> Array:
    """Whether lanes i and i ^ distance read one address, in every pair that is active; per warp."""
    shape = (len(addresses), 16 // distance, 2, distance)
    pairs, both = addresses.reshape(shape), active.reshape(shape).all(axis=2)
    return np.asarray(((pairs[:, :, 0] == pairs[:, :, 1]) | ~both).all(axis=(1, 2)))


def population_count(bits: Array) -> Array:
    """Set bits of each uint32 or uint64 (`np.bitwise_count` needs NumPy 2)."""
    width = bits.dtype.itemsize * 8
    kind = bits.dtype.type
    fives, threes, fifteens, ones = (
        kind(int.from_bytes(bytes([byte]) * (width // 8), "little")) for byte in (0x55, 0x33, 0x0F, 0x01)
    )
    pairs = bits - ((bits >> kind(1)) & fives)
    nibbles = (pairs & threes) + ((pairs >> kind(2)) & threes)
    return np.asarray((((nibbles + (nibbles >> kind(4))) & fifteens) * ones) >> kind(width - 8))


def _groups(bytes: int) -> int:
    return {8: 2, 16: 4}.get(bytes, 1)


def _distinct(keys: Array, active: Array) -> Array:
    """Distinct keys among the active lanes of each row."""
    if active.all():
        step = keys[:, 1:] - keys[:, :-1]
        if not (step < 0).any():
            return np.asarray(1 + np.count_nonzero(step, axis=1))
        ordered = np.sort(keys, axis=1)
        return np.asarray(1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1))
    ordered = np.sort(np.where(active, keys, _NEVER), axis=1)
    fresh = np.empty(ordered.shape, dtype=np.bool_)
    fresh[:, 0] = True
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=fresh[:, 1:])
    fresh &= ordered != _NEVER
    return np.asarray(np.count_nonzero(fresh, axis=1))


def _bank_depth(words: Array, valid: Array) -> Array:
    """The most distinct words that one bank serves, for each row of word numbers; 0 where no lane is valid."""
    bits = np.left_shift(np.uint32(1), (words & 31).astype(np.uint32))
    lanes = np.full(len(words), words.shape[1])
    if not valid.all():
        bits = np.where(valid, bits, np.uint32(0))
        lanes = np.count_nonzero(valid, axis=1)
    hit = population_count(np.bitwise_or.reduce(bits, axis=1)).astype(np.int64)
    depth = np.minimum(hit, 1)
    slow = np.flatnonzero(hit != lanes)
    if len(slow) == 0:
        return depth
    if words.shape[1] == BANKS and valid[slow].all():
        # Lanes at one stride meet in a bank gcd(stride, 32) at a time; stride 0 is a broadcast.
        stride = words[slow, 1:] - words[slow, :-1]
        even = (stride == stride[:, :1]).all(axis=1)
        common = stride[even, 0].astype(np.int64)
        depth[slow[even]] = np.where(common == 0, 1, np.gcd(common, BANKS))
        slow = slow[~even]
        if len(slow) == 0:
            return depth
    depth[slow] = _sorted_depth(words[slow].astype(np.int64), valid[slow])
    return depth


def _sorted_depth(words: Array, valid: Array) -> Array:
    ordered = np.sort(np.where(valid, words, _NEVER), axis=1)
    fresh = np.empty(ordered.shape, dtype=np.bool_)
    fresh[:, 0] = True
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=fresh[:, 1:])
    fresh &= ordered != _NEVER
    rows = np.arange(len(words))[:, None] * BANKS + (ordered & 31)
    counts = np.bincount(rows[fresh], minlength=len(words) * BANKS)
    return np.asarray(counts.reshape(-1, BANKS).max(axis=1))
